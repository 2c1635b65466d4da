//! What happened: histograms, counters, series, and the result file.
//!
//! A [`Ledger`] belongs to one core and one phase and shares nothing. It is told what happened and
//! when, in nanoseconds since the phase began; there is no clock here. When the phase is over it
//! becomes a [`Tally`]; tallies of several cores are merged, and what comes out is the same for any
//! number of cores, bit for bit. Memory depends on how long a phase is and how widely its times
//! spread, not on how many operations it had.

pub mod histogram;
pub mod ledger;

pub use histogram::Histogram;
pub use ledger::{Closed, Lateness, Ledger, Measure, Tally, Times};
