//! Private and public keys, whatever they are made of.

use std::fmt;

use x509_parser::oid_registry as oid;
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo};
use zeroize::Zeroizing;

use super::elliptic::{EllipticPrivate, EllipticPublic};
use super::private::RsaPrivate;
use super::public::RsaPublic;
use super::{KeyError, KeyUseError};
use crate::policy::{Curve, Policy};

/// A private key, of RSA or on an elliptic curve. Cloning shares it; dropping the last clone erases it.
#[derive(Clone)]
pub struct PrivateKey {
    private: Private,
    public: PublicKey,
}

#[derive(Clone)]
enum Private {
    Rsa(RsaPrivate),
    Elliptic(EllipticPrivate),
}

impl PrivateKey {
    /// Reads a key in DER, PKCS #8 or, of RSA, PKCS #1.
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let private = match EllipticPrivate::from_pkcs8(der) {
            Some(key) => Private::Elliptic(key?),
            None => Private::Rsa(RsaPrivate::from_der(der)?),
        };
        let public = match &private {
            Private::Rsa(key) => PublicKey::from(key.public().clone()),
            Private::Elliptic(key) => PublicKey::from(key.public().clone()),
        };
        Ok(Self { private, public })
    }

    /// The curve it is on; none for RSA.
    pub fn curve(&self) -> Option<Curve> {
        match &self.private {
            Private::Rsa(_) => None,
            Private::Elliptic(key) => Some(key.curve()),
        }
    }

    /// Length of the modulus, or of the curve's numbers, in bits.
    pub fn bits(&self) -> usize {
        match &self.private {
            Private::Rsa(key) => key.bits(),
            Private::Elliptic(key) => key.curve().bits(),
        }
    }

    /// Length of a signature in bytes.
    pub fn signature_len(&self) -> usize {
        match &self.private {
            Private::Rsa(key) => key.modulus_len(),
            Private::Elliptic(key) => key.curve().signature_len(),
        }
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Signs `data` with the policy's AsymmetricSignatureAlgorithm.
    pub fn sign(&self, policy: Policy, data: &[u8]) -> Result<Vec<u8>, KeyUseError> {
        match &self.private {
            _ if policy == Policy::None => Err(KeyUseError::NoKeys { policy }),
            _ if policy.curve() != self.curve() => Err(KeyUseError::Kind { policy }),
            Private::Rsa(key) => key.sign(policy, data),
            Private::Elliptic(key) => key.sign(data),
        }
    }

    /// Decrypts one or more blocks with the policy's AsymmetricEncryptionAlgorithm.
    ///
    /// Under `Basic128Rsa15` a block whose padding is wrong decrypts to bytes that depend on the
    /// key and the block only, and the error shows later, where the plain text is checked: who
    /// can tell the two apart can decrypt anything (Bleichenbacher 1998).
    pub fn decrypt(
        &self,
        policy: Policy,
        cipher: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, KeyUseError> {
        match &self.private {
            _ if !policy.encrypts_asymmetrically() => Err(KeyUseError::NoKeys { policy }),
            Private::Rsa(key) => key.decrypt(policy, cipher),
            Private::Elliptic(_) => Err(KeyUseError::Kind { policy }),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.private {
            Private::Rsa(key) => key.fmt(f),
            Private::Elliptic(key) => key.fmt(f),
        }
    }
}

/// A public key, of RSA or on an elliptic curve. Cloning shares it.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(Public);

#[derive(Clone, PartialEq, Eq)]
enum Public {
    Rsa(RsaPublic),
    Elliptic(EllipticPublic),
}

impl From<RsaPublic> for PublicKey {
    fn from(key: RsaPublic) -> Self {
        Self(Public::Rsa(key))
    }
}

impl From<EllipticPublic> for PublicKey {
    fn from(key: EllipticPublic) -> Self {
        Self(Public::Elliptic(key))
    }
}

impl PublicKey {
    /// Reads a SubjectPublicKeyInfo in DER (RFC 5280, 4.1).
    pub fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        let (rest, info) = SubjectPublicKeyInfo::from_der(der).map_err(|_| KeyError::Malformed)?;
        if !rest.is_empty() {
            return Err(KeyError::Malformed);
        }
        Self::from_info(&info)
    }

    pub(crate) fn from_info(info: &SubjectPublicKeyInfo<'_>) -> Result<Self, KeyError> {
        let algorithm = &info.algorithm.algorithm;
        if *algorithm == oid::OID_PKCS1_RSAENCRYPTION {
            return Ok(RsaPublic::from_info(info)?.into());
        }
        // RFC 8410, 3: the curve by its algorithm, without parameters.
        if *algorithm == oid::OID_SIG_ED25519 {
            let point = &info.subject_public_key.data;
            return Ok(EllipticPublic::new(Curve::Curve25519, point)?.into());
        }
        // RFC 5480, 2.1.1: the curve by its name, or it is one that nobody here has heard of.
        let parameters = info.algorithm.parameters.as_ref();
        let curve = parameters.and_then(|any| any.as_oid().ok());
        let curve = curve.and_then(|id| {
            let known = [
                (oid::OID_EC_P256, Curve::NistP256),
                (oid::OID_NIST_EC_P384, Curve::NistP384),
            ];
            known.into_iter().find(|(name, _)| *name == id)
        });
        match curve {
            Some((_, curve)) if *algorithm == oid::OID_KEY_TYPE_EC_PUBLIC_KEY => {
                let point = &info.subject_public_key.data;
                Ok(EllipticPublic::new(curve, point)?.into())
            }
            _ => Err(KeyError::Kind),
        }
    }

    /// Of RSA, from modulus and public exponent, big-endian.
    pub fn from_numbers(modulus: &[u8], exponent: &[u8]) -> Result<Self, KeyError> {
        Ok(RsaPublic::from_numbers(modulus, exponent)?.into())
    }

    /// The curve it is on; none for RSA.
    pub fn curve(&self) -> Option<Curve> {
        match &self.0 {
            Public::Rsa(_) => None,
            Public::Elliptic(key) => Some(key.curve()),
        }
    }

    /// Length of the modulus, or of the curve's numbers, in bits.
    pub fn bits(&self) -> usize {
        match &self.0 {
            Public::Rsa(key) => key.bits(),
            Public::Elliptic(key) => key.curve().bits(),
        }
    }

    /// Whether a policy takes it: its kind and its length.
    pub fn is_for(&self, policy: Policy) -> bool {
        policy.curve() == self.curve() && policy.key_bits().contains(&self.bits())
    }

    /// Length of a signature in bytes.
    pub fn signature_len(&self) -> usize {
        match &self.0 {
            Public::Rsa(key) => key.modulus_len(),
            Public::Elliptic(key) => key.curve().signature_len(),
        }
    }

    /// Length of an encrypted block in bytes; 0 for a key that cannot encrypt.
    pub fn cipher_block(&self) -> usize {
        match &self.0 {
            Public::Rsa(key) => key.modulus_len(),
            Public::Elliptic(_) => 0,
        }
    }

    /// How many bytes fit into one encrypted block; 0 where nothing is encrypted.
    pub fn plain_block(&self, policy: Policy) -> usize {
        match &self.0 {
            Public::Rsa(key) => key.plain_block(policy),
            Public::Elliptic(_) => 0,
        }
    }

    /// Whether `signature` is that of `data` under the policy's AsymmetricSignatureAlgorithm;
    /// never so for a key the policy does not allow.
    pub fn verify(&self, policy: Policy, data: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            Public::Rsa(key) => key.verify(policy, data, signature),
            Public::Elliptic(key) => {
                policy.curve() == Some(key.curve()) && key.verify(data, signature)
            }
        }
    }

    /// Encrypts with the policy's AsymmetricEncryptionAlgorithm, in as many blocks as it takes.
    pub fn encrypt(&self, policy: Policy, plain: &[u8]) -> Result<Vec<u8>, KeyUseError> {
        match &self.0 {
            _ if !policy.encrypts_asymmetrically() => Err(KeyUseError::NoKeys { policy }),
            Public::Rsa(key) => key.encrypt(policy, plain),
            Public::Elliptic(_) => Err(KeyUseError::Kind { policy }),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Public::Rsa(key) => key.fmt(f),
            Public::Elliptic(key) => key.fmt(f),
        }
    }
}
