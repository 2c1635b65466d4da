//! Security policies: the algorithms a SecureChannel is protected with.
//!
//! A [`Policy`] names a set of algorithms (Part 7, 6.6); its numbers and URIs are one table
//! below. What it does to bytes lives in two rooms:
//!
//! - [`symmetric`]: keys derived from what a token's OPN messages exchanged, which protect MSG and CLO chunks;
//! - [`authenticated`]: the same where one algorithm encrypts and signs, as it does on the curve 25519;
//! - [`asymmetric`]: keys of RSA, which protect OPN chunks, sign sessions and hide secrets; keys on
//!   elliptic curves, which sign only;
//! - [`ephemeral`]: keys on elliptic curves for one exchange, by which both sides agree on a secret
//!   that never travels (Part 6, 6.8.1);
//! - [`pubsub`]: keys that a group of publishers and subscribers shares (Part 14, 7.2.4.4.3).
//!
//! # What the policies of elliptic curves do in another way
//!
//! Their OPN chunks are signed and not encrypted, their nonces are public keys, their channel's keys come of
//! HKDF over what was agreed on, their sequence numbers begin at 0, and secrets of user tokens are an
//! `EccEncryptedSecret` (Part 4, 7.41.2.5).

pub mod asymmetric;
pub mod authenticated;
pub mod ephemeral;
pub mod pubsub;
pub mod symmetric;

mod exchanged;
mod hmac;
#[cfg(test)]
mod tests;

pub use asymmetric::{KeyError, KeyUseError, PrivateKey, PublicKey};
pub use authenticated::{AuthenticatedKeys, Place};
pub use ephemeral::{AgreeError, Ephemeral, Shared};
pub(crate) use exchanged::secret_keys;
pub use exchanged::{Exchanged, Sender};
pub use symmetric::{CipherError, DirectionKeys, Keys};

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use opcua_types::MessageSecurityMode;

/// A security policy, ordered by strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Neither signatures nor encryption.
    None,
    /// SHA-1, AES-128 and RSA with PKCS #1 v1.5 padding; deprecated in 1.04.
    Basic128Rsa15,
    /// SHA-1, AES-256 and RSA-OAEP; deprecated in 1.04.
    Basic256,
    /// SHA-256, AES-256 and RSA-OAEP.
    Basic256Sha256,
    /// SHA-256, AES-128 and RSA-OAEP.
    Aes128Sha256RsaOaep,
    /// SHA-256, AES-256, RSA-PSS and RSA-OAEP with SHA-256.
    Aes256Sha256RsaPss,
    /// SHA-256, AES-128, ECDSA and ephemeral keys on the curve P-256.
    EccNistP256,
    /// ChaCha20-Poly1305, Ed25519, and ephemeral keys of X25519.
    EccCurve25519,
    /// SHA-384, AES-256, ECDSA and ephemeral keys on the curve P-384.
    EccNistP384,
}

/// A named elliptic curve (Part 7: CertificateKeyAlgorithm and EphemeralKeyAlgorithm).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Curve {
    /// NIST P-256.
    NistP256,
    /// 25519: X25519 agrees (RFC 7748), and Ed25519 signs (RFC 8032).
    Curve25519,
    /// NIST P-384.
    NistP384,
}

impl Curve {
    /// Every curve.
    pub const ALL: [Self; 3] = [Self::NistP256, Self::Curve25519, Self::NistP384];

    /// Its name in security policies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NistP256 => "nistP256",
            Self::Curve25519 => "curve25519",
            Self::NistP384 => "nistP384",
        }
    }

    /// Bits of a coordinate, as they are written.
    pub const fn bits(self) -> usize {
        match self {
            Self::NistP256 | Self::Curve25519 => 256,
            Self::NistP384 => 384,
        }
    }

    /// Bytes of an ephemeral public key: both coordinates, big-endian (Part 7), or one, little-endian (RFC 7748, 5).
    pub const fn point_len(self) -> usize {
        match self {
            Self::NistP256 | Self::NistP384 => self.bits() / 4,
            Self::Curve25519 => self.bits() / 8,
        }
    }

    /// Bytes of a signature: two numbers of this length (Part 7; RFC 8032, 5.1.6).
    pub const fn signature_len(self) -> usize {
        self.bits() / 4
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What Part 7 says of a policy.
struct Rules {
    name: &'static str,
    uri: &'static str,
    deprecated: bool,
    legacy_sequence_numbers: bool,
    nonce_len: usize,
    /// What the keys of certificates are on, and ephemeral ones; RSA has none.
    curve: Option<Curve>,
    key_bits: RangeInclusive<usize>,
    digest: Option<Digest>,
    /// DerivedSignatureKeyLength, in bytes.
    signing_key_len: usize,
    cipher: Option<Cipher>,
    /// Chunks are encrypted and signed in one step, by ChaCha20-Poly1305: there is neither digest nor cipher then.
    authenticated: bool,
    signature: Option<Signature>,
    encryption: Option<Encryption>,
}

/// The hash function behind a policy's HMAC and key derivation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digest {
    Sha1,
    Sha256,
    Sha384,
}

/// SymmetricEncryptionAlgorithm, in CBC mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cipher {
    Aes128,
    Aes256,
}

/// AsymmetricSignatureAlgorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signature {
    Pkcs1Sha1,
    Pkcs1Sha256,
    PssSha256,
    /// That of the curve: ECDSA with the hash that is as long as its numbers, or Ed25519.
    OnCurve,
}

/// AsymmetricEncryptionAlgorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encryption {
    Pkcs1v15,
    OaepSha1,
    OaepSha256,
}

const NONE: Rules = Rules {
    name: "None",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#None",
    deprecated: false,
    legacy_sequence_numbers: true,
    nonce_len: 0,
    curve: None,
    key_bits: 0..=usize::MAX,
    digest: None,
    signing_key_len: 0,
    cipher: None,
    authenticated: false,
    signature: None,
    encryption: None,
};

const BASIC128_RSA15: Rules = Rules {
    name: "Basic128Rsa15",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#Basic128Rsa15",
    deprecated: true,
    legacy_sequence_numbers: true,
    nonce_len: 16,
    curve: None,
    key_bits: 1024..=2048,
    digest: Some(Digest::Sha1),
    signing_key_len: 16,
    cipher: Some(Cipher::Aes128),
    authenticated: false,
    signature: Some(Signature::Pkcs1Sha1),
    encryption: Some(Encryption::Pkcs1v15),
};

const BASIC256: Rules = Rules {
    name: "Basic256",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#Basic256",
    nonce_len: 32,
    signing_key_len: 24,
    cipher: Some(Cipher::Aes256),
    encryption: Some(Encryption::OaepSha1),
    ..BASIC128_RSA15
};

const BASIC256_SHA256: Rules = Rules {
    name: "Basic256Sha256",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256",
    deprecated: false,
    legacy_sequence_numbers: true,
    nonce_len: 32,
    curve: None,
    key_bits: 2048..=4096,
    digest: Some(Digest::Sha256),
    signing_key_len: 32,
    cipher: Some(Cipher::Aes256),
    authenticated: false,
    signature: Some(Signature::Pkcs1Sha256),
    encryption: Some(Encryption::OaepSha1),
};

const AES128_SHA256_RSA_OAEP: Rules = Rules {
    name: "Aes128_Sha256_RsaOaep",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#Aes128_Sha256_RsaOaep",
    cipher: Some(Cipher::Aes128),
    ..BASIC256_SHA256
};

const AES256_SHA256_RSA_PSS: Rules = Rules {
    name: "Aes256_Sha256_RsaPss",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#Aes256_Sha256_RsaPss",
    signature: Some(Signature::PssSha256),
    encryption: Some(Encryption::OaepSha256),
    ..BASIC256_SHA256
};

const ECC_NIST_P256: Rules = Rules {
    name: "ECC_nistP256",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#ECC_nistP256",
    deprecated: false,
    legacy_sequence_numbers: false,
    nonce_len: Curve::NistP256.point_len(),
    curve: Some(Curve::NistP256),
    key_bits: 256..=256,
    digest: Some(Digest::Sha256),
    signing_key_len: 32,
    cipher: Some(Cipher::Aes128),
    authenticated: false,
    signature: Some(Signature::OnCurve),
    encryption: None,
};

const ECC_CURVE25519: Rules = Rules {
    name: "ECC_curve25519",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#ECC_curve25519",
    nonce_len: Curve::Curve25519.point_len(),
    curve: Some(Curve::Curve25519),
    digest: None,
    // Part 6, 6.8.1, step 1: with AuthenticatedEncryption no key of its own signs.
    signing_key_len: 0,
    cipher: None,
    authenticated: true,
    ..ECC_NIST_P256
};

const ECC_NIST_P384: Rules = Rules {
    name: "ECC_nistP384",
    uri: "http://opcfoundation.org/UA/SecurityPolicy#ECC_nistP384",
    nonce_len: Curve::NistP384.point_len(),
    curve: Some(Curve::NistP384),
    key_bits: 384..=384,
    digest: Some(Digest::Sha384),
    signing_key_len: 48,
    cipher: Some(Cipher::Aes256),
    ..ECC_NIST_P256
};

impl Policy {
    /// Every policy, weakest first.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Basic128Rsa15,
        Self::Basic256,
        Self::Basic256Sha256,
        Self::Aes128Sha256RsaOaep,
        Self::Aes256Sha256RsaPss,
        Self::EccNistP256,
        Self::EccCurve25519,
        Self::EccNistP384,
    ];

    /// None, and those whose keys are of RSA, weakest first: what nearly every stack has.
    pub const OF_RSA: [Self; 6] = [
        Self::None,
        Self::Basic128Rsa15,
        Self::Basic256,
        Self::Basic256Sha256,
        Self::Aes128Sha256RsaOaep,
        Self::Aes256Sha256RsaPss,
    ];

    const fn rules(self) -> &'static Rules {
        match self {
            Self::None => &NONE,
            Self::Basic128Rsa15 => &BASIC128_RSA15,
            Self::Basic256 => &BASIC256,
            Self::Basic256Sha256 => &BASIC256_SHA256,
            Self::Aes128Sha256RsaOaep => &AES128_SHA256_RSA_OAEP,
            Self::Aes256Sha256RsaPss => &AES256_SHA256_RSA_PSS,
            Self::EccNistP256 => &ECC_NIST_P256,
            Self::EccCurve25519 => &ECC_CURVE25519,
            Self::EccNistP384 => &ECC_NIST_P384,
        }
    }

    /// The URI that stands for the policy in endpoints and OPN chunks.
    pub const fn uri(self) -> &'static str {
        self.rules().uri
    }

    /// The policy a URI stands for.
    pub fn from_uri(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.uri() == uri)
    }

    /// The part of the URI after the `#`, as people write it.
    pub const fn name(self) -> &'static str {
        self.rules().name
    }

    /// SecureChannelNonceLength in bytes; 0 for [`Policy::None`].
    pub const fn nonce_len(self) -> usize {
        self.rules().nonce_len
    }

    /// The curve that its keys are on; none for those of RSA, and for [`Policy::None`].
    pub const fn curve(self) -> Option<Curve> {
        self.rules().curve
    }

    /// Whether OPN chunks are encrypted, and secrets with the server's key: so where keys are of RSA.
    pub const fn encrypts_asymmetrically(self) -> bool {
        self.rules().encryption.is_some()
    }

    /// AsymmetricKeyLength: the sizes of keys the policy allows, in bits.
    pub fn key_bits(self) -> RangeInclusive<usize> {
        self.rules().key_bits.clone()
    }

    /// Whether the specification advises against it.
    pub const fn is_deprecated(self) -> bool {
        self.rules().deprecated
    }

    /// Whether chunks are encrypted and signed in one step, by [`AuthenticatedKeys`] and not by [`Keys`].
    pub const fn is_authenticated(self) -> bool {
        self.rules().authenticated
    }

    /// Length of the signature of a MSG or CLO chunk in bytes; 0 for [`Policy::None`].
    pub const fn symmetric_signature_len(self) -> usize {
        match self.rules().digest {
            None if self.is_authenticated() => authenticated::TAG_LEN,
            None => 0,
            Some(Digest::Sha1) => 20,
            Some(Digest::Sha256) => 32,
            Some(Digest::Sha384) => 48,
        }
    }

    /// Whether sequence numbers may start anywhere below 1024 and wrap early (Part 6, 6.7.2.4):
    /// so for every policy older than the elliptic curve ones.
    pub const fn legacy_sequence_numbers(self) -> bool {
        self.rules().legacy_sequence_numbers
    }

    /// What `SignatureData.algorithm` says; `None` where nothing is signed, and for the policies of elliptic curves
    /// (Part 4, 7.37).
    pub const fn asymmetric_signature_uri(self) -> Option<&'static str> {
        match self.rules().signature {
            None | Some(Signature::OnCurve) => None,
            Some(Signature::Pkcs1Sha1) => Some("http://www.w3.org/2000/09/xmldsig#rsa-sha1"),
            Some(Signature::Pkcs1Sha256) => {
                Some("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256")
            }
            Some(Signature::PssSha256) => {
                Some("http://opcfoundation.org/UA/security/rsa-pss-sha2-256")
            }
        }
    }

    /// What `encryptionAlgorithm` of a user identity token says; `None` where nothing is
    /// encrypted with the server's key.
    pub const fn asymmetric_encryption_uri(self) -> Option<&'static str> {
        match self.rules().encryption {
            None => None,
            Some(Encryption::Pkcs1v15) => Some("http://www.w3.org/2001/04/xmlenc#rsa-1_5"),
            Some(Encryption::OaepSha1) => Some("http://www.w3.org/2001/04/xmlenc#rsa-oaep"),
            Some(Encryption::OaepSha256) => {
                Some("http://opcfoundation.org/UA/security/rsa-oaep-sha2-256")
            }
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no security policy of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown security policy {0:?} (want one of {list})", list = names(Policy::ALL))]
pub struct UnknownPolicy(pub String);

impl FromStr for Policy {
    type Err = UnknownPolicy;

    /// By name in any case, with or without its underscores, or by URI.
    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
        Self::from_uri(text)
            .or_else(|| {
                Self::ALL
                    .into_iter()
                    .find(|policy| plain(policy.name()) == plain(text))
            })
            .ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

/// How far a policy is applied to the chunks of a channel, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Not at all.
    None,
    /// Chunks are signed.
    Sign,
    /// Chunks are signed and encrypted.
    SignAndEncrypt,
}

impl Mode {
    /// Every mode, weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Sign, Self::SignAndEncrypt];

    /// Its name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Sign => "Sign",
            Self::SignAndEncrypt => "SignAndEncrypt",
        }
    }

    /// Whether chunks carry signatures.
    pub const fn signs(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether chunks are encrypted.
    pub const fn encrypts(self) -> bool {
        matches!(self, Self::SignAndEncrypt)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name or value that is no message security mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown security mode {0:?} (want one of {list})", list = names(Mode::ALL))]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

impl From<Mode> for MessageSecurityMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::None => Self::None,
            Mode::Sign => Self::Sign,
            Mode::SignAndEncrypt => Self::SignAndEncrypt,
        }
    }
}

impl TryFrom<MessageSecurityMode> for Mode {
    type Error = UnknownMode;

    /// Fails for `Invalid`, the value that is always rejected (Part 4, 7.20).
    fn try_from(mode: MessageSecurityMode) -> Result<Self, UnknownMode> {
        match mode {
            MessageSecurityMode::None => Ok(Self::None),
            MessageSecurityMode::Sign => Ok(Self::Sign),
            MessageSecurityMode::SignAndEncrypt => Ok(Self::SignAndEncrypt),
            MessageSecurityMode::Invalid => Err(UnknownMode("Invalid".to_owned())),
        }
    }
}

fn names<const N: usize>(all: [impl fmt::Display; N]) -> String {
    all.map(|one| one.to_string()).join(", ")
}
