//! One cell of the table, and what comes of trying it.

use std::fmt;

use peers::{Mode, Policy, Security, Token};
use pki::{Curve, KeyKind};

/// A way to connect: policy, mode and user token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// The security policy.
    pub policy: Policy,
    /// The message security mode.
    pub mode: Mode,
    /// The user.
    pub token: Token,
}

/// The tokens in the order of the table.
pub const TOKENS: [Token; 3] = [Token::Anonymous, Token::UserName, Token::X509];

impl Cell {
    /// Every combination, offered by somebody or not: policy by policy, mode by mode.
    pub fn all() -> impl Iterator<Item = Cell> {
        let protections = Policy::ALL
            .iter()
            .flat_map(|&policy| policy.modes().iter().map(move |&mode| (policy, mode)));
        protections.flat_map(|(policy, mode)| {
            TOKENS.map(|token| Cell {
                policy,
                mode,
                token,
            })
        })
    }

    /// The keys that its certificates have.
    pub fn key(self) -> KeyKind {
        match self.policy {
            Policy::EccNistP256 => KeyKind::On(Curve::P256),
            Policy::EccNistP384 => KeyKind::On(Curve::P384),
            _ => KeyKind::Rsa(2048),
        }
    }

    /// Whether a side that has this security can be connected so.
    pub fn is_in(self, security: &Security) -> bool {
        security.policies.contains(&self.policy) && security.tokens.contains(&self.token)
    }

    /// Policy and mode as they are written on command lines.
    pub fn protection(self) -> String {
        match self.policy {
            Policy::None => "None".into(),
            policy => format!("{policy}:{}", self.mode),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.protection(), self.token)
    }
}

/// The kinds of keys of all cells.
pub const KEYS: [KeyKind; 3] = [
    KeyKind::Rsa(2048),
    KeyKind::On(Curve::P256),
    KeyKind::On(Curve::P384),
];

/// What is done in each cell, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// Channel, session, activation, and leaving in good order.
    Connect,
    /// Every variable of the bench address space, by value.
    Read,
    /// A Double and an Int32, read back and restored.
    Write,
    /// All nodes found from Objects.
    Browse,
    /// The method `echo`.
    Call,
    /// The counter of 100 ms, three values.
    Subscribe,
}

impl Work {
    /// All of it, in order.
    pub const ALL: [Self; 6] = [
        Self::Connect,
        Self::Read,
        Self::Write,
        Self::Browse,
        Self::Call,
        Self::Subscribe,
    ];

    /// The word for it, which is also the word for a step of a peer's client.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Read => "read",
            Self::Write => "write",
            Self::Browse => "browse",
            Self::Call => "call",
            Self::Subscribe => "subscribe",
        }
    }
}

/// Something that did not go as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// At what.
    pub work: Work,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.work.name(), self.what)
    }
}

/// What came of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server has no such endpoint, or that endpoint takes no such user.
    NotOffered,
    /// It was tried. All went well if there are no complaints.
    Tried(Vec<Complaint>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_fifteen_protections_with_three_tokens_each() {
        let cells: Vec<_> = Cell::all().collect();
        assert_eq!(cells.len(), 45);
        assert_eq!(cells.iter().collect::<HashSet<_>>().len(), 45);
        assert_eq!(cells[0].to_string(), "None Anonymous");
        assert_eq!(cells[44].to_string(), "ECC_nistP384:SignAndEncrypt X509");
    }
}
