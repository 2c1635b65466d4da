//! A place in a body, and what can go wrong there.

use crate::types::StatusCode;

/// Why a body could not be walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// No decoder can read this: the peer or something between is broken.
    #[error("malformed message body: {what}, at byte {offset}")]
    Malformed {
        /// What was wrong.
        what: &'static str,
        /// Where, counted from the start of the body.
        offset: usize,
    },
    /// A shape the walker does not follow; the full decoder decides what it is.
    #[error("unusual message body: {what}, at byte {offset}; decode it in full")]
    Unusual {
        /// What was met.
        what: &'static str,
        /// Where, counted from the start of the body.
        offset: usize,
    },
    /// The message is of another type than was asked for.
    #[error("message of type i={found} where i={expected} was expected")]
    OtherType {
        /// The encoding id asked for.
        expected: u32,
        /// The encoding id met.
        found: u32,
    },
    /// The service failed as a whole: a ServiceFault or a bad serviceResult.
    #[error("the service failed: {0}")]
    Fault(StatusCode),
    /// The number of results is not the number of operations (Part 4, 7.2: they match).
    #[error("{found} results for {expected} operations")]
    WrongCount {
        /// Operations asked for.
        expected: usize,
        /// Results that came.
        found: usize,
    },
}

/// The unread rest of a body. All reads are checked; none panics.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// Offset of the end of `rest` in the body.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// At the start of a body.
    #[inline]
    pub fn new(body: &'a [u8]) -> Self {
        Self {
            rest: body,
            end: body.len(),
        }
    }

    /// At `offset` in a body; at its end when it is shorter.
    #[inline]
    pub fn at(body: &'a [u8], offset: usize) -> Self {
        Self {
            rest: body.get(offset..).unwrap_or_default(),
            end: body.len(),
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

    /// Reads in one step what begins here, if `read` knows it; tells what and what follows it.
    #[inline]
    pub fn step<T>(&mut self, read: impl FnOnce(&'a [u8]) -> Option<(T, &'a [u8])>) -> Option<T> {
        let (value, rest) = read(self.rest)?;
        self.rest = rest;
        Some(value)
    }

    /// What was read since `earlier`, a copy of this cursor taken before.
    #[inline]
    pub fn since(&self, earlier: &Self) -> &'a [u8] {
        let read = earlier.rest.len() - self.rest.len().min(earlier.rest.len());
        earlier.rest.get(..read).unwrap_or_default()
    }

    #[cold]
    pub fn malformed(&self, what: &'static str) -> WalkError {
        WalkError::Malformed {
            what,
            offset: self.offset(),
        }
    }

    #[cold]
    pub fn unusual(&self, what: &'static str) -> WalkError {
        WalkError::Unusual {
            what,
            offset: self.offset(),
        }
    }

    #[cold]
    fn short(&self) -> WalkError {
        self.malformed("the body ends too early")
    }

    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], WalkError> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `n` bytes as a cursor of their own, which counts offsets as this one does.
    #[inline]
    pub fn part(&mut self, n: usize) -> Result<Self, WalkError> {
        let rest = self.take(n)?;
        Ok(Self {
            rest,
            end: self.offset(),
        })
    }

    #[inline]
    pub fn chunk<const N: usize>(&mut self) -> Result<[u8; N], WalkError> {
        let (taken, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, WalkError> {
        self.chunk::<1>().map(|[b]| b)
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, WalkError> {
        self.chunk().map(u16::from_le_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, WalkError> {
        self.chunk().map(u32::from_le_bytes)
    }

    #[inline]
    pub fn i32(&mut self) -> Result<i32, WalkError> {
        self.chunk().map(i32::from_le_bytes)
    }

    #[inline]
    pub fn i64(&mut self) -> Result<i64, WalkError> {
        self.chunk().map(i64::from_le_bytes)
    }

    #[inline]
    pub fn f64(&mut self) -> Result<f64, WalkError> {
        self.chunk().map(f64::from_le_bytes)
    }

    /// A length: minus one is null (Part 6, 5.2.2.4 and 5.2.5).
    #[inline]
    fn length(&mut self) -> Result<Option<usize>, WalkError> {
        match self.i32()? {
            -1 => Ok(None),
            n => match usize::try_from(n) {
                Ok(n) => Ok(Some(n)),
                Err(_) => Err(self.malformed("a negative length")),
            },
        }
    }

    /// The count of an array whose elements take at least `least` bytes each, null as none.
    /// A count the remaining bytes cannot hold is refused here, before anyone loops over it.
    #[inline]
    pub fn count(&mut self, least: usize) -> Result<usize, WalkError> {
        let n = self.length()?.unwrap_or(0);
        if n > self.rest.len() / least.max(1) {
            return Err(self.malformed("an array longer than the body"));
        }
        Ok(n)
    }

    /// The content of a String, ByteString or XmlElement.
    #[inline]
    pub fn octets(&mut self) -> Result<Option<&'a [u8]>, WalkError> {
        match self.length()? {
            None => Ok(None),
            Some(n) => self.take(n).map(Some),
        }
    }

    /// The body must end here. Trailing bytes are for the full decoder to judge.
    #[inline]
    pub fn finish(&self) -> Result<(), WalkError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.unusual("bytes after the last field"))
        }
    }
}
