//! What fits of anything have in common: runs of the same together, errors where nothing was fitted, terms that are worth
//! having, intervals.

use record::average;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::cost::{Costs, LEAST, Left, Point, inflation, log_ratio, weight};
use crate::folds::Folds;
use crate::reach::{Bound, Coefficient, Dropped, Metrics, Noise, Residual};
use crate::row::Row;
use crate::term::{Term, Wake};

/// Runs that asked for the same, as one point.
pub struct Configuration {
    /// The median of its runs.
    pub point: Point,
    /// What was measured of each run.
    pub runs: Vec<f64>,
}

/// Runs of the same together, with what was measured of each: CPU in microseconds per second, or bytes.
pub fn configurations(rows: &[(&Row, f64)]) -> Vec<Configuration> {
    let mut found: Vec<(String, Configuration)> = Vec::new();
    for &(row, us) in rows {
        let key = row.configuration();
        match found.iter_mut().find(|(other, _)| *other == key) {
            Some((_, it)) => it.runs.push(us),
            None => {
                let point = Point {
                    workload: row.workload.clone(),
                    us_per_s: us,
                };
                let runs = vec![us];
                found.push((key, Configuration { point, runs }));
            }
        }
    }
    let mut found: Vec<Configuration> = found.into_iter().map(|(_, it)| it).collect();
    for it in &mut found {
        it.runs.sort_by(f64::total_cmp);
        it.point.us_per_s = average::median(&it.runs).unwrap_or(0.0);
    }
    found
}

/// What costs say of points that they have not seen.
pub fn crossed(terms: &[Term], wake: Wake, points: &[Point], folds: &Folds) -> Vec<f64> {
    let fits = folds.fits(points, |train| Costs::fit(terms, wake, train));
    folds.predicted(points, &fits, |it, at| it.predict(&at.workload))
}

/// The error on folds that were held out.
pub fn held_out(terms: &[Term], wake: Wake, points: &[Point], folds: &Folds) -> f64 {
    std::iter::zip(points, crossed(terms, wake, points, folds))
        .map(|(it, predicted)| off(predicted, it.us_per_s).abs())
        .sum()
}

/// A term has to make held-out errors smaller by this share. Terms that do not would take from the costs of others.
const WORTH: f64 = 0.02;

/// Takes out the terms without which held-out configurations are predicted as well, one after the other.
pub fn not_needed(
    terms: &mut Vec<Term>,
    wake: Wake,
    points: &[Point],
    folds: &Folds,
) -> Vec<(Term, Left)> {
    let mut left = Vec::new();
    let mut error = held_out(terms, wake, points, folds);
    while terms.len() > 2 {
        let without =
            |term: Term| -> Vec<Term> { terms.iter().copied().filter(|it| *it != term).collect() };
        // The last of them first: the earlier ones are the plainer costs.
        let found = terms
            .iter()
            .rev()
            .filter(|it| **it != Term::Base)
            .map(|&it| (held_out(&without(it), wake, points, folds), it))
            .find(|(less, _)| *less <= error * (1.0 + WORTH));
        let Some((less, term)) = found else { break };
        // Errors must not creep up by small steps.
        error = error.min(less);
        terms.retain(|it| *it != term);
        left.push((term, Left::NotNeeded));
    }
    left
}

/// The error of a prediction, relative to what was measured.
fn off(predicted: f64, measured: f64) -> f64 {
    (predicted - measured) * weight(measured)
}

/// The errors of what is predicted.
pub fn metrics(points: &[Point], predicted: &[f64]) -> Metrics {
    let mut errors: Vec<f64> = std::iter::zip(points, predicted)
        .map(|(it, predicted)| off(*predicted, it.us_per_s).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    let mean = average::mean(points.iter().map(|it| it.us_per_s)).unwrap_or(0.0);
    let square = |it: f64| it * it;
    let rest: f64 = std::iter::zip(points, predicted)
        .map(|(it, predicted)| square(it.us_per_s - predicted))
        .sum();
    let all: f64 = points.iter().map(|it| square(it.us_per_s - mean)).sum();
    Metrics {
        mape: average::mean(&errors).unwrap_or(0.0),
        median: average::median(&errors).unwrap_or(0.0),
        p90: errors[((errors.len() * 9).div_ceil(10)).saturating_sub(1)],
        r2: (all > 0.0).then(|| 1.0 - rest / all),
    }
}

/// How far each run is from what a model says that has not seen its configuration.
pub fn residuals(
    configurations: &[Configuration],
    predicted: &[f64],
    folds: &[usize],
) -> Vec<Residual> {
    let each = std::iter::zip(configurations, std::iter::zip(predicted, folds));
    each.flat_map(|(it, (predicted, &fold))| {
        it.runs.iter().map(move |run| Residual {
            fold,
            log: log_ratio(*run, *predicted).abs(),
        })
    })
    .collect()
}

/// By how much runs of the same configuration differ.
pub fn noise(configurations: &[Configuration]) -> Option<Noise> {
    let (mut squares, mut free, mut runs) = (0.0, 0, 0);
    for it in configurations.iter().filter(|it| it.runs.len() > 1) {
        let logs: Vec<f64> = it.runs.iter().map(|run| log_ratio(*run, LEAST)).collect();
        let mean = average::mean(&logs).unwrap_or(0.0);
        squares += logs.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>();
        free += logs.len() - 1;
        runs += logs.len();
    }
    (free > 0).then(|| Noise {
        cv: (squares / free as f64).sqrt(),
        runs,
    })
}

/// What terms take, with intervals.
pub fn coefficients(costs: &Costs, folds: &[Costs], points: &[Point]) -> Vec<Coefficient> {
    let inflations = inflation(&costs.terms, costs.wake, points);
    let k = folds.len() as f64;
    let t = StudentsT::new(0.0, 1.0, k - 1.0).map_or(f64::NAN, |it| it.inverse_cdf(0.975));
    let each = costs.terms.iter().enumerate();
    each.map(|(at, &term)| {
        // Jackknife: what leaving out a fold changes, blown up to what other data would change.
        let values: Vec<f64> = folds.iter().map(|it| it.us[at]).collect();
        let mean = average::mean(&values).unwrap_or(0.0);
        let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
        let error = t * ((k - 1.0) / k * squares).sqrt();
        Coefficient {
            term,
            us: costs.us[at],
            low: (costs.us[at] - error).max(0.0),
            high: costs.us[at] + error,
            inflation: inflations[at],
        }
    })
    .collect()
}

/// Why a term is left out, as a file says it.
pub fn dropped(term: Term, why: Left) -> Dropped {
    let (why, parts) = match why {
        Left::NotMeasured => ("not-measured", Vec::new()),
        Left::TooFew => ("too-few-configurations", Vec::new()),
        Left::NotNeeded => ("not-needed", Vec::new()),
        Left::Inseparable(parts) => ("inseparable", parts),
    };
    Dropped {
        term,
        why: why.to_owned(),
        as_others: parts,
    }
}

/// What was measured, from and to.
pub fn bounds(terms: &[Term], points: &[Point]) -> Vec<Bound> {
    let bound = |term: Term| {
        let rates = points
            .iter()
            .map(|it| term.rate(&it.workload, Wake::Linear));
        let least = rates.clone().fold(f64::INFINITY, f64::min);
        let most = rates.fold(0.0, f64::max);
        Bound { term, least, most }
    };
    terms.iter().copied().map(bound).collect()
}
