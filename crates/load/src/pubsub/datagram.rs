//! Sockets for datagrams: one to send to a host or group, one to receive.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use platform::interface::index;
use socket2::{Domain, Protocol, Socket, Type};

use super::Address;
use super::arrivals::{Arrivals, Link};
use crate::transport::Dscp;

/// How long a receiver waits before it looks at the time again.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// A socket that sends to one address: past so many routers where it is a group, and as traffic of this class.
pub fn sender(
    to: Address,
    interface: Option<IpAddr>,
    (ttl, dscp): (u32, Option<Dscp>),
) -> io::Result<UdpSocket> {
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
                if let Some(interface) = interface {
                    socket.set_multicast_if_v6(index(interface)?)?;
                }
            }
        }
    }
    if let Some(dscp) = dscp {
        dscp.mark(&socket, to.0)?;
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
        IpAddr::V6(group) if group.is_multicast() => {
            let interface = interface.map_or(Ok(0), index)?;
            socket.join_multicast_v6(&group, interface)?;
        }
        _ => {}
    }
    socket.set_read_timeout(Some(PATIENCE))?;
    let buffer = socket.recv_buffer_size()?;
    Receiver::new(socket.into(), buffer, Link::Datagrams)
}

/// A socket that receives.
#[derive(Debug)]
pub struct Receiver {
    socket: UdpSocket,
    /// The room that the kernel gives it.
    pub buffer: usize,
    link: Link,
}

impl Receiver {
    /// A socket that is open, whatever comes by it.
    pub fn new(socket: UdpSocket, buffer: usize, link: Link) -> io::Result<Self> {
        platform::datagram::stamp(&socket)?;
        Ok(Self {
            socket,
            buffer,
            link,
        })
    }

    /// The same socket, to send from it.
    pub fn same(&self) -> io::Result<UdpSocket> {
        self.socket.try_clone()
    }

    /// The port that it listens at.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Waits a while for datagrams, and takes those that wait.
    pub fn receive(&self, into: &mut Arrivals) -> io::Result<()> {
        into.fill(&self.socket, &self.link)
    }

    /// Datagrams that the kernel dropped because there was no more room, until now; none if it does not say so.
    pub fn drops(&self) -> Option<u64> {
        platform::datagram::drops(&self.socket)
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::MOST;
    use super::*;

    fn pair(buffer: usize) -> (Receiver, UdpSocket) {
        let at = Address("127.0.0.1:0".parse().unwrap());
        let receiver = received(at, None, buffer).unwrap();
        let to = Address(([127, 0, 0, 1], receiver.port().unwrap()).into());
        (receiver, sender(to, None, (1, None)).unwrap())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_waits_is_taken_together_in_order_each_with_its_stamp_and_sender() {
        let (receiver, socket) = pair(1 << 18);
        let from = socket.local_addr().unwrap();
        let mut arrivals = Arrivals::new();
        // Each place is used several times, and longer ones follow shorter ones.
        for round in 0..3u8 {
            for n in 0..70u8 {
                let datagram = vec![n; usize::from(n) * (1 + usize::from(round) * 7) + 1];
                assert_eq!(socket.send(&datagram).unwrap(), datagram.len());
            }
            let (mut takes, mut next, mut last) = (Vec::new(), 0u8, 0);
            while next < 70 {
                receiver.receive(&mut arrivals).unwrap();
                let mut count = 0;
                for (came, bytes) in arrivals.each() {
                    let len = usize::from(next) * (1 + usize::from(round) * 7) + 1;
                    assert_eq!((came.len, bytes.len()), (len, len));
                    assert!(bytes.iter().all(|it| *it == next));
                    assert_eq!(came.from(), Some(from));
                    let stamp = came.stamp.unwrap();
                    assert!(stamp >= last, "{stamp} before {last}");
                    last = stamp;
                    next += 1;
                    count += 1;
                }
                takes.push(count);
            }
            // All of them waited when the first were taken.
            assert_eq!(takes, [MOST, MOST, 70 - 2 * MOST]);
        }
        receiver.receive(&mut arrivals).unwrap();
        assert!(arrivals.is_empty());
        assert_eq!(receiver.drops(), Some(0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_kernel_dropped_is_all_that_was_sent_and_not_taken_to_the_last() {
        let (receiver, socket) = pair(1 << 14);
        let mut arrivals = Arrivals::new();
        let (mut sent, mut taken) = (0, 0);
        for _ in 0..2 {
            for _ in 0..1000 {
                socket.send(&[7; 100]).unwrap();
                sent += 1;
            }
            loop {
                receiver.receive(&mut arrivals).unwrap();
                if arrivals.is_empty() {
                    break;
                }
                taken += arrivals.each().count() as u64;
            }
            assert!(taken < sent, "nothing was dropped");
            assert_eq!(receiver.drops(), Some(sent - taken));
        }
    }
}
