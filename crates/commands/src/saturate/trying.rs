//! One trial: the phase under its load, and what becomes of it.

use judge::capacity::{Judgement, Why};
use load::engine::Control;
use plan::{Grow, Phase, Targets, Threshold, Work};
use record::Run;
use record::run::Mark;

use crate::failure::Failure;
use crate::global::Global;
use crate::quick::{self, QuickCommand};

/// What trials are made of.
pub struct Trying<'a> {
    pub asked: &'a QuickCommand,
    pub targets: Targets,
    pub phase: Phase,
    pub grow: Grow,
    pub objective: Vec<Threshold>,
    pub control: Control,
    pub global: &'a Global,
}

/// What became of a trial.
pub enum Tried {
    /// It was made.
    Judged(Box<Run>, Judgement),
    /// There cannot be so much, for this reason; this is the most.
    TooMuch(f64, String),
    /// Somebody ended the search.
    Stopped,
}

/// Whether something else than its answers says how much a server has to do: a rate, or the
/// changes of what is subscribed to.
fn paced(phase: &Phase) -> bool {
    phase.arrival.is_open() || matches!(phase.work, Work::Subscribe(_))
}

impl Trying<'_> {
    /// The phase under a load; each trial has a seed of its own.
    fn phase(&self, load: f64, trial: u32) -> anyhow::Result<Phase> {
        let targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        let grown = self.phase.grown(self.grow, load, targets);
        let grown = grown.map_err(|error| {
            let at = self.grow.show(load);
            Failure::usage(format!(
                "--{}: {} (want {}), at {at}",
                error.field, error.value, error.want
            ))
        })?;
        Ok(Phase {
            // Another trial of the same load is not the same trial.
            seed: self.phase.seed.wrapping_add(trial.into()),
            ..grown
        })
    }

    /// Says what cannot grow at all.
    pub fn check(&self, first: f64, most: Option<f64>) -> anyhow::Result<()> {
        self.phase(first, 0)?;
        if self.grow.is_whole() && most.is_none_or(|most| most > first) {
            self.phase(first + 1.0, 0)?;
        }
        Ok(())
    }

    /// How many clients there are, where each does one thing at a time and their rate grows.
    pub fn clients(&self) -> Option<u64> {
        let rounds = self.grow == Grow::Rate && !self.phase.work.steps().is_empty();
        rounds.then(|| u64::from(self.phase.sessions) * self.targets.len() as u64)
    }

    /// The most that is a plan, of which this is one and that is none.
    fn most(&self, some: f64, too_much: f64) -> f64 {
        let (mut low, mut high) = (some, too_much);
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            match self.phase(middle, 0) {
                Ok(_) => low = middle,
                Err(_) => high = middle,
            }
        }
        low
    }

    /// Tries a load, after `trial` others; less was tried `below` it.
    pub fn make(&self, load: f64, trial: u32, below: Option<f64>) -> anyhow::Result<Tried> {
        let phase = match (self.phase(load, trial + 1), below) {
            (Ok(phase), _) => phase,
            (Err(error), Some(some)) if self.grow.is_whole() => {
                return Ok(Tried::TooMuch(self.most(some, load), error.to_string()));
            }
            (Err(error), _) => return Err(error),
        };
        quick::feed::point(&format!("{} (trial {})", self.grow.show(load), trial + 1));
        // A condition that ends this trial does not end the next one.
        let control = self.control.for_measurement();
        let run = self
            .asked
            .measure(&self.targets, &phase, &control, self.global);
        if self.control.is_stopped() {
            return Ok(Tried::Stopped);
        }
        let run = match run {
            Ok(run) => run,
            Err(error) => {
                let most = error.downcast_ref::<Failure>().and_then(Failure::most);
                return match most.map(f64::from) {
                    Some(most) if most < load && below.is_some() => {
                        Ok(Tried::TooMuch(most, error.to_string()))
                    }
                    _ => Err(error),
                };
            }
        };
        let Some(measured) = run.phases.first() else {
            return Err(Failure::new("nothing was measured").into());
        };
        let judged = Judgement::of(measured, &self.objective, paced(&phase));
        let judged = judged.unless(self.lacking(&run, &phase));
        Ok(Tried::Judged(Box::new(run), judged))
    }

    /// What was not there of a load as it was planned.
    fn lacking(&self, run: &Run, phase: &Phase) -> Option<Why> {
        if run.marks.contains(&Mark::Aborted) {
            return Some(Why::Aborted);
        }
        if run.marks.contains(&Mark::Degraded) {
            return Some(Why::Sessions);
        }
        let wanted = phase.subscribe()?;
        let told = run.phases.first()?.subscriptions.as_ref()?;
        if let Some(item) = told.ended.iter().find(|it| it.what == "item") {
            return Some(Why::Refused(format!("items: {}", item.status.name)));
        }
        let sessions = u64::from(phase.sessions) * self.targets.len() as u64;
        let lacking = told.subscriptions < sessions * u64::from(wanted.subscriptions);
        lacking.then(|| Why::Refused("subscriptions".to_owned()))
    }
}
