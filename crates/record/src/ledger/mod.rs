//! The ledger of a core: told of every operation, in less than 40 ns each.

mod bin;
mod counters;
mod edge;
mod measure;
mod moments;
mod tally;
mod tick;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use bin::{Bin, Statuses};
pub use counters::{Counters, Gauge, Sizes};
pub use measure::Measure;
pub use tally::{BINS, Tally, Window};

use crate::Histogram;
use crate::histogram::exact;
use moments::Moments;
use tick::Tick;

/// Width of a tick: the first width of bins, and the rhythm of the live display.
pub const TICK_NS: u64 = 100_000_000;

/// Closed ticks that wait for [`Ledger::take_closed`]; older ones are given up.
const WAITING: usize = 64;

/// `BadTimeout`, under which operations are counted that were given up.
// Part 6, Annex A.2.
pub const BAD_TIMEOUT: u32 = 0x800A_0000;

/// Whether a status is Bad.
// Part 4, 7.39.1: severity 10, and 11, which is reserved and to be treated as Bad.
#[inline]
pub(crate) const fn is_bad(status: u32) -> bool {
    status & 0x8000_0000 != 0
}

/// The three times of an operation, in nanoseconds since the phase began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When the plan wanted it to be sent; in a closed loop, when its slot was free and any
    /// think time over.
    pub planned: u64,
    /// The clock before the write that carried it.
    pub sent: u64,
    /// The clock after the read that brought its response, or when it was given up.
    pub completed: u64,
}

/// Why an operation was sent after its planned time. The parts add up to sent − planned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The generator woke up late or was busy: its own fault.
    pub pacer: u64,
    /// All slots were in flight: the server had not answered yet.
    pub slot: u64,
    /// The socket took no more: the server did not read.
    pub socket: u64,
}

impl Lateness {
    /// Of something that was done by who does one thing at a time, and was free for it from a time on: what
    /// waited for the thing before it waited for the server.
    pub fn in_turn(planned: u64, free: u64, sent: u64) -> Self {
        let slot = free.max(planned).min(sent) - planned.min(sent);
        Self {
            pacer: sent.saturating_sub(planned) - slot,
            slot,
            socket: 0,
        }
    }
}

/// A tick that is over, for a live display. Ticks of several cores are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// When it began.
    pub start_ns: u64,
    /// How long it was: 100 ms, or as long as the drained time after the end.
    pub width_ns: u64,
    /// What was counted in it.
    pub counters: Counters,
    /// Completed − planned.
    #[serde(with = "exact")]
    pub response: Histogram,
    /// Delays of notified values.
    #[serde(with = "exact")]
    pub delay: Histogram,
    /// Operations that completed with a bad status, timeouts among them.
    pub errors: u64,
    /// Operations by the status that they ended with.
    pub statuses: Statuses,
    /// Operations in flight at its end.
    pub in_flight: i64,
}

impl Closed {
    /// Operations that succeeded: a rate is of these.
    pub fn succeeded(&self) -> u64 {
        self.counters.completed.saturating_sub(self.errors)
    }

    /// Adds what another core did in the same tick.
    pub fn merge(&mut self, other: &Self) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.width_ns = self.width_ns.max(other.width_ns);
        self.counters.merge(&other.counters);
        self.response.merge(&other.response);
        self.delay.merge(&other.delay);
        self.errors += other.errors;
        self.statuses.merge(&other.statuses);
        self.in_flight += other.in_flight;
    }

    /// Operations that succeeded, per second.
    pub fn rate(&self) -> f64 {
        self.succeeded() as f64 * 1e9 / self.width_ns.max(1) as f64
    }
}

/// What one core writes down during one phase.
///
/// Every entry names its time. Entries come in rising order nearly always; an entry for a tick
/// that is over already is accepted and costs a microsecond more.
#[derive(Debug)]
pub struct Ledger {
    open: Tick,
    // For entries that come after their tick was closed.
    straggler: Option<Box<Tick>>,
    end: u64,
    // Times at which no tick goes on, rising.
    cuts: Vec<u64>,
    // Of closed ticks.
    in_flight: i64,
    tally: Tally,
    waiting: VecDeque<Closed>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// An empty ledger of a phase without a known end.
    pub fn new() -> Self {
        Self {
            open: Tick::new(),
            straggler: None,
            end: u64::MAX,
            cuts: Vec::new(),
            in_flight: 0,
            tally: Tally::default(),
            waiting: VecDeque::new(),
        }
    }

    /// An empty ledger of a phase that ends at a time: what completes then or later counts as
    /// drained.
    pub fn with_end(end_ns: u64) -> Self {
        let mut ledger = Self::new();
        ledger.end_at(end_ns);
        ledger
    }

    /// The same, empty still, and its figures can be cut exactly at these times, however long the phase
    /// is.
    #[must_use]
    pub fn with_cuts(mut self, cuts: &[u64]) -> Self {
        let cuts = cuts.iter().copied().filter(|&at| at > 0 && at < self.end);
        self.cuts = cuts.collect();
        self.cuts.sort_unstable();
        self.cuts.dedup();
        self.tally = Tally::with_cuts(&self.cuts);
        self.open.place(0, self.end, &self.cuts);
        self
    }

    /// The phase ends: entries of that time or later are drained. They keep their place in the
    /// histograms of response and service (else the slowest operations would be missing) but count
    /// for no rate. Entries before it still go where they belong.
    pub fn end_at(&mut self, end_ns: u64) {
        self.end = end_ns;
        if self.open.end() > end_ns {
            self.turn(self.open.start().min(end_ns));
        }
    }

    /// `n` operations with the same times completed with the same status, each with so many
    /// values. What completes together in one drained buffer is counted together.
    #[inline]
    pub fn done(&mut self, times: Times, status: u32, values: u32, n: u32) {
        let n = u64::from(n);
        let tick = self.tick(times.completed);
        tick.measure(times, n);
        let counters = &mut tick.counters;
        counters.completed += n;
        counters.completed_at += u128::from(times.completed) * u128::from(n);
        counters.values += u64::from(values) * n;
        tick.statuses.add(status, n);
        if !is_bad(status) {
            tick.moments.note(times.completed);
        }
    }

    /// A message came that nobody had asked for, with so many values: it counts as one operation, sent and completed
    /// in the same moment, and has no times but those that are noted of it. One that cannot be read has a Bad
    /// status.
    #[inline]
    pub fn came(&mut self, at: u64, status: u32, values: u32) {
        let tick = self.tick(at);
        let counters = &mut tick.counters;
        counters.sent += 1;
        counters.sent_at += u128::from(at);
        counters.completed += 1;
        counters.completed_at += u128::from(at);
        counters.values += u64::from(values);
        tick.statuses.add(status, 1);
        if !is_bad(status) {
            tick.moments.note(at);
        }
    }

    /// `n` operations completed with an error; as [`done`](Self::done) without values. They stay in
    /// the population of response and service.
    #[inline]
    pub fn failed(&mut self, times: Times, status: u32, n: u32) {
        self.done(times, status, 0, n);
    }

    /// `n` operations were given up after the client's own timeout, at `times.completed`. They stay
    /// in the population of response and service, with the time that was waited, and are counted as
    /// `BadTimeout`.
    pub fn timed_out(&mut self, times: Times, n: u32) {
        self.done(times, BAD_TIMEOUT, 0, n);
        self.tick(times.completed).counters.timeouts += u64::from(n);
    }

    /// `n` values inside responses had a status that is not Good.
    #[inline]
    pub fn values_failed(&mut self, at: u64, status: u32, n: u32) {
        self.tick(at).value_statuses.add(status, u64::from(n));
    }

    /// `n` operations were sent, each late by the same parts.
    #[inline]
    pub fn late(&mut self, sent: u64, lateness: Lateness, n: u32) {
        let n = u64::from(n);
        let tick = self.tick(sent);
        tick.counters.sent += n;
        tick.counters.sent_at += u128::from(sent) * u128::from(n);
        tick.late(lateness, n);
    }

    /// `n` planned operations were left out to catch up after a stall.
    pub fn skipped(&mut self, at: u64, n: u64) {
        self.tick(at).counters.skipped += n;
    }

    /// `n` planned operations were still waiting to be sent when the generator stopped. They enter
    /// the response histogram with the time they waited: a lower bound.
    pub fn unsent(&mut self, planned: u64, until: u64, n: u64) {
        let tick = self.tick(until);
        tick.counters.unsent += n;
        tick.add(Measure::Response, until.saturating_sub(planned), n);
    }

    /// `n` operations were still in flight when the generator stopped waiting, at
    /// `times.completed`. They enter response and service with the time that was waited: a lower
    /// bound.
    pub fn unfinished(&mut self, times: Times, n: u32) {
        let n = u64::from(n);
        let tick = self.tick(times.completed);
        tick.counters.unfinished += n;
        tick.measure(times, n);
    }

    /// A buffer was drained so long after the kernel had received it: the client's own lag.
    #[inline]
    pub fn lag(&mut self, at: u64, lag_ns: u64) {
        self.tick(at).add(Measure::Lag, lag_ns, 1);
    }

    /// `n` equal values of a measure of notifications, which a [`NotificationLedger`](crate::NotificationLedger) takes, or who has none.
    #[inline]
    pub fn note(&mut self, at: u64, measure: Measure, nanoseconds: u64, n: u64) {
        self.tick(at).add(measure, nanoseconds, n);
    }

    /// `n` messages of the same size were written.
    #[inline]
    pub fn sent_bytes(&mut self, at: u64, bytes_each: u32, n: u32) {
        self.tick(at).counters.sent_sizes.add(bytes_each, n);
    }

    /// `n` messages of the same size were received.
    #[inline]
    pub fn received_bytes(&mut self, at: u64, bytes_each: u32, n: u32) {
        self.tick(at).counters.received_sizes.add(bytes_each, n);
    }

    /// A look at a session: requests in flight, and operations that are due and wait. For mean
    /// levels that can be trusted, look at regular times, not when something happened.
    #[inline]
    pub fn levels(&mut self, at: u64, in_flight: u64, waiting: u64) {
        let counters = &mut self.tick(at).counters;
        counters.in_flight.add(in_flight);
        counters.waiting.add(waiting);
    }

    /// A connection was lost, and came back after so many nanoseconds.
    pub fn reconnected(&mut self, at: u64, outage_ns: u64) {
        let counters = &mut self.tick(at).counters;
        counters.reconnects += 1;
        counters.outage_ns += outage_ns;
    }

    /// Nothing more happened until a time that the phase lasted all the same.
    pub fn quiet_until(&mut self, at: u64) {
        self.close_open();
        let last = at.saturating_sub(1);
        self.tally.add(last, &Bin::default(), Moments::default());
        self.open.place(at, self.end, &self.cuts);
    }

    /// Ticks that are over by now and were not taken yet, the oldest first. Costs a few
    /// microseconds each; ask every 100 ms.
    pub fn take_closed(&mut self, now: u64) -> impl Iterator<Item = Closed> + '_ {
        if now >= self.open.end() {
            self.turn(now);
        }
        self.waiting.drain(..)
    }

    /// All that was not taken yet, when nothing more will be written down. What was drained has the width up to now.
    pub fn take_rest(&mut self, now: u64) -> impl Iterator<Item = Closed> + '_ {
        self.close_open();
        self.close_straggler();
        self.waiting.drain(..).map(move |tick| Closed {
            width_ns: tick.width_ns.min(now.saturating_sub(tick.start_ns)),
            ..tick
        })
    }

    /// The phase is over: what was written down, to be merged with that of other cores.
    pub fn finish(mut self) -> Tally {
        self.close_open();
        self.close_straggler();
        self.tally.end_ns = (self.end != u64::MAX).then_some(self.end);
        self.tally
    }

    /// The tick that an entry of this time belongs to.
    #[inline]
    fn tick(&mut self, at: u64) -> &mut Tick {
        if !self.open.covers(at) {
            return self.elsewhere(at);
        }
        &mut self.open
    }

    #[cold]
    fn elsewhere(&mut self, at: u64) -> &mut Tick {
        if at >= self.open.end() {
            self.turn(at);
            return &mut self.open;
        }
        let tick = self.straggler.get_or_insert_with(|| Box::new(Tick::new()));
        if !tick.covers(at) {
            close(
                tick,
                &mut self.tally,
                &mut self.in_flight,
                &mut self.waiting,
            );
            tick.place(at, self.end, &self.cuts);
        }
        tick
    }

    /// Closes the open tick and opens the one of a time.
    fn turn(&mut self, at: u64) {
        self.close_open();
        self.open.place(at, self.end, &self.cuts);
    }

    fn close_open(&mut self) {
        close(
            &mut self.open,
            &mut self.tally,
            &mut self.in_flight,
            &mut self.waiting,
        );
    }

    fn close_straggler(&mut self) {
        if let Some(tick) = &mut self.straggler {
            close(
                tick,
                &mut self.tally,
                &mut self.in_flight,
                &mut self.waiting,
            );
        }
    }
}

/// Empties a tick into the tally, and tells whoever watches.
fn close(tick: &mut Tick, tally: &mut Tally, in_flight: &mut i64, waiting: &mut VecDeque<Closed>) {
    let (start_ns, width_ns) = (tick.start(), tick.width());
    let statuses = tick.statuses.clone();
    let Some((counters, [response, delay])) = tick.close_into(tally) else {
        return;
    };
    *in_flight += counters.level();
    if waiting.len() == WAITING {
        waiting.pop_front();
    }
    waiting.push_back(Closed {
        start_ns,
        width_ns,
        counters,
        response,
        delay,
        errors: statuses.bad(),
        statuses,
        in_flight: *in_flight,
    });
}
