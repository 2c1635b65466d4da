//! Sockets of groups, of which several programs of a host have the same port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV6};

use socket2::Socket;

/// Has several sockets of this host listen at one port.
pub fn share_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)?;
    imp::share_port(socket)
}

/// Joins a group of IPv4 over the interface that has this number and this address, and takes nothing of it that comes by
/// others, where that can be said.
pub fn join_v4(socket: &Socket, group: Ipv4Addr, at: (u32, Ipv4Addr)) -> io::Result<()> {
    imp::join_v4(socket, group, at)
}

/// What a socket of a group of IPv6 is bound to.
pub fn place_v6(group: SocketAddrV6) -> SocketAddr {
    imp::place_v6(group)
}

#[cfg(target_os = "linux")]
mod imp {
    use super::*;

    pub fn share_port(_: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub fn join_v4(
        socket: &Socket,
        group: Ipv4Addr,
        (index, _): (u32, Ipv4Addr),
    ) -> io::Result<()> {
        // Otherwise what comes by other interfaces comes here, too.
        socket.set_multicast_all_v4(false)?;
        let interface = socket2::InterfaceIndexOrAddress::Index(index);
        socket.join_multicast_v4_n(&group, &interface)
    }

    /// A group of a link and its interface: otherwise Linux gives it what comes by others as well.
    pub fn place_v6(group: SocketAddrV6) -> SocketAddr {
        group.into()
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::net::Ipv6Addr;

    use super::*;

    #[cfg(unix)]
    pub fn share_port(socket: &Socket) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_socket_reuseport(socket, true)?)
    }

    #[cfg(not(unix))]
    pub fn share_port(_: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub fn join_v4(socket: &Socket, group: Ipv4Addr, (_, at): (u32, Ipv4Addr)) -> io::Result<()> {
        socket.join_multicast_v4(&group, &at)
    }

    pub fn place_v6(group: SocketAddrV6) -> SocketAddr {
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, group.port()))
    }
}
