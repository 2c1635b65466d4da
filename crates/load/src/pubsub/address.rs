//! `opc.udp://host:port` (Part 14, 7.3.2).

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// The port of PubSub over UDP (Part 14, 7.3.2.1).
pub(super) const PORT: u16 = 4840;

/// Where datagrams go to, or come to: one host or a multicast group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub SocketAddr);

/// Text that is no such address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It begins otherwise.
    #[error("{0:?} does not begin with opc.udp://")]
    Scheme(String),
    /// Nothing is called so.
    #[error("{host:?} is no host or port: {error}")]
    Host {
        /// As typed.
        host: String,
        /// What the system says.
        error: String,
    },
}

impl Address {
    /// Whether it is a group that many may join.
    pub fn is_multicast(self) -> bool {
        self.0.ip().is_multicast()
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(rest) = text.strip_prefix("opc.udp://") else {
            return Err(AddressError::Scheme(text.to_owned()));
        };
        let host = rest.trim_end_matches('/');
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return Ok(Self(SocketAddr::new(ip, PORT)));
        }
        let found = match host.rsplit_once(':') {
            Some(_) => host.to_socket_addrs(),
            None => (host, PORT).to_socket_addrs(),
        };
        let failed = |error: String| AddressError::Host {
            host: host.to_owned(),
            error,
        };
        let mut found = found.map_err(|error| failed(error.to_string()))?;
        let first = found.next();
        first.map(Self).ok_or_else(|| failed("no address".into()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "opc.udp://{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        let read = |text: &str| text.parse::<Address>().unwrap().to_string();
        assert_eq!(read("opc.udp://224.0.2.14"), "opc.udp://224.0.2.14:4840");
        assert_eq!(
            read("opc.udp://127.0.0.1:5000/"),
            "opc.udp://127.0.0.1:5000"
        );
        assert_eq!(read("opc.udp://[ff02::1]:5000"), "opc.udp://[ff02::1]:5000");
        assert_eq!(read("opc.udp://[::1]"), "opc.udp://[::1]:4840");
        assert!("opc.tcp://127.0.0.1".parse::<Address>().is_err());
        assert!("opc.udp://127.0.0.1:http".parse::<Address>().is_err());
        assert!(
            "opc.udp://224.0.2.14"
                .parse::<Address>()
                .unwrap()
                .is_multicast()
        );
    }
}
