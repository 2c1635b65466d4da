//! What a look at the clock costs.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Measured;
use crate::transport::Clock;

/// The clocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// Nanoseconds for the monotonic clock, which every operation is timed with.
    pub monotonic_ns: Measured,
    /// Nanoseconds for both clocks.
    pub both_ns: Measured,
    /// The smallest step between two looks that differ, in nanoseconds.
    pub step_ns: u64,
}

/// Measures the clocks for about as long as said.
pub fn clocks(budget: Duration) -> Clocks {
    let clock = Clock::new();
    let time = |look: &dyn Fn()| {
        let done = Measured::time::<Infallible>(budget / 2, || {
            look();
            Ok(())
        });
        match done {
            Ok(measured) => measured,
            Err(never) => match never {},
        }
    };
    let monotonic_ns = time(&|| {
        black_box(clock.mono());
    });
    let both_ns = time(&|| {
        black_box(clock.now());
    });
    let mut step_ns = u64::MAX;
    let mut last = clock.mono().as_nanos();
    for _ in 0..10_000 {
        let now = clock.mono().as_nanos();
        if now > last {
            step_ns = step_ns.min(now - last);
        }
        last = now;
    }
    Clocks {
        monotonic_ns,
        both_ns,
        step_ns,
    }
}
