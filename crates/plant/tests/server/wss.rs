//! WebSockets inside TLS: what comes over them is served as over TCP, and who misbehaves below the chunks of UACP keeps
//! nobody out.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use plant::{Config, Server};
use wire::budget::Budget;
use wire::channel::{Protection, all_protections};
use wire::client::{Config as ClientConfig, Connection};
use wire::session::token::Credentials;
use wire::types::{
    AttributeId, GetEndpointsRequest, MessageSecurityMode, NodeId, ReadRequest, TimestampsToReturn,
};
use wire::url::Transport;
use wss::Tunnel;

use crate::client::{Client, PATIENCE, identity, opened, random, read_value, texting};
use crate::subscribing::header;
use crate::{bench, is_served, start, until};

fn with_wss(config: Config) -> Server {
    start(Config {
        identity: Some(identity("urn:test:server")),
        wss: Some(0),
        ..config
    })
}

fn url(server: &Server) -> &str {
    server.wss_url().unwrap()
}

/// The next chunks that come.
fn read(socket: &mut TcpStream, tunnel: &mut Tunnel) -> std::io::Result<Vec<u8>> {
    let mut into = vec![0; 65_536];
    loop {
        match tunnel.read(socket, &mut into) {
            Ok(count) => {
                into.truncate(count);
                return Ok(into);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hello() -> Vec<u8> {
    let config = ClientConfig::new("opc.wss://localhost", Box::new(random));
    let connection = Connection::new(config, plant::Clock::start().now());
    connection.pending().to_vec()
}

#[test]
fn each_policy_is_served_over_wss_as_over_tcp() {
    let own = identity("urn:test:client");
    let server = with_wss(Config::default());
    let servers = server.config().identity.clone().unwrap();
    for protection in all_protections().filter(|p| p.policy.curve().is_none()) {
        let url = url(&server);
        let client = Client::connect(url, protection, Some(&own), Some(&servers));
        let mut client = client.unwrap();
        client.log_in(&Credentials::Anonymous).unwrap();
        is_served(&mut client);
        client.renew();
        is_served(&mut client);
    }
    is_served(&mut Client::plain(server.url()));
}

#[test]
fn endpoints_say_over_what_they_are() {
    let server = with_wss(Config::default());
    for came_by in [server.url(), url(&server)] {
        let mut client = Client::plain(came_by);
        let response = client.call(GetEndpointsRequest::default()).unwrap();
        let endpoints = response.endpoints.unwrap();
        let of = |transport: Transport| {
            let profile = transport.profile();
            let of = endpoints.iter();
            of.filter(move |it| it.transport_profile_uri.as_ref() == profile)
        };
        for (transport, url) in [
            (Transport::Tcp, server.url()),
            (Transport::Wss, url(&server)),
        ] {
            assert_eq!(
                of(transport).count(),
                all_protections()
                    .filter(|p| p.policy.curve().is_none())
                    .count()
            );
            assert!(of(transport).all(|it| it.endpoint_url.as_ref() == url));
            let none = MessageSecurityMode::None;
            assert!(of(transport).any(|it| it.security_mode == none));
        }
    }
}

#[test]
fn long_answers_and_slow_readers_cost_what_they_cost_over_tcp() {
    let server = with_wss(Config {
        memory: Budget::of(32 << 20),
        ..Config::default()
    });
    let mut client = Client::plain(url(&server));
    let large = |count| ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![read_value(bench(3014), AttributeId::Value, ""); count]),
    };
    // Four megabytes, all of them taken.
    let nodes = vec![bench(3014); 40];
    let values: Vec<NodeId> = nodes;
    assert_eq!(client.read(&values).len(), 40);
    // And asked for ten times by one who takes nothing.
    for _ in 0..10 {
        client.send(large(40));
    }
    let mut good = Client::plain(url(&server));
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
fn who_stops_on_the_way_keeps_nobody_out_and_is_ended() {
    let server = with_wss(Config::default());
    let address = server.wss_address().unwrap();
    let mut on_their_way = Vec::new();
    for n in 0..1100 {
        let mut socket = TcpStream::connect(address).unwrap();
        match n % 3 {
            // Says nothing.
            0 => {}
            // The head of a TLS record that never comes.
            1 => socket.write_all(&[0x16, 3, 1, 2, 0, 1, 0]).unwrap(),
            // Another protocol.
            _ => socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap(),
        }
        on_their_way.push(socket);
    }
    is_served(&mut Client::plain(url(&server)));
    is_served(&mut Client::plain(server.url()));
    // Those who speak something else are sent away at once, and the others after a while.
    until(&server, "all are gone", |server| {
        server.counted().refused_connections == 1100
    });
    assert!(server.config().memory.held() < 1 << 20);
    for mut socket in on_their_way {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        // The end, or a reset where more had come than was read.
        if let Err(error) = socket.read_to_end(&mut rest) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
    }
}

#[test]
fn frames_in_parts_are_one_message() {
    let server = with_wss(Config::default());
    let (mut socket, mut tunnel) = opened(server.wss_address().unwrap());
    let hello = hello();
    let mut frames = Vec::new();
    for (n, byte) in hello.iter().enumerate() {
        let opcode = if n == 0 { 2 } else { 0 };
        let last = if n + 1 == hello.len() { 0x80 } else { 0 };
        frames.extend_from_slice(&[last | opcode, 0x81, 0, 0, 0, 0, *byte]);
    }
    tunnel.send_raw(&frames).unwrap();
    tunnel.flush(&mut socket).unwrap();
    let came = read(&mut socket, &mut tunnel).unwrap();
    assert!(came.starts_with(b"ACKF"), "{came:?}");
}

#[test]
fn what_must_not_be_ends_the_connection_and_no_other() {
    // Messages in JSON are there, too.
    let server = with_wss(Config {
        protections: vec![Protection::NONE],
        ..Config::default()
    });
    let mut good = Client::plain(url(&server));
    let both = |frames: &[u8]| (frames.to_vec(), true);
    let binary = |frames: &[u8]| (frames.to_vec(), false);
    let ping = [0x89, 0x80, 0, 0, 0, 0];
    // What a client of the other sub-protocol would send, and nothing but the beginnings of messages.
    let text = [0x81, 0x81, 0, 0, 0, 0, b'a'];
    let bytes = [0x82, 0x81, 0, 0, 0, 0, b'a'];
    let empty = [
        &[0x02, 0x80, 0, 0, 0, 0][..],
        &[0, 0x80, 0, 0, 0, 0].repeat(1001),
    ]
    .concat();
    let table = [
        // Without a mask, text, an opcode that there is not, a control frame that is too long.
        both(&[0x82, 1, 0]),
        both(&text),
        both(&[0x83, 0x80, 0, 0, 0, 0]),
        both(&[0x89, 0xFE, 0, 126, 0, 0, 0, 0]),
        // A frame of an exabyte, whose beginning is no chunk.
        binary(
            &[
                &[0x82, 0xFF, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
                b"NONSENSE",
            ]
            .concat(),
        ),
        both(&ping.repeat(1001)),
        binary(&empty),
        // A close frame, which is answered.
        both(&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8]),
    ];
    let mut of_text = empty.clone();
    of_text[0] = 1;
    let texts = table.iter().filter(|it| it.1).map(|it| it.0.clone());
    let texts = texts.chain([bytes.to_vec(), of_text]);
    let all = table.iter().map(|it| (false, it.0.clone()));
    for (is_text, frames) in all.chain(texts.map(|frames| (true, frames))) {
        let address = server.wss_address().unwrap();
        let (mut socket, mut tunnel) = match is_text {
            true => texting(address),
            false => opened(address),
        };
        tunnel.send_raw(&frames).unwrap();
        // It may be closed before all of it is written.
        let _ = tunnel.flush(&mut socket);
        // An ERR chunk at most, then the end.
        loop {
            match read(&mut socket, &mut tunnel) {
                Ok(came) if came.is_empty() => break,
                Ok(came) => assert!(came.starts_with(b"ERRF"), "{came:?}"),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => panic!("{error}: {frames:?}"),
            }
        }
        is_served(&mut good);
    }
    until(&server, "they are gone", |server| {
        server.counted().connections == 1
    });
}

#[test]
fn pings_are_answered_while_requests_are() {
    let server = with_wss(Config::default());
    let (mut socket, mut tunnel) = opened(server.wss_address().unwrap());
    for _ in 0..10 {
        tunnel
            .send_raw(&[0x89, 0x80, 0, 0, 0, 0].repeat(90))
            .unwrap();
    }
    tunnel.send(&hello()).unwrap();
    tunnel.flush(&mut socket).unwrap();
    let came = read(&mut socket, &mut tunnel).unwrap();
    assert!(came.starts_with(b"ACKF"), "{came:?}");
}

#[test]
fn a_server_without_a_certificate_offers_no_wss() {
    let started = Server::start(Config {
        wss: Some(0),
        protections: vec![Protection::NONE],
        ..Config::default()
    });
    let error = started.unwrap_err().to_string();
    assert_eq!(error, "opc.wss cannot be offered without a certificate");
}

#[test]
fn a_server_that_stops_says_so_over_wss() {
    let server = with_wss(Config::default());
    let (mut socket, mut tunnel) = opened(server.wss_address().unwrap());
    tunnel.send(&hello()).unwrap();
    tunnel.flush(&mut socket).unwrap();
    assert!(read(&mut socket, &mut tunnel).unwrap().starts_with(b"ACKF"));
    // One that is on its way, too.
    let _silent = TcpStream::connect(server.wss_address().unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(10));
    server.stop();
    assert!(read(&mut socket, &mut tunnel).unwrap().starts_with(b"ERRF"));
    assert!(read(&mut socket, &mut tunnel).unwrap().is_empty());
}
