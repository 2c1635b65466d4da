//! What has to be done when: a heap, in which what is no longer due is skipped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use wire::time::Instant;

use super::slots::SlotId;

/// Whose time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A connection: its channel was not opened or renewed in time.
    Link(SlotId),
    /// A session: nobody used it.
    Session(SlotId),
    /// Clients for whom there were no descriptors.
    Accept,
    /// A subscription: a publishing interval is over.
    Subscription(u32),
    /// A connection: something that a fault held back may go.
    Release(SlotId),
    /// Something goes wrong by the clock.
    Fault,
    /// The server is back after a fault took it away.
    Listen,
}

/// Moments to come.
#[derive(Debug, Default)]
pub struct Timers {
    releases: Heap,
    others: Heap,
}

type Heap = BinaryHeap<Reverse<(Instant, Due)>>;

/// The kernel wakes a poll up later than it was asked to by less than this, mostly.
const OVERSLEEP: Duration = Duration::from_micros(200);

impl Timers {
    /// Adds one. Whoever is told of it looks whether it is still due.
    pub fn add(&mut self, at: Instant, due: Due) {
        let heap = match due {
            Due::Release(_) => &mut self.releases,
            _ => &mut self.others,
        };
        heap.push(Reverse((at, due)));
    }

    /// The next one.
    pub fn next(&self) -> Option<Instant> {
        let first = |heap: &Heap| heap.peek().map(|Reverse((at, _))| *at);
        let both = [first(&self.releases), first(&self.others)];
        both.into_iter().flatten().min()
    }

    /// One that is due, and since when.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Due)> {
        if self.next()? > now {
            return None;
        }
        let heap = match self.released_first() {
            true => &mut self.releases,
            false => &mut self.others,
        };
        heap.pop().map(|Reverse(entry)| entry)
    }

    fn released_first(&self) -> bool {
        match (self.releases.peek(), self.others.peek()) {
            (Some(Reverse(release)), Some(Reverse(other))) => release < other,
            (release, _) => release.is_some(),
        }
    }

    /// When to wake up. What a fault holds back goes to the microsecond: the last bit of that is
    /// waited for without sleeping.
    pub fn wake(&self) -> Option<Instant> {
        let next = self.next()?;
        let release = self.releases.peek().map(|Reverse((at, _))| {
            let early = at.as_nanos().saturating_sub(OVERSLEEP.as_nanos() as u64);
            Instant::from_nanos(early)
        });
        Some(release.map_or(next, |release| release.min(next)))
    }
}
