//! What is due, the earliest first.
//!
//! A ring of buckets, each as wide as a few events are apart, holds what is due soon; the bucket whose turn it is is
//! sorted. What is due later than the ring reaches waits in a heap. An event costs the same however many wait
//! (`examples/speed.rs` measures it beside a heap alone).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::Event;

/// Buckets of the ring.
const BUCKETS: usize = 1 << 16;

/// No slot.
const NONE: u32 = u32::MAX;

/// What is due, the earliest first.
#[derive(Debug)]
pub struct Queue {
    /// Buckets are 2^shift nanoseconds wide.
    shift: u32,
    /// The first slot of each bucket.
    heads: Vec<u32>,
    /// A bit for each bucket that has any.
    taken: Vec<u64>,
    slots: Vec<Slot>,
    free: u32,
    /// The bucket whose turn it is, counted from time 0.
    turn: u64,
    /// Its events, the earliest last.
    sorted: Vec<Event>,
    /// Those that came to it during its turn.
    late: BinaryHeap<Reverse<Event>>,
    /// Those beyond the ring.
    far: BinaryHeap<Reverse<Event>>,
    in_ring: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    event: Event,
    next: u32,
}

impl Queue {
    /// An empty queue, made for about so many events a second.
    pub fn new(events_per_s: f64) -> Self {
        let apart = 1e9 / events_per_s.clamp(1.0, 1e9);
        // Two events or so in a bucket.
        let shift = (2.0 * apart).log2().floor().clamp(4.0, 30.0) as u32;
        Self {
            shift,
            heads: vec![NONE; BUCKETS],
            taken: vec![0; BUCKETS / 64],
            slots: Vec::new(),
            free: NONE,
            turn: 0,
            sorted: Vec::new(),
            late: BinaryHeap::new(),
            far: BinaryHeap::new(),
            in_ring: 0,
        }
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.in_ring + self.sorted.len() + self.late.len() + self.far.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Something will be due.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let bucket = event.at >> self.shift;
        if bucket <= self.turn {
            self.late.push(Reverse(event));
        } else if bucket - self.turn < BUCKETS as u64 {
            self.put(bucket, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// What is due first.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        loop {
            match (self.sorted.last(), self.late.peek()) {
                (Some(next), Some(Reverse(late))) if late < next => {
                    return self.late.pop().map(|Reverse(event)| event);
                }
                (Some(_), _) => return self.sorted.pop(),
                (None, Some(_)) => return self.late.pop().map(|Reverse(event)| event),
                (None, None) => {}
            }
            if !self.advance() {
                return None;
            }
        }
    }

    #[inline]
    fn put(&mut self, bucket: u64, event: Event) {
        let place = bucket as usize % BUCKETS;
        let next = self.heads[place];
        let slot = match self.free {
            NONE => {
                self.slots.push(Slot { event, next });
                (self.slots.len() - 1) as u32
            }
            free => {
                let slot = &mut self.slots[free as usize];
                self.free = slot.next;
                *slot = Slot { event, next };
                free
            }
        };
        self.heads[place] = slot;
        self.taken[place / 64] |= 1 << (place % 64);
        self.in_ring += 1;
    }

    /// Turns to the next bucket that has events; false if there is none.
    fn advance(&mut self) -> bool {
        match (self.in_ring, self.far.peek()) {
            (0, None) => return false,
            (0, Some(Reverse(first))) => self.turn = first.at >> self.shift,
            _ => self.turn = self.next_taken(),
        }
        // The ring reaches further now.
        while let Some(Reverse(first)) = self.far.peek() {
            let bucket = first.at >> self.shift;
            if bucket.saturating_sub(self.turn) >= BUCKETS as u64 {
                break;
            }
            if let Some(Reverse(event)) = self.far.pop() {
                self.put(bucket, event);
            }
        }
        let place = self.turn as usize % BUCKETS;
        let mut at = std::mem::replace(&mut self.heads[place], NONE);
        self.taken[place / 64] &= !(1 << (place % 64));
        while at != NONE {
            let slot = &mut self.slots[at as usize];
            self.sorted.push(slot.event);
            let next = std::mem::replace(&mut slot.next, self.free);
            self.free = at;
            at = next;
            self.in_ring -= 1;
        }
        if self.sorted.len() > 1 {
            self.sorted.sort_unstable_by(|a, b| b.cmp(a));
        }
        true
    }

    /// The next bucket with events; there is one.
    fn next_taken(&self) -> u64 {
        let from = (self.turn + 1) as usize % BUCKETS;
        let words = self.taken.len();
        let mut word = from / 64;
        let mut bits = self.taken[word] & (u64::MAX << (from % 64));
        for _ in 0..=words {
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (place + BUCKETS - from) % BUCKETS;
                return self.turn + 1 + ahead as u64;
            }
            word = (word + 1) % words;
            bits = self.taken[word];
        }
        self.turn + 1
    }
}

#[cfg(test)]
mod tests {
    use plan::Random;

    use super::*;
    use crate::event::What;

    #[test]
    fn events_come_in_the_order_of_a_heap() {
        for per_s in [1.0, 1e3, 1e6, 1e9] {
            let (mut queue, mut heap) = (Queue::new(per_s), BinaryHeap::new());
            let mut random = Random::new(5);
            let mut now = 0;
            for n in 0..200_000_u32 {
                let ahead = match random.next_u64() % 4 {
                    0 => 0,
                    1 => random.next_u64() % 1_000,
                    2 => random.next_u64() % 10_000_000,
                    _ => random.next_u64() % 100_000_000_000,
                };
                let event = Event::new(now + ahead, What::Publish, 0, n % 1_000);
                queue.push(event);
                heap.push(Reverse(event));
                if n % 3 != 0 {
                    let next = heap.pop().map(|Reverse(it)| it);
                    assert_eq!(queue.pop(), next);
                    now = next.map_or(now, |it| it.at);
                }
            }
            while let Some(Reverse(next)) = heap.pop() {
                assert_eq!(queue.len(), heap.len() + 1);
                assert_eq!(queue.pop(), Some(next));
            }
            assert!(queue.is_empty());
            assert_eq!(queue.pop(), None);
        }
    }
}
