//! The good clients: one that reads at a rate and subscribes, and others that come and go meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plan::unit::Rate;
use plan::unit::duration::nanos;
use plan::{Arrival, Nodes, Pace, Phase, Read, Reconnect, Subscribe, Warmup, Work};
use record::attack::{Newcomers, Stage};
use record::average::median_ns;
use record::run::{Figure, Sum};
use record::{Measure, Tally};
use wire::types::StatusCode;

use super::whose::lack_for;
use crate::access::{Access, Opening};
use crate::engine::{self, Control, Options, Outcome, Progress, RunError, SessionError, Target};
use crate::transport::Steps;
use crate::work::Prepared;

/// What settles first.
pub const SETTLING: Duration = Duration::from_millis(500);
/// Newcomers come so often.
const EACH: Duration = Duration::from_millis(500);
/// Courses are of such intervals; of short stages of half as long ones, so that there are enough of them.
const INTERVAL_NS: u64 = 200_000_000;
/// A stage is short with fewer of them.
const FEW: u64 = 10;
/// The place of the Reads among what the sessions do.
const READS: usize = 1;

/// Who reads and subscribes.
#[derive(Debug)]
pub struct Good {
    /// Where, and how.
    pub target: Arc<Target>,
    prepared: Arc<Prepared>,
    phase: Phase,
}

impl Good {
    /// Reads these nodes so often, and subscribes to them.
    pub fn new(
        target: Arc<Target>,
        nodes: &Nodes,
        rate: Rate,
        timeout: Duration,
    ) -> Result<Self, SessionError> {
        let subscribe = Subscribe {
            publishing: Duration::from_millis(200),
            queue: 100,
            reconnect: Reconnect::Resume,
            ..Subscribe::new(nodes.clone())
        };
        let phase = Phase {
            beside: vec![Work::Read(Read::new(nodes.clone()))],
            arrival: Arrival::Open(Pace::Constant { rate }),
            warmup: Warmup::Given {
                warmup: Duration::ZERO,
            },
            reconnect: true,
            timeout,
            ..Phase::new(Work::Subscribe(Box::new(subscribe)))
        };
        let prepared = Arc::new(target.prepare(&phase, true)?);
        Ok(Self {
            target,
            prepared,
            phase,
        })
    }

    /// Reads and subscribes for so long.
    pub(super) fn run(
        &self,
        length: Duration,
        control: &Control,
        progress: impl FnMut(Progress),
    ) -> Result<Outcome, RunError> {
        let phase = Phase {
            duration: Some(length),
            ..self.phase.clone()
        };
        engine::run(
            &phase,
            &[Arc::clone(&self.target)],
            &[Arc::clone(&self.prepared)],
            &Options::default(),
            control,
            progress,
        )
    }
}

/// What was written down of the Reads.
pub(super) fn reads(outcome: &Outcome) -> Tally {
    // The phase has a ledger for them, whatever became of it.
    outcome.total().into_iter().nth(READS).unwrap_or_default()
}

/// A part of the time, as the reader saw it.
pub(super) fn stage(outcome: &Outcome, reads: &Tally, (from, to): (u64, u64)) -> Stage {
    let window = reads.window(from, to);
    let name = |code| StatusCode::from(code).sub_code().to_string();
    let sum = Sum::of(&window, &name);
    let inside = |at: u64| (from..to).contains(&at);
    let lost = outcome.losses.iter().filter(|(_, it)| inside(it.at_ns));
    let interval = match (to - from) / INTERVAL_NS {
        few if few < FEW => INTERVAL_NS / 2,
        _ => INTERVAL_NS,
    };
    let interval = interval.max(reads.width_ns());
    let course = |quantile: f64| {
        let parts = (from..to).step_by(interval as usize);
        let parts = parts.filter(|at| at + interval <= to);
        let parts = parts.map(|at| reads.window(at, at + interval));
        parts
            .filter_map(|it| it.histogram(Measure::Response).quantile(quantile))
            .collect()
    };
    let is_bad = |it: &&record::run::Status| StatusCode::from(it.code).is_bad();
    Stage {
        from_ns: window.from_ns,
        to_ns: window.to_ns.max(window.from_ns),
        planned: sum.planned,
        completed: sum.completed,
        errors: sum.errors,
        // A part without time has none, and nothing came in it.
        rate_per_s: sum.rate_per_s.unwrap_or(0.0),
        statuses: sum.statuses.iter().filter(is_bad).cloned().collect(),
        lost_sessions: lost.count() as u64,
        response: window.histogram(Measure::Response).clone(),
        p50_ns: course(0.5),
        p99_ns: course(0.99),
        newcomers: Newcomers::default(),
        server_cores: Figure::default(),
        limits: Vec::new(),
    }
}

/// What became of one that came: when, and how long it took or why it was not let in.
pub(super) type NewcomerOutcome = (Instant, Result<u64, String>);

/// Comes for a session, and goes, again and again as long as it goes on.
pub(super) fn come_and_go(
    access: &Access,
    opening: &Opening,
    goes_on: impl Fn() -> bool,
) -> Vec<NewcomerOutcome> {
    let mut all = Vec::new();
    let mut due = Instant::now();
    while goes_on() {
        let left = due.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            std::thread::sleep(left.min(Duration::from_millis(20)));
            continue;
        }
        let began = Instant::now();
        let came = match access.open(opening, &mut Steps::new()) {
            Ok(session) => {
                let took = nanos(began.elapsed());
                session.leave();
                Ok(took)
            }
            Err(error) => Err(error),
        };
        match came {
            Ok(took) => all.push((began, Ok(took))),
            // Nobody came: attackers say what there is no more of.
            Err(error) if lack_for(&error).is_some() => {}
            Err(error) => all.push((began, Err(error.to_string()))),
        }
        // Those that were due while one waited are left out.
        while due <= Instant::now() {
            due += EACH;
        }
    }
    all
}

/// Those that came in a part of the time.
pub(super) fn newcomers(all: &[NewcomerOutcome], (from, to): (Instant, Instant)) -> Newcomers {
    let inside = || all.iter().filter(|it| it.0 >= from && it.0 < to);
    let took: Vec<u64> = inside().filter_map(|it| it.1.clone().ok()).collect();
    let came = inside().count();
    Newcomers {
        came: came as u64,
        refused: (came - took.len()) as u64,
        told: inside().find_map(|it| it.1.clone().err()),
        median_ns: median_ns(took),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomers_count_where_they_came() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let all = [
            (at(0), Ok(10)),
            (at(1), Ok(30)),
            (at(2), Err("no".to_owned())),
            (at(3), Ok(20)),
        ];
        let told = newcomers(&all, (at(0), at(4)));
        assert_eq!((told.came, told.refused, told.median_ns), (4, 1, Some(20)));
        assert_eq!(told.told.as_deref(), Some("no"));
        let told = newcomers(&all, (at(2), at(3)));
        assert_eq!((told.came, told.refused, told.median_ns), (1, 1, None));
        assert_eq!(newcomers(&all, (at(4), at(9))), Newcomers::default());
    }
}
