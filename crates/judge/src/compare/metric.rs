//! What is compared: figures of a phase.

use std::fmt;
use std::str::FromStr;

use plan::{Figures, Measure, Stat, ThresholdError, Unit};
use record::run::{Energy, Figure, Mean, Phase};

use crate::Measured;

/// What is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More of it.
    Higher,
    /// Less of it.
    Lower,
}

/// A figure of a phase that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// CPU time of the server for each completed request: it stays meaningful on a machine that does other things.
    CpuPerRequest,
    /// CPU time of the server or publisher for each value that it sent; where nobody knows that, for each that came.
    CpuPerValue,
    /// CPU time of the clients or listeners for each value that they received.
    ReceiverCpuPerValue,
    /// Bits of messages in a second, both ways together; of PubSub those that each listener gets.
    Network,
    /// The share of the fullest link that was looked at.
    Link,
    /// Energy beyond that of an idle machine for each operation that ended, by the first that counted it.
    EnergyPerRequest,
    /// The same for each value.
    EnergyPerValue,
    /// Bytes of a value that came from subscriptions or over PubSub, with its share of the message around it.
    BytesPerValue,
    /// The share of completed operations that succeeded; of subscriptions, of values that came. Of the whole phase.
    Success,
    /// The share of what was planned that was completed. Of the whole phase.
    Complete,
    /// A figure as thresholds name it.
    Figure(Measure, Stat),
}

/// Why a text is no metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no metric (want cpu-per-request, rate, mean, p50, p99, service.p99, delay.p99, cpu, rss, cpu-per-value, energy-per-request …): {error}"
)]
pub struct MetricError {
    text: String,
    error: ThresholdError,
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Self, MetricError> {
        match text {
            CPU_PER_REQUEST => return Ok(Self::CpuPerRequest),
            CPU_PER_VALUE => return Ok(Self::CpuPerValue),
            RECEIVER_CPU_PER_VALUE => return Ok(Self::ReceiverCpuPerValue),
            NETWORK => return Ok(Self::Network),
            LINK => return Ok(Self::Link),
            ENERGY_PER_REQUEST => return Ok(Self::EnergyPerRequest),
            ENERGY_PER_VALUE => return Ok(Self::EnergyPerValue),
            BYTES_PER_VALUE => return Ok(Self::BytesPerValue),
            SUCCESS => return Ok(Self::Success),
            COMPLETE => return Ok(Self::Complete),
            _ => {}
        }
        let (measure, stat) = plan::figure(text).map_err(|error| MetricError {
            text: text.to_owned(),
            error,
        })?;
        Ok(Self::Figure(measure, stat))
    }
}

const CPU_PER_REQUEST: &str = "cpu-per-request";
const CPU_PER_VALUE: &str = "cpu-per-value";
const RECEIVER_CPU_PER_VALUE: &str = "receiver-cpu-per-value";
const NETWORK: &str = "network";
const LINK: &str = "link";
const ENERGY_PER_REQUEST: &str = "energy-per-request";
const ENERGY_PER_VALUE: &str = "energy-per-value";
const BYTES_PER_VALUE: &str = "bytes-per-value";
const SUCCESS: &str = "success";
const COMPLETE: &str = "complete";

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CpuPerRequest => f.pad(CPU_PER_REQUEST),
            Self::CpuPerValue => f.pad(CPU_PER_VALUE),
            Self::ReceiverCpuPerValue => f.pad(RECEIVER_CPU_PER_VALUE),
            Self::Network => f.pad(NETWORK),
            Self::Link => f.pad(LINK),
            Self::EnergyPerRequest => f.pad(ENERGY_PER_REQUEST),
            Self::EnergyPerValue => f.pad(ENERGY_PER_VALUE),
            Self::BytesPerValue => f.pad(BYTES_PER_VALUE),
            Self::Success => f.pad(SUCCESS),
            Self::Complete => f.pad(COMPLETE),
            Self::Figure(_, stat @ (Stat::Rate | Stat::Values | Stat::Errors | Stat::Loss)) => {
                f.pad(&stat.to_string())
            }
            Self::Figure(measure, stat) => f.pad(&format!("{}.{stat}", measure.name())),
        }
    }
}

impl Metric {
    /// What is better.
    pub fn better(self) -> Direction {
        match self {
            Self::Success | Self::Complete | Self::Figure(_, Stat::Rate | Stat::Values) => {
                Direction::Higher
            }
            _ => Direction::Lower,
        }
    }

    /// In which unit it is.
    pub fn unit(self) -> Unit {
        match self {
            Self::CpuPerRequest | Self::CpuPerValue | Self::ReceiverCpuPerValue => Unit::Nanos,
            Self::EnergyPerRequest | Self::EnergyPerValue => Unit::Joules,
            Self::BytesPerValue => Unit::Bytes,
            Self::Success | Self::Complete | Self::Link => Unit::Share,
            Self::Network => Unit::BitsPerSecond,
            Self::Figure(measure, stat) => stat.unit(measure),
        }
    }

    /// Whether it is a percentile.
    pub fn is_percentile(self) -> bool {
        matches!(self, Self::Figure(_, Stat::Percentile(_)))
    }

    /// The figure of a phase; none if it was not measured.
    pub fn of(self, phase: &Phase) -> Option<f64> {
        match self {
            Self::CpuPerValue => {
                let values = phase.values_moved_per_s();
                let values = values.filter(|_| phase.is_notified())?;
                spent(phase, "server", values)
            }
            Self::ReceiverCpuPerValue => match &phase.pubsub {
                // Of its threads alone: the rest of this process has other work.
                Some(told) => told.listener_cpu_per_value_ns(),
                None => {
                    let values = phase.values_per_s().filter(|_| phase.is_notified())?;
                    spent(phase, "generator", values)
                }
            },
            Self::Network => network(phase),
            Self::Link => {
                let links = phase.resources.iter().flat_map(|it| &it.links);
                let shares = links.filter_map(|it| it.share.known().copied());
                shares.max_by(f64::total_cmp)
            }
            Self::EnergyPerRequest => energy(phase, |it| &it.per_operation_joules),
            Self::EnergyPerValue => energy(phase, |it| &it.per_value_joules),
            Self::BytesPerValue => phase.bytes_per_value(),
            // A datagram is no request.
            Self::CpuPerRequest if phase.pubsub.is_some() => None,
            Self::CpuPerRequest => {
                let server = phase.resources.iter().find(|it| it.who == "server")?;
                let cpu = *server.window.cpu_ns.known()?;
                let done = phase.total.completed.checked_sub(phase.total.drained)?;
                (done > 0 && cpu > 0).then(|| cpu as f64 / done as f64)
            }
            Self::Success | Self::Complete => {
                let (good, all) = counts(self, phase)?;
                Some(good as f64 / all as f64)
            }
            Self::Figure(measure, stat) => Measured(phase).figure(measure, stat),
        }
    }
}

/// CPU time that somebody spent for each of so many things a second.
fn spent(phase: &Phase, who: &str, per_s: f64) -> Option<f64> {
    let usage = phase.resources.iter().find(|it| it.who == who)?;
    let cores = *usage.window.cpu_cores.known()?;
    (per_s > 0.0 && cores > 0.0).then(|| cores * 1e9 / per_s)
}

/// Bits of messages in a second.
fn network(phase: &Phase) -> Option<f64> {
    if phase.pubsub.is_some() {
        return Some(phase.bytes_per_value()? * phase.values_per_s()? * 8.0);
    }
    let bytes = phase.total.requests.total_bytes + phase.total.responses.total_bytes;
    let ns = phase.to_ns.saturating_sub(phase.from_ns);
    (bytes > 0 && ns > 0).then(|| bytes as f64 * 8e9 / ns as f64)
}

/// Energy for each of something: of a meter, which stands first, or else of the machine's own first domain.
fn energy(phase: &Phase, each: fn(&Energy) -> &Figure<Mean>) -> Option<f64> {
    phase
        .energy
        .iter()
        .find_map(|it| Some(each(it).known()?.mean))
}

/// What is compared when nothing is said: what all the phases have of CPU for each request (of PubSub, each value), times of response and
/// delays of notifications; the rate where the server sets it, in a `closed` loop. Few, because each one makes it
/// harder for the others.
pub fn usual(phases: &[&Phase], closed: bool) -> Vec<Metric> {
    let times = [Stat::Mean, Stat::P50, Stat::P99];
    let rate = closed.then_some(Metric::Figure(Measure::Response, Stat::Rate));
    let response = times.map(|stat| Metric::Figure(Measure::Response, stat));
    let delay = times.map(|stat| Metric::Figure(Measure::Delay, stat));
    let loss = [Metric::Figure(Measure::Response, Stat::Loss)];
    let published = phases.iter().any(|phase| phase.pubsub.is_some());
    let cpu = match published {
        true => vec![Metric::CpuPerValue, Metric::ReceiverCpuPerValue],
        false => vec![Metric::CpuPerRequest],
    };
    let all = rate
        .into_iter()
        .chain(cpu)
        .chain(response)
        .chain(delay)
        .chain(loss);
    all.filter(|metric| !phases.is_empty() && phases.iter().all(|phase| metric.of(phase).is_some()))
        .collect()
}

/// Operations that did what was asked, and all of them: of success the completed ones and, of subscriptions, values;
/// of completeness the planned ones. None if there were none.
pub(super) fn counts(metric: Metric, phase: &Phase) -> Option<(u64, u64)> {
    let whole = phase.whole();
    let (good, all) = match (metric, &phase.subscriptions) {
        (Metric::Success, Some(told)) => (told.delivered(), told.delivered() + told.lost),
        (Metric::Success, None) if let Some(told) = &phase.pubsub => {
            let came = told.sum(|it| it.messages);
            (came, came + told.lost()?)
        }
        (Metric::Success, None) => (
            whole.completed.saturating_sub(whole.errors),
            whole.completed,
        ),
        (Metric::Complete, _) => (whole.completed.min(whole.planned), whole.planned),
        _ => return None,
    };
    (all > 0).then_some((good, all))
}
