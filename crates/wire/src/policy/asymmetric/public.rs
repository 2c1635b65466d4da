//! Public keys of RSA: verifying and encrypting.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::rsa as fast;
use aws_lc_rs::signature::{self, ParsedPublicKey};
use rsa::{BigUint, Pkcs1v15Encrypt, RsaPublicKey};
use x509_parser::prelude::SubjectPublicKeyInfo;
use x509_parser::public_key::PublicKey as Parsed;

use super::slow::{Stretched, oaep_sha1};
use super::{FAST_BITS, KeyError, KeyUseError, PKCS1_OVERHEAD, SUPPORTED_BITS, check_size};
use crate::policy::{Encryption, Policy, Signature};

/// An RSA public key. Cloning shares it.
#[derive(Clone)]
pub(super) struct RsaPublic(Arc<Public>);

struct Public {
    bits: usize,
    modulus: Vec<u8>,
    exponent: Vec<u8>,
    sha1: ParsedPublicKey,
    fast: Option<FastPublic>,
}

struct FastPublic {
    pkcs1: ParsedPublicKey,
    pss: ParsedPublicKey,
    oaep: fast::OaepPublicEncryptingKey,
    encrypt_pkcs1: fast::Pkcs1PublicEncryptingKey,
}

impl RsaPublic {
    /// Reads what a certificate says of its key, whose algorithm is RSA.
    pub fn from_info(info: &SubjectPublicKeyInfo<'_>) -> Result<Self, KeyError> {
        match info.parsed() {
            Ok(Parsed::RSA(key)) => Self::from_numbers(key.modulus, key.exponent),
            _ => Err(KeyError::Malformed),
        }
    }

    /// From modulus and public exponent, big-endian.
    pub fn from_numbers(modulus: &[u8], exponent: &[u8]) -> Result<Self, KeyError> {
        let modulus = without_leading_zeros(modulus);
        let exponent = without_leading_zeros(exponent);
        let bits = modulus.first().map_or(0, |first| {
            modulus.len() * 8 - first.leading_zeros() as usize
        });
        if !SUPPORTED_BITS.contains(&bits) {
            return Err(KeyError::Size { bits });
        }
        let components = || signature::RsaPublicKeyComponents {
            n: modulus,
            e: exponent,
        };
        let verifying = |algorithm| {
            components()
                .to_parsed_public_key(algorithm)
                .map_err(|_| KeyError::Malformed)
        };
        let fast = if bits < FAST_BITS {
            None
        } else {
            let wrong = |_| KeyError::Malformed;
            let key: fast::PublicEncryptingKey = components().try_into().map_err(wrong)?;
            Some(FastPublic {
                pkcs1: verifying(&signature::RSA_PKCS1_2048_8192_SHA256)?,
                pss: verifying(&signature::RSA_PSS_2048_8192_SHA256)?,
                oaep: fast::OaepPublicEncryptingKey::new(key.clone()).map_err(wrong)?,
                encrypt_pkcs1: fast::Pkcs1PublicEncryptingKey::new(key).map_err(wrong)?,
            })
        };
        Ok(Self(Arc::new(Public {
            bits,
            modulus: modulus.to_vec(),
            exponent: exponent.to_vec(),
            sha1: verifying(&signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY)?,
            fast,
        })))
    }

    /// Length of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.0.bits
    }

    /// Length of the modulus, and so of a signature, in bytes.
    pub fn modulus_len(&self) -> usize {
        self.0.bits.div_ceil(8)
    }

    /// How many bytes fit into one encrypted block; 0 where the policy encrypts nothing.
    pub fn plain_block(&self, policy: Policy) -> usize {
        let overhead = match policy.rules().encryption {
            None => return 0,
            Some(Encryption::Pkcs1v15) => PKCS1_OVERHEAD,
            // RFC 8017, 7.1.1: two digests and two bytes.
            Some(Encryption::OaepSha1) => 42,
            Some(Encryption::OaepSha256) => 66,
        };
        self.modulus_len().saturating_sub(overhead)
    }

    /// Whether `signature` is that of `data` under the policy's AsymmetricSignatureAlgorithm;
    /// never so for a key the policy does not allow.
    pub fn verify(&self, policy: Policy, data: &[u8], signature: &[u8]) -> bool {
        let Some(algorithm) = policy.rules().signature else {
            return false;
        };
        if check_size(policy, self.0.bits).is_err() {
            return false;
        }
        let key = match (algorithm, &self.0.fast) {
            (Signature::Pkcs1Sha1, _) => &self.0.sha1,
            (Signature::Pkcs1Sha256, Some(fast)) => &fast.pkcs1,
            (Signature::PssSha256, Some(fast)) => &fast.pss,
            (Signature::OnCurve, _) | (_, None) => return false,
        };
        key.verify_sig(data, signature).is_ok()
    }

    /// Encrypts with the policy's AsymmetricEncryptionAlgorithm, in as many blocks as it takes.
    pub fn encrypt(&self, policy: Policy, plain: &[u8]) -> Result<Vec<u8>, KeyUseError> {
        let algorithm = policy.rules().encryption;
        let algorithm = algorithm.ok_or(KeyUseError::NoKeys { policy })?;
        check_size(policy, self.0.bits)?;
        let block = self.modulus_len();
        let blocks = plain.chunks(self.plain_block(policy));
        let mut cipher = Vec::with_capacity(blocks.len() * block);
        match &self.0.fast {
            Some(fast) => {
                let (pkcs1, oaep) = (&fast.encrypt_pkcs1, &fast.oaep);
                let mut one = vec![0; block];
                for plain in blocks {
                    let written = match algorithm {
                        Encryption::Pkcs1v15 => pkcs1.encrypt(plain, &mut one),
                        Encryption::OaepSha1 => {
                            oaep.encrypt(&fast::OAEP_SHA1_MGF1SHA1, plain, &mut one, None)
                        }
                        Encryption::OaepSha256 => {
                            oaep.encrypt(&fast::OAEP_SHA256_MGF1SHA256, plain, &mut one, None)
                        }
                    };
                    cipher.extend_from_slice(written.map_err(|_| KeyUseError::Failed)?);
                }
            }
            None => {
                let key = RsaPublicKey::new(
                    BigUint::from_bytes_be(&self.0.modulus),
                    BigUint::from_bytes_be(&self.0.exponent),
                )
                .map_err(|_| KeyUseError::Failed)?;
                let rng = &mut Stretched::new()?;
                for plain in blocks {
                    let one = match algorithm {
                        Encryption::Pkcs1v15 => key.encrypt(rng, Pkcs1v15Encrypt, plain),
                        Encryption::OaepSha1 => key.encrypt(rng, oaep_sha1(), plain),
                        Encryption::OaepSha256 => return Err(KeyUseError::Failed),
                    };
                    cipher.extend_from_slice(&one.map_err(|_| KeyUseError::Failed)?);
                }
            }
        }
        Ok(cipher)
    }
}

impl PartialEq for RsaPublic {
    fn eq(&self, other: &Self) -> bool {
        self.0.modulus == other.0.modulus && self.0.exponent == other.0.exponent
    }
}

impl Eq for RsaPublic {}

impl fmt::Debug for RsaPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("bits", &self.0.bits)
            .finish_non_exhaustive()
    }
}

fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}
