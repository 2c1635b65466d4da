//! Interfaces of this host, as users name them: by an address or by their name.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::str::FromStr;

use super::Address;
use super::ethernet_url::is_name;

/// An interface of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interface {
    /// The one that has this address.
    Address(IpAddr),
    /// The one that is called so.
    Name(String),
}

/// Text that names none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no IP address and no name of an interface")]
pub struct InterfaceError(String);

impl FromStr for Interface {
    type Err = InterfaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) if is_name(text) => Ok(Self::Name(text.to_owned())),
            Err(_) => Err(InterfaceError(text.to_owned())),
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(it) => it.fmt(f),
            Self::Name(it) => it.fmt(f),
        }
    }
}

impl Interface {
    /// By which address a group is reached over it. Hosts are reached as the system likes.
    pub(super) fn towards(it: Option<&Self>, to: Address) -> io::Result<Option<IpAddr>> {
        match it {
            Some(Self::Address(address)) => Ok(Some(*address)),
            Some(Self::Name(name)) if to.is_multicast() => {
                let four = to.0.is_ipv4();
                address(name, four).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// An address of an interface, of IPv4 or of IPv6.
#[cfg(target_os = "linux")]
fn address(name: &str, four: bool) -> io::Result<IpAddr> {
    let all = nix::ifaddrs::getifaddrs()?.filter(|it| it.interface_name == name);
    let mut all = all.filter_map(|it| ip(&it.address?));
    let found = all.find(|it| it.is_ipv4() == four);
    let family = if four { "IPv4" } else { "IPv6" };
    let what = || format!("an interface {name} with an address of {family} is not there");
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, what()))
}

#[cfg(target_os = "linux")]
pub(crate) fn ip(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let found = address.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
    found.or_else(|| address.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())))
}

/// The number of the interface that has an address: groups of IPv6 are joined by it. 0 is the system's choice.
#[cfg(target_os = "linux")]
pub(super) fn index(of: IpAddr) -> io::Result<u32> {
    if of.is_unspecified() {
        return Ok(0);
    }
    let mut all = nix::ifaddrs::getifaddrs()?;
    let found = all.find(|it| it.address.is_some_and(|it| ip(&it) == Some(of)));
    let what = || format!("an interface with the address {of} is not there");
    let found = found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, what()))?;
    Ok(nix::net::if_::if_nametoindex(
        found.interface_name.as_str(),
    )?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn index(of: IpAddr) -> io::Result<u32> {
    if of.is_unspecified() {
        return Ok(0);
    }
    let what = format!("{of}: the interface of a group of IPv6 is found on Linux only: want none");
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

#[cfg(not(target_os = "linux"))]
fn address(name: &str, _: bool) -> io::Result<IpAddr> {
    let what =
        format!("{name}: interfaces are found by their names on Linux only: want an address");
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_an_address_or_a_name() {
        let read = |text: &str| text.parse::<Interface>();
        assert_eq!(
            read("192.168.1.10"),
            Ok(Interface::Address([192, 168, 1, 10].into()))
        );
        assert_eq!(read("eth0"), Ok(Interface::Name("eth0".into())));
        assert_eq!(read("fe80::1").unwrap().to_string(), "fe80::1");
        assert!(read("").is_err() && read("a b").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_loopback_is_found_by_its_name_for_groups() {
        let group: Address = "opc.udp://239.0.0.1".parse().unwrap();
        let host: Address = "opc.udp://127.0.0.1".parse().unwrap();
        let lo = Interface::Name("lo".into());
        let found = Interface::towards(Some(&lo), group).unwrap();
        assert_eq!(found, Some([127, 0, 0, 1].into()));
        assert_eq!(Interface::towards(Some(&lo), host).unwrap(), None);
        let none = Interface::Name("none".into());
        let error = Interface::towards(Some(&none), group).unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn groups_of_ipv6_are_joined_by_the_number_of_the_interface() {
        assert!(index([127, 0, 0, 1].into()).unwrap() > 0);
        assert_eq!(index([0, 0, 0, 0].into()).unwrap(), 0);
        let error = index([203, 0, 113, 9].into()).unwrap_err();
        assert!(error.to_string().contains("203.0.113.9"), "{error}");
    }
}
