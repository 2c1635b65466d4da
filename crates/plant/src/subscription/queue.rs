//! Values on their way: what an item saw, and the queue it waits in.

use std::collections::VecDeque;
use std::sync::Arc;

use wire::template::walk::BuiltInType;

use crate::space::attribute::{Timestamps, mask};
use crate::space::signal::encode_bits;

/// InfoType DataValue and the Overflow bit of a status code (Part 4, 7.39.1).
pub const OVERFLOW: u32 = 0x0480;

/// A value as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// None: only a status.
    Nothing,
    /// A Boolean or a number, by its payload.
    Bits(BuiltInType, u64),
    /// Anything else, as an encoded Variant.
    Encoded(Arc<Encoded>),
}

/// An encoded Variant behind a pointer of one word: there may be two in each of a million items.
#[derive(Debug, PartialEq)]
pub struct Encoded(pub Box<[u8]>);

/// A value with what stands beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The value.
    pub seen: Seen,
    /// How good it is.
    pub status: u32,
    /// Its source's time, in ticks.
    pub source: i64,
    /// When it was sampled, in ticks.
    pub server: i64,
}

impl Entry {
    /// Appends it as a DataValue.
    pub fn encode(&self, stamps: Timestamps, out: &mut Vec<u8>) {
        let mut bits = 0;
        let at = out.len();
        out.push(0);
        match &self.seen {
            Seen::Nothing => {}
            Seen::Bits(kind, payload) => {
                bits |= mask::VALUE;
                encode_bits(*kind, *payload, out);
            }
            Seen::Encoded(encoded) => {
                bits |= mask::VALUE;
                out.extend_from_slice(&encoded.0);
            }
        }
        if self.status != 0 {
            bits |= mask::STATUS;
            out.extend_from_slice(&self.status.to_le_bytes());
        }
        // A value that has no source has no time of it.
        if stamps.source && self.source != 0 {
            bits |= mask::SOURCE;
            out.extend_from_slice(&self.source.to_le_bytes());
        }
        if stamps.server {
            bits |= mask::SERVER;
            out.extend_from_slice(&self.server.to_le_bytes());
        }
        if let Some(mask) = out.get_mut(at) {
            *mask = bits;
        }
    }
}

/// Something that waits in a queue.
pub trait Waits {
    /// Others had to go for it, or near it.
    fn overflowed(&mut self);
}

impl Waits for Entry {
    fn overflowed(&mut self) {
        self.status |= OVERFLOW;
    }
}

/// Values of an item that were not sent yet (Part 4, 5.13.1.5).
#[derive(Debug)]
pub struct Queue<T> {
    /// The only one, or the oldest: most queues hold no more.
    first: Option<T>,
    #[allow(
        clippy::box_collection,
        reason = "a word instead of four in each of a million items"
    )]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            first: None,
            rest: None,
        }
    }
}

impl<T: Waits> Queue<T> {
    fn rest(&mut self) -> &mut VecDeque<T> {
        self.rest.get_or_insert_default()
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    /// Adds a value to a queue of `size`. False if another one was dropped for it.
    #[inline]
    pub fn push(&mut self, entry: T, size: usize, discard_oldest: bool) -> bool {
        if self.first.is_none() {
            self.first = Some(entry);
            return true;
        }
        self.push_more(entry, size.max(1), discard_oldest)
    }

    fn push_more(&mut self, mut entry: T, size: usize, discard_oldest: bool) -> bool {
        if self.len() < size {
            self.rest().push_back(entry);
            return true;
        }
        if size == 1 {
            // No overflow bit here: the queue holds the newest value, which is all there is to it.
            self.first = Some(entry);
            return false;
        }
        if discard_oldest {
            let rest = self.rest();
            rest.push_back(entry);
            self.first = rest.pop_front();
            if let Some(oldest) = &mut self.first {
                oldest.overflowed();
            }
        } else if let Some(newest) = self.rest().back_mut() {
            entry.overflowed();
            *newest = entry;
        }
        false
    }

    /// The oldest, that stays.
    pub fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The same, to be changed.
    pub fn first_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The oldest.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.first.take();
        self.first = self.rest.as_mut().and_then(|rest| rest.pop_front());
        entry
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.first = None;
        self.rest = None;
    }

    /// Makes it fit a new size, with the overflow told as if it had been so small before. Tells
    /// how many values were dropped.
    pub fn resize(&mut self, size: usize, discard_oldest: bool) -> usize {
        let mut old = std::mem::take(self);
        let mut dropped = 0;
        while let Some(entry) = old.pop() {
            dropped += usize::from(!self.push(entry, size, discard_oldest));
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u64) -> Entry {
        Entry {
            seen: Seen::Bits(BuiltInType::UInt32, n),
            status: 0,
            source: 0,
            server: 0,
        }
    }

    fn after(size: usize, discard_oldest: bool, values: std::ops::Range<u64>) -> Vec<(u64, bool)> {
        let mut queue = Queue::default();
        for n in values {
            queue.push(entry(n), size, discard_oldest);
        }
        std::iter::from_fn(|| queue.pop())
            .map(|entry| match entry.seen {
                Seen::Bits(_, n) => (n, entry.status == OVERFLOW),
                _ => panic!(),
            })
            .collect()
    }

    // Part 4, 5.13.1.5
    #[test]
    fn when_the_oldest_are_discarded_the_next_one_tells_of_it() {
        assert_eq!(after(3, true, 0..3), [(0, false), (1, false), (2, false)]);
        assert_eq!(after(3, true, 0..5), [(2, true), (3, false), (4, false)]);
    }

    #[test]
    fn when_the_newest_are_discarded_the_last_one_tells_of_it() {
        assert_eq!(after(3, false, 0..3), [(0, false), (1, false), (2, false)]);
        assert_eq!(after(3, false, 0..5), [(0, false), (1, false), (4, true)]);
    }

    #[test]
    fn a_queue_of_one_holds_the_newest_and_never_tells_of_overflow() {
        assert_eq!(after(1, true, 0..5), [(4, false)]);
        assert_eq!(after(1, false, 0..5), [(4, false)]);
        assert_eq!(after(0, true, 0..2), [(1, false)]);
    }

    #[test]
    fn a_queue_that_becomes_smaller_overflows() {
        let mut queue = Queue::default();
        for n in 0..4 {
            assert!(queue.push(entry(n), 4, true));
        }
        assert_eq!(queue.resize(2, true), 2);
        let oldest = queue.pop().unwrap();
        assert_eq!((oldest.seen, oldest.status), (entry(2).seen, OVERFLOW));
        assert_eq!(queue.len(), 1);
    }
}
