//! The search for a capacity: how much load meets an objective.
//!
//! The load grows until the objective is missed, then the gap between what held and what did not
//! is halved until it is narrow. Both edges are then tried again in random order, because one
//! trial on a noisy machine proves little; an edge that does not stand moves, and the search goes
//! on. What comes next follows from the trials alone, so that a search that was cut off goes on
//! where it was when it is told its trials again.

use plan::{Random, Threshold};
use record::run::{Kind, Phase};
use serde::{Deserialize, Serialize};

use crate::threshold::expectations;

/// Where to look, and how closely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The first load.
    pub start: f64,
    /// The smallest load worth knowing.
    pub least: f64,
    /// The largest, if there is to be one.
    pub most: Option<f64>,
    /// While nothing has missed the objective: the next load over the last.
    pub factor: f64,
    /// How narrow the gap has to be, in relation to the load that held.
    pub precision: f64,
    /// Whether loads are whole numbers: sessions, not rates.
    pub whole: bool,
    /// How often each edge of the gap is tried before it is believed.
    pub confirm: u32,
    /// No more trials than that.
    pub trials: u32,
    /// Of the order in which the edges are tried again.
    pub seed: u64,
}

impl Bounds {
    /// From a first load on, with the usual care.
    pub fn from(start: f64) -> Self {
        Self {
            start,
            least: start / 1024.0,
            most: None,
            factor: 2.0,
            precision: 0.02,
            whole: false,
            confirm: 3,
            trials: 100,
            seed: 1,
        }
    }
}

/// What a trial said of its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The objective was met.
    Met,
    /// It was missed.
    Missed,
    /// The run did not settle, and proves neither.
    Unsteady,
    /// The generator could not offer the load.
    Generator,
}

impl Answer {
    /// What a phase says of an objective. In an open loop a server that does not keep up with the
    /// load has missed it, whatever was asked for besides.
    pub fn of(phase: &Phase, objective: &[Threshold], open: bool) -> Self {
        let met = expectations(objective, phase).iter().all(|it| it.met);
        match phase.verdict.kind {
            Kind::Failed => Self::Missed,
            Kind::GeneratorLimited => Self::Generator,
            Kind::ServerSaturated if open => Self::Missed,
            Kind::Unsteady if met => Self::Unsteady,
            _ if met => Self::Met,
            _ => Self::Missed,
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Try this load.
    Try(f64),
    /// The search is over.
    Found(Capacity),
}

/// Why a search is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Both edges of a narrow gap stood the test.
    Knee,
    /// The largest load meets the objective.
    Most,
    /// The smallest load misses it.
    Least,
    /// The generator was the limit before the server.
    Generator,
    /// The trials contradicted one another until there were too many of them.
    Unclear,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The largest load that met the objective.
    pub holds: Option<f64>,
    /// The smallest above it that did not.
    pub fails: Option<f64>,
    /// Why the search ended.
    pub end: End,
}

/// A load, and what its trials said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The load.
    pub load: f64,
    /// Trials that met the objective.
    pub met: u32,
    /// Trials that missed it.
    pub missed: u32,
    /// Trials that did not settle.
    pub unsteady: u32,
    /// Trials in which the generator was the limit.
    pub generator: u32,
}

/// Trials of one load that did not settle count as one miss together.
const UNSTEADY: u32 = 3;
/// Trials of one load that the generator could not offer, before it is taken to be the limit.
const GENERATOR: u32 = 2;

impl Point {
    fn new(load: f64) -> Self {
        Self {
            load,
            met: 0,
            missed: 0,
            unsteady: 0,
            generator: 0,
        }
    }

    fn misses(&self) -> u32 {
        self.missed + self.unsteady / UNSTEADY
    }

    /// Whether it meets the objective; none when the trials are divided.
    pub fn stands(&self) -> Option<bool> {
        match self.met.cmp(&self.misses()) {
            std::cmp::Ordering::Greater => Some(true),
            std::cmp::Ordering::Less => Some(false),
            std::cmp::Ordering::Equal => None,
        }
    }

    fn decided(&self) -> u32 {
        self.met + self.misses()
    }
}

/// A search, as far as it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    bounds: Bounds,
    points: Vec<Point>,
    trials: u32,
}

impl Search {
    /// One that has tried nothing yet.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            points: Vec::new(),
            trials: 0,
        }
    }

    /// All loads that were tried, the smallest first: the curve.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// How many trials there were.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// A load was tried.
    pub fn tell(&mut self, load: f64, answer: Answer) {
        self.trials += 1;
        let place = self.points.partition_point(|point| point.load < load);
        if self
            .points
            .get(place)
            .is_none_or(|point| point.load != load)
        {
            self.points.insert(place, Point::new(load));
        }
        let Some(point) = self.points.get_mut(place) else {
            return;
        };
        match answer {
            Answer::Met => point.met += 1,
            Answer::Missed => point.missed += 1,
            Answer::Unsteady => point.unsteady += 1,
            Answer::Generator => point.generator += 1,
        }
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        let (good, bad) = self.gap();
        let found = |end| {
            Next::Found(Capacity {
                holds: good.map(|point| point.load),
                fails: bad.map(|point| point.load),
                end,
            })
        };
        // Above a load that the server did not take, what the generator can do is beside the point.
        let below = |point: &&Point| bad.is_none_or(|bad| point.load <= bad.load);
        let limited = |point: &&Point| point.generator >= GENERATOR && point.stands().is_none();
        if self.points.iter().filter(below).any(|p| limited(&p)) {
            return found(End::Generator);
        }
        if self.trials >= self.bounds.trials {
            return found(End::Unclear);
        }
        let divided = |point: &&Point| {
            point.stands().is_none() && good.is_none_or(|good| point.load > good.load)
        };
        if let Some(point) = self.points.iter().filter(below).find(divided) {
            return Next::Try(point.load);
        }
        match (good, bad) {
            (None, None) => Next::Try(self.within(self.bounds.start)),
            (Some(good), None) if self.bounds.most.is_some_and(|most| good.load >= most) => {
                found(End::Most)
            }
            (Some(good), None) => {
                let more = good.load * self.bounds.factor;
                Next::Try(self.within(more.max(self.up(good.load))))
            }
            (None, Some(bad)) if bad.load <= self.bounds.least => {
                self.confirmed(&[bad]).unwrap_or_else(|| found(End::Least))
            }
            (None, Some(bad)) => {
                let less = self.rounded(bad.load / self.bounds.factor);
                Next::Try(self.within(less))
            }
            (Some(good), Some(bad)) => match self.between(good.load, bad.load) {
                Some(load) => Next::Try(load),
                None => self
                    .confirmed(&[good, bad])
                    .unwrap_or_else(|| found(End::Knee)),
            },
        }
    }

    /// The smallest load that fails, and the largest below it that holds.
    fn gap(&self) -> (Option<&Point>, Option<&Point>) {
        let bad = self.points.iter().find(|p| p.stands() == Some(false));
        let good = self
            .points
            .iter()
            .take_while(|p| bad.is_none_or(|bad| p.load < bad.load))
            .filter(|p| p.stands() == Some(true))
            .last();
        (good, bad)
    }

    /// One of these that has not been tried often enough, by lot.
    fn confirmed(&self, edges: &[&Point]) -> Option<Next> {
        let mut open = edges
            .iter()
            .filter(|point| point.decided() < self.bounds.confirm);
        let n = open.clone().count() as u64;
        let mut random = Random::stream(self.bounds.seed, &[u64::from(self.trials)]);
        let which = random.next_u64().checked_rem(n)?;
        open.nth(which as usize).map(|point| Next::Try(point.load))
    }

    /// A load in the middle, unless the gap is narrow enough.
    fn between(&self, good: f64, bad: f64) -> Option<f64> {
        if bad - good <= self.bounds.precision * good {
            return None;
        }
        let middle = self.rounded((good + bad) / 2.0);
        (middle > good && middle < bad).then_some(middle)
    }

    /// Loads that people can read: whole ones, or with four digits.
    fn rounded(&self, load: f64) -> f64 {
        if self.bounds.whole {
            return load.floor();
        }
        let scale = libm::pow(10.0, libm::floor(libm::log10(load)) - 3.0);
        (load / scale).round() * scale
    }

    fn up(&self, load: f64) -> f64 {
        if self.bounds.whole { load + 1.0 } else { load }
    }

    fn within(&self, load: f64) -> f64 {
        load.max(self.bounds.least)
            .min(self.bounds.most.unwrap_or(f64::INFINITY))
    }
}
