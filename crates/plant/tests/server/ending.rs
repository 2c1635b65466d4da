//! How a server ends: its clients are told.

use std::time::Duration;

use plant::Config;
use wire::types::{
    NodeId, PublishResponse, ServerState, StatusChangeNotification, StatusCode, VariableId, Variant,
};

use crate::client::Client;
use crate::start;
use crate::subscribing::{item, publish, subscribe, values, watch};

fn value(client: &mut Client, node: VariableId) -> Variant {
    let value = client.read(&[NodeId::from(node)]).remove(0).value;
    value.unwrap()
}

#[test]
fn clients_see_it_coming_and_subscriptions_are_told() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let state = VariableId::Server_ServerStatus_State;
    let seconds = VariableId::Server_ServerStatus_SecondsTillShutdown;
    assert_eq!(value(&mut client, state), Variant::Int32(0));
    assert_eq!(value(&mut client, seconds), Variant::UInt32(0));
    let id = subscribe(&mut client, 100.0).subscription_id;
    watch(&mut client, id, vec![item(state.into(), 1, 10.0)]);
    client.call(publish(None)).unwrap();
    server.announce_end(Duration::from_secs(60));
    // The next change is that of the state.
    let told = loop {
        let response: PublishResponse = client.call(publish(None)).unwrap();
        if let Some(change) = values(&response.notification_message).pop() {
            break change;
        }
    };
    assert_eq!(told, (1, Variant::Int32(ServerState::Shutdown as i32)));
    let left = value(&mut client, seconds);
    assert!(matches!(left, Variant::UInt32(1..=60)), "{left:?}");
    let (one, two) = (client.send(publish(None)), client.send(publish(None)));
    server.stop();
    let answers: Vec<_> = [one, two].into_iter().map(|id| client.answer(id)).collect();
    let Ok(wire::service::Response::Publish(last)) = &answers[0] else {
        panic!("{answers:?}");
    };
    let data = last
        .notification_message
        .notification_data
        .as_ref()
        .unwrap();
    let change = data[0].inner_as::<StatusChangeNotification>().unwrap();
    assert_eq!(change.status, StatusCode::BadShutdown);
    assert_eq!(answers[1], Err(StatusCode::BadShutdown));
    while client.closed.is_none() {
        client.step(std::time::Instant::now() + crate::client::PATIENCE);
    }
}
