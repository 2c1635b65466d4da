//! Clients that misbehave, beside one that does not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use plant::{Config, Server};
use wire::frame::Limits;
use wire::types::{
    AttributeId, DataValue, NodeId, PublishResponse, ReadRequest, ReadResponse, StatusCode,
    TimestampsToReturn, Variant,
};

use crate::client::{Client, PATIENCE, read_value};
use crate::start;
use crate::subscribing::{header, item, publish, subscribe_for, watch};
use crate::{BENCH, bench, everywhere, until};

fn is_served(good: &mut Client) {
    let value = good.read(&[bench(1007)]).remove(0).value;
    assert_eq!(value, Some(Variant::Double(1007.0)));
}

#[test]
fn who_connects_and_says_nothing_or_half_a_word_keeps_nobody_out() {
    let server = start(Config::default());
    let mut good = Client::plain(server.url());
    let address = server.address();
    let silent: Vec<_> = (0..100)
        .map(|n| {
            let mut socket = TcpStream::connect(address).unwrap();
            if n % 2 == 0 {
                // The head of a HEL chunk that never comes.
                socket.write_all(b"HELF\x40\0\0\0\0\0").unwrap();
            }
            socket
        })
        .collect();
    until(&server, "all connected", |server| {
        server.counted().connections == 101
    });
    is_served(&mut good);
    is_served(&mut Client::plain(server.url()));
    drop(silent);
    until(&server, "all gone", |server| {
        server.counted().connections < 3
    });
    is_served(&mut good);
}

/// Asks for 40 values of 100 KiB.
fn large() -> ReadRequest {
    ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![read_value(bench(3014), AttributeId::Value, ""); 40]),
    }
}

#[test]
fn who_asks_and_does_not_read_gets_no_more_and_slows_nobody() {
    let (server, urls) = everywhere(Config::default());
    for url in urls {
        let mut good = [server.url(), &url].map(Client::plain);
        let mut greedy = Client::plain(&url);
        let before = server.counted();
        // A hundred times as much as is kept for it.
        for _ in 0..100 {
            greedy.send(large());
        }
        for _ in 0..10 {
            good.iter_mut().for_each(is_served);
        }
        // What it asked for was not all answered: one answer waits, some more are in the socket.
        let counted = server.counted();
        let answered = counted.reads - before.reads;
        assert!(answered < 40 * 20, "{url}: {answered}");
        assert!(counted.requests >= before.requests + 20, "{url}");
        drop(greedy);
        until(&server, "gone", |server| server.counted().connections == 2);
        good.iter_mut().for_each(is_served);
        drop(good);
        until(&server, "all gone", |server| {
            server.counted().connections == 0
        });
    }
}

/// Bytes that the kernel has for somebody at this port of this machine.
#[cfg(target_os = "linux")]
fn waiting_for(server: &Server, client: u16) -> u64 {
    // proc(5): both addresses are the second and third word of a line, what is to be sent the fifth, all hexadecimal.
    // Another connection may have had the client's port a minute ago, and is still in the table.
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ends = [server.address().port(), client].map(|port| format!(":{port:04X}"));
    let mut lines = table.lines().map(|line| line.split_whitespace());
    let line = lines.find(|line| {
        let addresses = line.clone().skip(1).zip(&ends);
        addresses
            .filter(|(address, end)| address.ends_with(*end))
            .count()
            == 2
    });
    let queues = line.and_then(|mut line| line.nth(4)).unwrap();
    u64::from_str_radix(queues.split(':').next().unwrap(), 16).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn who_does_not_read_has_few_answers_made_for_the_kernel_to_keep() {
    let server = start(Config::default());
    let mut greedy = Client::plain(server.url());
    let port = greedy.port();
    greedy.send(large());
    let mut waiting = 0;
    until(&server, "no more of it is taken", |_| {
        let before = std::mem::replace(&mut waiting, waiting_for(&server, port));
        // With less the plant was only not there for a moment.
        waiting >= 100_000 && waiting == before
    });
    // Of four megabytes; left alone, a kernel takes most of them.
    assert!(waiting < 600_000, "{waiting}");
    is_served(&mut Client::plain(server.url()));
    // It was not sent what it did not take, but is as soon as it does.
    is_served(&mut greedy);
}

#[test]
fn who_asks_for_much_at_once_gets_all_of_it_while_others_have_their_turn() {
    let server = start(Config::default());
    let mut good = Client::plain(server.url());
    let mut greedy = Client::plain(server.url());
    let mut asked: Vec<_> = (0..19).map(|_| greedy.put(large())).collect();
    asked.push(greedy.send(large()));
    for request in asked {
        is_served(&mut good);
        // Bytes as they came: 80 MB of values would take a while to unpack.
        let answer = greedy.raw_answer(request);
        assert!(answer.len() > 40 * 102_400, "{}", answer.len());
    }
    assert_eq!(server.counted().reads, 20 * 40 + 20);
}

/// Arrays of 102,400 bytes that count, so many of them.
fn is_large(values: &[DataValue], count: usize) {
    assert_eq!(values.len(), count);
    for (at, value) in values.iter().enumerate() {
        let Some(Variant::Array(array)) = &value.value else {
            panic!("value {at} is no array");
        };
        let right = |(at, value): (usize, &Variant)| *value == Variant::Byte(at as u8);
        assert_eq!(array.values.len(), 102_400, "value {at}");
        assert!(array.values.iter().enumerate().all(right), "value {at}");
    }
}

#[test]
fn a_long_answer_is_whole_and_what_comes_meanwhile_waits_for_its_end() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe_for(&mut client, 10.0, 10_000).subscription_id;
    watch(&mut client, id, vec![item(bench(3030), 1, 10.0)]);
    client.came = Some(Vec::new());
    let mut waiting = Vec::new();
    let mut asked = Vec::new();
    for _ in 0..5 {
        waiting.push(client.put(publish(None)));
        asked.push(client.send(large()));
    }
    // Meanwhile the socket is full, and the subscription has something to say.
    std::thread::sleep(Duration::from_millis(300));
    for id in asked {
        let answer = client.answer(id).unwrap();
        let response = ReadResponse::try_from(answer).unwrap();
        is_large(&response.results.unwrap(), 40);
    }
    for id in waiting {
        let answer = client.answer(id).unwrap();
        assert!(PublishResponse::try_from(answer).is_ok());
    }
    let chunks = chunks(&client.came.take().unwrap());
    assert!(chunks.len() > 300, "{}", chunks.len());
    for pair in chunks.windows(2) {
        let [(kind, of), (_, next)] = pair else {
            unreachable!()
        };
        assert!(*kind == b'F' || of == next, "a message within another one");
    }
    is_served(&mut client);
}

/// Final or not, and of which request each chunk is.
fn chunks(mut bytes: &[u8]) -> Vec<(u8, u32)> {
    let number = |at: &[u8]| u32::from_le_bytes(at.try_into().unwrap());
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at(number(&bytes[4..8]) as usize);
        chunks.push((chunk[3], number(&chunk[20..24])));
        bytes = rest;
    }
    chunks
}

#[test]
fn a_long_answer_may_have_chunks_longer_than_what_is_made_at_once() {
    let limits = Limits {
        receive_buffer: 1 << 20,
        send_buffer: 1 << 20,
        ..Limits::default()
    };
    let mut config = Config::default();
    config.limits.sizes = limits;
    let server = start(config);
    let mut client = Client::taking(server.url(), limits);
    client.came = Some(Vec::new());
    is_large(&client.call(large()).unwrap().results.unwrap(), 40);
    assert_eq!(chunks(&client.came.take().unwrap()).len(), 4);
}

#[test]
fn an_answer_longer_than_its_client_takes_is_refused_before_any_of_it_is_sent() {
    let server = start(Config::default());
    for (receive_message, fits) in [(40 * 102_400, false), (40 * 102_411, true)] {
        let limits = Limits {
            receive_message,
            ..Limits::default()
        };
        let mut client = Client::taking(server.url(), limits);
        match client.call(large()) {
            Ok(response) => is_large(&response.results.unwrap(), 40),
            Err(status) => assert_eq!((status, fits), (StatusCode::BadResponseTooLarge, false)),
        }
        is_served(&mut client);
    }
}

#[test]
fn subscriptions_of_clients_that_died_end_with_their_sessions() {
    let mut config = Config::default();
    let short = Duration::from_secs(3);
    config.limits.session_timeout = Duration::from_millis(10)..=short;
    let (server, urls) = everywhere(config);
    for url in &urls {
        let mut client = Client::plain(url);
        let id = subscribe_for(&mut client, 50.0, 60).subscription_id;
        let items = (0..100).map(|n| item(NodeId::new(BENCH, 1000 + n), n, 0.0));
        watch(&mut client, id, items.collect());
        // Without a word, as after kill -9.
    }
    assert!(server.counted().items <= 500);
    until(&server, "no subscriptions", |server| {
        let counted = server.counted();
        (counted.sessions, counted.subscriptions, counted.items) == (0, 0, 0)
    });
    let values = server.tally().values();
    assert_eq!(values.pending(), 0, "{values:?}");
}

/// HEL of Part 6, 7.1.2.3 for this server.
fn hello(server: &Server) -> Vec<u8> {
    let url = server.url().as_bytes();
    let mut hello = b"HELF".to_vec();
    hello.extend_from_slice(&(32 + url.len() as u32).to_le_bytes());
    for number in [0, 65_536, 65_536, 0, 0, url.len() as u32] {
        hello.extend_from_slice(&number.to_le_bytes());
    }
    hello.extend_from_slice(url);
    hello
}

#[test]
fn who_says_hello_and_opens_no_channel_keeps_nobody_out() {
    let server = start(Config::default());
    let mut good = Client::plain(server.url());
    let hello = hello(&server);
    let half: Vec<_> = (0..100)
        .map(|_| {
            let mut socket = TcpStream::connect(server.address()).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.write_all(&hello).unwrap();
            let mut acknowledged = [0; 28];
            socket.read_exact(&mut acknowledged).unwrap();
            assert_eq!(&acknowledged[..4], b"ACKF");
            socket
        })
        .collect();
    assert_eq!(server.counted().connections, 101);
    assert_eq!(server.counted().channels, 1);
    is_served(&mut good);
    is_served(&mut Client::plain(server.url()));
    drop(half);
    until(&server, "all gone", |server| {
        server.counted().connections < 3
    });
    is_served(&mut good);
}

#[test]
fn a_client_that_sends_wrong_bytes_is_thrown_out_and_leaves_nothing_behind() {
    let server = start(Config::default());
    let mut good = Client::plain(server.url());
    let hello = hello(&server);
    let policy = b"http://opcfoundation.org/UA/SecurityPolicy#None";
    let mut open = b"OPNF\0\0\0\0\0\0\0\0".to_vec();
    open.extend_from_slice(&(policy.len() as u32).to_le_bytes());
    open.extend_from_slice(policy);
    open.extend_from_slice(&[0xff; 8]);
    open.extend_from_slice(&[51, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0xbe, 1]);
    open.extend_from_slice(&[0; 60]);
    let length = (open.len() as u32).to_le_bytes();
    open[4..8].copy_from_slice(&length);
    // Each byte of hello and OPN is wrong once: in its lowest bit, in its highest, in all of them.
    let script = [&hello[..], &open].concat();
    for at in 0..script.len() {
        for bits in [1, 0x80, 0xff] {
            let mut script = script.clone();
            script[at] ^= bits;
            let mut socket = TcpStream::connect(server.address()).unwrap();
            // The server may have hung up before all of it is written.
            let _ = socket.write_all(&script);
        }
        if at % 50 == 0 {
            is_served(&mut good);
        }
    }
    until(&server, "all gone", |server| {
        server.counted().connections == 1
    });
    assert_eq!(server.counted().sessions, 1);
    is_served(&mut good);
    is_served(&mut Client::plain(server.url()));
}
