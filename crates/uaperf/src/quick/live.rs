//! What a person sees while a phase runs.

use std::io::{IsTerminal, Stderr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use load::engine::{Control, Progress, Target};
use load::work::Prepared;
use plan::{Figures, Measure, Phase, Stat, Threshold};
use record::Closed;

use super::feed::Teller;
use super::result::status_name;
use super::stage::Act;
use report::Style;
use report::live::{Board, Live};
use report::watch::About;

/// Shows progress, and ends the phase when a condition says so.
pub struct Watcher {
    live: Live,
    teller: Option<Teller>,
    board: Option<Board<Stderr>>,
    act: Option<Act>,
    began: Option<Instant>,
    so_far: Closed,
    abort_on: Vec<Threshold>,
    control: Control,
    /// The condition that ended the phase.
    pub aborted: Option<String>,
    checked: Duration,
}

/// Conditions are looked at this often.
const CHECK: Duration = Duration::from_secs(1);

impl Watcher {
    /// For a phase.
    pub fn new(
        command: &str,
        phase: &Phase,
        targets: &[Arc<Target>],
        quiet: bool,
        control: &Control,
    ) -> Self {
        let stderr = std::io::stderr();
        let style = Style::detect(&stderr, |name| std::env::var_os(name));
        let terminal = stderr.is_terminal();
        let act = match quiet {
            true => None,
            false => Act::begin(about(command, phase, targets), phase, control),
        };
        let length = phase.measured_until().map(|end| end + phase.cooldown);
        Self {
            live: Live::new(length, phase.requests, style),
            teller: Teller::of(command, phase.name.as_deref().unwrap_or(command)),
            board: (!quiet && act.is_none()).then(|| Board::new(stderr, terminal)),
            act,
            began: None,
            so_far: Closed::default(),
            abort_on: phase.abort_on.clone(),
            control: control.clone(),
            aborted: None,
            checked: Duration::ZERO,
        }
    }

    /// Something happened.
    pub fn tell(&mut self, progress: &Progress) {
        let began = *self.began.get_or_insert_with(Instant::now);
        for (ledger, closed) in &progress.closed {
            self.live.add(progress.core, *ledger, closed);
            if !self.abort_on.is_empty() {
                self.so_far.merge(closed);
            }
        }
        if let Some(heard) = &progress.heard {
            self.live.hear(progress.core, heard);
        }
        let elapsed = began.elapsed();
        if let Some(teller) = &mut self.teller {
            teller.add(progress.core, &progress.closed);
            teller.tick(elapsed);
        }
        if let Some(act) = &self.act {
            act.tell(progress);
        }
        if let Some(board) = &mut self.board {
            // A terminal that is gone does not stop a measurement.
            let _ = board.tick(&mut self.live, elapsed.as_nanos() as u64);
        }
        if elapsed >= self.checked + CHECK && self.aborted.is_none() {
            self.checked = elapsed;
            self.check(elapsed);
        }
    }

    fn check(&mut self, elapsed: Duration) {
        let so_far = SoFar {
            closed: &self.so_far,
            elapsed,
        };
        let met = self.abort_on.iter().find(|it| it.check(&so_far).is_met());
        if let Some(threshold) = met {
            self.aborted = Some(threshold.to_string());
            self.control.stop();
        }
    }

    /// The phase is over.
    pub fn end(&mut self) {
        if let (Some(teller), Some(began)) = (&self.teller, self.began) {
            teller.line(began.elapsed());
        }
        if let Some(board) = &mut self.board {
            let _ = board.end();
        }
        self.act = None;
    }
}

fn about(command: &str, phase: &Phase, targets: &[Arc<Target>]) -> About {
    let urls = targets.iter().map(|target| target.access.url.to_string());
    let names = Prepared::names(phase).into_iter().map(str::to_owned);
    About::of(command, phase, urls.collect(), names.collect(), status_name)
}

struct SoFar<'a> {
    closed: &'a Closed,
    elapsed: Duration,
}

impl Figures for SoFar<'_> {
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
        let counters = &self.closed.counters;
        let response = &self.closed.response;
        let per_second = |n: u64| n as f64 / self.elapsed.as_secs_f64();
        match (measure, stat) {
            (Measure::Response, Stat::Errors) => Some(self.closed.errors as f64),
            (Measure::Response, Stat::ErrorShare) => (counters.completed > 0)
                .then(|| self.closed.errors as f64 / counters.completed as f64),
            (Measure::Response, Stat::Rate) => Some(per_second(counters.completed)),
            (Measure::Response, Stat::Values) => Some(per_second(counters.values)),
            (Measure::Response, Stat::Mean) => response.mean(),
            (Measure::Response, Stat::Min) => response.min().map(|ns| ns as f64),
            (Measure::Response, Stat::Max) => response.max().map(|ns| ns as f64),
            (Measure::Response, stat) => response.quantile(stat.quantile()?).map(|ns| ns as f64),
            _ => None,
        }
    }
}
