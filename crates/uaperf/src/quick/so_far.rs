//! What is known of a phase while it runs: the figures that `--abort-on` may ask for.

use std::collections::BTreeMap;
use std::time::Duration;

use load::engine::Progress;
use plan::{Figures, Measure, Stat, Threshold};
use record::{Closed, Histogram};

use crate::failure::Failure;

/// What all cores told so far.
#[derive(Debug, Default)]
pub struct SoFar {
    closed: Closed,
    /// By core: values of subscriptions that are missing.
    lost: BTreeMap<usize, u64>,
    elapsed: Duration,
}

impl SoFar {
    /// A core told something.
    pub fn add(&mut self, progress: &Progress) {
        for (_, closed) in &progress.closed {
            self.closed.merge(closed);
        }
        if let Some(heard) = &progress.heard {
            let lost = heard.places.lost().max(heard.messages.lost());
            self.lost.insert(progress.core, lost);
        }
    }

    /// So much time has passed.
    pub fn at(&mut self, elapsed: Duration) -> &Self {
        self.elapsed = elapsed;
        self
    }
}

/// Refuses a condition on what is only known in the end, which would never come true.
pub fn check(thresholds: &[Threshold]) -> anyhow::Result<()> {
    let known = |it: &&Threshold| {
        matches!(it.measure, Measure::Response | Measure::Delay)
            && !matches!(it.stat, Stat::Deviation | Stat::LossShare)
    };
    match thresholds.iter().find(|it| !known(it)) {
        None => Ok(()),
        Some(threshold) => Err(Failure::usage(format!(
            "--abort-on {threshold}: want a condition on errors, rate, values, loss, or times of response or \
             delay: the rest is known in the end only"
        ))
        .into()),
    }
}

fn time(of: &Histogram, stat: Stat) -> Option<f64> {
    match stat {
        Stat::Mean => of.mean(),
        Stat::Min => of.min().map(|ns| ns as f64),
        Stat::Max => of.max().map(|ns| ns as f64),
        stat => of.quantile(stat.quantile()?).map(|ns| ns as f64),
    }
}

impl Figures for SoFar {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let counters = &self.closed.counters;
        let per_second = |n: u64| n as f64 / self.elapsed.as_secs_f64();
        match (measure, stat) {
            (_, Stat::Loss) => {
                (!self.lost.is_empty()).then(|| self.lost.values().sum::<u64>() as f64)
            }
            (Measure::Response, Stat::Errors) => Some(self.closed.errors as f64),
            (Measure::Response, Stat::Timeouts) => Some(counters.timeouts as f64),
            (Measure::Response, Stat::TimeoutShare) => (counters.completed > 0)
                .then(|| counters.timeouts as f64 / counters.completed as f64),
            (Measure::Response, Stat::ErrorShare) => (counters.completed > 0)
                .then(|| self.closed.errors as f64 / counters.completed as f64),
            (Measure::Response, Stat::Rate) => Some(per_second(counters.completed)),
            (Measure::Response, Stat::Values) => Some(per_second(counters.values)),
            (Measure::Response, stat) => time(&self.closed.response, stat),
            (Measure::Delay, stat) => time(&self.closed.delay, stat),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_can_come_true_while_it_runs_is_taken_and_another_is_not() {
        let told = |text: &str| check(&[text.parse().unwrap()]).map_err(|it| it.to_string());
        for known in [
            "errors>1%",
            "p99>5ms",
            "delay.p99>1s",
            "loss>0",
            "rate<10/s",
            "max>1s",
        ] {
            assert_eq!(told(known), Ok(()), "{known}");
        }
        for unknown in ["cpu>80%", "service.p99>5ms", "cycle.p90>150ms", "rss>1GiB"] {
            let error = told(unknown).unwrap_err();
            let begin = format!("--abort-on {unknown}: want a condition on errors, rate,");
            assert!(error.starts_with(&begin), "{error}");
        }
    }
}
