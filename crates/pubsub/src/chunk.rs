//! Messages larger than a datagram: cut into parts, and put together again (Part 14, 7.2.4.4.4).

use std::collections::BTreeMap;

use crate::cursor::Cursor;
use crate::encode::EncodeError;
use crate::error::{Cause, DecodeError};
use crate::header::flags;
use crate::message::NetworkMessage;

/// A part of a DataSetMessage, where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The sequence number of the message that it is a part of.
    pub sequence: u16,
    /// Where in the message it belongs.
    pub offset: u32,
    /// The size of the message.
    pub total: u32,
    /// The bytes.
    pub data: &'a [u8],
}

const HEADER_LEN: usize = 10;

impl<'a> Chunk<'a> {
    pub(crate) fn read(c: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        let start = *c;
        let chunk = Self {
            sequence: c.u16("MessageSequenceNumber")?,
            offset: c.u32("ChunkOffset")?,
            total: c.u32("TotalSize")?,
            data: c.rest(),
        };
        let end = u64::from(chunk.offset) + chunk.data.len() as u64;
        if end > u64::from(chunk.total) {
            return Err(start.fail(Cause::Chunk {
                at: chunk.offset,
                len: chunk.data.len(),
                total: chunk.total,
            }));
        }
        Ok(chunk)
    }
}

impl NetworkMessage {
    /// The message in datagrams of at most `most` bytes each, for one DataSetMessage.
    /// `sequence` is the number that keeps the parts of one message together.
    ///
    /// # Errors
    /// It has no form on the wire, has more than one DataSetMessage, or the headers leave no room.
    pub fn encode_chunks(&self, most: usize, sequence: u16) -> Result<Vec<Vec<u8>>, EncodeError> {
        if self.messages.len() != 1 {
            return Err(EncodeError::TooMany {
                what: "DataSetMessages in chunks",
                count: self.messages.len(),
                most: 1,
            });
        }
        let mut whole = Vec::new();
        let at = self.encode(&mut whole)?;
        let body = whole.get(at.payload..).unwrap_or_default();
        let head = chunk_head(whole.get(..at.payload).unwrap_or_default(), at.writers);
        let room = most.saturating_sub(head.len() + HEADER_LEN);
        if room == 0 {
            return Err(EncodeError::TooMany {
                what: "bytes of headers in a datagram",
                count: head.len() + HEADER_LEN,
                most: most.saturating_sub(1),
            });
        }
        let total = u32::try_from(body.len()).map_err(|_| EncodeError::TooMany {
            what: "bytes of a DataSetMessage",
            count: body.len(),
            most: u32::MAX as usize,
        })?;
        let parts = body.chunks(room).enumerate().map(|(n, part)| {
            let mut datagram = head.clone();
            datagram.extend(sequence.to_le_bytes());
            // Lossless: less than `total`.
            datagram.extend(((n * room) as u32).to_le_bytes());
            datagram.extend(total.to_le_bytes());
            datagram.extend(part);
            datagram
        });
        Ok(parts.collect())
    }
}

/// The headers with the chunk bit, and one writer without a count (Part 14, 7.2.4.4.4).
fn chunk_head(head: &[u8], writers: Option<usize>) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + 2);
    let mut rest = head.iter().enumerate();
    let mut flag = |extended: bool| match extended {
        true => rest.next().map_or(0, |(_, &flags)| flags),
        false => 0,
    };
    let first = flag(true);
    let one = flag(first & flags::EXTENDED_1 != 0);
    let two = flag(one & flags::EXTENDED_2 != 0);
    out.extend([
        first | flags::EXTENDED_1,
        one | flags::EXTENDED_2,
        two | flags::CHUNK,
    ]);
    out.extend(
        rest.filter(|(at, _)| Some(*at) != writers)
            .map(|(_, byte)| byte),
    );
    out
}

/// What reassembly may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// Messages that are not whole yet, of all senders together.
    pub messages: usize,
    /// Bytes of all their parts.
    pub bytes: usize,
}

impl Default for ReassemblyLimits {
    fn default() -> Self {
        Self {
            messages: 64,
            bytes: 4 << 20,
        }
    }
}

/// Puts parts together, whatever their order. Only bytes that came take memory.
#[derive(Debug)]
pub struct Reassembly<K> {
    limits: ReassemblyLimits,
    open: BTreeMap<(K, u16), Parts>,
    bytes: usize,
    clock: u64,
    given_up: u64,
}

#[derive(Debug)]
struct Parts {
    total: u32,
    parts: BTreeMap<u32, Vec<u8>>,
    have: usize,
    last: u64,
}

impl<K: Ord + Clone> Reassembly<K> {
    /// With nothing in it.
    pub fn new(limits: ReassemblyLimits) -> Self {
        Self {
            limits,
            open: BTreeMap::new(),
            bytes: 0,
            clock: 0,
            given_up: 0,
        }
    }

    /// Messages that were given up because others came meanwhile.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Takes a part; gives the whole DataSetMessage with the last of them.
    ///
    /// A part that came before is ignored. The message that has waited longest for its parts is given
    /// up when there are too many.
    pub fn take(&mut self, sender: K, chunk: Chunk<'_>) -> Option<Vec<u8>> {
        self.clock += 1;
        let key = (sender, chunk.sequence);
        if self
            .open
            .get(&key)
            .is_some_and(|it| it.total != chunk.total)
        {
            // Another message of the same number: the older one will never be whole.
            self.give_up(&key);
        }
        let parts = self.open.entry(key.clone()).or_insert_with(|| Parts {
            total: chunk.total,
            parts: BTreeMap::new(),
            have: 0,
            last: 0,
        });
        parts.last = self.clock;
        if let std::collections::btree_map::Entry::Vacant(place) = parts.parts.entry(chunk.offset) {
            place.insert(chunk.data.to_vec());
            parts.have += chunk.data.len();
            self.bytes += chunk.data.len();
        }
        if parts.have as u64 >= u64::from(parts.total) {
            let whole = self.open.remove(&key)?;
            self.bytes -= whole.have;
            return whole.join().or_else(|| {
                self.given_up += 1;
                None
            });
        }
        while self.open.len() > self.limits.messages || self.bytes > self.limits.bytes {
            let oldest = self.open.iter().min_by_key(|(_, it)| it.last);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.give_up(&oldest);
        }
        None
    }

    fn give_up(&mut self, key: &(K, u16)) {
        if let Some(parts) = self.open.remove(key) {
            self.bytes -= parts.have;
            self.given_up += 1;
        }
    }
}

impl Parts {
    /// The message, if the parts lie end to end.
    fn join(self) -> Option<Vec<u8>> {
        let mut whole = Vec::with_capacity(self.have);
        for (offset, part) in self.parts {
            if usize::try_from(offset) != Ok(whole.len()) {
                return None;
            }
            whole.extend(part);
        }
        Some(whole)
    }
}
