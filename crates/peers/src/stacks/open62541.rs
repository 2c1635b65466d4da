//! open62541: the C implementation, whose sources come in the crate `open62541-sys`.

use super::common::{CARGO, sources};
use crate::security::{Policy, Security, Token};
use crate::stack::{InstallStep, Quirk, Stack, Tool};

const CMAKE: Tool = Tool {
    name: "cmake",
    check: &["cmake", "--version"],
    when_running: false,
    cure: "sudo apt-get install cmake",
};

const CC: Tool = Tool {
    name: "a C compiler",
    check: &["cc", "--version"],
    when_running: false,
    cure: "sudo apt-get install gcc libc6-dev",
};

/// For the crate's bindings, which nobody uses here but which it always makes.
const LIBCLANG: Tool = Tool {
    name: "libclang",
    check: &[
        "sh",
        "-c",
        "find ${LIBCLANG_PATH:-/usr/lib} /usr/lib64 -name 'libclang[-.]*so*' 2>/dev/null \
         | grep -v libclang-cpp | grep .",
    ],
    when_running: false,
    cure: "sudo apt-get install libclang-dev",
};

/// Generates part of the library's C code.
const PYTHON: Tool = Tool {
    name: "python3",
    check: &["python3", "--version"],
    when_running: false,
    cure: "sudo apt-get install python3",
};

pub(super) const ALL: Security = Security {
    policies: Policy::ALL,
    tokens: &[Token::Anonymous, Token::UserName, Token::X509],
};

pub(super) static STACK: Stack = Stack {
    name: "open62541",
    title: "open62541",
    version: "1.5.10",
    language: "C",
    tools: &[&CARGO, &CC, &CMAKE, &LIBCLANG, &PYTHON],
    sources: sources![
        "Cargo.toml" from "open62541/Cargo.toml",
        "Cargo.lock" from "open62541/Cargo.lock",
        "library.rs" from "open62541/library.rs",
        "build.sh" from "open62541/build.sh",
        "identity.h" from "open62541/identity.h",
        "server.c" from "open62541/server.c",
        "client.c" from "open62541/client.c",
        "judge.h" from "open62541/judge.h",
        "pubsub.c" from "open62541/pubsub.c",
        "json.h" from "open62541/json.h",
    ],
    steps: &[InstallStep {
        what: "build mbedTLS, open62541 and our programs on it",
        command: &["sh", "build.sh", "{dir}/../cargo"],
        env: &[],
    }],
    server: &["{dir}/server"],
    client: &["{dir}/client"],
    pubsub: &["{dir}/pubsub"],
    offers: ALL,
    speaks: ALL,
    quirks: &[
        Quirk {
            what: "refuses a CreateSession whose request header has no timestamp with \
                   BadInvalidTimestamp",
            clause: Some("Part 4, 7.33 (RequestHeader: timestamp)"),
        },
        Quirk {
            what: "answers a Publish that has waited for its timeoutHint with BadTimeout",
            clause: Some("Part 4, 7.33 (RequestHeader: timeoutHint), allowed"),
        },
        Quirk {
            what: "on an unsecured channel the CreateSession response has a server certificate only \
                   if the request had a client's, so that asyncua and python-opcua cannot encrypt \
                   a password",
            clause: Some("Part 4, 5.7.2 (CreateSession: serverCertificate)"),
        },
        Quirk {
            what: "a client that has a key pair expects 32 bytes of nonce on an unsecured channel \
                   too, and gives up on a server that sends fewer",
            clause: Some("Part 4, 5.7.2 (CreateSession: serverNonce, at least 32 bytes)"),
        },
        Quirk {
            what: "the client goes to the EndpointUrl that the server advertises when it differs \
                   from the one it was given",
            clause: Some("Part 4, 5.5.4 (GetEndpoints: endpointUrl)"),
        },
        Quirk {
            what: "takes leading zeros off what both sides agreed on with keys on a curve (1.5.10 with \
                   mbedTLS: the length of the number in place of the curve's), so that one in 256 \
                   channels cannot be used and one in 256 passwords not be read; the next try goes well",
            clause: Some("Part 6, 6.8.1, by RFC 8422, 5.10: leading zeros are not truncated"),
        },
        Quirk {
            what: "the client hides a password with the ephemeral key of the response without \
                   looking at the server's signature of it (1.5.10: a TODO in its sources)",
            clause: Some("Part 4, 7.15 (EphemeralKeyType: signature)"),
        },
        Quirk {
            what: "the server gives the next ephemeral key with ActivateSession only to a client \
                   that asks for it again",
            clause: Some("Part 6, 6.8.2 (the server returns a new one each time)"),
        },
        Quirk {
            what: "a PubSubConnection to a host also receives at that port, and cannot be made \
                   (BadConnectionRejected) where a listener on the same host has it (our publisher \
                   names the address in its WriterGroup)",
            clause: None,
        },
        Quirk {
            what: "of a DataSetMessage in JSON the decoder takes no SequenceNumber above 65535 and no Status that \
                   is not Good",
            clause: Some("Part 14, 7.2.5.4 (SequenceNumber is a UInt32, Status a StatusCode)"),
        },
        Quirk {
            what: "in JSON there are key frames with typed fields only: no bare values, no delta, event or \
                   keep-alive messages, no names of writers and groups; a DataSetMessage without its \
                   DataSetWriterId is refused",
            clause: Some("Part 14, 7.2.5.4 (all of them are optional or allowed)"),
        },
        Quirk {
            what: "a WriterGroup that is triggered before its socket is open sends nothing and \
                   answers Good",
            clause: None,
        },
        Quirk {
            what: "a delta frame has as many fields as the DataSet, with nulls of index 0 for those that did \
                   not change (up to 1.5.10)",
            clause: Some(
                "Part 14, 7.2.4.5.6 (FieldCount and FieldIndex are of the fields that changed)",
            ),
        },
        Quirk {
            what: "up to 1.5.7 the sequence in the MessageNonce of secured messages stands still at 1, so that \
                   none but the first can be told from a repeated one",
            clause: Some(
                "Part 14, 7.2.4.4.3.2 (the sequence number is never to be used again with a key)",
            ),
        },
        Quirk {
            what: "its Security Key Service cannot be tried: it is off in the build of its crate \
                   (UA_ENABLE_PUBSUB_SKS), called not ready by its own build, and wants the whole standard \
                   address space, whose NodeSet2 file the crate does not carry; the same holds for its client \
                   that asks for keys",
            clause: None,
        },
    ],
};
