//! One clock for a server: monotonic, with one recorded anchor in real time.
//!
//! Timestamps are the anchor plus what the monotonic clock counted since, so they never jump and
//! the value of a counter gives the instant of its update.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use wire::time::{Instant, Now};

/// Ticks of 100 ns between 1601-01-01 and 1970-01-01 (Part 6, 5.2.2.5).
const UNIX_IN_TICKS: i64 = 116_444_736_000_000_000;

/// Where monotonic time and real time meet.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    runs: Runs,
    /// Real time at the origin, in ticks.
    utc: i64,
}

#[derive(Debug, Clone, Copy)]
enum Runs {
    /// By itself, from then on.
    Since(StdInstant),
    /// By hand: so many nanoseconds have passed.
    ByHand(&'static AtomicU64),
}

impl Clock {
    /// One that stands until it is [passed](Self::pass): a server in memory goes the same way each time. Its eight bytes are
    /// never given back, so that clocks can be copied.
    pub(crate) fn by_hand(utc: i64) -> Self {
        Self {
            runs: Runs::ByHand(Box::leak(Box::new(AtomicU64::new(1_000_000_000)))),
            utc,
        }
    }

    /// Nothing is done before then: one that goes by hand is put forward, of another one a moment passes.
    pub(crate) fn pass(&self, until: Instant) {
        match &self.runs {
            Runs::Since(_) => std::hint::spin_loop(),
            Runs::ByHand(passed) => {
                passed.fetch_max(until.as_nanos(), Ordering::Relaxed);
            }
        }
    }

    /// Whether it has to be put forward.
    pub(crate) fn is_by_hand(&self) -> bool {
        matches!(self.runs, Runs::ByHand(_))
    }

    /// Begins now.
    pub fn start() -> Self {
        Self {
            runs: Runs::Since(StdInstant::now()),
            utc: ticks(SystemTime::now()),
        }
    }

    /// What it shows.
    pub fn now(&self) -> Now {
        let elapsed = match &self.runs {
            Runs::Since(origin) => origin.elapsed(),
            Runs::ByHand(passed) => Duration::from_nanos(passed.load(Ordering::Relaxed)),
        };
        Now {
            mono: Instant::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
            utc: self.utc + ticks_of(elapsed),
        }
    }

    /// Real time at the origin of monotonic time, in ticks.
    pub fn anchor(&self) -> i64 {
        self.utc
    }
}

/// Processor time of this process, all threads.
pub fn process_cpu() -> Option<Duration> {
    platform::clock::process_cpu()
}

/// Processor time of the calling thread.
pub fn thread_cpu() -> Option<Duration> {
    platform::clock::thread_cpu()
}

fn ticks_of(time: Duration) -> i64 {
    i64::try_from(time.as_nanos() / 100).unwrap_or(i64::MAX)
}

/// Nanoseconds since 1970 of a time in ticks.
pub fn unix_ns(ticks: i64) -> i128 {
    i128::from(ticks - UNIX_IN_TICKS) * 100
}

/// Ticks of 100 ns since 1601.
pub fn ticks(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => UNIX_IN_TICKS + ticks_of(after),
        Err(before) => UNIX_IN_TICKS - ticks_of(before.duration()),
    }
}
