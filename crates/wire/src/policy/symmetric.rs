//! What protects MSG and CLO chunks: HMAC and AES-CBC with keys derived from two nonces.

use std::fmt;

use aes::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit};
use aes::{Aes128Dec, Aes128Enc, Aes256Dec, Aes256Enc};
use zeroize::Zeroizing;

use aws_lc_rs::hmac as long;

use super::hmac::{HmacSha1, HmacSha256};
use super::{Cipher, Digest, Exchanged, Mode, Policy, Sender, authenticated};

const BLOCK: usize = 16;

/// The keys of one direction of a channel, prepared once per token.
///
/// Nothing here allocates or panics; the cost is measured by `benches/crypto`.
pub struct Keys {
    mac: Mac,
    aes: Aes,
}

enum Mac {
    None,
    Sha1(HmacSha1),
    Sha256(HmacSha256),
    /// Of the curve P-384: the library's, which keeps its states prepared as well.
    Sha384(Box<long::Key>),
}

enum Aes {
    None,
    Aes128(Box<Cbc<Aes128Enc, Aes128Dec>>),
    Aes256(Box<Cbc<Aes256Enc, Aes256Dec>>),
}

/// Key schedules for both operations, and the IV that every chunk starts with (Part 6, 6.7.2.5).
struct Cbc<E, D> {
    encrypt: E,
    decrypt: D,
    iv: Zeroizing<[u8; BLOCK]>,
}

/// Why bytes could not be encrypted or decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CipherError {
    /// The chunk was cut or padded wrongly: a cipher block is 16 bytes.
    #[error("{len} bytes are not a whole number of cipher blocks")]
    PartialBlock {
        /// The length that was given.
        len: usize,
    },
    /// More than one key may encrypt at once.
    #[error("{len} bytes are too many to be encrypted at once")]
    TooLong {
        /// The length that was given.
        len: usize,
    },
    /// What was decrypted is not what was signed.
    #[error("a wrong signature")]
    Signature,
}

/// What encrypts one direction of a channel, in the open: for a log of keys, and for nothing else.
#[derive(Clone)]
pub struct DirectionKeys {
    /// What each chunk begins with.
    pub iv: Zeroizing<[u8; BLOCK]>,
    /// Of AES: 16 or 32 bytes.
    pub key: Zeroizing<Vec<u8>>,
    /// How long a signature is.
    pub signature_len: usize,
}

impl DirectionKeys {
    /// The same as [`Keys::of`] has inside; none for [`Policy::None`], and where it has none.
    pub(crate) fn of(policy: Policy, exchanged: &Exchanged<'_>, sender: Sender) -> Option<Self> {
        Self::cut(
            policy,
            &exchanged.material(policy, Mode::SignAndEncrypt, sender)?,
        )
    }

    /// The same as [`Keys::derive`] has inside; none for [`Policy::None`].
    #[cfg(test)]
    pub(crate) fn derive(policy: Policy, secret: &[u8], seed: &[u8]) -> Option<Self> {
        Self::cut(policy, &derived(policy, secret, seed))
    }

    fn cut(policy: Policy, bytes: &Material) -> Option<Self> {
        let rules = policy.rules();
        let (digest, cipher) = (rules.digest?, rules.cipher?);
        let rest = bytes.get(rules.signing_key_len..)?;
        let (key, iv) = rest.split_at_checked(cipher.key_len())?;
        Some(Self {
            iv: Zeroizing::new(*iv.first_chunk()?),
            key: Zeroizing::new(key.to_vec()),
            signature_len: match digest {
                Digest::Sha1 => 20,
                Digest::Sha256 => 32,
                Digest::Sha384 => 48,
            },
        })
    }
}

impl Cipher {
    const fn key_len(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 => 32,
        }
    }
}

impl fmt::Debug for DirectionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DirectionKeys")
    }
}

/// Signing key, encrypting key and IV, one behind the other, and zeros.
pub(super) type Material = Zeroizing<[u8; 48 + 32 + BLOCK]>;

/// How many bytes of [`Material`] a policy uses.
pub(super) fn material_len(policy: Policy) -> usize {
    let rules = policy.rules();
    if rules.authenticated {
        return authenticated::MATERIAL_LEN;
    }
    rules
        .cipher
        .map_or(0, |cipher| rules.signing_key_len + cipher.key_len() + BLOCK)
}

/// The keys that come of a secret and a seed by P_SHA (Part 6, 6.7.5).
pub(super) fn derived(policy: Policy, secret: &[u8], seed: &[u8]) -> Material {
    let mut bytes = Material::new([0; 48 + 32 + BLOCK]);
    if let Some(digest) = policy.rules().digest {
        prf(digest, secret, seed, &mut bytes[..material_len(policy)]);
    }
    bytes
}

impl Keys {
    /// Derives the keys of one direction (Part 6, 6.7.5).
    ///
    /// The keys a client sends with have the server's nonce as `secret` and the client's as
    /// `seed`; those a server sends with, the other way round.
    pub fn derive(policy: Policy, secret: &[u8], seed: &[u8]) -> Self {
        Self::cut(policy, &derived(policy, secret, seed))
    }

    /// The keys that one side sends with, of what both exchanged; none if they agreed on nothing though the policy
    /// wants it, or if it has [others](super::AuthenticatedKeys).
    pub fn of(
        policy: Policy,
        mode: Mode,
        exchanged: &Exchanged<'_>,
        sender: Sender,
    ) -> Option<Self> {
        if policy.is_authenticated() {
            return None;
        }
        Some(Self::cut(
            policy,
            &exchanged.material(policy, mode, sender)?,
        ))
    }

    fn cut(policy: Policy, bytes: &Material) -> Self {
        let rules = policy.rules();
        let (Some(digest), Some(cipher)) = (rules.digest, rules.cipher) else {
            return Self {
                mac: Mac::None,
                aes: Aes::None,
            };
        };
        let (signing, rest) = bytes.split_at(rules.signing_key_len);
        Self {
            mac: match digest {
                Digest::Sha1 => Mac::Sha1(HmacSha1::new(signing)),
                Digest::Sha256 => Mac::Sha256(HmacSha256::new(signing)),
                Digest::Sha384 => Mac::Sha384(Box::new(long::Key::new(long::HMAC_SHA384, signing))),
            },
            aes: Aes::new(cipher, rest),
        }
    }

    /// What encrypts the secret of a user token: nothing is signed with it (Part 6, 6.8.3). `bytes` are key and IV.
    pub(super) fn for_secret(policy: Policy, bytes: &[u8; 32 + BLOCK]) -> Self {
        Self {
            mac: Mac::None,
            aes: policy
                .rules()
                .cipher
                .map_or(Aes::None, |cipher| Aes::new(cipher, bytes)),
        }
    }

    /// Length of a signature in bytes; 0 for [`Policy::None`].
    #[inline]
    pub fn signature_len(&self) -> usize {
        match self.mac {
            Mac::None => 0,
            Mac::Sha1(_) => 20,
            Mac::Sha256(_) => 32,
            Mac::Sha384(_) => 48,
        }
    }

    /// Encrypted bytes come in multiples of this; 1 for [`Policy::None`].
    #[inline]
    pub fn block_len(&self) -> usize {
        match self.aes {
            Aes::None => 1,
            Aes::Aes128(_) | Aes::Aes256(_) => BLOCK,
        }
    }

    /// Writes the signature of `data` into `signature`, which is [`Keys::signature_len`] long.
    ///
    /// A shorter buffer takes the leading bytes, a longer one keeps what lies beyond.
    #[inline]
    pub fn sign(&self, data: &[u8], signature: &mut [u8]) {
        match &self.mac {
            Mac::None => {}
            Mac::Sha1(mac) => mac.sign(data, signature),
            Mac::Sha256(mac) => mac.sign(data, signature),
            Mac::Sha384(mac) => sign_long(mac, data, signature),
        }
    }

    /// Whether `signature` is that of `data`, compared in constant time.
    #[inline]
    pub fn verify(&self, data: &[u8], signature: &[u8]) -> bool {
        match &self.mac {
            Mac::None => signature.is_empty(),
            Mac::Sha1(mac) => mac.verify(data, signature),
            Mac::Sha256(mac) => mac.verify(data, signature),
            Mac::Sha384(mac) => long::verify(mac, data, signature).is_ok(),
        }
    }

    /// Encrypts in place.
    #[inline]
    pub fn encrypt(&self, data: &mut [u8]) -> Result<(), CipherError> {
        match &self.aes {
            Aes::None => Ok(()),
            Aes::Aes128(cbc) => cbc.encrypt(data),
            Aes::Aes256(cbc) => cbc.encrypt(data),
        }
    }

    /// Decrypts in place.
    #[inline]
    pub fn decrypt(&self, data: &mut [u8]) -> Result<(), CipherError> {
        match &self.aes {
            Aes::None => Ok(()),
            Aes::Aes128(cbc) => cbc.decrypt(data),
            Aes::Aes256(cbc) => cbc.decrypt(data),
        }
    }
}

impl Aes {
    /// `bytes` begin with key and IV.
    fn new(cipher: Cipher, bytes: &[u8]) -> Self {
        match cipher {
            Cipher::Aes128 => {
                let key = Zeroizing::new(array::<16>(bytes));
                Self::Aes128(Box::new(Cbc {
                    encrypt: Aes128Enc::new((&*key).into()),
                    decrypt: Aes128Dec::new((&*key).into()),
                    iv: Zeroizing::new(array(&bytes[16..])),
                }))
            }
            Cipher::Aes256 => {
                let key = Zeroizing::new(array::<32>(bytes));
                Self::Aes256(Box::new(Cbc {
                    encrypt: Aes256Enc::new((&*key).into()),
                    decrypt: Aes256Dec::new((&*key).into()),
                    iv: Zeroizing::new(array(&bytes[32..])),
                }))
            }
        }
    }
}

/// Off the path of the other policies.
#[cold]
fn sign_long(mac: &long::Key, data: &[u8], signature: &mut [u8]) {
    let code = long::sign(mac, data);
    let len = signature.len().min(code.as_ref().len());
    signature[..len].copy_from_slice(&code.as_ref()[..len]);
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("signature_len", &self.signature_len())
            .field("block_len", &self.block_len())
            .finish_non_exhaustive()
    }
}

macro_rules! cbc {
    ($enc:ty, $dec:ty) => {
        impl Cbc<$enc, $dec> {
            #[inline]
            fn encrypt(&self, data: &mut [u8]) -> Result<(), CipherError> {
                let blocks = whole_blocks(data)?;
                let blocks = Array::cast_slice_from_core_mut(blocks);
                cbc::Encryptor::<&$enc>::inner_iv_init(&self.encrypt, (&*self.iv).into())
                    .encrypt_blocks(blocks);
                Ok(())
            }

            #[inline]
            fn decrypt(&self, data: &mut [u8]) -> Result<(), CipherError> {
                let blocks = whole_blocks(data)?;
                let blocks = Array::cast_slice_from_core_mut(blocks);
                cbc::Decryptor::<&$dec>::inner_iv_init(&self.decrypt, (&*self.iv).into())
                    .decrypt_blocks(blocks);
                Ok(())
            }
        }
    };
}

cbc!(Aes128Enc, Aes128Dec);
cbc!(Aes256Enc, Aes256Dec);

#[inline]
fn whole_blocks(data: &mut [u8]) -> Result<&mut [[u8; BLOCK]], CipherError> {
    let len = data.len();
    match data.as_chunks_mut() {
        (blocks, []) => Ok(blocks),
        _ => Err(CipherError::PartialBlock { len }),
    }
}

/// The first `N` of `bytes`, which holds that many.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| bytes[i])
}

/// P_SHA1 or P_SHA256: the P_hash of RFC 5246, 5.
fn prf(digest: Digest, secret: &[u8], seed: &[u8], out: &mut [u8]) {
    match digest {
        Digest::Sha1 => {
            let mac = HmacSha1::new(secret);
            p_hash::<20>(|data| mac.code(data), seed, out);
        }
        Digest::Sha256 => {
            let mac = HmacSha256::new(secret);
            p_hash::<32>(|data| mac.code(data), seed, out);
        }
        // The policies that have it derive with HKDF.
        Digest::Sha384 => {}
    }
}

fn p_hash<const LEN: usize>(hmac: impl Fn(&[u8]) -> [u8; 32], seed: &[u8], out: &mut [u8]) {
    let mut a = Zeroizing::new(hmac(seed));
    for chunk in out.chunks_mut(LEN) {
        let labelled = Zeroizing::new([&a[..LEN], seed].concat());
        chunk.copy_from_slice(&hmac(&labelled)[..chunk.len()]);
        *a = hmac(&a[..LEN]);
    }
}
