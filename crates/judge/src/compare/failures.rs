//! What is looked at before anything else: did both sides do what was asked?
//!
//! A request that fails is often a fast one, so times of a side that fails say nothing good of it.

use plan::{Measure, Stat};
use record::run::{Kind, Phase};
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::factorial::ln_binomial;

use super::metric::counts;
use super::{Comparison, Direction, Method, Metric, Outcome, P, Row, Rules};

/// The figures that are compared in any case, before all others.
pub const FAILURES: [Metric; 2] = [Metric::Success, Metric::Complete];

/// One request of a thousand that fails more or less is no finding.
const SUCCESS_MARGIN: f64 = 0.001;

/// Of what is on its way when a phase ends there may be as much.
const COMPLETE_MARGIN: f64 = 0.01;

/// More failures than these are tested with the normal distribution instead of one by one.
const COUNTED: u64 = 1_000;

/// Compares success and completeness, as far as both sides have them.
pub(super) fn compare(base: &[&Phase], new: &[&Phase], rules: &Rules) -> Vec<Row> {
    let rows = FAILURES.into_iter().filter_map(|metric| {
        let of = |side: &[&Phase]| -> Option<Vec<(u64, u64)>> {
            side.iter().map(|phase| counts(metric, phase)).collect()
        };
        let margin = match metric {
            Metric::Success => SUCCESS_MARGIN,
            _ => COMPLETE_MARGIN,
        };
        let comparison = compare_shares(&of(base)?, &of(new)?, margin, rules);
        Some(Row { metric, comparison })
    });
    rows.collect()
}

/// Compares shares of operations (how many did what was asked, and all) of each run. Where both sides have failures and
/// several runs, by the runs. Otherwise by the operations: one side has none, or another run of it is not known.
pub fn compare_shares(
    base: &[(u64, u64)],
    new: &[(u64, u64)],
    margin: f64,
    rules: &Rules,
) -> Comparison {
    let shares = |side: &[(u64, u64)]| -> Vec<f64> {
        let share = |&(good, all): &(u64, u64)| good as f64 / all.max(1) as f64;
        side.iter().map(share).collect()
    };
    let clean = |side: &[(u64, u64)]| side.iter().all(|(good, all)| good == all);
    let better = Direction::Higher;
    let by_runs = super::compare_runs(&shares(base), &shares(new), better, margin);
    if base.len() > 1 && new.len() > 1 && !clean(base) && !clean(new) {
        return by_runs;
    }
    let sum = |side: &[(u64, u64)]| {
        let add = |(good, all), (g, a): &(u64, u64)| (good + g, all + a);
        side.iter().fold((0, 0), add)
    };
    let (x, y) = (sum(base), sum(new));
    let share = |(good, all): (u64, u64)| good as f64 / all.max(1) as f64;
    let mut comparison = Comparison {
        means: (share(x), share(y)),
        ratio: (x.0 > 0).then(|| share(y) / share(x)),
        interval: (x.0 > 0 && y.0 > 0).then(|| interval(x, y)),
        method: Method::Operations,
        p: Some(P {
            value: fisher(x, y),
            least: 0.0,
            exact: false,
        }),
        mann_whitney: None,
        delta: None,
        single: base.len() == 1 && new.len() == 1 && !rules.single_run,
        ..by_runs
    };
    comparison.decide(1);
    comparison
}

/// The 95 % interval of the ratio of two shares (Walter 1975: the logarithm, a half added to each count).
fn interval(x: (u64, u64), y: (u64, u64)) -> (f64, f64) {
    let half = |n: u64| n as f64 + 0.5;
    let part = |(good, all): (u64, u64)| 1.0 / half(good) - 1.0 / half(all);
    let log = (half(y.0) / half(y.1)).ln() - (half(x.0) / half(x.1)).ln();
    let reach = 1.96 * (part(x) + part(y)).max(0.0).sqrt();
    ((log - reach).exp(), (log + reach).exp())
}

/// How often chance alone deals failures out to two sides as unequally: twice the smaller tail of Fisher's exact test.
fn fisher(x: (u64, u64), y: (u64, u64)) -> f64 {
    let failed = |(good, all): (u64, u64)| all - good;
    let (bad, all) = (failed(x) + failed(y), x.1 + y.1);
    if bad == 0 || bad == all {
        return 1.0;
    }
    if bad > COUNTED && all - bad > COUNTED {
        let pooled = bad as f64 / all as f64;
        let each = 1.0 / x.1 as f64 + 1.0 / y.1 as f64;
        let difference = failed(y) as f64 / y.1 as f64 - failed(x) as f64 / x.1 as f64;
        let z = difference.abs() / (pooled * (1.0 - pooled) * each).sqrt();
        return 2.0 * Normal::standard().sf(z);
    }
    // The rarer of the two is dealt out.
    let (rare, seen) = match bad <= all - bad {
        true => (bad, failed(y)),
        false => (all - bad, y.0),
    };
    let chance = |k: u64| match k <= y.1 && rare - k <= x.1 {
        true => (ln_binomial(y.1, k) + ln_binomial(x.1, rare - k) - ln_binomial(all, rare)).exp(),
        false => 0.0,
    };
    let (low, high): (f64, f64) = (
        (0..=seen).map(chance).sum(),
        (seen..=rare).map(chance).sum(),
    );
    (2.0 * low.min(high)).min(1.0)
}

/// Why two sides cannot be compared, or which of them broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whether it is the new side that is worse; otherwise the two are not comparable.
    pub worse: bool,
    /// In a sentence.
    pub told: String,
}

/// A side with a run that is FAILED or INCOMPLETE, by the verdicts of both.
pub fn broken(base: &[Kind], new: &[Kind]) -> Vec<Failure> {
    let count = |side: &[Kind], kind| side.iter().filter(|it| **it == kind).count();
    let is_whole = |side| count(side, Kind::Failed) + count(side, Kind::Incomplete) == 0;
    let mut found = Vec::new();
    for (name, side) in [("base", base), ("new", new)] {
        for kind in [Kind::Failed, Kind::Incomplete] {
            let (n, of) = (count(side, kind), side.len());
            if n > 0 {
                let are = if n == 1 { "is" } else { "are" };
                let runs = if of == 1 { "run" } else { "runs" };
                found.push(Failure {
                    // Of two that broke neither is the better one.
                    worse: name == "new" && kind == Kind::Failed && is_whole(base),
                    told: format!("{n} of {of} {runs} of {name} {are} {kind}"),
                });
            }
        }
    }
    found
}

/// Holds the rows of a phase to what failed in it. Where one side did more of what was asked than the other, or a run broke,
/// the other figures are of different work.
pub(super) fn hold(rows: &mut [Row], base: &[&Phase], new: &[&Phase]) -> Vec<Failure> {
    let kinds = |side: &[&Phase]| -> Vec<Kind> { side.iter().map(|it| it.verdict.kind).collect() };
    let mut failures = broken(&kinds(base), &kinds(new));
    let mut unequal = !failures.is_empty();
    for row in rows.iter().filter(|row| FAILURES.contains(&row.metric)) {
        let (x, y) = row.comparison.means;
        unequal |= (y - x).abs() > row.comparison.margin;
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let told = match row.metric {
            Metric::Success => format!("of new {} succeeded, of base {}", percent(y), percent(x)),
            _ => format!(
                "of new {} of what was planned was done, of base {}",
                percent(y),
                percent(x)
            ),
        };
        match row.comparison.outcome {
            Outcome::Worse => failures.push(Failure { worse: true, told }),
            Outcome::CannotTell { .. } if y < x - row.comparison.margin => {
                failures.push(Failure { worse: false, told });
            }
            _ => {}
        }
    }
    if unequal {
        let others = rows.iter_mut().filter(|row| !counts_failures(row.metric));
        others.for_each(|row| row.comparison.outcome = Outcome::NotComparable);
    }
    failures
}

/// Failures themselves stay what they are, however many requests there were.
fn counts_failures(metric: Metric) -> bool {
    FAILURES.contains(&metric)
        || matches!(
            metric,
            Metric::Figure(
                Measure::Response | Measure::Service | Measure::Delay,
                Stat::Errors
                    | Stat::ErrorShare
                    | Stat::Timeouts
                    | Stat::TimeoutShare
                    | Stat::Loss
                    | Stat::LossShare
            )
        )
}
