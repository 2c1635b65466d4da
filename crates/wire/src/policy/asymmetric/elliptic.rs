//! Keys on elliptic curves: they sign with ECDSA or Ed25519, and do nothing else. A signature of ECDSA is two numbers,
//! big-endian and as long as the curve's (Part 7), not the DER that certificates have; that of Ed25519 is the same
//! everywhere (RFC 8032, 5.1.6).

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
    ECDSA_P384_SHA384_FIXED_SIGNING, ED25519, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair,
    KeyPair, ParsedPublicKey, VerificationAlgorithm,
};

use super::{KeyError, KeyUseError};
use crate::policy::Curve;

/// A private key on a curve. Cloning shares it.
#[derive(Clone)]
pub(super) struct EllipticPrivate(Arc<Private>);

struct Private {
    curve: Curve,
    pair: Pair,
    public: EllipticPublic,
}

enum Pair {
    Ecdsa(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl Pair {
    /// Of PKCS #8; none if the key is not on this curve.
    fn read(curve: Curve, der: &[u8]) -> Option<Self> {
        let ecdsa = |algorithm: &'static EcdsaSigningAlgorithm| {
            let pair = EcdsaKeyPair::from_pkcs8(algorithm, der).ok()?;
            Some(Self::Ecdsa(Box::new(pair)))
        };
        match curve {
            Curve::NistP256 => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING),
            Curve::NistP384 => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING),
            Curve::Curve25519 => {
                let pair = Ed25519KeyPair::from_pkcs8(der).ok()?;
                Some(Self::Ed25519(Box::new(pair)))
            }
        }
    }

    fn public(&self) -> &[u8] {
        match self {
            Self::Ecdsa(pair) => pair.public_key().as_ref(),
            Self::Ed25519(pair) => pair.public_key().as_ref(),
        }
    }
}

impl EllipticPrivate {
    /// Reads PKCS #8; none if it is no key on one of the curves.
    pub fn from_pkcs8(der: &[u8]) -> Option<Result<Self, KeyError>> {
        let (curve, pair) = Curve::ALL.into_iter().find_map(|curve| {
            let pair = Pair::read(curve, der)?;
            Some((curve, pair))
        })?;
        let public = EllipticPublic::new(curve, pair.public());
        Some(public.map(|public| {
            Self(Arc::new(Private {
                curve,
                public,
                pair,
            }))
        }))
    }

    pub fn curve(&self) -> Curve {
        self.0.curve
    }

    pub fn public(&self) -> &EllipticPublic {
        &self.0.public
    }

    pub fn sign(&self, data: &[u8]) -> Result<Vec<u8>, KeyUseError> {
        let signature = match &self.0.pair {
            Pair::Ecdsa(pair) => pair.sign(&SystemRandom::new(), data),
            Pair::Ed25519(pair) => pair.try_sign(data),
        };
        let signature = signature.map_err(|_| KeyUseError::Failed)?;
        Ok(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for EllipticPrivate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("curve", &self.0.curve)
            .finish_non_exhaustive()
    }
}

/// A public key on a curve. Cloning shares it.
#[derive(Clone)]
pub(super) struct EllipticPublic(Arc<Public>);

struct Public {
    curve: Curve,
    point: Vec<u8>,
    key: ParsedPublicKey,
}

impl EllipticPublic {
    /// From an encoded point (SEC 1, 2.3.3; RFC 8032, 5.1.2), which has to be on the curve.
    pub fn new(curve: Curve, point: &[u8]) -> Result<Self, KeyError> {
        let key = ParsedPublicKey::new(verifying(curve), point).map_err(|_| KeyError::Malformed)?;
        Ok(Self(Arc::new(Public {
            curve,
            point: point.to_vec(),
            key,
        })))
    }

    pub fn curve(&self) -> Curve {
        self.0.curve
    }

    pub fn verify(&self, data: &[u8], signature: &[u8]) -> bool {
        self.0.key.verify_sig(data, signature).is_ok()
    }
}

impl PartialEq for EllipticPublic {
    fn eq(&self, other: &Self) -> bool {
        self.0.curve == other.0.curve && self.0.point == other.0.point
    }
}

impl Eq for EllipticPublic {}

impl fmt::Debug for EllipticPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("curve", &self.0.curve)
            .finish_non_exhaustive()
    }
}

fn verifying(curve: Curve) -> &'static dyn VerificationAlgorithm {
    match curve {
        Curve::Curve25519 => &ED25519,
        Curve::NistP256 => &ECDSA_P256_SHA256_FIXED,
        Curve::NistP384 => &ECDSA_P384_SHA384_FIXED,
    }
}
