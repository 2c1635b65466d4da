//! What a loop tells: while it runs, and at the end.

use serde::{Deserialize, Serialize};

use record::notification_ledger::{Account, Stretch};
use record::run::Stall;
use record::{Closed, Ledger};

use super::cycle::Took;
use super::lane::Lane;
use super::spent::{Idle, Spent};

/// What a loop tells while it runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Progress {
    /// Which loop.
    pub core: usize,
    /// Intervals that are over, by ledger.
    pub closed: Vec<(usize, Closed)>,
    /// What subscriptions brought since the measurement began; none where there are none.
    pub heard: Option<Box<Stretch>>,
    /// Time that the loop has run.
    pub ran_ns: u64,
    /// Time of that in which there was nothing to do.
    pub idle_ns: u64,
    /// Whether it is the last of this loop: the rest of what happened, however short the interval.
    pub last: bool,
}

/// What ledgers have for whoever watches, by their number.
pub(super) fn closed<'a>(
    ledgers: impl IntoIterator<Item = (usize, &'a mut Ledger)>,
    t: u64,
    last: bool,
) -> Vec<(usize, Closed)> {
    let mut closed = Vec::new();
    for (number, ledger) in ledgers {
        match last {
            true => closed.extend(ledger.take_rest(t).map(|tick| (number, tick))),
            false => closed.extend(ledger.take_closed(t).map(|tick| (number, tick))),
        }
    }
    closed
}

/// A session that was lost.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Loss {
    /// Which.
    pub session: usize,
    /// When, in nanoseconds since the phase began.
    pub at_ns: u64,
    /// Why.
    pub reason: String,
    /// Whether it came back.
    pub back: bool,
}

/// What a loop has to tell at the end. Its ledgers are still open: what was due and never sent
/// depends on when the phase ended, which all loops decide together ([`settle`](super::settle)).
#[derive(Debug)]
pub struct Report<S> {
    /// The sessions that it had.
    pub lanes: Vec<Left<S>>,
    /// What was written down.
    pub ledgers: Vec<Ledger>,
    /// What is unanswered at the end is given up there.
    pub abandons: bool,
    /// How long each cycle took, where all sessions send together.
    pub cycles: Vec<Took>,
    /// What subscriptions brought.
    pub account: Option<Account>,
    /// When the phase ended, if that was not because there was nothing more to do.
    pub ended_ns: Option<u64>,
    /// Sessions that were lost.
    pub losses: Vec<Loss>,
    /// What it cost.
    pub spent: LoopSpent,
}

/// What a loop cost.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LoopSpent {
    /// Sessions that it had.
    pub sessions: usize,
    /// Time that it ran, until nothing more was to be sent or awaited.
    pub ran_ns: u64,
    /// Time of that in which there was nothing to do; a spinning loop is idle then.
    pub idle_ns: u64,
    /// The same in the course of time; of a thread that makes calls it is not known.
    pub idle: Idle,
    /// CPU time of the thread, where the system tells.
    pub cpu_ns: Option<u64>,
    /// Time in which the thread could have run and had no CPU, where the system tells.
    pub starved_ns: Option<u64>,
    /// When it did not run though it was to; of a thread that makes calls it is not known.
    #[serde(skip)]
    pub stalls: Vec<Stall>,
    /// Bytes given to sockets.
    pub sent_bytes: u64,
    /// Bytes taken from sockets.
    pub received_bytes: u64,
    /// Writes that carried something.
    pub writes: u64,
    /// Reads that brought something.
    pub reads: u64,
}

impl<S> Report<S> {
    /// Of a thread that made one call after another and waited for each, but for what it wrote down. It ran and
    /// slept so long.
    pub fn of_calls(
        seats: usize,
        ended_ns: Option<u64>,
        ran_ns: u64,
        slept: u64,
        spent: &Spent,
    ) -> Self {
        Self {
            abandons: false,
            lanes: Vec::new(),
            ledgers: Vec::new(),
            cycles: Vec::new(),
            account: None,
            ended_ns,
            losses: Vec::new(),
            spent: LoopSpent {
                sessions: seats,
                ran_ns,
                // A call that waits for its answer is not at work. Where the system does not tell what the thread spent, nobody
                // can say that it worked: no verdict is made of that.
                idle_ns: ran_ns.saturating_sub(spent.cpu_ns.unwrap_or(0)).max(slept),
                cpu_ns: spent.cpu_ns,
                starved_ns: spent.starved_ns,
                ..LoopSpent::default()
            },
        }
    }
}

/// A session when its loop has nothing more to do for it.
#[derive(Debug)]
pub struct Left<S> {
    /// Which.
    pub index: usize,
    /// Its first ledger.
    pub base: usize,
    /// What it did.
    pub lane: Lane,
    /// Its socket, if the connection is still there.
    pub socket: Option<S>,
}
