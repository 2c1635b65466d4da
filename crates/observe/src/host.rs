//! What the whole machine spends.

use std::time::{Duration, Instant};

use crate::figure::{Figure, NotAvailable};
use crate::files;

/// What a machine had spent up to a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// When it was asked.
    pub at: Instant,
    /// What asking cost.
    pub took: Duration,
    /// All cores together.
    pub cpu: Figure<Times>,
    /// Each core.
    pub cores: Figure<Vec<Core>>,
    /// How many wanted to run lately.
    pub load: Figure<Load>,
    /// RAM.
    pub memory: Figure<Memory>,
    /// The network's interfaces, the loopback among them.
    pub network: Figure<Vec<Interface>>,
}

/// Where CPU time went, in nanoseconds. The kernel counts it in ticks of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Programs, niced ones too.
    pub user_ns: u64,
    /// The kernel on behalf of programs.
    pub system_ns: u64,
    /// Interrupts.
    pub irq_ns: u64,
    /// What interrupts leave for later: most of the network's work.
    pub softirq_ns: u64,
    /// Wanted, but the hypervisor had the core run something else.
    pub steal_ns: u64,
    /// Nothing to do, waiting for disks included.
    pub idle_ns: u64,
}

impl Times {
    /// Time that something ran here.
    pub fn busy_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.irq_ns + self.softirq_ns
    }

    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.busy_ns() + self.steal_ns + self.idle_ns
    }

    /// The busy part of all, between 0 and 1.
    pub fn busy(&self) -> Figure<f64> {
        self.share(self.busy_ns())
    }

    /// The stolen part of all, between 0 and 1.
    pub fn stolen(&self) -> Figure<f64> {
        self.share(self.steal_ns)
    }

    fn share(&self, part: u64) -> Figure<f64> {
        match self.total_ns() {
            0 => Err(NotAvailable::because(
                "less than a tick of 10 ms has passed",
            )),
            total => Ok(part as f64 / total as f64),
        }
    }

    /// Since an earlier moment.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            irq_ns: self.irq_ns.saturating_sub(earlier.irq_ns),
            softirq_ns: self.softirq_ns.saturating_sub(earlier.softirq_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }
}

/// One core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Core {
    /// Its number.
    pub number: u32,
    /// Where its time went.
    pub times: Times,
}

/// How many threads wanted to run, averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Over a minute.
    pub one: f64,
    /// Over five.
    pub five: f64,
    /// Over fifteen.
    pub fifteen: f64,
}

/// RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// What programs could still have.
    pub available_bytes: u64,
}

impl Memory {
    /// What is in use: all that programs could not have.
    pub const fn used_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.available_bytes)
    }
}

/// What went through an interface of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Bytes that came in.
    pub received_bytes: u64,
    /// Packets that came in.
    pub received_packets: u64,
    /// Packets that came in and were dropped or broken.
    pub received_lost: u64,
    /// Bytes that went out.
    pub sent_bytes: u64,
    /// Packets that went out.
    pub sent_packets: u64,
    /// Packets that were to go out and were dropped or broken.
    pub sent_lost: u64,
}

impl Host {
    /// What this machine has spent up to now.
    pub fn sample() -> Self {
        let at = Instant::now();
        let stat = files::text(STAT);
        let of_stat = stat.as_deref().map_err(Clone::clone);
        let mut sample = Self {
            at,
            took: Duration::ZERO,
            cpu: of_stat.clone().and_then(all),
            cores: of_stat.and_then(cores),
            load: files::text(LOADAVG).and_then(|text| load(&text)),
            memory: files::text(MEMINFO).and_then(|text| memory(&text)),
            network: files::text(NET_DEV).and_then(|text| network(&text)),
        };
        sample.took = at.elapsed();
        sample
    }

    /// All cores together and nothing else: one file.
    pub fn cpu() -> Figure<Times> {
        all(&files::text(STAT)?)
    }

    /// The same with each core by itself, of the same reading of that file.
    pub fn cpu_by_core() -> Figure<(Times, Vec<Core>)> {
        let stat = files::text(STAT)?;
        Ok((all(&stat)?, cores(&stat)?))
    }

    /// RAM and nothing else: one file.
    pub fn memory() -> Figure<Memory> {
        memory(&files::text(MEMINFO)?)
    }
}

const STAT: &str = "/proc/stat";
const LOADAVG: &str = "/proc/loadavg";
const MEMINFO: &str = "/proc/meminfo";
const NET_DEV: &str = "/proc/net/dev";
/// USER_HZ is 100 on every architecture.
const TICK_NS: u64 = 10_000_000;

fn all(stat: &str) -> Figure<Times> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    match line {
        Some(line) => times(line),
        None => Err(NotAvailable::because("/proc/stat has no line for all CPUs")),
    }
}

fn cores(stat: &str) -> Figure<Vec<Core>> {
    let mut cores = Vec::new();
    for line in stat.lines() {
        let Some((number, rest)) = line
            .strip_prefix("cpu")
            .and_then(|line| line.split_once(' '))
        else {
            continue;
        };
        if let Ok(number) = number.parse() {
            cores.push(Core {
                number,
                times: times(rest)?,
            });
        }
    }
    match cores.is_empty() {
        true => Err(NotAvailable::because("/proc/stat names no CPU")),
        false => Ok(cores),
    }
}

/// proc(5): user nice system idle iowait irq softirq steal, and guests, who are in user already.
fn times(line: &str) -> Figure<Times> {
    let mut words = line.split_whitespace();
    let mut next = || files::number(&mut words, STAT).map(|ticks| ticks * TICK_NS);
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (iowait, irq, softirq, steal) = (next()?, next()?, next()?, next()?);
    Ok(Times {
        user_ns: user + nice,
        system_ns: system,
        irq_ns: irq,
        softirq_ns: softirq,
        steal_ns: steal,
        idle_ns: idle + iowait,
    })
}

fn load(text: &str) -> Figure<Load> {
    let mut words = text.split_whitespace().map(str::parse);
    match (words.next(), words.next(), words.next()) {
        (Some(Ok(one)), Some(Ok(five)), Some(Ok(fifteen))) => Ok(Load { one, five, fifteen }),
        _ => Err(NotAvailable::because(
            "/proc/loadavg is not as proc(5) describes it",
        )),
    }
}

fn memory(text: &str) -> Figure<Memory> {
    Ok(Memory {
        total_bytes: files::keyed(text, "MemTotal", MEMINFO)? * 1024,
        available_bytes: files::keyed(text, "MemAvailable", MEMINFO)? * 1024,
    })
}

fn network(text: &str) -> Figure<Vec<Interface>> {
    let mut interfaces = Vec::new();
    // Two lines of headings have no colon.
    for (name, rest) in text.lines().filter_map(|line| line.split_once(':')) {
        let mut words = rest.split_whitespace();
        let mut next = || files::number(&mut words, NET_DEV);
        let received = [next()?, next()?, next()?, next()?];
        for _unused in ["fifo", "frame", "compressed", "multicast"] {
            next()?;
        }
        let sent = [next()?, next()?, next()?, next()?];
        interfaces.push(Interface {
            name: name.trim().to_owned(),
            received_bytes: received[0],
            received_packets: received[1],
            received_lost: received[2] + received[3],
            sent_bytes: sent[0],
            sent_packets: sent[1],
            sent_lost: sent[2] + sent[3],
        });
    }
    Ok(interfaces)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TWO_CORES: &str = "cpu  30 2 10 900 8 1 4 5 0 0\n\
                             cpu0 20 1 6 400 8 1 3 5 0 0\n\
                             cpu1 10 1 4 500 0 0 1 0 0 0\n\
                             intr 12 3 4\n";

    #[test]
    fn stolen_time_is_neither_busy_nor_idle() {
        let times = all(TWO_CORES).unwrap();
        assert_eq!(times.busy_ns(), 47 * TICK_NS);
        assert_eq!(times.idle_ns, 908 * TICK_NS);
        assert_eq!(times.steal_ns, 5 * TICK_NS);
        assert_eq!(times.total_ns(), 960 * TICK_NS);
        let cores = cores(TWO_CORES).unwrap();
        assert_eq!(
            (cores[1].number, cores[1].times.busy_ns()),
            (1, 16 * TICK_NS)
        );
    }

    #[test]
    fn a_share_of_no_time_is_not_zero() {
        let times = all(TWO_CORES).unwrap();
        assert!(times.since(&times).busy().is_err());
        assert!((times.busy().unwrap() - 47.0 / 960.0).abs() < 1e-9);
    }

    #[test]
    fn an_interface_may_touch_its_colon() {
        let text = "Inter-| Receive | Transmit\n face |bytes packets\n\
                    lo:39 9 1 2 0 0 0 0 41 8 0 3 0 0 0 0\n";
        let lo = &network(text).unwrap()[0];
        assert_eq!((lo.name.as_str(), lo.received_bytes), ("lo", 39));
        assert_eq!((lo.received_lost, lo.sent_bytes, lo.sent_lost), (3, 41, 3));
    }

    #[test]
    fn a_file_that_is_not_as_described_gives_a_reason() {
        let reason = times("1 2 three").unwrap_err();
        assert!(reason.reason().contains("/proc/stat"), "{reason}");
        assert!(load("busy").is_err());
        assert!(all("").is_err());
    }
}
