//! Sockets for datagrams: one to send to a host or group, one to receive, with what the kernel says of each.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::Address;

/// How long a receiver waits before it looks at the time again.
const PATIENCE: Duration = Duration::from_millis(50);

/// A socket that sends to one address.
pub fn sender(to: Address, interface: Option<IpAddr>, ttl: u32) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(to.0), Type::DGRAM, Some(Protocol::UDP))?;
    if to.is_multicast() {
        match to.0 {
            SocketAddr::V4(_) => {
                socket.set_multicast_ttl_v4(ttl)?;
                socket.set_multicast_loop_v4(true)?;
                if let Some(IpAddr::V4(interface)) = interface {
                    socket.set_multicast_if_v4(&interface)?;
                }
            }
            SocketAddr::V6(_) => {
                socket.set_multicast_hops_v6(ttl)?;
                socket.set_multicast_loop_v6(true)?;
            }
        }
    }
    socket.connect(&to.0.into())?;
    Ok(socket.into())
}

/// A socket that receives what is sent to one address; a group is joined.
pub fn received(from: Address, interface: Option<IpAddr>, buffer: usize) -> io::Result<Receiver> {
    let socket = Socket::new(
        Domain::for_address(from.0),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if from.is_multicast() {
        // Several may listen to a group on one host.
        socket.set_reuse_address(true)?;
    }
    socket.set_recv_buffer_size(buffer)?;
    socket.bind(&from.0.into())?;
    match from.0.ip() {
        IpAddr::V4(group) if group.is_multicast() => {
            let interface = match interface {
                Some(IpAddr::V4(interface)) => interface,
                _ => Ipv4Addr::UNSPECIFIED,
            };
            socket.join_multicast_v4(&group, &interface)?;
        }
        IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, 0)?,
        _ => {}
    }
    socket.set_read_timeout(Some(PATIENCE))?;
    let buffer = socket.recv_buffer_size()?;
    Receiver::new(socket.into(), buffer)
}

/// A datagram that came.
#[derive(Debug, Clone, Copy)]
pub struct Came {
    /// Its bytes.
    pub len: usize,
    /// When the kernel had it, in nanoseconds since 1970, if it says so.
    pub stamp: Option<u64>,
    /// Who sent it.
    pub source: Option<Source>,
    /// From which port, if it has one.
    pub port: u16,
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

/// A socket that receives.
#[derive(Debug)]
pub struct Receiver {
    socket: UdpSocket,
    /// The room that the kernel gives it.
    pub buffer: usize,
    /// Datagrams that the kernel dropped because that was full, if it says so.
    pub drops: Option<u32>,
    #[cfg(target_os = "linux")]
    control: Vec<u8>,
}

impl Receiver {
    /// The same socket, to send from it.
    pub fn same(&self) -> io::Result<UdpSocket> {
        self.socket.try_clone()
    }

    /// The port that it listens at.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }
}

#[cfg(target_os = "linux")]
impl Receiver {
    fn new(socket: UdpSocket, buffer: usize) -> io::Result<Self> {
        use nix::sys::socket::{setsockopt, sockopt};
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        let told = setsockopt(&socket, sockopt::RxqOvfl, &1).is_ok();
        Ok(Self {
            socket,
            buffer,
            drops: told.then_some(0),
            control: nix::cmsg_space!(nix::libc::timespec, u32),
        })
    }

    /// Waits a while for a datagram.
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>> {
        use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
        use std::os::fd::AsRawFd;
        let fd = self.socket.as_raw_fd();
        let mut slices = [io::IoSliceMut::new(into)];
        let flags = MsgFlags::empty();
        let control = Some(self.control.as_mut_slice());
        let message = match recvmsg::<SockaddrStorage>(fd, &mut slices, control, flags) {
            Ok(message) => message,
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut stamp = None;
        for it in message.cmsgs().into_iter().flatten() {
            match it {
                ControlMessageOwned::ScmTimestampns(at) => {
                    stamp = u64::try_from(at.tv_sec())
                        .ok()
                        .zip(u64::try_from(at.tv_nsec()).ok())
                        .map(|(seconds, nanos)| seconds * 1_000_000_000 + nanos);
                }
                ControlMessageOwned::RxqOvfl(drops) => self.drops = Some(drops),
                _ => {}
            }
        }
        let source = message.address.and_then(|it| {
            let four = it.as_sockaddr_in();
            let four = four.map(|it| (IpAddr::V4(it.ip()), it.port()));
            let six = it.as_sockaddr_in6();
            four.or_else(|| six.map(|it| (IpAddr::V6(it.ip()), it.port())))
        });
        Ok(Some(Came {
            len: message.bytes,
            stamp,
            source: source.map(|(ip, _)| Source::Ip(ip)),
            port: source.map_or(0, |(_, port)| port),
        }))
    }
}

#[cfg(not(target_os = "linux"))]
impl Receiver {
    fn new(socket: UdpSocket, buffer: usize) -> io::Result<Self> {
        Ok(Self {
            socket,
            buffer,
            drops: None,
        })
    }

    /// Waits a while for a datagram.
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>> {
        match self.socket.recv_from(into) {
            Ok((len, source)) => Ok(Some(Came {
                len,
                stamp: None,
                source: Some(Source::Ip(source.ip())),
                port: source.port(),
            })),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(None),
                _ => Err(error),
            },
        }
    }
}
