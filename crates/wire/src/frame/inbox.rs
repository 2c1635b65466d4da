//! The receive buffer: bytes in, whole chunks out, decrypted and read where they lie.

use std::ops::Range;

use super::{FrameError, HEADER_LEN, Header};

/// Bytes received and not yet consumed.
///
/// The caller reads from its socket straight into [`space`](Self::space) and says with
/// [`filled`](Self::filled) how much came. Nothing is copied until a chunk straddles the end
/// of the buffer.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    /// Room for at least `least` more bytes, behind those that are there.
    pub fn space(&mut self, least: usize) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if self.bytes.len() - self.end < least {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.bytes.len() - self.end < least {
                self.bytes.resize(self.end + least, 0);
            }
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Says that `n` bytes of [`space`](Self::space) were written.
    pub fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.bytes.len());
    }

    /// Puts other memory in the place of its own, with what waits at its beginning. The length
    /// of the memory is the room there is.
    pub fn lend(&mut self, mut memory: Vec<u8>) {
        let waiting = self.bytes.get(self.start..self.end).unwrap_or_default();
        if memory.len() < waiting.len() {
            memory.resize(waiting.len(), 0);
        }
        if let Some(place) = memory.get_mut(..waiting.len()) {
            place.copy_from_slice(waiting);
        }
        self.end -= self.start;
        self.start = 0;
        self.bytes = memory;
    }

    /// Gives its memory away and keeps what waits in memory that just fits.
    pub fn reclaim(&mut self) -> Vec<u8> {
        let waiting = self.bytes.get(self.start..self.end).unwrap_or_default();
        let own = waiting.to_vec();
        self.start = 0;
        self.end = own.len();
        std::mem::replace(&mut self.bytes, own)
    }

    /// Copies bytes in, for callers that have them elsewhere.
    pub fn extend(&mut self, bytes: &[u8]) {
        let space = self.space(bytes.len());
        if let Some(space) = space.get_mut(..bytes.len()) {
            space.copy_from_slice(bytes);
            self.filled(bytes.len());
        }
    }

    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether no byte waits.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// How many more bytes the chunk at the front needs, as far as can be told.
    pub fn missing(&self) -> usize {
        match self.header() {
            Some(Ok(header)) => (header.size as usize).saturating_sub(self.len()),
            Some(Err(_)) => 0,
            None => HEADER_LEN - self.len(),
        }
    }

    fn header(&self) -> Option<Result<Header, FrameError>> {
        let bytes = self.bytes.get(self.start..self.end)?;
        Some(Header::parse(*bytes.first_chunk()?))
    }

    /// The next whole chunk, no longer than `limit`, taken off the front. Its bytes stay where
    /// they are until the next call of [`space`](Self::space).
    #[inline]
    pub fn next_chunk(&mut self, limit: u32) -> Result<Option<(Header, Range<usize>)>, FrameError> {
        let Some(header) = self.header().transpose()? else {
            return Ok(None);
        };
        if header.size > limit {
            let size = header.size;
            return Err(FrameError::TooLarge { size, limit });
        }
        let size = header.size as usize;
        if self.len() < size {
            return Ok(None);
        }
        let chunk = self.start..self.start + size;
        self.start += size;
        Ok(Some((header, chunk)))
    }

    /// The bytes of a chunk that [`next_chunk`](Self::next_chunk) named.
    pub fn chunk(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// The same, to decrypt it in place.
    pub fn chunk_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.bytes.get_mut(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_memory_goes_back_and_what_waits_stays() {
        let mut inbox = Inbox::default();
        inbox.extend(b"MSGF\x0c\0\0\0ab");
        inbox.lend(vec![0; 1000]);
        assert_eq!(inbox.len(), 10);
        inbox
            .space(1)
            .get_mut(..6)
            .unwrap()
            .copy_from_slice(b"cdMSGF");
        inbox.filled(6);
        let (_, chunk) = inbox.next_chunk(100).unwrap().unwrap();
        assert_eq!(inbox.chunk(chunk), b"MSGF\x0c\0\0\0abcd");
        assert_eq!(inbox.reclaim().len(), 1000);
        assert_eq!((inbox.len(), inbox.bytes.capacity()), (4, 4));
        inbox.extend(b"\x09\0\0\0x");
        assert!(inbox.next_chunk(100).unwrap().is_some());
        inbox.lend(Vec::new());
        assert!(inbox.is_empty());
    }
}
