//! TCP over a link in virtual time: both ends of connections, without sockets and a clock.
//!
//! An [`End`] is told what its program writes and what the link brings, and asked for segments and for bytes in order.
//! It does what Linux does as far as times depend on it: a handshake of one round trip, an initial window of ten segments,
//! slow start, acknowledgements that wait for an answer to ride on, selective acknowledgement, three later segments or
//! a timeout (1 s at first, then a round trip and 200 ms at least, twice as long each time) before something is sent again.
//!
//! Not in it: tail loss probes, pacing, CUBIC's growth after a loss (Reno's instead, with CUBIC's reduction), slow start after idle
//! time, and a receiver that does not read.

mod line;
mod receiver;
mod sender;

use std::ops::Range;
use std::rc::Rc;

use link::HEADERS;

pub use line::{Carried, Line};

use receiver::Receiver;
use sender::Sender;

/// What goes over the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The connection begins.
    pub begins: bool,
    /// Nothing follows in this direction.
    pub ends: bool,
    /// The number of its first byte.
    pub number: u64,
    /// What it carries.
    pub bytes: Rc<[u8]>,
    /// All before it has arrived at the sender of this segment; none in the first one.
    pub acknowledged: Option<u64>,
    /// What has arrived behind it.
    pub beyond: Vec<Range<u64>>,
    /// When it was sent, and when the one was that it answers (RFC 7323).
    pub stamp: u64,
    /// The stamp of the segment that made the receiver send this one.
    pub echo: Option<u64>,
}

impl Segment {
    /// Its bytes on the line.
    pub fn size(&self) -> u64 {
        // Options for window and segment size.
        let options = if self.begins { 8 } else { 0 };
        HEADERS + options + self.bytes.len() as u64
    }

    /// How many numbers it takes: its bytes, and one for each of its ends.
    fn len(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(self.begins) + u64::from(self.ends)
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct End {
    sender: Sender,
    receiver: Receiver,
}

impl End {
    /// The end that connects: its first segment waits to be sent.
    pub fn connecting() -> Self {
        let mut end = Self::listening();
        end.sender.begin();
        end
    }

    /// The end that is connected to.
    pub fn listening() -> Self {
        Self {
            sender: Sender::default(),
            receiver: Receiver::default(),
        }
    }

    /// Whether the other end has answered, and bytes can go both ways.
    pub fn is_open(&self) -> bool {
        self.receiver.has_begun() && self.sender.is_open()
    }

    /// Bytes to be sent.
    pub fn write(&mut self, bytes: &[u8]) {
        self.sender.write(bytes);
    }

    /// Nothing follows behind what was written.
    pub fn finish(&mut self) {
        self.sender.finish();
    }

    /// Whether all that was written, and the end behind it, has arrived.
    pub fn is_done(&self) -> bool {
        self.sender.is_done()
    }

    /// A segment arrives.
    pub fn receive(&mut self, now: u64, segment: Segment) {
        if segment.begins {
            // The other end connects, or answers.
            self.sender.begin();
        }
        if let Some(acknowledged) = segment.acknowledged {
            let beyond = &segment.beyond;
            self.sender
                .acknowledged(now, acknowledged, beyond, segment.echo);
        }
        self.receiver.receive(now, segment);
    }

    /// What is to be sent now; to be called until there is none.
    pub fn poll(&mut self, now: u64) -> Option<Segment> {
        let segment = match self.sender.poll(now) {
            Some(segment) => segment,
            None if self.receiver.owes(now) => self.sender.bare(now),
            None => return None,
        };
        Some(self.receiver.answer(segment))
    }

    /// The next bytes in order.
    pub fn read(&mut self) -> Option<Rc<[u8]>> {
        self.receiver.read()
    }

    /// Whether the other end has ended its direction, and all of it is here.
    pub fn has_ended(&self) -> bool {
        self.receiver.has_ended()
    }

    /// When [`poll`](Self::poll) has something that does not follow from what arrives.
    pub fn deadline(&self) -> Option<u64> {
        let deadlines = [self.sender.deadline(), self.receiver.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Segments that were sent more than once, so far.
    pub fn sent_again(&self) -> u64 {
        self.sender.sent_again()
    }
}
