//! What became of a phase: what its threads tell, put together.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use plan::{Phase, Seat};
use record::Tally;
use record::notification_ledger::Account;
use record::run::{Counted, Figure, Stall};

use super::control::Change;
use super::cycle::Took;
use super::error::Failed;
use super::held::Rounds;
use super::reports::{LoopSpent, Loss, Report};
use super::running::{Begin, Running};
use super::settle::{Settled, settle};
use super::subscriber::Shape;
use crate::transport::{Clock, Socket};
use crate::work::Prepared;

/// What became of a phase.
#[derive(Debug)]
pub struct Outcome {
    /// What was asked, one after the other; one tally each.
    pub names: Vec<&'static str>,
    /// So many of them, from the first one on, are operations; what follows are steps of them.
    pub operations: usize,
    /// What was written down: by target, then by name.
    pub tallies: Vec<Vec<Tally>>,
    /// When the phase began.
    pub began: SystemTime,
    /// The same on the monotonic clock, which nobody sets.
    pub origin: Instant,
    /// When it stopped sending, in nanoseconds since.
    pub ended_ns: u64,
    /// When the last answer was there.
    pub drained_ns: u64,
    /// Whether it was stopped early.
    pub stopped: bool,
    /// What a person did to it, and when, in nanoseconds since it began.
    pub by_hand: Vec<(u64, Change)>,
    /// How many sessions there were to be.
    pub wanted: usize,
    /// How many requests there were to be, where a number was asked for.
    pub requests: Option<u64>,
    /// How many sessions were opened.
    pub opened: usize,
    /// Sessions that were not.
    pub failed: Vec<Failed>,
    /// Sessions that were lost on the way.
    pub losses: Vec<(Seat, Loss)>,
    /// What the loops cost.
    pub cores: Vec<LoopSpent>,
    /// When the generator itself did not run.
    pub stalls: Vec<Stall>,
    /// How long each cycle took, where all sessions send together: until the slowest was answered.
    pub cycles: Vec<Took>,
    /// What subscriptions brought, if there were some.
    pub account: Option<Account>,
    /// Subscriptions that were not created, by status.
    pub refused: BTreeMap<u32, u64>,
    /// Changes of subscriptions that a server refused, by what they were and its status.
    pub unchanged: BTreeMap<(Cow<'static, str>, u32), u64>,
    /// The most Publish requests that a session kept waiting.
    pub publish_requests: usize,
    /// What became of the shape that was asked for.
    pub shape: Shape,
    /// What is known of rounds of steps, if that is what was done.
    pub rounds: Option<Rounds>,
    /// What each target counted itself, if they were asked.
    pub diagnostics: Vec<Figure<Counted>>,
}

impl Outcome {
    /// Of a phase that began at this moment, before anybody told what became of it.
    pub fn blank(phase: &Phase, targets: usize, origin: Instant, began: SystemTime) -> Self {
        let names = Prepared::names(phase);
        Self {
            tallies: vec![vec![Tally::default(); names.len()]; targets],
            operations: names.len(),
            names,
            began,
            origin,
            ended_ns: 0,
            drained_ns: 0,
            stopped: false,
            by_hand: Vec::new(),
            wanted: 0,
            requests: None,
            opened: 0,
            failed: Vec::new(),
            losses: Vec::new(),
            cores: Vec::new(),
            stalls: Vec::new(),
            cycles: Vec::new(),
            account: None,
            refused: BTreeMap::new(),
            unchanged: BTreeMap::new(),
            publish_requests: 0,
            shape: Shape::default(),
            rounds: None,
            diagnostics: Vec::new(),
        }
    }

    /// All targets together, by name.
    pub fn total(&self) -> Vec<Tally> {
        let mut targets = self.tallies.iter();
        let mut total: Vec<Tally> = match targets.next() {
            Some(first) => first.clone(),
            None => Vec::new(),
        };
        for target in targets {
            for (sum, tally) in total.iter_mut().zip(target) {
                sum.merge(tally);
            }
        }
        total
    }
}

/// What the threads tell, put together, and what is left of their sessions.
pub(super) fn gather(
    running: &Running<'_>,
    begin: Begin,
    seats: &[Seat],
    mut reports: Vec<Report<Socket>>,
) -> (Outcome, Settled<Socket>) {
    let names = running.names();
    let mut settled = settle(&mut reports);
    let mut tallies = std::mem::take(&mut settled.tallies);
    tallies.resize_with(running.ledgers(), Tally::default);
    let mut tallies = tallies.into_iter();
    let targets = running.targets.iter();
    let origin = Clock::new().instant(begin.origin);
    let mut outcome = Outcome {
        tallies: targets
            .map(|_| tallies.by_ref().take(names.len()).collect())
            .collect(),
        ended_ns: settled.ended_ns,
        stopped: running.control.is_over(),
        by_hand: running.by_hand(begin.origin),
        ..Outcome::blank(running.phase, running.targets.len(), origin, begin.wall)
    };
    for report in reports {
        match (&mut outcome.account, report.account) {
            (Some(sum), Some(account)) => sum.merge(&account),
            (sum, account) => *sum = sum.take().or(account),
        }
        outcome.drained_ns = outcome.drained_ns.max(report.spent.ran_ns);
        outcome.cycles.extend(report.cycles);
        outcome.stalls.extend(&report.spent.stalls);
        outcome.cores.push(report.spent);
        let lost = report.losses.into_iter();
        let lost = lost.filter_map(|loss| Some((*seats.get(loss.session)?, loss)));
        outcome.losses.extend(lost);
    }
    (outcome, settled)
}
