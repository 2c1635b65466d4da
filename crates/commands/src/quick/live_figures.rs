//! What is known of a phase while it runs: the figures that `--abort-on` may ask for.

use std::time::Duration;

use load::engine::Progress;
use plan::unit::duration::nanos;
use plan::{Figures, Measure, Outcome, Stat, Within};
use record::ledger::TICK_NS;
use record::underway::{NOW_NS, Recent, Underway};
use record::{Closed, Histogram};

use crate::failure::Failure;

/// What all cores told so far.
#[derive(Debug)]
pub struct LiveFigures {
    so_far: Underway,
    recent: Recent,
    elapsed: Duration,
}

impl LiveFigures {
    /// For these conditions.
    pub fn new(conditions: &[Within]) -> Self {
        let windows = conditions.iter().filter_map(|it| it.window);
        Self {
            so_far: Underway::default(),
            recent: Recent::of(windows.max().map_or(0, nanos)),
            elapsed: Duration::ZERO,
        }
    }

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

    /// Looks at a condition.
    pub fn check(&self, condition: &Within) -> Outcome {
        match condition.window {
            None => condition.threshold.check(self),
            Some(length) => condition.threshold.check(&self.last(nanos(length))),
        }
    }

    /// The last intervals that all cores have told of. The clock begins when the first interval is told, which is over
    /// then.
    fn last(&self, length_ns: u64) -> Window {
        let until = nanos(self.elapsed) / TICK_NS * TICK_NS;
        let (all, covered_ns) = self.recent.last(length_ns, until);
        Window { all, covered_ns }
    }
}

/// What happened lately.
#[derive(Debug)]
struct Window {
    all: Closed,
    covered_ns: u64,
}

impl Window {
    fn per_second(&self, count: u64) -> Option<f64> {
        (self.covered_ns > 0).then(|| count as f64 * 1e9 / self.covered_ns as f64)
    }
}

/// Refuses a condition on what is only known in the end, which would never come true.
pub fn check(conditions: &[Within]) -> anyhow::Result<()> {
    let known = |it: &&Within| {
        matches!(it.threshold.measure, Measure::Response | Measure::Delay)
            && !matches!(it.threshold.stat, Stat::Deviation | Stat::LossShare)
    };
    if let Some(of_all) = conditions
        .iter()
        .find(|it| it.window.is_some() && it.threshold.stat == Stat::Loss)
    {
        let what =
            format!("--abort-on {of_all}: what is lost is known of all so far, not of a window");
        let all = Within {
            window: None,
            ..of_all.clone()
        };
        return Err(Failure::usage(what)
            .hint(format!("--abort-on '{all}'"))
            .into());
    }
    match conditions.iter().find(|it| !known(it)) {
        None => Ok(()),
        Some(condition) => Err(Failure::usage(format!(
            "--abort-on {condition}: want a condition on errors, rate, values, loss, or times of response or \
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

/// A figure of intervals; rates are not of them.
fn of(all: &Closed, measure: Measure, stat: Stat) -> Option<f64> {
    let share = |count: u64| {
        let completed = all.counters.completed;
        (completed > 0).then(|| count as f64 / completed as f64)
    };
    match (measure, stat) {
        (Measure::Response, Stat::Errors) => Some(all.errors as f64),
        (Measure::Response, Stat::Timeouts) => Some(all.counters.timeouts as f64),
        (Measure::Response, Stat::TimeoutShare) => share(all.counters.timeouts),
        (Measure::Response, Stat::ErrorShare) => share(all.errors),
        (Measure::Response, stat) => time(&all.response, stat),
        (Measure::Delay, stat) => time(&all.delay, stat),
        _ => None,
    }
}

impl Figures for LiveFigures {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        match stat {
            Stat::Loss => self
                .so_far
                .is_notified()
                .then(|| self.so_far.notified().lost as f64),
            Stat::Rate | Stat::Values => self.last(NOW_NS).figure(measure, stat),
            stat => of(self.so_far.all(), measure, stat),
        }
    }
}

impl Figures for Window {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        match (measure, stat) {
            (Measure::Response, Stat::Rate) => self.per_second(self.all.succeeded()),
            (Measure::Response, Stat::Values) => self.per_second(self.all.counters.values),
            _ => of(&self.all, measure, stat),
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
        let mut so_far = LiveFigures::new(&[]);
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
    fn a_window_forgets_what_was_before_it_and_all_so_far_does_not() {
        let condition = |text: &str| text.parse::<Within>().unwrap();
        let [late, rate, all] = ["errors[2s]>50%", "rate[2s]<10/s", "errors>50%"].map(condition);
        let mut so_far = LiveFigures::new(&[late.clone(), rate.clone(), all.clone()]);
        for tick in 0..100 {
            so_far.add(&told(tick * TICK_NS, 100, 0));
        }
        for tick in 100..115 {
            so_far.add(&told(tick * TICK_NS, 100, 100));
        }
        let so_far = so_far.at(Duration::from_millis(11_500));
        // Of two seconds one and a half were bad, of eleven and a half too.
        assert_eq!(so_far.check(&late).figure, Some(0.75));
        assert!(so_far.check(&late).is_met() && !so_far.check(&all).is_met());
        assert_eq!(so_far.check(&rate).figure, Some(250.0));
        let early = LiveFigures::new(std::slice::from_ref(&rate));
        assert_eq!(early.check(&rate).figure, None, "nothing is known yet");
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
            "p99[10s]>1s",
            "delay.p90[1m]>1s",
        ] {
            assert_eq!(told(known), Ok(()), "{known}");
        }
        for unknown in ["cpu>80%", "service.p99>5ms", "cycle.p90>150ms", "rss>1GiB"] {
            let error = told(unknown).unwrap_err();
            let begin = format!("--abort-on {unknown}: want a condition on errors, rate,");
            assert!(error.starts_with(&begin), "{error}");
        }
        let lost = told("loss[10s]>0").unwrap_err();
        assert!(lost.contains("of all so far"), "{lost}");
    }
}
