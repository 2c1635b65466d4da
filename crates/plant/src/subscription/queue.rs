//! Values on their way: what an item saw, and the queue it waits in.

use std::collections::VecDeque;
use std::sync::Arc;

use wire::template::walk::BuiltInType;

use super::memory::Memory;
use crate::ledger::Values;
use crate::space::attribute::{Timestamps, mask};
use crate::space::signal::encode_bits;

/// InfoType DataValue and the Overflow bit of a status code (Part 4, 7.39.1).
pub const OVERFLOW: u32 = 0x0480;

/// A value as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemValue {
    /// None: only a status.
    Nothing,
    /// A Boolean or a number, by its payload.
    Bits(BuiltInType, u64),
    /// Anything else, as an encoded Variant.
    Encoded(Arc<Encoded>),
}

/// An encoded Variant behind a pointer of one word: there may be two in each of a million items.
#[derive(Debug)]
pub struct Encoded {
    /// As it is told.
    pub bytes: Box<[u8]>,
    memory: Memory,
}

impl Encoded {
    /// If there is memory for it.
    pub fn new(bytes: &[u8], memory: &Memory) -> Option<Self> {
        memory.take(bytes.len()).then(|| Self {
            bytes: bytes.into(),
            memory: memory.clone(),
        })
    }
}

impl PartialEq for Encoded {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Drop for Encoded {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes.len());
    }
}

/// A value with what stands beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The value.
    pub seen: ItemValue,
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
            ItemValue::Nothing => {}
            ItemValue::Bits(kind, payload) => {
                bits |= mask::VALUE;
                encode_bits(*kind, *payload, out);
            }
            ItemValue::Encoded(encoded) => {
                bits |= mask::VALUE;
                out.extend_from_slice(&encoded.bytes);
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

/// A queue that has become empty keeps memory for so many values.
const SPARE: usize = 64;

impl<T: Waits> Queue<T> {
    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    /// Adds a value to a queue of `size`, or of fewer where there is no memory for so many. False if another one was
    /// dropped for it.
    #[inline]
    pub fn push(&mut self, entry: T, size: usize, discard_oldest: bool, memory: &Memory) -> bool {
        if self.first.is_none() {
            self.first = Some(entry);
            return true;
        }
        self.push_more(entry, size.max(1), discard_oldest, memory)
    }

    fn push_more(
        &mut self,
        mut entry: T,
        size: usize,
        discard_oldest: bool,
        memory: &Memory,
    ) -> bool {
        if self.len() < size && self.has_place(memory) {
            self.rest.get_or_insert_default().push_back(entry);
            return true;
        }
        let Some(rest) = self.rest.as_mut().filter(|rest| !rest.is_empty()) else {
            if size > 1 {
                entry.overflowed();
            }
            // No overflow bit in a queue of one: it holds the newest value, which is all there is to it.
            self.first = Some(entry);
            return false;
        };
        if discard_oldest {
            self.first = rest.pop_front();
            rest.push_back(entry);
            if let Some(oldest) = &mut self.first {
                oldest.overflowed();
            }
        } else if let Some(newest) = rest.back_mut() {
            entry.overflowed();
            *newest = entry;
        }
        false
    }

    /// Whether there is a place for one more, or memory for it.
    fn has_place(&mut self, memory: &Memory) -> bool {
        let (len, places) = self
            .rest
            .as_ref()
            .map_or((0, 0), |rest| (rest.len(), rest.capacity()));
        if len < places {
            return true;
        }
        let more = places.max(4);
        let taken = memory.take(more * size_of::<T>());
        if taken {
            let rest = self.rest.get_or_insert_default();
            rest.reserve_exact(more);
            // It may have become more than was asked for.
            let got = rest.capacity() - places;
            memory.correct(more * size_of::<T>(), got * size_of::<T>());
        }
        taken
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
    pub fn pop(&mut self, memory: &Memory) -> Option<T> {
        let entry = self.first.take();
        if let Some(rest) = &mut self.rest {
            self.first = rest.pop_front();
            if rest.is_empty() && rest.capacity() > SPARE {
                self.free(memory);
            }
        }
        entry
    }

    fn free(&mut self, memory: &Memory) {
        if let Some(rest) = self.rest.take() {
            memory.give_back(rest.capacity() * size_of::<T>());
        }
    }

    /// Forgets all.
    pub fn clear(&mut self, memory: &Memory) {
        self.first = None;
        self.free(memory);
    }

    /// Makes it fit a new size, with the overflow told as if it had been so small before. Tells
    /// how many values were dropped.
    pub fn resize(&mut self, size: usize, discard_oldest: bool, memory: &Memory) -> usize {
        let size = size.max(1);
        let dropped = self.len().saturating_sub(size);
        let Some(rest) = self.rest.as_mut().filter(|_| dropped > 0) else {
            return 0;
        };
        if size == 1 {
            self.first = rest.pop_back();
            self.free(memory);
            return dropped;
        }
        if discard_oldest {
            rest.drain(..dropped - 1);
            self.first = rest.pop_front();
            if let Some(oldest) = &mut self.first {
                oldest.overflowed();
            }
        } else if let Some(mut newest) = rest.pop_back() {
            rest.truncate(size - 2);
            newest.overflowed();
            rest.push_back(newest);
        }
        let before = rest.capacity();
        rest.shrink_to_fit();
        let now = rest.capacity();
        memory.correct(before * size_of::<T>(), now * size_of::<T>());
        dropped
    }
}

/// What a value that had to make room counts as: in a queue of one it is replaced, in a longer
/// one it overflows (Part 4, 5.13.1.5).
pub fn dropped(values: &mut Values, size: usize) -> &mut u64 {
    match size {
        0 | 1 => &mut values.overwritten,
        _ => &mut values.overflowed,
    }
}

#[cfg(test)]
mod tests {
    use wire::budget::{Budget, STEP};

    use super::*;

    fn entry(n: u64) -> Entry {
        Entry {
            seen: ItemValue::Bits(BuiltInType::UInt32, n),
            status: 0,
            source: 0,
            server: 0,
        }
    }

    fn after(size: usize, discard_oldest: bool, values: std::ops::Range<u64>) -> Vec<(u64, bool)> {
        let mut queue = Queue::default();
        for n in values {
            queue.push(entry(n), size, discard_oldest, &Memory::default());
        }
        std::iter::from_fn(|| queue.pop(&Memory::default()))
            .map(told)
            .collect()
    }

    fn told(entry: Entry) -> (u64, bool) {
        match entry.seen {
            ItemValue::Bits(_, n) => (n, entry.status == OVERFLOW),
            _ => panic!(),
        }
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
        let memory = Memory::default();
        for discard_oldest in [true, false] {
            for (from, size) in [(4, 1), (4, 2), (9, 3), (9, 8), (3, 9)] {
                let mut queue = Queue::default();
                for n in 0..from {
                    assert!(queue.push(entry(n), 9, true, &memory));
                }
                // What comes of a queue that was so small from the start.
                let wanted = after(size, discard_oldest, 0..from);
                let dropped = queue.resize(size, discard_oldest, &memory);
                assert_eq!(dropped, (from as usize).saturating_sub(size));
                let left = std::iter::from_fn(|| queue.pop(&memory)).map(told);
                assert_eq!(left.collect::<Vec<_>>(), wanted, "{from} {size}");
                queue.clear(&memory);
            }
        }
        assert_eq!(memory.bytes(), 0);
    }

    #[test]
    fn a_queue_for_which_there_is_no_memory_overflows_before_it_is_full() {
        let budget = Budget::of(STEP);
        let memory = Memory::default();
        memory.draw_on(budget.hold());
        let most = 2 * STEP / size_of::<Entry>();
        for discard_oldest in [true, false] {
            let mut queue = Queue::default();
            let kept =
                (0..10_000).filter(|n| queue.push(entry(*n), 10_000, discard_oldest, &memory));
            let kept = kept.count();
            assert!((4..most).contains(&kept), "{kept}");
            assert_eq!(queue.len(), kept);
            let told = std::iter::from_fn(|| queue.pop(&memory)).map(told);
            let told: Vec<_> = told.collect();
            let flagged = told.iter().position(|(_, overflow)| *overflow);
            match discard_oldest {
                true => assert_eq!((told[kept - 1], flagged), ((9_999, false), Some(0))),
                false => assert_eq!((told[kept - 1], flagged), ((9_999, true), Some(kept - 1))),
            }
            queue.clear(&memory);
        }
        assert_eq!((memory.bytes(), budget.held()), (0, 0));
    }
}
