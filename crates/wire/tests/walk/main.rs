//! Walking a body sees what the full decoder sees, and never more than there is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod any;
mod hostile;
#[path = "../messages/mod.rs"]
mod messages;
mod requests;
mod responses;
