//! Interfaces of this host that multicast goes over.

use std::io;
use std::net::IpAddr;

use super::LanError;
use crate::pubsub::Interface;

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether it leads nowhere but to this host.
    pub is_loopback: bool,
}

impl Card {
    /// The one that is named, or all that are up.
    pub fn chosen(interface: Option<&Interface>) -> Result<Vec<Self>, LanError> {
        let all = all(interface).map_err(LanError::Interfaces)?;
        let is_it = |card: &Self| match interface {
            None => true,
            Some(Interface::Name(name)) => card.name == *name,
            Some(Interface::Address(address)) => card.addresses.contains(address),
        };
        let found: Vec<_> = all.into_iter().filter(is_it).collect();
        match (found.is_empty(), interface) {
            (false, _) => Ok(found),
            (true, Some(interface)) => Err(LanError::NoInterface(interface.to_string())),
            (true, None) => Err(LanError::Nowhere),
        }
    }

    /// Whether a server that listens at an address can be reached over it.
    pub fn leads_to(&self, address: IpAddr) -> bool {
        match address {
            it if it.is_unspecified() => !self.is_loopback,
            it if it.is_loopback() => self.is_loopback,
            it => self.addresses.contains(&it),
        }
    }

    /// Its addresses of IPv4, or of IPv6.
    pub fn of_family(&self, four: bool) -> impl Iterator<Item = IpAddr> {
        let addresses = self.addresses.iter().copied();
        addresses.filter(move |it| it.is_ipv4() == four)
    }
}

#[cfg(target_os = "linux")]
fn all(_: Option<&Interface>) -> io::Result<Vec<Card>> {
    use nix::net::if_::{InterfaceFlags, if_nametoindex};

    let mut cards: Vec<Card> = Vec::new();
    for it in nix::ifaddrs::getifaddrs()? {
        let is_loopback = it.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        let takes = is_loopback || it.flags.contains(InterfaceFlags::IFF_MULTICAST);
        let is_up = it
            .flags
            .contains(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING);
        let address = it.address.as_ref().and_then(crate::pubsub::ip);
        let Some(address) = address.filter(|_| takes && is_up) else {
            continue;
        };
        if let Some(card) = cards.iter_mut().find(|card| card.name == it.interface_name) {
            card.addresses.push(address);
            continue;
        }
        cards.push(Card {
            index: if_nametoindex(it.interface_name.as_str())?,
            name: it.interface_name,
            addresses: vec![address],
            is_loopback,
        });
    }
    Ok(cards)
}

/// Elsewhere interfaces are not listed: the system's own choice for multicast, or the one with an address that was given.
#[cfg(not(target_os = "linux"))]
fn all(interface: Option<&Interface>) -> io::Result<Vec<Card>> {
    use std::net::Ipv4Addr;

    let address = match interface {
        None => Ipv4Addr::UNSPECIFIED.into(),
        Some(Interface::Address(address @ IpAddr::V4(_))) => *address,
        Some(other) => {
            let what = format!("{other}: interfaces are chosen by an address of IPv4 here");
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
    };
    Ok(vec![Card {
        name: address.to_string(),
        index: 0,
        addresses: vec![address],
        is_loopback: address.is_loopback(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(addresses: &[&str], is_loopback: bool) -> Card {
        Card {
            name: "it".into(),
            index: 1,
            addresses: addresses.iter().map(|it| it.parse().unwrap()).collect(),
            is_loopback,
        }
    }

    #[test]
    fn a_server_is_announced_where_it_can_be_reached() {
        let lan = card(&["192.0.2.7", "fe80::7"], false);
        let own = card(&["127.0.0.1", "::1"], true);
        let leads = |card: &Card, to: &str| card.leads_to(to.parse().unwrap());
        assert!(leads(&lan, "0.0.0.0") && leads(&lan, "192.0.2.7"));
        assert!(!leads(&lan, "127.0.0.1") && !leads(&lan, "192.0.2.8"));
        assert!(leads(&own, "127.0.0.9") && leads(&own, "::1") && !leads(&own, "::"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_loopback_is_one_and_what_is_not_there_is_none() {
        let lo = Card::chosen(Some(&Interface::Name("lo".into()))).unwrap();
        assert!(
            lo.len() == 1 && lo[0].is_loopback && lo[0].index > 0,
            "{lo:?}"
        );
        let by_address = Interface::Address([127, 0, 0, 1].into());
        assert_eq!(Card::chosen(Some(&by_address)).unwrap(), lo);
        let none = Card::chosen(Some(&Interface::Name("none".into())));
        assert!(matches!(none, Err(LanError::NoInterface(name)) if name == "none"));
    }
}
