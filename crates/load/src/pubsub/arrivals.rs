//! Datagrams that the kernel hands over together: one call for all that wait costs less than one for each.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{SystemTime, UNIX_EPOCH};

use platform::datagram::{DatagramInfo, Receiver};

use super::ethernet_url::Vlan;

/// So many are taken together at most.
pub use platform::datagram::MOST;
/// No datagram is longer.
const LONGEST: usize = 65_536;
/// From the place of one to that of the next. At a power of two the beginnings of all of them, which are what is read,
/// would have the same few lines of a cache.
const STRIDE: usize = LONGEST + 1_536;

/// In nanoseconds since 1970, as the kernel's stamps are.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX))
}

/// A datagram that came.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceivedDatagram {
    /// Its bytes.
    pub len: usize,
    /// When the kernel had it, in nanoseconds since 1970, if it says so.
    pub stamp: Option<u64>,
    /// Who sent it.
    pub source: Option<Source>,
    /// From which port, if it has one.
    pub port: u16,
    /// The VLAN of a frame, if it was in one.
    pub vlan: Option<Vlan>,
    /// Whether that was this host, whose clock is the same then.
    pub here: bool,
}

impl ReceivedDatagram {
    /// Where it was sent from.
    pub fn from(&self) -> Option<SocketAddr> {
        match self.source {
            Some(Source::Ip(ip)) => Some(SocketAddr::new(ip, self.port)),
            _ => None,
        }
    }
}

/// Where a datagram or frame was sent from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A host.
    Ip(IpAddr),
    /// An interface, by Ethernet without IP.
    Mac([u8; 6]),
}

impl Source {
    /// Whether it is the host that received it.
    pub fn is_this_host(self) -> bool {
        matches!(self, Self::Ip(it) if it.is_loopback())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(it) => it.fmt(f),
            Self::Mac([a, b, c, d, e, g]) => {
                write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
            }
        }
    }
}

/// What a socket gives.
#[derive(Debug)]
pub enum Link {
    /// Datagrams.
    Datagrams,
    /// Ethernet frames; interfaces of this host have these addresses.
    Frames(Vec<[u8; 6]>),
}

/// Room for datagrams that come together, and what the kernel says of each.
#[derive(Debug)]
pub struct Arrivals {
    /// Pages of it that no datagram reached are not there.
    bytes: Vec<u8>,
    /// What came, and where in its place it begins.
    came: [(ReceivedDatagram, usize); MOST],
    count: usize,
    receiver: Receiver,
}

impl Arrivals {
    pub fn new() -> Self {
        Self {
            bytes: vec![0; MOST * STRIDE],
            came: [(ReceivedDatagram::default(), 0); MOST],
            count: 0,
            receiver: Receiver::default(),
        }
    }

    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What came, with the bytes of each.
    pub fn each(&mut self) -> impl Iterator<Item = (ReceivedDatagram, &mut [u8])> {
        let bytes = self.bytes.chunks_mut(STRIDE);
        let all = self.came.iter().take(self.count).zip(bytes);
        all.map(|((came, at), bytes)| {
            let bytes = bytes.get_mut(*at..at + came.len);
            (*came, bytes.unwrap_or_default())
        })
    }
    /// Waits as long as the socket does for a datagram, and takes all that wait then.
    pub fn fill(&mut self, socket: &UdpSocket, link: &Link) -> io::Result<()> {
        self.count = 0;
        let places = self.bytes.chunks_mut(STRIDE);
        let places = places.map(|it| it.get_mut(..LONGEST).unwrap_or_default());
        let (mut came, count) = (self.came.iter_mut(), &mut self.count);
        self.receiver.receive(socket, places, |told| {
            if let Some(place) = came.next() {
                *place = (told_of(told), 0);
                *count += 1;
            }
        })?;
        if let Link::Frames(own) = link {
            let places = self.bytes.chunks(STRIDE);
            for ((came, at), bytes) in self.came.iter_mut().take(self.count).zip(places) {
                *at = open(came, bytes.get(..came.len).unwrap_or_default(), own);
            }
        }
        Ok(())
    }
}

/// Reads what stands before the message in a frame, and says where the message begins.
fn open(came: &mut ReceivedDatagram, bytes: &[u8], own: &[[u8; 6]]) -> usize {
    let frame = super::frame::Frame::of(bytes);
    let at = frame.at.min(came.len);
    came.len -= at;
    came.source = Some(Source::Mac(frame.from));
    came.vlan = came.vlan.or(frame.vlan);
    came.here = own.contains(&frame.from);
    at
}

/// What the system says of a datagram.
fn told_of(told: DatagramInfo) -> ReceivedDatagram {
    let source = told.from.map(|it| Source::Ip(it.ip()));
    ReceivedDatagram {
        len: told.len,
        stamp: told.stamp,
        source,
        port: told.from.map_or(0, |it| it.port()),
        vlan: told.tag.map(Vlan::of_tag),
        here: source.is_some_and(Source::is_this_host),
    }
}
