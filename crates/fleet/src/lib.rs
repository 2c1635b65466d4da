//! Load from several hosts with one result.
//!
//! A [`Controller`] shares out the sessions of a plan; an [`Agent`] carries its share out on its host. Both are
//! state machines without sockets, threads and clock: they are told what came and what time it is
//! (`receive`, `closed`, `handle_timeout`), and are asked for what follows (`poll_transmit`, `poll_event`,
//! `poll_timeout`). Whoever has a pipe, an ssh or a broker carries the [`frame`]s between them.
//!
//! What an agent is to do and what came of it are bytes here: they belong to the program on both sides, whose
//! versions have to be the same.

mod agent;
mod clock;
mod controller;
mod deal;
pub mod frame;
pub mod line;
mod message;

pub use agent::{Agent, Task};
pub use clock::{Band, Bands, Exchange, Stamp};
pub use controller::{Controller, Event, Settings, Stage};
pub use deal::deal;
pub use message::{FromAgent, Hello, Proof, Share, ToAgent};
