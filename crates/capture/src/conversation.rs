//! A TCP connection as its segments: how it opens, what it carries, how it ends.

use std::net::SocketAddr;

use crate::block;
use crate::segment::{ACK, FIN, MOST, PUSH, SYN, Segment};

/// A side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Who connected.
    Client,
    /// Who accepted.
    Server,
}

impl Side {
    /// The one across.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The addresses of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Of who connected.
    pub client: SocketAddr,
    /// Of who accepted.
    pub server: SocketAddr,
}

impl Ends {
    fn of(&self, side: Side) -> SocketAddr {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }
}

/// The numbers of the bytes that come next from each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// From who connected.
    pub client: u32,
    /// From who accepted.
    pub server: u32,
}

impl Numbers {
    /// What a connection begins with. Each has numbers of its own, so that one that has the ports of an earlier one is
    /// not taken for that.
    pub fn first(connection: u32) -> Self {
        let client = connection.wrapping_mul(0x9e37_79b1);
        Self {
            client,
            server: client ^ 0x5bd1_e995,
        }
    }

    /// What the first bytes of both sides have: behind the first segment of each.
    #[must_use]
    pub fn opened(self) -> Self {
        self.after(Side::Client, 1).after(Side::Server, 1)
    }

    /// Behind so many bytes of a side.
    #[must_use]
    pub fn after(self, side: Side, bytes: usize) -> Self {
        let bytes = bytes as u32;
        match side {
            Side::Client => Self {
                client: self.client.wrapping_add(bytes),
                ..self
            },
            Side::Server => Self {
                server: self.server.wrapping_add(bytes),
                ..self
            },
        }
    }

    fn of(self, side: Side) -> u32 {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }
}

/// A connection at one time, with a place to write its segments to.
pub struct SegmentWriter<'a> {
    /// Where they go, as blocks.
    pub out: &'a mut Vec<u8>,
    /// When, in nanoseconds since 1970.
    pub at: u64,
    /// Whose.
    pub ends: Ends,
}

impl SegmentWriter<'_> {
    /// It opens: three segments.
    pub fn open(&mut self, first: Numbers) {
        self.segment(Side::Client, first, SYN, &[]);
        self.segment(Side::Server, first.after(Side::Client, 1), SYN | ACK, &[]);
        self.segment(Side::Client, first.opened(), ACK, &[]);
    }

    /// Bytes of a side, in as many segments as they take. Returns how many.
    pub fn carry(&mut self, from: Side, mut next: Numbers, bytes: &[u8]) -> u64 {
        let mut segments = 0;
        for piece in bytes.chunks(MOST) {
            self.segment(from, next, ACK | PUSH, piece);
            next = next.after(from, piece.len());
            segments += 1;
        }
        segments
    }

    /// It ends, one side first: three segments.
    pub fn close(&mut self, first: Side, next: Numbers) {
        self.segment(first, next, FIN | ACK, &[]);
        let next = next.after(first, 1);
        self.segment(first.other(), next, FIN | ACK, &[]);
        self.segment(first, next.after(first.other(), 1), ACK, &[]);
    }

    fn segment(&mut self, from: Side, next: Numbers, flags: u8, payload: &[u8]) {
        let acknowledges = flags & ACK != 0;
        let segment = Segment {
            from: self.ends.of(from),
            to: self.ends.of(from.other()),
            sequence: next.of(from),
            acknowledgement: if acknowledges {
                next.of(from.other())
            } else {
                0
            },
            flags,
            payload,
        };
        block::packet(self.out, self.at, |out| segment.write(out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Captures;

    /// Port of the sender, sequence, acknowledgement, flags, length of each segment.
    fn read(blocks: &[u8]) -> Vec<(u16, u32, u32, u8, usize)> {
        let mut file = Vec::new();
        block::section(&mut file, "test");
        block::interface(&mut file);
        file.extend_from_slice(blocks);
        let mut captures = Captures::begin(file.as_slice()).unwrap();
        let (mut all, mut packet) = (Vec::new(), Vec::new());
        while captures.next(&mut packet).unwrap().is_some() {
            let tcp = &packet[20..];
            let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
            let head = usize::from(tcp[12] >> 4) * 4;
            let port = u16::from_be_bytes([tcp[0], tcp[1]]);
            all.push((port, word(4), word(8), tcp[13], tcp.len() - head));
        }
        all
    }

    #[test]
    fn the_numbers_of_a_connection_go_on_across_the_end_of_32_bits() {
        let mut out = Vec::new();
        let mut scribe = SegmentWriter {
            out: &mut out,
            at: 1,
            ends: Ends {
                client: "127.0.0.1:40000".parse().unwrap(),
                server: "127.0.0.1:4840".parse().unwrap(),
            },
        };
        let first = Numbers {
            client: u32::MAX - 1,
            server: 70,
        };
        scribe.open(first);
        let mut next = first.opened();
        assert_eq!(scribe.carry(Side::Client, next, &[1; 3]), 1);
        next = next.after(Side::Client, 3);
        assert_eq!(scribe.carry(Side::Server, next, &vec![2; MOST + 5]), 2);
        next = next.after(Side::Server, MOST + 5);
        scribe.close(Side::Server, next);
        let most = MOST as u32;
        let want = [
            (40_000, u32::MAX - 1, 0, SYN, 0),
            (4840, 70, u32::MAX, SYN | ACK, 0),
            (40_000, u32::MAX, 71, ACK, 0),
            (40_000, u32::MAX, 71, ACK | PUSH, 3),
            (4840, 71, 2, ACK | PUSH, MOST),
            (4840, 71 + most, 2, ACK | PUSH, 5),
            (4840, 76 + most, 2, FIN | ACK, 0),
            (40_000, 2, 77 + most, FIN | ACK, 0),
            (4840, 77 + most, 3, ACK, 0),
        ];
        assert_eq!(read(&out), want);
    }

    #[test]
    fn connections_do_not_begin_with_the_same_numbers() {
        let mut seen: Vec<u32> = (0..10_000).map(|n| Numbers::first(n).client).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_000);
    }
}
