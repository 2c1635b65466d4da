//! What steps cost, in nanoseconds of virtual time.

/// A cost that grows with bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PerByte {
    /// Without any.
    pub fixed: f64,
    /// For each of them.
    pub byte: f64,
}

impl PerByte {
    /// The straight line through two measurements of so many bytes and nanoseconds.
    pub fn through(small: (f64, f64), large: (f64, f64)) -> Self {
        let byte = ((large.1 - small.1) / (large.0 - small.0)).max(0.0);
        Self {
            fixed: (small.1 - byte * small.0).max(0.0),
            byte,
        }
    }

    pub(super) fn of(self, bytes: usize) -> f64 {
        self.fixed + self.byte * bytes as f64
    }
}

/// What one end spends.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Costs {
    /// A signature with its private key.
    pub sign: f64,
    /// The check of one.
    pub verify: f64,
    /// A block encrypted with a public key.
    pub encrypt: f64,
    /// A block decrypted with the private key.
    pub decrypt: f64,
    /// A chunk signed by the keys of the channel.
    pub seal_sign: PerByte,
    /// A chunk encrypted.
    pub seal_encrypt: PerByte,
    /// A chunk decrypted.
    pub open_decrypt: PerByte,
    /// The check of a chunk's signature.
    pub open_verify: PerByte,
    /// A message sent or received, beside all cryptography.
    pub message: f64,
    /// The other end's certificate judged.
    pub check: f64,
    /// How long an authority takes to say whether that was revoked: the end waits, and spends nothing.
    pub ask: f64,
}
