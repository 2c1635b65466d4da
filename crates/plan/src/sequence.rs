//! Sessions as sequences: what a simulated user does, call after call, with think times between them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::nodes::{NodeSpec, Nodes};
use crate::request::{Browse, Call, Read, Write, some};
use crate::text::{self, nanos};
use crate::unit::duration;

/// What users do: a mixture of sequences, of which each takes one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sequences {
    /// The mixture.
    #[serde(with = "text::list")]
    pub all: Vec<Sequence>,
    /// Users come one after the other over so long; it is left out of the figures.
    #[serde(rename = "ramp_up_ns", with = "nanos")]
    pub ramp_up: Duration,
    /// Users go one after the other over so long; it is left out as well.
    #[serde(rename = "ramp_down_ns", with = "nanos")]
    pub ramp_down: Duration,
}

/// What a user does once: `operator*3: connect -> browse i=85 -> think ~2s -> read ns=2;i=1 -> disconnect`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// What people call it.
    pub name: String,
    /// How often it is taken, beside the others.
    pub weight: u32,
    /// Its steps in order.
    pub steps: Vec<SequenceStep>,
}

/// A step, as it was typed and as it is meant.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceStep {
    text: String,
    /// What is done.
    pub does: Does,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Does {
    /// Opens a connection, a channel and a session.
    Connect,
    /// Closes them.
    Disconnect,
    /// Nothing, for so long; what subscriptions bring meanwhile is taken.
    Pause {
        /// How long, on average.
        mean: Duration,
        /// Whether it is drawn from an exponential distribution.
        exponential: bool,
    },
    /// A request and its answer.
    Ask(Box<Request>),
    /// Creates a subscription with an item for each node.
    Subscribe {
        /// The nodes.
        nodes: Nodes,
        /// The publishing and sampling interval.
        interval: Duration,
    },
    /// Deletes it.
    Unsubscribe,
}

/// A request that a step sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Read attributes.
    Read(Read),
    /// Write values.
    Write(Write),
    /// Browse references.
    Browse(Browse),
    /// Call a method.
    Call(Call),
}

/// Why a sequence is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} (want NAME*WEIGHT: STEP -> STEP, each of connect, read NODE…, write NODE…, browse NODE…, call \
         OBJECT METHOD ARG…, subscribe NODE… every 500ms, unsubscribe, think 1s, think ~1s, wait 5s, disconnect)"
)]
pub struct SequenceError {
    what: String,
}

fn wrong(what: impl Into<String>) -> SequenceError {
    SequenceError { what: what.into() }
}

/// As many as there are ports to connect from.
pub const MOST_USERS: u32 = 65_536;

impl Does {
    /// Its verb, if it has times of its own; a pause has none.
    const fn verb(&self) -> Option<&'static str> {
        match self {
            Self::Connect => Some("connect"),
            Self::Disconnect => Some("disconnect"),
            Self::Pause { .. } => None,
            Self::Ask(request) => Some(request.name()),
            Self::Subscribe { .. } => Some("subscribe"),
            Self::Unsubscribe => Some("unsubscribe"),
        }
    }
}

impl Request {
    /// The service's name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Browse(_) => "browse",
            Self::Call(_) => "call",
        }
    }

    /// Nodes or calls in it.
    pub const fn batch(&self) -> u32 {
        match self {
            Self::Read(Read { batch, .. })
            | Self::Write(Write { batch, .. })
            | Self::Browse(Browse { batch, .. })
            | Self::Call(Call { batch, .. }) => *batch,
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        let nodes = match self {
            Self::Read(Read { nodes, .. })
            | Self::Write(Write { nodes, .. })
            | Self::Browse(Browse { nodes, .. }) => Some(nodes),
            Self::Call(_) => None,
        };
        some(self.batch(), nodes)
    }
}

impl SequenceStep {
    /// Whether it has times of its own.
    pub const fn is_timed(&self) -> bool {
        self.does.verb().is_some()
    }

    /// Whether it is a request.
    pub const fn asks(&self) -> bool {
        matches!(self.does, Does::Ask(_))
    }
}

impl Sequences {
    /// What has times of its own: each sequence, and each of its steps but pauses. In order, and alike for
    /// as long as the program runs.
    pub fn names(&self) -> &'static [&'static str] {
        /// Names live as long as the program; there are as few as scenarios have sequences.
        static KNOWN: Mutex<BTreeMap<Vec<String>, &'static [&'static str]>> =
            Mutex::new(BTreeMap::new());
        let mut names = Vec::new();
        for sequence in &self.all {
            names.push(sequence.name.clone());
            names.extend(sequence.step_names().into_iter().flatten());
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.get(&names) {
            return same;
        }
        let kept: Vec<&'static str> = names
            .iter()
            .map(|name| &*Box::leak(name.clone().into_boxed_str()))
            .collect();
        let kept: &'static [&'static str] = Box::leak(kept.into_boxed_slice());
        known.insert(names, kept);
        kept
    }

    /// The service that is behind each of [`Sequences::names`], where it is a single one.
    pub fn services(&self) -> Vec<Option<&'static str>> {
        let mut services = Vec::new();
        for sequence in &self.all {
            services.push(None);
            let timed = sequence.steps.iter().filter(|step| step.is_timed());
            services.extend(timed.map(|step| match &step.does {
                Does::Ask(request) => Some(request.name()),
                Does::Connect => Some("create session"),
                Does::Subscribe { .. } => Some("create subscriptions"),
                Does::Unsubscribe => Some("delete subscriptions"),
                Does::Disconnect | Does::Pause { .. } => None,
            }));
        }
        services
    }

    /// What is asked, in the order of the steps of all sequences.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        let steps = self.all.iter().flat_map(|sequence| &sequence.steps);
        steps.filter_map(|step| match &step.does {
            Does::Ask(request) => Some(&**request),
            _ => None,
        })
    }

    /// Whether users have a session before their first sequence.
    pub fn begins_open(&self) -> bool {
        let mut steps = self.all.iter().flat_map(|sequence| &sequence.steps);
        !steps.any(|step| step.does == Does::Connect)
    }

    /// When a user comes and when it begins no other sequence, of a phase whose users go from `end` on.
    pub fn stay(&self, user: u64, of: u64, end: Duration) -> (Duration, Duration) {
        let share = |whole: Duration, n: u64| whole.mul_f64(n as f64 / of.max(1) as f64);
        let until = end.saturating_add(share(self.ramp_down, user + 1));
        (share(self.ramp_up, user), until)
    }

    /// Whether it makes sense; what does not is named.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.all.is_empty() {
            return Err(PlanError::new("sequence", "none", "one or more"));
        }
        let mut names: Vec<&str> = self.all.iter().map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            let name = twice.first().copied().unwrap_or_default();
            return Err(PlanError::new(
                "sequence",
                name,
                "a name of its own for each",
            ));
        }
        self.requests().try_for_each(Request::check)
    }
}

impl Sequence {
    /// The name of each step's times; none for pauses. Steps of one kind are numbered from the second on.
    pub fn step_names(&self) -> Vec<Option<String>> {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        let steps = self.steps.iter().map(|step| {
            let verb = step.does.verb()?;
            let n = seen.entry(verb).or_default();
            *n += 1;
            Some(match n {
                1 => format!("{}: {verb}", self.name),
                n => format!("{}: {verb} {n}", self.name),
            })
        });
        steps.collect()
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.weight != 1 {
            write!(f, "*{}", self.weight)?;
        }
        let steps: Vec<&str> = self.steps.iter().map(|step| step.text.as_str()).collect();
        write!(f, ": {}", steps.join(" -> "))
    }
}

impl FromStr for Sequence {
    type Err = SequenceError;

    fn from_str(text: &str) -> Result<Self, SequenceError> {
        let (head, steps) = text
            .split_once(": ")
            .ok_or_else(|| wrong(format!("{text:?} has no name")))?;
        let (name, weight) = match head.split_once('*') {
            Some((name, weight)) => {
                let weight = weight
                    .trim()
                    .parse()
                    .ok()
                    .filter(|n| (1..=1000).contains(n));
                let weight =
                    weight.ok_or_else(|| wrong(format!("{head:?} has no weight of 1 to 1000")))?;
                (name, weight)
            }
            None => (head, 1),
        };
        let name = name.trim();
        if name.is_empty() {
            return Err(wrong(format!("{text:?} has no name")));
        }
        let steps = steps.split("->").map(|step| step.trim().parse());
        let steps: Vec<SequenceStep> = steps.collect::<Result<_, _>>()?;
        if steps.iter().all(|step| step.does.verb().is_none()) {
            return Err(wrong(format!("{name:?} does nothing but wait")));
        }
        Ok(Self {
            name: name.to_owned(),
            weight,
            steps,
        })
    }
}

impl FromStr for SequenceStep {
    type Err = SequenceError;

    fn from_str(text: &str) -> Result<Self, SequenceError> {
        let mut words = text.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let bad = |why: &str| wrong(format!("step {text:?}: {why}"));
        let nodes = |words: &[&str]| -> Result<(Nodes, u32), SequenceError> {
            let specs = words.iter().map(|word| word.parse::<NodeSpec>());
            let specs: Vec<NodeSpec> = specs
                .collect::<Result<_, _>>()
                .map_err(|error| bad(&error.to_string()))?;
            if specs.is_empty() {
                return Err(bad("no node"));
            }
            let batch = specs
                .iter()
                .map(NodeSpec::count)
                .fold(0u32, u32::saturating_add);
            let none = |_: &str| Err(std::io::Error::other("no files in sequences"));
            let nodes = Nodes::listed(&specs, none).map_err(|error| bad(&error.to_string()))?;
            Ok((nodes, batch))
        };
        let ask = |request: Request| Does::Ask(Box::new(request));
        let does = match (verb, rest.as_slice()) {
            ("connect", []) => Does::Connect,
            ("disconnect", []) => Does::Disconnect,
            ("unsubscribe", []) => Does::Unsubscribe,
            ("think" | "wait", [time]) => {
                let (exponential, time) = match time.strip_prefix('~') {
                    Some(time) => (true, time),
                    None => (false, *time),
                };
                let mean = duration::parse(time).map_err(|error| bad(&error.to_string()))?;
                Does::Pause { mean, exponential }
            }
            ("read", words) => {
                let (nodes, batch) = nodes(words)?;
                ask(Request::Read(Read {
                    batch,
                    ..Read::new(nodes)
                }))
            }
            ("write", words) => {
                let (nodes, batch) = nodes(words)?;
                ask(Request::Write(Write {
                    batch,
                    ..Write::new(nodes)
                }))
            }
            ("browse", words) => {
                let (nodes, batch) = nodes(words)?;
                ask(Request::Browse(Browse {
                    batch,
                    ..Browse::new(nodes)
                }))
            }
            ("call", [object, method, arguments @ ..]) => {
                let node = |word: &str| {
                    word.parse()
                        .map_err(|error: crate::NodeError| bad(&error.to_string()))
                };
                ask(Request::Call(Call {
                    object: node(object)?,
                    method: node(method)?,
                    arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
                    batch: 1,
                }))
            }
            ("subscribe", [words @ .., "every", time]) => Does::Subscribe {
                nodes: nodes(words)?.0,
                interval: duration::parse(time).map_err(|error| bad(&error.to_string()))?,
            },
            ("subscribe", words) => Does::Subscribe {
                nodes: nodes(words)?.0,
                interval: Duration::from_millis(500),
            },
            _ => return Err(bad("that is no step")),
        };
        Ok(Self {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            does,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATOR: &str = "operator*3: connect -> browse i=85 -> think ~2s -> read ns=2;i=1..10 -> \
                            read ns=2;i=11 -> subscribe ns=2;i=1 every 250ms -> wait 5s -> disconnect";

    #[test]
    fn a_sequence_is_shown_as_it_is_typed_and_names_each_of_its_steps() {
        let sequence: Sequence = OPERATOR.parse().unwrap();
        assert_eq!(sequence.to_string(), OPERATOR);
        assert_eq!(sequence.weight, 3);
        let names: Vec<String> = sequence.step_names().into_iter().flatten().collect();
        assert_eq!(
            names,
            [
                "operator: connect",
                "operator: browse",
                "operator: read",
                "operator: read 2",
                "operator: subscribe",
                "operator: disconnect"
            ]
        );
        let Does::Ask(read) = &sequence.steps[3].does else {
            panic!("{:?}", sequence.steps[3]);
        };
        assert_eq!(read.batch(), 10);
    }

    #[test]
    fn what_is_no_sequence_is_told_with_what_is_wanted() {
        for (text, what) in [
            ("connect -> disconnect", "has no name"),
            ("a*0: connect", "has no weight"),
            ("a: jump", "that is no step"),
            ("a: read", "no node"),
            ("a: think 5", "no duration"),
            ("a: think 5s -> wait 1s", "does nothing but wait"),
        ] {
            let error = text.parse::<Sequence>().unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
            assert!(error.contains("want NAME*WEIGHT: STEP -> STEP"), "{error}");
        }
    }

    #[test]
    fn users_come_and_go_evenly_over_the_ramps() {
        let plan = Sequences {
            all: vec![OPERATOR.parse().unwrap()],
            ramp_up: Duration::from_secs(10),
            ramp_down: Duration::from_secs(5),
        };
        let end = Duration::from_secs(70);
        assert_eq!(
            plan.stay(0, 10, end),
            (Duration::ZERO, Duration::from_millis(70_500))
        );
        assert_eq!(
            plan.stay(9, 10, end),
            (Duration::from_secs(9), Duration::from_secs(75))
        );
        // The same names are the same memory.
        assert_eq!(plan.names().as_ptr(), plan.clone().names().as_ptr());
    }
}
