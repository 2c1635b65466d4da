//! Results for people and for machines.
//!
//! - [`summary`] is one run on a screen, the verdict first; [`show`] is one or several;
//! - [`live`] is the line that changes while a phase runs;
//! - [`csv`] is a row for each phase and metric.
//!
//! A report never asks a core; everything comes out of a [`record::Run`]. No line is wider than
//! [`WIDTH`].

mod asked;
pub mod csv;
pub mod cycles;
mod effective;
pub mod live;
mod page;
pub mod planned;
mod several;
mod style;
mod subscriptions;
mod summary;
mod sweep;
mod table;

pub use page::WIDTH;
pub use several::show;
pub use style::Style;
pub use summary::summary;
pub use sweep::{named, sweep};
