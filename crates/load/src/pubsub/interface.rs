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
                platform::interface::address(name, four).map(Some)
            }
            _ => Ok(None),
        }
    }
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
}
