//! What a security policy asks of certificates (Part 7, the security policies).

use std::fmt;

use crate::certificate::Certificate;
use crate::curve::Curve;
use crate::public_key::PublicKey;
use crate::refusal::{Reason, Refusal};
use crate::signature::Hash;

/// Keys and hashes that a security policy accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRule {
    /// The key of an application.
    pub key: KeyWanted,
    /// The weakest hash of the CertificateSignatureAlgorithm.
    pub min_hash: Hash,
}

/// CertificateKeyAlgorithm, with MinAsymmetricKeyLength and MaxAsymmetricKeyLength.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyWanted {
    /// RSA with a modulus of so many bits.
    Rsa {
        /// At least.
        min_bits: usize,
        /// At most.
        max_bits: usize,
    },
    /// On this elliptic curve.
    On(Curve),
}

impl fmt::Display for KeyWanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa { .. } => f.write_str("RSA"),
            Self::On(curve) => write!(f, "elliptic curve {curve}"),
        }
    }
}

/// Shorter RSA keys of authorities are weaker than the curves (Part 7, the limits of the policies of today).
const LEAST_RSA_BITS: usize = 2048;

impl KeyRule {
    /// Basic128Rsa15 and Basic256, both deprecated.
    pub const DEPRECATED: Self = Self {
        key: KeyWanted::Rsa {
            min_bits: 1024,
            max_bits: 2048,
        },
        min_hash: Hash::Sha1,
    };

    /// Basic256Sha256, Aes128_Sha256_RsaOaep and Aes256_Sha256_RsaPss.
    pub const RSA: Self = Self {
        key: KeyWanted::Rsa {
            min_bits: LEAST_RSA_BITS,
            max_bits: 4096,
        },
        min_hash: Hash::Sha256,
    };

    /// ECC_nistP256, ECC_curve25519 and ECC_nistP384.
    pub const fn on(curve: Curve) -> Self {
        Self {
            key: KeyWanted::On(curve),
            min_hash: match curve {
                Curve::P256 | Curve::Ed25519 => Hash::Sha256,
                Curve::P384 => Hash::Sha384,
            },
        }
    }

    /// The rule of a security policy, by its URI or by the last part of it;
    /// `None` for the policy None and for unknown ones.
    pub fn of_policy(uri: &str) -> Option<Self> {
        let name = uri.rsplit_once('#').map_or(uri, |parts| parts.1);
        match name {
            "Basic128Rsa15" | "Basic256" => Some(Self::DEPRECATED),
            "Basic256Sha256" | "Aes128_Sha256_RsaOaep" | "Aes256_Sha256_RsaPss" => Some(Self::RSA),
            "ECC_nistP256" => Some(Self::on(Curve::P256)),
            "ECC_curve25519" => Some(Self::on(Curve::Ed25519)),
            "ECC_nistP384" => Some(Self::on(Curve::P384)),
            _ => None,
        }
    }

    /// The rule of the policies of today that a key is made for; that of RSA for one that none of them takes.
    pub fn of_key(key: &PublicKey) -> Self {
        key.curve().map_or(Self::RSA, Self::on)
    }

    /// Holds the certificate that a peer sent to the rule, whoever trusts it.
    pub fn judge(&self, sent: &[u8]) -> Result<(), Refusal> {
        let structure = |error: String| Refusal::new(Reason::Structure, "", error);
        let sent =
            Certificate::chain_from_der(sent).map_err(|error| structure(error.to_string()))?;
        let leaf = sent
            .first()
            .ok_or_else(|| structure("no certificate".into()))?;
        match self.objection(leaf, true) {
            Some(detail) => Err(Refusal::new(Reason::Policy, leaf.subject(), detail)),
            None => Ok(()),
        }
    }

    /// What about the certificate breaks the rule. `leaf`: it is the peer's own,
    /// whose key the policy uses; of authorities only weakness matters.
    pub(crate) fn objection(&self, certificate: &Certificate, leaf: bool) -> Option<String> {
        // The signature on a root is never relied upon, so its hash does not matter.
        if let Some(algorithm) = certificate.signature_algorithm()
            && algorithm.hash < self.min_hash
            && (leaf || !certificate.is_self_issued())
        {
            return Some(format!(
                "signed as {algorithm}, the security policy wants {} or better",
                self.min_hash
            ));
        }
        let key = certificate.public_key();
        match (key, self.key) {
            (PublicKey::Rsa { bits, .. }, KeyWanted::Rsa { min_bits, max_bits }) => {
                let too_long = leaf && *bits > max_bits;
                (*bits < min_bits || too_long).then(|| {
                    format!(
                        "its RSA key has {bits} bits, the security policy wants {min_bits} to {max_bits}"
                    )
                })
            }
            (key, KeyWanted::On(curve)) if leaf && key.curve() == Some(curve) => None,
            (key, wanted) if leaf => Some(format!(
                "its key is {key}, the security policy wants {wanted}"
            )),
            (PublicKey::Rsa { bits, .. }, KeyWanted::On(_)) if *bits < LEAST_RSA_BITS => {
                Some(format!(
                    "its RSA key has {bits} bits, the security policy wants {LEAST_RSA_BITS} or more"
                ))
            }
            _ => None,
        }
    }
}
