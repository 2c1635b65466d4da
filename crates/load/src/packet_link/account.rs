//! What a packet link carried.

use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::relay;

/// What a packet link carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// How long it has been there.
    pub elapsed_ns: u64,
    /// Processor time of the thread that carries packets.
    pub cpu_ns: u64,
    /// From the near end to the far one.
    pub up: Carried,
    /// From the far end to the near one.
    pub down: Carried,
    /// Connections that were led on from the far end to a server outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led: Option<relay::Account>,
}

/// What one direction carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Carried {
    /// Packets that came to the line.
    pub packets: u64,
    /// Packets that arrived, those that came twice counted twice.
    pub arrived: u64,
    /// Bytes of these, with the headers of IP and without those of the line.
    pub bytes: u64,
    /// Packets that were lost on the line.
    pub lost: u64,
    /// Packets that found the queue full.
    pub full: u64,
    /// TCP segments that the sending end's kernel sent again.
    pub again: u64,
    /// Packets that the kernel dropped, because the link's thread did not come to look at them.
    pub overrun: u64,
    /// How long a packet waited for the line, in the mean.
    pub waited_mean_ns: u64,
    /// The longest of these times.
    pub waited_max_ns: u64,
    /// How much later than at its time a packet was handed over, in the mean: what the link was off by.
    pub late_mean_ns: u64,
    /// The 99th percentile of these times.
    pub late_p99_ns: u64,
    /// The longest of these times.
    pub late_max_ns: u64,
    /// Packets that were still on their way at the end, or waited for the line.
    pub under_way: u64,
}

impl Account {
    /// How long it has been there.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns)
    }

    /// Processor time of the link's thread.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu_ns)
    }
}

/// What a namespace's kernel counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub again: u64,
    pub overrun: u64,
}

/// The counters of the calling thread's namespace.
pub(super) fn of_namespace() -> io::Result<Counted> {
    let read = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    let lacking = |what| io::Error::other(format!("the kernel does not count {what}"));
    let again = named(&read("snmp")?, "Tcp:", "RetransSegs");
    let overrun = dropped(&read("dev")?);
    Ok(Counted {
        again: again.ok_or_else(|| lacking("segments that were sent again"))?,
        overrun: overrun.ok_or_else(|| lacking("what an interface dropped"))?,
    })
}

/// A counter by its name: names are in one line and values in the next.
fn named(table: &str, of: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(of));
    let at = lines.next()?.split_whitespace().position(|it| it == name)?;
    lines.next()?.split_whitespace().nth(at)?.parse().ok()
}

/// Packets that the interface was to send and dropped: the fourth counter behind the eight of what it received.
fn dropped(devices: &str) -> Option<u64> {
    let line = devices.lines().find_map(|line| {
        let (name, counters) = line.split_once(':')?;
        (name.trim() == super::INTERFACE).then_some(counters)
    })?;
    line.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_found_by_their_names() {
        let snmp =
            "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoMin InSegs RetransSegs\nTcp: 200 12 34\n";
        assert_eq!(named(snmp, "Tcp:", "RetransSegs"), Some(34));
        assert_eq!(named(snmp, "Tcp:", "Nothing"), None);
        assert_eq!(named(snmp, "Udp:", "RetransSegs"), None);
        let dev = "Inter-|   Receive  |  Transmit\n face |bytes\n    lo: 0 0 0 0 0 0 0 0 0 0 0 9 0 0 0 0\n \
                   link0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(dropped(dev), Some(12));
    }
}
