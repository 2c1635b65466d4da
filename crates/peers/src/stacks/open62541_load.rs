//! The client of open62541 as a load.

use super::common::sources;
use super::open62541;
use crate::stack::{InstallStep, Stack};

pub(super) static STACK: Stack = Stack {
    name: "open62541-load",
    title: "open62541, load client",
    sources: sources![
        "Cargo.toml" from "open62541/Cargo.toml",
        "Cargo.lock" from "open62541/Cargo.lock",
        "library.rs" from "open62541/library.rs",
        "build-load.sh" from "open62541/build-load.sh",
        "identity.h" from "open62541/identity.h",
        "load.c" from "open62541/load.c",
    ],
    steps: &[InstallStep {
        what: "build mbedTLS, open62541 and the load client",
        command: &["sh", "build-load.sh", "{dir}/../cargo", "load"],
        env: &[],
    }],
    server: &[],
    client: &["{dir}/load"],
    ..open62541::STACK
};
