//! The model of Burger et al. 2019, as they printed it: least squares on ns·spr·nc^0.3.

use serde::{Deserialize, Serialize};

use crate::cost::{PERCENT, Point, weight};
use crate::matrix::{Matrix, least_squares};
use crate::workload::Workload;

/// CPU = base + slope · (signals · publishing rate · clients^exponent).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// In percent of a core.
    pub base: f64,
    /// In percent of a core.
    pub slope: f64,
    /// 0.3 in the paper.
    pub exponent: f64,
}

impl Paper {
    /// The exponent that the paper found.
    pub const EXPONENT: f64 = 0.3;

    /// x of equation 2: signals are all monitored items.
    fn feature(of: &Workload, exponent: f64) -> f64 {
        let rate = match of.publishing_ms > 0.0 {
            true => 1000.0 / of.publishing_ms,
            false => 0.0,
        };
        // A publisher does not know who listens.
        let clients = match of.pubsub {
            None => of.sessions,
            Some(_) => 1.0,
        };
        of.all_items() * rate * libm::pow(clients, exponent)
    }

    /// Equation 3: least squares, each point as it is. None where the points do not tell two weights.
    pub fn fit(points: &[Point]) -> Option<Self> {
        Self::with(points, Self::EXPONENT, |_| 1.0)
    }

    /// The same form, with errors relative to what was measured, and the exponent that fits best (0 to 1.5).
    pub fn refitted(points: &[Point]) -> Option<Self> {
        let error = |model: &Self| -> f64 {
            let off = |it: &Point| {
                let rest = model.predict(&it.workload) * PERCENT - it.us_per_s;
                let relative = rest * weight(it.us_per_s);
                relative * relative
            };
            points.iter().map(off).sum()
        };
        (0..=30)
            .filter_map(|step| Self::with(points, f64::from(step) * 0.05, weight))
            .min_by(|a, b| error(a).total_cmp(&error(b)))
    }

    fn with(points: &[Point], exponent: f64, weight: impl Fn(f64) -> f64) -> Option<Self> {
        let of = |value: &dyn Fn(&Point) -> f64| -> Vec<f64> {
            points
                .iter()
                .map(|it| value(it) * weight(it.us_per_s))
                .collect()
        };
        let ones = of(&|_| 1.0);
        let features = of(&|it| Self::feature(&it.workload, exponent));
        let measured = of(&|it| it.us_per_s / PERCENT);
        let weights = least_squares(&Matrix::of_columns(vec![ones, features]), &measured)?;
        Some(Self {
            base: weights[0],
            slope: weights[1],
            exponent,
        })
    }

    /// Equation 4, in percent of a core.
    pub fn predict(&self, workload: &Workload) -> f64 {
        self.base + self.slope * Self::feature(workload, self.exponent)
    }
}
