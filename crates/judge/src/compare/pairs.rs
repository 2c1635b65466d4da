//! Runs of both sides that were measured at the same time. What disturbs one disturbs the other, so they are
//! compared with each other and not with what was measured in other minutes.

use record::run::Phase;

use super::interval::{t_half, t_tails};
use super::{Comparison, Direction, Method, P, compare_runs, level, variance};

/// Windows that share as much of the longer one are of the same time: no other one can share more.
const SHARED: f64 = 0.5;

/// For each phase of base the one of new that was measured at the same time; none unless all have exactly one.
pub(super) fn pairs<'a>(base: &[&Phase], new: &[&'a Phase]) -> Option<Vec<&'a Phase>> {
    if base.len() != new.len() || base.len() < 2 {
        return None;
    }
    let alone = |x: &Phase, others: &[&'a Phase]| {
        let mut found = others.iter().filter(|y| shared(x, y) > SHARED);
        found.next().copied().filter(|_| found.next().is_none())
    };
    let paired: Option<Vec<&Phase>> = base.iter().map(|x| alone(x, new)).collect();
    // None of them twice.
    paired.filter(|paired| {
        let times = |y: &Phase| base.iter().filter(|x| shared(x, y) > SHARED).count();
        paired.iter().all(|y| times(y) == 1)
    })
}

/// How much of the longer one of two windows both have.
fn shared(x: &Phase, y: &Phase) -> f64 {
    let window = |phase: &Phase| {
        let begun = phase.started.unix_ns();
        (
            begun + i128::from(phase.from_ns),
            begun + i128::from(phase.to_ns),
        )
    };
    let ((a, b), (c, d)) = (window(x), window(y));
    let both = (b.min(d) - a.max(c)).max(0);
    both as f64 / (b - a).max(d - c).max(1) as f64
}

/// Compares each run with the one beside it.
pub fn compare_pairs(base: &[f64], new: &[f64], better: Direction, margin: f64) -> Comparison {
    let mut comparison = compare_runs(base, new, better, margin);
    let Some(differences) = differences(base, new) else {
        return comparison;
    };
    let Some(half) = t_half(&differences) else {
        return comparison;
    };
    let middle = level(&differences);
    let times = |wanted: fn(f64) -> bool| differences.iter().filter(|it| wanted(**it)).count();
    let (more, less) = (times(|it| it > 0.0), times(|it| it < 0.0));
    comparison.interval = Some(((middle - half).exp(), (middle + half).exp()));
    comparison.method = Method::Pairs;
    comparison.p = p(&differences);
    comparison.mann_whitney = None;
    comparison.delta = Some((more as f64 - less as f64) / differences.len() as f64);
    comparison.decide(1);
    comparison
}

/// Of the logarithms, pair by pair; none where a value is zero.
pub(super) fn differences(base: &[f64], new: &[f64]) -> Option<Vec<f64>> {
    let each = base.iter().zip(new).map(|(x, y)| y.ln() - x.ln());
    let differences: Vec<f64> = each.collect();
    (base.len() == new.len() && differences.iter().all(|it| it.is_finite())).then_some(differences)
}

/// Student's test of the differences. Their signs alone could not show anything with fewer than six pairs.
fn p(differences: &[f64]) -> Option<P> {
    let degrees = differences.len() as f64 - 1.0;
    let error = (variance(differences) / differences.len() as f64).sqrt();
    let value = match (level(differences), error > 0.0) {
        (middle, true) => t_tails(middle / error, degrees)?,
        (0.0, false) => 1.0,
        (_, false) => 0.0,
    };
    Some(P {
        value,
        least: 0.0,
        exact: false,
    })
}
