//! The result file: one JSON document that can be understood alone. `docs/results.md` describes it
//! for readers; `docs/results.schema.json` is its schema.

mod bottleneck;
mod clock_bound;
mod counters;
mod cpu;
mod diagnostics;
mod figure;
mod file;
mod footprint;
mod host;
mod internals;
mod machine;
mod observed;
mod path;
mod phase;
mod place;
mod pubsub;
mod series;
mod stall;
mod status;
mod subscriptions;
mod verdict;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use bottleneck::{Bottleneck, Candidate, Finding, Limiter, Sign};
pub use clock_bound::{ClockBound, OneWay, Trust};
pub use counters::{CounterUsage, EventCount, ThreadCounters};
pub use cpu::{CoreCourse, CpuCourse, ThreadCourse};
pub use diagnostics::{Counted, Diagnostics, OfSessions, OfSubscriptions};
pub use figure::Figure;
pub use file::{Destination, ReadError, WriteError, place_file};
pub use footprint::{Footprint, Held, Rise};
pub use host::{Host, HostClock};
pub use internals::{Internals, LoopUse, Queue, ServiceUse, UpdateUse, Waiting};
pub use machine::{Build, Fingerprint};
pub use observed::{
    Energy, GapOf, LinkCourse, LinkUsage, Mean, Means, Observing, PowerCourse, SocketUsage, Source,
    ThreadUsage,
};
pub use path::{LinkTest, Throughput, Trip};
pub use phase::{
    ByHand, Counts, LeftOut, Level, Messages, OperatorAction, Outside, Part, Phase, Sum, WarmUp,
};
pub use place::{create, replace, target, try_out};
pub use pubsub::{
    Delivered, KeyUse, Listener, PubSub, Published, Subscribed, TokenUse, Unread, whole_datagram,
};
pub use series::{Budget, HistogramCourse, Series, Usage, UsageSeries};
pub use stall::{Stall, StallKind};
pub use status::Status;
pub use subscriptions::{
    ByRate, CountComparison, EachSubscription, Ended, EventsHeard, Extremes, Fairness, First,
    Incident, Intervals, Names, Outcome, Place, Silence, Slow, StepTaken, Subscriptions,
};
pub use verdict::{EvidenceTopic, Expectation, Kind, Verdict};

use crate::Timestamp;

/// What every result file says it is.
pub const FORMAT: &str = "uaperf run";

/// The version that is written. Older ones are read too.
pub const VERSION: u32 = 1;

/// A run: what was asked, on what, what came out, and whether it can be believed.
///
/// Sections whose types live elsewhere (the request as typed, the plan made of it) are JSON
/// values: a result is read without knowing how they are executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The command: `read`, `browse`, `run`.
    pub command: String,
    /// When it began.
    pub started: Timestamp,
    /// When it was over.
    pub ended: Timestamp,
    /// What was asked for, resolved: every option with its value. No secrets.
    pub request: Value,
    /// The plan made of it.
    pub plan: Value,
    /// The servers.
    pub targets: Vec<Target>,
    /// The machine of the generator.
    pub machine: Fingerprint,
    /// The hosts that made the load together, where it was a fleet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
    /// What was measured, in order.
    pub phases: Vec<Phase>,
    /// The worst verdict of all phases.
    pub verdict: Verdict,
    /// What happened to the run as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// What a reader should know: sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What a person said of it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// What happened to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Ended by the user before its time; what was measured until then is here.
    Interrupted,
    /// Ended by `--abort-on`.
    Aborted,
    /// A part of it was lost: a core, an agent, a server.
    Degraded,
    /// The server's declared limits were ignored on purpose.
    LimitsIgnored,
    /// A person changed the offered load while it ran.
    ByHand,
    /// Nothing of it was measured: a simulation computed it.
    Simulated,
}

/// A server as it presented itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As typed.
    pub url: String,
    /// As the server names the endpoint, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_url: Option<String>,
    /// Its name in `uaperf peers`, where it was started from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Of such a one: the compilers and runtimes that it needs, with the versions that were there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What it says of itself.
    #[serde(default)]
    pub product: Product,
    /// Policy and mode, as `Basic256Sha256:SignAndEncrypt`.
    #[serde(default)]
    pub security: String,
    /// Who logged in: `anonymous`, a user's name, a certificate's subject.
    #[serde(default)]
    pub user: String,
    /// What was put between us and it: rate, delay, jitter, loss of an emulated link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The proxy through which it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// The interface of this machine that leads to it, or to the proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The class of traffic (DSCP) that packets to it said they were of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<String>,
    /// What it declares, by the specification's names (`MaxNodesPerRead`); 0 means no limit.
    #[serde(default)]
    pub limits: BTreeMap<String, u64>,
}

/// `ServerStatus/BuildInfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Its name.
    pub name: Figure<String>,
    /// Who made it.
    pub manufacturer: Figure<String>,
    /// Its URI.
    pub uri: Figure<String>,
    /// Its version.
    pub version: Figure<String>,
    /// Its build number.
    pub build: Figure<String>,
}

impl Run {
    /// Whether nothing of it was measured.
    pub fn is_simulated(&self) -> bool {
        self.marks.contains(&Mark::Simulated)
    }

    /// A run with nothing in it yet.
    pub fn new(command: impl Into<String>, started: Timestamp, machine: Fingerprint) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            command: command.into(),
            started,
            ended: started,
            request: Value::Null,
            plan: Value::Null,
            targets: Vec::new(),
            machine,
            hosts: Vec::new(),
            phases: Vec::new(),
            verdict: Verdict::default(),
            marks: Vec::new(),
            notes: Vec::new(),
            tags: BTreeMap::new(),
        }
    }
}
