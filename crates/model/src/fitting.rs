//! From rows to a model: which terms, what they cost, and how far that can be believed.

use crate::amount::Amount;
use crate::cost::{Costs, PERCENT, Point, log_ratio, separable, weighted};
use crate::crossing::{
    bounds, coefficients, configurations, crossed, dropped, held_out, metrics, noise, not_needed,
    residuals,
};
use crate::fitted::{Data, FORMAT, FitMethod, Model, VERSION};
use crate::folds::{Folds, dealt};
use crate::matrix::inverse_of_square;
use crate::paper::Paper;
use crate::process::Process;
use crate::reach::{Fold, Metrics};
use crate::row::{self, Row};
use crate::term::{Term, Wake};

/// Wake-ups per second at which their cost saturates: what is tried.
const SATURATIONS: [f64; 5] = [100.0, 200.0, 400.0, 800.0, 1600.0];

/// A process is fitted to so many configurations or more: with fewer, it takes noise for a pattern.
pub const FOR_PROCESS: usize = 30;

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
    /// Too little for a process.
    #[error(
        "{found} configurations with a load that happened (a Gaussian process wants {FOR_PROCESS} or more)"
    )]
    TooFewForProcess {
        /// Configurations.
        found: usize,
    },
    /// Servers and publishers, or publishers that write in different ways: their costs are not the same.
    #[error("rows of {} (want those of one of them)", .whose.join(" and of "))]
    Mixed {
        /// Whose rows there are.
        whose: Vec<String>,
    },
    /// Nothing was spent.
    #[error("the CPU of all rows is 0: nothing to fit")]
    Idle,
}

/// Fits a model to rows. Same rows, same model.
pub fn fit(rows: &[Row], method: FitMethod) -> Result<Model, FitError> {
    let good: Vec<&Row> = rows.iter().filter(|row| row.happened()).collect();
    let mut whose: Vec<String> = rows.iter().map(|row| row.workload.whose()).collect();
    whose.sort();
    whose.dedup();
    if whose.len() > 1 {
        return Err(FitError::Mixed { whose });
    }
    let measured: Vec<(&Row, f64)> = good
        .iter()
        .map(|row| (*row, row.cpu_percent * PERCENT))
        .collect();
    let configurations = configurations(&measured);
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
    if method == FitMethod::Process && points.len() < FOR_PROCESS {
        let found = points.len();
        return Err(FitError::TooFewForProcess { found });
    }
    let folds = dealt(points.len());
    let wake = best_wake(method, &points, &folds);
    let (mut terms, mut left) = separable(&Term::ALL, wake, &points);
    left.extend(not_needed(&mut terms, wake, &points, &folds));
    let costs = Costs::fit(&terms, wake, &points);
    let by_fold = folds.fits(&points, |train| Costs::fit(&terms, wake, train));
    let by_costs = folds.predicted(&points, &by_fold, |it, at| it.predict(&at.workload));
    let process = (method == FitMethod::Process).then(|| {
        Process::fit(&points, &folds, &|points, folds| {
            crossed(&terms, wake, points, folds)
        })
    });
    let predicted: Vec<f64> = (0..points.len())
        .map(|at| {
            let fold = folds.each()[at];
            let factor = |it: &Process| it.factor_without(fold, &points[at].workload);
            by_costs[at] * process.as_ref().map_or(1.0, factor)
        })
        .collect();
    let residuals = residuals(&configurations, &predicted, folds.each());
    let paper = Paper::fit(&points);
    let papers = folds.fits(&points, Paper::fit);
    let refitted = folds.fits(&points, Paper::refitted);
    let of_paper = |papers: &[Option<Paper>]| -> Option<Metrics> {
        let each = std::iter::zip(&points, folds.each());
        let predicted: Option<Vec<f64>> = each
            .map(|(it, &fold)| Some(papers[fold]?.predict(&it.workload) * PERCENT))
            .collect();
        Some(metrics(&points, &predicted?))
    };
    // Terms that cannot be told apart are left out by now: there is one.
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
        method,
        data: Data {
            schema: row::SCHEMA,
            sha256: row::hash(rows),
            rows: rows.len(),
            overloaded: rows.len() - good.len(),
            configurations: points.len(),
            pubsub: rows.iter().find_map(|row| row.workload.pubsub.clone()),
        },
        calibrated: None,
        wake,
        coefficients: coefficients(&costs, &by_fold, &points),
        dropped: left
            .into_iter()
            .map(|(term, why)| dropped(term, why))
            .collect(),
        bounds: bounds(&Term::ALL, &points),
        folds: by_fold.into_iter().map(|it| Fold { us: it.us }).collect(),
        residuals,
        inverse,
        most_leverage,
        beyond: beyond(&terms, wake, &points, process.is_some()),
        noise: noise(&configurations),
        metrics: metrics(&points, &predicted),
        cost_metrics: process.is_some().then(|| metrics(&points, &by_costs)),
        process,
        memory: Amount::fit(&good, |row| row.rss_bytes, &Term::OF_MEMORY),
        bytes: Amount::fit(&good, |row| row.bytes_per_s, &Term::OF_BYTES),
        paper,
        paper_metrics: of_paper(&papers),
        refitted: Paper::refitted(&points),
        refitted_metrics: of_paper(&refitted),
    })
}

/// How wake-ups count, by the error on folds that were held out.
fn best_wake(method: FitMethod, points: &[Point], folds: &Folds) -> Wake {
    let saturating = SATURATIONS.map(Wake::Saturating);
    let powers = (2..=9).map(|tenth| Wake::Power(f64::from(tenth) / 10.0));
    let mut tried = vec![Wake::Linear];
    match method {
        FitMethod::Cost | FitMethod::Process => tried.extend(saturating),
        FitMethod::Exponent => tried.extend(saturating.into_iter().chain(powers)),
    }
    let errors = tried.into_iter().map(|wake| {
        let (terms, _) = separable(&Term::ALL, wake, points);
        (held_out(&terms, wake, points, folds), wake)
    });
    // The first of equal ones: the simplest.
    errors
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(Wake::Linear, |it| it.1)
}

/// The 90th percentile of the error (as a logarithm) on the largest third of loads, for a model of the others.
fn beyond(terms: &[Term], wake: Wake, points: &[Point], process: bool) -> Option<f64> {
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
    let process = process.then(|| {
        Process::fit(low, &dealt(low.len()), &|points, folds| {
            crossed(terms, wake, points, folds)
        })
    });
    let mut errors: Vec<f64> = high
        .iter()
        .map(|it| {
            let factor = process.as_ref().map_or(1.0, |of| of.factor(&it.workload));
            log_ratio(it.us_per_s, costs.predict(&it.workload) * factor).abs()
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    errors
        .get((errors.len() * 9).div_ceil(10).saturating_sub(1))
        .copied()
}
