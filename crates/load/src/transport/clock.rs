//! The two clocks and the random source that `wire` takes as arguments.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use wire::channel::Random;
use wire::time::{Instant as Mono, Now};

/// From 1601-01-01 to 1970-01-01 in ticks of 100 ns (Part 6, 5.2.2.5).
const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;

/// This process's clock: monotonic time from its own beginning, and the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// Starts at zero.
    pub fn start() -> Self {
        Self {
            epoch: Instant::now(),
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
    pub fn mono(&self) -> Mono {
        let nanos = self.epoch.elapsed().as_nanos();
        Mono::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

fn utc_ticks() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ticks = since.map_or(0, |since| since.as_nanos() / 100);
    UNIX_EPOCH_TICKS.saturating_add(i64::try_from(ticks).unwrap_or(i64::MAX))
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
