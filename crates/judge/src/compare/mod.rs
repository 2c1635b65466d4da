//! Is the new one better or worse, the same, or can that not be told?
//!
//! The unit of replication is the run. Of each metric every run gives one number; what is compared is
//! the geometric mean of those numbers on either side. The headline is their ratio with its 95 %
//! interval. A difference is believed when the interval has left the noise margin and an exact
//! permutation of the runs (after Holm's correction for all figures of the comparison) agrees; sameness when the
//! interval lies inside the margin. Everything else cannot be told, and how many runs it would take is
//! said. Runs of both sides that went at the same time are compared in pairs. Single long runs have their
//! interval from the samples inside them, and say nothing about how much runs differ: they are called neither better
//! nor worse unless somebody asks for it. Before all that, both sides have to have done what was asked.

mod doubts;
mod exact;
mod failures;
mod family;
mod interval;
mod metric;
mod pairs;
mod power;
mod within;

use record::average;
use record::run::Phase;

pub use doubts::{doubts, is_closed, unbelievable};
pub use exact::{P, cliffs_delta, mann_whitney, permutation};
pub use failures::{FAILURES, Failure, broken, compare_shares};
pub(crate) use interval::t_quantile;
pub use interval::{bca, t_half, welch};
pub use metric::{Direction, Metric, MetricError, usual};
pub use pairs::compare_pairs;
pub use power::{pairs_needed, runs_needed};
pub use within::{Estimate, compare_estimates, estimate};

/// An error probability below which a difference is believed.
pub const ALPHA: f64 = 0.05;

/// Differences of less than this are noise, whatever their statistics say.
pub const LEAST_MARGIN: f64 = 0.02;

/// Runs from which the bootstrap says more about percentiles than the t distribution.
const BOOTSTRAP_FROM: usize = 8;

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The new one is better, by more than the margin.
    Better,
    /// The new one is worse, by more than the margin.
    Worse,
    /// They differ by less than the margin.
    Same,
    /// The runs do not tell. With so many on each side they would, should they go on as they are;
    /// none if there is no saying.
    CannotTell {
        /// Runs on each side.
        runs: Option<u32>,
    },
    /// One side did more of what was asked than the other: the figure is of different work.
    NotComparable,
}

impl Outcome {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::CannotTell { .. } => "cannot tell",
            Self::NotComparable => "not comparable",
        }
    }
}

/// Where an interval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Welch's t interval on the logarithms of the runs.
    Welch,
    /// The bootstrap over runs, bias-corrected and accelerated.
    Bootstrap,
    /// Student's t interval on the logarithms of the ratios of runs that went at the same time.
    Pairs,
    /// Welch's t interval on effective samples inside single runs: the variation between runs is
    /// unknown.
    Within,
    /// Operations instead of runs: Fisher's exact test on how many failed.
    Operations,
    /// There is none: a value is zero.
    None,
}

/// One metric of two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// A number for each run.
    pub base: Vec<f64>,
    /// A number for each run.
    pub new: Vec<f64>,
    /// Geometric means of both; arithmetic where a value is zero.
    pub means: (f64, f64),
    /// How far runs of the same side lie apart: the standard deviation in parts of the mean. None for single runs.
    pub spread: (Option<f64>, Option<f64>),
    /// New over base.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Where the interval comes from.
    pub method: Method,
    /// How often chance alone makes such a difference: permutation of runs, Student's test of pairs, or Welch's within single ones.
    pub p: Option<P>,
    /// The same after Holm's correction for all figures that were compared together.
    pub adjusted: Option<f64>,
    /// How many figures those are that vary.
    pub family: usize,
    /// Whether it is one run each, so that it is neither better nor worse; failures can be worse all the same.
    pub single: bool,
    /// Mann and Whitney's test on the runs.
    pub mann_whitney: Option<P>,
    /// How much more often a new run exceeds a base run (the one of its pair) than the other way round: −1 to 1.
    pub delta: Option<f64>,
    /// What counts as noise, in parts.
    pub margin: f64,
    /// Which direction is better.
    pub better: Direction,
    /// What it comes to.
    pub outcome: Outcome,
}

impl Comparison {
    /// By how much the new side is worse, in parts: 0.05 is five percent, negative is better.
    pub fn regression(&self) -> Option<f64> {
        let ratio = self.ratio?;
        Some(match self.better {
            Direction::Lower => ratio - 1.0,
            Direction::Higher => 1.0 - ratio,
        })
    }

    /// Whether it is worse, and by more than this.
    pub fn fails(&self, limit: f64) -> bool {
        // From nothing to something has no ratio, and is beyond every limit.
        self.outcome == Outcome::Worse && self.regression().is_none_or(|it| it > limit)
    }
}

/// A number for each run: base, then new.
pub fn compare_runs(base: &[f64], new: &[f64], better: Direction, margin: f64) -> Comparison {
    let positive = base.iter().chain(new).all(|&value| value > 0.0);
    let logs = |side: &[f64]| -> Vec<f64> { side.iter().map(|&value| value.ln()).collect() };
    let several = base.len() > 1 && new.len() > 1;
    let (x, y) = match positive {
        true => (logs(base), logs(new)),
        false => (base.to_vec(), new.to_vec()),
    };
    let back = |mean: f64| if positive { mean.exp() } else { mean };
    let difference = level(&y) - level(&x);
    let spread = |side: &[f64]| {
        (positive && side.len() > 1).then(|| (variance(side).exp_m1()).max(0.0).sqrt())
    };
    let interval = (positive && several)
        .then(|| welch(&x, &y))
        .flatten()
        .map(|(low, high)| (low.exp(), high.exp()));
    let mut comparison = Comparison {
        base: base.to_vec(),
        new: new.to_vec(),
        means: (back(level(&x)), back(level(&y))),
        spread: (spread(&x), spread(&y)),
        ratio: positive.then(|| difference.exp()),
        interval,
        method: match interval {
            Some(_) => Method::Welch,
            None => Method::None,
        },
        p: several.then(|| permutation(&x, &y)),
        adjusted: None,
        family: 1,
        single: false,
        mann_whitney: several.then(|| mann_whitney(&x, &y)),
        delta: several.then(|| cliffs_delta(&x, &y)),
        margin,
        better,
        outcome: Outcome::CannotTell { runs: None },
    };
    comparison.decide(1);
    comparison
}

impl Comparison {
    /// Says what it comes to; `family` figures are compared together.
    fn decide(&mut self, family: usize) {
        self.family = family;
        let p = self.adjusted.or(self.p.map(|p| p.value));
        let likely = p.is_some_and(|p| p <= ALPHA);
        let judged = |grows: bool| match (grows, self.better) {
            (true, Direction::Higher) | (false, Direction::Lower) => Outcome::Better,
            _ => Outcome::Worse,
        };
        let (above, below) = (1.0 + self.margin, 1.0 / (1.0 + self.margin));
        let more = self.means.1 - self.means.0;
        self.outcome = match (self.interval, self.ratio) {
            // What failed is known; there is nothing to estimate.
            _ if self.method == Method::Operations => match more.abs() <= self.margin {
                true => Outcome::Same,
                false if likely && !(self.single && judged(more > 0.0) == Outcome::Better) => {
                    judged(more > 0.0)
                }
                false => Outcome::CannotTell { runs: None },
            },
            // None of it in either.
            _ if self.base.iter().chain(&self.new).all(|&v| v == 0.0) => Outcome::Same,
            _ if self.single => Outcome::CannotTell { runs: None },
            (Some((low, high)), _) if low >= below && high <= above => Outcome::Same,
            (Some((low, _)), _) if low > above && likely => judged(true),
            (Some((_, high)), _) if high < below && likely => judged(false),
            (Some(_), Some(ratio)) => Outcome::CannotTell {
                runs: match self.method {
                    Method::Within => None,
                    Method::Pairs => pairs_needed(&self.base, &self.new, self.margin),
                    _ => runs_needed(&self.base, &self.new, ratio, self.margin, family),
                },
            },
            // Counts with zeros among them.
            _ if likely => judged(self.means.1 > self.means.0),
            _ => Outcome::CannotTell { runs: None },
        };
    }
}

/// A metric, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Of what.
    pub metric: Metric,
    /// What came of it.
    pub comparison: Comparison,
}

/// What counts when two sides are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Differences of less are noise.
    pub margin: f64,
    /// Whether one run each may be called better or worse, by the samples inside them.
    pub single_run: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            margin: LEAST_MARGIN,
            single_run: false,
        }
    }
}

/// A point and phase that both sides have: one phase of each run.
#[derive(Debug, Clone, Default)]
pub struct Sides<'a> {
    /// What it was.
    pub base: Vec<&'a Phase>,
    /// What it is now.
    pub new: Vec<&'a Phase>,
    /// Phases of one and the same thing, measured apart: twice the variation that they show is noise too, when it
    /// is more than the least margin.
    pub same: Vec<&'a Phase>,
    /// What is compared besides success and completeness.
    pub metrics: Vec<Metric>,
}

/// What came of a point and phase.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    /// Success and completeness, then the metrics. Those that a run lacks are left out.
    pub rows: Vec<Row>,
    /// What failed.
    pub failures: Vec<Failure>,
}

/// Compares points and phases, all of which are one comparison: each further figure makes it harder for the others.
pub fn compare_phases(all: &[Sides<'_>], rules: &Rules) -> Vec<Compared> {
    let rows = |sides: &Sides<'_>| {
        let mut rows = failures::compare(&sides.base, &sides.new, rules);
        rows.extend(figures(sides, rules));
        rows
    };
    let mut rows: Vec<Vec<Row>> = all.iter().map(rows).collect();
    family::correct(&mut rows.iter_mut().flatten().collect::<Vec<_>>());
    let held = all.iter().zip(rows).map(|(sides, mut rows)| Compared {
        failures: failures::hold(&mut rows, &sides.base, &sides.new),
        rows,
    });
    held.collect()
}

/// Compares the metrics of phases; in pairs where each was measured at the same time as one of the other side.
fn figures(sides: &Sides<'_>, rules: &Rules) -> Vec<Row> {
    let (base, new) = (sides.base.as_slice(), sides.new.as_slice());
    let single = base.len() == 1 && new.len() == 1;
    let paired = pairs::pairs(base, new);
    let new = paired.as_deref().unwrap_or(new);
    let metrics = sides.metrics.iter().filter(|it| !FAILURES.contains(it));
    let rows = metrics.filter_map(|&metric| {
        let of = |side: &[&Phase]| -> Option<Vec<f64>> {
            side.iter().map(|phase| metric.of(phase)).collect()
        };
        let better = metric.better();
        let sizes = (base.len(), new.len());
        // Runs of which one lacks the figure say nothing of how alike they are.
        let margin = rules
            .margin
            .max(aa_margin(&of(&sides.same).unwrap_or_default(), sizes));
        let comparison = match (base, new) {
            ([x], [y]) => match (estimate(x, metric), estimate(y, metric)) {
                (Some(x), Some(y)) => compare_estimates(x, y, better, margin),
                _ => compare_runs(&of(base)?, &of(new)?, better, margin),
            },
            _ if paired.is_some() => compare_pairs(&of(base)?, &of(new)?, better, margin),
            _ => compare_figure(metric, &of(base)?, &of(new)?, margin),
        };
        let comparison = Comparison {
            single: single && !rules.single_run,
            ..comparison
        };
        Some(Row { metric, comparison })
    });
    rows.collect()
}

/// Corrects rows that were compared together, and says what each comes to.
pub fn correct(rows: &mut [Row]) {
    family::correct(&mut rows.iter_mut().collect::<Vec<_>>());
}

/// Twice the deviation that sides of these sizes would have, of runs that scatter as these do.
fn aa_margin(same: &[f64], (base, new): (usize, usize)) -> f64 {
    if same.len() < 2 || same.iter().any(|&value| value <= 0.0) {
        return 0.0;
    }
    let logs: Vec<f64> = same.iter().map(|&value| value.ln()).collect();
    let each = 1.0 / base as f64 + 1.0 / new as f64;
    2.0 * (variance(&logs) * each).sqrt()
}

/// A number for each run of a metric, with the interval of the bootstrap where that knows more.
pub fn compare_figure(metric: Metric, base: &[f64], new: &[f64], margin: f64) -> Comparison {
    let mut comparison = compare_runs(base, new, metric.better(), margin);
    let percentile = metric.is_percentile();
    let enough = comparison.base.len().min(comparison.new.len()) >= BOOTSTRAP_FROM;
    if percentile && enough && comparison.interval.is_some() {
        let logs = |side: &[f64]| -> Vec<f64> { side.iter().map(|&value| value.ln()).collect() };
        if let Some((low, high)) = bca(&logs(&comparison.base), &logs(&comparison.new)) {
            comparison.interval = Some((low.exp(), high.exp()));
            comparison.method = Method::Bootstrap;
        }
    }
    comparison
}

/// The mean of a side; 0 of no values, of which callers have made sure.
fn level(values: &[f64]) -> f64 {
    average::mean(values).unwrap_or(0.0)
}

/// Of a sample: divided by one less than its size.
fn variance(values: &[f64]) -> f64 {
    let middle = level(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    squares / (values.len().max(2) - 1) as f64
}
