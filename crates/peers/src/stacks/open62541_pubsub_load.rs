//! Publishers and a subscriber of open62541 whose processor time counts.

use super::common::sources;
use super::open62541;
use crate::stack::{InstallStep, Stack};

pub(super) static STACK: Stack = Stack {
    name: "open62541-pubsub-load",
    title: "open62541, PubSub as a load",
    sources: sources![
        "Cargo.toml" from "open62541/Cargo.toml",
        "Cargo.lock" from "open62541/Cargo.lock",
        "library.rs" from "open62541/library.rs",
        "build-load.sh" from "open62541/build-load.sh",
        "pubsub_load.c" from "open62541/pubsub_load.c",
    ],
    steps: &[InstallStep {
        what: "build mbedTLS, open62541 and its PubSub as a load",
        command: &["sh", "build-load.sh", "{dir}/../cargo", "pubsub_load"],
        env: &[],
    }],
    server: &[],
    client: &[],
    pubsub: &["{dir}/pubsub_load"],
    ..open62541::STACK
};
