//! Clients that are a load do what they are told, and say what came of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::UdpSocket;
use std::time::Duration;

use peers::testing::{require, start};
use peers::{
    Loader, LoaderError, LoaderOptions, Mode, Policy, PubSub, Reads, Stack, StartOptions, WatchLoad,
};

const SHORT: Duration = Duration::from_millis(100);

fn installed(loader: &'static Stack) -> Option<&'static Stack> {
    match loader.install(&mut |_| {}) {
        Ok(()) => Some(loader),
        Err(error) => {
            let error = error.to_string();
            let reason = error.lines().next().unwrap_or_default();
            let command = format!("uaperf peers install {}", loader.name);
            without::skipped(loader.name, reason, &command);
            None
        }
    }
}

fn secured() -> LoaderOptions {
    LoaderOptions {
        policy: Policy::Basic256Sha256,
        mode: Mode::SignAndEncrypt,
        ..LoaderOptions::default()
    }
}

#[test]
fn every_load_client_reads_one_by_one_in_flight_and_in_batches() {
    let Some(stack) = require("open62541") else {
        return;
    };
    let server = start(stack, &StartOptions::default());
    for stack in Loader::all().iter().copied().filter_map(installed) {
        let mut loader = Loader::start(stack, server.url(), &LoaderOptions::default()).unwrap();
        for (in_flight, batch, spin) in [
            (1, 1, false),
            (64, 1, false),
            (16, 100, false),
            (1, 1, true),
        ] {
            let reads = Reads {
                in_flight,
                batch,
                duration: SHORT,
                spin,
            };
            let done = loader.run(&reads).unwrap();
            assert!(done.calls > 0 && done.bad == 0, "{}: {done:?}", stack.name);
            assert!(u128::from(done.elapsed_ns) >= SHORT.as_nanos(), "{done:?}");
            assert!(done.cpu_ns > 0, "{done:?}");
            assert_eq!(done.p50_ns.is_some(), in_flight == 1, "{done:?}");
        }
    }
}

#[test]
fn a_load_client_protects_its_messages_and_says_when_the_server_has_gone() {
    let Some(stack) = require("open62541") else {
        return;
    };
    let reads = Reads {
        in_flight: 8,
        batch: 10,
        duration: SHORT,
        spin: false,
    };
    for loader in Loader::all().iter().copied().filter_map(installed) {
        let server = start(stack, &StartOptions::default());
        let mut loader = Loader::start(loader, server.url(), &secured()).unwrap();
        let done = loader.run(&reads).unwrap();
        assert!(done.calls > 0 && done.bad == 0, "{done:?}");
        drop(server);
        let error = loader.run(&reads).unwrap_err();
        assert!(matches!(error, LoaderError::Failed { .. }), "{error}");
    }
}

#[test]
fn the_client_that_writes_groups_secures_them_with_every_policy_that_it_claims() {
    let (Some(stack), Some(loader)) = (require("open62541"), Loader::of("bulk")) else {
        return;
    };
    let Some(loader) = installed(loader) else {
        return;
    };
    let server = start(stack, &StartOptions::default());
    let policies = loader.speaks.policies.iter().copied();
    for policy in policies.filter(|policy| *policy != Policy::None) {
        for mode in [Mode::Sign, Mode::SignAndEncrypt] {
            let options = LoaderOptions {
                policy,
                mode,
                ..LoaderOptions::default()
            };
            let mut loader = Loader::start(loader, server.url(), &options).unwrap();
            for batch in [1, 7, 100] {
                let reads = Reads {
                    in_flight: 64,
                    batch,
                    duration: SHORT,
                    spin: false,
                };
                let done = loader.run(&reads).unwrap();
                assert!(
                    done.calls > 0 && done.bad == 0,
                    "{policy:?}, {mode:?}: {done:?}"
                );
            }
        }
    }
}

#[test]
fn open62541s_client_counts_the_values_of_its_subscriptions() {
    let (Some(stack), Some(loader)) = (require("open62541"), Loader::of("open62541")) else {
        return;
    };
    let Some(loader) = installed(loader) else {
        return;
    };
    let options = StartOptions {
        update: Some(SHORT),
        ..StartOptions::default()
    };
    let server = start(stack, &options);
    let mut loader = Loader::start(loader, server.url(), &LoaderOptions::default()).unwrap();
    let watch = WatchLoad {
        subscriptions: 2,
        items: 50,
        publishing: SHORT,
        duration: Duration::from_secs(3),
    };
    // Twice: the subscriptions of the first time are gone then.
    for _ in 0..2 {
        let done = loader.watch(&watch).unwrap();
        // Thirty renewals of a hundred items, less what a busy machine delays.
        assert!((900..=4500).contains(&done.calls), "{done:?}");
    }
}

#[test]
fn every_publisher_that_is_a_load_sends_the_values_of_each_cycle() {
    let Some(stack) = installed(PubSub::load()) else {
        return;
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let patience = Some(Duration::from_secs(10));
    socket.set_read_timeout(patience).unwrap();
    let at = socket.local_addr().unwrap().to_string();
    for way in ["variables", "offsets", "together"] {
        let mut publisher = PubSub::start(stack, &["publish", way, &at, "10"]).unwrap();
        let turn = publisher.turn("5").unwrap();
        assert!(turn.messages == 5 && turn.cpu_ns > 0, "{way}: {turn:?}");
        for cycle in 0..5u16 {
            let mut bytes = [0; 128];
            let len = socket.recv(&mut bytes).unwrap();
            let want = f32::from(cycle).to_le_bytes().repeat(10);
            assert!(bytes[..len].ends_with(&want), "{way}, {cycle}: {bytes:?}");
        }
    }
}
