//! The other stacks' clients against the other stacks' servers, as `docs/interop.md` says.

#![allow(clippy::unwrap_used)]

use interop::{Extent, among_themselves};
use peers::testing::require;

fn others_agree_with(name: &str) {
    let Some(stack) = require(name) else { return };
    if std::env::var("CI").is_ok_and(|value| value == "true") {
        // Building all of them takes minutes: only where nobody waits for it.
        peers::Stack::all().iter().for_each(|client| {
            require(client.name);
        });
    }
    let unexpected = among_themselves(stack, Extent::Sample).unwrap();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

#[test]
fn other_clients_agree_with_open62541() {
    others_agree_with("open62541");
}

#[test]
fn other_clients_agree_with_async_opcua() {
    others_agree_with("async-opcua");
}

#[test]
fn other_clients_agree_with_asyncua() {
    others_agree_with("asyncua");
}

#[test]
fn other_clients_agree_with_python_opcua() {
    others_agree_with("pyopcua");
}

#[test]
fn other_clients_agree_with_node_opcua() {
    others_agree_with("node-opcua");
}

#[test]
fn other_clients_agree_with_gopcua() {
    others_agree_with("gopcua");
}

#[test]
fn other_clients_agree_with_milo_1() {
    others_agree_with("milo1");
}

#[test]
fn other_clients_agree_with_milo_06() {
    others_agree_with("milo06");
}
