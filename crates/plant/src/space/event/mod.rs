//! Events and conditions (Part 5, 6.4; Part 9): who raises what when, and what clients make of it.
//!
//! Like signals, events are functions of the clock: number `n` of a group is due at a time that
//! follows from its rate, so nothing is kept until somebody asks. Whoever watches looks back
//! at each publishing. What clients do to conditions is kept ([`condition`]), and the events that
//! come of it stand in a journal.

pub mod audit;
pub mod beat;
pub mod clause;
pub mod condition;
pub mod field;
pub mod kind;
pub mod like;
pub mod nodes;
pub mod operator;
pub mod source;
mod value;
mod world;

pub use audit::{Audit, Audits};
pub use beat::Beat;
pub use clause::EventFilter;
pub use condition::{ConditionAction, Refused};
pub use field::Field;
pub use kind::EventKind;
pub use source::{Group, Source};
pub use world::{Event, EventId, Events, Notice, Scope};
