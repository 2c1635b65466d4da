//! What is known of a phase while it runs: the figures that `--abort-on` may ask for.

use std::time::Duration;

use load::engine::Progress;
use plan::unit::duration::nanos;
use plan::{Figures, Measure, Stat, Threshold};
use record::ledger::TICK_NS;
use record::underway::{Recent, Underway};
use record::{Closed, Histogram};

use crate::failure::Failure;

/// What all cores told so far.
#[derive(Debug, Default)]
pub struct LiveFigures {
    so_far: Underway,
    recent: Recent,
    elapsed: Duration,
}

impl LiveFigures {
    /// A core told something.
    pub fn add(&mut self, progress: &Progress) {
        for (ledger, closed) in &progress.closed {
            self.so_far.add(progress.core, *ledger, closed);
            self.recent.add(closed);
        }
        if let Some(heard) = &progress.heard {
            self.so_far.hear(progress.core, heard);
        }
    }

    /// So much time has passed.
    pub fn at(&mut self, elapsed: Duration) -> &Self {
        self.elapsed = elapsed;
        self
    }

    /// A rate of the last whole second that all cores have told of. The clock begins when the first interval is told,
    /// which is over then.
    fn lately(&self, of: fn(&Closed) -> u64) -> Option<f64> {
        let until = nanos(self.elapsed) / TICK_NS * TICK_NS;
        let (recent, covered_ns) = self.recent.now(until);
        (covered_ns > 0).then(|| of(&recent) as f64 * 1e9 / covered_ns as f64)
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
        let all = self.so_far.all();
        let counters = &all.counters;
        match (measure, stat) {
            (_, Stat::Loss) => self
                .so_far
                .is_notified()
                .then(|| self.so_far.notified().lost as f64),
            (Measure::Response, Stat::Errors) => Some(all.errors as f64),
            (Measure::Response, Stat::Timeouts) => Some(counters.timeouts as f64),
            (Measure::Response, Stat::TimeoutShare) => (counters.completed > 0)
                .then(|| counters.timeouts as f64 / counters.completed as f64),
            (Measure::Response, Stat::ErrorShare) => {
                (counters.completed > 0).then(|| all.errors as f64 / counters.completed as f64)
            }
            (Measure::Response, Stat::Rate) => self.lately(Closed::succeeded),
            (Measure::Response, Stat::Values) => self.lately(|it| it.counters.values),
            (Measure::Response, stat) => time(&all.response, stat),
            (Measure::Delay, stat) => time(&all.delay, stat),
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
