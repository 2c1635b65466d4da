//! What a server says of its own work, against what a client had it do.

use std::time::Duration;

use plant::{Config, Profile, Server};
use record::run::{Internals, Waiting};
use wire::types::{
    AttributeId, CallMethodRequest, CallRequest, NodeId, TimestampsToReturn, Variant,
};

use crate::client::{Client, read_value};
use crate::subscribing::{header, item, publish, subscribe, watch};
use crate::truth::{plant, truth};
use crate::{bench, start};

fn one_loop() -> Server {
    start(Config {
        threads: 1,
        ..Config::default()
    })
}

fn told(client: &mut Client, server: &Server) -> Internals {
    let value = client.read(&[plant(server, "Plant.Internals")]).remove(0);
    let Some(Variant::String(text)) = value.value else {
        panic!("no text: {value:?}");
    };
    Internals::from_json(text.as_ref()).unwrap()
}

fn count(told: &Internals, service: &str) -> u64 {
    told.service(service).map_or(0, |it| it.count)
}

#[test]
fn requests_are_counted_by_service_and_take_time_of_the_loop_that_has_them() {
    let server = one_loop();
    let mut client = Client::plain(server.url());
    let before = told(&mut client, &server);
    for _ in 0..100 {
        client.read(&[bench(1007)]);
    }
    for _ in 0..3 {
        client.below(&NodeId::new(0, 85u32));
    }
    let call = CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: plant(&server, "Plant"),
            method_id: plant(&server, "Plant.ListFaults"),
            input_arguments: None,
        }]),
    };
    client.call(call).unwrap();
    let since = told(&mut client, &server).since(&before).unwrap();
    // That of the first look ended behind it, that of the second is not over.
    assert_eq!(count(&since, "Read"), 101);
    assert_eq!((count(&since, "Browse"), count(&since, "Call")), (3, 1));
    assert_eq!(count(&since, "Write"), 0);
    let read = since.service("Read").unwrap();
    assert!((3..=5).contains(&read.timed), "{read:?}");
    let browse = since.service("Browse").unwrap();
    assert_eq!(browse.timed, 3);
    assert!(browse.timed_ns > 0);

    let names: Vec<_> = since.loops.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["plant-0", "plant-acceptor"]);
    let [own, acceptor] = since.loops.as_slice() else {
        panic!("{since:?}");
    };
    // One after the other: a turn for each.
    assert!(own.turns >= 104 && acceptor.turns == 0, "{since:?}");
    let served: f64 = since.services.iter().filter_map(|it| it.all_ns()).sum();
    assert!(browse.timed_ns <= own.busy_ns, "{since:?}");
    assert!(served > 0.0 && own.busy_ns < since.elapsed_ns, "{since:?}");
    let requests = since.queue(Waiting::Requests).unwrap();
    assert_eq!((requests.sum, requests.mean()), (105, Some(1.0)));
}

#[test]
fn a_loop_is_as_busy_as_it_is_made_to_be() {
    let server = one_loop();
    let mut client = Client::plain(server.url());
    let before = server.watch().internals();
    std::thread::sleep(Duration::from_millis(300));
    let idle = server.watch().internals().since(&before).unwrap();
    assert!(idle.busiest().unwrap().1 < 0.1, "{idle:?}");
    // It works fifty times as long as it has to, and the client waits for it.
    let nodes: Vec<NodeId> = (1000..1500).map(bench).collect();
    server
        .add_fault("service_time=4900%,on=read".parse().unwrap())
        .unwrap();
    let before = server.watch().internals();
    for _ in 0..20 {
        client.read(&nodes);
    }
    let busy = server.watch().internals().since(&before).unwrap();
    let (own, share) = busy.busiest().unwrap();
    assert_eq!(own.name, "plant-0");
    assert!(share > 0.5, "{busy:?}");
}

#[test]
fn what_waits_is_looked_at_whenever_publishing_is_due() {
    let server = one_loop();
    let mut client = Client::plain(server.url());
    // They wait before there is anything to publish.
    subscribe(&mut client, 10_000.0);
    let parked: Vec<_> = (0..4).map(|_| client.send(publish(None))).collect();
    let id = subscribe(&mut client, 100.0).subscription_id;
    watch(&mut client, id, vec![item(bench(3030), 1, 50.0)]);
    for request in &parked {
        client.answer(*request).unwrap();
    }
    let told = server.watch().internals();
    assert_eq!(count(&told, "Publish"), 4);
    assert!(count(&told, "publishing") >= 4, "{told:?}");
    let requests = told.queue(Waiting::PublishRequests).unwrap();
    // Before the first of them is answered all four are there.
    assert!(requests.largest >= Some(4), "{told:?}");
    let notifications = told.queue(Waiting::Notifications).unwrap();
    assert!(notifications.looks >= 4, "{told:?}");
    // Nobody asks any more: what comes then waits.
    crate::until(&server, "something that waits", |server| {
        let told = server.watch().internals();
        told.queue(Waiting::Notifications).unwrap().now >= Some(1)
    });
    let told = server.watch().internals();
    assert_eq!(
        told.queue(Waiting::PublishRequests).unwrap().now,
        Some(0),
        "{told:?}"
    );
    let json = truth(&mut client, &server);
    assert_eq!(json["internals"]["loops"][0]["name"], "plant-0");
}

#[test]
fn a_loop_that_never_sleeps_is_busy_only_while_there_is_something_to_do() {
    let server = start(Config {
        threads: 1,
        spin: true,
        ..Config::default()
    });
    let mut client = Client::plain(server.url());
    client.read(&[bench(1007)]);
    let before = server.watch().internals();
    std::thread::sleep(Duration::from_millis(300));
    let idle = server.watch().internals().since(&before).unwrap();
    assert!(idle.busiest().unwrap().1 < 0.1, "{idle:?}");
    client.read(&[bench(1007)]);
    let busy = server.watch().internals().since(&before).unwrap();
    assert_eq!(count(&busy, "Read"), 1);
}

#[test]
fn with_metrics_the_same_figures_are_variables() {
    let mut plant = Profile::named("burger2019").unwrap().unwrap();
    assert!(plant.resize(10));
    let server = Server::start(plant.config(Config {
        profiles: Vec::new(),
        threads: 1,
        ..Config::default()
    }))
    .unwrap();
    let mut client = Client::plain(server.url());
    let read = |client: &mut Client, name: &str| {
        let node: NodeId = format!("ns=1;s=Metrics.{name}").parse().unwrap();
        let value = client.read_any(
            vec![read_value(node, AttributeId::Value, "")],
            TimestampsToReturn::Neither,
        );
        value.unwrap()[0].value.clone()
    };
    let first = read(&mut client, "Services.Read.Count");
    let then = read(&mut client, "Services.Read.Count");
    assert_eq!(first, Some(Variant::UInt64(0)));
    assert_eq!(then, Some(Variant::UInt64(1)));
    let busy = read(&mut client, "EventLoops.plant-0.BusyTime");
    assert!(
        matches!(busy, Some(Variant::Double(ms)) if ms > 0.0),
        "{busy:?}"
    );
    let share = read(&mut client, "EventLoops.plant-acceptor.Busy");
    assert!(
        matches!(share, Some(Variant::Double(percent)) if (0.0..=100.0).contains(&percent)),
        "{share:?}"
    );
    assert_eq!(
        read(&mut client, "Queues.Requests.Max"),
        Some(Variant::UInt64(1))
    );
    assert!(read(&mut client, "Services.Publishing.Time").is_some());
}
