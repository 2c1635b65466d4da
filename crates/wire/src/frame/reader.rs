//! Fields read one after another from bytes that may end too early.

/// The bytes ended before the field did, or its length makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short;

/// A position in a slice.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    start: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            start: bytes.len(),
        }
    }

    /// How many bytes were read.
    pub fn position(&self) -> usize {
        self.start - self.rest.len()
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Short> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or(Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// An unsigned integer of four bytes.
    pub fn u32(&mut self) -> Result<u32, Short> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Short)?;
        self.rest = rest;
        Ok(u32::from_le_bytes(*bytes))
    }

    /// A String or ByteString: a signed length, -1 for null, and the bytes.
    pub fn bytes(&mut self) -> Result<Option<&'a [u8]>, Short> {
        match self.u32()?.cast_signed() {
            -1 => Ok(None),
            n => Ok(Some(self.take(usize::try_from(n).map_err(|_| Short)?)?)),
        }
    }
}
