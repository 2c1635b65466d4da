//! opcua-asyncio: the asyncio implementation of the FreeOpcUa project.

use super::common::{MAKE_VENV, PIP_INSTALL, PY_COMPILE, PYTHON, sources};
use crate::security::{Policy, Security, Token};
use crate::stack::{Quirk, Stack};

const ALL: Security = Security {
    policies: Policy::OF_RSA,
    tokens: &[Token::Anonymous, Token::UserName, Token::X509],
};

pub(super) static STACK: Stack = Stack {
    name: "asyncua",
    title: "opcua-asyncio (FreeOpcUa)",
    version: "2.1.0",
    language: "Python",
    tools: &[&PYTHON],
    sources: sources![
        "requirements.txt" from "asyncua/requirements.txt",
        "server.py" from "asyncua/server.py",
        "client.py" from "asyncua/client.py",
        "judge.py" from "asyncua/judge.py",
        "pubsub.py" from "asyncua/pubsub.py",
        "bench.py" from "python/bench.py",
        "identity.py" from "python/identity.py",
    ],
    steps: &[MAKE_VENV, PIP_INSTALL, PY_COMPILE],
    server: &["{dir}/venv/{scripts}/python{exe}", "{dir}/server.py"],
    client: &["{dir}/venv/{scripts}/python{exe}", "{dir}/client.py"],
    pubsub: &["{dir}/venv/{scripts}/python{exe}", "{dir}/pubsub.py"],
    offers: ALL,
    speaks: ALL,
    quirks: &[
        Quirk {
            what: "holds at most 10 Publish requests more than a session has subscriptions; the \
                   next one pushes out the oldest with BadTooManyPublishRequests",
            clause: Some("Part 4, 5.14.5 (Publish): the limit is the server's own choice"),
        },
        Quirk {
            what: "always sends source and server timestamps, whatever timestampsToReturn says",
            clause: Some("Part 4, 5.11.2 (Read): only the requested timestamps are returned"),
        },
        Quirk {
            what: "has no BrowseNext: a Browse answers with all references, whatever \
                   requestedMaxReferencesPerNode says",
            clause: Some("Part 4, 5.9.2 and 5.9.3 (Browse, BrowseNext)"),
        },
        Quirk {
            what: "RegisterNodes gives the node ids back as they were",
            clause: Some("Part 4, 5.9.5 (RegisterNodes): allowed, nothing is gained by it"),
        },
        Quirk {
            what: "its client takes the string encoding of a SessionSecurityDiagnosticsDataType for \
                   a byte, and cannot read SessionSecurityDiagnosticsArray (i=3708), nor anything \
                   else in the same Read",
            clause: Some("Part 5, 12.12 (SessionSecurityDiagnosticsDataType: encoding)"),
        },
        Quirk {
            what: "writes a PublisherId of UInt64 with type 6 instead of 3 in a NetworkMessage, and \
                   cannot read type 3",
            clause: Some("Part 14, 7.2.4.4.2 (NetworkMessage: ExtendedFlags1)"),
        },
    ],
};
