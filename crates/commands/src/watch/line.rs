//! What a look brought, as a line of JSON.

use std::io::{self, Write};

use record::Timestamp;
use record::run::{CounterUsage, Figure};
use serde::Serialize;

use super::cost::Spent;

/// A line.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// Of a process.
    Process(Box<Process>),
    /// A process has ended; no line about it follows.
    Ended(Ended),
    /// No sample came from another host.
    Gap(Gap),
    /// Of the machine, about once a second.
    Host(Box<Host>),
    /// The last one.
    End(End),
}

/// What a process spent since the look before.
#[derive(Debug, Clone, Serialize)]
pub struct Process {
    pub at: Timestamp,
    pub process: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Of another host, who told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Since the look before.
    pub interval_ns: u64,
    pub cpu_ns: Figure<u64>,
    pub user_ns: Figure<u64>,
    pub system_ns: Figure<u64>,
    pub cpu_cores: Figure<f64>,
    pub rss_bytes: Figure<u64>,
    pub threads: Figure<u64>,
    pub minor_faults: Figure<u64>,
    pub major_faults: Figure<u64>,
    /// About once a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closely: Option<Closely>,
}

/// What a process spent since it was looked at closely.
#[derive(Debug, Clone, Serialize)]
pub struct Closely {
    /// Since the close look before.
    pub interval_ns: u64,
    pub cpu_cores: Figure<f64>,
    pub user_cores: Figure<f64>,
    pub system_cores: Figure<f64>,
    /// Time that its threads were ready to run and no core was free.
    pub waited_ns: Figure<u64>,
    pub voluntary_switches: Figure<u64>,
    pub involuntary_switches: Figure<u64>,
    pub peak_rss_bytes: Figure<u64>,
    pub proportional_bytes: Figure<u64>,
    pub swap_bytes: Figure<u64>,
    pub descriptors: Figure<u64>,
    pub disk_read_bytes: Figure<u64>,
    pub disk_written_bytes: Figure<u64>,
    pub sockets: Figure<Sockets>,
    pub cgroup: Figure<Group>,
    pub by_thread: Figure<Vec<Thread>>,
    /// What the kernel and the processor counted, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterUsage>,
}

/// A thread, since the close look before.
#[derive(Debug, Clone, Serialize)]
pub struct Thread {
    pub id: u32,
    pub name: String,
    pub cpu_ns: Figure<u64>,
    pub user_ns: Figure<u64>,
    pub system_ns: Figure<u64>,
    pub waited_ns: Figure<u64>,
    pub voluntary_switches: Figure<u64>,
    pub involuntary_switches: Figure<u64>,
    pub migrations: Figure<u64>,
    pub core: Figure<u64>,
}

/// TCP sockets of a process.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sockets {
    pub connections: u64,
    /// Connections that nobody accepted yet.
    pub to_accept: u64,
    /// Bytes that came and were not read.
    pub to_read_bytes: u64,
    /// Bytes that were written and not acknowledged.
    pub to_send_bytes: u64,
    /// Since the close look before, of connections that are open now.
    pub received_bytes: Figure<u64>,
    pub sent_bytes: Figure<u64>,
    pub retransmissions: Figure<u64>,
    /// Of all connections.
    pub median_rtt_ns: Figure<u64>,
}

/// The control group of a process.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    pub path: String,
    /// None is no limit.
    pub cpu_limit_cores: Figure<Option<f64>>,
    pub memory_limit_bytes: Figure<Option<u64>>,
    pub memory_bytes: Figure<u64>,
    /// Since the close look before.
    pub throttled_periods: Figure<u64>,
    pub throttled_ns: Figure<u64>,
}

/// A process has ended.
#[derive(Debug, Clone, Serialize)]
pub struct Ended {
    pub at: Timestamp,
    pub process: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub reason: String,
}

/// No sample came from another host.
#[derive(Debug, Clone, Serialize)]
pub struct Gap {
    pub at: Timestamp,
    pub name: String,
    pub from: String,
    pub reason: String,
}

/// The machine, since the look before.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    pub at: Timestamp,
    /// Another host, and who told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub interval_ns: u64,
    pub cores: Figure<u64>,
    pub busy_cores: Figure<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_cores: Option<Figure<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_cores: Option<Figure<f64>>,
    pub stolen_cores: Figure<f64>,
    /// Memory that programs could not have.
    pub used_bytes: Figure<u64>,
    pub ram_bytes: Figure<u64>,
    /// Time in which some thread of the machine wanted for it.
    pub cpu_pressure_ns: Figure<u64>,
    pub memory_pressure_ns: Figure<u64>,
    pub io_pressure_ns: Figure<u64>,
    pub links: Figure<Vec<Link>>,
    pub mean_hertz: Figure<f64>,
    pub hottest_celsius: Figure<f64>,
    pub watts: Figure<Vec<Watts>>,
}

/// A network interface, since the look before.
#[derive(Debug, Clone, Serialize)]
pub struct Link {
    pub name: String,
    pub received_bytes: Figure<u64>,
    pub sent_bytes: Figure<u64>,
    pub dropped: Figure<u64>,
    /// Of what the link can carry, the fuller way.
    pub share: Figure<f64>,
}

impl Link {
    /// Links that carried something.
    pub fn all(now: &[observe::Link], then: &[observe::Link], seconds: f64) -> Vec<Self> {
        let link = |link: &observe::Link| {
            let was = then.iter().find(|it| it.name == link.name)?;
            let carried = link.since(was, seconds);
            (!carried.is_nothing()).then(|| Self {
                name: carried.name,
                received_bytes: carried.received_bytes.into(),
                sent_bytes: carried.sent_bytes.into(),
                dropped: carried.dropped.into(),
                share: carried.share.into(),
            })
        };
        now.iter().filter_map(link).collect()
    }
}

/// A domain of energy.
#[derive(Debug, Clone, Serialize)]
pub struct Watts {
    pub domain: String,
    pub watts: Figure<f64>,
}

/// How it ended.
#[derive(Debug, Clone, Serialize)]
pub struct End {
    pub at: Timestamp,
    pub interrupted: bool,
    pub watched_ns: u64,
    /// Looks that were left out because the machine came to them too late.
    pub missed: u64,
    pub cost: Spent,
    pub processes: Vec<Sum>,
}

/// A process from the first look to the last.
#[derive(Debug, Clone, Serialize)]
pub struct Sum {
    pub process: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub watched_ns: u64,
    pub cpu_ns: Figure<u64>,
    pub user_ns: Figure<u64>,
    pub system_ns: Figure<u64>,
    pub cpu_cores: Figure<f64>,
    pub largest_rss_bytes: Figure<u64>,
    pub ended: bool,
}

impl End {
    /// Whether less was seen than was asked for.
    pub fn is_short(&self, asked: Option<std::time::Duration>) -> bool {
        let all_ended = self.processes.iter().all(|it| it.ended);
        let asked = asked.map(plan::unit::duration::nanos);
        all_ended && asked.is_some_and(|asked| self.watched_ns < asked)
    }
}

/// Lines of JSON.
pub struct Lines<W> {
    out: W,
}

impl<W: Write> Lines<W> {
    /// Written here.
    pub const fn new(out: W) -> Self {
        Self { out }
    }

    /// One more; whoever reads them has it at once.
    pub fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.out.write_all(&text)?;
        self.out.flush()
    }
}
