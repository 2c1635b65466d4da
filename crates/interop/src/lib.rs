//! Tests only: everything that needs another vendor's stack stands in `tests/` of this crate.
//!
//! A stack that is not there is installed; one that cannot be had is skipped with
//! `SKIPPED name: reason: command`, and fails the test when the environment says `CI=true`.
//!
//! The library is the tables of `docs/interop.md`. A [`Cell`] is tried by our client on another
//! stack's server ([`Ours`]) and by its client on our server ([`Theirs`]); what came of it is
//! compared with what is [`known`], and [`page`] writes that down. The other stacks among themselves
//! are [`pairs`]; what clients find beside values is [`beside`].
//! `cargo run -p interop --bin table` does all of it.

pub mod beside;
mod cell;
mod column;
pub mod known;
mod ours;
pub mod page;
pub mod pairs;
pub mod quirks;
mod theirs;
mod work;

pub use cell::{Cell, Complaint, Outcome, Work};
pub use column::{ColumnError, Extent, among_themselves, inward, out};
pub use ours::{Ours, SetupError};
pub use theirs::Theirs;
