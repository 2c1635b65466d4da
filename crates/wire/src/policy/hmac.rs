//! HMAC (RFC 2104) over the bare block functions of SHA-1 and SHA-256.
//!
//! A prepared key is two hash states of a few words each, copied and not rebuilt for each
//! message. That is why it is spelled out here over the block functions: a short message then
//! costs exactly its own blocks and two more.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// A hash function with 64-byte blocks and big-endian words, as a block function.
pub(super) trait Hash<const WORDS: usize> {
    const START: [u32; WORDS];
    fn compress(state: &mut [u32; WORDS], blocks: &[[u8; 64]]);
}

pub(super) struct Sha1;

impl Hash<5> for Sha1 {
    // FIPS 180-4, 5.3.1
    const START: [u32; 5] = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];

    fn compress(state: &mut [u32; 5], blocks: &[[u8; 64]]) {
        sha1::block_api::compress(state, blocks);
    }
}

pub(super) struct Sha256;

impl Hash<8> for Sha256 {
    // FIPS 180-4, 5.3.3
    const START: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];

    fn compress(state: &mut [u32; 8], blocks: &[[u8; 64]]) {
        sha2::block_api::compress256(state, blocks);
    }
}

/// A prepared HMAC key.
pub(super) struct Hmac<H, const WORDS: usize> {
    inner: [u32; WORDS],
    outer: [u32; WORDS],
    hash: std::marker::PhantomData<H>,
}

pub(super) type HmacSha1 = Hmac<Sha1, 5>;
pub(super) type HmacSha256 = Hmac<Sha256, 8>;

impl<H: Hash<WORDS>, const WORDS: usize> Hmac<H, WORDS> {
    /// Length of a code in bytes.
    pub(super) const LEN: usize = WORDS * 4;

    pub(super) fn new(key: &[u8]) -> Self {
        let mut block = [0; 64];
        match block.get_mut(..key.len()) {
            Some(start) => start.copy_from_slice(key),
            // RFC 2104, 2: a key longer than a block is hashed first.
            None => write_words(&finish::<H, WORDS>(H::START, 0, key), &mut block),
        }
        let state = |pad: u8, block: &[u8; 64]| {
            let mut state = H::START;
            H::compress(&mut state, &[block.map(|byte| byte ^ pad)]);
            state
        };
        let prepared = Self {
            inner: state(0x36, &block),
            outer: state(0x5c, &block),
            hash: std::marker::PhantomData,
        };
        block.zeroize();
        prepared
    }

    /// The code of `data`: its leading [`Self::LEN`] bytes, zeros beyond.
    #[inline]
    pub(super) fn code(&self, data: &[u8]) -> [u8; 32] {
        let digest = finish::<H, WORDS>(self.inner, 64, data);
        let mut block = [0; 64];
        write_words(&digest, &mut block);
        block[Self::LEN] = 0x80;
        // The length in bits of the outer message: a block of key and the inner digest.
        let bits = (64 + Self::LEN as u64) * 8;
        block[56..].copy_from_slice(&bits.to_be_bytes());
        let mut state = self.outer;
        H::compress(&mut state, &[block]);
        let mut code = [0; 32];
        write_words(&state, &mut code);
        code
    }

    /// Writes the code of `data` to the start of `code`, or as much of it as fits.
    #[inline]
    pub(super) fn sign(&self, data: &[u8], code: &mut [u8]) {
        let ours = self.code(data);
        let len = code.len().min(Self::LEN);
        code[..len].copy_from_slice(&ours[..len]);
    }

    /// Compares in constant time; false for a code of another length.
    #[inline]
    pub(super) fn verify(&self, data: &[u8], code: &[u8]) -> bool {
        self.code(data)[..Self::LEN].ct_eq(code).into()
    }
}

impl<H, const WORDS: usize> Drop for Hmac<H, WORDS> {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

/// Hashes `data` and the closing padding into `state`, which has taken `before` bytes already.
#[inline]
fn finish<H: Hash<WORDS>, const WORDS: usize>(
    mut state: [u32; WORDS],
    before: u64,
    data: &[u8],
) -> [u32; WORDS] {
    let (blocks, rest) = data.as_chunks::<64>();
    H::compress(&mut state, blocks);
    let mut last = [[0; 64]; 2];
    let bytes = last.as_flattened_mut();
    bytes[..rest.len()].copy_from_slice(rest);
    bytes[rest.len()] = 0x80;
    // 9 bytes of padding at least: the mark and the length in bits.
    let end = if rest.len() < 56 { 64 } else { 128 };
    let bits = (before + data.len() as u64) * 8;
    bytes[end - 8..end].copy_from_slice(&bits.to_be_bytes());
    H::compress(&mut state, &last[..end / 64]);
    state
}

/// Writes the words to the start of `bytes`, whose length is a multiple of four.
#[inline]
fn write_words(words: &[u32], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_exact_mut(4)) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}
