//! The ledger, asked for by a client, against what the client got.

use plant::{Config, Server};
use wire::types::{CallMethodRequest, CallRequest, NodeId, UAString, Variant};

use crate::client::Client;
use crate::start;
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::{BENCH, bench};

/// A node of the Plant object.
pub fn plant(server: &Server, name: &str) -> NodeId {
    let namespaces = server.space().namespaces();
    let namespace = namespaces.iter().position(|uri| uri == "urn:uaperf:plant");
    NodeId::new(namespace.unwrap() as u16, UAString::from(name))
}

/// Calls a method of the Plant object.
pub fn ask(client: &mut Client, server: &Server, method: &str, inputs: Vec<Variant>) -> Variant {
    let request = CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: plant(server, "Plant"),
            method_id: plant(server, &format!("Plant.{method}")),
            input_arguments: (!inputs.is_empty()).then_some(inputs),
        }]),
    };
    let result = client.call(request).unwrap().results.unwrap().remove(0);
    assert!(result.status_code.is_good(), "{result:?}");
    result
        .output_arguments
        .and_then(|mut outputs| outputs.pop())
        .unwrap_or(Variant::Empty)
}

pub fn truth(client: &mut Client, server: &Server) -> serde_json::Value {
    let Variant::String(json) = ask(client, server, "GroundTruth", Vec::new()) else {
        panic!("no string");
    };
    serde_json::from_str(json.as_ref()).unwrap()
}

#[test]
fn the_ledger_tells_a_client_what_it_was_sent() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 20.0).subscription_id;
    let items = (0..10).map(|n| item(NodeId::new(BENCH, 1000 + n), n, 0.0));
    let mut items: Vec<_> = items.collect();
    items.push(item(bench(3030), 10, 0.0));
    watch(&mut client, id, items);
    let (mut got, mut messages, mut last) = (0, 0, None);
    while got < 14 {
        let response = client.call(publish(last)).unwrap();
        let message = response.notification_message;
        let count = values(&message).len() as u64;
        got += count;
        messages += u64::from(count > 0);
        last = (count > 0).then_some((id, message.sequence_number));
    }
    let told = truth(&mut client, &server);
    let own = &told["subscriptions"]["open"][id.to_string()];
    let sum = |what: &str| {
        let of = |kind: &str| own[kind][what].as_u64().unwrap();
        of("computed") + of("stored") + of("event")
    };
    assert_eq!(sum("sent"), got, "{told:#}");
    assert_eq!(own["stored"]["sent"], 10);
    assert_eq!(own["messages"]["sent"], messages);
    // The last message is not acknowledged yet.
    let acknowledged = own["messages"]["acknowledged"].as_u64().unwrap();
    assert!(acknowledged + 1 >= messages, "{told:#}");
    assert_eq!(sum("reported"), sum("sent"));
    assert_eq!(told["subscriptions"]["total"], *own);
    let counted = server.ground_truth().counted;
    assert_eq!((counted.notifications, counted.subscriptions), (got, 1));
    client
        .call(wire::types::DeleteSubscriptionsRequest {
            request_header: header(),
            subscription_ids: Some(vec![id]),
        })
        .unwrap();
    let told = server.ground_truth().subscriptions;
    assert!(told.open.is_empty());
    assert!(told.total.values().balances() && told.total.messages.balances());
    assert_eq!(told.total.values().pending(), 0);
    assert_eq!(told.total, server.tally());
}
