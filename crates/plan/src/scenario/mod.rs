//! Scenario files: a test that anyone can repeat, as a text.
//!
//! A scenario says what is done to which servers, what of it is varied, how often and in which order.
//! [`Scenario::parse`] reads it as a whole: every point of its sweep is resolved and checked before
//! anything runs, so a mistake in the last point is found before the first one is measured.
//!
//! Its keys are the options of the commands; a [`Vocabulary`] knows them. What only scenarios have
//! stands in [`top_keys`], [`phase_keys`] and [`start_keys`].

mod complaint;
mod hosts;
mod keys;
mod phases;
mod point;
mod sweep;
mod tree;
mod values;
mod vocabulary;
mod weights;
mod whole;

use std::time::Duration;

pub use complaint::{Complaint, nearest};
pub use keys::{fleet_keys, phase_keys, start_keys, top_keys};
pub use sweep::{Axis, Order, Together, Turn};
pub use tree::Scalar;
pub use vocabulary::{Key, Kind, Refusal, Setting, Shape, Vocabulary};

use crate::phase::Phase;
use crate::threshold::Threshold;
use crate::work::Work;

/// More points than these nobody waits for.
pub const MOST_POINTS: usize = 10_000;

/// A test, ready to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub about: Option<String>,
    /// The experiment of a study that it repeats, as its author says.
    pub study: Option<String>,
    /// Its parameters in force.
    pub parameters: Vec<Parameter>,
    /// What is varied; nothing if there is but one point.
    pub axes: Vec<Axis>,
    /// What is measured.
    pub points: Vec<Point>,
    /// How often each of them.
    pub repeat: u32,
    /// In which order.
    pub order: Order,
    /// Of a random order.
    pub seed: u64,
    /// Between two measurements.
    pub pause: Duration,
}

/// Something that whoever runs it may say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it is for.
    pub about: Option<String>,
}

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Which value of each axis, as typed.
    pub values: Vec<String>,
    /// Which place on each axis.
    pub places: Vec<usize>,
    /// The servers; none if they are started.
    pub targets: Vec<String>,
    /// What is started.
    pub start: Option<Start>,
    /// One after the other.
    pub groups: Vec<Group>,
}

/// Phases that run at the same time; often there is just one.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Side by side.
    pub steps: Vec<ScenarioPhase>,
}

/// A phase of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioPhase {
    /// Its name; no other phase has it.
    pub name: String,
    /// The command.
    pub service: String,
    /// Its options.
    pub settings: Vec<Setting>,
    /// What they mean.
    pub phase: Phase,
    /// What it has to keep to count as good.
    pub slo: Vec<Threshold>,
    /// What ends the sweep.
    pub stop_when: Vec<Threshold>,
}

/// A server that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// A plant or a peer.
    pub kind: Kind,
    /// Which.
    pub name: String,
    /// The host that it is started on, as an agent is asked for; this machine where nothing is said.
    pub on: Option<String>,
    /// When a new one takes its place.
    pub restart: Restart,
    /// Its options.
    pub settings: Vec<Setting>,
}

/// When a new server takes the place of an old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// Before each measurement.
    EachPoint,
    /// Before the first point of each repetition.
    EachRepetition,
    /// Only when its settings change.
    Never,
}

impl Point {
    /// How many servers it has, as far as that is written.
    pub fn servers(&self) -> usize {
        let started = self.start.as_ref().map(Start::servers);
        started.unwrap_or(self.targets.len()).max(1)
    }
}

impl ScenarioPhase {
    /// The agents that share it; none where this process makes its load.
    pub fn agents(&self) -> &[Scalar] {
        let shared = self.settings.iter().find(|it| it.option == hosts::OPTION);
        shared.map_or(&[], |it| &it.values)
    }

    /// How long its load goes on with so many servers, if that does not depend on their answers.
    pub fn length(&self, servers: usize) -> Option<Duration> {
        let phase = &self.phase;
        let until = phase.measured_until();
        let paced = phase
            .requests
            .zip(phase.pace())
            .and_then(|(requests, pace)| {
                let rate = pace.mean_rate() * f64::from(phase.sessions) * servers as f64;
                Duration::try_from_secs_f64(requests as f64 / rate).ok()
            });
        let paced = paced.map(|paced| phase.warmup.given().saturating_add(paced));
        let length = match (until, paced) {
            (Some(until), Some(paced)) => until.min(paced),
            (until, paced) => until.or(paced)?,
        };
        let settling = match &phase.work {
            // Without a number it is that of the nodes, which only a server knows.
            Work::Subscribe(work) => {
                let each = u64::from(work.subscriptions) * u64::from(work.items.unwrap_or(0));
                work.settling(each * u64::from(phase.sessions) * servers as u64)
            }
            _ => Duration::ZERO,
        };
        Some(
            length
                .saturating_add(settling)
                .saturating_add(phase.cooldown),
        )
    }
}

impl Group {
    /// How long the longest of its steps goes on with so many servers, as far as that is known.
    pub fn length(&self, servers: usize) -> Option<Duration> {
        self.steps
            .iter()
            .filter_map(|step| step.length(servers))
            .max()
    }
}

impl Start {
    /// How many servers that makes.
    pub fn servers(&self) -> usize {
        let count = self.settings.iter().find(|it| it.option == "count");
        let count = count.and_then(|it| it.values.first()?.to_string().parse().ok());
        count.unwrap_or(1)
    }
}

/// What whoever runs a scenario says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// `-P name=value`.
    pub parameters: Vec<(String, String)>,
    /// These servers instead of its own.
    pub targets: Vec<String>,
    /// Each point so often.
    pub repeat: Option<u32>,
    /// These agents instead of its own.
    pub fleet: Vec<String>,
    /// They go on alone for so long.
    pub orphan: Option<String>,
}

impl Scenario {
    /// All measurements in their order.
    pub fn turns(&self) -> Vec<Turn> {
        sweep::turns(self.points.len(), self.repeat, self.order, self.seed)
    }

    /// Whether a point lies beyond another one, on the axis that ends when `stop_when` comes true there:
    /// the last axis, the others being equal.
    pub fn is_beyond(&self, point: usize, end: usize) -> bool {
        let (Some(point), Some(end)) = (self.points.get(point), self.points.get(end)) else {
            return false;
        };
        match (point.places.split_last(), end.places.split_last()) {
            (Some((last, others)), Some((at, same))) => {
                // Zipped axes go on together.
                let zipped = point.places.iter().all(|place| place == last)
                    && self.points.len() == self.axes.first().map_or(1, |axis| axis.values.len());
                last > at && (zipped || others == same)
            }
            _ => false,
        }
    }

    /// How long the load of one point goes on, as far as that is known: phases that end after a number
    /// of requests may take any time.
    pub fn length(point: &Point) -> (Duration, bool) {
        let mut known = true;
        let mut step = |step: &ScenarioPhase| match step.length(point.servers()) {
            Some(length) => length,
            None => {
                known = false;
                Duration::ZERO
            }
        };
        let mut length = Duration::ZERO;
        for group in &point.groups {
            let longest = group.steps.iter().map(&mut step).max();
            length = length.saturating_add(longest.unwrap_or_default());
        }
        (length, known)
    }
}
