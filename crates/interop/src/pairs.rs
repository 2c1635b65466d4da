//! The other stacks among themselves: each client on each server. Shows that all peers keep to
//! the same contract, and where two stacks disagree, so that neither is taken for the truth when
//! ours disagrees with one of them.

use peers::{Client, ClientOptions, Mode, Policy, Server, Stack, Token};

use crate::cell::{Cell, Complaint, Outcome, Work};
use crate::theirs::complaints;

/// The two ways that nearly everybody has.
pub const PROTECTIONS: [(Policy, Mode); 2] = [
    (Policy::None, Mode::None),
    (Policy::Basic256Sha256, Mode::SignAndEncrypt),
];

/// An explained disagreement of two stacks.
#[derive(Debug)]
pub struct Disagreement {
    /// The clients' stacks.
    pub clients: &'static [&'static str],
    /// The server's stack.
    pub server: &'static str,
    /// The policy.
    pub policy: Policy,
    /// What does not work.
    pub work: Work,
    /// What the clients say, each in its words.
    pub says: &'static [&'static str],
    /// Why, for a reader.
    pub reason: &'static str,
    /// The clause of the specification that decides.
    pub clause: &'static str,
}

/// All of them, in the order of their letters on the page.
pub const DISAGREEMENTS: &[Disagreement] = &[
    Disagreement {
        clients: &["asyncua", "pyopcua"],
        server: "open62541",
        policy: Policy::None,
        work: Work::Connect,
        says: &["'NoneType' object has no attribute 'public_key'"],
        reason: "on an unsecured channel the server shows its certificate only to clients that \
                 show theirs, and these cannot encrypt the password without it; they do not look \
                 for it in the endpoint's description",
        clause: "Part 4, 5.7.2 (CreateSession: serverCertificate)",
    },
    Disagreement {
        clients: &["open62541"],
        server: "async-opcua",
        policy: Policy::None,
        work: Work::Connect,
        says: &["BadSecurityChecksFailed"],
        reason: "the server's nonce is empty on an unsecured channel, and the client insists on \
                 32 bytes",
        clause: "Part 4, 5.7.3 (ActivateSession: serverNonce, at least 32 bytes)",
    },
    Disagreement {
        clients: &["open62541"],
        server: "pyopcua",
        policy: Policy::None,
        work: Work::Connect,
        says: &["BadIdentityTokenRejected"],
        reason: "the server asks for the password as it is, which the client sends only when \
                 told to (allowNonePolicyPassword)",
        clause: "Part 4, 7.42 (UserTokenPolicy: securityPolicyUri); both may do so",
    },
    Disagreement {
        clients: &[
            "open62541",
            "asyncua",
            "node-opcua",
            "gopcua",
            "milo1",
            "milo06",
        ],
        server: "gopcua",
        policy: Policy::None,
        work: Work::Read,
        says: &[
            "BadSecureChannelClosed",
            "BadRequestTooLarge",
            "Connection Break",
            "BadConnectionClosed",
            "i=3013: EOF",
        ],
        reason: "the server sends a response of any size as one chunk, and these clients hang up \
                 on one that is larger than their receive buffer, its own too; async-opcua and pyopcua take it",
        clause: "Part 6, 7.1.2.3 (Hello: ReceiveBufferSize)",
    },
];

/// The way a client takes with a server: by user name where the server has users.
pub fn cell(client: &Stack, server: &Stack, (policy, mode): (Policy, Mode)) -> Option<Cell> {
    let token = match server.offers.tokens.contains(&Token::UserName) {
        true => Token::UserName,
        false => Token::Anonymous,
    };
    let cell = Cell {
        policy,
        mode,
        token,
    };
    (cell.is_in(&client.speaks) && cell.is_in(&server.offers)).then_some(cell)
}

/// What is known of a pair, each with its place in [`DISAGREEMENTS`].
pub fn known(
    client: &Stack,
    server: &Stack,
    policy: Policy,
) -> impl Iterator<Item = (usize, &'static Disagreement)> {
    let (client, pair) = (client.name, (server.name, policy));
    let all = DISAGREEMENTS.iter().enumerate();
    all.filter(move |(_, d)| d.clients.contains(&client) && (d.server, d.policy) == pair)
}

/// Has a client do everything on a server of another stack.
pub fn attempt(client: &'static Stack, server: &Server, protection: (Policy, Mode)) -> Outcome {
    let Some(cell) = cell(client, server.stack(), protection) else {
        return Outcome::NotOffered;
    };
    let (name, password) = peers::bench::USER;
    let options = ClientOptions {
        policy: cell.policy,
        mode: cell.mode,
        user: (cell.token == Token::UserName).then(|| (name.into(), password.into())),
        ..ClientOptions::default()
    };
    Outcome::Tried(match Client::run(client, server.url(), &options) {
        Ok(report) => complaints(&report),
        Err(error) => vec![Complaint {
            work: Work::Connect,
            what: error.to_string(),
        }],
    })
}

/// How what came of a pair differs from what is known; nothing if it does not. Only the first
/// complaint counts: a client that was hung up on has more of them.
pub fn surprise(
    client: &Stack,
    server: &Stack,
    policy: Policy,
    complaints: &[Complaint],
) -> Option<String> {
    let explains = |known: &Disagreement, complaint: &Complaint| {
        known.work == complaint.work && known.says.iter().any(|says| complaint.what.contains(says))
    };
    let known = known(client, server, policy).next().map(|(_, known)| known);
    let what = match (complaints.first(), known) {
        (None, None) => return None,
        (Some(complaint), Some(known)) if explains(known, complaint) => return None,
        (Some(complaint), _) => complaint.to_string(),
        (None, Some(known)) => format!("no longer fails: {}", known.reason),
    };
    Some(format!(
        "{} on {}, {policy}: {what}",
        client.name, server.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disagreement_that_is_new_gone_or_another_is_a_surprise() {
        let [client, server] = ["open62541", "pyopcua"].map(|name| Stack::named(name).unwrap());
        let says = |work, what: &str| Complaint {
            work,
            what: what.into(),
        };
        let surprise =
            |policy, complaints: &[Complaint]| surprise(client, server, policy, complaints);
        let known = says(Work::Connect, "connect: BadIdentityTokenRejected");
        let other = says(Work::Connect, "connect: BadTimeout");
        let then = says(Work::Read, "no connection");
        assert_eq!(surprise(Policy::None, &[known.clone(), then]), None);
        assert!(surprise(Policy::None, &[other]).is_some());
        assert!(surprise(Policy::None, &[]).is_some());
        assert!(surprise(Policy::Basic256Sha256, &[known]).is_some());
        assert_eq!(surprise(Policy::Basic256Sha256, &[]), None);
    }

    #[test]
    fn every_disagreement_is_of_pairs_that_meet() {
        for known in DISAGREEMENTS {
            let server = Stack::named(known.server).unwrap();
            let way = PROTECTIONS
                .into_iter()
                .find(|way| way.0 == known.policy)
                .unwrap();
            for client in known.clients {
                let client = Stack::named(client).unwrap();
                assert!(cell(client, server, way).is_some(), "{known:?}");
            }
        }
    }
}
