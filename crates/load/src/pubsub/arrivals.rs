//! Datagrams that the kernel hands over together: one call for all that wait costs less than one for each.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use super::ethernet_url::Vlan;

/// So many are taken together at most.
pub const MOST: usize = 32;
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
pub struct Came {
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

impl Came {
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
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    Frames(Vec<[u8; 6]>),
}

/// Room for datagrams that come together, and what the kernel says of each.
#[derive(Debug)]
pub struct Arrivals {
    /// Pages of it that no datagram reached are not there.
    bytes: Vec<u8>,
    /// What came, and where in its place it begins.
    came: [(Came, usize); MOST],
    count: usize,
    #[cfg(target_os = "linux")]
    headers: nix::sys::socket::MultiHeaders<nix::sys::socket::SockaddrStorage>,
}

impl Arrivals {
    pub fn new() -> Self {
        Self {
            bytes: vec![0; MOST * STRIDE],
            came: [(Came::default(), 0); MOST],
            count: 0,
            #[cfg(target_os = "linux")]
            headers: nix::sys::socket::MultiHeaders::preallocate(
                MOST,
                // A time, and of frames their tag. These always come, and nothing else does: the kernel notes how much
                // came where it finds how much room there is the next time, and `nix` leaves it so.
                Some(nix::cmsg_space!(nix::libc::timespec, [u8; BESIDE])),
            ),
        }
    }

    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What came, with the bytes of each.
    pub fn each(&mut self) -> impl Iterator<Item = (Came, &mut [u8])> {
        let bytes = self.bytes.chunks_mut(STRIDE);
        let all = self.came.iter().take(self.count).zip(bytes);
        all.map(|((came, at), bytes)| {
            let bytes = bytes.get_mut(*at..at + came.len);
            (*came, bytes.unwrap_or_default())
        })
    }
}

#[cfg(target_os = "linux")]
impl Arrivals {
    /// Waits as long as the socket does for a datagram, and takes all that wait then.
    pub fn fill(&mut self, socket: &std::net::UdpSocket, link: &Link) -> std::io::Result<()> {
        use nix::sys::socket::{MsgFlags, recvmmsg};
        use std::io::IoSliceMut;
        use std::os::fd::AsRawFd;
        self.count = 0;
        let mut places = self.bytes.chunks_mut(STRIDE);
        let mut slices: [[IoSliceMut<'_>; 1]; MOST] = std::array::from_fn(|_| {
            let place = places.next().and_then(|it| it.get_mut(..LONGEST));
            [IoSliceMut::new(place.unwrap_or_default())]
        });
        let (fd, flags) = (socket.as_raw_fd(), MsgFlags::MSG_WAITFORONE);
        let messages = match recvmmsg(fd, &mut self.headers, &mut slices, flags, None) {
            Ok(messages) => messages,
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for (message, came) in messages.zip(&mut self.came) {
            *came = (told(&message), 0);
            self.count += 1;
        }
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
#[cfg(target_os = "linux")]
fn open(came: &mut Came, bytes: &[u8], own: &[[u8; 6]]) -> usize {
    let frame = super::frame::Frame::of(bytes);
    let at = frame.at.min(came.len);
    came.len -= at;
    came.source = Some(Source::Mac(frame.from));
    came.vlan = came.vlan.or(frame.vlan);
    came.here = own.contains(&frame.from);
    at
}

/// What the kernel says of a datagram.
#[cfg(target_os = "linux")]
fn told(message: &nix::sys::socket::RecvMsg<'_, '_, nix::sys::socket::SockaddrStorage>) -> Came {
    use nix::sys::socket::ControlMessageOwned;
    let (mut stamp, mut vlan) = (None, None);
    for it in message.cmsgs().into_iter().flatten() {
        match it {
            ControlMessageOwned::ScmTimestampns(at) => {
                stamp = u64::try_from(at.tv_sec())
                    .ok()
                    .zip(u64::try_from(at.tv_nsec()).ok())
                    .map(|(seconds, nanos)| seconds * 1_000_000_000 + nanos);
            }
            ControlMessageOwned::Unknown(it) => vlan = beside(&it.data_bytes),
            _ => {}
        }
    }
    let source = message.address.and_then(|it| {
        let four = it.as_sockaddr_in();
        let four = four.map(|it| (IpAddr::V4(it.ip()), it.port()));
        let six = it.as_sockaddr_in6();
        four.or_else(|| six.map(|it| (IpAddr::V6(it.ip()), it.port())))
    });
    let port = source.map_or(0, |(_, port)| port);
    let source = source.map(|(ip, _)| Source::Ip(ip));
    Came {
        len: message.bytes,
        stamp,
        source,
        port,
        vlan,
        here: source.is_some_and(Source::is_this_host),
    }
}

/// Bytes of what is told beside a frame (`tpacket_auxdata`).
#[cfg(target_os = "linux")]
const BESIDE: usize = 20;

/// The tag that the kernel took out of a frame.
#[cfg(target_os = "linux")]
fn beside(data: &[u8]) -> Option<Vlan> {
    let data: &[u8; BESIDE] = data.first_chunk()?;
    let (status, rest) = data.split_first_chunk()?;
    let (tag, _) = rest.get(12..)?.split_first_chunk()?;
    let has_tag = u32::from_ne_bytes(*status) & nix::libc::TP_STATUS_VLAN_VALID != 0;
    has_tag.then(|| Vlan::of_tag(u16::from_ne_bytes(*tag)))
}

/// One at a time elsewhere.
#[cfg(not(target_os = "linux"))]
impl Arrivals {
    /// Waits as long as the socket does for a datagram.
    pub fn fill(&mut self, socket: &std::net::UdpSocket, _: &Link) -> std::io::Result<()> {
        use std::io::ErrorKind;
        self.count = 0;
        let place = self.bytes.get_mut(..LONGEST).unwrap_or_default();
        let came = match socket.recv_from(place) {
            Ok((len, source)) => Came {
                len,
                source: Some(Source::Ip(source.ip())),
                port: source.port(),
                here: source.ip().is_loopback(),
                ..Came::default()
            },
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(()),
                _ => return Err(error),
            },
        };
        if let Some(first) = self.came.first_mut() {
            *first = (came, 0);
            self.count = 1;
        }
        Ok(())
    }
}
