//! One direction of a connection: segments with numbers, put in order again where they arrive.

use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes of a stream in a full segment: an Ethernet frame's 1500, without headers and time stamps.
pub const SEGMENT: usize = 1448;

/// Bytes around them on the line: Ethernet 14, IPv4 20, TCP 32 with its time stamps.
pub const HEADERS: u64 = 66;

/// What a segment has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The connection begins: the first segment of each direction.
    Begin,
    /// Nobody takes the connection: instead of a beginning.
    Refuse,
    /// Bytes.
    Bytes(Rc<[u8]>),
    /// Nothing more follows in this direction.
    End,
    /// The connection is broken off.
    Reset,
}

impl Part {
    /// Its bytes on the line.
    pub fn size(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => HEADERS + bytes.len() as u64,
            // Options for window and segment size.
            Self::Begin => HEADERS + 8,
            _ => HEADERS,
        }
    }
}

/// Both ends of one direction.
#[derive(Debug, Default)]
pub struct Stream {
    /// The number of the next segment that is sent.
    next: u64,
    /// The number of the segment that is to arrive next.
    expected: u64,
    /// What arrived before its turn.
    early: BTreeMap<u64, Part>,
    /// Bytes that were taken from the sender and not yet by the receiver.
    pub outstanding: usize,
    /// Whether the sender has ended it.
    pub ended: bool,
}

impl Stream {
    /// The number of a new segment.
    pub fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// A segment arrives; one that was there before is left out.
    pub fn arrives(&mut self, number: u64, part: Part) {
        if number >= self.expected {
            self.early.entry(number).or_insert(part);
        }
    }

    /// The next part in order, if it is there.
    pub fn take(&mut self) -> Option<Part> {
        let part = self.early.remove(&self.expected)?;
        self.expected += 1;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_come_out_in_order_and_once() {
        let mut stream = Stream::default();
        let numbers: Vec<_> = (0..3).map(|_| stream.number()).collect();
        assert_eq!(numbers, [0, 1, 2]);
        let part = |byte: u8| Part::Bytes(Rc::from([byte]));
        stream.arrives(2, part(2));
        stream.arrives(1, part(1));
        assert_eq!(stream.take(), None);
        stream.arrives(0, part(0));
        stream.arrives(1, part(9));
        let all: Vec<_> = std::iter::from_fn(|| stream.take()).collect();
        assert_eq!(all, [part(0), part(1), part(2)]);
        stream.arrives(0, part(9));
        assert_eq!(stream.take(), None);
    }
}
