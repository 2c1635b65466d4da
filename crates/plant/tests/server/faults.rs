//! Faults over real sockets: what the client suffers is what the ledger says.

use std::time::{Duration, Instant};

use plant::{Config, Server};
use wire::channel::Protection;
use wire::session::token::Credentials;
use wire::types::{
    AttributeId, CallMethodRequest, CallRequest, DataChangeNotification, NotificationMessage,
    ReadRequest, RepublishRequest, StatusCode, SubscriptionAcknowledgement, TimestampsToReturn,
    VariableId, Variant,
};

use crate::client::{Client, read_value};
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::truth::{ask, plant, truth};
use crate::{bench, start, until};

const COUNTER: u32 = 3030;

fn with(faults: &[&str]) -> Server {
    start(Config {
        faults: faults.iter().map(|text| text.parse().unwrap()).collect(),
        ..Config::default()
    })
}

/// Events and hits of the first fault.
fn counts(server: &Server) -> (u64, u64) {
    let count = &server.faults()[0];
    (count.events, count.hits)
}

fn read() -> ReadRequest {
    let node = read_value(bench(1000), AttributeId::Value, "");
    ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![node]),
    }
}

/// A subscription to the counter of 100 ms, published often.
fn count_up(client: &mut Client) -> u32 {
    let id = subscribe(client, 10.0).subscription_id;
    let mut fast = item(bench(COUNTER), 7, 0.0);
    fast.requested_parameters.queue_size = 100;
    watch(client, id, vec![fast]);
    id
}

/// The next message with notifications; nothing is acknowledged.
fn next(client: &mut Client) -> NotificationMessage {
    loop {
        let message = client.call(publish(None)).unwrap().notification_message;
        if !values(&message).is_empty() {
            return message;
        }
    }
}

fn numbers(message: &NotificationMessage) -> Vec<u32> {
    let number = |(_, value): (u32, Variant)| match value {
        Variant::UInt32(number) => number,
        other => panic!("{other:?}"),
    };
    values(message).into_iter().map(number).collect()
}

#[test]
fn every_third_message_is_missing_and_republish_has_it() {
    let server = with(&["drop,on=notification,every=3"]);
    let mut client = Client::plain(server.url());
    let id = count_up(&mut client);
    let mut got = Vec::new();
    let mut counted = Vec::new();
    while got.len() < 6 {
        let message = next(&mut client);
        got.push(message.sequence_number);
        counted.extend(numbers(&message));
    }
    assert_eq!(got, [1, 2, 4, 5, 7, 8]);
    let republish = |sequence| RepublishRequest {
        request_header: header(),
        subscription_id: id,
        retransmit_sequence_number: sequence,
    };
    for missing in [3, 6] {
        let message = client.call(republish(missing)).unwrap();
        counted.extend(numbers(&message.notification_message));
    }
    counted.sort_unstable();
    let first = counted[0];
    let all: Vec<u32> = (first..).take(counted.len()).collect();
    assert_eq!(counted, all, "a value is missing for good");
    let told = truth(&mut client, &server);
    let messages = &told["subscriptions"]["total"]["messages"];
    let hits = told["faults"][0]["hits"].as_u64();
    assert_eq!(messages["dropped"].as_u64(), hits);
    assert_eq!(messages["republished"], 2);
    let values = server.tally().values();
    assert!(values.balances() && values.dropped > 0, "{values:?}");
}

#[test]
fn every_fifth_value_is_lost_and_nothing_tells_of_it() {
    let server = with(&["drop,on=value,every=5"]);
    let mut client = Client::plain(server.url());
    count_up(&mut client);
    let (mut counted, mut sequences) = (Vec::new(), Vec::new());
    while counted.len() < 12 {
        let message = next(&mut client);
        sequences.push(message.sequence_number);
        counted.extend(numbers(&message));
    }
    let first = counted[0];
    let places: Vec<u32> = counted.iter().map(|n| n - first + 1).collect();
    assert_eq!(places[..9], [1, 2, 3, 4, 6, 7, 8, 9, 11]);
    let expected: Vec<u32> = (1..).take(sequences.len()).collect();
    assert_eq!(sequences, expected);
    let values = server.tally().values();
    assert!(values.balances());
    let (_, hits) = counts(&server);
    assert_eq!(values.lost, hits);
}

#[test]
fn a_message_is_sent_twice_or_behind_the_next() {
    for (fault, expected) in [
        ("repeat,on=notification,every=2", [1, 2, 2, 3, 4, 4]),
        ("repeat=2,on=notification,every=3", [1, 2, 3, 3, 3, 4]),
        ("reorder,on=notification,every=2", [1, 3, 2, 5, 4, 7]),
    ] {
        let server = with(&[fault]);
        let mut client = Client::plain(server.url());
        count_up(&mut client);
        // Whoever is to be behind another needs a second Publish request.
        let mut waiting: Vec<_> = (0..3).map(|_| client.send(publish(None))).collect();
        let mut got = Vec::new();
        while got.len() < expected.len() {
            let (at, response) = client.any(&waiting);
            waiting.remove(at);
            waiting.push(client.send(publish(None)));
            let wire::service::Response::Publish(response) = response.unwrap() else {
                panic!("no response to Publish");
            };
            let message = response.notification_message;
            if !values(&message).is_empty() {
                got.push(message.sequence_number);
            }
        }
        assert_eq!(got, expected, "{fault}");
        let tally = server.tally();
        assert!(tally.messages.balances() && tally.values().balances());
        let repeated = got.windows(2).filter(|two| two[0] == two[1]).count();
        assert_eq!(tally.messages.repeated, repeated as u64, "{fault}");
    }
}

#[test]
fn overflow_and_bad_values_are_told_as_often_as_asked() {
    let server = with(&[
        "overflow,every=4",
        "bad=UncertainLastUsableValue,node=i=2258",
    ]);
    let mut client = Client::plain(server.url());
    count_up(&mut client);
    let mut statuses = Vec::new();
    while statuses.len() < 10 {
        let message = next(&mut client);
        let data = message.notification_data.unwrap();
        let change = data[0].inner_as::<DataChangeNotification>().unwrap();
        let items = change.monitored_items.iter().flatten();
        statuses.extend(items.map(|item| item.value.status.map_or(0, |status| status.bits())));
    }
    for (at, status) in statuses.iter().enumerate() {
        let expected = if at % 4 == 3 { 0x480 } else { 0 };
        assert_eq!(*status, expected, "{statuses:x?}");
    }
    let (events, hits) = counts(&server);
    assert_eq!(hits, events / 4);
    // The other is about the values of another node, and about no other attribute.
    let time = VariableId::Server_ServerStatus_CurrentTime;
    let nodes = vec![
        read_value(time.into(), AttributeId::Value, ""),
        read_value(time.into(), AttributeId::NodeClass, ""),
        read_value(bench(1000), AttributeId::Value, ""),
    ];
    let results = client.read_any(nodes, TimestampsToReturn::Both).unwrap();
    let status = |at: usize| results[at].status.unwrap_or(StatusCode::Good);
    assert_eq!(status(0), StatusCode::UncertainLastUsableValue);
    assert_eq!(results[0].value, None);
    assert!(status(1).is_good() && status(2).is_good());
    assert_eq!(server.faults()[1].hits, 1);
}

#[test]
fn requests_fail_and_answers_are_lost_exactly_as_often_as_asked() {
    let server = with(&[
        "bad=BadOutOfService,on=read,every=4",
        "drop,on=read,every=5",
    ]);
    let mut client = Client::plain(server.url());
    let before = server.counted().reads;
    let ids: Vec<_> = (1..=20).map(|_| client.send(read())).collect();
    // The last of all is not one of those that are lost.
    let nodes = client.call(CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: plant(&server, "Plant"),
            method_id: plant(&server, "Plant.ListFaults"),
            input_arguments: None,
        }]),
    });
    assert!(nodes.is_ok());
    for (at, id) in ids.into_iter().enumerate() {
        let nth = at + 1;
        match nth.is_multiple_of(5) {
            true => assert!(!client.has(id), "{nth}"),
            false => {
                let bad = client.answer(id).err();
                let expected = nth.is_multiple_of(4).then_some(StatusCode::BadOutOfService);
                assert_eq!(bad, expected, "{nth}");
            }
        }
    }
    let hits: Vec<_> = server.faults().iter().map(|one| one.hits).collect();
    assert_eq!(hits, [5, 4]);
    // A lost answer is one to something that was done; a refused request is not done.
    assert_eq!(server.counted().reads - before, 15);
}

#[test]
fn what_is_delayed_comes_after_what_was_asked_later() {
    // Long enough that all are sent meanwhile.
    let server = with(&["delay=1s,on=read,every=2"]);
    let mut client = Client::plain(server.url());
    let start = Instant::now();
    let ids: Vec<_> = (0..6).map(|_| client.send(read())).collect();
    let mut order = Vec::new();
    let mut left: Vec<_> = ids.clone();
    while !left.is_empty() {
        let (at, response) = client.any(&left);
        response.unwrap();
        let id = left.remove(at);
        order.push(ids.iter().position(|known| *known == id).unwrap());
    }
    assert_eq!(order, [0, 2, 4, 1, 3, 5]);
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(counts(&server), (6, 3));
}

#[test]
fn an_answer_goes_behind_the_next_and_may_come_twice() {
    let server = with(&["reorder,on=read,every=3", "repeat,on=read,every=4"]);
    let mut client = Client::plain(server.url());
    let ids: Vec<_> = (0..8).map(|_| client.send(read())).collect();
    let mut order = Vec::new();
    let mut left = ids.clone();
    while !left.is_empty() {
        let (at, response) = client.any(&left);
        response.unwrap();
        let id = left.remove(at);
        order.push(ids.iter().position(|known| *known == id).unwrap() + 1);
    }
    assert_eq!(order, [1, 2, 4, 3, 5, 7, 6, 8]);
    let hits: Vec<_> = server.faults().iter().map(|one| one.hits).collect();
    assert_eq!(hits, [2, 2]);
    assert_eq!(client.late, 2);
}

#[test]
fn a_service_time_makes_a_server_of_known_capacity() {
    let server = with(&["service_time=2ms,on=read"]);
    let mut client = Client::plain(server.url());
    let start = Instant::now();
    let ids: Vec<_> = (0..25).map(|_| client.send(read())).collect();
    let mut left = ids;
    while !left.is_empty() {
        let (at, response) = client.any(&left);
        response.unwrap();
        assert_eq!(at, 0, "one after another");
        left.remove(at);
    }
    // It cannot have done them faster.
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(counts(&server), (25, 25));
}

#[test]
fn a_slower_server_gives_the_same_answers() {
    let server = with(&["service_time=300%,on=request,share=50%"]);
    let mut client = Client::plain(server.url());
    for _ in 0..40 {
        client.call(read()).unwrap();
    }
    // It is slower behind the answer, at the end of a turn; sessions are requests, too: 42 events are 21 blocks of two.
    until(&server, "42 events", |server| counts(server).0 >= 42);
    assert_eq!(counts(&server), (42, 21));
}

#[test]
fn a_stall_holds_everybody_up_and_nothing_is_lost() {
    let server = with(&["stall=60ms,on=write,times=1"]);
    let mut client = Client::plain(server.url());
    count_up(&mut client);
    next(&mut client);
    let start = Instant::now();
    let write = client.send(wire::types::WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![wire::types::WriteValue {
            node_id: bench(1000),
            attribute_id: AttributeId::Value as u32,
            index_range: wire::types::NumericRange::None,
            value: wire::types::DataValue::value_only(Variant::Double(1.0)),
        }]),
    });
    let read = client.send(read());
    client.answer(read).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(60));
    client.answer(write).unwrap();
    assert_eq!(counts(&server), (1, 1));
    let mut last = *numbers(&next(&mut client)).last().unwrap();
    for _ in 0..3 {
        for number in numbers(&next(&mut client)) {
            assert_eq!(number, last + 1);
            last = number;
        }
    }
}

#[test]
fn every_other_connection_is_refused() {
    let server = with(&["refuse,on=connection,every=2", "refuse,on=session,every=3"]);
    let mut sessions = Vec::new();
    for n in 1..=6 {
        let connected = Client::connect(server.url(), Protection::NONE, None, None);
        assert_eq!(connected.is_err(), n % 2 == 0, "{n}");
        if let Ok(mut client) = connected {
            sessions.push(client.log_in(&Credentials::Anonymous).err());
        }
    }
    assert_eq!(sessions, [None, None, Some(StatusCode::BadTooManySessions)]);
    assert_eq!(counts(&server), (6, 3));
    assert_eq!(server.counted().refused_connections, 3);
}

#[test]
fn a_connection_is_cut_and_the_session_goes_on_over_another() {
    let server = with(&["disconnect,on=read,every=3"]);
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut session = client.log_in(&Credentials::Anonymous).unwrap();
    let id = count_up(&mut client);
    next(&mut client);
    let mut answered = 0;
    while client.call(read()).is_ok() {
        answered += 1;
    }
    assert_eq!(answered, 2);
    assert_eq!(server.counted().sessions, 1);
    let mut again = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    session.move_to(again.channel()).unwrap();
    again
        .activate(&mut session, &Credentials::Anonymous)
        .unwrap();
    let response = again
        .call(wire::types::PublishRequest {
            request_header: header(),
            subscription_acknowledgements: Some(vec![SubscriptionAcknowledgement {
                subscription_id: id,
                sequence_number: 1,
            }]),
        })
        .unwrap();
    assert_eq!(response.results, Some(vec![StatusCode::Good]));
}

#[test]
fn connections_are_cut_by_the_clock_as_many_as_asked() {
    let server = start(Config {
        threads: 2,
        ..Config::default()
    });
    let mut clients: Vec<_> = (0..8).map(|_| Client::plain(server.url())).collect();
    let fault = "disconnect,on=connection,share=25%,after=10ms"
        .parse()
        .unwrap();
    server.add_fault(fault).unwrap();
    while server.faults()[0].events < 8 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let cut = clients
        .iter_mut()
        .filter_map(|client| client.call(read()).err());
    assert_eq!(cut.count(), 2);
    assert_eq!(counts(&server), (8, 2));
}

#[test]
fn a_restart_loses_sessions_and_begins_a_new_life() {
    let server = with(&["restart=20ms,on=write,times=1"]);
    let mut client = Client::plain(server.url());
    count_up(&mut client);
    let start_time = VariableId::Server_ServerStatus_StartTime;
    let before = client.read(&[start_time.into()]).remove(0).value;
    let lost = client.call(wire::types::WriteRequest {
        request_header: header(),
        nodes_to_write: None,
    });
    assert_eq!(lost.unwrap_err(), StatusCode::BadConnectionClosed);
    let deadline = Instant::now() + crate::client::PATIENCE;
    let mut client = loop {
        if let Ok(mut client) = Client::connect(server.url(), Protection::NONE, None, None)
            && client.log_in(&Credentials::Anonymous).is_ok()
        {
            break client;
        }
        assert!(Instant::now() < deadline, "the server does not come back");
        std::thread::sleep(Duration::from_millis(5));
    };
    let after = client.read(&[start_time.into()]).remove(0).value;
    let (Some(Variant::DateTime(before)), Some(Variant::DateTime(after))) = (before, after) else {
        panic!("no times");
    };
    assert!(after > before);
    let counted = server.counted();
    assert_eq!(
        (counted.sessions, counted.subscriptions, counted.items),
        (1, 0, 0)
    );
    let told = server.ground_truth();
    assert!(told.subscriptions.open.is_empty());
    assert_eq!(told.faults[0].hits, 1);
}

#[test]
fn faults_are_set_listed_and_cleared_while_the_server_runs() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let text = |text: &str| vec![Variant::from(text)];
    let fault = text("bad=BadOutOfService,on=browse,times=2");
    assert_eq!(
        ask(&mut client, &server, "AddFault", fault),
        Variant::UInt32(1)
    );
    let json = text(r#"{"on": "read", "bad": "BadTimeout", "every": 2}"#);
    assert_eq!(
        ask(&mut client, &server, "AddFault", json),
        Variant::UInt32(2)
    );
    assert!(client.call(read()).is_ok());
    assert_eq!(client.call(read()).unwrap_err(), StatusCode::BadTimeout);
    ask(&mut client, &server, "ClearFault", vec![Variant::UInt32(2)]);
    for _ in 0..4 {
        assert!(client.call(read()).is_ok());
    }
    let Variant::String(list) = ask(&mut client, &server, "ListFaults", Vec::new()) else {
        panic!("no list");
    };
    let list: serde_json::Value = serde_json::from_str(list.as_ref()).unwrap();
    assert_eq!(list[0]["fault"], "bad=BadOutOfService,on=browse,times=2");
    assert_eq!(
        (list[1]["events"].as_u64(), list[1]["hits"].as_u64()),
        (Some(2), Some(1))
    );
    assert_eq!(list[1]["cleared"], true);
    assert_eq!(
        ask(&mut client, &server, "ClearFaults", Vec::new()),
        Variant::UInt32(1)
    );
    for (wrong, why) in [
        ("dely=2ms", StatusCode::BadSyntaxError),
        ("bad=Bad,node=ns=9;i=9", StatusCode::BadNodeIdUnknown),
    ] {
        let request = CallRequest {
            request_header: header(),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: plant(&server, "Plant"),
                method_id: plant(&server, "Plant.AddFault"),
                input_arguments: Some(text(wrong)),
            }]),
        };
        let result = client.call(request).unwrap().results.unwrap().remove(0);
        assert_eq!(result.status_code, StatusCode::BadInvalidArgument);
        assert_eq!(result.input_argument_results, Some(vec![why]));
    }
}

#[test]
fn a_share_is_one_of_the_whole_server_whatever_its_threads() {
    let server = start(Config {
        threads: 2,
        faults: vec!["bad=BadOutOfService,on=read,share=10%".parse().unwrap()],
        ..Config::default()
    });
    let failed: usize = std::thread::scope(|scope| {
        let threads = (0..4).map(|_| {
            scope.spawn(|| {
                let mut client = Client::plain(server.url());
                (0..250).filter(|_| client.call(read()).is_err()).count()
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(failed, 100);
    assert_eq!(counts(&server), (1000, 100));
}
