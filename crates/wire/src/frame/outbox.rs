//! The send buffer: chunks sealed one after another, written by the caller as its socket
//! takes them.

/// A place in the stream kept free for a chunk that is still being signed.
///
/// Its sequence number is given and its length is known, so what follows can be sealed behind
/// it; but nothing behind it may be written before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Gap {
    start: usize,
    len: usize,
}

/// Bytes sealed and not yet written.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    written: usize,
    gap: Option<usize>,
}

/// An emptied buffer larger than this gives its memory back.
const KEEP: usize = 256 * 1024;

impl Outbox {
    /// What may be written now.
    pub fn pending(&self) -> &[u8] {
        let end = self.gap.unwrap_or(self.bytes.len());
        self.bytes.get(self.written..end).unwrap_or_default()
    }

    /// Says that the first `n` bytes of [`pending`](Self::pending) were written.
    pub fn wrote(&mut self, n: usize) {
        self.written = (self.written + n).min(self.gap.unwrap_or(self.bytes.len()));
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.written = 0;
            if self.bytes.capacity() > KEEP {
                self.bytes = Vec::new();
            }
        }
    }

    /// Takes empty memory to write into, if it has none. False, and nothing is taken, if it has.
    #[inline]
    pub fn lend(&mut self, memory: &mut Vec<u8>) -> bool {
        let none = self.bytes.capacity() == 0;
        if none {
            self.bytes = std::mem::take(memory);
            self.bytes.clear();
        }
        none
    }

    /// Gives its memory away, if nothing waits in it.
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        let idle = self.bytes.is_empty() && self.gap.is_none() && self.bytes.capacity() > 0;
        idle.then(|| std::mem::take(&mut self.bytes))
    }

    /// Gives memory back that nothing waits in, if that is more than half of it.
    pub fn shrink(&mut self) {
        if self.gap.is_none() && self.bytes.capacity() / 2 > self.len() {
            self.bytes.drain(..self.written);
            self.written = 0;
            self.bytes.shrink_to_fit();
        }
    }

    /// How many bytes wait, those behind a gap included.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the next chunk is appended.
    ///
    /// Written bytes at the front are dropped first when they are the larger part, so the
    /// buffer of a connection that is never quite drained does not grow without end.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        if self.gap.is_none() && self.written > KEEP && self.written > self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        &mut self.bytes
    }

    /// Keeps `len` bytes free at the end of the stream.
    pub fn reserve(&mut self, len: usize) -> Gap {
        debug_assert!(self.gap.is_none(), "one chunk is signed at a time");
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        self.gap = Some(start);
        Gap { start, len }
    }

    /// Puts the chunk into its place. False if it does not fit.
    pub fn fill(&mut self, gap: Gap, chunk: &[u8]) -> bool {
        self.gap = None;
        match self.bytes.get_mut(gap.start..gap.start + gap.len) {
            Some(place) if place.len() == chunk.len() => {
                place.copy_from_slice(chunk);
                true
            }
            _ => false,
        }
    }

    /// Gives the gap up, and with it all that stands behind it.
    ///
    /// What stands before it stays: it may be half written already, and an ERR message has to
    /// begin where a chunk ends.
    pub fn abandon(&mut self) {
        if let Some(start) = self.gap.take() {
            self.bytes.truncate(start);
        }
    }
}
