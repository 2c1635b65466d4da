//! Tests only: what bytes of unauthenticated peers reach, as plain functions of any bytes.
//!
//! Each target panics when something is wrong and returns otherwise. `fuzz/` lets libFuzzer
//! look for bytes that make one panic; `tests/replay.rs` repeats what was found, and changes
//! the seeds for a while in an order that is always the same.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a target fails by panicking"
)]

pub mod allocated;
pub mod certificates;
pub mod change;
pub mod channel;
pub mod client;
pub mod frame;
mod hostile;
pub mod http;
pub mod json;
mod keys;
pub mod mdns;
pub mod mqtt;
pub mod plant;
mod script;
pub mod server;
pub mod services;
pub mod uadp;
pub mod uajson;

pub use script::is_chosen;

/// A target: its name, which is that of its folders in `fuzz/`, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All there are.
pub const TARGETS: [Target; 13] = [
    ("frame", frame::run),
    ("channel", channel::run),
    ("services", services::run),
    ("certificates", certificates::run),
    ("client", client::run),
    ("server", server::run),
    ("uadp", uadp::run),
    ("json", json::run),
    ("uajson", uajson::run),
    ("mdns", mdns::run),
    ("mqtt", mqtt::run),
    ("http", http::run),
    ("plant", plant::run),
];
