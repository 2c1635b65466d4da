//! Attackers at their work, and what is shared by all that goes on at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use record::attack::{Answer, Attackers};
use record::run::Figure;

use super::Schedule;
use super::attacker::AttackOutcome;
use super::way::Way;
use crate::engine::Control;

/// So many in a row that find nobody there, over so much time: the server is gone.
const NOBODY: u32 = 20;
const NOBODY_FOR: Duration = Duration::from_secs(1);

/// What attackers were told, by variant and word.
type Answers = BTreeMap<(&'static str, String, bool), u64>;

/// What is shared by all that goes on at once.
pub(super) struct AttackState {
    pub control: Control,
    pub nobody: AtomicBool,
    pub over: AtomicBool,
    /// When the good client began, as soon as that is known.
    pub began: OnceLock<Instant>,
    answers: Mutex<Answers>,
    /// Connections that were not made, by what this machine had no more of.
    lacks: Mutex<BTreeMap<&'static str, u64>>,
    cpu: Mutex<Option<Duration>>,
}

impl AttackState {
    pub fn new(control: Control) -> Self {
        Self {
            control,
            nobody: AtomicBool::new(false),
            over: AtomicBool::new(false),
            began: OnceLock::new(),
            answers: Mutex::default(),
            lacks: Mutex::default(),
            cpu: Mutex::new(Some(Duration::ZERO)),
        }
    }

    pub fn goes_on(&self) -> bool {
        !(self.control.is_over() || self.over.load(Ordering::Relaxed))
    }

    /// Why connections were not made that should have been.
    pub fn limits(&self) -> Vec<String> {
        let lacks = self.lacks.lock();
        let lacks = lacks.unwrap_or_else(PoisonError::into_inner);
        let each = lacks.iter();
        each.map(|(lack, n)| format!("{n} connections were not made: {lack}"))
            .collect()
    }

    /// Attacks so far.
    pub fn made(&self) -> u64 {
        let answers = self.answers.lock();
        let answers = answers.unwrap_or_else(PoisonError::into_inner);
        answers.values().sum()
    }

    /// A connection was not made, of an attacker or of who looks whether the server is there.
    pub fn lacks(&self, lack: &'static str) {
        let lacks = self.lacks.lock();
        let mut lacks = lacks.unwrap_or_else(PoisonError::into_inner);
        *lacks.entry(lack).or_default() += 1;
    }

    fn told(&self, told: AttackOutcome) {
        if let Some(lack) = told.lack {
            self.lacks(lack);
            return;
        }
        let answers = self.answers.lock();
        let mut answers = answers.unwrap_or_else(PoisonError::into_inner);
        let key = (told.variant, told.told, told.refused);
        *answers.entry(key).or_default() += 1;
    }
}

/// What attackers were to do and did: fell due, held up, latest, and how long that took.
pub(super) type Paced = (u64, u64, u64, Duration);

/// Attacks until the time or the number is over.
pub(super) fn attack(
    way: &Way,
    when: (Instant, Duration),
    (rate, most): (f64, u64),
    clients: u32,
    state: &AttackState,
    own_cpu: &(dyn Fn() -> Option<Duration> + Sync),
) -> Paced {
    // What takes long ends when the attack does, so that the calm afterwards is one.
    let until = when.0 + when.1;
    let goes_on =
        || state.goes_on() && !state.nobody.load(Ordering::Relaxed) && Instant::now() < until;
    let schedule = Schedule::new(when, rate, most, &goes_on);
    std::thread::scope(|scope| {
        for number in 0..clients {
            let (schedule, goes_on) = (&schedule, &goes_on);
            scope.spawn(move || {
                // On a host that is the server's as well, what attackers cost themselves is not the server's doing: they
                // come behind the good clients. Where it is not allowed they are like all others, and the result says
                // how much they took.
                let _ = platform::thread::step_back();
                let Some(mut attacker) = way.attacker(number.into(), goes_on) else {
                    return;
                };
                let before = own_cpu();
                let mut nobody: Option<(Instant, u32)> = None;
                let mut late = Duration::ZERO;
                while let Some(n) = schedule.wait(&mut late) {
                    let told = attacker.attack(n);
                    nobody = told.nobody.then(|| match nobody {
                        Some((since, times)) => (since, times + 1),
                        None => (Instant::now(), 1),
                    });
                    state.told(told);
                    if nobody.is_some_and(|(since, times)| {
                        times >= NOBODY && since.elapsed() >= NOBODY_FOR
                    }) {
                        state.nobody.store(true, Ordering::Relaxed);
                    }
                }
                // Its sessions and connections end with it.
                drop(attacker);
                let spent = own_cpu().zip(before).map(|(now, then)| now - then);
                let cpu = state.cpu.lock();
                let mut cpu = cpu.unwrap_or_else(PoisonError::into_inner);
                *cpu = cpu.zip(spent).map(|(all, one)| all + one);
            });
        }
    });
    let took = Instant::now().saturating_duration_since(when.0);
    (
        schedule.fell_due(),
        schedule.held_up(),
        schedule.latest_ns(),
        took,
    )
}

/// What they did, for the sheet.
pub(super) fn attackers(paced: Option<Paced>, state: AttackState) -> Attackers {
    let answers = state.answers.into_inner();
    let answers = answers.unwrap_or_else(PoisonError::into_inner);
    let cpu = state
        .cpu
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    // Nothing was paced where no attack was made.
    let (planned, held_up, latest_ns, took) = paced.unwrap_or_default();
    let cores = |cpu: Duration| match took.is_zero() {
        true => Figure::missing("no attack was made"),
        false => Figure::Known(cpu.as_secs_f64() / took.as_secs_f64()),
    };
    Attackers {
        planned,
        made: answers.values().sum(),
        held_up,
        latest_ns,
        cores: cpu.map_or_else(
            || Figure::missing("the CPU of a thread is not known here"),
            cores,
        ),
        answers: answers
            .into_iter()
            .map(|((variant, told, refused), count)| Answer {
                variant: variant.to_owned(),
                told,
                refused,
                count,
            })
            .collect(),
    }
}
