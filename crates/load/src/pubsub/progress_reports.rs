//! Who is told what was heard or published so far, a few times a second.

use std::time::Duration;

use record::ledger::TICK_NS;
use record::{Ledger, Measure};

use super::arrivals::now;
use super::received::{Received, SoFar};

/// Who is told what was heard so far.
pub(super) struct Telling<'a> {
    /// When the next interval is over, on the clock of the phase.
    next_ns: u64,
    origin_ns: u64,
    told: &'a mut dyn FnMut(SoFar),
}

impl<'a> Telling<'a> {
    /// Of what began then, in nanoseconds since 1970.
    pub fn new(origin_ns: u64, told: &'a mut dyn FnMut(SoFar)) -> Self {
        Self {
            next_ns: TICK_NS,
            origin_ns,
            told,
        }
    }

    /// Looks whether an interval is over: by the time of what came last, or by the clock where nothing comes.
    pub fn turn(&mut self, received: &mut Received, idle: bool) {
        let at = match (received.latest(), idle) {
            (Some(at), false) => at,
            _ => now().saturating_sub(self.origin_ns),
        };
        if at >= self.next_ns {
            self.next_ns = at - at % TICK_NS + TICK_NS;
            self.tell(received, at, false);
        }
    }

    /// All that was not told yet.
    pub fn end(&mut self, received: &mut Received) {
        self.tell(received, now().saturating_sub(self.origin_ns), true);
    }

    pub fn tell(&mut self, received: &mut Received, at: u64, last: bool) {
        if let Some(so_far) = received.so_far(at, last) {
            (self.told)(so_far);
        }
    }
}

/// What was published so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub messages: u64,
    pub values: u64,
    pub refused: u64,
}

/// Who is told what was published so far. Times are those since the first cycle.
pub(super) struct Publishing<'a> {
    next_ns: u64,
    /// How late cycles were since it was told last.
    ledger: Ledger,
    /// Values that were told.
    values: u64,
    told: &'a mut dyn FnMut(SoFar),
}

impl<'a> Publishing<'a> {
    /// Nothing was published yet.
    pub fn new(told: &'a mut dyn FnMut(SoFar)) -> Self {
        Self {
            next_ns: TICK_NS,
            ledger: Ledger::new(),
            values: 0,
            told,
        }
    }

    /// A cycle began so late.
    pub fn late(&mut self, at_ns: u64, late_ns: u64) {
        self.ledger.note(at_ns, Measure::Delay, late_ns, 1);
    }

    /// So long at most it is waited for the next cycle: there is something to tell before.
    pub fn patience(&self, timeout: Option<Duration>) -> Option<Duration> {
        let most = Duration::from_nanos(TICK_NS);
        Some(timeout.map_or(most, |it| it.min(most)))
    }

    /// Looks whether an interval is over.
    pub fn turn(&mut self, at_ns: u64, done: Done) {
        if at_ns >= self.next_ns {
            self.next_ns = at_ns - at_ns % TICK_NS + TICK_NS;
            self.tell(at_ns, done, false);
        }
    }

    /// All that was not told yet, when nothing more is published.
    pub fn tell(&mut self, at_ns: u64, done: Done, last: bool) {
        let values = done.values - self.values;
        self.values = done.values;
        let values = u32::try_from(values).unwrap_or(u32::MAX);
        // Of the interval that is over, even if nothing was sent in it: a rate is over all of its time.
        self.ledger.came(at_ns.saturating_sub(1), 0, values);
        let mut ledger = std::mem::take(&mut self.ledger);
        (self.told)(SoFar {
            closed: ledger.take_rest(at_ns).collect(),
            messages: done.messages,
            values: done.values,
            lost: done.refused,
            senders: Vec::new(),
            heard_for_ns: at_ns,
            last,
        });
    }
}
