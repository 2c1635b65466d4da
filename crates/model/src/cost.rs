//! Costs: what each term takes, without negative ones.

use crate::matrix::{Matrix, norm, unexplained};
use crate::nnls::nnls;
use crate::term::{Term, Wake};
use crate::workload::Workload;

/// What was measured of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The workload.
    pub workload: Workload,
    /// CPU time in a second, in microseconds.
    pub us_per_s: f64,
}

/// A percent of a core, in microseconds per second.
pub const PERCENT: f64 = 1e4;

/// Errors count relative to what was measured, and to half a percent of a core where that is more.
pub const LEAST: f64 = 0.5 * PERCENT;

/// Beyond this inflation of its variance a term cannot be told from the others.
pub const INSEPARABLE: f64 = 1000.0;

/// Curved terms are taken from so many configurations on.
const FOR_CURVES: usize = 8;

/// How much a point counts.
pub fn weight(us_per_s: f64) -> f64 {
    1.0 / us_per_s.max(LEAST)
}

/// A ratio of CPU times as a logarithm; what is next to nothing counts as half a percent of a percent.
pub fn log_ratio(measured: f64, predicted: f64) -> f64 {
    libm::log(measured.max(LEAST / 100.0) / predicted.max(LEAST / 100.0))
}

/// What terms cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// The terms.
    pub terms: Vec<Term>,
    /// How wake-ups count.
    pub wake: Wake,
    /// Microseconds for each.
    pub us: Vec<f64>,
}

impl Costs {
    /// Fits these terms to points.
    pub fn fit(terms: &[Term], wake: Wake, points: &[Point]) -> Self {
        let measured: Vec<f64> = points
            .iter()
            .map(|it| it.us_per_s * weight(it.us_per_s))
            .collect();
        Self {
            terms: terms.to_vec(),
            wake,
            us: nnls(&weighted(terms, wake, points), &measured),
        }
    }

    /// CPU time in a second, in microseconds.
    pub fn predict(&self, workload: &Workload) -> f64 {
        std::iter::zip(&self.terms, &self.us)
            .map(|(term, us)| term.rate(workload, self.wake) * us)
            .sum()
    }
}

/// The terms of each point, each row weighted as its point counts.
pub fn weighted(terms: &[Term], wake: Wake, points: &[Point]) -> Matrix {
    let column = |term: &Term| {
        let of = |it: &Point| term.rate(&it.workload, wake) * weight(it.us_per_s);
        points.iter().map(of).collect()
    };
    Matrix::of_columns(terms.iter().map(column).collect())
}

/// Why a term is not in a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Left {
    /// There was none of it.
    NotMeasured,
    /// It was always this combination of others.
    Inseparable(Vec<(Term, f64)>),
    /// There are too few configurations for one more term.
    TooFew,
    /// Configurations that were held out are predicted as well without it.
    NotNeeded,
}

/// The terms that measurements can tell apart, and why the others are left out.
pub fn separable(
    candidates: &[Term],
    wake: Wake,
    points: &[Point],
) -> (Vec<Term>, Vec<(Term, Left)>) {
    let all = weighted(candidates, wake, points);
    let mut kept: Vec<usize> = Vec::new();
    let mut left = Vec::new();
    for (at, term) in candidates.iter().copied().enumerate() {
        let column = all.column(at);
        let length = norm(column);
        if length == 0.0 {
            left.push((term, Left::NotMeasured));
            continue;
        }
        let others = all.only(&kept);
        let apart = unexplained(&others, column).map_or(0.0, |rest| norm(&rest) / length);
        if apart * apart < 1.0 / INSEPARABLE {
            // Without factors the message names no other parts.
            let factors = crate::matrix::least_squares(&others, column).unwrap_or_default();
            let parts = std::iter::zip(&kept, factors)
                .filter(|(_, factor)| factor.abs() > 1e-9)
                .map(|(&at, factor)| (candidates[at], factor))
                .collect();
            left.push((term, Left::Inseparable(parts)));
        } else if kept.len() + 1 >= points.len() || (term.is_curved() && points.len() < FOR_CURVES)
        {
            left.push((term, Left::TooFew));
        } else {
            kept.push(at);
        }
    }
    (kept.into_iter().map(|at| candidates[at]).collect(), left)
}

/// By how much others inflate the variance of each term's cost.
pub fn inflation(terms: &[Term], wake: Wake, points: &[Point]) -> Vec<f64> {
    let all = weighted(terms, wake, points);
    (0..terms.len())
        .map(|at| {
            let others: Vec<usize> = (0..terms.len()).filter(|it| *it != at).collect();
            let column = all.column(at);
            let apart = unexplained(&all.only(&others), column)
                .map_or(0.0, |rest| norm(&rest) / norm(column));
            1.0 / (apart * apart).max(f64::MIN_POSITIVE)
        })
        .collect()
}
