//! A channel that nobody opens: its transport protects messages and keeps them apart, as `opc.https` does.

use std::time::Duration;

use wire::channel::ChannelError;
use wire::client::{self, Event};
use wire::server;
use wire::time::{Instant, Now};

const NOW: Now = Now {
    mono: Instant::from_nanos(1),
    utc: 0,
};

fn random(bytes: &mut [u8]) {
    bytes.fill(1);
}

fn pair() -> (client::Connection, server::Connection) {
    let config = client::Config {
        shared_channel: Some(1),
        ..client::Config::new("opc.https://plc", Box::new(random))
    };
    let client = client::Connection::new(config, NOW);
    let config = server::Config {
        shared_channel: true,
        ..server::Config::new(1, Box::new(random))
    };
    (client, server::Connection::new(config, NOW))
}

/// The head of a response to this request, and nothing else.
fn answer(handle: u32) -> Vec<u8> {
    let mut body = vec![1, 0, 0x8d, 1];
    body.extend_from_slice(&[0; 8]);
    body.extend_from_slice(&handle.to_le_bytes());
    body.extend_from_slice(&[0; 5]);
    body.extend_from_slice(&[0xff; 4]);
    body.extend_from_slice(&[0; 3]);
    body
}

/// What one has to say comes to the other.
fn ask(client: &mut client::Connection, server: &mut server::Connection) {
    let sent = client.pending().to_vec();
    client.wrote(sent.len());
    server.receive(&sent);
}

fn reply(client: &mut client::Connection, server: &mut server::Connection) {
    let sent = server.pending().to_vec();
    server.wrote(sent.len());
    client.receive(&sent);
}

#[test]
fn requests_are_answered_without_a_hello_however_long_it_takes() {
    let (mut client, mut server) = pair();
    assert!(client.is_open() && client.pending().is_empty());
    assert!(matches!(client.poll_event(NOW), Some(Event::Opened { .. })));
    let years = Duration::from_secs(40 * 365 * 24 * 3600);
    let later = Now {
        mono: NOW.mono + years,
        utc: 0,
    };
    for now in [NOW, later] {
        assert_eq!((client.poll_timeout(), server.poll_timeout()), (None, None));
        client.handle_timeout(now);
        server.handle_timeout(now);
        let deadline = now.mono + Duration::from_secs(1);
        let sent = client.send(deadline, |out, _| out.extend_from_slice(b"request"));
        let asked = sent.unwrap();
        ask(&mut client, &mut server);
        let id = match server.poll_event(now) {
            Some(server::Event::Request {
                id,
                body: b"request",
            }) => id,
            other => panic!("{other:?}"),
        };
        let body = answer(asked.number());
        server
            .respond(id, |out| out.extend_from_slice(&body))
            .unwrap();
        reply(&mut client, &mut server);
        match client.poll_event(now) {
            Some(Event::Response { id, body: got }) => assert_eq!((id, got), (asked, &body[..])),
            other => panic!("{other:?}"),
        }
    }
    // Nobody said how long a chunk may be, and so each request is one.
    let long = vec![7; 200_000];
    let sent = client.send(later.mono, |out, _| out.extend_from_slice(&long));
    assert!(sent.is_ok());
    assert_eq!(client.pending().get(..4), Some(&b"MSGF"[..]));
    assert_eq!(client.pending().len(), 200_024);
}

#[test]
fn an_answer_in_the_place_of_another_ends_the_connection() {
    let (mut client, mut server) = pair();
    assert!(client.poll_event(NOW).is_some());
    let deadline = NOW.mono + Duration::from_secs(1);
    let asked = client.send(deadline, |out, _| out.extend_from_slice(b"request"));
    ask(&mut client, &mut server);
    let Some(server::Event::Request { id, .. }) = server.poll_event(NOW) else {
        panic!("no request");
    };
    let body = answer(asked.unwrap().number() + 1);
    server
        .respond(id, |out| out.extend_from_slice(&body))
        .unwrap();
    reply(&mut client, &mut server);
    assert!(matches!(client.poll_event(NOW), Some(Event::Unanswered(_))));
    match client.poll_event(NOW) {
        Some(Event::Closed(error @ ChannelError::Unexpected(_))) => {
            assert!(error.to_string().contains("--in-flight 1"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_below_and_not_whole_has_its_time() {
    let (_, mut server) = pair();
    let at = |seconds| Now {
        mono: NOW.mono + Duration::from_secs(seconds),
        utc: 0,
    };
    server.has_begun_below(Some(1), NOW);
    server.has_begun_below(Some(1), at(50));
    // The next message has all its time.
    server.has_begun_below(Some(2), at(55));
    server.handle_timeout(at(61));
    assert!(!server.is_closed() && server.is_unfinished());
    server.has_begun_below(Some(2), at(100));
    assert_eq!(server.poll_timeout(), Some(at(115).mono));
    server.handle_timeout(at(116));
    assert!(server.is_closed());
    let (_, mut server) = pair();
    server.has_begun_below(Some(1), NOW);
    server.has_begun_below(None, at(1));
    assert_eq!(server.poll_timeout(), None);
}
