//! Quantities as people type and read them: durations, rates, sizes, rates of lines, percents.
//!
//! | quantity | typed | kept as | shown |
//! |---|---|---|---|
//! | duration | `250us`, `1.5s`, `5m` | [`std::time::Duration`] | `250 µs` |
//! | rate | `100/s`, `5k/s`, `1/m` | [`Rate`], an exact fraction | `5k/s` |
//! | size | `64KiB`, `10kB`, `512B` | [`Bytes`] | `64 KiB` |
//! | rate of a line | `2Mbit/s` | [`BitRate`] | `2 Mbit/s` |
//! | percent | `1%` | [`Percent`] | `1%` |
//! | share of a whole, busy cores | | `f64` | [`99.2 %`](share) |

mod bits;
mod decimal;
pub mod duration;
pub mod energy;
mod percent;
mod rate;
pub mod share;
mod size;

use thiserror::Error;

pub use bits::BitRate;
pub use percent::Percent;
pub use rate::Rate;
pub use size::Bytes;

/// Why a text is no such quantity.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{text:?} is no {what} (want {want})")]
pub struct UnitError {
    /// The quantity that was expected.
    pub what: &'static str,
    /// What was typed.
    pub text: String,
    /// What is allowed, with examples.
    pub want: &'static str,
}

/// A number for people: three digits, never more than needed.
fn three_digits(value: f64) -> String {
    // By what is left after rounding: 9.996 has two digits before its point.
    let digits = match value.abs() {
        v if v >= 99.95 || v.fract() == 0.0 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}
