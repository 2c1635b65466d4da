//! The server of NATS: the broker between controllers and agents that only dial out.

use super::common::sources;
use crate::security::Security;
use crate::stack::{InstallStep, Stack, Tool};

const GO: Tool = Tool {
    name: "go 1.24 or newer",
    check: &["go", "version"],
    when_running: false,
    cure: "see https://go.dev/doc/install",
};

pub(super) static STACK: Stack = Stack {
    name: "nats-server",
    title: "the server of NATS",
    version: "2.12.4",
    language: "Go",
    tools: &[&GO],
    sources: sources![
        "go.mod" from "nats-server/go.mod",
        "go.sum" from "nats-server/go.sum",
        "broker.go" from "nats-server/broker.go",
    ],
    steps: &[InstallStep {
        what: "fetch the module and build the server",
        command: &[
            "go",
            "build",
            "-trimpath",
            "-o",
            "nats-server{exe}",
            "github.com/nats-io/nats-server/v2",
        ],
        // A workspace file of the surroundings has no say here.
        env: &[("GOWORK", "off")],
    }],
    server: &["{dir}/nats-server{exe}"],
    client: &[],
    pubsub: &[],
    offers: Security {
        policies: &[],
        tokens: &[],
    },
    speaks: Security {
        policies: &[],
        tokens: &[],
    },
    quirks: &[],
};
