//! What we found out about other stacks that the peers do not say of themselves, and what we
//! tolerate.

/// Behaviour of another stack that our client or server met.
#[derive(Debug)]
pub struct KnownBehaviour {
    /// The stack.
    pub stack: &'static str,
    /// What it does.
    pub what: &'static str,
    /// The clause of the specification that decides.
    pub clause: &'static str,
    /// Where we tolerate it, and how.
    pub tolerated: &'static str,
}

/// What the peers do not say.
pub const MET: &[KnownBehaviour] = &[
    KnownBehaviour {
        stack: "open62541",
        what: "a server whose maxNotificationsPerPublish is configured as 0 sends no notification \
               at all, although 0 in a request means no limit",
        clause: "Part 4, 5.14.2 (CreateSubscription: maxNotificationsPerPublish)",
        tolerated: "our server on it names a limit",
    },
    KnownBehaviour {
        stack: "async-opcua",
        what: "its client takes a user token policy without a security policy for None, also on a \
               secured channel: a user's certificate then comes without a signature",
        clause: "Part 4, 7.42 (UserTokenPolicy: empty means the endpoint's policy)",
        tolerated: "`plant` names the policy in each of its user token policies",
    },
    KnownBehaviour {
        stack: "pyopcua",
        what: NO_RESULTS,
        clause: RESULTS,
        tolerated: DONE,
    },
    KnownBehaviour {
        stack: "node-opcua",
        what: "a server that dials clients (reverse connect) calls one again only when its channel there has ended: \
               a client has one channel at a time",
        clause: "Part 6, 7.1.3 (a server keeps a connection waiting, also while others are used)",
        tolerated: "our client waits for the next call; with several sessions it times out",
    },
    KnownBehaviour {
        stack: "gopcua",
        what: NO_RESULTS,
        clause: RESULTS,
        tolerated: DONE,
    },
];

const NO_RESULTS: &str =
    "a Publish response has no results for the acknowledgements of its request";
const RESULTS: &str =
    "Part 4, 5.14.5 (Publish: results match the acknowledgements in size and order)";
const DONE: &str = "an acknowledgement without a result is taken for done";

/// How we tolerate what a peer says of itself.
#[derive(Debug)]
pub struct Tolerated {
    /// The stack.
    pub stack: &'static str,
    /// Words of the quirk.
    pub quirk: &'static str,
    /// Where, and how.
    pub how: &'static str,
}

/// All of them.
pub const TOLERATED: &[Tolerated] = &[
    Tolerated {
        stack: "asyncua",
        quirk: "type 6 instead of 3",
        how: "`pubsub` reads type 6 as UInt64 unless it is told to be strict",
    },
    Tolerated {
        stack: "open62541",
        quirk: "has no timestamp",
        how: "`load::transport` writes the time into every request",
    },
    Tolerated {
        stack: "open62541",
        quirk: "has a server certificate only",
        how: "where the session names no certificate, `wire::session::client` signs for the one \
              in the endpoint's description, and encrypts for it when it is trusted",
    },
    Tolerated {
        stack: "open62541",
        quirk: "expects 32 bytes of nonce on an unsecured channel",
        how: "`wire::session::server` gives 32 bytes on every channel",
    },
    Tolerated {
        stack: "open62541",
        quirk: "a delta frame has as many fields",
        how: "`pubsub` passes over them unless it is told to be strict \
              (`crates/pubsub/tests/uadp/golden.rs`)",
    },
    Tolerated {
        stack: "open62541",
        quirk: "stands still at 1",
        how: "where a listener says `--allow-constant-nonce` (`crates/pubsub/tests/uadp/secured.rs`)",
    },
    Tolerated {
        stack: "async-opcua",
        quirk: "16 bytes long with Basic128Rsa15",
        how: "`wire::session::client` takes a nonce as short as the policy's channel nonces are: \
              it protects the server, not the client",
    },
    Tolerated {
        stack: "asyncua",
        quirk: "has no BrowseNext",
        how: "nothing of ours relies on the number of references in a response",
    },
    Tolerated {
        stack: "pyopcua",
        quirk: "name no security policy",
        how: "`wire::session::client` sends the password as it is only where that was allowed \
              (`--plain-password`)",
    },
    Tolerated {
        stack: "node-opcua",
        quirk: "refuses a client nonce",
        how: "`load::access` draws a new one for each session",
    },
    Tolerated {
        stack: "gopcua",
        quirk: "revisedSessionTimeout is 0",
        how: "`wire::session::client` takes it for no end at all",
    },
];

impl Tolerated {
    /// How a quirk is tolerated, if it is.
    pub fn of(stack: &str, quirk: &str) -> Option<&'static Self> {
        let mut all = TOLERATED.iter();
        all.find(|one| one.stack == stack && quirk.contains(one.quirk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peers::Stack;

    #[test]
    fn each_tolerance_belongs_to_one_quirk_of_its_stack() {
        for one in TOLERATED {
            let stack = Stack::named(one.stack).unwrap();
            let quirks = stack.quirks.iter().filter(|q| q.what.contains(one.quirk));
            assert_eq!(quirks.count(), 1, "{one:?}");
        }
        for met in MET {
            assert!(Stack::named(met.stack).is_some(), "{met:?}");
        }
    }
}
