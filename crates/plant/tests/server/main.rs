//! The server over real loopback sockets, asked by `wire`'s own client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod acceptor;
mod advertising;
mod aggregates;
mod audit;
mod client;
mod counted;
mod curves;
mod diagnostics;
mod ending;
mod events;
mod faults;
mod groups;
mod history;
mod hostile;
mod https;
mod internals;
mod json;
mod memory;
mod monitoring;
mod nodes;
mod pieces;
mod plants;
mod ranges;
mod reading;
mod rights;
mod sessions;
mod sharing;
mod site;
mod small;
mod subscribing;
mod transferring;
mod truth;
mod viewing;
mod wss;

use std::path::Path;
use std::time::{Duration, Instant};

use client::PATIENCE;
use plant::{Config, Plant, Profile, Server};
use wire::types::{NodeId, Variant};

/// The namespace of the bench profile when it is the only one.
const BENCH: u16 = 2;

fn bench(number: u32) -> NodeId {
    NodeId::new(BENCH, number)
}

/// Whoever came in gets the values that the bench has.
fn is_served(client: &mut client::Client) {
    let value = client.read(&[bench(1007)]).remove(0).value;
    assert_eq!(value, Some(Variant::Double(1007.0)));
}

fn start(config: Config) -> Server {
    Server::start(Config {
        profiles: vec![Profile::Bench { update: None }, Profile::Demo],
        ..config
    })
    .unwrap()
}

/// The plant of a text, and nothing else.
fn start_plant(text: &str, config: Config) -> Server {
    let plant = Plant::parse(text, "test", Path::new("")).unwrap();
    Server::start(plant.config(Config {
        profiles: Vec::new(),
        ..config
    }))
    .unwrap()
}

/// A server that is there over every transport, and its URLs as clients of these tests type them.
fn everywhere(config: Config) -> (Server, [String; 5]) {
    let server = start(Config {
        identity: Some(client::identity("urn:test:server")),
        wss: Some(0),
        https: Some(0),
        ..config
    });
    let [wss, https] = [server.wss_url(), server.https_url()].map(|url| url.unwrap().to_owned());
    let json = [&wss, &https].map(|url| format!("json+{url}"));
    let [wss_json, https_json] = json;
    let urls = [server.url().to_owned(), wss, https, wss_json, https_json];
    (server, urls)
}

/// Waits for what is to become true.
fn until(server: &Server, what: &str, mut done: impl FnMut(&Server) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done(server) {
        assert!(Instant::now() < end, "{what}: {:?}", server.counted());
        std::thread::sleep(Duration::from_millis(10));
    }
}
