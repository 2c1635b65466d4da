//! What we found out about other stacks that the peers do not say of themselves, and what we
//! tolerate.

/// Behaviour of another stack that our client or server met.
#[derive(Debug)]
pub struct Met {
    /// The stack.
    pub stack: &'static str,
    /// What it does.
    pub what: &'static str,
    /// The clause of the specification that decides.
    pub clause: &'static str,
    /// Where we tolerate it, and how.
    pub tolerated: Option<&'static str>,
}

/// All of them.
pub const MET: &[Met] = &[
    Met {
        stack: "open62541",
        what: "verifies the signature of an X.509 user on an unsecured channel with a certificate \
               that its CreateSession response did not show",
        clause: "Part 4, 5.7.2 (CreateSession: serverCertificate) and 5.7.3 (ActivateSession: \
                 userTokenSignature)",
        tolerated: Some(
            "`wire::session::client` signs for the certificate of the endpoint's description when \
             the session names none",
        ),
    },
    Met {
        stack: "open62541",
        what: "wants a timestamp in CreateSession",
        clause: "Part 4, 7.32 (RequestHeader: timestamp)",
        tolerated: Some("`load::transport` writes the time into every request"),
    },
    Met {
        stack: "async-opcua",
        what: "its server nonces with Basic128Rsa15 are 16 bytes long",
        clause: "Part 4, 5.7.2 and 5.7.3 (serverNonce, at least 32 bytes)",
        tolerated: Some(
            "`wire::session::client` takes a nonce as short as the policy's channel nonces: it \
             protects the server, not the client",
        ),
    },
    Met {
        stack: "asyncua",
        what: "answers a Browse with more references than were asked for",
        clause: "Part 4, 5.9.2 (requestedMaxReferencesPerNode)",
        tolerated: Some("nothing of ours relies on the number"),
    },
    Met {
        stack: "pyopcua",
        what: "a Publish response has no results for the acknowledgements of its request",
        clause: "Part 4, 5.14.5 (Publish: results match the acknowledgements in size and order)",
        tolerated: Some("an acknowledgement without a result is taken for done"),
    },
    Met {
        stack: "gopcua",
        what: "a Publish response has no results for the acknowledgements of its request",
        clause: "Part 4, 5.14.5 (Publish: results match the acknowledgements in size and order)",
        tolerated: Some("an acknowledgement without a result is taken for done"),
    },
    Met {
        stack: "gopcua",
        what: "grants sessions a timeout of 0, which would mean that they end at once",
        clause: "Part 4, 5.7.2 (CreateSession: revisedSessionTimeout)",
        tolerated: Some("`wire::session::client` takes it for no end at all"),
    },
    Met {
        stack: "node-opcua",
        what: "remembers the client's nonces of all sessions",
        clause: "Part 4, 5.7.2 (CreateSession: clientNonce)",
        tolerated: Some("`load::access` draws a new nonce for each session anyway"),
    },
];
