//! A place in a message. All reads are checked; none panics.

use crate::error::{Cause, DecodeError};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// Offset of the end of `rest` in the message.
    end: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::within(bytes, 0)
    }

    /// At the beginning of bytes that lie at `at` of the message.
    pub fn within(bytes: &'a [u8], at: usize) -> Self {
        Self {
            rest: bytes,
            end: at + bytes.len(),
        }
    }

    #[inline]
    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Goes on to `rest`, a tail of what is unread.
    #[inline]
    pub fn skip_to(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    #[cold]
    pub fn fail(&self, cause: Cause) -> DecodeError {
        DecodeError::new(self.offset(), cause)
    }

    #[inline]
    pub fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(n) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.fail(Cause::Short {
                what,
                wanted: n,
                left: self.rest.len(),
            })),
        }
    }

    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.fail(Cause::Short {
                what,
                wanted: N,
                left: self.rest.len(),
            })),
        }
    }

    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_le_bytes)
    }

    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_le_bytes)
    }

    #[inline]
    pub fn i64(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        self.array(what).map(i64::from_le_bytes)
    }
}
