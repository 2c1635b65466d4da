//! What became of a part of a phase, as one process tells another; and the parts put together to what became of all
//! of it, exactly as if one process had done it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use plan::Seat;
use record::Tally;
use record::notification_ledger::Account;
use record::run::{Stall, StallKind};
use serde::{Deserialize, Serialize};

use super::cycle::Took;
use super::error::{Failed, SessionError};
use super::held::Rounds;
use super::outcome::Outcome;
use super::reports::{LoopSpent, Loss};
use super::subscriber::Shape;

/// What became of a part of a phase. Times are in nanoseconds since it began, which is the same moment for all parts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Part {
    tallies: Vec<Vec<Tally>>,
    ended_ns: u64,
    drained_ns: u64,
    stopped: bool,
    wanted: u64,
    requests: Option<u64>,
    opened: u64,
    /// Which session, the code of the reason, and the reason.
    failed: Vec<(Seat, u32, String)>,
    losses: Vec<(Seat, Loss)>,
    cores: Vec<LoopSpent>,
    stalls: Vec<Gap>,
    cycles: Vec<Took>,
    account: Option<Account>,
    refused: BTreeMap<u32, u64>,
    unchanged: BTreeMap<(Cow<'static, str>, u32), u64>,
    publish_requests: u64,
    shape: Shape,
    operations: u64,
    rounds: Option<Rounds>,
}

/// A stall, all of whose fields are always there.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Gap {
    at_ns: u64,
    ns: u64,
    suspended: bool,
    of: Option<u64>,
}

impl Part {
    /// When it was stopped before its time, if it was.
    pub fn stopped_at(&self) -> Option<u64> {
        self.stopped.then_some(self.ended_ns)
    }

    /// Of operations that fell due, all of them.
    pub fn planned(&self) -> u64 {
        let tallies = self.tallies.iter().flatten();
        tallies.map(|it| it.whole().sum.counters.planned()).sum()
    }
}

impl From<&Outcome> for Part {
    fn from(it: &Outcome) -> Self {
        let failed = it.failed.iter();
        let stalls = it.stalls.iter();
        Self {
            tallies: it.tallies.clone(),
            ended_ns: it.ended_ns,
            drained_ns: it.drained_ns,
            stopped: it.stopped,
            wanted: it.wanted as u64,
            requests: it.requests,
            opened: it.opened as u64,
            failed: failed
                .map(|it| (it.seat, it.error.status().bits(), it.error.to_string()))
                .collect(),
            losses: it.losses.clone(),
            cores: it.cores.clone(),
            stalls: stalls
                .map(|it| Gap {
                    at_ns: it.at_ns,
                    ns: it.ns,
                    suspended: it.kind == StallKind::Suspended,
                    of: it.of.map(|of| of as u64),
                })
                .collect(),
            cycles: it.cycles.clone(),
            account: it.account.clone(),
            refused: it.refused.clone(),
            unchanged: it.unchanged.clone(),
            publish_requests: it.publish_requests as u64,
            shape: it.shape.clone(),
            operations: it.operations as u64,
            rounds: it.rounds.clone(),
        }
    }
}

impl Outcome {
    /// Adds what became of a part.
    pub fn add(&mut self, part: Part) {
        let ours = self.tallies.iter_mut().flatten();
        for (sum, tally) in ours.zip(part.tallies.iter().flatten()) {
            sum.merge(tally);
        }
        self.ended_ns = self.ended_ns.max(part.ended_ns);
        self.drained_ns = self.drained_ns.max(part.drained_ns);
        self.stopped |= part.stopped;
        self.wanted += part.wanted as usize;
        self.requests = match (self.requests, part.requests) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.opened += part.opened as usize;
        let failed = part.failed.into_iter();
        self.failed.extend(failed.map(|(seat, status, why)| Failed {
            seat,
            error: SessionError::Elsewhere {
                status: status.into(),
                why,
            },
        }));
        self.failed.sort_by_key(|it| it.seat);
        self.losses.extend(part.losses);
        let cores = self.cores.len();
        self.stalls.extend(part.stalls.iter().map(|it| Stall {
            at_ns: it.at_ns,
            ns: it.ns,
            kind: match it.suspended {
                true => StallKind::Suspended,
                false => StallKind::HeldUp,
            },
            // Threads are counted through.
            of: it.of.map(|of| cores + of as usize),
        }));
        self.stalls.sort_by_key(|it| it.at_ns);
        self.cores.extend(part.cores);
        self.cycles.extend(part.cycles);
        match (&mut self.account, part.account) {
            (Some(sum), Some(mut account)) => {
                // Each process has a clock of its own for them, which shows another time when the phase begins.
                if let (Some(ours), Some(theirs)) = (sum.measured_from, account.measured_from) {
                    account.shift(ours.wrapping_sub(theirs) as i64);
                }
                sum.merge(&account);
            }
            (sum, account) => *sum = sum.take().or(account),
        }
        for (status, n) in part.refused {
            *self.refused.entry(status).or_default() += n;
        }
        for (change, n) in part.unchanged {
            *self.unchanged.entry(change).or_default() += n;
        }
        let requests = part.publish_requests as usize;
        self.publish_requests = self.publish_requests.max(requests);
        self.shape.merge(&part.shape);
        self.operations = part.operations as usize;
        match (&mut self.rounds, part.rounds) {
            (Some(sum), Some(rounds)) => sum.merge(rounds),
            (sum, rounds) => *sum = sum.take().or(rounds),
        }
    }
}
