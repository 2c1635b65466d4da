//! A second client as a load, for servers that are faster than a client which writes each request
//! alone: encoding, decoding and security are open62541's, the socket is its own.

use super::common::sources;
use super::open62541;
use crate::security::{Policy, Security, Token};
use crate::stack::{InstallStep, Stack};

pub(super) static STACK: Stack = Stack {
    name: "bulk-load",
    title: "open62541's encoder and security on a socket of its own, requests in groups",
    sources: sources![
        "Cargo.toml" from "open62541/Cargo.toml",
        "Cargo.lock" from "open62541/Cargo.lock",
        "library.rs" from "open62541/library.rs",
        "build-load.sh" from "open62541/build-load.sh",
        "bulk.c" from "open62541/bulk.c",
        "channel.h" from "open62541/channel.h",
        "identity.h" from "open62541/identity.h",
    ],
    steps: &[InstallStep {
        what: "build mbedTLS, open62541 and the client",
        command: &["sh", "build-load.sh", "{dir}/../cargo", "bulk"],
        env: &[],
    }],
    server: &[],
    client: &["{dir}/bulk"],
    speaks: Security {
        policies: Policy::OF_RSA,
        tokens: &[Token::Anonymous],
    },
    quirks: &[],
    ..open62541::STACK
};
