//! Is the new one better or worse, the same, or can that not be told?
//!
//! The unit of replication is the run. Of each metric every run gives one number; what is compared is
//! the geometric mean of those numbers on either side. The headline is their ratio with its 95 %
//! interval. A difference is believed when the interval has left the noise margin and an exact
//! permutation of the runs (after Holm's correction for several metrics) agrees; sameness when the
//! interval lies inside the margin. Everything else cannot be told, and how many runs it would take is
//! said. Runs of both sides that went at the same time are compared in pairs. Single long runs have their
//! interval from the samples inside them, and say nothing about how much runs differ.

mod doubts;
mod exact;
mod interval;
mod metric;
mod pairs;
mod power;
mod within;

use record::run::Phase;

pub use doubts::{doubts, is_closed, unbelievable};
pub use exact::{P, cliffs_delta, mann_whitney, permutation};
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
}

impl Outcome {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::CannotTell { .. } => "cannot tell",
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
    /// The same after Holm's correction for the metrics that were compared together.
    pub adjusted: Option<f64>,
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
    let difference = mean(&y) - mean(&x);
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
        means: (back(mean(&x)), back(mean(&y))),
        spread: (spread(&x), spread(&y)),
        ratio: positive.then(|| difference.exp()),
        interval,
        method: match interval {
            Some(_) => Method::Welch,
            None => Method::None,
        },
        p: several.then(|| permutation(&x, &y)),
        adjusted: None,
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
    /// Says what it comes to; `family` metrics are compared together.
    fn decide(&mut self, family: usize) {
        let p = self.adjusted.or(self.p.map(|p| p.value));
        let likely = p.is_some_and(|p| p <= ALPHA);
        let judged = |grows: bool| match (grows, self.better) {
            (true, Direction::Higher) | (false, Direction::Lower) => Outcome::Better,
            _ => Outcome::Worse,
        };
        let (above, below) = (1.0 + self.margin, 1.0 / (1.0 + self.margin));
        self.outcome = match (self.interval, self.ratio) {
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
            _ if self.base.iter().chain(&self.new).all(|&v| v == 0.0) => Outcome::Same,
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

/// Compares phases of the same name, one of each run; in pairs where each was measured at the same time as one of the
/// other side. `same` holds phases of one and the same thing, measured
/// apart: twice the variation that they show is noise too, when it is more than the least margin. Metrics that a
/// run lacks are left out.
pub fn compare_phases(
    base: &[&Phase],
    new: &[&Phase],
    same: &[&Phase],
    metrics: &[Metric],
    least_margin: f64,
) -> Vec<Row> {
    let single = base.len() == 1 || new.len() == 1;
    let paired = pairs::pairs(base, new);
    let new = paired.as_deref().unwrap_or(new);
    let rows = metrics.iter().filter_map(|&metric| {
        let of = |side: &[&Phase]| -> Option<Vec<f64>> {
            side.iter().map(|phase| metric.of(phase)).collect()
        };
        let better = metric.better();
        let sizes = (base.len(), new.len());
        let margin = least_margin.max(aa_margin(&of(same).unwrap_or_default(), sizes));
        let comparison = match (base, new) {
            ([x], [y]) => match (estimate(x, metric), estimate(y, metric)) {
                (Some(x), Some(y)) => compare_estimates(x, y, better, margin),
                _ => compare_runs(&of(base)?, &of(new)?, better, margin),
            },
            _ if paired.is_some() => compare_pairs(&of(base)?, &of(new)?, better, margin),
            _ => bootstrapped(
                compare_runs(&of(base)?, &of(new)?, better, margin),
                metric.is_percentile(),
            ),
        };
        Some(Row { metric, comparison })
    });
    let mut rows: Vec<Row> = rows.collect();
    holm(&mut rows);
    let family = rows.len();
    for row in &mut rows {
        row.comparison.decide(family);
    }
    debug_assert!(!single || rows.iter().all(|row| row.comparison.delta.is_none()));
    rows
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

/// The interval of the bootstrap where it knows more.
fn bootstrapped(mut comparison: Comparison, percentile: bool) -> Comparison {
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

/// Holm's correction: the smallest p times their number, the next times one less, never falling.
fn holm(rows: &mut [Row]) {
    let mut order: Vec<(f64, usize)> = rows
        .iter()
        .enumerate()
        .filter_map(|(i, row)| Some((row.comparison.p?.value, i)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (all, mut least) = (order.len(), 0.0_f64);
    for (rank, (p, i)) in order.into_iter().enumerate() {
        least = least.max(p * (all - rank) as f64).min(1.0);
        if let Some(row) = rows.get_mut(i) {
            row.comparison.adjusted = Some(least);
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Of a sample: divided by one less than its size.
fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    squares / (values.len().max(2) - 1) as f64
}
