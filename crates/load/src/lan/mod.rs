//! Servers on this network, by multicast DNS (Part 12, Annex C): who is there, without being touched, and how servers of
//! ours say that they are.

mod announce;
mod browse;
mod card;
mod line;

pub use announce::{Announced, Announcement, Announcer};
pub use browse::{LanReport, Server, Spoken, browse};
pub use card::Card;

use std::io;

use mdns::NameError;

/// Why nobody can be asked, or told.
#[derive(Debug, thiserror::Error)]
pub enum LanError {
    /// This host's interfaces cannot be listed.
    #[error("interfaces cannot be listed: {0}")]
    Interfaces(io::Error),
    /// It has no such interface.
    #[error("an interface {0} that is up is not there")]
    NoInterface(String),
    /// There is none that goes anywhere.
    #[error("no interface is up")]
    Nowhere,
    /// None of them takes part in multicast DNS.
    #[error("no interface takes multicast: {name}: {error}")]
    Silent {
        /// The last one that was tried.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// The system does not let wait for packets.
    #[error("cannot wait for packets: {0}")]
    Wait(io::Error),
    /// A name is none that can be announced.
    #[error("{name:?} cannot be announced: {error}")]
    Name {
        /// What was to be announced.
        name: String,
        /// What is wrong with it.
        error: NameError,
    },
}
