//! What is known of a phase while it runs: the figures that `--abort-on` may ask for.

use std::collections::BTreeMap;
use std::time::Duration;

use load::engine::Progress;
use plan::unit::duration::nanos;
use plan::{Figures, Measure, Stat, Threshold};
use record::ledger::TICK_NS;
use record::{Closed, Histogram};

use crate::failure::Failure;

/// Rates are those of so long.
const WINDOW_NS: u64 = 1_000_000_000;

/// What all cores told so far.
#[derive(Debug, Default)]
pub struct LiveFigures {
    closed: Closed,
    /// By core: values of subscriptions that are missing.
    lost: BTreeMap<usize, u64>,
    /// By the begin of an interval: operations that succeeded in it, and their values.
    recent: BTreeMap<u64, (u64, u64)>,
    elapsed: Duration,
}

impl LiveFigures {
    /// A core told something.
    pub fn add(&mut self, progress: &Progress) {
        for (_, closed) in &progress.closed {
            self.closed.merge(closed);
            let (good, values) = self.recent.entry(closed.start_ns).or_default();
            *good += closed.succeeded();
            *values += closed.counters.values;
        }
        if let Some(heard) = &progress.heard {
            let lost = heard.places.lost().max(heard.messages.lost());
            self.lost.insert(progress.core, lost);
        }
    }

    /// So much time has passed.
    pub fn at(&mut self, elapsed: Duration) -> &Self {
        self.elapsed = elapsed;
        let begin = self.window().start;
        self.recent = self.recent.split_off(&begin);
        self
    }

    /// The second that rates are of: the last whole one that all cores have told of. The clock begins when the first
    /// interval is told, which is over then.
    fn window(&self) -> std::ops::Range<u64> {
        let until = nanos(self.elapsed) / TICK_NS * TICK_NS;
        until.saturating_sub(WINDOW_NS)..until
    }

    /// In the last second.
    fn lately(&self, of: fn(&(u64, u64)) -> u64) -> Option<f64> {
        let window = self.window();
        let seconds = (window.end - window.start) as f64 / 1e9;
        let sum: u64 = self.recent.range(window).map(|(_, it)| of(it)).sum();
        (seconds > 0.0).then(|| sum as f64 / seconds)
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

impl Figures for LiveFigures {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let counters = &self.closed.counters;
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
            (Measure::Response, Stat::Rate) => self.lately(|it| it.0),
            (Measure::Response, Stat::Values) => self.lately(|it| it.1),
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

    fn told(start_ns: u64, completed: u64, errors: u64) -> Progress {
        let mut closed = Closed {
            start_ns,
            errors,
            ..Closed::default()
        };
        closed.counters.completed = completed;
        closed.counters.values = completed - errors;
        Progress {
            last: false,
            core: 0,
            closed: vec![(0, closed)],
            heard: None,
            ran_ns: 0,
            idle_ns: 0,
        }
    }

    #[test]
    fn a_rate_is_of_successes_and_of_the_last_second() {
        let mut so_far = LiveFigures::default();
        // A thousand a second for ten seconds; then a server that answers nothing, whose requests time out.
        for tick in 0..100 {
            so_far.add(&told(tick * TICK_NS, 100, 0));
        }
        for tick in 100..120 {
            so_far.add(&told(tick * TICK_NS, 42, 42));
        }
        let mut rate = |ms| {
            let at = so_far.at(Duration::from_millis(ms));
            at.figure(Measure::Response, Stat::Rate)
        };
        assert_eq!(rate(10_000), Some(1000.0));
        assert_eq!(rate(10_550), Some(500.0));
        assert_eq!(rate(12_000), Some(0.0));
        assert_eq!(so_far.figure(Measure::Response, Stat::Errors), Some(840.0));
    }

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
