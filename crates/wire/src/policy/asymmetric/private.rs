//! Private keys of RSA: signing and decrypting.

use std::fmt;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa as fast;
use aws_lc_rs::signature;
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey};
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo};
use zeroize::Zeroizing;

use super::public::RsaPublic;
use super::slow::{Stretched, oaep_sha1, pkcs1_sha1, read_private};
use super::{FAST_BITS, KeyError, KeyUseError, PKCS1_OVERHEAD, SUPPORTED_BITS, check_size};
use crate::policy::hmac::HmacSha256;
use crate::policy::{Encryption, Policy, Signature};

/// An RSA private key. Cloning shares it; dropping the last clone erases it.
#[derive(Clone)]
pub(super) struct RsaPrivate(Arc<Private>);

struct Private {
    bits: usize,
    public: RsaPublic,
    fast: Option<FastPrivate>,
    /// Kept for the operations `aws-lc-rs` declines; made when first needed.
    pkcs8: Zeroizing<Vec<u8>>,
    slow: OnceLock<Option<RsaPrivateKey>>,
    /// What [`synthetic`] plain texts are made from.
    decoy: HmacSha256,
}

struct FastPrivate {
    pair: fast::KeyPair,
    oaep: fast::OaepPrivateDecryptingKey,
    pkcs1: fast::Pkcs1PrivateDecryptingKey,
}

impl RsaPrivate {
    /// Reads a key in DER, PKCS #8 or PKCS #1.
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let pair = fast::KeyPair::from_pkcs8(der).or_else(|_| fast::KeyPair::from_der(der));
        match pair {
            Ok(pair) => Self::fast(pair),
            Err(_) => Self::slow(der),
        }
    }

    fn fast(pair: fast::KeyPair) -> Result<Self, KeyError> {
        let wrong = |_| KeyError::Malformed;
        let pkcs8: Pkcs8V1Der = pair.as_der().map_err(wrong)?;
        let decrypting = || fast::PrivateDecryptingKey::from_pkcs8(pkcs8.as_ref());
        let key = decrypting().map_err(|_| KeyError::Malformed)?;
        let bits = key.key_size_bits();
        if !SUPPORTED_BITS.contains(&bits) {
            return Err(KeyError::Size { bits });
        }
        let spki: PublicKeyX509Der = key.public_key().as_der().map_err(wrong)?;
        let (_, info) =
            SubjectPublicKeyInfo::from_der(spki.as_ref()).map_err(|_| KeyError::Malformed)?;
        let public = RsaPublic::from_info(&info)?;
        let other = decrypting().map_err(|_| KeyError::Malformed)?;
        Ok(Self(Arc::new(Private {
            bits,
            public,
            decoy: decoy(pkcs8.as_ref()),
            pkcs8: Zeroizing::new(pkcs8.as_ref().to_vec()),
            fast: Some(FastPrivate {
                pair,
                oaep: fast::OaepPrivateDecryptingKey::new(key).map_err(wrong)?,
                pkcs1: fast::Pkcs1PrivateDecryptingKey::new(other).map_err(wrong)?,
            }),
            slow: OnceLock::new(),
        })))
    }

    /// For the keys that are too short for `aws-lc-rs`.
    fn slow(der: &[u8]) -> Result<Self, KeyError> {
        let key = read_private(der).ok_or(KeyError::Malformed)?;
        let bits = key.n().bits();
        if !(*SUPPORTED_BITS.start()..FAST_BITS).contains(&bits) {
            // Long enough for the fast library, which did not want it.
            return Err(match SUPPORTED_BITS.contains(&bits) {
                true => KeyError::Malformed,
                false => KeyError::Size { bits },
            });
        }
        Ok(Self(Arc::new(Private {
            bits,
            public: RsaPublic::from_numbers(&key.n().to_bytes_be(), &key.e().to_bytes_be())?,
            decoy: decoy(der),
            pkcs8: Zeroizing::new(Vec::new()),
            fast: None,
            slow: OnceLock::from(Some(key)),
        })))
    }

    /// Length of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.0.bits
    }

    /// Length of the modulus, and so of a signature and of a cipher block, in bytes.
    pub fn modulus_len(&self) -> usize {
        self.0.bits.div_ceil(8)
    }

    /// The public half.
    pub fn public(&self) -> &RsaPublic {
        &self.0.public
    }

    /// Signs `data` with the policy's AsymmetricSignatureAlgorithm.
    pub fn sign(&self, policy: Policy, data: &[u8]) -> Result<Vec<u8>, KeyUseError> {
        let algorithm = policy.rules().signature;
        let algorithm = algorithm.ok_or(KeyUseError::NoKeys { policy })?;
        check_size(policy, self.0.bits)?;
        let encoding = match algorithm {
            Signature::Pkcs1Sha1 => return self.sign_sha1(data),
            Signature::Pkcs1Sha256 => &signature::RSA_PKCS1_SHA256,
            // Salt as long as the digest, 32 bytes (Part 7, RSA-PSS-SHA2-256).
            Signature::PssSha256 => &signature::RSA_PSS_SHA256,
            Signature::OnCurve => return Err(KeyUseError::Kind { policy }),
        };
        let fast = self.0.fast.as_ref().ok_or(KeyUseError::Failed)?;
        let mut signature = vec![0; self.modulus_len()];
        fast.pair
            .sign(encoding, &SystemRandom::new(), data, &mut signature)
            .map_err(|_| KeyUseError::Failed)?;
        Ok(signature)
    }

    fn sign_sha1(&self, data: &[u8]) -> Result<Vec<u8>, KeyUseError> {
        let key = self.0.slow().ok_or(KeyUseError::Failed)?;
        let digest = sha1::Sha1::digest(data);
        key.sign_with_rng(&mut Stretched::new()?, pkcs1_sha1(), &digest)
            .map_err(|_| KeyUseError::Failed)
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
        let algorithm = policy.rules().encryption;
        let algorithm = algorithm.ok_or(KeyUseError::NoKeys { policy })?;
        check_size(policy, self.0.bits)?;
        let block = self.modulus_len();
        let len = cipher.len();
        if len == 0 || !len.is_multiple_of(block) {
            return Err(KeyUseError::PartialBlock { len, block });
        }
        let mut plain = Zeroizing::new(Vec::with_capacity(len));
        for cipher in cipher.chunks_exact(block) {
            let one = self.decrypt_block(algorithm, cipher);
            match algorithm {
                Encryption::Pkcs1v15 => {
                    let other = self.0.synthetic(cipher, block);
                    plain.extend_from_slice(one.as_ref().unwrap_or(&other));
                }
                Encryption::OaepSha1 | Encryption::OaepSha256 => {
                    plain.extend_from_slice(&one.ok_or(KeyUseError::Decrypt)?);
                }
            }
        }
        Ok(plain)
    }

    fn decrypt_block(&self, algorithm: Encryption, cipher: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let Some(fast) = &self.0.fast else {
            let key = self.0.slow()?;
            let rng = &mut Stretched::new().ok()?;
            let plain = match algorithm {
                Encryption::Pkcs1v15 => key.decrypt_blinded(rng, Pkcs1v15Encrypt, cipher),
                Encryption::OaepSha1 => key.decrypt_blinded(rng, oaep_sha1(), cipher),
                Encryption::OaepSha256 => return None,
            };
            return plain.ok().map(Zeroizing::new);
        };
        let mut plain = Zeroizing::new(vec![0; cipher.len()]);
        let written = match algorithm {
            Encryption::Pkcs1v15 => fast.pkcs1.decrypt(cipher, &mut plain),
            Encryption::OaepSha1 => {
                fast.oaep
                    .decrypt(&fast::OAEP_SHA1_MGF1SHA1, cipher, &mut plain, None)
            }
            Encryption::OaepSha256 => {
                fast.oaep
                    .decrypt(&fast::OAEP_SHA256_MGF1SHA256, cipher, &mut plain, None)
            }
        };
        let len = written.ok()?.len();
        plain.truncate(len);
        Some(plain)
    }
}

impl Private {
    fn slow(&self) -> Option<&RsaPrivateKey> {
        self.slow.get_or_init(|| read_private(&self.pkcs8)).as_ref()
    }

    /// A plain text for a block that has none: any length that fits is as likely as another.
    fn synthetic(&self, cipher: &[u8], block: usize) -> Zeroizing<Vec<u8>> {
        let mut first = [0; 32];
        self.decoy.sign(cipher, &mut first);
        let most = u64::try_from(block - PKCS1_OVERHEAD).unwrap_or(0);
        let drawn = u64::from_be_bytes(std::array::from_fn(|i| first[i])) % (most + 1);
        let mut plain = Zeroizing::new(vec![0; usize::try_from(drawn).unwrap_or(0)]);
        for (count, chunk) in (0_u32..).zip(plain.chunks_mut(32)) {
            let mut bytes = [0; 32];
            self.decoy
                .sign(&[&first[..], &count.to_be_bytes()].concat(), &mut bytes);
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
        plain
    }
}

impl fmt::Debug for RsaPrivate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("bits", &self.0.bits)
            .finish_non_exhaustive()
    }
}

fn decoy(der: &[u8]) -> HmacSha256 {
    HmacSha256::new(&Sha256::digest(der))
}
