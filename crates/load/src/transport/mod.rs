//! Where sockets live: OPC UA connections over TCP.
//!
//! [`Link`] is a connection driven by blocking calls, one at a time: for looking at a server,
//! setting a run up and tearing it down.

mod clock;
mod link;

pub use clock::{Clock, random};
pub use link::{CallError, Link, LinkError, Options, Step, Steps};
