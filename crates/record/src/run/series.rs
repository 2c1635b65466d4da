//! What changed in the course of a phase: a column for each figure, a row for each interval.

use serde::{Deserialize, Serialize};

use super::{CounterUsage, CpuCourse, Figure, LinkUsage, Means, SocketUsage, Source, ThreadUsage};
use crate::ledger::{BINS, Bin};
use crate::{Histogram, Measure, Tally};

/// A phase in at most 600 intervals. All columns have as many rows; the last interval may be cut
/// short by the phase's end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The length of an interval: 100 ms, or that doubled until 600 hold the phase.
    pub interval_ns: u64,
    /// Operations that were sent.
    pub sent: Vec<u64>,
    /// Operations that ended.
    pub completed: Vec<u64>,
    /// Of these, with a Bad status, timeouts among them.
    pub errors: Vec<u64>,
    /// Operations left out to catch up.
    pub skipped: Vec<u64>,
    /// Values carried.
    pub values: Vec<u64>,
    /// Bytes written.
    pub sent_bytes: Vec<u64>,
    /// Bytes received.
    pub received_bytes: Vec<u64>,
    /// Mean number of operations in flight.
    pub in_flight: Vec<f64>,
    /// Response times.
    pub response: HistogramCourse,
    /// Service times.
    pub service: HistogramCourse,
    /// Lateness.
    pub lateness: HistogramCourse,
    /// Delays of notified values, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<HistogramCourse>,
    /// Of each threshold that allows a share, what became of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Budget>,
}

/// An error budget: how much of what a threshold allows was used up in the measured window, and when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The condition: `p99<5ms`.
    pub expected: String,
    /// The share that may be missed: 0.01.
    pub allowed: f64,
    /// How much of that was used up; 1 is all of it.
    pub spent: f64,
    /// The highest burn rate over a second, or an interval that is longer: the share that was missed over that which may be.
    pub fastest: f64,
    /// In each interval those that were missed.
    pub bad: Vec<u64>,
    /// Of so many.
    pub of: Vec<u64>,
}

impl Budget {
    /// The share that was missed over the share that may be; none where there was nothing.
    pub fn burn_rate(&self, bad: u64, of: u64) -> Option<f64> {
        (of > 0).then(|| bad as f64 / of as f64 / self.allowed)
    }
}

/// A histogram in the course of time; null where an interval had no value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HistogramCourse {
    /// Means.
    pub mean_ns: Vec<Option<f64>>,
    /// Medians.
    pub p50_ns: Vec<Option<u64>>,
    /// 99th percentiles.
    pub p99_ns: Vec<Option<u64>>,
    /// Largest values.
    pub max_ns: Vec<Option<u64>>,
}

impl HistogramCourse {
    fn push(&mut self, histogram: &Histogram) {
        self.mean_ns.push(histogram.mean());
        self.p50_ns.push(histogram.quantile(0.5));
        self.p99_ns.push(histogram.quantile(0.99));
        self.max_ns.push(histogram.max());
    }
}

impl Series {
    /// The course of a phase.
    pub fn of(tally: &Tally) -> Self {
        let mut series = Self {
            interval_ns: tally.width_ns(),
            in_flight: tally.in_flight(),
            ..Self::default()
        };
        let has_delays = |bin: &Bin| !bin.histogram(Measure::Delay).is_empty();
        if tally.bins().iter().any(has_delays) {
            series.delay = Some(HistogramCourse::default());
        }
        for bin in tally.bins() {
            if let Some(delay) = &mut series.delay {
                delay.push(bin.histogram(Measure::Delay));
            }
            let counters = &bin.counters;
            series.sent.push(counters.sent);
            series.completed.push(counters.completed);
            series.errors.push(bin.statuses.bad());
            series.skipped.push(counters.skipped);
            series.values.push(counters.values);
            series.sent_bytes.push(counters.sent_sizes.bytes);
            series.received_bytes.push(counters.received_sizes.bytes);
            series.response.push(bin.histogram(Measure::Response));
            series.service.push(bin.histogram(Measure::Service));
            series.lateness.push(bin.histogram(Measure::Lateness));
        }
        debug_assert!(series.sent.len() <= BINS && series.in_flight.len() == series.sent.len());
        series
    }
}

/// What somebody spent during a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageSeries {
    /// `generator`, `server`, `host`, or `observed` for another process that was to be observed.
    pub who: String,
    /// What its process is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its process, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// In the measured window.
    pub window: Usage,
    /// Means over the window, where it was to be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<Means>,
    /// Times of the samples since the phase began, rising.
    #[serde(default)]
    pub at_ns: Vec<u64>,
    /// Cores kept busy since the sample before (or the phase's beginning).
    #[serde(default)]
    pub cpu_cores: Vec<Option<f64>>,
    /// Resident memory at the sample; of a machine the memory that is in use.
    #[serde(default)]
    pub rss_bytes: Vec<Option<u64>>,
    /// All RAM; of a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_bytes: Option<u64>,
    /// Who looked, where that was somebody on another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Threads that were ready to run and had no core, on average since the closer look before; null where it was
    /// not looked closely. Only where it was to be observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited_cores: Vec<Option<f64>>,
    /// Switches of both kinds in a second, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches_per_s: Vec<Option<f64>>,
    /// Its CPU by threads, and by user space and kernel, in the course of the phase; of a process of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_course: Option<CpuCourse>,
    /// Its threads by name in the window, the busiest first; not of the generator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadUsage>,
    /// Network interfaces that carried something in the window: of the host, where it was to be observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkUsage>,
    /// Cores that it may use; of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores_allowed: Option<f64>,
    /// The share of its time that the busiest thread that makes load had something to do; of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_core: Option<f64>,
    /// How long work of its control group, or of the machine, stood still for want of memory; of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_stalled_ns: Option<Figure<u64>>,
    /// Its TCP connections; of server and generator, where the server is watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<Figure<SocketUsage>>,
    /// What the kernel and the processor counted of it in the window, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterUsage>,
}

/// Sums over a window; what the machine does not tell has its reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in all.
    pub cpu_ns: Figure<u64>,
    /// Of it, in its own code.
    pub user_ns: Figure<u64>,
    /// Of it, in the kernel.
    pub system_ns: Figure<u64>,
    /// Ready to run, and waiting for a core.
    pub waited_ns: Figure<u64>,
    /// Taken by the hypervisor (of the host only).
    pub stolen_ns: Figure<u64>,
    /// CPU time that was spent polling without finding anything.
    pub spun_ns: Figure<u64>,
    /// Cores kept busy on average.
    pub cpu_cores: Figure<f64>,
    /// Largest resident memory.
    pub rss_peak_bytes: Figure<u64>,
    /// Switches because it waited.
    pub voluntary_switches: Figure<u64>,
    /// Switches because another one's turn came.
    pub involuntary_switches: Figure<u64>,
    /// Page faults without a read from disk.
    pub minor_faults: Figure<u64>,
    /// Page faults with one.
    pub major_faults: Figure<u64>,
}
