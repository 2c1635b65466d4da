//! A fuzzer's bytes read as decisions.

/// The bytes that are left. A script that has ended decides 0 for ever.
#[derive(Debug, Clone)]
pub struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    /// Begins at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether no byte is left.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    /// One of `n` choices.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        for byte in &mut bytes {
            *byte = self.byte();
        }
        u32::from_le_bytes(bytes)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// As many of the next `n` bytes as there are.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes with their length before them.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = self.byte();
        // Most are short; the last of 16 lengths is of two bytes.
        let len = match len {
            0xf0.. => usize::from(self.u16()),
            short => usize::from(short),
        };
        self.take(len)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// True for one input of sixteen, always the same ones: RSA takes a thousand times as long as
/// all the rest, and a fuzzer lives from many runs.
pub fn is_chosen(data: &[u8]) -> bool {
    let sum = data.iter().fold(0x811c_9dc5_u32, |sum, byte| {
        (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });
    (sum >> 8).is_multiple_of(16)
}
