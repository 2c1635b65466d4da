//! How large a node has to be: a plant's nodes against a model, and the largest load under a limit.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fitted::{Model, Prediction};
use crate::workload::{Security, Workload};

/// Nodes that serve, as a file says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    name: String,
    #[serde(default)]
    about: String,
    fanout: Option<Fanout>,
    cpu_limit: Option<String>,
    core_ghz: Option<f64>,
    #[serde(default)]
    node: Vec<TypedNode>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedNode {
    name: String,
    #[serde(default = "one")]
    count: u32,
    points: u32,
    clients: u32,
    publishing: String,
    sampling: Option<String>,
    change: Option<String>,
    security: Option<String>,
    #[serde(default = "one")]
    cores: u32,
    #[serde(default = "same")]
    speed: f64,
    fanout: Option<Fanout>,
    published: Option<String>,
}

const fn one() -> u32 {
    1
}

const fn same() -> f64 {
    1.0
}

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

/// A plant that is to be sized.
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
}

/// Why a plant cannot be sized.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlantError {
    /// The file is no TOML, or a key is wrong.
    #[error("{0}")]
    Toml(String),
    /// There is no node.
    #[error("no [[node]]: want one for each kind of node that serves")]
    NoNode,
    /// It does not say who gets what.
    #[error(
        "node {0:?}: fanout is not said: \"share\" where each point goes to one client, \"all\" where it goes to each of them"
    )]
    NoFanout(String),
    /// A value is none.
    #[error("{at}: {key} = {found:?} (want {want})")]
    Value {
        /// Where.
        at: String,
        /// Which key.
        key: &'static str,
        /// What stands there.
        found: String,
        /// What is wanted.
        want: &'static str,
    },
}

/// What a node may be busy if nothing is said: above it, cycle times were missed in Burger et al. 2019.
const LIMIT: f64 = 70.0;

impl Plant {
    /// Reads a plant; `fanout` is for nodes that do not say it.
    pub fn read(text: &str, fanout: Option<Fanout>) -> Result<Self, PlantError> {
        let typed: Typed =
            toml::from_str(text).map_err(|error| PlantError::Toml(error.to_string()))?;
        if typed.node.is_empty() {
            return Err(PlantError::NoNode);
        }
        let cpu_limit = match &typed.cpu_limit {
            None => LIMIT,
            Some(text) => percent(text).ok_or_else(|| PlantError::Value {
                at: typed.name.clone(),
                key: "cpu_limit",
                found: text.clone(),
                want: "more than 0% and at most 100%",
            })?,
        };
        let fanout = fanout.or(typed.fanout);
        let nodes = typed.node.into_iter().map(|it| it.read(fanout));
        Ok(Self {
            name: typed.name,
            about: typed.about,
            cpu_limit,
            core_ghz: typed.core_ghz.filter(|it| *it > 0.0),
            nodes: nodes.collect::<Result<_, _>>()?,
        })
    }
}

/// A percentage that a node may be busy.
pub fn percent(text: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (number > 0.0 && number <= 100.0).then_some(number)
}

impl TypedNode {
    fn read(self, fanout: Option<Fanout>) -> Result<Node, PlantError> {
        let wrong = |key, found: String, want| PlantError::Value {
            at: format!("node {:?}", self.name),
            key,
            found,
            want,
        };
        let interval = |key, text: &str| match plan::unit::duration::parse(text) {
            Ok(it) if it > Duration::ZERO => Ok(it.as_secs_f64() * 1e3),
            _ => Err(wrong(key, text.to_owned(), "a duration such as 100ms")),
        };
        let publishing_ms = interval("publishing", &self.publishing)?;
        let or = |key, text: &Option<String>| match text {
            Some(text) => interval(key, text),
            None => Ok(publishing_ms),
        };
        for (key, number) in [
            ("count", self.count),
            ("points", self.points),
            ("clients", self.clients),
            ("cores", self.cores),
        ] {
            if number == 0 {
                return Err(wrong(key, "0".to_owned(), "1 or more"));
            }
        }
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            return Err(wrong("speed", self.speed.to_string(), "more than 0"));
        }
        let security = match &self.security {
            Some(text) => text
                .parse()
                .map_err(|_| wrong("security", text.clone(), "none, Sign or SignAndEncrypt"))?,
            None => Security::None,
        };
        let fanout = self.fanout.or(fanout);
        Ok(Node {
            sampling_ms: or("sampling", &self.sampling)?,
            change_ms: or("change", &self.change)?,
            publishing_ms,
            security,
            fanout: fanout.ok_or_else(|| PlantError::NoFanout(self.name.clone()))?,
            count: self.count,
            points: f64::from(self.points),
            clients: f64::from(self.clients),
            cores: self.cores,
            speed: self.speed,
            published: self.published,
            name: self.name,
        })
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
                "its cores: their speed of {} is a guess until something is measured there; the interval is doubled",
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
}

/// What became of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sized {
    /// The node.
    pub node: Node,
    /// What it spends, in percent of a core.
    pub cpu: Prediction,
    /// Whether it fits.
    pub fit: Fit,
    /// The most points that fit with 95 % probability, the rest as it is.
    pub most_points: Option<f64>,
    /// What changes most, and what it spends then, in percent of a core.
    pub knobs: Vec<(String, f64)>,
    /// How long the last of its clients waits when all publish at the same moment.
    pub burst_ms: f64,
}

/// Whether a node fits under the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The whole interval lies below the limit.
    Fits,
    /// The limit lies in the interval.
    CannotTell,
    /// The whole interval lies above it.
    TooSmall,
}

/// Sizes each kind of node.
pub fn size(plant: &Plant, model: &Model, level: f64) -> Vec<Sized> {
    let each = plant.nodes.iter();
    each.map(|node| {
        let limit = plant.cpu_limit * f64::from(node.cores);
        let cpu = node.predict(model, level);
        let fit = match () {
            () if cpu.high <= limit => Fit::Fits,
            () if cpu.low > limit => Fit::TooSmall,
            () => Fit::CannotTell,
        };
        Sized {
            most_points: most_points(node, model, limit),
            knobs: knobs(node, model),
            burst_ms: burst_ms(node, &cpu),
            node: node.clone(),
            cpu,
            fit,
        }
    })
    .collect()
}

/// The most points with which CPU stays below a limit with 95 % probability: half of what an interval of 90 % leaves
/// out lies below it.
fn most_points(node: &Node, model: &Model, limit: f64) -> Option<f64> {
    let fits = |points: f64| {
        let node = Node {
            points,
            ..node.clone()
        };
        node.predict(model, 0.9).high <= limit
    };
    let (mut low, mut high) = (0.0, 1e7);
    if !fits(1.0) {
        return None;
    }
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high);
        match fits(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(low.floor())
}

/// What can be changed, and what is spent then; the largest change first.
fn knobs(node: &Node, model: &Model) -> Vec<(String, f64)> {
    let slower = Node {
        publishing_ms: node.publishing_ms * 2.0,
        sampling_ms: node.sampling_ms * 2.0,
        ..node.clone()
    };
    let mut changed = vec![
        ("publish and sample half as often".to_owned(), slower),
        (
            "half the points".to_owned(),
            Node {
                points: node.points / 2.0,
                ..node.clone()
            },
        ),
    ];
    if node.clients > 1.0 {
        let half = Node {
            clients: node.clients / 2.0,
            ..node.clone()
        };
        changed.push((
            "half the clients (by an aggregating server)".to_owned(),
            half,
        ));
    }
    if node.security != Security::None {
        let plain = Node {
            security: Security::None,
            ..node.clone()
        };
        changed.push(("no security".to_owned(), plain));
    }
    let mut changed: Vec<(String, f64)> = changed
        .into_iter()
        .map(|(name, node)| (name, node.predict(model, 0.95).cpu_percent))
        .collect();
    changed.sort_by(|a, b| a.1.total_cmp(&b.1));
    changed
}

/// What a publishing of all clients takes: all but what is spent when nobody is there.
fn burst_ms(node: &Node, cpu: &Prediction) -> f64 {
    let base = cpu
        .parts
        .iter()
        .filter(|(term, _)| *term == crate::Term::Base);
    let idle: f64 = base.map(|it| it.1).sum();
    let all: f64 = cpu.parts.iter().map(|it| it.1).sum();
    (all - idle) / 1e6 * node.publishing_ms
}
