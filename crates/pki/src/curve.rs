//! The curves that keys can be on.

use std::fmt;

/// Elliptic curves that keys can be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// 256 bits; nistP256 in the names of security policies.
    P256,
    /// Edwards' form of the curve 25519, which signs as Ed25519; curve25519 there.
    Ed25519,
    /// 384 bits; nistP384 there.
    P384,
}

impl Curve {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::P256, Self::Ed25519, Self::P384];

    /// Its name with those who write of certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::Ed25519 => "Ed25519",
            Self::P384 => "P-384",
        }
    }

    /// Its name in security policies.
    pub const fn policy_name(self) -> &'static str {
        match self {
            Self::P256 => "nistP256",
            Self::Ed25519 => "curve25519",
            Self::P384 => "nistP384",
        }
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
