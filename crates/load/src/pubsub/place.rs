//! Where messages go without a broker: in datagrams, or in frames.

use std::fmt;
use std::str::FromStr;

use super::{Address, EthernetUrl};

/// Where datagrams or frames come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A host or a group, over UDP.
    Udp(Address),
    /// An address or an interface, over Ethernet.
    Ethernet(EthernetUrl),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(it) => it.fmt(f),
            Self::Ethernet(it) => it.fmt(f),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match EthernetUrl::is_one(text) {
            true => text
                .parse()
                .map(Self::Ethernet)
                .map_err(|error| format!("{error}")),
            false => text
                .parse()
                .map(Self::Udp)
                .map_err(|error| format!("{error}")),
        }
    }
}
