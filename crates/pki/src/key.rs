//! Private keys.

use std::fmt;
use std::sync::{Arc, OnceLock};

use zeroize::Zeroizing;

use crate::certificate::Certificate;
use crate::curve::Curve;
use crate::der;

/// A private key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Neither PKCS #8 nor PKCS #1, as PEM or DER.
    #[error("not a private key: want PKCS #8 or PKCS #1, as PEM or DER")]
    Unknown,
    /// A key behind a password.
    #[error("the private key is encrypted; decrypt it first (openssl pkcs8 -topk8 -nocrypt)")]
    Encrypted,
    /// The random number generator or the key generation failed.
    #[error("cannot make a key of {0} bits (want 2048, 3072 or 4096)")]
    Generate(u32),
    /// The same on an elliptic curve.
    #[error("cannot make a key on the curve {0}")]
    Curve(Curve),
}

/// What kind of key an application or an authority has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA with a modulus of so many bits: 2048, 3072 or 4096.
    Rsa(u32),
    /// On an elliptic curve.
    On(Curve),
}

impl KeyKind {
    /// The curve; none for RSA. An application has a certificate for each of them, and one for RSA.
    pub const fn curve(self) -> Option<Curve> {
        match self {
            Self::Rsa(_) => None,
            Self::On(curve) => Some(curve),
        }
    }
}

/// A private key, kept as PKCS #8. The bytes are wiped when it is dropped.
#[derive(Clone)]
pub struct Key {
    pkcs8: Zeroizing<Vec<u8>>,
    /// The bits of the SubjectPublicKeyInfo that belong to it.
    public: Vec<u8>,
    /// Of an authority that answers: reading a key with RSA takes longer than signing with it.
    read: Arc<OnceLock<rcgen::KeyPair>>,
}

impl Key {
    /// A new key of this kind.
    pub fn make(kind: KeyKind) -> Result<Self, KeyError> {
        match kind {
            KeyKind::Rsa(bits) => Self::generate(bits),
            KeyKind::On(curve) => Self::generate_on(curve),
        }
    }

    /// A new RSA key of 2048, 3072 or 4096 bits.
    pub fn generate(bits: u32) -> Result<Self, KeyError> {
        let size = match bits {
            2048 => rcgen::RsaKeySize::_2048,
            3072 => rcgen::RsaKeySize::_3072,
            4096 => rcgen::RsaKeySize::_4096,
            _ => return Err(KeyError::Generate(bits)),
        };
        let pair = rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size)
            .map_err(|_| KeyError::Generate(bits))?;
        Self::from_der(pair.serialized_der())
    }

    /// A new key on a curve. The security policies of RSA take none from applications, those of the
    /// curve no other; authorities may have either.
    pub fn generate_on(curve: Curve) -> Result<Self, KeyError> {
        let pair = rcgen::KeyPair::generate_for(match curve {
            Curve::P256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Curve::Ed25519 => &rcgen::PKCS_ED25519,
            Curve::P384 => &rcgen::PKCS_ECDSA_P384_SHA384,
        });
        let pair = pair.map_err(|_| KeyError::Curve(curve))?;
        let der = pair.serialized_der();
        match version_1(der) {
            Some(plain) => Self::from_der(&plain),
            None => Self::from_der(der),
        }
    }

    /// Reads PEM or DER.
    pub fn read(bytes: &[u8]) -> Result<Self, KeyError> {
        if !bytes.trim_ascii_start().starts_with(b"-----") {
            return Self::from_der(bytes);
        }
        let blocks = pem::parse_many(bytes).map_err(|_| KeyError::Unknown)?;
        for block in &blocks {
            match block.tag() {
                "PRIVATE KEY" | "RSA PRIVATE KEY" => return Self::from_der(block.contents()),
                "ENCRYPTED PRIVATE KEY" => return Err(KeyError::Encrypted),
                _ => {}
            }
        }
        Err(KeyError::Unknown)
    }

    /// Reads PKCS #8 or PKCS #1.
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        if let Some(public) = public_of_pkcs1(der) {
            return Ok(Self {
                pkcs8: Zeroizing::new(pkcs8_around(der)),
                public,
                read: Arc::default(),
            });
        }
        let public = match inside_pkcs8(der).and_then(public_of_pkcs1) {
            Some(public) => public,
            // Elliptic curves keep their public key elsewhere.
            None => {
                let pair = rcgen::KeyPair::try_from(der).map_err(|_| KeyError::Unknown)?;
                pair.public_key_raw().to_vec()
            }
        };
        Ok(Self {
            pkcs8: Zeroizing::new(der.to_vec()),
            public,
            read: Arc::default(),
        })
    }

    /// The key as PKCS #8 DER.
    pub fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// The key as PKCS #8 PEM.
    pub fn pem(&self) -> Zeroizing<String> {
        Zeroizing::new(pem::encode(&pem::Pem::new(
            "PRIVATE KEY",
            self.pkcs8.to_vec(),
        )))
    }

    /// The curve it is on; none for RSA, and for curves that are not known here.
    pub fn curve(&self) -> Option<Curve> {
        let pair = self.pair().ok()?;
        let algorithm = pair.algorithm();
        if *algorithm == rcgen::PKCS_ECDSA_P256_SHA256 {
            Some(Curve::P256)
        } else if *algorithm == rcgen::PKCS_ECDSA_P384_SHA384 {
            Some(Curve::P384)
        } else if *algorithm == rcgen::PKCS_ED25519 {
            Some(Curve::Ed25519)
        } else {
            None
        }
    }

    /// Whether this is the private half of the certificate's key.
    pub fn belongs_to(&self, certificate: &Certificate) -> bool {
        certificate.public_key().bytes() == self.public
    }

    /// The AlgorithmIdentifier of what it signs.
    pub(crate) fn signature_algorithm(&self) -> Result<Vec<u8>, rcgen::Error> {
        let algorithm = self.kept_pair()?.algorithm();
        let content: &[u8] = if *algorithm == rcgen::PKCS_ECDSA_P256_SHA256 {
            b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02"
        } else if *algorithm == rcgen::PKCS_ECDSA_P384_SHA384 {
            b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x03"
        } else if *algorithm == rcgen::PKCS_ED25519 {
            b"\x06\x03\x2b\x65\x70"
        } else if *algorithm == rcgen::PKCS_RSA_SHA256 {
            b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00"
        } else {
            return Err(rcgen::Error::UnsupportedSignatureAlgorithm);
        };
        Ok(der::element(der::SEQUENCE, content))
    }

    /// Whoever signs again and again has it read once.
    pub(crate) fn kept_pair(&self) -> Result<&rcgen::KeyPair, rcgen::Error> {
        if let Some(pair) = self.read.get() {
            return Ok(pair);
        }
        let pair = self.pair()?;
        Ok(self.read.get_or_init(|| pair))
    }

    pub(crate) fn pair(&self) -> Result<rcgen::KeyPair, rcgen::Error> {
        rcgen::KeyPair::try_from(self.pkcs8.as_slice())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

/// RFC 8017, A.1.2: version 0, modulus, public exponent, and the secret rest.
fn public_of_pkcs1(der: &[u8]) -> Option<Vec<u8>> {
    let (inside, _) = der::take(der::SEQUENCE, der)?;
    let (_version, rest) = der::take(der::INTEGER, inside)?;
    let (modulus, rest) = der::take(der::INTEGER, rest)?;
    let (exponent, rest) = der::take(der::INTEGER, rest)?;
    der::take(der::INTEGER, rest)?;
    let mut numbers = der::element(der::INTEGER, modulus);
    numbers.extend(der::element(der::INTEGER, exponent));
    Some(der::element(der::SEQUENCE, &numbers))
}

/// RFC 5208, 5: version 0, algorithm, and the key in an octet string.
fn inside_pkcs8(der: &[u8]) -> Option<&[u8]> {
    let (inside, _) = der::take(der::SEQUENCE, der)?;
    let (_version, rest) = der::take(der::INTEGER, inside)?;
    let (_algorithm, rest) = der::take(der::SEQUENCE, rest)?;
    Some(der::take(der::OCTET_STRING, rest)?.0)
}

/// A key whose public half stands behind it (RFC 5958, 2, version 2), without that: OpenSSL 3.0 reads no other, and
/// whoever has the private half has both.
fn version_1(der: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (inside, _) = der::take(der::SEQUENCE, der)?;
    let (version, rest) = der::take(der::INTEGER, inside)?;
    let (algorithm, rest) = der::take(der::SEQUENCE, rest)?;
    let (key, behind) = der::take(der::OCTET_STRING, rest)?;
    if version != [1] || behind.is_empty() {
        return None;
    }
    let mut inside = Zeroizing::new(der::element(der::INTEGER, &[0]));
    inside.extend(der::element(der::SEQUENCE, algorithm));
    inside.extend(der::element(der::OCTET_STRING, key));
    Some(Zeroizing::new(der::element(der::SEQUENCE, &inside)))
}

/// The other way: a PKCS #1 key in its PKCS #8 wrapping.
fn pkcs8_around(pkcs1: &[u8]) -> Vec<u8> {
    // rsaEncryption with its parameters NULL.
    let algorithm = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    let mut inside = der::element(der::INTEGER, &[0]);
    inside.extend(der::element(der::SEQUENCE, algorithm));
    inside.extend(der::element(der::OCTET_STRING, pkcs1));
    der::element(der::SEQUENCE, &inside)
}
