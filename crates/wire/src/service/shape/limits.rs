//! What a message may cost.

/// What a message may cost before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory allocated while it is decoded, all in all.
    pub memory: usize,
    /// How deep Variants, DataValues, DiagnosticInfos and ExtensionObjects may be nested.
    pub depth: usize,
}

impl Limits {
    /// The depth that Part 6, 5.1 asks every decoder for.
    pub const DEPTH: usize = 100;

    /// Bytes of memory for each byte of the largest message.
    ///
    /// The most that useful messages take is an array of Boolean or Byte in a Variant:
    /// one byte becomes a `Variant` of 32. An array of empty DiagnosticInfos would take
    /// more than a hundred, and a nest of ExtensionObjects a copy for each level.
    pub const MEMORY_PER_BYTE: usize = 64;

    /// The message size that stands for "no limit" (0 in the HEL and ACK messages).
    pub const LARGEST_MESSAGE: usize = 16 << 20;

    /// The limits for a connection on which messages of `bytes` bytes were negotiated.
    pub const fn for_message_size(bytes: usize) -> Self {
        let bytes = match bytes {
            0 => Self::LARGEST_MESSAGE,
            // the smallest buffer of Part 6, 7.1.2.3
            1..8192 => 8192,
            _ => bytes,
        };
        Self {
            memory: bytes.saturating_mul(Self::MEMORY_PER_BYTE),
            depth: Self::DEPTH,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::for_message_size(0)
    }
}
