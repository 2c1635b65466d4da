//! The tick that is open: where the hot path writes.

use crate::Histogram;
use crate::histogram::dense::Dense;

use super::bin::{Bin, Statuses};
use super::moments::Moments;
use super::{Counters, Lateness, Measure, TICK_NS, Tally, Times};

/// At most 100 ms of a phase, never across its end or a time at which it is cut; or all that was drained after it.
#[derive(Debug)]
pub(super) struct Tick {
    start: u64,
    width: u64,
    drained: bool,
    pub(super) counters: Counters,
    pub(super) statuses: Statuses,
    pub(super) value_statuses: Statuses,
    pub(super) moments: Moments,
    dense: [Dense; Measure::ALL.len()],
}

impl Tick {
    pub(super) fn new() -> Self {
        Self {
            start: 0,
            width: TICK_NS,
            drained: false,
            counters: Counters::default(),
            statuses: Statuses::default(),
            value_statuses: Statuses::default(),
            moments: Moments::default(),
            dense: std::array::from_fn(|_| Dense::new()),
        }
    }

    /// Moves an empty tick to where a time belongs. `cuts` are rising.
    pub(super) fn place(&mut self, at: u64, end: u64, cuts: &[u64]) {
        debug_assert!(cuts.is_sorted());
        self.drained = at >= end;
        if self.drained {
            self.start = end;
            self.width = u64::MAX - end;
        } else {
            let begin = at - at % TICK_NS;
            let next = cuts.partition_point(|&cut| cut <= at);
            let last = next.checked_sub(1).and_then(|n| cuts.get(n));
            self.start = last.map_or(begin, |&cut| begin.max(cut));
            let until = begin.saturating_add(TICK_NS).min(end);
            self.width = cuts.get(next).map_or(until, |&cut| until.min(cut)) - self.start;
        }
    }

    #[inline]
    pub(super) fn covers(&self, at: u64) -> bool {
        at.wrapping_sub(self.start) < self.width
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn width(&self) -> u64 {
        self.width
    }

    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.width)
    }

    #[inline]
    pub(super) fn add(&mut self, measure: Measure, value: u64, n: u64) {
        self.dense[measure as usize].record(value, n);
    }

    #[inline]
    pub(super) fn measure(&mut self, times: Times, n: u64) {
        let response = times.completed.saturating_sub(times.planned);
        let service = times.completed.saturating_sub(times.sent);
        self.add(Measure::Response, response, n);
        self.add(Measure::Service, service, n);
    }

    #[inline]
    pub(super) fn late(&mut self, lateness: Lateness, n: u64) {
        let Lateness {
            pacer,
            slot,
            socket,
        } = lateness;
        let sum = pacer.saturating_add(slot).saturating_add(socket);
        self.add(Measure::Lateness, sum, n);
        self.add(Measure::Pacer, pacer, n);
        self.add(Measure::Slot, slot, n);
        self.add(Measure::Socket, socket, n);
    }

    /// Empties it into the tally; what a live display needs comes back.
    pub(super) fn close_into(&mut self, tally: &mut Tally) -> Option<(Counters, [Histogram; 2])> {
        let bin = Bin {
            counters: std::mem::take(&mut self.counters),
            statuses: std::mem::take(&mut self.statuses),
            value_statuses: std::mem::take(&mut self.value_statuses),
            histograms: std::array::from_fn(|at| self.dense[at].take()),
        };
        let moments = std::mem::take(&mut self.moments);
        if bin == Bin::default() {
            return None;
        }
        let histograms = [Measure::Response, Measure::Delay].map(|it| bin.histogram(it).clone());
        let live = (bin.counters, histograms);
        if self.drained {
            tally.drained.merge(&bin);
        } else {
            tally.add(self.start, &bin, moments);
        }
        Some(live)
    }
}
