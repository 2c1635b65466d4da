//! One direction of a link at work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::link_direction::{LinkDirection, Outcome};
use crate::spec::Direction;

/// One direction of a link. Packets are a number of bytes and whatever the caller wants back when they arrive.
///
/// Times never go back: a caller that comes with an earlier one than before is taken to come now.
#[derive(Debug)]
pub struct Path<T> {
    passage: LinkDirection,
    pushed: u64,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    packets: Slots<T>,
}

/// A packet by the time of its arrival, and by its number among those of the same time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    arrives: u64,
    number: u64,
    slot: usize,
}

impl<T: Clone> Path<T> {
    /// A path; `which` tells the paths of one seed apart.
    pub fn new(direction: Direction, seed: u64, which: u64) -> Self {
        Self {
            passage: LinkDirection::new(direction, seed, which),
            pushed: 0,
            under_way: BinaryHeap::new(),
            packets: Slots::default(),
        }
    }

    /// A packet of so many bytes comes to the line.
    pub fn push(&mut self, now: u64, bytes: u64, packet: T) -> Outcome {
        let (outcome, twice) = self.passage.pass(now, bytes);
        if let Outcome::Sent { arrives, .. } = outcome {
            if twice {
                self.put(arrives, packet.clone());
            }
            self.put(arrives, packet);
        }
        outcome
    }

    /// A packet that has arrived by now, the earliest first.
    pub fn poll(&mut self, now: u64) -> Option<T> {
        if self.deadline()? > now {
            return None;
        }
        let Reverse(first) = self.under_way.pop()?;
        self.packets.take(first.slot)
    }

    /// When the next packet arrives.
    pub fn deadline(&self) -> Option<u64> {
        self.under_way.peek().map(|Reverse(first)| first.arrives)
    }

    /// Packets that are waiting or on their way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Bytes that wait for the line or are on it.
    pub fn queued(&self, now: u64) -> u64 {
        self.passage.queued(now)
    }

    /// Whether a packet would find no room. One that finds nothing before it always has room, as on a real line.
    pub fn is_full(&self, now: u64, bytes: u64) -> bool {
        self.passage.is_full(now, bytes)
    }

    /// When a packet finds room that finds none now, at the latest: then the line is free.
    pub fn free_at(&self) -> u64 {
        self.passage.free_at()
    }

    /// When so many bytes could be taken.
    pub fn room_at(&self, bytes: u64) -> u64 {
        self.passage.room_at(bytes)
    }

    fn put(&mut self, arrives: u64, packet: T) {
        let slot = self.packets.put(packet);
        self.pushed += 1;
        self.under_way.push(Reverse(UnderWay {
            arrives,
            number: self.pushed,
            slot,
        }));
    }
}

/// Packets under way, each in a place that is taken again.
#[derive(Debug)]
struct Slots<T> {
    all: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    fn put(&mut self, packet: T) -> usize {
        match self.free.pop() {
            Some(slot) => {
                if let Some(place) = self.all.get_mut(slot) {
                    *place = Some(packet);
                }
                slot
            }
            None => {
                self.all.push(Some(packet));
                self.all.len() - 1
            }
        }
    }

    fn take(&mut self, slot: usize) -> Option<T> {
        let packet = self.all.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(packet)
    }
}
