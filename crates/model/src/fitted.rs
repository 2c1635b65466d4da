//! A fitted model as a file, and what it predicts.

use serde::{Deserialize, Serialize};

use crate::cost::{PERCENT, weight};
use crate::matrix::quadratic;
use crate::paper::Paper;
use crate::term::{Term, Wake};
use crate::workload::Workload;

/// What a model file says that it is.
pub const FORMAT: &str = "uaperf model";

/// The version that is written. Later ones are refused.
pub const VERSION: u32 = 1;

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
}

/// How a model is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Costs that are not negative; wake-ups that saturate, where that predicts better.
    #[default]
    Cost,
    /// The same, and powers of wake-ups are tried too.
    Exponent,
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
    pub rung: Rung,
    /// What it was made from.
    pub data: Data,
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
}

/// What a term costs, with a 95 % interval (jackknife over folds).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// The term.
    pub term: Term,
    /// Microseconds of CPU for each.
    pub us: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// By how much the other terms inflate its variance: from 10 on it is hard to tell from them.
    pub inflation: f64,
}

impl Coefficient {
    /// From here on a cost is hard to tell from others.
    pub const HARD_TO_TELL: f64 = 10.0;
}

/// A term that is not in a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// The term.
    pub term: Term,
    /// `not-measured`, `inseparable`, `too-few-configurations`, `not-needed` (held-out configurations are predicted as
    /// well without it).
    pub why: String,
    /// Of an inseparable one: the combination of others that it always was.
    pub as_others: Vec<(Term, f64)>,
}

/// What was measured of a term, in a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The term.
    pub term: Term,
    /// From.
    pub least: f64,
    /// To.
    pub most: f64,
}

/// The costs without the configurations of a fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// Microseconds for each term.
    pub us: Vec<f64>,
}

/// How far a run was from what the model without its fold says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// The fold.
    pub fold: usize,
    /// |ln(measured / predicted)|.
    pub log: f64,
}

/// By how much runs of the same differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Coefficient of variation, pooled.
    pub cv: f64,
    /// Of so many runs.
    pub runs: usize,
}

/// Errors on configurations that were held out; relative to what was measured or half a percent of a core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Mean of absolute relative errors.
    pub mape: f64,
    /// Their median.
    pub median: f64,
    /// Their 90th percentile.
    pub p90: f64,
    /// The share of the variance that is explained; none where there is no variance.
    pub r2: Option<f64>,
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
    /// What the paper's form says, in percent of a core.
    pub paper_percent: Option<f64>,
}

impl Prediction {
    /// Whether the interval is worth what it says.
    pub fn is_inside(&self) -> bool {
        self.extrapolated.is_none() && !self.unusual && self.unknown.is_empty()
    }
}

/// Beyond so many times what was measured, a prediction is an extrapolation.
const BEYOND: f64 = 1.5;

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
            _ => Ok(serde_json::from_str(text)?),
        }
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
        let parts: Vec<(Term, f64)> = self
            .coefficients
            .iter()
            .map(|it| (it.term, it.term.rate(workload, self.wake) * it.us))
            .filter(|(_, us)| *us > 0.0)
            .collect();
        let us: f64 = parts.iter().map(|it| it.1).sum();
        let extrapolated = self.extrapolated(workload);
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
            unknown: self.unknown(workload),
            parts,
            paper_percent: self.paper.map(|it| it.predict(workload)),
        }
    }

    /// CV+ (Barber et al. 2021) on logarithms: each run that was measured says how far off a model may be that has
    /// not seen it.
    fn interval(&self, workload: &Workload, level: f64, least: f64) -> (f64, f64, f64) {
        // So few configurations cannot tell more.
        let most = 1.0 - 1.0 / (self.data.configurations as f64 + 1.0);
        let level = level.min(most);
        let without: Vec<f64> = self
            .folds
            .iter()
            .map(|fold| self.sum(&fold.us, workload))
            .collect();
        let ends = |sign: f64| {
            let of = |it: &Residual| without[it.fold] * libm::exp(sign * it.log.max(least));
            let mut ends: Vec<f64> = self.residuals.iter().map(of).collect();
            ends.sort_by(f64::total_cmp);
            ends
        };
        let n = self.residuals.len();
        let rank = (((n as f64 + 1.0) * level - 1e-9).ceil() as usize).clamp(1, n.max(1));
        let low = ends(-1.0).get(n.saturating_sub(rank)).copied();
        let high = ends(1.0).get(rank - 1).copied();
        (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY), level)
    }

    /// What the workload has most too much of.
    fn extrapolated(&self, workload: &Workload) -> Option<(f64, Term)> {
        let factor = |it: &Bound| (it.term.rate(workload, Wake::Linear) / it.most, it.term);
        self.bounds
            .iter()
            // Of the curved terms, only wake-ups are a rate.
            .filter(|it| it.most > 0.0 && (!it.term.is_curved() || it.term == Term::WakeUp))
            .map(factor)
            .filter(|(factor, _)| *factor > BEYOND)
            .max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// What the workload has of terms whose cost is not known.
    fn unknown(&self, workload: &Workload) -> Vec<String> {
        let mut unknown = Vec::new();
        for it in &self.dropped {
            let rate = it.term.rate(workload, self.wake);
            let name = it.term.name();
            if it.term.is_curved() || rate <= 0.0 && it.as_others.is_empty() {
                continue;
            }
            match it.why.as_str() {
                "not-measured" => unknown.push(format!("cost of each {name}: none was measured")),
                "inseparable" => {
                    let others = &it.as_others;
                    let usual: f64 = others
                        .iter()
                        .map(|(term, factor)| term.rate(workload, self.wake) * factor)
                        .sum();
                    if (rate - usual).abs() > 0.05 * rate.max(usual) {
                        let names: Vec<_> = others.iter().map(|it| it.0.name()).collect();
                        unknown.push(format!(
                            "cost of each {name}: it could not be told from {} where it was measured, and is in another ratio here",
                            names.join(" and ")
                        ));
                    }
                }
                _ => {}
            }
        }
        unknown
    }
}
