//! Aggregates (Part 13): what a stretch of time amounts to, for histories and for monitored items.
//!
//! A [`Fold`] takes the values of one interval, one after the other, and keeps sums instead of values. Values stay until the
//! next one comes (Stepped), so a bound is the value before it, and nothing has to be known of what comes after.

mod configuration;
mod fold;
mod function;
mod nodes;
mod processed;
mod sample;
mod sums;
#[cfg(test)]
mod tests;

pub use configuration::Configuration;
pub use fold::{Fold, Known, Outcome};
pub use function::Aggregate;
pub use nodes::announce;
pub use processed::Processed;
pub use sample::Sample;

/// Ticks of a second, and of a millisecond: times are in units of 100 ns.
const SECOND: f64 = 10_000_000.0;
const MILLISECOND: f64 = 10_000.0;
