//! The figures that thresholds speak of.

use plan::{Figures, Measure, Outcome, Stat, Threshold};
use record::Histogram;
use record::run::{Expectation, Figure, Phase, Usage};

/// A phase, as thresholds look at it.
#[derive(Debug, Clone, Copy)]
pub struct OfPhase<'a>(pub &'a Phase);

impl OfPhase<'_> {
    fn usage(&self, who: &str) -> Option<&Usage> {
        let found = self.0.resources.iter().find(|usage| usage.who == who);
        found.map(|usage| &usage.window)
    }

    fn spent(&self, who: &str, measure: Measure, stat: Stat) -> Option<f64> {
        let series = self.0.resources.iter().find(|usage| usage.who == who)?;
        let usage = self.usage(who)?;
        let (from, to) = (self.0.from_ns, self.0.to_ns);
        let sampled = || {
            let inside = series.at_ns.iter().map(move |&at| at > from && at <= to);
            inside.zip(&series.cpu_cores)
        };
        match (measure, stat) {
            (Measure::Cpu, Stat::Mean) => usage.cpu_cores.known().copied(),
            (Measure::GeneratorCpu, Stat::Mean) => working(usage),
            // A spinning generator's samples say nothing about its work.
            (Measure::Cpu, Stat::Max) => sampled()
                .filter(|(inside, _)| *inside)
                .filter_map(|(_, cores)| *cores)
                .max_by(f64::total_cmp),
            (Measure::Rss | Measure::GeneratorRss, Stat::Max) => {
                usage.rss_peak_bytes.known().map(|&bytes| bytes as f64)
            }
            _ => None,
        }
    }
}

/// Cores that the generator kept busy with work; spinning is idle.
pub(crate) fn working(usage: &Usage) -> Option<f64> {
    let cores = *usage.cpu_cores.known()?;
    let (spun, all) = match (&usage.spun_ns, &usage.cpu_ns) {
        (Figure::Known(spun), Figure::Known(all)) if *all > 0 => (*spun as f64, *all as f64),
        _ => return Some(cores),
    };
    Some(cores * (1.0 - spun / all).max(0.0))
}

impl Figures for OfPhase<'_> {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let sum = &self.0.total;
        let share = |part: u64| (sum.completed > 0).then(|| part as f64 / sum.completed as f64);
        match (measure, stat) {
            (_, Stat::Rate) => sum.rate_per_s,
            (_, Stat::Values) => sum.values_per_s,
            (_, Stat::Errors) => Some(sum.errors as f64),
            (_, Stat::ErrorShare) => share(sum.errors),
            (_, Stat::Loss | Stat::LossShare) => None,
            (Measure::Cpu | Measure::Rss, stat) => self.spent("server", measure, stat),
            (Measure::GeneratorCpu | Measure::GeneratorRss, stat) => {
                self.spent("generator", measure, stat)
            }
            (measure, stat) => of_histogram(sum.histogram(measure.name()), stat),
        }
    }
}

pub(crate) fn of_histogram(histogram: &Histogram, stat: Stat) -> Option<f64> {
    match stat {
        Stat::Min => histogram.min().map(|value| value as f64),
        Stat::Max => histogram.max().map(|value| value as f64),
        Stat::Mean => histogram.mean(),
        Stat::Deviation => histogram.deviation(),
        stat => histogram
            .quantile(stat.quantile()?)
            .map(|value| value as f64),
    }
}

/// Conditions held against a phase, for its `expectations`.
pub fn expectations(thresholds: &[Threshold], phase: &Phase) -> Vec<Expectation> {
    let outcomes = thresholds
        .iter()
        .map(|threshold| threshold.check(&OfPhase(phase)));
    outcomes
        .map(|outcome: Outcome| Expectation {
            expected: outcome.threshold.to_string(),
            found: outcome.figure,
            met: outcome.is_met(),
            reason: outcome.figure.is_none().then(|| "not measured".to_owned()),
        })
        .collect()
}
