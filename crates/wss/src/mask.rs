//! The mask of what clients send (RFC 6455, 5.3): against caches that take a frame for something else, and no secret.

/// A key, and how far into it the next byte is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mask {
    key: [u8; 4],
}

impl Mask {
    /// From the first byte of a payload on.
    pub fn new(key: [u8; 4]) -> Self {
        Self { key }
    }

    /// Masks or unmasks the bytes of `from` into `into`, which are as many.
    pub fn apply(&mut self, from: &[u8], into: &mut [u8]) {
        debug_assert_eq!(from.len(), into.len());
        let [a, b, c, d] = self.key;
        let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
        let (from_words, from_rest) = from.as_chunks::<8>();
        let (into_words, into_rest) = into.as_chunks_mut::<8>();
        for (from, into) in from_words.iter().zip(into_words) {
            *into = (u64::from_ne_bytes(*from) ^ wide).to_ne_bytes();
        }
        for ((from, into), key) in from_rest.iter().zip(into_rest).zip(self.key.iter().cycle()) {
            *into = from ^ key;
        }
        self.key.rotate_left(from.len() % 4);
    }

    /// The same where they are.
    pub fn apply_in_place(&mut self, bytes: &mut [u8]) {
        let [a, b, c, d] = self.key;
        let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
        let length = bytes.len();
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(self.key.iter().cycle()) {
            *byte ^= key;
        }
        self.key.rotate_left(length % 4);
    }
}
