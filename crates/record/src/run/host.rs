//! Hosts that made a load together.

use serde::{Deserialize, Serialize};

use super::{Figure, Fingerprint, Sum, UsageSeries, Verdict};

/// One agent of a fleet, on its host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// As it was asked for, and with a number where that stands for several: `local:1`, `ssh:user@host`.
    pub name: String,
    /// Which phase's load it made a part of: its place in the run.
    #[serde(default)]
    pub phase: usize,
    /// Its process.
    #[serde(default)]
    pub pid: u32,
    /// The machine.
    #[serde(default)]
    pub machine: Fingerprint,
    /// Sessions that were its share.
    pub sessions: u64,
    /// What it did instead of a share of the load: `publishes`, `listens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Its share of the operations that fell due, 0 to 1; of subscriptions, of the sessions.
    pub offered_share: f64,
    /// Its clock beside the controller's.
    #[serde(default)]
    pub clock: HostClock,
    /// Whether it was the limit itself, and the like; none of one that told nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What its sessions did; none of one that told nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Sum>,
    /// What its processes spent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<UsageSeries>,
    /// Why nothing is known of what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// It may have kept what it did on its disk, under this name: `uaperf fleet collect` brings it.
    #[serde(rename = "books", default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// What it did came when the load was over: `uaperf fleet collect` brought it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

/// How the clock of a host stands beside the controller's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    /// How much its wall clock is ahead of the controller's, to the error beside it.
    #[serde(default)]
    pub ahead_ns: Figure<i64>,
    /// It may be so much more or less.
    #[serde(default)]
    pub error_ns: Figure<u64>,
    /// How much faster it runs, at least and at most: parts in a thousand million.
    #[serde(default)]
    pub drift_ppb: Figure<(i64, i64)>,
    /// It began so much before or behind the agreed moment at most.
    #[serde(default)]
    pub begin_error_ns: Figure<u64>,
    /// The shortest time for a question and its answer.
    #[serde(default)]
    pub round_trip_ns: Figure<u64>,
}
