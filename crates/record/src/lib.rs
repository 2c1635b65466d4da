//! What happened: histograms, counters, series, and the result file.
//!
//! A [`Ledger`] belongs to one core and one phase and shares nothing. It is told what happened and
//! when, in nanoseconds since the phase began; there is no clock here. When the phase is over it
//! becomes a [`Tally`]; tallies of several cores are merged, and what comes out is the same for any
//! number of cores, bit for bit. Memory depends on how long a phase is and how widely its times
//! spread, not on how many operations it had.
//!
//! What subscriptions bring goes into a [`NotificationLedger`], which gives every value its place.
//!
//! Everything that is known in the end is a [`Run`]: the result file, and the only place that knows
//! its format.

pub mod attack;
pub mod average;
pub mod hgrm;
pub mod histogram;
pub mod hlog;
pub mod ledger;
pub mod notification_ledger;
mod progress;
pub mod run;
pub mod samples;
pub mod security;
pub mod sweep;
mod time;
pub mod underway;

pub use histogram::{Histogram, HistogramError};
pub use ledger::{Closed, Lateness, Ledger, Measure, Tally, Times, Window};
pub use notification_ledger::NotificationLedger;
pub use progress::{Progress, Sendings};
pub use run::Run;
pub use samples::{Samples, Sheet};
pub use sweep::Sweep;
pub use time::{BadTimestamp, Timestamp};
pub use underway::Underway;
