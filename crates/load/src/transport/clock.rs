//! The two clocks and the random source that `wire` takes as arguments.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use wire::channel::Random;
use wire::time::{Instant as Mono, Now};

/// From 1601-01-01 to 1970-01-01 in ticks of 100 ns (Part 6, 5.2.2.5).
const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;

/// Where monotonic time begins in this process. One for all, so that what one thread notes down
/// another can compare.
static EPOCH: OnceLock<Instant> = OnceLock::new();

/// This process's clock: monotonic time from the first time that it was asked, and the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// The clock.
    pub fn new() -> Self {
        Self {
            epoch: *EPOCH.get_or_init(Instant::now),
        }
    }

    /// Both clocks.
    pub fn now(&self) -> Now {
        Now {
            mono: self.mono(),
            utc: utc_ticks(),
        }
    }

    /// Monotonic time alone.
    #[inline]
    pub fn mono(&self) -> Mono {
        let elapsed = self.epoch.elapsed();
        // Wraps after 584 years.
        Mono::from_nanos(elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos()))
    }

    /// A point of time of the system's monotonic clock.
    pub fn at(&self, at: Instant) -> Mono {
        let elapsed = at.saturating_duration_since(self.epoch);
        Mono::from_nanos(0) + elapsed
    }

    /// The same point of time on the system's monotonic clock.
    pub fn instant(&self, at: Mono) -> Instant {
        self.epoch + at.since(Mono::from_nanos(0))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

fn utc_ticks() -> i64 {
    // A clock before 1970 is wrong, and 1970 says so to whoever looks at it.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ticks = since.map_or(0, |since| since.as_nanos() / 100);
    UNIX_EPOCH_TICKS.saturating_add(i64::try_from(ticks).unwrap_or(i64::MAX))
}

/// Nanoseconds since 1970 of a DateTime of the wire; 0 of what is before.
pub fn unix_nanos(ticks: i64) -> u64 {
    let since = ticks.saturating_sub(UNIX_EPOCH_TICKS);
    u64::try_from(since).unwrap_or_default().saturating_mul(100)
}

/// Fills bytes that must not be guessed; without a source they are zeros, which a peer would refuse.
pub fn fill(bytes: &mut [u8]) {
    let filled = SystemRandom::new().fill(bytes);
    debug_assert!(filled.is_ok());
}

/// The operating system's random source, for nonces.
pub fn random() -> Random {
    let system = SystemRandom::new();
    Box::new(move |bytes| {
        // The system's source does not fail once it is seeded; a nonce of zeros would be
        // refused by the peer rather than be used.
        let filled = system.fill(bytes);
        debug_assert!(filled.is_ok());
    })
}
