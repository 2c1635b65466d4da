//! The ledger, asked for by a client, against what the client got.

use std::path::Path;

use plant::{Config, Plant, Server};
use wire::types::{
    AttributeId, CallMethodRequest, CallRequest, NodeId, TimestampsToReturn, UAString, Variant,
};

use crate::client::{Client, read_value};
use crate::start;
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::{BENCH, bench};

/// A node of the Plant object.
pub fn plant(server: &Server, name: &str) -> NodeId {
    let namespaces = server.space().namespaces();
    let namespace = namespaces.iter().position(|uri| uri == "urn:uaperf:plant");
    NodeId::new(namespace.unwrap() as u16, UAString::from(name))
}

/// Calls a method of the Plant object and takes its last output.
pub fn ask(client: &mut Client, server: &Server, method: &str, inputs: Vec<Variant>) -> Variant {
    let outputs = ask_all(client, server, method, inputs);
    outputs.into_iter().next_back().unwrap_or(Variant::Empty)
}

/// Calls a method of the Plant object.
fn ask_all(
    client: &mut Client,
    server: &Server,
    method: &str,
    inputs: Vec<Variant>,
) -> Vec<Variant> {
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
    result.output_arguments.unwrap_or_default()
}

pub fn truth(client: &mut Client, server: &Server) -> serde_json::Value {
    let Variant::String(json) = ask(client, server, "GroundTruth", Vec::new()) else {
        panic!("no string");
    };
    serde_json::from_str(json.as_ref()).unwrap()
}

/// Counters of all kinds, and what does not count.
const SIGNALS: &str = r#"
name = "signals"
[[namespace]]
uri = "urn:test:signals"
[[namespace.signals]]
ids = "i=1"
type = "Byte"
pattern = { counter = { start = 250 } }
update = "10ms"
[[namespace.signals]]
ids = "i=2"
type = "Double"
pattern = { counter = { start = -3 } }
update = "1s"
stored = true
[[namespace.signals]]
ids = "i=3"
type = "Int64"
pattern = { counter = { start = "n" } }
update = "1s"
[[namespace.signals]]
ids = "i=4"
type = "Double"
pattern = "sine"
update = "20ms"
[[namespace.signals]]
ids = "i=5"
type = "String"
pattern = "counter"
update = "30ms"
[[namespace.signals]]
ids = "i=6"
type = "Double"
value = 1.0
"#;

#[test]
fn a_client_can_ask_how_signals_count() {
    let plant = Plant::parse(SIGNALS, "signals", Path::new("")).unwrap();
    let server = Server::start(plant.config(Config::default())).unwrap();
    let mut client = Client::plain(server.url());
    let mut namespaces = server.space().namespaces().iter();
    let namespace = namespaces.position(|uri| uri == "urn:test:signals");
    let node = |n: u32| NodeId::new(namespace.unwrap() as u16, n);
    let nodes: Vec<NodeId> = (1..=7).map(node).collect();
    let told = ask_all(&mut client, &server, "DescribeSignals", vec![nodes.into()]);
    let numbers = |at: usize| -> Vec<i64> {
        let Variant::Array(list) = &told[at] else {
            panic!("{:?}", told[at]);
        };
        let number = |value: &Variant| match value {
            Variant::Byte(n) => i64::from(*n),
            Variant::Boolean(is) => i64::from(*is),
            Variant::UInt64(n) => *n as i64,
            Variant::Int64(n) => *n,
            other => panic!("{other:?}"),
        };
        list.values.iter().map(number).collect()
    };
    assert_eq!(numbers(1), [1, 1, 1, 2, 2, 0, 0]);
    assert_eq!(numbers(2), [0, 1, 0, 0, 0, 0, 0]);
    let ms = |n: i64| n * 1_000_000;
    let intervals = [ms(10), ms(1000), ms(1000), ms(20), ms(30), 0, 0];
    assert_eq!(numbers(3), intervals);
    assert_eq!(numbers(4), [250, -3, 3, 0, 0, 0, 0]);
    assert_eq!(numbers(5), [256, 1 << 53, 0, 0, 0, 0, 0]);

    // With it a value tells the instant of its update.
    let Variant::DateTime(anchor) = &told[0] else {
        panic!("{:?}", told[0]);
    };
    let value = read_value(node(1), AttributeId::Value, "");
    let read = client.read_any(vec![value], TimestampsToReturn::Source);
    let read = read.unwrap().remove(0);
    let Some(Variant::Byte(value)) = read.value else {
        panic!("{read:?}");
    };
    let ticks = read.source_timestamp.unwrap().ticks() - anchor.ticks();
    assert_eq!(ticks % 100_000, 0);
    assert_eq!((250 + ticks / 100_000) % 256, i64::from(value));
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
