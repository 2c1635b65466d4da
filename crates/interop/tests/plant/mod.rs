//! Clients that we did not write judge our server: whole address spaces, a thousand items, and
//! connections that are cut. What was found is told in `docs/plant.md`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cuts;
mod dump;
mod https;
mod keys;
mod ours;
mod policies;
mod relay;
mod sight;
mod standard;
mod watching;
mod wss;

use std::path::PathBuf;
use std::time::Duration;

use peers::{Client, ClientOptions, Stack};
use plant::{Config, Profile, Server, Transfer};

/// The stacks that judge. python-opcua is no longer kept up by its makers, who point to asyncua.
const JUDGES: &[&str] = &[
    "open62541",
    "async-opcua",
    "asyncua",
    "node-opcua",
    "gopcua",
    "milo1",
    "milo06",
];

/// A server with the bench address space, its scalars counted up this often.
fn plant(update: Option<Duration>) -> Server {
    Server::start(Config {
        profiles: vec![Profile::Bench { update }],
        // After a cut Milo 0.6 has its subscriptions transferred to a new session, over a channel without signatures.
        transfer: Transfer::Anyone,
        ..Config::default()
    })
    .unwrap()
}

/// Has a stack's client do one step that writes down what it saw, and gives that.
fn written(stack: &'static Stack, url: &str, step: &'static str, more: ClientOptions) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out: PathBuf = folder.path().join(step);
    let options = ClientOptions {
        steps: vec!["connect", step],
        out: Some(out.clone()),
        patience: Duration::from_secs(175),
        ..more
    };
    let report = Client::run(stack, url, &options).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.all_ok(), "{}: {:?}", stack.name, report.error);
    std::fs::read_to_string(out).unwrap()
}
