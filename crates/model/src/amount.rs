//! Memory of a server, and bytes of its messages: so much for each of what there is, as CPU time is.

use serde::{Deserialize, Serialize};

use crate::cost::{Costs, separable};
use crate::crossing::{
    bounds, coefficients, configurations, crossed, dropped, metrics, not_needed, residuals,
};
use crate::folds::dealt;
use crate::reach::{
    Bound, Coefficient, Dropped, Fold, Metrics, Residual, extrapolated, interval, unknown,
};
use crate::row::Row;
use crate::term::{Term, Wake};
use crate::workload::Workload;

/// A fitted amount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Bytes for each term. (Their field is called as in costs.)
    pub coefficients: Vec<Coefficient>,
    /// Terms that are not in it.
    pub dropped: Vec<Dropped>,
    /// What was measured, from and to.
    pub bounds: Vec<Bound>,
    /// The same without each fold.
    pub folds: Vec<Fold>,
    /// How far runs were from what is said without their fold.
    pub residuals: Vec<Residual>,
    /// Different workloads.
    pub configurations: usize,
    /// Errors on those that were held out.
    pub metrics: Metrics,
}

/// What is said of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// In bytes, or bytes per second.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// How often the interval holds.
    pub level: f64,
    /// Where the workload lies beyond what was measured: how many times as much of what.
    pub extrapolated: Option<(f64, Term)>,
    /// What is missing in it or cannot be told apart.
    pub unknown: Vec<String>,
}

impl Amount {
    /// Fits what is known of rows. None where fewer than three different workloads tell of it.
    pub(crate) fn fit(
        rows: &[&Row],
        of: impl Fn(&Row) -> Option<f64>,
        candidates: &[Term],
    ) -> Option<Self> {
        let measured: Vec<(&Row, f64)> = rows
            .iter()
            .filter_map(|row| Some((*row, of(row).filter(|it| *it > 0.0)?)))
            .collect();
        let configurations = configurations(&measured);
        if configurations.len() < 3 {
            return None;
        }
        let points: Vec<_> = configurations.iter().map(|it| it.point.clone()).collect();
        let folds = dealt(points.len());
        let (mut terms, mut left) = separable(candidates, Wake::Linear, &points);
        left.extend(not_needed(&mut terms, Wake::Linear, &points, &folds));
        let costs = Costs::fit(&terms, Wake::Linear, &points);
        let by_fold = folds.fits(&points, |train| Costs::fit(&terms, Wake::Linear, train));
        let predicted = crossed(&terms, Wake::Linear, &points, &folds);
        let whys = left.into_iter();
        Some(Self {
            coefficients: coefficients(&costs, &by_fold, &points),
            dropped: whys.map(|(term, why)| dropped(term, why)).collect(),
            bounds: bounds(candidates, &points),
            residuals: residuals(&configurations, &predicted, folds.each()),
            folds: by_fold.into_iter().map(|it| Fold { us: it.us }).collect(),
            configurations: points.len(),
            metrics: metrics(&points, &predicted),
        })
    }

    /// What a workload takes, with an interval that holds with this probability. `what` is taken: memory, bytes.
    pub(crate) fn estimate(&self, what: &str, workload: &Workload, level: f64) -> Estimate {
        let sum = |each: &[f64]| -> f64 {
            std::iter::zip(&self.coefficients, each)
                .map(|(it, each)| it.term.rate(workload, Wake::Linear) * each)
                .sum()
        };
        let each: Vec<f64> = self.coefficients.iter().map(|it| it.us).collect();
        let without: Vec<f64> = self.folds.iter().map(|it| sum(&it.us)).collect();
        let value = sum(&each);
        let (low, high, level) =
            interval(&without, &self.residuals, self.configurations, level, 0.0);
        Estimate {
            value,
            low: low.min(value),
            high: high.max(value),
            level,
            extrapolated: extrapolated(&self.bounds, workload),
            unknown: unknown(what, &self.dropped, Wake::Linear, workload),
        }
    }
}
