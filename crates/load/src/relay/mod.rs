//! A link between sockets: connections that come here go on to a target, as slowly and as badly as a
//! [`link::Spec`] says.
//!
//! [`Relay`] is the link at work on the caller's thread; [`Background`] runs one on a thread of its own for as
//! long as it is kept. All connections share the link's two lines. The first bytes of a connection wait until
//! its beginning has crossed the link and come back: a client sees the time to connect there, not in its
//! `connect`, which the kernel of this host answers at once.

mod account;
mod background;
mod pump;
mod side;

pub use account::{Account, Carried};
pub use background::Background;
pub use pump::Relay;

use std::net::SocketAddr;

use link::Spec;
use wire::url::Url;

use crate::transport::{LinkError, look_up};

/// What a relay is to do.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where clients come to.
    pub listen: SocketAddr,
    /// Where they want to; one address after the other is tried.
    pub to: Vec<SocketAddr>,
    /// What lies between.
    pub spec: Spec,
    /// The seed of chance: the same one gives the same losses and jitter for the same packets.
    pub seed: u64,
    /// Connections at a time.
    pub connections: usize,
}

impl Settings {
    /// A link to a server.
    pub fn to(url: &Url, listen: SocketAddr, spec: Spec) -> Result<Self, LinkError> {
        Ok(Self {
            listen,
            to: look_up(url)?,
            spec,
            seed: 1,
            connections: 10_000,
        })
    }
}
