//! A fitted model as a file, and what it predicts.

use serde::{Deserialize, Serialize};

use crate::amount::{Amount, Estimate};
use crate::cost::{PERCENT, weight};
use crate::matrix::quadratic;
use crate::paper::Paper;
use crate::process::Process;
use crate::reach::{
    Bound, Coefficient, Dropped, Fold, Metrics, Noise, Residual, extrapolated, interval, unknown,
};
use crate::term::{Term, Wake};
use crate::workload::Workload;

/// What a model file says that it is.
pub const FORMAT: &str = "uaperf model";

/// The version that is written. Later ones are refused.
pub const VERSION: u32 = 2;

/// Why a file is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It is not JSON, or a field is not what it should be.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is something else.
    #[error("not a model of uaperf (want \"format\": \"{FORMAT}\"): `uaperf model fit` makes one")]
    NotAModel,
    /// A later version wrote it.
    #[error(
        "written by a newer uaperf (model version {0}; this one reads up to {VERSION}): update uaperf"
    )]
    Newer(u64),
    /// Numbers of one part point to nothing in another.
    #[error(
        "its parts do not fit together: it was changed or cut off. `uaperf model fit` makes a new one"
    )]
    Torn,
}

/// How a model is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitMethod {
    /// Costs that are not negative; wake-ups that saturate, where that predicts better.
    #[default]
    Cost,
    /// The same, and powers of wake-ups are tried too.
    Exponent,
    /// Costs, and a Gaussian process on what they leave over.
    Process,
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The version of the program that made it.
    pub tool: String,
    /// Of what it is a model.
    pub name: String,
    /// How it is made.
    #[serde(rename = "rung")]
    pub method: FitMethod,
    /// What it was made from.
    pub data: Data,
    /// How fast the machine was: values in a second that one thread asked the built-in server for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<f64>,
    /// How wake-ups count.
    pub wake: Wake,
    /// What each term costs.
    pub coefficients: Vec<Coefficient>,
    /// Terms that are not in it.
    pub dropped: Vec<Dropped>,
    /// What was measured, from and to.
    pub bounds: Vec<Bound>,
    /// The costs without each fold.
    pub folds: Vec<Fold>,
    /// How far runs were from what the model without their fold says.
    pub residuals: Vec<Residual>,
    /// What leverage is computed with.
    pub inverse: Vec<Vec<f64>>,
    /// The largest leverage of a point that was measured.
    pub most_leverage: f64,
    /// The error (as a logarithm) at loads larger than those of the fit, where that could be found out.
    pub beyond: Option<f64>,
    /// By how much the same runs differ, where there are any.
    pub noise: Option<Noise>,
    /// Errors on configurations that were held out.
    pub metrics: Metrics,
    /// What costs leave over, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Errors of the costs alone, where there is a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_metrics: Option<Metrics>,
    /// The server's memory, where rows tell of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Amount>,
    /// Bytes per second of its messages to clients, where rows tell of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Amount>,
    /// The model of Burger et al. 2019, fitted to the same points.
    pub paper: Option<Paper>,
    /// Its errors on the same folds.
    pub paper_metrics: Option<Metrics>,
    /// The same with relative errors and the exponent that fits best.
    pub refitted: Option<Paper>,
    /// Its errors on the same folds.
    pub refitted_metrics: Option<Metrics>,
}

/// What a model was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The version of the rows.
    pub schema: u32,
    /// The hash of the rows.
    pub sha256: String,
    /// How many rows there were.
    pub rows: usize,
    /// Rows that were left out because the server did not deliver what was asked for.
    pub overloaded: usize,
    /// Different workloads among the others.
    pub configurations: usize,
    /// How the publishers wrote values whose rows these are; none where they are servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pubsub: Option<String>,
}

/// What a model says of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// CPU, in percent of a core.
    pub cpu_percent: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// How often the interval holds. Less than asked for where there are few configurations.
    pub level: f64,
    /// Where the workload lies beyond what was measured: how many times as much of what.
    pub extrapolated: Option<(f64, Term)>,
    /// Its combination of terms is further from what was measured than any that was, though no term is.
    pub unusual: bool,
    /// Why costs are missing in it or cannot be told apart.
    pub unknown: Vec<String>,
    /// Microseconds per second of each term, largest first.
    pub parts: Vec<(Term, f64)>,
    /// By which factor a process has corrected them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected: Option<f64>,
    /// What the paper's form says, in percent of a core.
    pub paper_percent: Option<f64>,
}

impl Prediction {
    /// Whether the interval is worth what it says.
    pub fn is_inside(&self) -> bool {
        self.extrapolated.is_none() && !self.unusual && self.unknown.is_empty()
    }
}

/// How far a workload is from those that were measured.
pub(crate) fn leverage(
    inverse: &[Vec<f64>],
    terms: &[Term],
    wake: Wake,
    workload: &Workload,
    us_per_s: f64,
) -> f64 {
    let scale = weight(us_per_s);
    let x: Vec<f64> = terms
        .iter()
        .map(|it| it.rate(workload, wake) * scale)
        .collect();
    quadratic(inverse, &x)
}

impl Model {
    /// Reads a model.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        if value["format"] != FORMAT {
            return Err(ModelError::NotAModel);
        }
        match value["version"].as_u64() {
            Some(version) if version > u64::from(VERSION) => Err(ModelError::Newer(version)),
            _ => {
                let model: Self = serde_json::from_str(text)?;
                match model.fits_together() {
                    true => Ok(model),
                    false => Err(ModelError::Torn),
                }
            }
        }
    }

    /// Whether what is computed from one part finds its place in the others.
    fn fits_together(&self) -> bool {
        let terms = self.coefficients.len();
        let square = self.inverse.is_empty() || self.inverse.len() == terms;
        let square = square && self.inverse.iter().all(|row| row.len() == terms);
        let told = |residuals: &[Residual], folds: &[Fold]| {
            residuals.iter().all(|it| it.fold < folds.len())
        };
        let mut amounts = self.memory.iter().chain(&self.bytes);
        square
            && told(&self.residuals, &self.folds)
            && amounts.all(|it| told(&it.residuals, &it.folds))
    }

    /// The whole model, as text.
    pub fn to_json(&self) -> String {
        // Its numbers are finite and its keys are text: nothing in it can fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    fn terms(&self) -> Vec<Term> {
        self.coefficients.iter().map(|it| it.term).collect()
    }

    /// CPU time in a second for these costs, in microseconds.
    fn sum(&self, us: &[f64], workload: &Workload) -> f64 {
        std::iter::zip(&self.coefficients, us)
            .map(|(it, us)| it.term.rate(workload, self.wake) * us)
            .sum()
    }

    /// Predicts a workload's CPU with an interval that holds with this probability (0.95).
    pub fn predict(&self, workload: &Workload, level: f64) -> Prediction {
        let corrected = self.process.as_ref().map(|it| it.factor(workload));
        let factor = corrected.unwrap_or(1.0);
        let parts: Vec<(Term, f64)> = self
            .coefficients
            .iter()
            .map(|it| (it.term, it.term.rate(workload, self.wake) * it.us * factor))
            .filter(|(_, us)| *us > 0.0)
            .collect();
        let us: f64 = parts.iter().map(|it| it.1).sum();
        let extrapolated = extrapolated(&self.bounds, workload);
        let leverage = leverage(&self.inverse, &self.terms(), self.wake, workload, us);
        // Rounding makes the outermost measured point differ from itself.
        let unusual = extrapolated.is_none() && leverage > self.most_leverage * 1.001;
        let outside = extrapolated.is_some() || unusual;
        let least = match outside {
            true => self.beyond.unwrap_or(0.0),
            false => 0.0,
        };
        let (low, high, level) = self.interval(workload, level, least);
        let mut parts = parts;
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        Prediction {
            cpu_percent: us / PERCENT,
            low: low.min(us) / PERCENT,
            high: high.max(us) / PERCENT,
            level,
            extrapolated,
            unusual,
            unknown: unknown("cost", &self.dropped, self.wake, workload),
            parts,
            corrected,
            paper_percent: self.paper.map(|it| it.predict(workload)),
        }
    }

    /// The memory that a workload takes, in bytes.
    pub fn memory(&self, workload: &Workload, level: f64) -> Option<Estimate> {
        let of = self.memory.as_ref()?;
        Some(of.estimate("memory", workload, level))
    }

    /// The bytes of a workload's messages to clients, in a second.
    pub fn bytes(&self, workload: &Workload, level: f64) -> Option<Estimate> {
        let of = self.bytes.as_ref()?;
        Some(of.estimate("bytes", workload, level))
    }

    /// CPU of a workload, in percent of a core.
    pub(crate) fn cpu_percent(&self, workload: &Workload) -> f64 {
        let us: Vec<f64> = self.coefficients.iter().map(|it| it.us).collect();
        let factor = self.process.as_ref().map_or(1.0, |it| it.factor(workload));
        self.sum(&us, workload) * factor / PERCENT
    }

    /// The interval of a workload's CPU, in microseconds per second.
    fn interval(&self, workload: &Workload, level: f64, least: f64) -> (f64, f64, f64) {
        let without = self.folds.iter().enumerate().map(|(at, fold)| {
            let factor = |it: &Process| it.factor_without(at, workload);
            self.sum(&fold.us, workload) * self.process.as_ref().map_or(1.0, factor)
        });
        let without: Vec<f64> = without.collect();
        let configurations = self.data.configurations;
        interval(&without, &self.residuals, configurations, level, least)
    }
}
