//! Which algorithm signed something, and whether a key did.

use std::fmt;
use std::sync::OnceLock;

use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use x509_parser::asn1_rs::BitString;
use x509_parser::oid_registry as oid;
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::AlgorithmIdentifier;

use crate::der;
use crate::public_key::PublicKey;

/// How a signature is formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// RSA with PKCS #1 1.5 padding.
    Pkcs1,
    /// RSA with PSS padding; verified only when the salt is as long as the hash.
    Pss,
    /// Elliptic curve.
    Ecdsa,
    /// Ed25519, which brings its own hash.
    Ed25519,
}

/// The hash under a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hash {
    /// Deprecated: only the policies before Basic256Sha256 accept it.
    Sha1,
    /// 256 bits.
    Sha256,
    /// 384 bits.
    Sha384,
    /// 512 bits.
    Sha512,
}

/// The algorithm that signed a certificate or a revocation list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureAlgorithm {
    /// How the signature is formed.
    pub scheme: Scheme,
    /// What was hashed with.
    pub hash: Hash,
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
        })
    }
}

impl fmt::Display for SignatureAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.hash;
        match self.scheme {
            Scheme::Pkcs1 => write!(f, "RSA with {hash}"),
            Scheme::Pss => write!(f, "RSA-PSS with {hash}"),
            Scheme::Ecdsa => write!(f, "ECDSA with {hash}"),
            Scheme::Ed25519 => f.write_str("Ed25519"),
        }
    }
}

/// Bytes with the signature over them.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    /// `None`: an algorithm that is not known here; nothing verifies it.
    pub algorithm: Option<SignatureAlgorithm>,
    pub content: Vec<u8>,
    pub signature: Vec<u8>,
    /// The key that it was found to be made with: those of a trust list are looked at for each peer.
    verified: OnceLock<PublicKey>,
}

impl PartialEq for Signed {
    /// What is known of it makes no difference.
    fn eq(&self, other: &Self) -> bool {
        self.algorithm == other.algorithm
            && self.content == other.content
            && self.signature == other.signature
    }
}

impl Eq for Signed {}

impl Signed {
    /// From the whole, the signed content inside it, and what stands behind that.
    ///
    /// `None` when the algorithm outside is not, byte for byte, the signed one (RFC
    /// 5280, 4.1.1.2 and 5.1.1.2), or the signature is not whole bytes: the same
    /// thing could be written in many ways, each with a thumbprint of its own.
    pub fn new(
        whole: &[u8],
        content: &[u8],
        algorithm: &AlgorithmIdentifier<'_>,
        signature: &BitString<'_>,
    ) -> Option<Self> {
        let (inside, _) = der::take(der::SEQUENCE, whole)?;
        let behind = inside.strip_prefix(content)?;
        let (outer, behind) = der::take(der::SEQUENCE, behind)?;
        // The parser looks at the number of this tag only, not at its class.
        der::take(der::BIT_STRING, behind)?;
        let signed_as_well =
            !outer.is_empty() && content.windows(outer.len()).any(|inner| inner == outer);
        (signed_as_well && signature.unused_bits == 0).then(|| Self {
            algorithm: identify(algorithm),
            content: content.to_vec(),
            signature: signature.data.to_vec(),
            verified: OnceLock::new(),
        })
    }

    /// Content whose algorithm stands beside it only, as of OCSP.
    pub fn beside(content: &[u8], algorithm: &AlgorithmIdentifier<'_>, signature: &[u8]) -> Self {
        Self {
            algorithm: identify(algorithm),
            content: content.to_vec(),
            signature: signature.to_vec(),
            verified: OnceLock::new(),
        }
    }

    /// Whether the owner of `key` signed this.
    pub fn is_by(&self, key: &PublicKey) -> bool {
        if self.verified.get() == Some(key) {
            return true;
        }
        let Some(algorithm) = self
            .algorithm
            .and_then(|algorithm| verifier(algorithm, key))
        else {
            return false;
        };
        let good = UnparsedPublicKey::new(algorithm, key.bytes())
            .verify(&self.content, &self.signature)
            .is_ok();
        if good {
            // With another key that verifies it as well the first one stays.
            let _ = self.verified.set(key.clone());
        }
        good
    }
}

fn identify(algorithm: &AlgorithmIdentifier<'_>) -> Option<SignatureAlgorithm> {
    use Hash::{Sha1, Sha256, Sha384, Sha512};
    use Scheme::{Ecdsa, Ed25519, Pkcs1, Pss};
    let id = &algorithm.algorithm;
    let table = [
        (oid::OID_PKCS1_SHA1WITHRSA, Pkcs1, Sha1),
        (oid::OID_SHA1_WITH_RSA, Pkcs1, Sha1),
        (oid::OID_PKCS1_SHA256WITHRSA, Pkcs1, Sha256),
        (oid::OID_PKCS1_SHA384WITHRSA, Pkcs1, Sha384),
        (oid::OID_PKCS1_SHA512WITHRSA, Pkcs1, Sha512),
        (oid::OID_SIG_ECDSA_WITH_SHA256, Ecdsa, Sha256),
        (oid::OID_SIG_ECDSA_WITH_SHA384, Ecdsa, Sha384),
        (oid::OID_SIG_ED25519, Ed25519, Sha512),
    ];
    if let Some((_, scheme, hash)) = table.into_iter().find(|row| row.0 == *id) {
        return Some(SignatureAlgorithm { scheme, hash });
    }
    if *id != oid::OID_PKCS1_RSASSAPSS {
        return None;
    }
    let parameters = RsaSsaPssParams::try_from(algorithm.parameters.as_ref()?).ok()?;
    let hashes = [
        (oid::OID_NIST_HASH_SHA256, Sha256),
        (oid::OID_NIST_HASH_SHA384, Sha384),
        (oid::OID_NIST_HASH_SHA512, Sha512),
    ];
    let wanted = parameters.hash_algorithm_oid();
    let (_, hash) = hashes.into_iter().find(|row| row.0 == *wanted)?;
    Some(SignatureAlgorithm { scheme: Pss, hash })
}

// Short keys and SHA-1 are verified here so that the later steps can say what is
// wrong with them; whether they are good enough is the security policy's decision.
fn verifier(
    algorithm: SignatureAlgorithm,
    key: &PublicKey,
) -> Option<&'static dyn VerificationAlgorithm> {
    let curve = key.curve_name();
    Some(match (algorithm.scheme, algorithm.hash) {
        (Scheme::Pkcs1, Hash::Sha1) => &signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
        (Scheme::Pkcs1, Hash::Sha256) => &signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        (Scheme::Pkcs1, Hash::Sha384) => &signature::RSA_PKCS1_2048_8192_SHA384,
        (Scheme::Pkcs1, Hash::Sha512) => &signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        (Scheme::Pss, Hash::Sha256) => &signature::RSA_PSS_2048_8192_SHA256,
        (Scheme::Pss, Hash::Sha384) => &signature::RSA_PSS_2048_8192_SHA384,
        (Scheme::Pss, Hash::Sha512) => &signature::RSA_PSS_2048_8192_SHA512,
        (Scheme::Ecdsa, Hash::Sha256) if curve == Some("P-256") => {
            &signature::ECDSA_P256_SHA256_ASN1
        }
        (Scheme::Ecdsa, Hash::Sha384) if curve == Some("P-256") => {
            &signature::ECDSA_P256_SHA384_ASN1
        }
        (Scheme::Ecdsa, Hash::Sha256) if curve == Some("P-384") => {
            &signature::ECDSA_P384_SHA256_ASN1
        }
        (Scheme::Ecdsa, Hash::Sha384) if curve == Some("P-384") => {
            &signature::ECDSA_P384_SHA384_ASN1
        }
        (Scheme::Ed25519, _) if curve == Some("Ed25519") => &signature::ED25519,
        _ => return None,
    })
}
