//! What results are worth.
//!
//! - [`Settling`] finds where a phase's warm-up ends and whether what follows stays as it is;
//! - [`Evidence`] holds what a verdict rests on; [`Judgement`] makes one of it, of subscriptions, of a person's changes and of
//!   what is [`Missing`];
//! - [`lower`] makes the verdict of a whole run INCOMPLETE where a phase is missing;
//! - [`effective_samples`] and [`quantile_interval`] say how well a percentile is known;
//! - [`bottleneck()`] names what limited a phase, with what speaks for and against each candidate;
//! - [`capacity::Search`] finds how much load meets an objective;
//! - [`compare`] holds runs against each other: better, worse, the same, or cannot tell;
//! - [`diagnostics`] holds a server's own counts beside ours;
//! - [`Slope`] says what each of many rounds leaves behind, and how well that is known;
//! - [`Line`] says what each of many costs in a sweep, and whether that is a straight line;
//! - [`attack`] says what misbehaving clients do to good ones;
//! - [`security`] says what messages cost under each protection, and what should be mended at a server;
//! - [`fn@pubsub`] says what a phase of PubSub is worth; [`Places`] where each value of a publisher ended;
//! - [`Shape`] says whether two curves go alike, whatever their heights;
//! - [`change`] finds where a figure changed over occasions;
//! - [`Average`] says how well the mean of samples is known that follow each other;
//! - [`Measured`] answers thresholds; [`Exit`] is what the program ends with.
//!
//! Everything is a pure function of what was recorded. `docs/measuring.md` explains each rule with its
//! threshold.

pub mod attack;
mod average;
mod bottleneck;
mod budget;
pub mod capacity;
pub mod change;
pub mod compare;
mod confidence;
pub mod diagnostics;
mod exit;
mod line;
mod places;
mod pubsub;
pub mod security;
mod shape;
mod slope;
mod steady;
mod threshold;
mod verdict;

pub use average::Average;
pub use bottleneck::{bottleneck, network_held};
pub use budget::budgets;
pub use confidence::{effective_samples, needed_for, quantile_interval};
pub use exit::Exit;
pub use line::Line;
pub use places::{ListenerCounts, NotOfOneTime, Places};
pub use pubsub::{delivered, expired, pubsub};
pub use shape::Shape;
pub use slope::Slope;
pub use steady::{Allowed, Drift, Outage, PhaseCourse, Settling};
pub use threshold::{Measured, expectations, figure_of};
pub use verdict::subscriptions;
pub use verdict::{
    CoreUse, EndedBy, Evidence, Judgement, Load, Missing, OwnLimit, ServerUse, Sessions, lower,
    worst,
};
