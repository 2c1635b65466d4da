//! How long work stood still for want of CPU, memory or disk: the kernel's pressure stall information.

use platform::System;

use crate::figure::{Figure, NotAvailable};
use crate::tree::Tree;

/// What work can want for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A core.
    Cpu,
    /// Memory.
    Memory,
    /// Disks.
    Io,
}

impl Resource {
    /// As the kernel calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Io => "io",
        }
    }
}

/// How much stood still.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pressure {
    /// Some of the threads, at least one.
    pub some: Stalled,
    /// All of those that were not idle. Kernels before 5.13 do not say it of CPUs.
    pub full: Option<Stalled>,
}

/// For how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalled {
    /// Percent of the last ten seconds.
    pub avg10: f64,
    /// Percent of the last minute.
    pub avg60: f64,
    /// All of it since the machine started.
    pub total_ns: u64,
}

/// What the whole machine wants for.
pub fn pressure(tree: &Tree, resource: Resource) -> Figure<Pressure> {
    let path = format!("/proc/pressure/{}", resource.name());
    match tree.text(&path) {
        Ok(text) => parse(&text, &path),
        Err(_) if System::IS_LINUX => Err(NotAvailable::because(format!(
            "there is no {path}: this kernel has no pressure stall information, or it was started with psi=0"
        ))),
        Err(reason) => Err(reason),
    }
}

pub(crate) fn parse(text: &str, path: &str) -> Figure<Pressure> {
    let line = |kind: &str| text.lines().find_map(|line| line.strip_prefix(kind));
    let unknown = || NotAvailable::because(format!("{path} is not as psi describes it"));
    let some = line("some ").and_then(stalled).ok_or_else(unknown)?;
    Ok(Pressure {
        some,
        full: line("full ").and_then(stalled),
    })
}

/// `avg10=0.00 avg60=0.00 avg300=0.00 total=0`, the total in microseconds.
fn stalled(line: &str) -> Option<Stalled> {
    let value = |key: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    };
    Some(Stalled {
        avg10: value("avg10")?.parse().ok()?,
        avg60: value("avg60")?.parse().ok()?,
        total_ns: value("total")?.parse::<u64>().ok()?.checked_mul(1000)?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn totals_are_microseconds_and_full_may_be_missing() {
        let text = "some avg10=98.82 avg60=69.95 avg300=25.27 total=124246243\n";
        let pressure = parse(text, "cpu").unwrap();
        assert_eq!(pressure.some.total_ns, 124_246_243_000);
        assert!((pressure.some.avg10 - 98.82).abs() < 1e-9);
        assert_eq!(pressure.full, None);
        let both = format!("{text}full avg10=1.00 avg60=0.50 avg300=0.00 total=7\n");
        assert_eq!(parse(&both, "cpu").unwrap().full.unwrap().total_ns, 7000);
        assert!(parse("some avg10=1", "cpu").is_err());
    }
}
