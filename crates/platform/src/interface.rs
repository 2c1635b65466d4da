//! Interfaces of this host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// An address of the interface of this name, of IPv4 or of IPv6.
pub fn address(name: &str, four: bool) -> io::Result<IpAddr> {
    imp::address(name, four)
}

/// An interface that is up and takes multicast, or the loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Up {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether it leads nowhere but to this host.
    pub is_loopback: bool,
}

/// All that are up and take multicast, and the loopback. [`io::ErrorKind::Unsupported`] where they are not listed.
pub fn up() -> io::Result<Vec<Up>> {
    imp::up()
}

/// The name of the interface that has an address.
pub fn name_of(address: IpAddr) -> io::Result<String> {
    imp::name_of(address)
}

/// The name of the interface by which the system's routes lead to an address. Nothing is sent.
pub fn towards(to: SocketAddr) -> io::Result<String> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    // A datagram's socket that is connected has the address from which it would send.
    socket.connect(to)?;
    name_of(socket.local_addr()?.ip())
}

/// The number of the interface that has an address: groups of IPv6 are joined by it. 0, which is the system's choice, for
/// an address that names none.
pub fn index(of: IpAddr) -> io::Result<u32> {
    match of.is_unspecified() {
        true => Ok(0),
        false => imp::index(of),
    }
}

#[cfg(unix)]
mod imp {
    use std::io;
    use std::net::IpAddr;

    use nix::ifaddrs::getifaddrs;
    use nix::net::if_::{InterfaceFlags, if_nametoindex};
    use nix::sys::socket::SockaddrStorage;

    use super::Up;

    pub fn up() -> io::Result<Vec<Up>> {
        let running = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
        let mut all: Vec<Up> = Vec::new();
        for it in getifaddrs()? {
            let is_loopback = it.flags.contains(InterfaceFlags::IFF_LOOPBACK);
            let takes = is_loopback || it.flags.contains(InterfaceFlags::IFF_MULTICAST);
            let address = it.address.as_ref().and_then(ip);
            let Some(address) = address.filter(|_| takes && it.flags.contains(running)) else {
                continue;
            };
            if let Some(found) = all.iter_mut().find(|other| other.name == it.interface_name) {
                found.addresses.push(address);
                continue;
            }
            all.push(Up {
                index: if_nametoindex(it.interface_name.as_str())?,
                name: it.interface_name,
                addresses: vec![address],
                is_loopback,
            });
        }
        Ok(all)
    }

    pub fn address(name: &str, four: bool) -> io::Result<IpAddr> {
        let all = getifaddrs()?.filter(|it| it.interface_name == name);
        let mut all = all.filter_map(|it| ip(&it.address?));
        let found = all.find(|it| it.is_ipv4() == four);
        let family = if four { "IPv4" } else { "IPv6" };
        let what = || format!("an interface {name} with an address of {family} is not there");
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, what()))
    }

    pub fn name_of(address: IpAddr) -> io::Result<String> {
        let mut all = getifaddrs()?;
        let found = all.find(|it| it.address.is_some_and(|it| ip(&it) == Some(address)));
        let what = || format!("an interface with the address {address} is not there");
        let found = found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, what()))?;
        Ok(found.interface_name)
    }

    pub fn index(of: IpAddr) -> io::Result<u32> {
        Ok(if_nametoindex(name_of(of)?.as_str())?)
    }

    fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
        let found = address.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
        found.or_else(|| address.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())))
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;
    use std::net::IpAddr;

    use super::Up;

    pub fn up() -> io::Result<Vec<Up>> {
        Err(unsupported(
            "interfaces are listed on Linux and macOS only".to_owned(),
        ))
    }

    pub fn address(name: &str, _: bool) -> io::Result<IpAddr> {
        Err(unsupported(format!(
            "{name}: interfaces are found by their names on Linux and macOS only: want an address"
        )))
    }

    pub fn name_of(address: IpAddr) -> io::Result<String> {
        Err(unsupported(format!(
            "{address}: its interface is found on Linux and macOS only"
        )))
    }

    pub fn index(of: IpAddr) -> io::Result<u32> {
        Err(unsupported(format!(
            "{of}: the interface of a group of IPv6 is found on Linux and macOS only: want none"
        )))
    }

    fn unsupported(what: String) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, what)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_a_number_where_interfaces_are_found() {
        assert_eq!(index([0, 0, 0, 0].into()).unwrap(), 0);
        let loopback = index([127, 0, 0, 1].into());
        let error = index([203, 0, 113, 9].into()).unwrap_err();
        assert!(error.to_string().contains("203.0.113.9"), "{error}");
        match cfg!(unix) {
            true => {
                assert!(loopback.unwrap() > 0);
                assert_eq!(error.kind(), io::ErrorKind::NotFound);
            }
            false => assert_eq!(loopback.unwrap_err().kind(), io::ErrorKind::Unsupported),
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = address("none9", true).unwrap_err();
        assert!(error.to_string().contains("none9"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_loopback_is_found_by_its_name() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(address("lo", true).unwrap(), loopback);
        assert_eq!(name_of(loopback).unwrap(), "lo");
        assert_eq!(towards((loopback, 9).into()).unwrap(), "lo");
    }
}
