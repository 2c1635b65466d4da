//! What protects MSG and CLO chunks where one algorithm encrypts and signs (AuthenticatedEncryption): ChaCha20-Poly1305
//! (RFC 8439), of the policy ECC_curve25519.
//!
//! No two chunks may have the same IV: each has the derived one with token id and sequence number in it
//! (Part 6, 6.8.1, table 69), as long as a token protects fewer than 2^32 chunks: tokens are renewed by time, and a million
//! chunks a second would be that many after 71 minutes. Where nothing is encrypted, all of the chunk is signed with the same key.

#[cfg(test)]
mod tests;

use std::fmt;

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::{CipherError, Exchanged, Mode, Policy, Sender};

const KEY_LEN: usize = 32;
const IV_LEN: usize = 12;
/// Bytes of a signature.
pub const TAG_LEN: usize = 16;
/// An encrypting key and an IV; no signing key in front of them (Part 6, 6.8.1, step 1).
pub(super) const MATERIAL_LEN: usize = KEY_LEN + IV_LEN;

/// The keys of one direction of a channel, prepared once per token. Nothing here allocates.
pub struct AuthenticatedKeys {
    key: LessSafeKey,
    iv: Zeroizing<[u8; IV_LEN]>,
}

/// Which of the chunks that a key protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The token that the key is of.
    pub token_id: u32,
    /// The sequence number of the chunk before, in the same direction; 0 for the first one.
    pub last_sequence: u32,
}

impl Place {
    /// Of what is the only thing that its key protects.
    pub const ALONE: Self = Self {
        token_id: 0,
        last_sequence: 0,
    };
}

impl AuthenticatedKeys {
    /// The keys that one side sends with, of what both exchanged; none if they agreed on nothing, or if the policy has
    /// [others](super::Keys).
    pub fn of(
        policy: Policy,
        mode: Mode,
        exchanged: &Exchanged<'_>,
        sender: Sender,
    ) -> Option<Self> {
        match policy.is_authenticated() {
            true => Self::cut(exchanged.material(policy, mode, sender)?.as_slice()),
            false => None,
        }
    }

    /// `bytes` begin with key and IV.
    pub(super) fn cut(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk::<KEY_LEN>()?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).ok()?;
        Some(Self {
            key: LessSafeKey::new(key),
            iv: Zeroizing::new(*rest.first_chunk()?),
        })
    }

    /// Encrypts `secret` in place and signs it with what stands in front of it, which stays in the clear.
    pub fn seal(
        &self,
        place: Place,
        clear: &[u8],
        secret: &mut [u8],
    ) -> Result<[u8; TAG_LEN], CipherError> {
        let len = secret.len();
        let tag = self
            .key
            .seal_in_place_separate_tag(self.nonce(place), Aad::from(clear), secret)
            .ok();
        let tag = tag.and_then(|tag| tag.as_ref().first_chunk().copied());
        tag.ok_or(CipherError::TooLong { len })
    }

    /// Decrypts in place what ends with its signature, and says how much of it is left. An error if anything of it, or
    /// of what stands in front of it, is not as it was signed: then nothing of it may be looked at.
    pub fn open(
        &self,
        place: Place,
        clear: &[u8],
        sealed: &mut [u8],
    ) -> Result<usize, CipherError> {
        let opened = self
            .key
            .open_in_place(self.nonce(place), Aad::from(clear), sealed);
        opened
            .map(|plain| plain.len())
            .map_err(|_| CipherError::Signature)
    }

    /// Part 6, 6.8.1, table 69: the first 8 bytes of the IV with these numbers, little-endian.
    fn nonce(&self, place: Place) -> Nonce {
        let mut iv = *self.iv;
        let (token, sequence) = (
            place.token_id.to_le_bytes(),
            place.last_sequence.to_le_bytes(),
        );
        for (byte, mask) in iv.iter_mut().zip(token.into_iter().chain(sequence)) {
            *byte ^= mask;
        }
        Nonce::assume_unique_for_key(iv)
    }
}

impl fmt::Debug for AuthenticatedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthenticatedKeys")
    }
}
