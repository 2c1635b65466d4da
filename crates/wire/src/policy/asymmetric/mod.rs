//! What protects OPN chunks, signs sessions and hides secrets: keys of RSA, and on elliptic curves such as sign only.
//!
//! `aws-lc-rs` does everything it is willing to do: it neither makes SHA-1 signatures nor uses
//! keys below 2048 bits, for which the `rsa` crate stands in (its advisory RUSTSEC-2023-0071
//! is accepted for these deprecated cases, and every private operation is blinded).

mod elliptic;
mod key;
mod private;
mod public;
mod slow;

pub use key::{PrivateKey, PublicKey};

use super::Policy;

/// Smallest and largest modulus of any policy, in bits.
const SUPPORTED_BITS: std::ops::RangeInclusive<usize> = 1024..=4096;
/// Where `aws-lc-rs` begins.
const FAST_BITS: usize = 2048;

/// Why bytes are not a key we can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither PKCS #8 nor PKCS #1, or its numbers do not fit together.
    #[error("not a key in DER (PKCS #8, or PKCS #1 of RSA)")]
    Malformed,
    /// A key no policy takes.
    #[error("an RSA key of {bits} bits (want 1024 to 4096)")]
    Size {
        /// The length of its modulus.
        bits: usize,
    },
    /// A key of another kind, such as another elliptic curve.
    #[error(
        "a key that is neither of RSA nor on the curves P-256, P-384 and 25519, which are all we have"
    )]
    Kind,
}

/// Why an operation with a key was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyUseError {
    /// The policy does not know the operation.
    #[error("policy {policy} has no asymmetric keys")]
    NoKeys {
        /// The policy asked for.
        policy: Policy,
    },
    /// The key is of RSA and the policy of a curve, or the other way round.
    #[error("a key of another kind than policy {policy} wants ({want})",
            want = .policy.curve().map_or("RSA", |curve| curve.name()))]
    Kind {
        /// The policy asked for.
        policy: Policy,
    },
    /// The key is too short or too long for the policy.
    #[error("a key of {bits} bits, and policy {policy} wants {min} to {max}",
            min = policy.key_bits().start(), max = policy.key_bits().end())]
    KeySize {
        /// The policy asked for.
        policy: Policy,
        /// The length of the key's modulus.
        bits: usize,
    },
    /// The cipher text is empty or ends inside a block.
    #[error("{len} bytes are not a whole number of {block}-byte RSA blocks")]
    PartialBlock {
        /// The length that was given.
        len: usize,
        /// The length of the key's modulus in bytes.
        block: usize,
    },
    /// The cipher text is not one made for this key, or was changed. No more is said on purpose.
    #[error("cannot decrypt")]
    Decrypt,
    /// Signing or encrypting failed, which a sound key does not do.
    #[error("the operation with the key failed")]
    Failed,
}

/// RFC 8017, 7.2.1: two bytes, eight of random padding, a zero.
const PKCS1_OVERHEAD: usize = 11;

fn check_size(policy: Policy, bits: usize) -> Result<(), KeyUseError> {
    match policy.key_bits().contains(&bits) {
        true => Ok(()),
        false => Err(KeyUseError::KeySize { policy, bits }),
    }
}
