//! What protects NetworkMessages of PubSub: HMAC-SHA256 and AES in counter mode, with keys that
//! all members of a security group share (Part 14, 7.2.4.4.3).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aes::cipher::{InnerIvInit, KeyInit, StreamCipher};
use aes::{Aes128Enc, Aes256Enc};
use zeroize::Zeroizing;

use super::hmac::HmacSha256;

/// A security policy of PubSub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PubSubPolicy {
    /// HMAC-SHA256 and AES-128 in counter mode.
    Aes128Ctr,
    /// HMAC-SHA256 and AES-256 in counter mode.
    Aes256Ctr,
}

const URI: &str = "http://opcfoundation.org/UA/SecurityPolicy#";
const SIGNING_KEY_LEN: usize = 32;
const KEY_NONCE_LEN: usize = 4;

impl PubSubPolicy {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Aes128Ctr, Self::Aes256Ctr];

    /// As Part 7 calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Ctr => "PubSub-Aes128-CTR",
            Self::Aes256Ctr => "PubSub-Aes256-CTR",
        }
    }

    /// The whole URI.
    pub fn uri(self) -> String {
        format!("{URI}{}", self.name())
    }

    const fn encrypting_key_len(self) -> usize {
        match self {
            Self::Aes128Ctr => 16,
            Self::Aes256Ctr => 32,
        }
    }

    /// Bytes of a key as a key service hands it out: SigningKey, EncryptingKey, KeyNonce.
    pub const fn key_len(self) -> usize {
        SIGNING_KEY_LEN + self.encrypting_key_len() + KEY_NONCE_LEN
    }
}

impl fmt::Display for PubSubPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PubSubPolicy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.strip_prefix(URI).unwrap_or(text);
        Self::ALL
            .into_iter()
            .find(|it| it.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

/// No policy of PubSub is called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no PubSub policy {0:?}; want PubSub-Aes128-CTR or PubSub-Aes256-CTR")]
pub struct UnknownPolicy(String);

/// The SecurityTokenId `n` keys after another: they begin at 1, and begin anew there behind the last one
/// (Part 14, 8.3.2).
pub fn token_after(token: u32, n: u64) -> u32 {
    let at = (u64::from(token.max(1)) - 1 + n % u64::from(u32::MAX)) % u64::from(u32::MAX);
    // The remainder of 32 bits has no more.
    u32::try_from(at).unwrap_or_default() + 1
}

/// A key as a key service hands it out: SigningKey, EncryptingKey, KeyNonce. Its bytes are overwritten when it is dropped, and
/// are in no debug output.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RawKey(Zeroizing<Vec<u8>>);

impl RawKey {
    /// With these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Of the right length for a policy, filled by `random`.
    pub fn made(policy: PubSubPolicy, random: impl FnOnce(&mut [u8])) -> Self {
        let mut key = Self::new(vec![0; policy.key_len()]);
        random(&mut key.0);
        key
    }
}

impl std::ops::Deref for RawKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for RawKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawKey")
    }
}

/// What a key service says of a security group, or is told: keys with the tokens from `first` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityKeys {
    /// What they are for.
    pub policy: PubSubPolicy,
    /// The SecurityTokenId of the first.
    pub first: u32,
    /// One after another.
    pub keys: Vec<RawKey>,
    /// How long the current key still holds.
    pub to_next: Duration,
    /// How long a key holds.
    pub lifetime: Duration,
}

/// A key of another length than its policy has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key of {got} bytes; {policy} takes {} bytes: 32 to sign, {} to encrypt, 4 of nonce", .policy.key_len(), .policy.encrypting_key_len())]
pub struct KeyLength {
    /// The policy.
    pub policy: PubSubPolicy,
    /// The length that was given.
    pub got: usize,
}

/// The keys of one token of a security group, prepared once. A copy is the same keys: several writer groups share
/// them.
#[derive(Clone)]
pub struct GroupKeys {
    mac: Arc<HmacSha256>,
    aes: Aes,
    key_nonce: [u8; KEY_NONCE_LEN],
}

#[derive(Clone)]
enum Aes {
    Aes128(Arc<Aes128Enc>),
    Aes256(Arc<Aes256Enc>),
}

impl GroupKeys {
    /// Length of a signature in bytes.
    pub const SIGNATURE_LEN: usize = HmacSha256::LEN;

    /// Prepares a key as a key service hands it out: SigningKey, EncryptingKey, KeyNonce.
    ///
    /// # Errors
    /// The key has another length than the policy wants.
    pub fn new(policy: PubSubPolicy, key: &[u8]) -> Result<Self, KeyLength> {
        let wrong = KeyLength {
            policy,
            got: key.len(),
        };
        if key.len() != policy.key_len() {
            return Err(wrong);
        }
        let (signing, rest) = key.split_at(SIGNING_KEY_LEN);
        let (encrypting, nonce) = rest.split_at(policy.encrypting_key_len());
        Ok(Self {
            mac: Arc::new(HmacSha256::new(signing)),
            aes: match policy {
                PubSubPolicy::Aes128Ctr => {
                    let key: [u8; 16] = encrypting.try_into().map_err(|_| wrong)?;
                    let key = Zeroizing::new(key);
                    Aes::Aes128(Arc::new(Aes128Enc::new((&*key).into())))
                }
                PubSubPolicy::Aes256Ctr => {
                    let key: [u8; 32] = encrypting.try_into().map_err(|_| wrong)?;
                    let key = Zeroizing::new(key);
                    Aes::Aes256(Arc::new(Aes256Enc::new((&*key).into())))
                }
            },
            key_nonce: nonce.try_into().map_err(|_| wrong)?,
        })
    }

    /// The signature of `data`.
    #[inline]
    pub fn sign(&self, data: &[u8]) -> [u8; Self::SIGNATURE_LEN] {
        self.mac.code(data)
    }

    /// Whether `signature` is that of `data`, compared in constant time.
    #[inline]
    pub fn verify(&self, data: &[u8], signature: &[u8]) -> bool {
        self.mac.verify(data, signature)
    }

    /// Encrypts or decrypts in place, which in counter mode is the same.
    ///
    /// The counter block is KeyNonce, MessageNonce and a counter of 32 bits, big-endian, from 1.
    #[inline]
    pub fn apply(&self, message_nonce: [u8; 8], data: &mut [u8]) {
        let mut block = [0; 16];
        block[..4].copy_from_slice(&self.key_nonce);
        block[4..12].copy_from_slice(&message_nonce);
        block[15] = 1;
        match &self.aes {
            Aes::Aes128(aes) => keystream::<&Aes128Enc>(aes, &block, data),
            Aes::Aes256(aes) => keystream::<&Aes256Enc>(aes, &block, data),
        }
    }
}

#[inline]
fn keystream<'a, C>(aes: C, block: &[u8; 16], data: &mut [u8])
where
    C: aes::cipher::BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16> + 'a,
{
    let core = ctr::CtrCore::<C, ctr::flavors::Ctr32BE>::inner_iv_init(aes, block.into());
    let mut stream = aes::cipher::StreamCipherCoreWrapper::from_core(core);
    // Fails after 64 GiB only; a NetworkMessage has at most 64 KiB.
    let applied = stream.try_apply_keystream(data);
    debug_assert!(applied.is_ok());
}

impl fmt::Debug for GroupKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_debug_output_has_a_byte_of_a_key() {
        let key = RawKey::made(PubSubPolicy::Aes256Ctr, |bytes| bytes.fill(171));
        assert_eq!(*key, [171; 68]);
        assert_eq!(format!("{:?}", Some(key)), "Some(RawKey)");
    }
}
