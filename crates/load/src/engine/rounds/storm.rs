//! A storm: everybody comes once, all stay, all leave together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plan::unit::duration::nanos;

use super::super::held::Held;

/// What the threads of a storm know of each other.
#[derive(Debug)]
pub struct Storm {
    /// Sessions that are still to come.
    left: AtomicU64,
    /// Sessions that are there.
    there: AtomicU64,
    /// When the last one came or was given up; the far end of time before.
    complete: AtomicU64,
    /// When they were let go before their time.
    stopped: AtomicU64,
    hold: u64,
}

impl Storm {
    /// So many sessions, to be held for so long.
    pub fn of(sessions: u64, hold: Duration) -> Self {
        Self {
            left: AtomicU64::new(sessions),
            there: AtomicU64::new(0),
            complete: AtomicU64::new(u64::MAX),
            stopped: AtomicU64::new(u64::MAX),
            hold: nanos(hold),
        }
    }

    /// One has come, or could not. Tells whether it was the last one.
    pub fn came(&self, well: bool, t: u64) -> bool {
        self.there.fetch_add(u64::from(well), Ordering::Relaxed);
        self.leave_out(1, t)
    }

    /// So many will not come. Tells whether nobody else will.
    pub fn leave_out(&self, sessions: u64, t: u64) -> bool {
        let last = sessions > 0 && self.left.fetch_sub(sessions, Ordering::AcqRel) == sessions;
        if last {
            self.complete.store(t, Ordering::Release);
        }
        last
    }

    /// One that was there is not any more.
    pub fn lost(&self) {
        self.there.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether all are to leave.
    pub fn is_over(&self, t: u64) -> bool {
        t >= self.until()
    }

    /// A thread has seen the end, which comes early if somebody stopped it.
    pub fn stop(&self, t: u64) {
        self.stopped.fetch_min(t, Ordering::AcqRel);
    }

    fn until(&self) -> u64 {
        let complete = self.complete.load(Ordering::Acquire);
        complete.saturating_add(self.hold)
    }

    /// What was held, once it is over.
    pub fn held(&self) -> Held {
        let stopped = self.stopped.load(Ordering::Acquire);
        let to_ns = self.until().min(stopped);
        Held {
            sessions: self.there.load(Ordering::Acquire),
            from_ns: self.complete.load(Ordering::Acquire).min(to_ns),
            to_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_held_from_the_moment_when_the_last_one_came_or_failed() {
        let storm = Storm::of(3, Duration::from_nanos(100));
        assert!(!storm.came(true, 10));
        assert!(!storm.came(false, 20));
        assert!(!storm.is_over(1_000_000));
        assert!(storm.came(true, 30));
        assert!(!storm.is_over(129));
        assert!(storm.is_over(130));
        storm.stop(131);
        let held = Held {
            sessions: 2,
            from_ns: 30,
            to_ns: 130,
        };
        assert_eq!(storm.held(), held);
    }

    #[test]
    fn a_storm_that_is_stopped_is_over_then() {
        let storm = Storm::of(2, Duration::from_nanos(100));
        storm.came(true, 10);
        storm.stop(40);
        let held = storm.held();
        assert_eq!((held.sessions, held.from_ns, held.to_ns), (1, 40, 40));
    }
}
