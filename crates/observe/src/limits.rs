//! Limits of the operating system that a large load runs into: every connection takes a
//! descriptor, and on the side that connects a port.

use crate::figure::{Figure, NotAvailable};
use crate::files;

/// How many descriptors this process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// Now.
    pub soft: u64,
    /// What it may raise that to by itself.
    pub hard: u64,
}

/// The limit on descriptors.
pub fn descriptors() -> Figure<Descriptors> {
    let (soft, hard) = platform::process::descriptors().map_err(refused)?;
    Ok(Descriptors { soft, hard })
}

fn refused(error: std::io::Error) -> NotAvailable {
    NotAvailable::because(format!("limit of descriptors: {error}"))
}

/// Sees to it that this process may have `wanted` descriptors open, as far as it may be raised,
/// and says what it may have then.
pub fn raise_descriptors(wanted: u64) -> Figure<Descriptors> {
    let now = descriptors()?;
    if now.soft >= wanted {
        return Ok(now);
    }
    platform::process::set_descriptors(wanted.min(now.hard)).map_err(refused)?;
    descriptors()
}

/// The ports from which one address may connect to one other: as many connections there can be at
/// a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Ports {
    /// How many.
    pub fn count(&self) -> u32 {
        u32::from(self.last.saturating_sub(self.first)) + 1
    }
}

/// The ephemeral ports.
pub fn ports() -> Figure<Ports> {
    parse_ports(&files::line(PORTS)?)
}

const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

fn parse_ports(line: &str) -> Figure<Ports> {
    let mut words = line.split_whitespace().map(str::parse);
    match (words.next(), words.next()) {
        (Some(Ok(first)), Some(Ok(last))) if first <= last => Ok(Ports { first, last }),
        _ => Err(NotAvailable::because(format!("{PORTS} says {line:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_the_range_are_ports() {
        let ports = parse_ports("32768\t60999").map(|ports| ports.count());
        assert_eq!(ports, Ok(28_232));
        assert!(parse_ports("60999 32768").is_err());
        assert!(parse_ports("many").is_err());
    }
}
