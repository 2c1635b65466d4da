//! Results for people and for machines.
//!
//! - [`summary`] is one run on a screen, the verdict first; [`show`] is one or several;
//! - [`live`] is the line that changes while a phase runs;
//! - [`watch`] is the screen that a person has meanwhile;
//! - [`counted()`] is what the kernel and the processor counted of a process, in a line or two;
//! - [`limited_by`] says what limited a phase, in a sentence;
//! - [`csv`] is a row for each phase and metric, [`junit()`] a test case for each threshold;
//! - [`repeated`] is a study's experiment in Markdown, with pictures;
//! - [`html()`] is one file to look at, [`compared()`] a comparison for the screen and for the page;
//! - [`pictures`] is what a page shows that is of no run: curves with bands, bars;
//! - [`running`] is what other programs read while a phase runs, [`family`] the forms in which they read it.
//!
//! A report never asks a core; everything comes out of a [`record::Run`]. No line is wider than
//! [`WIDTH`].

mod attack;
mod bottleneck;
pub mod compared;
mod comparison;
mod counters;
pub mod csv;
pub mod cycles;
mod diagnostics;
mod effective;
pub mod family;
mod hosts;
mod html;
mod internals;
mod junit;
mod link_test;
pub mod live;
mod markdown;
mod metric;
mod page;
pub mod pictures;
pub mod planned;
mod points;
mod pubsub;
mod resources;
pub mod running;
mod security;
mod several;
mod steps;
mod style;
mod subscriptions;
mod summary;
mod sweep;
mod table;
pub mod trend;
pub mod trends;
mod unit;
pub mod watch;
mod workload;

pub use attack::attack;
pub use bottleneck::{limited_by, limited_by_row};
pub use compared::{Compared, compared};
pub use comparison::Comparison;
pub use counters::counted;
pub use html::{
    Repeated, attack_html, compared_html, html, pictures_html, repeated, security_html, shapes,
    trends_html,
};
pub use internals::lines as internals;
pub use junit::{Unmeasured, junit};
pub use link_test::link_test;
pub use markdown::{escaped, markdown};
pub use page::{WIDTH, grouped};
pub use points::Named;
pub use security::security;
pub use several::show;
pub use style::Style;
pub use summary::{summary, verdict_line};
pub use sweep::{named, sweep};
pub use trends::{Trends, trends};
