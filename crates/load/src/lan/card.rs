//! Interfaces of this host that multicast goes over.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

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

/// Where interfaces are not listed, the system's own choice for multicast, or the one with an address that was given.
fn all(interface: Option<&Interface>) -> io::Result<Vec<Card>> {
    match platform::interface::up() {
        Ok(all) => Ok(all.into_iter().map(Card::from).collect()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(vec![unlisted(interface)?]),
        Err(error) => Err(error),
    }
}

impl From<platform::interface::Up> for Card {
    fn from(it: platform::interface::Up) -> Self {
        Self {
            name: it.name,
            index: it.index,
            addresses: it.addresses,
            is_loopback: it.is_loopback,
        }
    }
}

fn unlisted(interface: Option<&Interface>) -> io::Result<Card> {
    let address = match interface {
        None => Ipv4Addr::UNSPECIFIED.into(),
        Some(Interface::Address(address @ IpAddr::V4(_))) => *address,
        Some(other) => {
            let what = format!("{other}: interfaces are chosen by an address of IPv4 here");
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
    };
    Ok(Card {
        name: address.to_string(),
        index: 0,
        addresses: vec![address],
        is_loopback: address.is_loopback(),
    })
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
