//! How exactly a thread of the generator is on time.

use std::time::Duration;

use mio::{Events, Poll, Token};
use serde::{Deserialize, Serialize};

use super::CalibrateError;
use crate::transport::{Clock, Timer};

/// How late a thread was for points of time at equal distances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pacing {
    /// Points of time per second.
    pub rate_per_s: u32,
    /// Whether it polled without sleeping.
    pub spin: bool,
    /// How many there were.
    pub count: u64,
    /// Half of them were less late, in nanoseconds.
    pub p50_ns: u64,
    /// 99 of 100 were.
    pub p99_ns: u64,
    /// 999 of 1000 were.
    pub p999_ns: u64,
    /// The latest.
    pub max_ns: u64,
}

/// Waits for `rate` points of time a second with the timer that loads are paced with.
pub fn pacing(rate: u32, spin: bool, length: Duration) -> Result<Pacing, CalibrateError> {
    let clock = Clock::new();
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(4);
    let mut timer = Timer::new(poll.registry(), Token(0), clock)?;
    let count = (u64::from(rate) as f64 * length.as_secs_f64())
        .ceil()
        .max(1.0) as u64;
    let mut late = Vec::with_capacity(count as usize);
    let start = clock.mono();
    for n in 1..=count {
        let due =
            start + Duration::from_nanos(n.saturating_mul(1_000_000_000) / u64::from(rate.max(1)));
        let now = loop {
            let now = clock.mono();
            if now >= due {
                break now;
            }
            let timeout = match spin {
                true => Some(Duration::ZERO),
                false => timer.until(due, now),
            };
            match poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                    return Err(error.into());
                }
                _ => {}
            }
        };
        late.push(now.nanos_since(due));
    }
    late.sort_unstable();
    // There is one at least.
    debug_assert_eq!(late.len() as u64, count.max(1));
    let at = |quantile: f64| {
        let rank = (quantile * count as f64).ceil() as usize;
        late.get(rank.saturating_sub(1))
            .copied()
            .unwrap_or_default()
    };
    Ok(Pacing {
        rate_per_s: rate,
        spin,
        count,
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        max_ns: at(1.0),
    })
}
