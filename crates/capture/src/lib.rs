//! Captures: [`reader`] takes packets out of pcap and pcapng files, [`Recorder`] writes what connections sent and got
//! as TCP segments into a pcapng file, with the keys of their channels.
//!
//! The segments are made: [`block`] is the file's format, [`segment`] the headers of IP and TCP, [`conversation`] the
//! numbers and flags of a connection, [`keys`] the key log that Wireshark reads. None of these touches a file.

pub mod block;
pub mod conversation;
pub mod keys;
mod queue;
pub mod reader;
mod recorder;
pub mod segment;
mod tap;
mod writer;

pub use recorder::{Recorder, Recording};
pub use tap::Tap;
pub use writer::Outcome;
