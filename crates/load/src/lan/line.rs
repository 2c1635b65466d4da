//! A socket of multicast DNS on one interface, of IPv4 or of IPv6.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use mio::net::UdpSocket;
use platform::multicast;
use socket2::{Domain, Protocol, Socket, Type};

use super::LanError;
use super::card::Card;

/// The groups of multicast DNS (RFC 6762, 3).
const GROUP_4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
const GROUP_6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfb);
/// Packets do not leave the link, and this number shows that they did not (RFC 6762, 11).
const HOPS: u32 = 255;
/// Packets that are taken from a socket before others have their turn.
const AT_ONCE: usize = 64;

/// A socket.
#[derive(Debug)]
pub struct Line {
    socket: UdpSocket,
    group: SocketAddr,
    /// The number of its interface.
    pub index: u32,
}

impl Line {
    /// One for each family that a card has an address of, at the port of multicast DNS, which others of this host may have as
    /// well. What does not work is left out.
    pub fn of(card: &Card) -> Result<Vec<Self>, LanError> {
        let (mut lines, mut last) = (Vec::new(), None);
        for four in [true, false] {
            if let Some(address) = card.of_family(four).next() {
                match Self::open(card.index, address) {
                    Ok(line) => lines.push(line),
                    Err(error) => last = Some(error),
                }
            }
        }
        match last {
            Some(error) if lines.is_empty() => Err(LanError::Silent {
                name: card.name.clone(),
                error,
            }),
            _ => Ok(lines),
        }
    }

    fn open(index: u32, address: IpAddr) -> io::Result<Self> {
        let group: SocketAddr = match address {
            IpAddr::V4(_) => (GROUP_4, mdns::PORT).into(),
            IpAddr::V6(_) => SocketAddrV6::new(GROUP_6, mdns::PORT, 0, index).into(),
        };
        let socket = Socket::new(Domain::for_address(group), Type::DGRAM, Some(Protocol::UDP))?;
        multicast::share_port(&socket)?;
        match address {
            IpAddr::V4(address) => {
                let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, mdns::PORT));
                socket.bind(&any.into())?;
                multicast::join_v4(&socket, GROUP_4, (index, address))?;
                socket.set_multicast_if_v4(&address)?;
                socket.set_multicast_ttl_v4(HOPS)?;
                socket.set_multicast_loop_v4(true)?;
            }
            IpAddr::V6(_) => {
                socket.set_only_v6(true)?;
                let group = SocketAddrV6::new(GROUP_6, mdns::PORT, 0, index);
                socket.bind(&multicast::place_v6(group).into())?;
                socket.join_multicast_v6(&GROUP_6, index)?;
                socket.set_multicast_if_v6(index)?;
                socket.set_multicast_hops_v6(HOPS)?;
                socket.set_multicast_loop_v6(true)?;
            }
        }
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: UdpSocket::from_std(socket.into()),
            group,
            index,
        })
    }

    /// Has a poll look at it.
    pub fn watch(&mut self, poll: &mio::Poll, token: usize) -> io::Result<()> {
        let token = mio::Token(token);
        poll.registry()
            .register(&mut self.socket, token, mio::Interest::READABLE)
    }

    /// To all on its link.
    pub fn to_all(&self, bytes: &[u8]) -> io::Result<()> {
        self.to(bytes, self.group)
    }

    /// To one.
    pub fn to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        self.socket.send_to(bytes, to).map(drop)
    }

    /// Hands over what came, and from whom; whether there may be more. Nothing that comes breaks a socket.
    pub fn receive(&self, buffer: &mut [u8], mut take: impl FnMut(&[u8], SocketAddr)) -> bool {
        for _ in 0..AT_ONCE {
            match self.socket.recv_from(buffer) {
                Ok((len, from)) => take(buffer.get(..len).unwrap_or_default(), from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // A host that could not be reached is told of by the next call.
                Err(_) => {}
            }
        }
        true
    }

    /// Whether it is of IPv4.
    pub fn is_v4(&self) -> bool {
        self.group.is_ipv4()
    }
}
