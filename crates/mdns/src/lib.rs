//! Multicast DNS (RFC 6762) with DNS-SD (RFC 6763), as OPC UA uses them (Part 12, Annex C): servers that are on this
//! network say so, and are found without being touched.
//!
//! There are no sockets and no clock: packets come and go as bytes, and time is an argument. One that cannot be read is
//! an error and changes nothing.
//!
//! - [`Name`] is a domain name;
//! - [`Packet`] is what is read and written, [`Record`] and [`Question`] what is in it;
//! - [`Kind`] is one of the services that OPC UA has names for;
//! - [`Browser`] asks who is there, and keeps what it hears;
//! - [`Responder`] announces servers, answers for them, and says when they go.

mod browser;
mod kind;
mod name;
mod packet;
mod responder;

pub use browser::{Browser, FoundServer};
pub use kind::{Kind, Text};
pub use name::{Name, NameError};
pub use packet::{ANY, Data, MOST, Packet, PacketError, Question, Record, TEXT};
pub use responder::{Offer, Responder};

/// The port that questions and answers go to, and come from.
pub const PORT: u16 = 5353;
