//! Walking a body sees what the full decoder sees, and never more than there is.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod any;
mod every;
mod golden;
mod hostile;
#[path = "../messages/mod.rs"]
mod messages;
mod requests;
mod responses;
#[path = "../sample/mod.rs"]
mod sample;
