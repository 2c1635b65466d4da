//! From rows to a model: which terms, what they cost, and how far that can be believed.

use plan::Random;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::cost::{Costs, LEAST, Left, PERCENT, Point, inflation, separable, weight, weighted};
use crate::fitted::{
    Bound, Coefficient, Data, Dropped, FORMAT, Fold, Metrics, Model, Noise, Residual, Rung, VERSION,
};
use crate::matrix::inverse_of_square;
use crate::paper::Paper;
use crate::row::{self, Row};
use crate::term::{Term, Wake};

/// Folds of the cross-validation, as far as there are configurations.
const FOLDS: usize = 10;

/// Wake-ups per second at which their cost saturates: what is tried.
const SATURATIONS: [f64; 5] = [100.0, 200.0, 400.0, 800.0, 1600.0];

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Too little to tell even two costs.
    #[error(
        "{found} configurations with a load that happened, of {rows} rows (want 3 or more that differ in what they ask for)"
    )]
    TooFew {
        /// Configurations.
        found: usize,
        /// Rows in all.
        rows: usize,
    },
    /// Nothing was spent.
    #[error("the CPU of all rows is 0: nothing to fit")]
    Idle,
}

/// Runs that asked for the same, as one point.
pub(crate) struct Configuration {
    /// The median of its runs.
    point: Point,
    /// CPU of each run, in microseconds per second.
    runs: Vec<f64>,
}

/// Fits a model to rows. Same rows, same model.
pub fn fit(rows: &[Row], rung: Rung) -> Result<Model, FitError> {
    let good: Vec<&Row> = rows.iter().filter(|row| row.happened()).collect();
    let configurations = configurations(&good);
    if configurations.len() < 3 {
        return Err(FitError::TooFew {
            found: configurations.len(),
            rows: rows.len(),
        });
    }
    let points: Vec<Point> = configurations.iter().map(|it| it.point.clone()).collect();
    if points.iter().all(|it| it.us_per_s <= 0.0) {
        return Err(FitError::Idle);
    }
    let folds = dealt(points.len());
    let wake = best_wake(rung, &points, &folds);
    let (mut terms, mut left) = separable(wake, &points);
    left.extend(not_needed(&mut terms, wake, &points, &folds));
    let costs = Costs::fit(&terms, wake, &points);
    let by_fold = each_fold(&folds, &points, |train| Costs::fit(&terms, wake, train));
    let predicted: Vec<f64> = std::iter::zip(&points, &folds)
        .map(|(point, &fold)| by_fold[fold].predict(&point.workload))
        .collect();
    let residuals = residuals(&configurations, &predicted, &folds);
    let paper = Paper::fit(&points);
    let papers = each_fold(&folds, &points, Paper::fit);
    let refitted = each_fold(&folds, &points, Paper::refitted);
    let of_paper = |papers: &[Option<Paper>]| -> Option<Metrics> {
        let each = std::iter::zip(&points, &folds);
        let predicted: Option<Vec<f64>> = each
            .map(|(it, &fold)| Some(papers[fold]?.predict(&it.workload) * PERCENT))
            .collect();
        Some(metrics(&points, &predicted?))
    };
    let inverse = inverse_of_square(&weighted(&terms, wake, &points)).unwrap_or_default();
    let most_leverage = points
        .iter()
        .map(|it| crate::fitted::leverage(&inverse, &terms, wake, &it.workload, it.us_per_s))
        .fold(0.0, f64::max);
    Ok(Model {
        format: FORMAT.to_owned(),
        version: VERSION,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        name: String::new(),
        rung,
        data: Data {
            schema: row::SCHEMA,
            sha256: row::hash(rows),
            rows: rows.len(),
            overloaded: rows.len() - good.len(),
            configurations: points.len(),
        },
        wake,
        coefficients: coefficients(&costs, &by_fold, &points),
        dropped: left
            .into_iter()
            .map(|(term, why)| dropped(term, why))
            .collect(),
        bounds: bounds(&points),
        folds: by_fold.into_iter().map(|it| Fold { us: it.us }).collect(),
        residuals,
        inverse,
        most_leverage,
        beyond: beyond(&terms, wake, &points),
        noise: noise(&configurations),
        metrics: metrics(&points, &predicted),
        paper,
        paper_metrics: of_paper(&papers),
        refitted: Paper::refitted(&points),
        refitted_metrics: of_paper(&refitted),
    })
}

pub(crate) fn configurations(rows: &[&Row]) -> Vec<Configuration> {
    let mut found: Vec<(String, Configuration)> = Vec::new();
    for row in rows {
        let key = row.configuration();
        let us = row.cpu_percent * PERCENT;
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
        it.point.us_per_s = median(&it.runs);
    }
    found
}

/// The fold of each configuration: evenly dealt, in an order that is the same each time.
fn dealt(configurations: usize) -> Vec<usize> {
    let mut random = Random::new(1);
    let mut order: Vec<(u64, usize)> = (0..configurations)
        .map(|it| (random.next_u64(), it))
        .collect();
    order.sort_unstable();
    let mut folds = vec![0; configurations];
    for (at, (_, configuration)) in order.into_iter().enumerate() {
        folds[configuration] = at % FOLDS.min(configurations);
    }
    folds
}

/// A fit for each fold, to all points that are not in it.
fn each_fold<T>(folds: &[usize], points: &[Point], fit: impl Fn(&[Point]) -> T) -> Vec<T> {
    let count = folds.iter().max().map_or(0, |it| it + 1);
    (0..count)
        .map(|fold| {
            let rest = std::iter::zip(points, folds).filter(|(_, it)| **it != fold);
            let rest: Vec<Point> = rest.map(|(point, _)| point.clone()).collect();
            fit(&rest)
        })
        .collect()
}

/// How wake-ups count, by the error on folds that were held out.
fn best_wake(rung: Rung, points: &[Point], folds: &[usize]) -> Wake {
    let saturating = SATURATIONS.map(Wake::Saturating);
    let powers = (2..=9).map(|tenth| Wake::Power(f64::from(tenth) / 10.0));
    let mut tried = vec![Wake::Linear];
    match rung {
        Rung::Cost => tried.extend(saturating),
        Rung::Exponent => tried.extend(saturating.into_iter().chain(powers)),
    }
    let errors = tried.into_iter().map(|wake| {
        let (terms, _) = separable(wake, points);
        (held_out(&terms, wake, points, folds), wake)
    });
    // The first of equal ones: the simplest.
    errors
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(Wake::Linear, |it| it.1)
}

/// The error on folds that were held out.
fn held_out(terms: &[Term], wake: Wake, points: &[Point], folds: &[usize]) -> f64 {
    let fits = each_fold(folds, points, |train| Costs::fit(terms, wake, train));
    let each = std::iter::zip(points, folds);
    each.map(|(it, &fold)| off(fits[fold].predict(&it.workload), it.us_per_s).abs())
        .sum()
}

/// A term has to make held-out errors smaller by this share. Terms that do not would take from the costs of others.
const WORTH: f64 = 0.02;

/// Takes out the terms without which held-out configurations are predicted as well, one after the other.
fn not_needed(
    terms: &mut Vec<Term>,
    wake: Wake,
    points: &[Point],
    folds: &[usize],
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

fn metrics(points: &[Point], predicted: &[f64]) -> Metrics {
    let mut errors: Vec<f64> = std::iter::zip(points, predicted)
        .map(|(it, predicted)| off(*predicted, it.us_per_s).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    let mean = points.iter().map(|it| it.us_per_s).sum::<f64>() / points.len() as f64;
    let square = |it: f64| it * it;
    let rest: f64 = std::iter::zip(points, predicted)
        .map(|(it, predicted)| square(it.us_per_s - predicted))
        .sum();
    let all: f64 = points.iter().map(|it| square(it.us_per_s - mean)).sum();
    Metrics {
        mape: errors.iter().sum::<f64>() / errors.len() as f64,
        median: median(&errors),
        p90: errors[((errors.len() * 9).div_ceil(10)).saturating_sub(1)],
        r2: (all > 0.0).then(|| 1.0 - rest / all),
    }
}

/// The middle of sorted values.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => 0.0,
        1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// A ratio of CPU times as a logarithm; what is next to nothing counts as half a percent of a percent.
fn log_ratio(measured: f64, predicted: f64) -> f64 {
    libm::log(measured.max(LEAST / 100.0) / predicted.max(LEAST / 100.0))
}

/// How far each run is from what a model says that has not seen its configuration.
fn residuals(
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

/// The 90th percentile of the error (as a logarithm) on the largest third of loads, for a model of the others.
fn beyond(terms: &[Term], wake: Wake, points: &[Point]) -> Option<f64> {
    if points.len() < 9 {
        return None;
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| {
        let volume = |it: &Point| it.workload.values_per_s() + it.workload.sent_per_s();
        volume(a).total_cmp(&volume(b))
    });
    let (low, high) = sorted.split_at(points.len() * 2 / 3);
    let costs = Costs::fit(terms, wake, low);
    let mut errors: Vec<f64> = high
        .iter()
        .map(|it| log_ratio(it.us_per_s, costs.predict(&it.workload)).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    errors
        .get((errors.len() * 9).div_ceil(10).saturating_sub(1))
        .copied()
}

/// By how much runs of the same configuration differ.
pub(crate) fn noise(configurations: &[Configuration]) -> Option<Noise> {
    let (mut squares, mut free, mut runs) = (0.0, 0, 0);
    for it in configurations.iter().filter(|it| it.runs.len() > 1) {
        let logs: Vec<f64> = it.runs.iter().map(|run| log_ratio(*run, LEAST)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        squares += logs.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>();
        free += logs.len() - 1;
        runs += logs.len();
    }
    (free > 0).then(|| Noise {
        cv: (squares / free as f64).sqrt(),
        runs,
    })
}

fn coefficients(costs: &Costs, folds: &[Costs], points: &[Point]) -> Vec<Coefficient> {
    let inflations = inflation(&costs.terms, costs.wake, points);
    let k = folds.len() as f64;
    let t = StudentsT::new(0.0, 1.0, k - 1.0).map_or(f64::NAN, |it| it.inverse_cdf(0.975));
    let each = costs.terms.iter().enumerate();
    each.map(|(at, &term)| {
        // Jackknife: what leaving out a fold changes, blown up to what other data would change.
        let values: Vec<f64> = folds.iter().map(|it| it.us[at]).collect();
        let mean = values.iter().sum::<f64>() / k;
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

fn dropped(term: Term, why: Left) -> Dropped {
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
fn bounds(points: &[Point]) -> Vec<Bound> {
    let bound = |term: Term| {
        let rates = points
            .iter()
            .map(|it| term.rate(&it.workload, Wake::Linear));
        let least = rates.clone().fold(f64::INFINITY, f64::min);
        let most = rates.fold(0.0, f64::max);
        Bound { term, least, most }
    };
    Term::ALL.into_iter().map(bound).collect()
}
