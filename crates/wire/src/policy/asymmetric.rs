//! What protects OPN chunks, signs sessions and hides secrets: RSA.
//!
//! `aws-lc-rs` does everything it is willing to do: it neither makes SHA-1 signatures nor uses
//! keys below 2048 bits, for which the `rsa` crate stands in (its advisory RUSTSEC-2023-0071
//! is accepted for these deprecated cases, and every private operation is blinded).

use std::fmt;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use aws_lc_rs::rsa as fast;
use aws_lc_rs::signature::{self, ParsedPublicKey};
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::traits::PublicKeyParts;
use rsa::{BigUint, Oaep, Pkcs1v15Encrypt, Pkcs1v15Sign, RsaPrivateKey, RsaPublicKey};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::hmac::HmacSha256;
use super::{Encryption, Policy, Signature};

/// Smallest and largest modulus of any policy, in bits.
const SUPPORTED_BITS: std::ops::RangeInclusive<usize> = 1024..=4096;
/// Where `aws-lc-rs` begins.
const FAST_BITS: usize = 2048;

/// Why bytes are not a key we can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither PKCS #8 nor PKCS #1, or its numbers do not fit together.
    #[error("not an RSA key in DER (PKCS #8 or PKCS #1)")]
    Malformed,
    /// A key no policy takes.
    #[error("an RSA key of {bits} bits (want 1024 to 4096)")]
    Size {
        /// The length of its modulus.
        bits: usize,
    },
    /// A key of another kind, such as an elliptic curve.
    #[error("not an RSA key, and the RSA policies are all we have")]
    Kind,
}

/// Why an RSA operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RsaError {
    /// The policy does not know the operation.
    #[error("policy {policy} has no asymmetric keys")]
    NoKeys {
        /// The policy asked for.
        policy: Policy,
    },
    /// The key is too short or too long for the policy.
    #[error("a key of {bits} bits, and policy {policy} wants {min} to {max}",
            min = policy.key_bits().start(), max = policy.key_bits().end())]
    KeySize {
        /// The policy asked for.
        policy: Policy,
        /// The length of the key's modulus.
        bits: usize,
    },
    /// The cipher text is empty or ends inside a block.
    #[error("{len} bytes are not a whole number of {block}-byte RSA blocks")]
    PartialBlock {
        /// The length that was given.
        len: usize,
        /// The length of the key's modulus in bytes.
        block: usize,
    },
    /// The cipher text is not one made for this key, or was changed. No more is said on purpose.
    #[error("cannot decrypt")]
    Decrypt,
    /// Signing or encrypting failed, which a sound key does not do.
    #[error("the RSA operation failed")]
    Failed,
}

/// An RSA private key. Cloning shares it; dropping the last clone erases it.
#[derive(Clone)]
pub struct PrivateKey(Arc<Private>);

struct Private {
    bits: usize,
    public: PublicKey,
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

impl PrivateKey {
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
        let public = PublicKey::from_spki(spki.as_ref())?;
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
        let key = slow_private(der).ok_or(KeyError::Malformed)?;
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
            public: PublicKey::from_numbers(&key.n().to_bytes_be(), &key.e().to_bytes_be())?,
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
    pub fn public_key(&self) -> &PublicKey {
        &self.0.public
    }

    /// Signs `data` with the policy's AsymmetricSignatureAlgorithm.
    pub fn sign(&self, policy: Policy, data: &[u8]) -> Result<Vec<u8>, RsaError> {
        let algorithm = policy.rules().signature;
        let algorithm = algorithm.ok_or(RsaError::NoKeys { policy })?;
        check_size(policy, self.0.bits)?;
        let encoding = match algorithm {
            Signature::Pkcs1Sha1 => return self.sign_sha1(data),
            Signature::Pkcs1Sha256 => &signature::RSA_PKCS1_SHA256,
            // Salt as long as the digest, 32 bytes (Part 7, RSA-PSS-SHA2-256).
            Signature::PssSha256 => &signature::RSA_PSS_SHA256,
        };
        let fast = self.0.fast.as_ref().ok_or(RsaError::Failed)?;
        let mut signature = vec![0; self.modulus_len()];
        fast.pair
            .sign(encoding, &SystemRandom::new(), data, &mut signature)
            .map_err(|_| RsaError::Failed)?;
        Ok(signature)
    }

    fn sign_sha1(&self, data: &[u8]) -> Result<Vec<u8>, RsaError> {
        let key = self.0.slow().ok_or(RsaError::Failed)?;
        let digest = sha1::Sha1::digest(data);
        key.sign_with_rng(&mut Stretched::new()?, pkcs1_sha1(), &digest)
            .map_err(|_| RsaError::Failed)
    }

    /// Decrypts one or more blocks with the policy's AsymmetricEncryptionAlgorithm.
    ///
    /// Under `Basic128Rsa15` a block whose padding is wrong decrypts to bytes that depend on the
    /// key and the block only, and the error shows later, where the plain text is checked: who
    /// can tell the two apart can decrypt anything (Bleichenbacher 1998).
    pub fn decrypt(&self, policy: Policy, cipher: &[u8]) -> Result<Zeroizing<Vec<u8>>, RsaError> {
        let algorithm = policy.rules().encryption;
        let algorithm = algorithm.ok_or(RsaError::NoKeys { policy })?;
        check_size(policy, self.0.bits)?;
        let block = self.modulus_len();
        let len = cipher.len();
        if len == 0 || !len.is_multiple_of(block) {
            return Err(RsaError::PartialBlock { len, block });
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
                    plain.extend_from_slice(&one.ok_or(RsaError::Decrypt)?);
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
        self.slow.get_or_init(|| slow_private(&self.pkcs8)).as_ref()
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

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("bits", &self.0.bits)
            .finish_non_exhaustive()
    }
}

/// An RSA public key. Cloning shares it.
#[derive(Clone)]
pub struct PublicKey(Arc<Public>);

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

impl PublicKey {
    /// Reads a SubjectPublicKeyInfo in DER (RFC 5280, 4.1).
    pub fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo};
        let (rest, info) = SubjectPublicKeyInfo::from_der(der).map_err(|_| KeyError::Malformed)?;
        if !rest.is_empty() {
            return Err(KeyError::Malformed);
        }
        Self::from_info(&info)
    }

    pub(crate) fn from_info(
        info: &x509_parser::x509::SubjectPublicKeyInfo<'_>,
    ) -> Result<Self, KeyError> {
        use x509_parser::public_key::PublicKey;
        if info.algorithm.algorithm != x509_parser::oid_registry::OID_PKCS1_RSAENCRYPTION {
            return Err(KeyError::Kind);
        }
        match info.parsed() {
            Ok(PublicKey::RSA(key)) => Self::from_numbers(key.modulus, key.exponent),
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

    /// Length of an encrypted block in bytes.
    pub fn cipher_block(&self) -> usize {
        self.modulus_len()
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
            (_, None) => return false,
        };
        key.verify_sig(data, signature).is_ok()
    }

    /// Encrypts with the policy's AsymmetricEncryptionAlgorithm, in as many blocks as it takes.
    pub fn encrypt(&self, policy: Policy, plain: &[u8]) -> Result<Vec<u8>, RsaError> {
        let algorithm = policy.rules().encryption;
        let algorithm = algorithm.ok_or(RsaError::NoKeys { policy })?;
        check_size(policy, self.0.bits)?;
        let block = self.cipher_block();
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
                    cipher.extend_from_slice(written.map_err(|_| RsaError::Failed)?);
                }
            }
            None => {
                let key = RsaPublicKey::new(
                    BigUint::from_bytes_be(&self.0.modulus),
                    BigUint::from_bytes_be(&self.0.exponent),
                )
                .map_err(|_| RsaError::Failed)?;
                let rng = &mut Stretched::new()?;
                for plain in blocks {
                    let one = match algorithm {
                        Encryption::Pkcs1v15 => key.encrypt(rng, Pkcs1v15Encrypt, plain),
                        Encryption::OaepSha1 => key.encrypt(rng, oaep_sha1(), plain),
                        Encryption::OaepSha256 => return Err(RsaError::Failed),
                    };
                    cipher.extend_from_slice(&one.map_err(|_| RsaError::Failed)?);
                }
            }
        }
        Ok(cipher)
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.modulus == other.0.modulus && self.0.exponent == other.0.exponent
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("bits", &self.0.bits)
            .finish_non_exhaustive()
    }
}

/// RFC 8017, 7.2.1: two bytes, eight of random padding, a zero.
const PKCS1_OVERHEAD: usize = 11;

fn check_size(policy: Policy, bits: usize) -> Result<(), RsaError> {
    match policy.key_bits().contains(&bits) {
        true => Ok(()),
        false => Err(RsaError::KeySize { policy, bits }),
    }
}

fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

fn slow_private(der: &[u8]) -> Option<RsaPrivateKey> {
    RsaPrivateKey::from_pkcs8_der(der)
        .ok()
        .or_else(|| RsaPrivateKey::from_pkcs1_der(der).ok())
}

fn pkcs1_sha1() -> Pkcs1v15Sign {
    Pkcs1v15Sign {
        hash_len: Some(20),
        // RFC 8017, 9.2, note 1: the DigestInfo of SHA-1.
        prefix: Box::new([
            0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04,
            0x14,
        ]),
    }
}

fn oaep_sha1() -> Oaep {
    Oaep::new::<sha1_for_rsa::Sha1>()
}

fn decoy(der: &[u8]) -> HmacSha256 {
    HmacSha256::new(&Sha256::digest(der))
}

/// Randomness for the `rsa` crate, whose interface has no way to fail: the system's, drawn
/// beforehand and stretched.
struct Stretched {
    key: HmacSha256,
    count: u64,
}

impl Stretched {
    fn new() -> Result<Self, RsaError> {
        let mut seed = [0; 32];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| RsaError::Failed)?;
        let key = HmacSha256::new(&seed);
        seed.zeroize();
        Ok(Self { key, count: 0 })
    }
}

impl rsa::rand_core::RngCore for Stretched {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            self.key.sign(&self.count.to_be_bytes(), chunk);
            self.count += 1;
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rsa::rand_core::CryptoRng for Stretched {}
