//! What is written down while time passes.

use record::ledger::TICK_NS;
use record::{Histogram, Ledger, Measure};

use crate::outcome::{Group, Totals};
use crate::session::Message;
use crate::world::{Files, World};

/// Intervals that figures of the course are in, at most.
const ROWS: u64 = 600;

/// How far apart looks are: as the ledger's own intervals.
pub fn look_every(length: u64) -> u64 {
    let mut every = TICK_NS;
    while length.div_ceil(every) > ROWS {
        every *= 2;
    }
    every
}

/// One for each run file that is asked for: for each kind of server, each server or each client.
#[derive(Debug)]
pub struct Recorders {
    pub all: Vec<Recorder>,
}

/// What clients found.
#[derive(Debug)]
pub struct Recorder {
    pub ledger: Ledger,
    pub totals: Totals,
    pub outages: Histogram,
    pub cpu_cores: Vec<f64>,
    kind: usize,
    node: Option<u32>,
    client: Option<u32>,
    pub sessions: u64,
    pub items: u64,
}

/// Which recorders are those of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Whose {
    files: Files,
    /// The first recorder of the kind.
    first: usize,
    sessions: usize,
}

impl Whose {
    /// The recorder of a client: of this server of its kind, and this one of its clients.
    pub const fn recorder(&self, node: usize, client: usize) -> usize {
        self.first
            + match self.files {
                Files::Kind => 0,
                Files::Node => node,
                Files::Client => node * self.sessions + client,
            }
    }

    /// The recorders that show what a server spends.
    pub const fn of_node(&self, node: usize) -> std::ops::Range<usize> {
        let from = self.recorder(node, 0);
        let some = match self.files {
            Files::Client => self.sessions,
            _ => 1,
        };
        from..from + some
    }
}

impl Recorders {
    /// Empty recorders, and whose they are, for each kind.
    pub fn new(world: &World) -> (Self, Vec<Whose>) {
        let mut all = Vec::new();
        let mut whose = Vec::new();
        for (n, kind) in world.kinds.iter().enumerate() {
            whose.push(Whose {
                files: world.files,
                first: all.len(),
                sessions: kind.sessions as usize,
            });
            let mut put = |node, client| {
                all.push(Recorder {
                    ledger: Ledger::with_end(world.length),
                    totals: Totals::default(),
                    outages: Histogram::default(),
                    cpu_cores: Vec::new(),
                    kind: n,
                    node,
                    client,
                    sessions: 0,
                    items: 0,
                });
            };
            match world.files {
                Files::Kind => put(None, None),
                Files::Node => (0..kind.count).for_each(|it| put(Some(it), None)),
                Files::Client => {
                    for node in 0..kind.count {
                        (0..kind.sessions).for_each(|it| put(Some(node), Some(it)));
                    }
                }
            }
        }
        (Self { all }, whose)
    }
}

impl Recorder {
    /// A message has come. `usual` is how long values may wait for sampling and publishing alone.
    #[inline]
    pub fn came(&mut self, now: u64, message: Message, values: u32, usual: u64) {
        let delay = now.saturating_sub(message.fresh);
        let transport = now.saturating_sub(message.sent).min(delay);
        let phase = message
            .due
            .saturating_sub(message.fresh)
            .min(usual)
            .min(delay - transport);
        let n = u64::from(values);
        let ledger = &mut self.ledger;
        ledger.note(now, Measure::Delay, delay, n);
        ledger.note(now, Measure::Phase, phase, n);
        ledger.note(now, Measure::Queueing, delay - transport - phase, n);
        ledger.note(now, Measure::Transport, transport, 1);
        ledger.note(
            now,
            Measure::PublishDelay,
            now.saturating_sub(message.sent),
            1,
        );
        self.totals.messages += 1;
        self.totals.values += n;
    }

    /// The time between two messages, as the server sent them.
    #[inline]
    pub fn cycle(&mut self, now: u64, cycle: u64) {
        self.ledger.note(now, Measure::Cycle, cycle, 1);
    }

    /// What came of it.
    pub fn close(self) -> Group {
        Group {
            kind: self.kind,
            node: self.node,
            client: self.client,
            sessions: self.sessions,
            items: self.items,
            tally: self.ledger.finish(),
            totals: self.totals,
            outages: self.outages,
            cpu_cores: self.cpu_cores,
        }
    }
}
