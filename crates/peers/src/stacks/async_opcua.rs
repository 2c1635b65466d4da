//! async-opcua: the Rust implementation, whose data types this project uses too.

use super::common::{CARGO, sources};
use crate::security::{Policy, Security, Token};
use crate::stack::{InstallStep, Quirk, Stack};

const ALL: Security = Security {
    policies: Policy::OF_RSA,
    tokens: &[Token::Anonymous, Token::UserName, Token::X509],
};

pub(super) static STACK: Stack = Stack {
    name: "async-opcua",
    title: "async-opcua (FreeOpcUa)",
    version: "0.19.0",
    language: "Rust",
    tools: &[&CARGO],
    sources: sources![
        "Cargo.toml" from "async-opcua/Cargo.toml",
        "Cargo.lock" from "async-opcua/Cargo.lock",
        "src/main.rs" from "async-opcua/src/main.rs",
        "src/server.rs" from "async-opcua/src/server.rs",
        "src/client.rs" from "async-opcua/src/client.rs",
        "src/judge.rs" from "async-opcua/src/judge.rs",
    ],
    steps: &[InstallStep {
        what: "build async-opcua, server and client",
        command: &[
            "cargo",
            "build",
            "--release",
            "--locked",
            "--target-dir",
            "{dir}/../cargo",
        ],
        env: &[],
    }],
    server: &["{dir}/../cargo/release/async-opcua-peer{exe}", "server"],
    client: &["{dir}/../cargo/release/async-opcua-peer{exe}", "client"],
    pubsub: &[],
    offers: ALL,
    speaks: ALL,
    quirks: &[
        Quirk {
            what: "the nonce of an ActivateSession response is empty on an unsecured channel and 16 \
                   bytes long with Basic128Rsa15, so that open62541's client refuses both (on the \
                   unsecured channel if it has a key pair or not)",
            clause: Some("Part 4, 5.7.3 (ActivateSession: serverNonce, at least 32 bytes)"),
        },
        Quirk {
            what: "trusts certificates one by one: no issuers, chains or revocation lists",
            clause: Some("Part 4, 6.1.3 (determining if a certificate is trusted)"),
        },
        Quirk {
            what: "a certificate that was rejected once stays rejected when it is trusted later, \
                   until it is taken out of the rejected folder",
            clause: Some("Part 12, F.2 (rejected certificates: for review only)"),
        },
        Quirk {
            what: "subscriptions are looked at every 100 ms (here 10 ms): publishing happens at \
                   multiples of that",
            clause: Some("Part 4, 5.14.1.2 (publishing cycle)"),
        },
        Quirk {
            what: "a wrong password is answered with BadIdentityTokenRejected",
            clause: Some("Part 4, 5.7.3 (BadUserAccessDenied would be the code)"),
        },
        Quirk {
            what: "default limits are small (here raised): 20 sessions, 4 Publish requests a \
                   subscription, queues of 10 values",
            clause: None,
        },
        Quirk {
            what: "its client comes back after a cut, activates its session again and has its \
                   subscriptions transferred, and then sends no Publish until it is told to \
                   (trigger_publish_now) or creates another subscription",
            clause: Some("Part 4, 6.7 (re-establishing connections)"),
        },
    ],
};
