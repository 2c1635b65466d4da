//! What goes on while a phase runs, for other programs: a line of JSON each second, and the text that
//! Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use plan::unit::duration;
use record::{Closed, Histogram, Timestamp};

/// Sums of a phase that is running.
#[derive(Debug, Clone)]
pub struct Running {
    command: String,
    phase: String,
    // Since the phase began, and since the last line.
    all: Closed,
    recent: Closed,
    told_ns: u64,
    covered_ns: u64,
    in_flight: BTreeMap<(usize, usize), i64>,
}

impl Running {
    /// For a phase of a command.
    pub fn new(command: impl Into<String>, phase: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            phase: phase.into(),
            all: Closed::default(),
            recent: Closed::default(),
            told_ns: 0,
            covered_ns: 0,
            in_flight: BTreeMap::new(),
        }
    }

    /// An interval that a core closed in one of its ledgers.
    pub fn add(&mut self, core: usize, ledger: usize, closed: &Closed) {
        self.all.merge(closed);
        self.recent.merge(closed);
        let end = closed.start_ns.saturating_add(closed.width_ns);
        self.covered_ns = self.covered_ns.max(end);
        self.in_flight.insert((core, ledger), closed.in_flight);
    }

    /// What happened since the last line, as one line of JSON.
    pub fn line(&mut self, now: Timestamp, elapsed: Duration) -> String {
        let recent = std::mem::take(&mut self.recent);
        let covered = self.covered_ns.saturating_sub(self.told_ns);
        self.told_ns = self.covered_ns;
        let per_second = |n: u64| (covered > 0).then(|| n as f64 * 1e9 / covered as f64);
        let times = |histogram: &Histogram| {
            serde_json::json!({
                "p50_ns": histogram.quantile(0.5),
                "p90_ns": histogram.quantile(0.9),
                "p99_ns": histogram.quantile(0.99),
                "max_ns": histogram.max(),
            })
        };
        let line = serde_json::json!({
            "time": now.to_string(),
            "at_ns": duration::nanos(elapsed),
            "command": self.command,
            "phase": self.phase,
            "completed": recent.counters.completed,
            "errors": recent.errors,
            "values": recent.counters.values,
            "rate_per_s": per_second(recent.counters.completed),
            "values_per_s": per_second(recent.counters.values),
            "in_flight": self.in_flight.values().sum::<i64>(),
            "response": times(&recent.response),
            "total_completed": self.all.counters.completed,
            "total_errors": self.all.errors,
        });
        line.to_string()
    }

    fn labels(&self) -> String {
        format!(
            "command=\"{}\",phase=\"{}\"",
            label(&self.command),
            label(&self.phase)
        )
    }
}

/// A counter or gauge: its name, what it is, what it says.
type Simple = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Running) -> f64,
);

const SIMPLE: [Simple; 5] = [
    (
        "uaperf_requests_sent_total",
        "counter",
        "Requests sent.",
        |it| it.all.counters.sent as f64,
    ),
    (
        "uaperf_requests_completed_total",
        "counter",
        "Requests that ended, well or badly.",
        |it| it.all.counters.completed as f64,
    ),
    (
        "uaperf_requests_failed_total",
        "counter",
        "Requests that ended with a Bad status, timeouts among them.",
        |it| it.all.errors as f64,
    ),
    ("uaperf_values_total", "counter", "Values carried.", |it| {
        it.all.counters.values as f64
    }),
    (
        "uaperf_requests_in_flight",
        "gauge",
        "Requests without an answer yet.",
        |it| it.in_flight.values().sum::<i64>() as f64,
    ),
];

/// Everything so far of all phases, in Prometheus's text format 0.0.4.
pub fn prometheus(phases: &[Running]) -> String {
    let mut text = String::new();
    // Writing into a String does not fail.
    for (name, kind, help, of) in SIMPLE {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for phase in phases {
            let _ = writeln!(text, "{name}{{{}}} {}", phase.labels(), of(phase));
        }
    }
    let name = "uaperf_response_seconds";
    let _ = writeln!(
        text,
        "# HELP {name} Response times, from when requests were due.\n# TYPE {name} histogram"
    );
    for phase in phases {
        let (labels, response) = (phase.labels(), &phase.all.response);
        for bound in BOUNDS {
            let below = response.share_up_to(bound).unwrap_or(0.0) * response.count() as f64;
            let le = bound as f64 / 1e9;
            let _ = writeln!(
                text,
                "{name}_bucket{{{labels},le=\"{le}\"}} {}",
                below.round()
            );
        }
        let (sum, count) = (response.sum() as f64 / 1e9, response.count());
        let _ = writeln!(
            text,
            "{name}_bucket{{{labels},le=\"+Inf\"}} {count}\n{name}_sum{{{labels}}} {sum}\n\
             {name}_count{{{labels}}} {count}"
        );
    }
    text
}

/// Bounds of the buckets: 1, 2 and 5 of each power of ten from 10 µs to 10 s.
const BOUNDS: [u64; 19] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// As the format wants values of labels.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
