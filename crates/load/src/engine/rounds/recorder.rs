//! Where rounds and their steps are written down.
//!
//! One recorder for all threads: steps take tenths of a millisecond and more, a lock takes a ten-thousandth of
//! that.

use std::sync::mpsc::Sender;

use record::samples::Sheet;
use record::{Lateness, Ledger, Times};
use wire::types::StatusCode;

use super::super::held::Rounds;
use super::super::reports::{self, Progress};
use super::super::running::Running;
use super::super::settings::Settings;

/// Where the threads tell what is over.
type Tell = Sender<Progress>;

/// What all clients write to.
pub struct RoundsRecorder {
    /// By target: that of the rounds, then one for each step.
    ledgers: Vec<Ledger>,
    /// Rows of single rounds and steps, one sheet for each name.
    sheets: Vec<Sheet>,
    names: Vec<&'static str>,
    /// Rounds that were begun and are not over, by target.
    under_way: Vec<i64>,
    tell: Tell,
    ends: Vec<u64>,
    ended: bool,
}

/// A step that was done.
#[derive(Debug, Clone, Copy)]
pub struct Note {
    /// Its name.
    pub step: &'static str,
    /// When it began, in nanoseconds since the phase began.
    pub began: u64,
    /// When it was over.
    pub ended: u64,
    /// How.
    pub status: StatusCode,
    /// Operations in it that went well.
    pub values: u32,
}

/// What became of the operations of a request.
#[derive(Debug, Clone, Copy)]
pub struct Results {
    pub good: u32,
    pub bad: Option<StatusCode>,
}

impl FromIterator<StatusCode> for Results {
    fn from_iter<T: IntoIterator<Item = StatusCode>>(all: T) -> Self {
        let mut results = Self { good: 0, bad: None };
        for status in all {
            match status.is_bad() {
                true => results.bad = results.bad.or(Some(status)),
                false => results.good += 1,
            }
        }
        results
    }
}

/// How a round went.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    pub target: usize,
    pub times: Times,
    pub lateness: Lateness,
    pub status: StatusCode,
    pub values: u32,
}

impl RoundsRecorder {
    pub fn new(running: &Running<'_>, settings: &Settings, tell: Tell) -> Self {
        let names = running.names();
        let end = settings.end_ns();
        let samples = running.options.samples.as_ref();
        let phase = running.phase.name.as_deref();
        let sheet = |n: usize, step: &str| {
            let name = match (phase, n) {
                (Some(phase), 0) => phase.to_owned(),
                (Some(phase), _) => format!("{phase}: {step}"),
                (None, _) => step.to_owned(),
            };
            samples.map(|samples| samples.sheet(&name))
        };
        let sheets = names.iter().enumerate();
        Self {
            ledgers: (0..running.ledgers())
                .map(|_| Ledger::with_end(end).with_cuts(settings.cuts()))
                .collect(),
            sheets: sheets.filter_map(|(n, name)| sheet(n, name)).collect(),
            names,
            under_way: vec![0; running.targets.len()],
            tell,
            ends: Vec::new(),
            ended: false,
        }
    }

    /// A round begins.
    pub fn begins(&mut self, target: usize) {
        self.count(target, 1);
    }

    /// A round that is cut off by the end, with the steps that it had.
    pub fn cut(&mut self, target: usize, notes: &[Note]) {
        self.count(target, -1);
        self.steps(target, notes);
    }

    fn count(&mut self, target: usize, change: i64) {
        if let Some(under_way) = self.under_way.get_mut(target) {
            *under_way += change;
        }
    }

    /// A round is over.
    pub fn round(&mut self, whole: Whole, notes: &[Note]) {
        let Whole {
            target,
            times,
            lateness,
            status,
            values,
        } = whole;
        self.enter(0, target, times, lateness, (status, values));
        if status.is_good() {
            self.ends.push(times.completed);
        }
        self.steps(target, notes);
        if let Some(progress) = self.progress(target, times.completed, false) {
            // Nobody may be listening.
            let _ = self.tell.send(progress);
        }
        self.count(target, -1);
    }

    /// Steps that were done.
    pub fn steps(&mut self, target: usize, notes: &[Note]) {
        for note in notes {
            let Some(name) = self.names.iter().position(|name| *name == note.step) else {
                continue;
            };
            let times = Times {
                planned: note.began,
                sent: note.began,
                completed: note.ended,
            };
            let came = (note.status, note.values);
            self.enter(name, target, times, Lateness::default(), came);
        }
    }

    fn enter(
        &mut self,
        name: usize,
        target: usize,
        times: Times,
        lateness: Lateness,
        (status, values): (StatusCode, u32),
    ) {
        if let Some(ledger) = self.ledgers.get_mut(target * self.names.len() + name) {
            ledger.late(times.sent, lateness, 1);
            ledger.done(times, status.bits(), values, 1);
        }
        if let Some(sheet) = self.sheets.get_mut(name) {
            sheet.row(target, times, status.bits());
        }
    }

    /// What is written down from now on is drained; the first to say so has it.
    pub fn end_at(&mut self, t: u64) {
        if !std::mem::replace(&mut self.ended, true) {
            self.ledgers.iter_mut().for_each(|ledger| ledger.end_at(t));
        }
    }

    /// Rounds that were due and never begun.
    pub fn unsent(&mut self, target: usize, planned: u64, until: u64) {
        if let Some(ledger) = self.ledgers.get_mut(target * self.names.len()) {
            ledger.unsent(planned, until, 1);
        }
    }

    /// What is over by now, for whoever watches: rounds only.
    fn progress(&mut self, target: usize, t: u64, last: bool) -> Option<Progress> {
        let place = target * self.names.len();
        let ledger = self.ledgers.get_mut(place)?;
        let mut closed = reports::closed([(place, ledger)], t, last);
        // Rounds are written down when they are over: the ledger does not know of those under way.
        let in_flight = self.under_way.get(target).copied().unwrap_or(0);
        for (_, tick) in &mut closed {
            tick.in_flight = in_flight;
        }
        (!closed.is_empty()).then_some(Progress {
            core: 0,
            closed,
            heard: None,
            ran_ns: t,
            // Clients wait, each in a thread of its own: no loop is busy with them.
            idle_ns: t,
            last,
        })
    }

    /// What nobody who watches was told yet, when all is over.
    pub fn rest(&mut self, t: u64) -> Vec<Progress> {
        let targets = 0..self.under_way.len();
        targets
            .filter_map(|target| self.progress(target, t, true))
            .collect()
    }

    /// All that was written down.
    pub fn close(mut self) -> (Vec<Ledger>, Rounds) {
        self.ends.sort_unstable();
        let rounds = Rounds {
            ends_ns: self.ends,
            held: None,
        };
        (self.ledgers, rounds)
    }
}
