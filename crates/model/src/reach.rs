//! What was fitted, and how far it can be believed: intervals, loads beyond what was measured, terms that nobody measured.

use serde::{Deserialize, Serialize};

use crate::term::{Term, Wake};
use crate::workload::Workload;

/// Beyond so many times what was measured, a prediction is an extrapolation.
pub const BEYOND: f64 = 1.5;

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

/// CV+ (Barber et al. 2021) on logarithms: each run that was measured says how far off a model may be that has not seen
/// it. `without` is what is predicted without each fold, `least` a logarithm that no run counts less than. The ends, and
/// how often the interval holds.
pub fn interval(
    without: &[f64],
    residuals: &[Residual],
    configurations: usize,
    level: f64,
    least: f64,
) -> (f64, f64, f64) {
    // So few configurations cannot tell more.
    let most = 1.0 - 1.0 / (configurations as f64 + 1.0);
    let level = level.min(most);
    let ends = |sign: f64| {
        let of = |it: &Residual| without[it.fold] * libm::exp(sign * it.log.max(least));
        let mut ends: Vec<f64> = residuals.iter().map(of).collect();
        ends.sort_by(f64::total_cmp);
        ends
    };
    let n = residuals.len();
    let rank = (((n as f64 + 1.0) * level - 1e-9).ceil() as usize).clamp(1, n.max(1));
    let low = ends(-1.0).get(n.saturating_sub(rank)).copied();
    let high = ends(1.0).get(rank - 1).copied();
    (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY), level)
}

/// What a workload has most too much of.
pub fn extrapolated(bounds: &[Bound], workload: &Workload) -> Option<(f64, Term)> {
    let factor = |it: &Bound| (it.term.rate(workload, Wake::Linear) / it.most, it.term);
    bounds
        .iter()
        // Of the curved terms, only wake-ups are a rate.
        .filter(|it| it.most > 0.0 && (!it.term.is_curved() || it.term == Term::WakeUp))
        .map(factor)
        .filter(|(factor, _)| *factor > BEYOND)
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

/// What a workload has of terms of which it is not known what they take: their cost, memory or bytes.
pub fn unknown(what: &str, dropped: &[Dropped], wake: Wake, workload: &Workload) -> Vec<String> {
    let mut unknown = Vec::new();
    for it in dropped {
        let rate = it.term.rate(workload, wake);
        let name = it.term.name();
        if it.term.is_curved() || rate <= 0.0 && it.as_others.is_empty() {
            continue;
        }
        match it.why.as_str() {
            "not-measured" => unknown.push(format!("{what} of each {name}: none was measured")),
            "inseparable" => {
                let others = &it.as_others;
                let usual: f64 = others
                    .iter()
                    .map(|(term, factor)| term.rate(workload, wake) * factor)
                    .sum();
                if (rate - usual).abs() > 0.05 * rate.max(usual) {
                    let names: Vec<_> = others.iter().map(|it| it.0.name()).collect();
                    unknown.push(format!(
                        "{what} of each {name}: it could not be told from {} where it was measured, and is in another ratio here",
                        names.join(" and ")
                    ));
                }
            }
            _ => {}
        }
    }
    unknown
}
