//! gopcua: the Go implementation; its server is young.

use super::common::sources;
use crate::security::{Policy, Security, Token};
use crate::stack::{InstallStep, Quirk, Stack, Tool};

const GO: Tool = Tool {
    name: "go 1.23 or newer",
    check: &["go", "version"],
    when_running: false,
    cure: "see https://go.dev/doc/install (Debian's own golang-go is too old)",
};

pub(super) static STACK: Stack = Stack {
    name: "gopcua",
    title: "gopcua",
    version: "0.8.0",
    language: "Go",
    tools: &[&GO],
    sources: sources![
        "go.mod" from "gopcua/go.mod",
        "go.sum" from "gopcua/go.sum",
        "main.go" from "gopcua/main.go",
        "server.go" from "gopcua/server.go",
        "client.go" from "gopcua/client.go",
        "judge.go" from "gopcua/judge.go",
    ],
    steps: &[InstallStep {
        what: "fetch gopcua and build server and client",
        command: &["go", "build", "-trimpath", "-o", "gopcua{exe}", "."],
        // A workspace file of the surroundings has no say here.
        env: &[("GOWORK", "off")],
    }],
    server: &["{dir}/gopcua{exe}", "server"],
    client: &["{dir}/gopcua{exe}", "client"],
    pubsub: &[],
    offers: Security {
        policies: &[Policy::None],
        tokens: &[Token::Anonymous],
    },
    speaks: Security {
        policies: Policy::OF_RSA,
        tokens: &[Token::Anonymous, Token::UserName, Token::X509],
    },
    quirks: &[
        Quirk {
            what: "the server cannot open a secured channel: the first OPN is taken for an \
                   unsecured one, and neither answered nor the connection closed",
            clause: Some("Part 6, 6.7.4 and 7.1.5 (OpenSecureChannel is always secured; errors)"),
        },
        Quirk {
            what: "the server never splits a response into chunks: i=3013 and i=3014 arrive as one \
                   chunk larger than the client's receive buffer, and most clients hang up",
            clause: Some("Part 6, 7.1.2.4 (Acknowledge: SendBufferSize)"),
        },
        Quirk {
            what: "the server acknowledges with its own buffer sizes, whatever the Hello asked for",
            clause: Some("Part 6, 7.1.2.4 (not larger than what the client requested)"),
        },
        Quirk {
            what: "the client takes the server's receive buffer for its own limit and closes the \
                   connection on a larger chunk",
            clause: None,
        },
        Quirk {
            what: "the server accepts any user token and does not look at client certificates",
            clause: Some("Part 4, 5.7.3 (ActivateSession: BadIdentityTokenRejected)"),
        },
        Quirk {
            what: "revisedSessionTimeout is 0, and sessions never time out",
            clause: Some("Part 4, 5.7.2 (CreateSession)"),
        },
        Quirk {
            what: "a renewed channel keeps its token id",
            clause: Some("Part 4, 5.6.2 (OpenSecureChannel: a new SecurityToken)"),
        },
        Quirk {
            what: "no Call (echo is answered by our program), BrowseNext, RegisterNodes, \
                   TranslateBrowsePaths, Republish, ModifySubscription or SetPublishingMode: \
                   BadServiceUnsupported",
            clause: None,
        },
        Quirk {
            what: "MonitoredItems have a queue of one value, no sampling and no filters, and \
                   subscription ids are given again while in use",
            clause: Some("Part 4, 5.13.2 and 5.14.2 (revised values, unique ids)"),
        },
        Quirk {
            what: "the DataType attribute is an ExpandedNodeId, and a browsed TypeDefinition shows \
                   the data type",
            clause: Some("Part 3, 5.6.2 (Variable: DataType is a NodeId)"),
        },
        Quirk {
            what: "urn:bench has namespace index 1, where the server's own URI belongs",
            clause: Some("Part 5, 6.3.2 (NamespaceArray)"),
        },
        Quirk {
            what: "announces MaxNodesPerRead 32 and does not enforce it",
            clause: Some("Part 5, 6.3.11 (OperationLimits)"),
        },
    ],
};
