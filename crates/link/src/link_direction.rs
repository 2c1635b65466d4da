//! One direction of a link at work, without the packets: what becomes of each, and when.

use plan::Random;
use plan::unit::duration::nanos;

use crate::chance::{Chain, happens, jitter};
use crate::spec::{Direction, Queue};

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It arrives.
    Sent {
        /// How long it waits until the line is free, in nanoseconds.
        waits: u64,
        /// When its last bit is there.
        arrives: u64,
    },
    /// It was on the line and does not arrive.
    Lost {
        /// When it would have arrived.
        at: u64,
    },
    /// There was no room for it in the queue.
    Full,
}

/// One direction of a link, for who keeps the packets: a simulation, say.
///
/// Times never go back: a caller that comes with an earlier one than before is taken to come now.
#[derive(Debug)]
pub struct LinkDirection {
    direction: Direction,
    random: Random,
    chain: Chain,
    line: Line,
    /// The last arrival of those that stay in order.
    last: u64,
}

impl LinkDirection {
    /// A passage; `which` tells those of one seed apart.
    pub fn new(direction: Direction, seed: u64, which: u64) -> Self {
        Self {
            direction,
            random: Random::stream(seed, &[which]),
            chain: Chain::new(direction.loss),
            line: Line::default(),
            last: 0,
        }
    }

    /// A packet of so many bytes comes to the line. Whether it arrives twice is told beside its outcome.
    pub fn pass(&mut self, now: u64, bytes: u64) -> (Outcome, bool) {
        let direction = &self.direction;
        let bytes = bytes + direction.overhead.0;
        if self.is_full(now, bytes) {
            return (Outcome::Full, false);
        }
        let (begins, on_line) = match direction.rate {
            None => (now, now),
            Some(rate) => self.line.take(now, bytes, rate.get()),
        };
        // In the same order each time, so that a packet's fate depends on its number and not on that of others.
        let late = jitter(direction.jitter, &mut self.random);
        let lost = self.chain.loses(&mut self.random);
        let held = happens(direction.reorder.share, &mut self.random);
        let twice = happens(direction.duplicate, &mut self.random);
        let mut arrives = on_line
            .saturating_add(nanos(direction.delay))
            .saturating_add(late);
        if held {
            arrives = arrives.saturating_add(nanos(direction.reorder.hold));
        } else {
            arrives = arrives.max(self.last);
            self.last = arrives;
        }
        match lost {
            true => (Outcome::Lost { at: arrives }, false),
            false => {
                let waits = begins.saturating_sub(now);
                (Outcome::Sent { waits, arrives }, twice)
            }
        }
    }

    /// Bytes that wait for the line or are on it.
    pub fn queued(&self, now: u64) -> u64 {
        let rate = self.direction.rate.map_or(0, |rate| rate.get());
        let waits = u128::from(self.line.free.saturating_sub(now));
        let bytes = (waits * u128::from(rate)).div_ceil(8 * NANOS);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Whether a packet would find no room. One that finds nothing before it always has room, as on a real line.
    pub fn is_full(&self, now: u64, bytes: u64) -> bool {
        let waits = self.line.free.saturating_sub(now);
        waits > 0
            && match self.direction.queue {
                Queue::Endless => false,
                Queue::Bytes(most) => self.queued(now) + bytes > most.0,
                Queue::Time(most) => waits > nanos(most),
            }
    }

    /// When a packet finds room that finds none now, at the latest: then the line is free.
    pub fn free_at(&self) -> u64 {
        self.line.free
    }

    /// When so many bytes could be taken.
    pub fn room_at(&self, bytes: u64) -> u64 {
        let ahead = match (self.direction.queue, self.direction.rate) {
            (Queue::Bytes(most), Some(rate)) => {
                let room = u128::from(most.0.saturating_sub(bytes));
                u64::try_from(room * 8 * NANOS / u128::from(rate.get())).unwrap_or(u64::MAX)
            }
            (Queue::Time(most), Some(_)) => nanos(most),
            _ => u64::MAX,
        };
        self.line.free.saturating_sub(ahead)
    }
}

/// Until when the line is taken, to a fraction of a nanosecond: a million packets take a million times as long as one.
#[derive(Debug, Default)]
struct Line {
    /// The first whole nanosecond at which it is free.
    free: u64,
    /// How much sooner it is free, in nanoseconds divided by the rate.
    spare: u128,
}

const NANOS: u128 = 1_000_000_000;

impl Line {
    /// When it begins with so many bytes, and when it has ended.
    fn take(&mut self, now: u64, bytes: u64, rate: u64) -> (u64, u64) {
        if self.free <= now {
            (self.free, self.spare) = (now, 0);
        }
        let begins = self.free;
        let rate = u128::from(rate);
        let takes = u128::from(bytes) * 8 * NANOS;
        // Ends at free + (takes - spare) / rate, rounded up.
        let whole = takes.saturating_sub(self.spare).div_ceil(rate);
        self.spare = (whole * rate + self.spare).saturating_sub(takes);
        self.free = u64::try_from(u128::from(begins) + whole).unwrap_or(u64::MAX);
        (begins, self.free)
    }
}
