//! Many servers on the same few threads.

#![cfg(unix)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use plant::{Config, Profile, Server, Site};
use wire::channel::Protection;
use wire::session::token::Credentials;
use wire::types::Variant;

use crate::client::{Client, PATIENCE, identity_with};
use crate::subscribing::{item, publish, subscribe, values, watch};
use crate::{bench, until};

fn with(site: &Site, config: Config) -> Server {
    let bench = Profile::Bench { update: None };
    Server::start_on(
        site,
        Config {
            profiles: vec![bench],
            ..config
        },
    )
    .unwrap()
}

/// One whose values a thread writes.
fn written(site: &Site, listen: SocketAddr) -> Server {
    let plant = Profile::named("burger2019").unwrap().unwrap();
    let config = Config {
        profiles: vec![Profile::Bench { update: None }],
        ..Config::default()
    };
    let config = plant.config(config);
    Server::start_on(site, Config { listen, ..config }).unwrap()
}

fn several(site: &Site, count: usize) -> Vec<Server> {
    (0..count).map(|_| with(site, Config::default())).collect()
}

/// A value that follows from the time alone.
fn counter(client: &mut Client) -> u32 {
    match client.read(&[bench(3030)]).remove(0).value {
        Some(Variant::UInt32(number)) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_of_many_serves_its_own_clients_and_counts_them() {
    let site = Site::start(1, false).unwrap();
    let servers = several(&site, 8);
    let mut clients: Vec<_> = servers.iter().map(|it| Client::plain(it.url())).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let id = subscribe(client, 10.0).subscription_id;
        watch(client, id, vec![item(bench(3030), 7, 0.0)]);
        for _ in 0..=n {
            assert!(client.read(&[bench(1001)]).remove(0).value.is_some());
        }
    }
    // Their subscriptions have their turns side by side.
    for client in &mut clients {
        let mut got = 0;
        while got < 3 {
            let message = client.call(publish(None)).unwrap().notification_message;
            got += values(&message).len();
        }
    }
    for (n, server) in servers.iter().enumerate() {
        let counted = server.counted();
        assert_eq!(counted.reads, n as u64 + 1);
        assert_eq!((counted.connections, counted.sessions), (1, 1));
        assert_eq!(counted.subscriptions, 1);
    }
}

#[test]
fn one_that_stands_still_or_begins_anew_holds_up_no_other() {
    let site = Site::start(1, false).unwrap();
    let servers = several(&site, 3);
    let mut clients: Vec<_> = servers.iter().map(|it| Client::plain(it.url())).collect();
    let stall = Duration::from_secs(3);
    servers[0]
        .add_fault("stall=3s,on=server".parse().unwrap())
        .unwrap();
    until(&servers[0], "it does not stand still", |it| {
        it.faults()[0].hits == 1
    });
    let begun = Instant::now();
    let first = counter(&mut clients[1]);
    until(&servers[1], "its clock stands", |_| {
        counter(&mut clients[1]) > first
    });
    assert!(begun.elapsed() < stall, "it waited for another");
    assert!(counter(&mut clients[0]) > 0);
    assert!(
        begun.elapsed() + Duration::from_millis(500) > stall,
        "it did not stand still"
    );

    servers[2]
        .add_fault("restart=300ms,on=server".parse().unwrap())
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while clients[2].closed.is_none() {
        clients[2].step(end);
    }
    until(&servers[2], "it keeps a session", |it| {
        it.counted().sessions == 0
    });
    let again = loop {
        match Client::connect(servers[2].url(), Protection::NONE, None, None) {
            Ok(mut client) => {
                client.log_in(&Credentials::Anonymous).unwrap();
                break client;
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(Instant::now() < end, "it does not come back");
    };
    drop(again);
    assert_eq!(servers[1].counted().cumulated_sessions, 1);
    assert_eq!(servers[2].counted().cumulated_sessions, 2);
    assert!(counter(&mut clients[1]) > 0);
}

#[test]
fn one_that_stands_still_ends_all_the_same_with_and_without_a_thread_of_its_own() {
    let site = Site::start(1, false).unwrap();
    let own = Server::start(Config {
        listen: ([127, 0, 0, 1], 0).into(),
        protections: vec![Protection::NONE],
        ..Config::default()
    });
    for server in [with(&site, Config::default()), own.unwrap()] {
        server
            .add_fault("stall=60s,on=server".parse().unwrap())
            .unwrap();
        until(&server, "it does not stand still", |it| {
            it.faults()[0].hits == 1
        });
        let begun = Instant::now();
        drop(server);
        assert!(begun.elapsed() < PATIENCE, "it ended behind its stall");
    }
}

#[test]
fn a_request_that_lets_its_server_stand_still_is_answered_behind_that() {
    let site = Site::start(1, false).unwrap();
    let server = with(&site, Config::default());
    let mut client = Client::plain(server.url());
    server
        .add_fault("stall=300ms,on=read,times=1".parse().unwrap())
        .unwrap();
    let begun = Instant::now();
    assert!(client.read(&[bench(1001)]).remove(0).value.is_some());
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(300), "{took:?}");
}

#[test]
fn a_server_that_is_away_stays_away_until_the_later_of_two_ends() {
    let site = Site::start(1, false).unwrap();
    let server = with(&site, Config::default());
    let begun = Instant::now();
    for fault in ["restart=900ms,on=server", "restart=300ms,on=server"] {
        server.add_fault(fault.parse().unwrap()).unwrap();
        let n = server.faults().len() - 1;
        until(&server, "it stays", |it| it.faults()[n].hits == 1);
    }
    while Client::connect(server.url(), Protection::NONE, None, None).is_err() {
        assert!(begun.elapsed() < PATIENCE, "it does not come back");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        begun.elapsed() >= Duration::from_millis(900),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn values_are_written_for_all_of_them_and_not_for_one_that_has_ended() {
    let site = Site::start(1, false).unwrap();
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut servers: Vec<_> = (0..3).map(|_| written(&site, free)).collect();
    for server in &servers {
        until(server, "nothing is written", |it| it.counted().updates > 0);
    }
    let watch = servers[0].watch();
    let address = servers[0].address();
    servers.remove(0).stop();
    let updates = watch.counted().updates;
    let (one, before) = (&servers[0], servers[0].counted().updates);
    until(one, "nothing is written any more", |it| {
        it.counted().updates > before
    });
    assert_eq!(watch.counted().updates, updates);
    // Its port is free for another one, and the others are served on.
    let again = written(&site, address);
    let mut client = Client::plain(again.url());
    assert!(client.read(&[bench(1001)]).remove(0).value.is_some());
    let mut other = Client::plain(servers[1].url());
    let seen = counter(&mut other);
    until(&servers[1], "it is not served on", |_| {
        counter(&mut other) > seen
    });
}

#[test]
fn devices_have_certificates_of_their_own() {
    let site = Site::start(1, false).unwrap();
    let kind = pki::KeyKind::On(pki::Curve::P256);
    let client = identity_with("urn:test:client", kind);
    let devices: Vec<_> = (0..3)
        .map(|n| identity_with(&format!("urn:test:device-{n}"), kind))
        .collect();
    let servers: Vec<_> = devices
        .iter()
        .map(|own| {
            with(
                &site,
                Config {
                    identity: Some(own.clone()),
                    ..Config::default()
                },
            )
        })
        .collect();
    for (server, own) in servers.iter().zip(&devices) {
        let protection = *server
            .config()
            .protections
            .iter()
            .find(|it| it.mode == wire::policy::Mode::SignAndEncrypt)
            .unwrap();
        let mut there =
            Client::connect(server.url(), protection, Some(&client), Some(own)).unwrap();
        there.log_in(&Credentials::Anonymous).unwrap();
        assert!(there.read(&[bench(1001)]).remove(0).value.is_some());
    }
}
