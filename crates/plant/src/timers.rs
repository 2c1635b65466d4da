//! What has to be done when: a heap, in which what is no longer due is skipped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use wire::time::Instant;

use crate::slots::SlotId;
use crate::subscription::Subscription;

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
    /// How many of the others were there after the last look at whom they are for.
    kept: usize,
}

/// Fewer are not worth a look.
const FEW: usize = 1024;

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

    /// Has a subscription looked at when it has to be.
    pub fn follow(&mut self, subscription: &mut Subscription) {
        let due = subscription.due();
        if subscription.wake != due {
            subscription.wake = due;
            self.add(due, Due::Subscription(subscription.id));
        }
    }

    /// Whether there are so many that some may be for those who are gone: channels live for an hour, and whoever opens
    /// a thousand in a second leaves a thousand moments behind.
    pub fn are_many(&self) -> bool {
        self.others.len() >= FEW.max(2 * self.kept)
    }

    /// Forgets those that nobody waits for.
    pub fn retain(&mut self, awaited: impl Fn(Instant, Due) -> bool) {
        self.others.retain(|Reverse((at, due))| awaited(*at, *due));
        self.kept = self.others.len();
        self.others.shrink_to(FEW.max(2 * self.kept));
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

    /// Whether it is time for something.
    pub fn are_due(&self, now: Instant) -> bool {
        self.wake().is_some_and(|at| at <= now)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn link(slot: u32) -> Due {
        Due::Link(SlotId {
            slot,
            generation: 0,
        })
    }

    #[test]
    fn those_who_come_and_go_leave_no_more_than_are_there_twice_over() {
        let mut timers = Timers::default();
        let mut most = 0;
        for n in 0..100_000_u32 {
            let at = Instant::from_nanos(u64::from(n) + 3_600_000_000_000);
            timers.add(at, link(n));
            if timers.are_many() {
                // Five hundred are still there.
                timers.retain(|_, due| due > link(n.saturating_sub(500)));
            }
            most = most.max(timers.others.len());
        }
        assert!(most <= 1024, "{most}");
        assert!(timers.others.capacity() <= 4096);
        // What is left comes in its order still.
        let later = Instant::from_nanos(u64::MAX);
        let mut left = Vec::new();
        while let Some((at, _)) = timers.pop(later) {
            left.push(at);
        }
        assert!(left.len() >= 500 && left.is_sorted());
    }

    #[test]
    fn all_are_kept_that_somebody_waits_for() {
        let mut timers = Timers::default();
        for n in 0..10_000 {
            timers.add(Instant::from_nanos(1), link(n));
            if timers.are_many() {
                timers.retain(|_, _| true);
            }
        }
        assert_eq!(timers.others.len(), 10_000);
    }
}
