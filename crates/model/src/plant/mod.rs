//! A plant that is not built yet: its kinds of nodes, the links between them and their clients, and what happens to them.

mod read;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fitted::{Model, Prediction};
use crate::term::{Term, Wake};
use crate::workload::{Security, Workload};

pub use read::{PlantError, parse_percent};

/// Which clients get a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fanout {
    /// One of them: the points are shared out.
    Share,
    /// Each of them.
    All,
}

impl Fanout {
    /// As typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::All => "all",
        }
    }
}

/// A plant that is to be sized or simulated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plant {
    /// Its name.
    pub name: String,
    /// A sentence on it.
    pub about: String,
    /// What a node may be busy, in percent of its cores.
    pub cpu_limit: f64,
    /// The clock of the core that the model was measured on, to say CPU in GHz of it.
    pub core_ghz: Option<f64>,
    /// Its kinds of nodes.
    pub nodes: Vec<Node>,
    /// Links that nodes stand behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// What happens to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// What clients do when a server does not answer.
    pub client: Client,
    /// Costs that the file states, in microseconds of CPU; for simulations without a model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<Term, f64>,
    /// How long it is simulated, in milliseconds.
    pub duration_ms: f64,
}

/// A kind of node that serves points to clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Points that it serves.
    pub points: f64,
    /// Clients that subscribe to them.
    pub clients: f64,
    /// Which of them get a value.
    pub fanout: Fanout,
    /// Publishing interval.
    pub publishing_ms: f64,
    /// Sampling interval.
    pub sampling_ms: f64,
    /// How often a value changes.
    pub change_ms: f64,
    /// What is done to messages.
    pub security: Security,
    /// Its cores.
    pub cores: u32,
    /// A core of it against one that the model was measured on.
    pub speed: f64,
    /// What others said of it, to stand beside.
    pub published: Option<String>,
    /// The link between it and its clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// When the publishing intervals of its clients begin.
    pub phases: Phases,
    /// CPU time that a client costs when it connects, where the file says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_ms: Option<f64>,
    /// Read requests per second of all its clients together.
    pub reads_per_s: f64,
    /// Values in each of them.
    pub batch: f64,
}

/// When the publishing intervals of a node's clients begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phases {
    /// At the same moment.
    Aligned,
    /// By chance.
    #[default]
    Random,
    /// Evenly spread.
    Staggered,
}

/// A link that nodes stand behind: a switch, a radio cell, a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// What it does to packets, as `uaperf link` reads it.
    pub link: String,
    /// Nodes behind one of it, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<u32>,
}

/// Something that happens to a plant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// When.
    pub at_ms: f64,
    /// The link or the kind of node, by its name.
    pub on: String,
    /// Which of them, counted from 1; all where none is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<u32>,
    /// What.
    pub act: Act,
    /// For how long.
    pub lasts_ms: f64,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// A link carries nothing.
    Down,
    /// A node stops, says so to its clients, and starts again.
    Restart,
    /// A node loses its power.
    PowerOff,
}

/// What clients do when a server does not answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Client {
    /// How long an attempt to connect may take.
    pub timeout_ms: f64,
    /// How long a client waits for something to come before it takes its connection for dead.
    pub watchdog_ms: f64,
    /// How long it waits after the first attempt that failed; twice as long after each further one.
    pub back_off_first_ms: f64,
    /// At most.
    pub back_off_most_ms: f64,
    /// By which share such a wait is longer or shorter, by chance.
    pub jitter: f64,
    /// Publish requests that it keeps waiting at the server.
    pub publish_requests: u32,
    /// How long a subscription lives without one.
    pub lifetime_ms: f64,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000.0,
            watchdog_ms: 10_000.0,
            back_off_first_ms: 1_000.0,
            back_off_most_ms: 30_000.0,
            jitter: 0.0,
            publish_requests: 3,
            lifetime_ms: 60_000.0,
        }
    }
}

impl Node {
    /// What it is asked for.
    pub fn workload(&self) -> Workload {
        let items = match self.fanout {
            Fanout::Share => self.points / self.clients,
            Fanout::All => self.points,
        };
        Workload {
            sampling_ms: self.sampling_ms,
            change_ms: self.change_ms,
            security: self.security,
            variables: self.points,
            reads_per_s: self.reads_per_s,
            batch: self.batch,
            ..Workload::of_signals(self.clients, items, self.publishing_ms)
        }
    }

    /// What it spends, in percent of one of its own cores.
    pub fn predict(&self, model: &Model, level: f64) -> Prediction {
        let mut found = model.predict(&self.workload(), level);
        let other = (self.speed - 1.0).abs() > 1e-9;
        if other {
            // Nobody measured there: the interval is twice as wide, as a ratio.
            let wider = |end: f64| end * end / found.cpu_percent.max(f64::MIN_POSITIVE);
            (found.low, found.high) = (wider(found.low), wider(found.high));
            found.unknown.push(format!(
                "its cores: their speed of {:.2} is a guess until something is measured there; the interval is doubled",
                self.speed
            ));
        }
        for it in [&mut found.cpu_percent, &mut found.low, &mut found.high] {
            *it /= self.speed;
        }
        for (_, us) in &mut found.parts {
            *us /= self.speed;
        }
        found
    }

    /// What it spends on each term in a second at costs that are stated, in microseconds of its own cores.
    pub fn spends(&self, costs: &BTreeMap<Term, f64>) -> Vec<(Term, f64)> {
        let workload = self.workload();
        let of = |(term, us): (&Term, &f64)| {
            let per_s = term.rate(&workload, Wake::Linear) * us / self.speed;
            (*term, per_s)
        };
        costs.iter().map(of).collect()
    }
}
