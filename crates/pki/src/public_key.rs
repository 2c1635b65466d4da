//! The public key of a certificate.

use std::fmt;

use x509_parser::oid_registry as oid;
use x509_parser::public_key::PublicKey as ParsedKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::curve::Curve;
use crate::der::without_leading_zeros;

/// The public key of a certificate.
#[derive(Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// RSA, as PKCS #1 RSAPublicKey.
    Rsa {
        /// Length of the modulus.
        bits: usize,
        /// The DER of the key.
        der: Vec<u8>,
    },
    /// A point on an elliptic curve.
    Elliptic {
        /// `P-256`, `Ed25519`, …; `None` for one that is not known here.
        curve: Option<&'static str>,
        /// The encoded point.
        point: Vec<u8>,
    },
    /// Something else.
    Other {
        /// The algorithm's object identifier.
        algorithm: String,
        /// The key's bytes.
        bytes: Vec<u8>,
    },
}

impl PublicKey {
    pub(crate) fn read(info: &SubjectPublicKeyInfo<'_>) -> Option<Self> {
        let bytes = info.subject_public_key.data.to_vec();
        // RFC 8410, 3: without parameters. The parser knows nothing of it.
        if info.algorithm.algorithm == oid::OID_SIG_ED25519 {
            return Some(Self::Elliptic {
                curve: Some(Curve::Ed25519.name()),
                point: bytes,
            });
        }
        Some(match info.parsed().ok()? {
            ParsedKey::RSA(key) => Self::Rsa {
                bits: bit_length(key.modulus),
                der: bytes,
            },
            ParsedKey::EC(_) => {
                let parameters = info.algorithm.parameters.as_ref();
                let curve = parameters.and_then(|any| any.as_oid().ok());
                Self::Elliptic {
                    curve: curve.and_then(|curve| curve_name(&curve)),
                    point: bytes,
                }
            }
            _ => Self::Other {
                algorithm: info.algorithm.algorithm.to_id_string(),
                bytes,
            },
        })
    }

    /// The bits of the SubjectPublicKeyInfo.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Rsa { der: bytes, .. }
            | Self::Elliptic { point: bytes, .. }
            | Self::Other { bytes, .. } => bytes,
        }
    }

    /// The curve it is on, if that is one of those that security policies use here.
    pub fn curve(&self) -> Option<Curve> {
        Curve::ALL
            .into_iter()
            .find(|curve| self.curve_name() == Some(curve.name()))
    }

    pub(crate) fn curve_name(&self) -> Option<&'static str> {
        match self {
            Self::Elliptic { curve, .. } => *curve,
            _ => None,
        }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa { bits, .. } => write!(f, "RSA {bits} bits"),
            Self::Elliptic { curve, .. } => {
                write!(
                    f,
                    "elliptic curve {}",
                    curve.unwrap_or("of an unknown kind")
                )
            }
            Self::Other { algorithm, .. } => write!(f, "of algorithm {algorithm}"),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

fn bit_length(number: &[u8]) -> usize {
    let digits = without_leading_zeros(number);
    let unused = digits.first().map_or(0, |first| first.leading_zeros());
    digits.len() * 8 - unused as usize
}

fn curve_name(id: &oid::Oid<'_>) -> Option<&'static str> {
    let names = [
        (oid::OID_EC_P256, "P-256"),
        (oid::OID_NIST_EC_P384, "P-384"),
        (oid::OID_NIST_EC_P521, "P-521"),
    ];
    let (_, name) = names.into_iter().find(|row| row.0 == *id)?;
    Some(name)
}
