//! HTTPS: what comes as a POST is served as over TCP, sessions are used over any connection, and who misbehaves in HTTP keeps
//! nobody out.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use plant::{Config, Limits, Server};
use wire::budget::Budget;
use wire::channel::Protection;
use wire::session::token::Credentials;
use wire::types::{AttributeId, NotificationMessage};
use wire::types::{
    GetEndpointsRequest, MessageSecurityMode, NodeId, ReadRequest, StatusCode, TimestampsToReturn,
    Variant, WriteRequest, WriteValue,
};
use wire::url::Transport;
use wss::Tunnel;

use crate::client::{Client, PATIENCE, bare, identity, read_value};
use crate::sessions::users;
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::{bench, is_served, start, until};

fn with_https(config: Config) -> Server {
    start(Config {
        identity: Some(identity("urn:test:server")),
        https: Some(0),
        ..config
    })
}

fn url(server: &Server) -> &str {
    server.https_url().unwrap()
}

fn raw(server: &Server) -> (TcpStream, Tunnel) {
    bare(server.https_address().unwrap())
}

/// Says this; false if nobody listens any more.
fn say((socket, tunnel): &mut (TcpStream, Tunnel), text: &[u8]) -> bool {
    tunnel.send(text).is_ok() && tunnel.flush(socket).is_ok()
}

/// All that is said until the end.
fn hear((socket, tunnel): &mut (TcpStream, Tunnel)) -> String {
    let mut heard = Vec::new();
    let mut into = vec![0; 65_536];
    loop {
        match tunnel.read(socket, &mut into) {
            Ok(0) => return String::from_utf8_lossy(&heard).into_owned(),
            Ok(count) => heard.extend_from_slice(&into[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // More had come than was read.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                return String::from_utf8_lossy(&heard).into_owned();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn head(length: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: plc\r\nContent-Type: application/octet-stream\r\n{length}\r\n\r\n"
    )
}

#[test]
fn services_are_served_over_https_as_over_tcp() {
    let server = with_https(Config {
        users: users(),
        ..Config::default()
    });
    let stamps = TimestampsToReturn::Neither;
    let _client = serves(&server, url(&server), 42.0, (&[1, 10, 1, 30], stamps));
    let seconds = server.counted().cumulated_connections;
    assert_eq!(seconds, 2, "all of it over one connection each");
    knows_users(&server, url(&server));
}

/// It is served, writes this number, browses, and is answered many Reads of so many values at once. Whoever was served is
/// there still, and so is another one over TCP.
pub fn serves(
    server: &Server,
    url: &str,
    number: f64,
    (many, stamps): (&[usize], TimestampsToReturn),
) -> [Client; 2] {
    let mut client = Client::plain(url);
    for _ in 0..20 {
        is_served(&mut client);
    }
    let write = WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: bench(1001),
            attribute_id: AttributeId::Value as u32,
            value: Variant::Double(number).into(),
            ..Default::default()
        }]),
    };
    let written = client.call(write).unwrap().results.unwrap();
    assert_eq!(written, [StatusCode::Good]);
    let mut other = Client::plain(server.url());
    let read = other.read(&[bench(1001)]).remove(0);
    assert_eq!(read.value, Some(Variant::Double(number)));
    assert!(!client.below(&NodeId::new(0, 85)).is_empty());
    // Many at once are answered in their order, long ones too.
    let large = |count: usize| ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: stamps,
        nodes_to_read: Some(vec![read_value(bench(3014), AttributeId::Value, ""); count]),
    };
    let ids: Vec<_> = many.iter().map(|count| client.put(large(*count))).collect();
    for id in ids {
        client.answer(id).unwrap();
    }
    [client, other]
}

/// Users are known by their passwords, which TLS and the server's certificate hide.
pub fn knows_users(server: &Server, url: &str) {
    let mut user = Client::connect(
        url,
        Protection::NONE,
        Some(&identity("urn:test:client")),
        server.config().identity.as_ref(),
    )
    .unwrap();
    let credentials = |password: &str| Credentials::UserName {
        name: "bench".into(),
        password: password.to_owned().into(),
    };
    assert!(user.log_in(&credentials("wrong")).is_err());
    user.log_in(&credentials("bench")).unwrap();
    is_served(&mut user);
}

#[test]
fn a_session_is_used_over_any_connection() {
    let server = with_https(Config {
        threads: 3,
        ..Config::default()
    });
    let mut owners: Vec<Client> = (0..5).map(|_| Client::plain(url(&server))).collect();
    for n in 0..owners.len() {
        // Over a new connection, and over those of others, whichever loop they are in.
        let mut other = Client::connect(url(&server), Protection::NONE, None, None).unwrap();
        other.token = owners[n].token.clone();
        is_served(&mut other);
        for owner in &owners {
            other.token = owner.token.clone();
            is_served(&mut other);
        }
        let next = (n + 1) % owners.len();
        let (own, token) = (owners[next].token.clone(), owners[n].token.clone());
        owners[next].token = token;
        is_served(&mut owners[next]);
        owners[next].token = own;
    }
    // The connection of a session ends, and the session does not.
    let token = owners.remove(0).token.clone();
    until(&server, "it is gone", |server| {
        server.counted().connections == 4
    });
    let mut later = Client::connect(url(&server), Protection::NONE, None, None).unwrap();
    later.token = token;
    is_served(&mut later);
    // Part 6, 7.4.1: more than 20 bytes.
    let token = &owners[0].token.identifier;
    let wire::types::Identifier::ByteString(token) = token else {
        panic!("{token:?}");
    };
    assert_eq!(token.as_ref().len(), 28);
    // Another one's token opens nothing, and a session of HTTPS is none over TCP.
    later.token = NodeId::new(0, wire::types::ByteString::from(vec![7; 28]));
    let refused = later.call(reading()).unwrap_err();
    assert_eq!(refused, StatusCode::BadSessionIdInvalid);
    let mut tcp = Client::plain(server.url());
    tcp.token = owners[0].token.clone();
    assert!(tcp.call(reading()).is_err());
}

fn reading() -> ReadRequest {
    ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![read_value(bench(1007), AttributeId::Value, "")]),
    }
}

#[test]
fn notifications_come_over_the_connection_that_waits_for_them() {
    let server = with_https(Config::default());
    let mut client = Client::plain(url(&server));
    let mut waiting = Client::connect(url(&server), Protection::NONE, None, None).unwrap();
    waiting.token = client.token.clone();
    let subscription = subscribe(&mut client, 50.0).subscription_id;
    watch(&mut client, subscription, vec![item(bench(1007), 3, 0.0)]);
    let asked = waiting.send(publish(None));
    let response = waiting.answer(asked).unwrap();
    let wire::service::Response::Publish(response) = response else {
        panic!("{response:?}");
    };
    let message: &NotificationMessage = &response.notification_message;
    assert_eq!(values(message), [(3, Variant::Double(1007.0))]);
    // One waits, and others are answered over the other connection.
    let asked = waiting.send(publish(Some((subscription, message.sequence_number))));
    for _ in 0..10 {
        is_served(&mut client);
    }
    assert!(!waiting.has_by_now(asked));
    // Whoever waited and went away is not answered, but the next one is.
    drop(waiting);
    until(&server, "it is gone", |server| {
        server.counted().connections == 1
    });
    let mut waiting = Client::connect(url(&server), Protection::NONE, None, None).unwrap();
    waiting.token = client.token.clone();
    let asked = waiting.send(publish(None));
    let write = WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: bench(1007),
            attribute_id: AttributeId::Value as u32,
            value: Variant::Double(1.0).into(),
            ..Default::default()
        }]),
    };
    client.call(write).unwrap();
    let response = waiting.answer(asked).unwrap();
    let wire::service::Response::Publish(response) = response else {
        panic!("{response:?}");
    };
    let told = values(&response.notification_message);
    assert_eq!(told, [(3, Variant::Double(1.0))]);
}

#[test]
fn its_endpoint_is_protected_by_tls_alone() {
    let server = with_https(Config {
        wss: Some(0),
        ..Config::default()
    });
    let mut client = Client::plain(url(&server));
    let endpoints = client.call(GetEndpointsRequest::default()).unwrap();
    let endpoints = endpoints.endpoints.unwrap();
    let profile = Transport::Https.profile();
    let own: Vec<_> = endpoints
        .iter()
        .filter(|it| it.transport_profile_uri.as_ref() == profile)
        .collect();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].endpoint_url.as_ref(), url(&server));
    assert_eq!(own[0].security_mode, MessageSecurityMode::None);
    assert!(own[0].security_level > 0);
    let known = own[0].server.discovery_urls.as_ref().unwrap();
    assert_eq!(known.len(), 3);
    // Where None is not on offer, TLS protects all the same.
    let server = with_https(Config {
        protections: wire::channel::all_protections()
            .filter(|it| *it != Protection::NONE)
            .collect(),
        ..Config::default()
    });
    is_served(&mut Client::plain(url(&server)));
    let mut open = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    assert!(open.log_in(&Credentials::Anonymous).is_err());
}

#[test]
fn who_asks_for_something_else_is_told_what_is_wanted() {
    let server = with_https(Config::default());
    let mut good = Client::plain(url(&server));
    for (text, status) in [
        ("GET / HTTP/1.1\r\nHost: plc\r\n\r\n".to_owned(), 405),
        (head("Content-Length: 99999999"), 413),
        (head("Content-Length: 1\r\nContent-Length: 2"), 400),
        (head("X: y"), 411),
        (format!("POST / HTTP/1.1\r\nA: {}", "a".repeat(9000)), 431),
        (head("Transfer-Encoding: chunked") + "FFFFFFFF\r\n", 413),
    ] {
        let mut socket = raw(&server);
        say(&mut socket, text.as_bytes());
        let heard = hear(&mut socket);
        let told = heard.starts_with(&format!("HTTP/1.1 {status} "));
        assert!(told, "{status}: {heard}");
        is_served(&mut good);
    }
    // Behind an answer, too; and the client that says so is left.
    let mut socket = raw(&server);
    say(&mut socket, (head("Content-Length: 3") + "abc").as_bytes());
    say(
        &mut socket,
        head("Connection: close\r\nContent-Length: 3").as_bytes(),
    );
    say(&mut socket, b"abc");
    let heard = hear(&mut socket);
    assert_eq!(heard.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{heard}");
    assert_eq!(heard.matches("Connection: close\r\n").count(), 1, "{heard}");
    until(&server, "they are gone", |server| {
        server.counted().connections == 1
    });
    assert!(server.config().memory.held() < 1 << 20);
}

#[test]
fn who_is_slow_is_ended_and_keeps_nobody_out() {
    let server = with_https(Config {
        limits: Limits {
            message_timeout: Duration::from_millis(500),
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut good = Client::plain(url(&server));
    let body = head("Content-Length: 3") + "abc";
    // A head, a body, the line before a piece, and what is behind it, that never come whole.
    let pieces = head("Transfer-Encoding: chunked");
    for part in [
        "POST / HTTP/1.1\r\nHost".to_owned(),
        head("Content-Length: 1000") + "abc",
        pieces.clone(),
        pieces.clone() + "3\r\nab",
        pieces + "3\r\nabc\r\n0\r\nX: y",
    ] {
        let mut socket = raw(&server);
        assert!(say(&mut socket, body.as_bytes()));
        // The server's time begins later, whatever this machine does meanwhile.
        let begin = Instant::now();
        assert!(say(&mut socket, part.as_bytes()));
        // The first one is answered.
        let heard = hear(&mut socket);
        assert!(heard.starts_with("HTTP/1.1 200 OK\r\n"), "{heard}");
        assert!(begin.elapsed() >= Duration::from_millis(300), "{part}");
        is_served(&mut good);
    }
    // One byte after the other is no more welcome.
    let mut socket = raw(&server);
    assert!(say(&mut socket, body.as_bytes()));
    let end = Instant::now() + PATIENCE;
    while say(&mut socket, b"a") {
        assert!(Instant::now() < end, "nobody minds");
        std::thread::sleep(Duration::from_millis(20));
    }
    until(&server, "they are gone", |server| {
        server.counted().connections == 1
    });
    is_served(&mut good);
}

#[test]
fn who_does_not_get_to_ask_keeps_nobody_out_and_is_ended() {
    let server = with_https(Config::default());
    let address = server.https_address().unwrap();
    let mut on_their_way = Vec::new();
    for n in 0..1100 {
        let mut socket = TcpStream::connect(address).unwrap();
        if n % 2 == 1 {
            socket.write_all(&[0x16, 3, 1, 2, 0, 1, 0]).unwrap();
        }
        on_their_way.push(socket);
    }
    // With TLS, and half a head of a request.
    let mut slow = raw(&server);
    assert!(say(&mut slow, b"POST / HTTP/1.1\r\nHost: pl"));
    is_served(&mut Client::plain(url(&server)));
    until(&server, "all are gone", |server| {
        server.counted().refused_connections == 1101
    });
    assert_eq!(hear(&mut slow), "");
    assert!(server.config().memory.held() < 1 << 20);
}

#[test]
fn huge_bodies_and_answers_that_nobody_takes_cost_what_they_cost_over_tcp() {
    let server = with_https(Config {
        memory: Budget::of(32 << 20),
        ..Config::default()
    });
    let mut good = Client::plain(url(&server));
    // Bodies of 15 MB that are not whole: each has what a connection may have, and no more.
    let mut greedy = Vec::new();
    for _ in 0..6 {
        let mut socket = raw(&server);
        let mut goes_on = say(&mut socket, head("Content-Length: 15000000").as_bytes());
        for _ in 0..60 {
            goes_on = goes_on && say(&mut socket, &[0; 100_000]);
        }
        greedy.push(socket);
        is_served(&mut good);
    }
    assert!(server.config().memory.held() < 32 << 20);
    drop(greedy);
    until(&server, "they are gone", |server| {
        server.config().memory.held() < 8 << 20
    });
    // Requests in a row whose answers nobody takes.
    let mut client = Client::plain(url(&server));
    let large = ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![read_value(bench(3014), AttributeId::Value, ""); 40]),
    };
    for _ in 0..10 {
        client.send(large.clone());
    }
    for _ in 0..50 {
        is_served(&mut good);
    }
    assert!(server.config().memory.held() < 8 << 20);
    drop(client);
    until(&server, "its memory comes back", |server| {
        server.config().memory.held() < 1 << 20
    });
}

#[test]
fn requests_of_any_length_are_taken_where_there_is_no_limit() {
    let sizes = wire::frame::Limits {
        receive_message: 0,
        ..wire::frame::Limits::default()
    };
    let server = with_https(Config {
        limits: Limits {
            sizes,
            ..Limits::default()
        },
        ..Config::default()
    });
    is_served(&mut Client::plain(url(&server)));
}

#[test]
fn a_server_without_a_certificate_offers_no_https() {
    let started = Server::start(Config {
        https: Some(0),
        protections: vec![Protection::NONE],
        ..Config::default()
    });
    let error = started.unwrap_err().to_string();
    assert_eq!(error, "opc.https cannot be offered without a certificate");
}

#[test]
fn a_server_with_no_more_room_says_so_in_http() {
    let server = with_https(Config {
        limits: Limits {
            connections: 1,
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut good = Client::plain(url(&server));
    let mut socket = raw(&server);
    say(&mut socket, (head("Content-Length: 3") + "abc").as_bytes());
    let heard = hear(&mut socket);
    assert!(heard.starts_with("HTTP/1.1 503 "), "{heard}");
    is_served(&mut good);
    server.stop();
    assert!(good.call(reading()).is_err());
}
