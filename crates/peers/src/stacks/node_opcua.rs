//! node-opcua: a full stack in TypeScript, for Node.

use super::common::sources;
use crate::security::{Policy, Security, Token};
use crate::stack::{InstallStep, Quirk, Stack, Tool};

const NODE: Tool = Tool {
    name: "node 18 or later",
    check: &[
        "node",
        "-e",
        "console.log(process.version); process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)",
    ],
    when_running: true,
    cure: "sudo apt-get install nodejs (Debian 12 or later), or https://nodejs.org",
};

const NPM: Tool = Tool {
    name: "npm",
    check: &["npm", "--version"],
    when_running: false,
    cure: "sudo apt-get install npm",
};

const ALL: Security = Security {
    policies: Policy::OF_RSA,
    tokens: &[Token::Anonymous, Token::UserName, Token::X509],
};

pub(super) static STACK: Stack = Stack {
    name: "node-opcua",
    title: "node-opcua (Sterfive)",
    version: "2.182.2",
    language: "TypeScript",
    tools: &[&NODE, &NPM],
    sources: sources![
        "package.json" from "node-opcua/package.json",
        "bench.js" from "node-opcua/bench.js",
        "server.js" from "node-opcua/server.js",
        "client.js" from "node-opcua/client.js",
        "judge.js" from "node-opcua/judge.js",
    ],
    steps: &[InstallStep {
        what: "install the Node packages",
        command: &[
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--prefer-offline",
            "--loglevel=error",
        ],
        env: &[],
    }],
    server: &["node", "{dir}/server.js"],
    client: &["node", "{dir}/client.js"],
    pubsub: &[],
    offers: ALL,
    speaks: ALL,
    quirks: &[
        Quirk {
            what: "refuses a client nonce that it has seen before, with BadNonceInvalid",
            clause: Some("Part 4, 5.7.2 (CreateSession): the nonce is never to be used again"),
        },
        Quirk {
            what: "Node since CVE-2023-46809 refuses to decrypt PKCS#1 v1.5; our server and client \
                   take the padding off themselves so that Basic128Rsa15 works",
            clause: Some("Part 7 (Basic128Rsa15): deprecated"),
        },
        Quirk {
            what: "Basic128Rsa15 and Basic256 are offered only when named",
            clause: Some("Part 7: deprecated, not to be on by default"),
        },
        Quirk {
            what: "on a channel without security the token policies do not include \
                   Aes256_Sha256_RsaPss",
            clause: None,
        },
        Quirk {
            what: "timers have a grain of 1 ms: an update interval below that is a millisecond",
            clause: None,
        },
    ],
};
