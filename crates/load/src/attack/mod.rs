//! What clients that misbehave do to those that do not: for servers of one's own.
//!
//! A good client reads at a rate and subscribes, others come for a session and go. After a while of calm a kind of
//! attack is made beside them, at a rate of its own and bounded in time and number; then it is calm again. Whether a server
//! may be attacked at all is for the caller to decide: nothing here asks.

mod attack_state;
mod attacker;
mod examined;
mod forged;
mod good;
mod kind;
pub mod legal;
pub mod raw;
mod schedule;
mod watched;
mod way;
mod whose;

pub use examined::{Moment, Observers, TargetServer, examine};
pub use good::{Good, SETTLING};
pub use kind::Kind;
pub use schedule::Schedule;
pub use watched::{Limits, Look};
