//! Memory for clients is held to a budget, and who takes it gives it back.

use std::time::Duration;

use plant::{Config, Limits, Server};
use wire::budget::Budget;
use wire::channel::ChannelError;
use wire::types::{
    AttributeId, DataValue, PublishResponse, StatusCode, Variant, WriteRequest, WriteValue,
};

use crate::client::Client;
use crate::subscribing::{header, item, publish, subscribe_for, watch};
use crate::{bench, everywhere, until};

const MIB: usize = 1024 * 1024;

fn with(memory: &Budget, limits: Limits) -> (Server, [String; 5]) {
    everywhere(Config {
        memory: memory.clone(),
        limits,
        ..Config::default()
    })
}

fn is_served(good: &mut Client) {
    let value = good.read(&[bench(1007)]).remove(0).value;
    assert_eq!(value, Some(Variant::Double(1007.0)));
}

/// Another 100 KiB for those who watch.
fn write(client: &mut Client, n: u8) -> StatusCode {
    let request = WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: bench(3014),
            attribute_id: AttributeId::Value as u32,
            value: DataValue::value_only(vec![n; 102_400]),
            ..Default::default()
        }]),
    };
    client.call(request).unwrap().results.unwrap()[0]
}

/// What a server said that ended the connection.
fn told(client: &mut Client) -> Option<StatusCode> {
    client.look_now();
    match &client.closed {
        Some(ChannelError::Peer(message)) => Some(message.status),
        // HTTP has no such message, and what is not taken out of TLS has none either.
        Some(_) if !client.url.starts_with("opc.tcp://") => Some(StatusCode::BadConnectionClosed),
        _ => None,
    }
}

#[test]
fn a_message_that_does_not_come_to_its_end_has_a_deadline() {
    let memory = Budget::of(64 * MIB);
    let limits = Limits {
        message_timeout: Duration::from_millis(500),
        ..Limits::default()
    };
    let (server, urls) = with(&memory, limits);
    let mut good = Client::plain(server.url());
    for url in binary(&urls) {
        // In the middle of a chunk, behind some whole ones, and at the end of one.
        for bytes in [100, 3 * 65_536 + 100, 3 * 65_536] {
            let mut client = Client::plain(url);
            client.send_part(&vec![0; 8 * MIB], bytes);
            let ended = [StatusCode::BadTimeout, StatusCode::BadConnectionClosed];
            let late = &ended[..if url.starts_with("opc.tcp") { 1 } else { 2 }];
            until(&server, url, |_| {
                told(&mut client).is_some_and(|it| late.contains(&it))
            });
            is_served(&mut good);
        }
    }
    // Who has sent all of it is not meant.
    std::thread::sleep(Duration::from_millis(700));
    is_served(&mut good);
    until(&server, "given back", |_| memory.held() == 0);
}

/// Bodies in JSON that are not whole are meant in `json.rs`.
fn binary(urls: &[String]) -> impl Iterator<Item = &str> {
    let urls = urls.iter().map(String::as_str);
    urls.filter(|url| !url.starts_with("json"))
}

#[test]
fn messages_that_are_not_finished_take_no_more_memory_than_there_is() {
    let memory = Budget::of(24 * MIB);
    let (server, urls) = with(&memory, Limits::default());
    let mut good = Client::plain(server.url());
    let body = vec![0; 15 * MIB];
    for url in binary(&urls) {
        let mut clients: Vec<_> = (0..8)
            .map(|_| {
                let mut client = Client::plain(url);
                client.send_part(&body, 10 * MIB);
                client
            })
            .collect();
        let ended = [
            StatusCode::BadTcpNotEnoughResources,
            StatusCode::BadConnectionClosed,
        ];
        let refused = &ended[..if url.starts_with("opc.tcp") { 1 } else { 2 }];
        let mut count = 0;
        until(&server, url, |_| {
            count = clients.iter_mut().filter_map(told).count();
            count >= 6
        });
        assert!(
            clients
                .iter_mut()
                .all(|it| told(it).is_none_or(|status| refused.contains(&status)))
        );
        assert!(memory.held() <= 24 * MIB);
        is_served(&mut good);
        is_served(&mut Client::plain(url));
        drop(clients);
        until(&server, "given back", |_| memory.held() == 0);
    }
}

#[test]
fn who_subscribes_and_does_not_read_costs_little_and_loses_nothing() {
    for n in 0..5 {
        let memory = Budget::of(64 * MIB);
        let (server, urls) = with(&memory, Limits::default());
        costs_little(&server, &memory, &urls[n]);
    }
}

fn costs_little(server: &Server, memory: &Budget, url: &str) {
    let mut good = Client::plain(server.url());
    let mut client = Client::plain(url);
    let before = server.counted().messages;
    let id = subscribe_for(&mut client, 10.0, 10_000).subscription_id;
    // A message has a megabyte.
    let items = (0..10).map(|n| {
        let mut item = item(bench(3014), n, 10.0);
        // What waits in queues is not meant here.
        item.requested_parameters.queue_size = 2;
        item
    });
    watch(&mut client, id, items.collect());
    let asked: Vec<_> = (0..200).map(|_| client.send(publish(None))).collect();
    // Each value is a message, as long as they are made.
    for n in 0..40 {
        assert_eq!(write(&mut good, n), StatusCode::Good);
        std::thread::sleep(Duration::from_millis(20));
    }
    let made = server.counted().messages - before;
    assert!(
        (2..50).contains(&made),
        "{url}: {made} messages for one that does not read"
    );
    assert!(memory.held() < 16 * MIB, "{url}: {}", memory.held());
    is_served(&mut good);
    // As soon as it reads it gets one message after the other.
    let mut last = None;
    for id in &asked[..10] {
        let response = PublishResponse::try_from(client.answer(*id).unwrap()).unwrap();
        let message = response.notification_message;
        if message.notification_data.is_none_or(|data| data.is_empty()) {
            // That was all: a keep-alive has the number of the next message.
            break;
        }
        let number = message.sequence_number;
        assert!(
            last.is_none_or(|last| last + 1 == number),
            "{last:?} {number}"
        );
        last = Some(number);
    }
    assert!(last.is_some_and(|last| last > 2), "{last:?}");
    drop(client);
}
