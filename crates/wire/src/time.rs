//! Time as an argument: the crate never reads a clock.

use std::ops::Add;
use std::time::Duration;

/// A point in monotonic time, in nanoseconds from an epoch the caller chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// Nanoseconds since the caller's epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the caller's epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this point, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    /// The same in nanoseconds.
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates at the far end of time, so that "never times out" needs no special case.
    fn add(self, by: Duration) -> Self {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

/// What the caller's two clocks show at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// For deadlines and lifetimes.
    pub mono: Instant,
    /// For timestamps in messages: 100 ns ticks since 1601-01-01 UTC (Part 6, 5.2.2.5).
    pub utc: i64,
}
