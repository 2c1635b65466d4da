//! The class of traffic that packets say they are of (RFC 2474): switches and routers may prefer one.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use socket2::Socket;

/// A differentiated services code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dscp(u8);

/// Text that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no DSCP: want 0 to 63, or ef, va, le, cs0 to cs7, af11 to af43")]
pub struct DscpError(String);

/// Names with a rule of their own: RFC 3246, RFC 5865, RFC 8622.
const NAMED: [(&str, u8); 3] = [("ef", 46), ("va", 44), ("le", 1)];

impl FromStr for Dscp {
    type Err = DscpError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || DscpError(text.to_owned());
        let name = text.to_ascii_lowercase();
        if let Some((_, number)) = NAMED.into_iter().find(|(named, _)| *named == name) {
            return Ok(Self(number));
        }
        let number = match (name.strip_prefix("cs"), name.strip_prefix("af")) {
            // RFC 2474, 4.2.2.1.
            (Some(class), _) => match class.parse::<u8>() {
                Ok(class @ 0..=7) => class * 8,
                _ => return Err(refused()),
            },
            // RFC 2597, 6: a class, and how readily it is dropped.
            (_, Some(both)) => match both.as_bytes() {
                [class @ b'1'..=b'4', drop @ b'1'..=b'3'] => (class - b'0') * 8 + (drop - b'0') * 2,
                _ => return Err(refused()),
            },
            _ => name.parse().map_err(|_| refused())?,
        };
        (number <= 63).then_some(Self(number)).ok_or_else(refused)
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Dscp {
    /// Has a socket say so in each packet to such an address.
    pub(crate) fn mark(self, socket: &Socket, to: SocketAddr) -> io::Result<()> {
        let field = u32::from(self.0) << 2;
        platform::socket::mark(socket, to.is_ipv6(), field)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_the_rfcs() {
        for (text, number) in [
            ("0", 0),
            ("63", 63),
            ("EF", 46),
            ("va", 44),
            ("le", 1),
            ("cs6", 48),
            ("af11", 10),
            ("af32", 28),
            ("AF43", 38),
        ] {
            assert_eq!(text.parse(), Ok(Dscp(number)), "{text}");
        }
        for text in ["64", "-1", "", "cs8", "af14", "af51", "best"] {
            assert!(text.parse::<Dscp>().is_err(), "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_is_marked_in_either_version_of_ip() {
        use socket2::{Domain, Type};

        for kind in [Type::DGRAM, Type::STREAM] {
            for to in ["127.0.0.1:9", "[::1]:9"] {
                let to: SocketAddr = to.parse().unwrap();
                let Ok(socket) = Socket::new(Domain::for_address(to), kind, None) else {
                    // A machine without IPv6.
                    assert!(to.is_ipv6());
                    continue;
                };
                let dscp: Dscp = "ef".parse().unwrap();
                dscp.mark(&socket, to).unwrap();
                let field = match to {
                    SocketAddr::V4(_) => socket.tos_v4(),
                    SocketAddr::V6(_) => socket.tclass_v6(),
                };
                assert_eq!(field.unwrap(), 46 << 2);
            }
        }
    }
}
