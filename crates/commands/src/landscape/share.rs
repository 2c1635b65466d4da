//! Which devices of a landscape a process has, and how they are reached.

use std::net::{IpAddr, Ipv4Addr};

use super::file::{Device, Group, Landscape};

/// What of a landscape a process serves, and how it is reached.
pub struct Part<'a> {
    /// Ranges of devices by their places, each from one up to another; all of them without any.
    pub devices: &'a [(usize, usize)],
    /// The name by which clients on other hosts reach it; none where they are on this one.
    pub host: Option<&'a str>,
}

impl Part<'_> {
    /// Whether it serves a device.
    pub fn has(&self, device: &Device) -> bool {
        let place = device.place;
        let within = |(from, to): &(usize, usize)| (*from..*to).contains(&place);
        self.devices.is_empty() || self.devices.iter().any(within)
    }

    /// The devices of a group that it serves.
    pub fn of<'a>(&self, group: &'a Group) -> Vec<&'a Device> {
        group.devices.iter().filter(|it| self.has(it)).collect()
    }

    /// Where its devices listen.
    pub fn listen(&self, landscape: &Landscape) -> IpAddr {
        let usual = match self.host {
            Some(_) => Ipv4Addr::UNSPECIFIED,
            None => Ipv4Addr::LOCALHOST,
        };
        landscape.listen.unwrap_or(usual.into())
    }

    /// The name by which devices of a group are reached, where it is not their address.
    pub fn host<'a>(&'a self, group: &'a Group) -> Option<&'a str> {
        group.host.as_deref().or(self.host)
    }
}
