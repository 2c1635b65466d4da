//! Thresholds against a phase.

use crate::confidence::needed_for;
use plan::unit::duration;
use plan::{Figures, Measure, Stat, Threshold};
use record::Histogram;
use record::average::mean;
use record::run::{Counts, Expectation, Phase, Trust, UsageSeries};

/// The figures of a phase, for [`Threshold::check`].
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a>(pub &'a Phase);

impl Measured<'_> {
    fn usage(&self, who: &str) -> Option<&UsageSeries> {
        self.0.resources.iter().find(|usage| usage.who == who)
    }

    fn cpu(&self, who: &str, stat: Stat) -> Option<f64> {
        let usage = self.usage(who)?;
        let samples = || usage.cpu_cores.iter().copied().flatten();
        match stat {
            Stat::Mean => {
                let cores = *usage.window.cpu_cores.known()?;
                let width = self.0.to_ns.saturating_sub(self.0.from_ns);
                // Spinning is idle. Only our own loops do it, and they say so.
                let spun = usage.window.spun_ns.known().copied().unwrap_or(0);
                Some((cores - spun as f64 / width.max(1) as f64).max(0.0))
            }
            Stat::Max => samples().reduce(f64::max),
            Stat::Min => samples().reduce(f64::min),
            _ => None,
        }
    }

    fn memory(&self, who: &str, stat: Stat) -> Option<f64> {
        let usage = self.usage(who)?;
        let samples: Vec<f64> = usage
            .rss_bytes
            .iter()
            .flatten()
            .map(|&b| b as f64)
            .collect();
        match stat {
            Stat::Max => match usage.window.rss_peak_bytes.known() {
                Some(&peak) => Some(peak as f64),
                None => samples.into_iter().reduce(f64::max),
            },
            Stat::Min => samples.into_iter().reduce(f64::min),
            Stat::Mean => mean(&samples),
            _ => None,
        }
    }
}

impl Figures for Measured<'_> {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let sum = &self.0.total;
        match (measure, stat) {
            (_, Stat::Loss) => return self.0.lost().map(|lost| lost as f64),
            (_, Stat::LossShare) => {
                return match (&self.0.subscriptions, &self.0.pubsub) {
                    (Some(told), _) => told.loss_share(),
                    (None, told) => told.as_ref()?.loss_share(),
                };
            }
            (Measure::Response | Measure::Service, Stat::Rate) => return sum.rate_per_s,
            (_, Stat::Values) => return self.0.values_per_s(),
            // Of the whole phase: a failure is one whenever it happens.
            (Measure::Response | Measure::Service, Stat::Errors) => {
                return Some(self.0.whole().errors as f64);
            }
            (Measure::Response | Measure::Service, Stat::ErrorShare) => {
                return share(self.0.whole(), |it| it.errors);
            }
            (Measure::Response | Measure::Service, Stat::Timeouts) => {
                return Some(self.0.whole().timeouts as f64);
            }
            (Measure::Response | Measure::Service, Stat::TimeoutShare) => {
                return share(self.0.whole(), |it| it.timeouts);
            }
            (Measure::Cpu, stat) => return self.cpu("server", stat),
            (Measure::GeneratorCpu, stat) => return self.cpu("generator", stat),
            (Measure::Rss, stat) => return self.memory("server", stat),
            (Measure::GeneratorRss, stat) => return self.memory("generator", stat),
            _ => {}
        }
        if measure == Measure::Cycle && !self.0.cycles_ns.is_empty() {
            return cycles(&self.0.cycles_ns, stat);
        }
        let figure = match stat {
            // Also of a beginning that nobody asked to leave out.
            Stat::Max => self.0.max_ns(measure.name()).map(|ns| ns as f64),
            stat => figure_of(sum.histogram(measure.name()), stat),
        };
        // What two clocks do not tell is no figure.
        let is_told = |ns: &f64| !matches!(self.0.trust(measure.name(), *ns), Trust::Nothing(_));
        figure.filter(|ns| stat == Stat::Deviation || is_told(ns))
    }
}

/// A figure of times that were recorded.
pub fn figure_of(times: &Histogram, stat: Stat) -> Option<f64> {
    match stat {
        Stat::Percentile(_) => times.quantile(stat.quantile()?).map(|ns| ns as f64),
        Stat::Min => times.min().map(|ns| ns as f64),
        Stat::Max => times.max().map(|ns| ns as f64),
        Stat::Mean => times.mean(),
        Stat::Deviation => times.deviation(),
        _ => None,
    }
}

/// The share of what was completed.
fn share(counts: Counts, of: fn(&Counts) -> u64) -> Option<f64> {
    (counts.completed > 0).then(|| of(&counts) as f64 / counts.completed as f64)
}

/// A figure of cycles that were kept one by one.
fn cycles(cycles_ns: &[u64], stat: Stat) -> Option<f64> {
    let mut sorted = cycles_ns.to_vec();
    sorted.sort_unstable();
    let all = sorted.len() as f64;
    let mean = mean(sorted.iter().map(|&ns| ns as f64))?;
    match stat {
        Stat::Percentile(_) => {
            let rank = (stat.quantile()? * all).ceil().max(1.0) as usize;
            sorted.get(rank - 1).map(|&ns| ns as f64)
        }
        Stat::Min => sorted.first().map(|&ns| ns as f64),
        Stat::Max => sorted.last().map(|&ns| ns as f64),
        Stat::Mean => Some(mean),
        Stat::Deviation => {
            let squares = sorted.iter().map(|&ns| (ns as f64 - mean).powi(2));
            Some((squares.sum::<f64>() / all).sqrt())
        }
        _ => None,
    }
}

/// Why a percentile is not known, where something was measured: a sample that has no value beyond it
/// says nothing of it.
fn too_few(threshold: &Threshold, phase: &Phase) -> Option<String> {
    let needed = needed_for(threshold.stat.quantile()?) as u64;
    let came = match threshold.measure {
        Measure::Cycle if !phase.cycles_ns.is_empty() => phase.cycles_ns.len() as u64,
        measure => phase.total.histogram(measure.name()).count(),
    };
    (1..needed).contains(&came).then(|| {
        let stat = threshold.stat;
        format!("{stat} needs {needed} values or more, and there are {came}")
    })
}

/// Why two clocks do not tell a delay, where one was measured.
fn not_told(threshold: &Threshold, phase: &Phase) -> Option<String> {
    let name = threshold.measure.name();
    let stat = threshold.stat;
    let measured = match stat {
        Stat::Max => phase.max_ns(name).map(|ns| ns as f64),
        stat => figure_of(phase.total.histogram(name), stat),
    };
    match phase.trust(name, measured?) {
        Trust::Nothing(error) => Some(phase.clock()?.refusal(error, duration::show_ns)),
        Trust::Whole | Trust::Within(_) => None,
    }
}

/// What became of a phase's thresholds, for its result.
pub fn expectations(thresholds: &[Threshold], phase: &Phase) -> Vec<Expectation> {
    thresholds
        .iter()
        .map(|threshold| {
            let few = too_few(threshold, phase);
            let mut outcome = threshold.check(&Measured(phase));
            outcome.figure = outcome.figure.filter(|_| few.is_none());
            Expectation {
                expected: threshold.to_string(),
                found: outcome.figure,
                met: outcome.is_met(),
                reason: outcome.figure.is_none().then(|| match threshold.stat {
                    _ if let Some(few) = few => few,
                    _ if let Some(why) = not_told(threshold, phase) => why,
                    Stat::Loss | Stat::LossShare if phase.pubsub.is_some() => {
                        "loss was not measured: messages have no sequence numbers".to_owned()
                    }
                    Stat::Loss | Stat::LossShare => {
                        "loss was not measured: nothing was subscribed to".to_owned()
                    }
                    _ => format!("{} was not measured", threshold.measure.name()),
                }),
            }
        })
        .collect()
}
