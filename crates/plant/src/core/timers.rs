//! What has to be done when: a heap, in which what is no longer due is skipped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wire::time::Instant;

use super::slots::SlotId;

/// Whose time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A connection: its channel was not opened or renewed in time.
    Link(SlotId),
    /// A session: nobody used it.
    Session(SlotId),
    /// A subscription: a publishing interval is over.
    Subscription(u32),
}

/// Moments to come.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<(Instant, Due)>>);

impl Timers {
    /// Adds one. Whoever is told of it looks whether it is still due.
    pub fn add(&mut self, at: Instant, due: Due) {
        self.0.push(Reverse((at, due)));
    }

    /// The next one.
    pub fn next(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// One that is due, and since when.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Due)> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
