//! What is not there, in virtual time: plants as discrete events, and the real protocol over TCP over a link.
//!
//! The crate is pure: no sockets, no threads, no clock, no files. Time is whole nanoseconds of a clock of its own, chance
//! comes from a seed: the same [`World`] gives the same [`Outcome`], bit for bit, on every machine.
//!
//! - [`World`] says what there is: [`Link`]s, [`Kind`]s of servers with their clients, and [`Happening`]s;
//! - [`Engine`] lets its time pass;
//! - [`Outcome`] is what came of it, as ledgers that a run file is made of;
//! - [`Queue`] holds what is due;
//! - [`protocol`] is our client and our server, talking over a link;
//! - [`tcp`] is TCP over a link, in a time of its own.

mod engine;
mod event;
mod outcome;
pub mod protocol;
mod queue;
mod recorders;
mod session;
pub mod tcp;
mod world;

pub use engine::Engine;
pub use event::{Event, What};
pub use outcome::{Busy, Group, LinkUse, Mark, Outcome, Totals};
pub use queue::Queue;
pub use world::{
    Act, BackOff, Client, Connect, ConnectCost, Files, Happening, Kind, Link, On, Phases,
    Publishing, Requests, Updates, World, WorldError,
};
