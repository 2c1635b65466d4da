//! What lies between two looks.

use std::time::Instant;

use plan::unit::duration::nanos;
use record::run::Figure;

/// The later figure less the earlier one.
pub fn less(later: &observe::Figure<u64>, earlier: &observe::Figure<u64>) -> observe::Figure<u64> {
    Ok(later.clone()?.saturating_sub(earlier.clone()?))
}

/// Nanoseconds of CPU in so much time, as cores.
pub fn cores(ns: observe::Figure<u64>, over_ns: u64) -> Figure<f64> {
    Figure::from(ns.map(|ns| ns as f64 / (over_ns as f64).max(1.0)))
}

/// Between two moments.
pub fn between(earlier: Instant, later: Instant) -> u64 {
    nanos(later.saturating_duration_since(earlier))
}
