//! Plant files.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::{Act, Client, Event, Fanout, Link, Node, Phases, Plant};
use crate::term::Term;
use crate::workload::Security;

/// A plant, as a file says it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    name: String,
    #[serde(default)]
    about: String,
    fanout: Option<Fanout>,
    cpu_limit: Option<String>,
    core_ghz: Option<f64>,
    duration: Option<String>,
    #[serde(default)]
    phases: Phases,
    #[serde(default)]
    node: Vec<TypedNode>,
    #[serde(default)]
    link: Vec<TypedLink>,
    #[serde(default)]
    event: Vec<TypedEvent>,
    #[serde(default)]
    client: TypedClient,
    #[serde(default)]
    costs: BTreeMap<Term, String>,
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
    link: Option<String>,
    phases: Option<Phases>,
    connect: Option<String>,
    reads: Option<String>,
    #[serde(default = "one")]
    batch: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedLink {
    name: String,
    link: String,
    each: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedEvent {
    at: String,
    link: Option<String>,
    node: Option<String>,
    which: Option<u32>,
    down: Option<String>,
    restart: Option<String>,
    power_off: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedClient {
    timeout: Option<String>,
    watchdog: Option<String>,
    back_off: Option<String>,
    jitter: Option<String>,
    publish_requests: Option<u32>,
    lifetime: Option<String>,
}

const fn one() -> u32 {
    1
}

const fn same() -> f64 {
    1.0
}

/// Why a plant cannot be read.
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
    /// Something is named that is not there.
    #[error("{at}: {key} = {found:?}: there is no [[{key}]] of that name")]
    Nobody {
        /// Where.
        at: String,
        /// Which key.
        key: &'static str,
        /// What stands there.
        found: String,
    },
    /// A happening does not say on what, or what.
    #[error(
        "[[event]] at {0}: want a link with `down`, or a node with `restart` or `power_off`, each with how long it lasts"
    )]
    Event(String),
}

/// What a node may be busy if nothing is said: above it, cycle times were missed in Burger et al. 2019.
const LIMIT: f64 = 70.0;

/// How long a plant is simulated if nothing is said.
const DURATION_MS: f64 = 600_000.0;

impl Plant {
    /// Reads a plant; `fanout` is for nodes that do not say it.
    pub fn read(text: &str, fanout: Option<Fanout>) -> Result<Self, PlantError> {
        let typed: Typed =
            toml::from_str(text).map_err(|error| PlantError::Toml(error.to_string()))?;
        if typed.node.is_empty() {
            return Err(PlantError::NoNode);
        }
        let at = &typed.name;
        let cpu_limit = match &typed.cpu_limit {
            None => LIMIT,
            Some(text) => parse_percent(text)
                .ok_or_else(|| wrong(at, "cpu_limit", text, "more than 0% and at most 100%"))?,
        };
        let links = typed.link.iter().map(TypedLink::read);
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let fanout = fanout.or(typed.fanout);
        let nodes = typed.node.into_iter();
        let nodes = nodes.map(|it| it.read(fanout, typed.phases, &links));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let events = typed.event.iter().map(|it| it.read(&links, &nodes));
        let costs = typed.costs.iter().map(|(term, text)| {
            if !Term::ALL.contains(term) {
                return Err(PlantError::Toml(format!(
                    "[costs]: {} takes no CPU time of its own",
                    term.name()
                )));
            }
            let us = time("costs", term.name(), text)? * 1e3;
            Ok((*term, us))
        });
        Ok(Self {
            duration_ms: match &typed.duration {
                Some(text) => interval(at, "duration", text)?,
                None => DURATION_MS,
            },
            events: events.collect::<Result<_, _>>()?,
            costs: costs.collect::<Result<_, PlantError>>()?,
            client: typed.client.read()?,
            name: typed.name,
            about: typed.about,
            cpu_limit,
            core_ghz: typed.core_ghz.filter(|it| *it > 0.0),
            nodes,
            links,
        })
    }
}

/// A percentage that a node may be busy.
pub fn parse_percent(text: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (number > 0.0 && number <= 100.0).then_some(number)
}

fn wrong(at: &str, key: &'static str, found: &str, want: &'static str) -> PlantError {
    PlantError::Value {
        at: at.to_owned(),
        key,
        found: found.to_owned(),
        want,
    }
}

/// Milliseconds, which may be none.
fn time(at: &str, key: &'static str, text: &str) -> Result<f64, PlantError> {
    match plan::unit::duration::parse(text) {
        Ok(it) => Ok(it.as_secs_f64() * 1e3),
        Err(_) => Err(wrong(at, key, text, "a duration such as 100ms")),
    }
}

/// Milliseconds, of which there are some.
fn interval(at: &str, key: &'static str, text: &str) -> Result<f64, PlantError> {
    match plan::unit::duration::parse(text) {
        Ok(it) if it > Duration::ZERO => Ok(it.as_secs_f64() * 1e3),
        _ => Err(wrong(at, key, text, "a duration such as 100ms")),
    }
}

impl TypedNode {
    fn read(
        self,
        fanout: Option<Fanout>,
        phases: Phases,
        links: &[Link],
    ) -> Result<Node, PlantError> {
        let at = format!("node {:?}", self.name);
        let publishing_ms = interval(&at, "publishing", &self.publishing)?;
        let or = |key, text: &Option<String>| match text {
            Some(text) => interval(&at, key, text),
            None => Ok(publishing_ms),
        };
        for (key, number) in [
            ("count", self.count),
            ("points", self.points),
            ("clients", self.clients),
            ("cores", self.cores),
            ("batch", self.batch),
        ] {
            if number == 0 {
                return Err(wrong(&at, key, "0", "1 or more"));
            }
        }
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            return Err(wrong(&at, "speed", &self.speed.to_string(), "more than 0"));
        }
        let security = match &self.security {
            Some(text) => text
                .parse()
                .map_err(|_| wrong(&at, "security", text, "none, Sign or SignAndEncrypt"))?,
            None => Security::None,
        };
        if let Some(name) = &self.link
            && !links.iter().any(|it| it.name == *name)
        {
            return Err(PlantError::Nobody {
                at,
                key: "link",
                found: name.clone(),
            });
        }
        let reads_per_s = match &self.reads {
            None => 0.0,
            Some(text) => match text.parse::<plan::unit::Rate>() {
                Ok(rate) => rate.as_f64(),
                Err(_) => return Err(wrong(&at, "reads", text, "a rate such as 100/s")),
            },
        };
        let connect = self.connect.as_ref();
        let fanout = self.fanout.or(fanout);
        Ok(Node {
            sampling_ms: or("sampling", &self.sampling)?,
            change_ms: or("change", &self.change)?,
            publishing_ms,
            security,
            fanout: fanout.ok_or_else(|| PlantError::NoFanout(self.name.clone()))?,
            connect_ms: connect.map(|it| time(&at, "connect", it)).transpose()?,
            count: self.count,
            points: f64::from(self.points),
            clients: f64::from(self.clients),
            cores: self.cores,
            speed: self.speed,
            published: self.published,
            name: self.name,
            link: self.link,
            phases: self.phases.unwrap_or(phases),
            reads_per_s,
            batch: f64::from(self.batch),
        })
    }
}

impl TypedLink {
    fn read(&self) -> Result<Link, PlantError> {
        let at = format!("link {:?}", self.name);
        if let Err(error) = self.link.parse::<link::Spec>() {
            return Err(PlantError::Toml(format!("{at}: {error}")));
        }
        if self.each == Some(0) {
            return Err(wrong(&at, "each", "0", "1 or more"));
        }
        Ok(Link {
            name: self.name.clone(),
            link: self.link.clone(),
            each: self.each,
        })
    }
}

impl TypedEvent {
    fn read(&self, links: &[Link], nodes: &[Node]) -> Result<Event, PlantError> {
        let at = format!("event at {}", self.at);
        let nobody = |key, found: &str| PlantError::Nobody {
            at: at.clone(),
            key,
            found: found.to_owned(),
        };
        let (on, act, lasts) = match self {
            Self {
                link: Some(link),
                node: None,
                down: Some(lasts),
                restart: None,
                power_off: None,
                ..
            } => (link, Act::Down, lasts),
            Self {
                link: None,
                node: Some(node),
                down: None,
                restart: Some(lasts),
                power_off: None,
                ..
            } => (node, Act::Restart, lasts),
            Self {
                link: None,
                node: Some(node),
                down: None,
                restart: None,
                power_off: Some(lasts),
                ..
            } => (node, Act::PowerOff, lasts),
            _ => return Err(PlantError::Event(self.at.clone())),
        };
        if act == Act::Down && !links.iter().any(|it| it.name == *on) {
            return Err(nobody("link", on));
        }
        if act != Act::Down && !nodes.iter().any(|it| it.name == *on) {
            return Err(nobody("node", on));
        }
        if self.which == Some(0) {
            return Err(wrong(&at, "which", "0", "1 or more"));
        }
        Ok(Event {
            at_ms: time(&at, "at", &self.at)?,
            on: on.clone(),
            which: self.which,
            act,
            lasts_ms: interval(&at, "how long it lasts", lasts)?,
        })
    }
}

impl TypedClient {
    fn read(&self) -> Result<Client, PlantError> {
        let mut client = Client::default();
        let at = "client";
        for (key, text, to) in [
            ("timeout", &self.timeout, &mut client.timeout_ms),
            ("watchdog", &self.watchdog, &mut client.watchdog_ms),
            ("lifetime", &self.lifetime, &mut client.lifetime_ms),
        ] {
            if let Some(text) = text {
                *to = interval(at, key, text)?;
            }
        }
        if let Some(text) = &self.back_off {
            let (first, most) = text.split_once("..").unwrap_or((text, text));
            client.back_off_first_ms = interval(at, "back_off", first)?;
            client.back_off_most_ms = interval(at, "back_off", most)?;
            if client.back_off_most_ms < client.back_off_first_ms {
                return Err(wrong(
                    at,
                    "back_off",
                    text,
                    "from shorter to longer: 1s..30s",
                ));
            }
        }
        if let Some(text) = &self.jitter {
            let share = match text.trim() {
                "0%" => Some(0.0),
                text => parse_percent(text),
            };
            client.jitter = share.ok_or_else(|| wrong(at, "jitter", text, "0% to 100%"))? / 100.0;
        }
        if let Some(n) = self.publish_requests {
            if !(1..=7).contains(&n) {
                return Err(wrong(at, "publish_requests", &n.to_string(), "1 to 7"));
            }
            client.publish_requests = n;
        }
        Ok(client)
    }
}
