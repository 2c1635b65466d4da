//! The search for a capacity: how much load meets an objective.
//!
//! The load grows until the objective is missed. From then on each trial is made where it tells most:
//! in the middle of what all trials together leave open (`distribution`), and once that is
//! narrow at its edges, by lot. One trial on a noisy machine proves little: no single answer decides
//! anything, and the search ends when what is left open is as narrow as it was asked for. What comes next
//! follows from the trials alone, so that a search that was cut off goes on where it was when it is
//! told its trials again.

mod answer;
mod knee_distribution;

use plan::Random;
use serde::{Deserialize, Serialize};

pub use answer::{Answer, Judgement, Why};
use knee_distribution::KneeDistribution;

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
    /// How narrow has to be what is left open, in relation to the load.
    pub precision: f64,
    /// Whether loads are whole numbers: sessions, not rates.
    pub whole: bool,
    /// How often loads right below the knee and right above it are tried, at least.
    pub confirm: u32,
    /// No more trials than that.
    pub trials: u32,
    /// Of the lot by which loads near the knee are tried again.
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
    /// What is left open is narrow enough.
    Knee,
    /// The largest load meets the objective.
    Most,
    /// The smallest load misses it.
    Least,
    /// The generator was the limit before the server.
    Generator,
    /// There were too many trials before it was narrow enough.
    Unclear,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The load at which half of the trials meet the objective; the largest whole one below it
    /// where loads are whole numbers.
    pub knee: Option<f64>,
    /// It is above this and below the next with a chance of 90 %.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
    /// The largest load of those tried at which most trials met the objective, below any at which most
    /// missed it.
    pub holds: Option<f64>,
    /// The smallest load at which most trials missed it.
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
const GENERATOR: u32 = 3;
/// The knee is outside of what is called left open with this chance on each side.
const TAIL: f64 = 0.05;
/// While more than so many times the precision is open, the middle is tried; then the edges.
const WIDE: f64 = 4.0;

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

    /// More than this cannot be offered.
    pub fn limit(&mut self, most: f64) {
        let most = self.bounds.most.map_or(most, |given| given.min(most));
        self.bounds.most = Some(most);
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
        if self.is_limited() {
            return self.found(End::Generator);
        }
        if self.trials >= self.bounds.trials {
            return self.found(End::Unclear);
        }
        if let Some(point) = self.points.iter().find(|point| self.is_pending(point)) {
            return Next::Try(point.load);
        }
        let met = self.points.iter().rev().find(|point| point.met > 0);
        let missed = self.points.iter().find(|point| point.misses() > 0);
        match (met, missed) {
            (None, None) => Next::Try(self.within(self.bounds.start)),
            (Some(met), None) if self.bounds.most.is_some_and(|most| met.load >= most) => {
                self.found(End::Most)
            }
            (Some(met), None) => {
                let more = met.load * self.bounds.factor;
                Next::Try(self.within(more.max(self.up(met.load))))
            }
            (None, Some(missed)) if missed.load > self.bounds.least => {
                let less = missed.load / self.bounds.factor;
                Next::Try(self.within(self.rounded(less)))
            }
            (None, Some(missed)) if missed.decided() < self.bounds.confirm => {
                Next::Try(missed.load)
            }
            (None, Some(_)) => self.found(End::Least),
            (Some(_), Some(_)) => self.close_in(),
        }
    }

    /// The end of a search that has no more to find: no load met the objective.
    pub fn nothing(&self) -> Capacity {
        self.ended(End::Least)
    }

    /// Nothing was decided of a load, nor of any above it: what the generator can do is beside the point
    /// where another trial was told apart under more load.
    fn is_open(&self, point: &Point) -> bool {
        let decided = |other: &Point| other.load >= point.load && other.decided() > 0;
        !self.points.iter().any(decided)
    }

    fn is_limited(&self) -> bool {
        let limited = |point: &Point| point.generator >= GENERATOR && self.is_open(point);
        self.points.iter().any(limited)
    }

    /// To be tried once more, because the last trial told nothing.
    fn is_pending(&self, point: &Point) -> bool {
        point.decided() == 0 && (point.unsteady > 0 || self.is_open(point))
    }

    /// The load that tells most, if there is still something to be told.
    fn close_in(&self) -> Next {
        let Some(distribution) = KneeDistribution::of(&self.points) else {
            return self.found(End::Unclear);
        };
        let (low, high) = (
            distribution.quantile(TAIL),
            distribution.quantile(1.0 - TAIL),
        );
        if self.bounds.most.is_some_and(|most| low >= most) {
            return self.found(End::Most);
        }
        if high <= self.bounds.least {
            return self.found(End::Least);
        }
        if self.is_narrow(low, high) && self.is_confirmed(low, high) {
            return self.found(End::Knee);
        }
        let mut random = Random::stream(self.bounds.seed, &[u64::from(self.trials)]);
        let mut lot = |n: u64| random.next_u64() % n;
        let wide = high > low * (1.0 + WIDE * self.bounds.precision);
        let load = match wide && !self.bounds.whole {
            true => distribution.quantile(0.5),
            false => distribution.quantile([0.25, 0.5, 0.75][lot(3) as usize]),
        };
        let load = match self.bounds.whole && lot(2) == 1 {
            true => load.ceil(),
            false => self.rounded(load),
        };
        Next::Try(self.within(self.known(load)))
    }

    /// Whether no more is open than was asked for.
    fn is_narrow(&self, low: f64, high: f64) -> bool {
        let near = high <= low * (1.0 + self.bounds.precision);
        near || (self.bounds.whole && low.floor() == high.floor())
    }

    /// Whether loads close to the knee were tried often enough on both sides of it.
    fn is_confirmed(&self, low: f64, high: f64) -> bool {
        let near = self.bounds.precision.max(high / low - 1.0);
        let (middle, step) = ((low * high).sqrt(), f64::from(u8::from(self.bounds.whole)));
        let (least, most) = (low * (1.0 - near) - step, high * (1.0 + near) + step);
        let count = |from: f64, to: f64| -> u32 {
            let inside = |point: &&Point| (from..=to).contains(&point.load);
            self.points.iter().filter(inside).map(Point::decided).sum()
        };
        count(least, middle) >= self.bounds.confirm && count(middle, most) >= self.bounds.confirm
    }

    fn found(&self, end: End) -> Next {
        Next::Found(self.ended(end))
    }

    fn ended(&self, end: End) -> Capacity {
        let told = self.points.iter().any(|point| point.misses() > 0)
            && self.points.iter().any(|point| point.met > 0)
            && matches!(end, End::Knee | End::Unclear);
        let distribution = KneeDistribution::of(&self.points).filter(|_| told);
        let at = |chance: f64| {
            distribution
                .as_ref()
                .map(|distribution| distribution.quantile(chance))
        };
        let low = at(TAIL);
        let stands = |which: bool| {
            let points = self.points.iter();
            points.filter(move |point| point.stands() == Some(which))
        };
        // A miss far below the knee was one of the host, not of the load.
        let fails = stands(false)
            .map(|point| point.load)
            .find(|&load| low.is_none_or(|low| load >= low));
        let holds = stands(true)
            .map(|point| point.load)
            .rfind(|&load| fails.is_none_or(|fails| load < fails));
        let knee = at(0.5).map(|knee| match self.bounds.whole {
            true => knee.floor(),
            false => knee,
        });
        let high = at(1.0 - TAIL);
        Capacity {
            knee,
            low,
            high,
            holds,
            fails,
            end,
        }
    }

    /// A load that was tried already, if it is as good as this one: trials of the same load can be
    /// counted by people, too.
    fn known(&self, load: f64) -> f64 {
        let near = self.bounds.precision / 8.0;
        let apart = |point: &&Point| (point.load / load - 1.0).abs();
        let nearest = self
            .points
            .iter()
            .min_by(|a, b| apart(a).total_cmp(&apart(b)));
        nearest
            .filter(|point| apart(point) <= near)
            .map_or(load, |point| point.load)
    }

    /// Loads that people can read: whole ones, or with as many digits as matter.
    fn rounded(&self, load: f64) -> f64 {
        if self.bounds.whole {
            return load.floor();
        }
        let matters = load * self.bounds.precision.clamp(1e-4, 0.1) / 8.0;
        let scale = libm::pow(10.0, libm::floor(libm::log10(matters)));
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
