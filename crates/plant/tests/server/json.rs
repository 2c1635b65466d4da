//! JSON over HTTPS and WebSockets: what is served in binary is served in it, with the same sessions, faults and bounds.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use plant::{Config, Limits, Server};
use wire::channel::Protection;
use wire::service::Response;
use wire::session::token::Credentials;
use wire::types::{
    AttributeId, GetEndpointsRequest, ReadRequest, StatusCode, TimestampsToReturn, Variant,
};
use wire::url::Transport;
use wss::Tunnel;

use crate::client::{Client, PATIENCE, bare, identity, read_value};
use crate::https::{knows_users, serves};
use crate::sessions::users;
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::{bench, is_served, start};

fn served(config: Config) -> Server {
    start(Config {
        identity: Some(identity("urn:test:server")),
        https: Some(0),
        wss: Some(0),
        ..config
    })
}

/// Its URLs as clients of this file's type them.
fn urls(server: &Server) -> [String; 2] {
    [server.https_url().unwrap(), server.wss_url().unwrap()].map(|url| format!("json+{url}"))
}

fn say((socket, tunnel): &mut (TcpStream, Tunnel), text: &str) {
    tunnel.send(text.as_bytes()).unwrap();
    tunnel.flush(socket).unwrap();
}

/// The next answer: head and body.
fn hear((socket, tunnel): &mut (TcpStream, Tunnel)) -> (String, String) {
    let mut heard = String::new();
    let mut into = vec![0; 65_536];
    loop {
        if let Some((head, body)) = heard.split_once("\r\n\r\n") {
            let length = head.split("Content-Length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return (head.to_owned(), body.to_owned());
            }
        }
        match tunnel.read(socket, &mut into) {
            Ok(0) => panic!("it ended: {heard}"),
            Ok(count) => heard.push_str(std::str::from_utf8(&into[..count]).unwrap()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn post(body: &str) -> String {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: plc\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn services_are_served_in_json_as_in_binary() {
    let server = served(Config {
        users: users(),
        ..Config::default()
    });
    for url in urls(&server) {
        let many = (&[1, 10, 1][..], TimestampsToReturn::Both);
        serves(&server, &url, 0.1 + 0.2, many);
        knows_users(&server, &url);
    }
}

#[test]
fn subscriptions_are_told_in_json() {
    let server = served(Config::default());
    let [_, wss] = urls(&server);
    let mut client = Client::plain(&wss);
    let subscription = subscribe(&mut client, 50.0).subscription_id;
    watch(&mut client, subscription, vec![item(bench(1007), 3, 0.0)]);
    let asked = client.send(publish(None));
    let response = client.answer(asked).unwrap();
    let Response::Publish(response) = response else {
        panic!("{response:?}");
    };
    let told = values(&response.notification_message);
    assert_eq!(told, [(3, Variant::Double(1007.0))]);
    // One waits, and others are answered over the same WebSocket.
    let asked = client.send(publish(None));
    for _ in 0..3 {
        is_served(&mut client);
    }
    assert!(!client.has_by_now(asked));
}

/// Part 6, 7.4.1: sessions belong to no connection, nor to an encoding.
#[test]
fn a_session_is_used_in_both_encodings() {
    let server = served(Config::default());
    let [https, _] = urls(&server);
    let mut first = Client::plain(&https);
    let mut second =
        Client::connect(server.https_url().unwrap(), Protection::NONE, None, None).unwrap();
    second.token = first.token.clone();
    is_served(&mut second);
    is_served(&mut first);
}

#[test]
fn endpoints_say_that_json_is_spoken() {
    let server = served(Config {
        protections: wire::channel::all_protections()
            .filter(|it| *it != Protection::NONE)
            .collect(),
        ..Config::default()
    });
    for url in urls(&server) {
        let mut client = Client::plain(&url);
        let endpoints = client.call(GetEndpointsRequest::default()).unwrap();
        let endpoints = endpoints.endpoints.unwrap();
        for (transport, url) in [
            (Transport::Https, server.https_url().unwrap()),
            (Transport::Wss, server.wss_url().unwrap()),
        ] {
            let of = |it: &&wire::types::EndpointDescription| {
                transport.json_profile() == Some(it.transport_profile_uri.as_ref())
            };
            let own: Vec<_> = endpoints.iter().filter(of).collect();
            assert_eq!(own.len(), 1);
            assert_eq!(own[0].endpoint_url.as_ref(), url);
        }
    }
}

/// What is understood in part is a fault with the handle that was read; what is no message is a status of HTTP.
#[test]
fn wrong_json_is_refused_where_wrong_binary_is() {
    let server = served(Config::default());
    let mut raw = bare(server.https_address().unwrap());
    for (body, code) in [
        (
            r#"{"UaTypeId":"i=426","RequestHeader":{"RequestHandle":9},"LocaleIds":7}"#,
            StatusCode::BadDecodingError,
        ),
        (
            r#"{"UaTypeId":"i=629000","RequestHeader":{"RequestHandle":9}}"#,
            StatusCode::BadServiceUnsupported,
        ),
        (
            r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":9}}"#,
            StatusCode::BadSessionIdInvalid,
        ),
    ] {
        say(&mut raw, &post(body));
        let (head, body) = hear(&mut raw);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(
            head.contains("Content-Type: application/json\r\n"),
            "{head}"
        );
        assert!(!head.contains("Access-Control"), "{head}");
        let fault = format!(
            r#""RequestHandle":9,"ServiceResult":{{"Code":{}}}"#,
            code.bits()
        );
        assert!(body.starts_with(r#"{"UaTypeId":"i=395","#), "{body}");
        assert!(body.contains(&fault), "{body}");
    }
    say(&mut raw, &post("[1]"));
    let (head, _) = hear(&mut raw);
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

/// A body in JSON is kept until it is whole: in the connection's memory, and for as long as any message may take.
#[test]
fn who_sends_half_a_message_in_json_is_not_waited_for() {
    let server = served(Config {
        limits: Limits {
            message_timeout: Duration::from_millis(300),
            connection_memory: 256 << 10,
            ..Limits::default()
        },
        ..Config::default()
    });
    let ended = |(socket, tunnel): &mut (TcpStream, Tunnel)| {
        let until = Instant::now() + PATIENCE;
        let mut into = vec![0; 65_536];
        while Instant::now() < until {
            match tunnel.read(socket, &mut into) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("it is silent"),
                // It ended while more was on its way.
                Err(_) => return,
            }
        }
        panic!("it is still there");
    };
    let head = "POST / HTTP/1.1\r\nHost: plc\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n";
    let mut slow = bare(server.https_address().unwrap());
    say(&mut slow, &format!("{head}{{\"a\":["));
    ended(&mut slow);
    // More than a connection may have.
    let mut large = bare(server.https_address().unwrap());
    say(&mut large, head);
    for _ in 0..64 {
        let (socket, tunnel) = &mut large;
        if tunnel.send(&[b' '; 16_384]).is_err() || tunnel.flush(socket).is_err() {
            break;
        }
    }
    ended(&mut large);
    is_served(&mut Client::plain(&urls(&server)[0]));
}

/// What a loop turns into binary in one go is bounded, and not by what a message in binary may have.
#[test]
fn a_request_in_json_is_no_longer_than_holds_nobody_up() {
    const MOST: usize = 100_000;
    let limits = Limits {
        json_request: MOST,
        ..Limits::default()
    };
    let large = limits.sizes.receive_message as usize;
    let server = served(Config {
        limits,
        ..Config::default()
    });
    // No session, and so refused behind its decoding.
    let begin = r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":9},"X":""#;
    let of = |bytes: usize| {
        let rest = bytes - begin.len() - 2;
        format!("{begin}{}\"}}", "x".repeat(rest))
    };
    let pieces = |body: &str| {
        let head = "POST / HTTP/1.1\r\nHost: plc\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (a, b) = body.split_at(body.len() / 2);
        format!(
            "{head}{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n",
            a.len(),
            b.len()
        )
    };
    for request in [post(&of(MOST)), pieces(&of(MOST))] {
        let mut raw = bare(server.https_address().unwrap());
        say(&mut raw, &request);
        let (head, _) = hear(&mut raw);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    }
    // It is said before the rest comes.
    let length = |bytes: usize| post("").replace("Length: 0", &format!("Length: {bytes}"));
    let whole = pieces(&of(MOST + 2));
    let (_, rest) = whole
        .rsplit_once(&format!("{:x}\r\n", MOST / 2 + 1))
        .unwrap();
    let begun = whole.strip_suffix(rest).unwrap().to_owned();
    for request in [length(MOST + 1), length(large), begun] {
        let mut raw = bare(server.https_address().unwrap());
        say(&mut raw, &request);
        let (head, _) = hear(&mut raw);
        assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
    }
    // A few letters of JSON may be many bytes: that many of them are not made either.
    let node = r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":9},"NodesToRead":["#;
    let many = format!("{node}{}{{}}]}}", "{},".repeat(MOST / 4));
    assert!(many.len() < MOST);
    let mut raw = bare(server.https_address().unwrap());
    say(&mut raw, &post(&many));
    assert!(hear(&mut raw).0.starts_with("HTTP/1.1 413 "));
    // The same over WebSockets, and in binary as much as ever.
    let [https, wss] = urls(&server);
    for url in [&https, &wss] {
        let mut client = Client::plain(url);
        assert!(client.call(reading(100)).is_ok());
        assert!(client.call(reading(3000)).is_err(), "{url}");
        is_served(&mut Client::plain(url));
    }
    let mut binary = Client::connect(server.https_url().unwrap(), Protection::NONE, None, None);
    let client = binary.as_mut().unwrap();
    client.token = Client::plain(&https).token.clone();
    assert!(client.call(reading(3000)).is_ok());
}

/// JSON has no secure channel. A server that wants one for each session has to have it over WebSockets, too.
#[test]
fn json_over_websockets_is_no_way_around_the_security_that_is_wanted() {
    let secured: Vec<Protection> = wire::channel::all_protections()
        .filter(|it| *it != Protection::NONE)
        .collect();
    let only_sockets = |protections: Vec<Protection>| {
        start(Config {
            identity: Some(identity("urn:test:server")),
            wss: Some(0),
            protections,
            ..Config::default()
        })
    };
    let profile = Transport::Wss.json_profile().unwrap();
    let tells = |server: &Server| {
        let mut client =
            Client::connect(server.wss_url().unwrap(), Protection::NONE, None, None).unwrap();
        let endpoints = client.call(GetEndpointsRequest {
            request_header: header(),
            endpoint_url: server.wss_url().unwrap().into(),
            ..Default::default()
        });
        let endpoints = endpoints.unwrap().endpoints.unwrap();
        endpoints
            .iter()
            .any(|it| it.transport_profile_uri.as_ref() == profile)
    };
    let server = only_sockets(secured);
    let mut raw = bare(server.wss_address().unwrap());
    say(
        &mut raw,
        "GET / HTTP/1.1\r\nHost: plc\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\
         Sec-WebSocket-Protocol: opcua+uajson\r\n\r\n",
    );
    let (mut answer, mut into) = (Vec::new(), [0; 4096]);
    while !answer.windows(2).any(|it| it == b"\r\n") {
        match raw.1.read(&mut raw.0, &mut into) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&into[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}"),
        }
    }
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(!tells(&server));
    let server = only_sockets(vec![Protection::NONE]);
    let json = format!("json+{}", server.wss_url().unwrap());
    is_served(&mut Client::plain(&json));
    assert!(tells(&server));
}

/// Part 4, 5.7.2: a client means the answers that it gets, over whichever connection they come.
#[test]
fn an_answer_in_json_is_as_long_as_its_client_takes() {
    let server = served(Config::default());
    for url in urls(&server) {
        let mut first = Client::plain(&url);
        let mut session = first.create_taking(3000).unwrap();
        let user = Credentials::Anonymous;
        first.activate(&mut session, &user).unwrap();
        // In binary it has less than 1000 bytes.
        let long = |client: &mut Client| client.call(reading(30)).err();
        let too_long = Some(StatusCode::BadResponseTooLarge);
        assert_eq!(long(&mut first), too_long);
        let mut second = Client::plain(&url);
        second.token = first.token.clone();
        assert_eq!(long(&mut second), too_long, "over another connection");
        for client in [&mut first, &mut second] {
            assert!(client.call(reading(10)).is_ok());
        }
        // Who did not say so is not held to it.
        assert_eq!(long(&mut Client::plain(&url)), None);
    }
}

fn reading(count: usize) -> ReadRequest {
    ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(vec![read_value(bench(1007), AttributeId::Value, ""); count]),
    }
}
