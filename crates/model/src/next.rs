//! What to measure next: the loads after which a model says most of loads that matter.
//!
//! A prediction is uncertain for two reasons: runs differ, which nothing changes, and costs are not known well in the
//! direction of the load. Loads that lie in that direction make the second part smaller; how much is known before they
//! are measured.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::cost::{PERCENT, weight};
use crate::fitted::{Model, Prediction};
use crate::matrix::quadratic;
use crate::reach::BEYOND;
use crate::term::{Term, Wake};
use crate::workload::Workload;

/// Less than this share of an interval's width is no help.
pub const HELP: f64 = 0.05;

/// What would be known after loads that are to be measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Of each target, what is known now.
    pub now: Vec<Prediction>,
    /// Of each target, the narrowest interval that any number of loads can make: what runs differ by.
    pub floor: Vec<Interval>,
    /// The loads, in this order.
    pub steps: Vec<NextLoad>,
    /// Where nothing would help: what keeps intervals wide.
    pub nothing: Option<Limit>,
    /// How far costs are off where they were not fitted, as a share.
    pub error: f64,
}

/// A load to measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextLoad {
    /// Which of the candidates.
    pub candidate: usize,
    /// What it is expected to spend, in percent of a core.
    pub cpu_percent: f64,
    /// Of each target, the interval that is expected after this load and those before it.
    pub then: Vec<Interval>,
}

/// An interval that is expected, in percent of a core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How often it holds.
    pub level: f64,
}

/// What keeps an interval wide whatever is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Runs of the same differ as much.
    Noise,
    /// Costs fit no better, though runs of the same differ less.
    Form,
    /// It is not known which: nothing was measured twice.
    Unknown,
}

/// Chooses loads out of candidates so that the intervals of targets become narrow. Candidates that are expected above
/// `limit_percent` of a core are left out, and what was chosen once is not chosen again.
pub fn next(
    model: &Model,
    targets: &[Workload],
    candidates: &[Workload],
    (runs, limit_percent): (usize, f64),
    level: f64,
) -> Advice {
    let mut known = Known::of(model, targets);
    let expected: Vec<f64> = candidates.iter().map(|it| model.cpu_percent(it)).collect();
    let now: Vec<Prediction> = targets.iter().map(|it| model.predict(it, level)).collect();
    let before: f64 = targets.iter().map(|it| known.half(it, level)).sum();
    let mut steps: Vec<NextLoad> = Vec::new();
    let mut after = before;
    while steps.len() < runs {
        let left = (0..candidates.len()).filter(|&it| {
            expected[it] <= limit_percent && steps.iter().all(|step| step.candidate != it)
        });
        let best = left
            .map(|it| {
                let then = known.with(&candidates[it]);
                let halves: f64 = targets.iter().map(|it| then.half(it, level)).sum();
                (halves, expected[it], it, then)
            })
            // Of those that tell as much, the one that asks for least.
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let Some((halves, cpu_percent, candidate, then)) = best else {
            break;
        };
        (known, after) = (then, halves);
        let interval = |of: &Workload| known.interval(of, known.half(of, level), level);
        steps.push(NextLoad {
            candidate,
            cpu_percent,
            then: targets.iter().map(interval).collect(),
        });
    }
    let nothing = after > before * (1.0 - HELP);
    Advice {
        now,
        floor: targets
            .iter()
            .map(|it| known.interval(it, known.scale(level), level))
            .collect(),
        steps,
        nothing: nothing.then(|| limit(model)),
        error: model.metrics.mape,
    }
}

/// What keeps intervals wide.
fn limit(model: &Model) -> Limit {
    // Of a normal distribution the mean of absolute values is 0.8 standard deviations.
    match &model.noise {
        Some(noise) if model.metrics.mape <= 1.3 * 0.8 * noise.cv => Limit::Noise,
        Some(_) => Limit::Form,
        None => Limit::Unknown,
    }
}

/// What is known of costs: as much as was measured, and what would be.
#[derive(Clone)]
struct Known<'a> {
    model: &'a Model,
    /// Costs that targets ask for, that no run has told: a term, and what of it goes without saying.
    unknown: Vec<(Term, &'a [(Term, f64)])>,
    /// The covariance of costs, for errors of 1.
    covariance: Vec<Vec<f64>>,
    /// The most of each term that is measured in a second.
    most: Vec<(Term, f64)>,
    most_leverage: f64,
    configurations: usize,
}

impl<'a> Known<'a> {
    fn of(model: &'a Model, targets: &[Workload]) -> Self {
        let asked = |term: Term, others: &[(Term, f64)]| -> f64 {
            let own = |it: &Workload| own(model.wake, term, others, it).abs();
            let each = targets.iter().map(|it| own(it) * model_weight(model, it));
            each.fold(0.0, f64::max)
        };
        let unknown = model.dropped.iter().filter(|it| {
            let told = matches!(it.why.as_str(), "not-measured" | "inseparable");
            let most = targets.iter().map(|of| it.term.rate(of, model.wake));
            let most = most.fold(0.0, f64::max);
            let own = targets
                .iter()
                .map(|of| own(model.wake, it.term, &it.as_others, of).abs());
            told && !it.term.is_curved() && own.fold(0.0, f64::max) > 0.05 * most
        });
        let unknown: Vec<(Term, &[(Term, f64)])> = unknown
            .map(|it| (it.term, it.as_others.as_slice()))
            .collect();
        let known = model.coefficients.len();
        let mut covariance = vec![vec![0.0; known + unknown.len()]; known + unknown.len()];
        for (to, from) in std::iter::zip(&mut covariance, &model.inverse) {
            to[..known].copy_from_slice(&from[..known]);
        }
        let error = spread(model);
        for (at, (term, others)) in unknown.iter().enumerate() {
            // It may make any target twice what is known of it, or half.
            let most = asked(*term, others);
            let deviation = std::f64::consts::LN_2 / (most * error).max(f64::MIN_POSITIVE);
            covariance[known + at][known + at] = deviation * deviation;
        }
        Self {
            most: model.bounds.iter().map(|it| (it.term, it.most)).collect(),
            most_leverage: model.most_leverage,
            configurations: model.data.configurations,
            model,
            unknown,
            covariance,
        }
    }

    fn row(&self, of: &Workload) -> Vec<f64> {
        let scale = model_weight(self.model, of);
        let wake = self.model.wake;
        let known = self
            .model
            .coefficients
            .iter()
            .map(|it| it.term.rate(of, wake));
        let unknown = self
            .unknown
            .iter()
            .map(|(term, others)| own(wake, *term, others, of));
        known.chain(unknown).map(|it| it * scale).collect()
    }

    /// After one more load.
    fn with(&self, load: &Workload) -> Self {
        let mut then = self.clone();
        let row = self.row(load);
        let along: Vec<f64> = self
            .covariance
            .iter()
            .map(|it| std::iter::zip(it, &row).map(|(m, x)| m * x).sum())
            .collect();
        // Sherman and Morrison.
        let leverage: f64 = std::iter::zip(&along, &row).map(|(a, x)| a * x).sum();
        for (i, line) in then.covariance.iter_mut().enumerate() {
            for (j, it) in line.iter_mut().enumerate() {
                *it -= along[i] * along[j] / (1.0 + leverage);
            }
        }
        for (term, most) in &mut then.most {
            *most = most.max(term.rate(load, Wake::Linear));
        }
        then.most_leverage = then.most_leverage.max(leverage / (1.0 + leverage));
        then.configurations += 1;
        then
    }

    /// Half of an interval where costs are known, as a logarithm: by what runs differ from the model.
    fn scale(&self, level: f64) -> f64 {
        let level = level.min(reachable(self.configurations));
        let mut logs: Vec<f64> = self.model.residuals.iter().map(|it| it.log).collect();
        logs.sort_by(f64::total_cmp);
        let n = logs.len();
        let rank = ((n as f64 + 1.0) * level - 1e-9).ceil() as usize;
        let measured = match rank {
            1.. if rank <= n && level <= reachable(self.model.data.configurations) => {
                logs[rank - 1]
            }
            // Too few runs to have shown it.
            _ => {
                let normal = Normal::standard().inverse_cdf(f64::midpoint(1.0, level));
                let square: f64 = logs.iter().map(|it| it * it).sum();
                normal * (square / n.max(1) as f64).sqrt()
            }
        };
        // Residuals are of models that have not seen their run.
        measured / (1.0 + self.mean_leverage()).sqrt()
    }

    fn mean_leverage(&self) -> f64 {
        let data = &self.model.data;
        self.model.coefficients.len() as f64 / data.configurations.max(1) as f64
    }

    /// Half of a target's interval, as a logarithm.
    fn half(&self, target: &Workload, level: f64) -> f64 {
        let leverage = quadratic(&self.covariance, &self.row(target)).max(0.0);
        let half = self.scale(level) * (1.0 + leverage).sqrt();
        let beyond = self.most.iter().any(|(term, most)| {
            let is_rate = !term.is_curved() || *term == Term::WakeUp;
            let rate = term.rate(target, Wake::Linear);
            is_rate && *most > 0.0 && rate > BEYOND * most
        });
        match beyond || leverage > self.most_leverage * 1.001 {
            true => half.max(self.model.beyond.unwrap_or(0.0)),
            false => half,
        }
    }

    fn interval(&self, target: &Workload, half: f64, level: f64) -> Interval {
        let cpu = self.model.cpu_percent(target);
        Interval {
            low: cpu * libm::exp(-half),
            high: cpu * libm::exp(half),
            level: level.min(reachable(self.configurations)),
        }
    }
}

/// How often an interval of so many configurations can hold at most.
fn reachable(configurations: usize) -> f64 {
    1.0 - 1.0 / (configurations as f64 + 1.0)
}

/// What a load has of a term beyond what goes without saying.
fn own(wake: Wake, term: Term, others: &[(Term, f64)], of: &Workload) -> f64 {
    let usual: f64 = others
        .iter()
        .map(|(term, factor)| term.rate(of, wake) * factor)
        .sum();
    term.rate(of, wake) - usual
}

fn model_weight(model: &Model, of: &Workload) -> f64 {
    weight(model.cpu_percent(of) * PERCENT)
}

/// The standard deviation of a run around the model.
fn spread(model: &Model) -> f64 {
    let square: f64 = model.residuals.iter().map(|it| it.log * it.log).sum();
    (square / model.residuals.len().max(1) as f64)
        .sqrt()
        .max(1e-6)
}
