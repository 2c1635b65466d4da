//! Ephemeral keys: a pair on an elliptic curve for one exchange, and what both sides agree on with them
//! (Part 6, 6.8.1).
//!
//! The private half comes from the cryptographic library's own generator: a key is made inside a job.

use std::fmt;

use aws_lc_rs::agreement::{self, UnparsedPublicKey};
use zeroize::Zeroizing;

use super::Curve;

/// SEC 1, 2.3.3: a point with both coordinates. On the wire it goes without this byte (Part 7). Keys of X25519 have
/// none (RFC 7748, 5).
const UNCOMPRESSED: &[u8] = &[4];

/// Why nothing was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgreeError {
    /// The library made no key.
    #[error("an ephemeral key could not be made")]
    Make,
    /// What the peer sent is no public key on the curve, or one with which everybody agrees on zeros.
    #[error("{len} bytes that are no public key on {curve} (want {want})", want = .curve.point_len())]
    Point {
        /// The curve.
        curve: Curve,
        /// The length that came.
        len: usize,
    },
}

/// A key pair for one exchange.
pub struct Ephemeral {
    curve: Curve,
    private: agreement::PrivateKey,
    public: Vec<u8>,
}

impl Ephemeral {
    /// A new pair. It takes some ten microseconds.
    pub fn make(curve: Curve) -> Result<Self, AgreeError> {
        let private =
            agreement::PrivateKey::generate(algorithm(curve)).map_err(|_| AgreeError::Make)?;
        Self::of(curve, private)
    }

    fn of(curve: Curve, private: agreement::PrivateKey) -> Result<Self, AgreeError> {
        let public = private.compute_public_key().map_err(|_| AgreeError::Make)?;
        let public = public.as_ref().strip_prefix(mark(curve));
        Ok(Self {
            curve,
            private,
            public: public.ok_or(AgreeError::Make)?.to_vec(),
        })
    }

    /// One that is known, for tests.
    #[cfg(test)]
    pub(super) fn known(curve: Curve, private: &[u8]) -> Self {
        let private = agreement::PrivateKey::from_private_key(algorithm(curve), private);
        Self::of(curve, private.unwrap()).unwrap()
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// The public half, as it travels: two numbers, big-endian (Part 7), or one, little-endian (RFC 7748, 5).
    pub fn public(&self) -> &[u8] {
        &self.public
    }

    /// What both sides know once each has the other's public key.
    pub fn agree(&self, peer: &[u8]) -> Result<Shared, AgreeError> {
        let (curve, len) = (self.curve, peer.len());
        let wrong = AgreeError::Point { curve, len };
        if len != curve.point_len() {
            return Err(wrong);
        }
        let point = [mark(curve), peer].concat();
        let peer = UnparsedPublicKey::new(algorithm(curve), point);
        agreement::agree(&self.private, peer, wrong, |bytes| {
            Ok(Shared(Zeroizing::new(bytes.to_vec())))
        })
    }
}

impl fmt::Debug for Ephemeral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ephemeral")
            .field("curve", &self.curve)
            .finish_non_exhaustive()
    }
}

/// What two sides agreed on: the x coordinate of a point that only they know (RFC 8422, 5.10 and 5.11). It is never
/// zero.
#[derive(Clone, PartialEq, Eq)]
pub struct Shared(Zeroizing<Vec<u8>>);

impl Shared {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

/// What the library has in front of a public key, and the wire has not.
fn mark(curve: Curve) -> &'static [u8] {
    match curve {
        Curve::NistP256 | Curve::NistP384 => UNCOMPRESSED,
        Curve::Curve25519 => &[],
    }
}

fn algorithm(curve: Curve) -> &'static agreement::Algorithm {
    match curve {
        Curve::NistP256 => &agreement::ECDH_P256,
        Curve::Curve25519 => &agreement::X25519,
        Curve::NistP384 => &agreement::ECDH_P384,
    }
}
