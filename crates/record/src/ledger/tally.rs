//! What the ledgers of all cores add up to.

use serde::{Deserialize, Serialize};

use crate::Histogram;

use super::edge::Edges;
use super::moments::{MOMENTS, Moments};
use super::{Bin, Measure, TICK_NS};

/// How many bins there can be; then each two become one, of twice the width.
pub const BINS: usize = 600;

/// A phase in bins of equal width. Merging is exact, commutative and associative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Tally {
    width: u64,
    bins: Vec<Bin>,
    /// When something succeeded, of each bin.
    moments: Vec<Moments>,
    edges: Edges,
    /// What came after the phase's end.
    pub drained: Bin,
    /// When the phase ended; none if nobody said so.
    pub end_ns: Option<u64>,
}

/// A tally as it comes from another process, before it is known whether it can be one.
#[derive(Deserialize)]
struct Parts {
    width: u64,
    bins: Vec<Bin>,
    moments: Vec<Moments>,
    edges: Edges,
    drained: Bin,
    end_ns: Option<u64>,
}

impl TryFrom<Parts> for Tally {
    type Error = String;

    fn try_from(it: Parts) -> Result<Self, String> {
        let doubled = it.width / TICK_NS;
        if !it.width.is_multiple_of(TICK_NS) || !doubled.is_power_of_two() || doubled > MOST_DOUBLED
        {
            return Err(format!("a bin of {} ns (want 100 ms, doubled)", it.width));
        }
        if it.bins.len() > BINS || it.moments.len() > BINS {
            return Err(format!("{} bins (want at most {BINS})", it.bins.len()));
        }
        Ok(Self {
            width: it.width,
            bins: it.bins,
            moments: it.moments,
            edges: it.edges,
            drained: it.drained,
            end_ns: it.end_ns,
        })
    }
}

/// With bins so much wider than a tick a phase takes longer than a century.
const MOST_DOUBLED: u64 = 1 << 26;

impl Default for Tally {
    fn default() -> Self {
        Self {
            width: TICK_NS,
            bins: Vec::new(),
            moments: Vec::new(),
            edges: Edges::default(),
            drained: Bin::default(),
            end_ns: None,
        }
    }
}

impl Tally {
    /// The width of a bin: 100 ms, or that doubled until 600 bins hold the phase.
    pub fn width_ns(&self) -> u64 {
        self.width
    }

    /// The bins, the first from 0 to the width. The last one may be cut short by the phase's end.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// An empty tally that can be cut exactly at some times, wherever bins end.
    pub(super) fn with_cuts(cuts: &[u64]) -> Self {
        Self {
            edges: Edges::new(cuts),
            ..Self::default()
        }
    }

    /// Whether a window may begin or end at this time exactly; elsewhere it does at the edge of a bin.
    pub fn can_be_cut_at(&self, at: u64) -> bool {
        at.is_multiple_of(self.width) || self.edges.has(at) || at >= self.phase_end()
    }

    /// Adds what another core wrote down in the same phase. Only where both can be cut the sum can.
    pub fn merge(&mut self, other: &Self) {
        while self.width < other.width {
            self.fold();
        }
        if other.width < self.width {
            let mut other = other.clone();
            while other.width < self.width {
                other.fold();
            }
            self.add_alike(&other);
        } else {
            self.add_alike(other);
        }
        self.drained.merge(&other.drained);
        self.end_ns = self.end_ns.max(other.end_ns);
    }

    /// Adds bins of the same width.
    fn add_alike(&mut self, other: &Self) {
        if self.bins.is_empty() && self.edges.is_empty() {
            self.edges = other.edges.blank();
        }
        if self.edges.is_like(&other.edges) {
            self.edges.merge(&other.edges);
        } else if !(other.bins.is_empty() && other.edges.is_empty()) {
            self.edges = Edges::default();
        }
        if self.bins.len() < other.bins.len() {
            self.bins.resize_with(other.bins.len(), Bin::default);
        }
        for (ours, theirs) in self.bins.iter_mut().zip(&other.bins) {
            ours.merge(theirs);
        }
        if self.moments.len() < other.moments.len() {
            self.moments.resize(other.moments.len(), Moments::default());
        }
        for (ours, theirs) in self.moments.iter_mut().zip(&other.moments) {
            ours.merge(*theirs);
        }
    }

    /// Bytes of memory that it holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        let bins = self.bins.capacity() * size_of::<Bin>();
        let inside: usize = self.bins.iter().map(Bin::heap_bytes).sum();
        bins + inside + self.drained.heap_bytes()
    }

    /// Adds a tick, which crosses no time at which the tally can be cut.
    pub(super) fn add(&mut self, start: u64, bin: &Bin, moments: Moments) {
        while start / self.width >= BINS as u64 {
            self.fold();
        }
        let at = (start / self.width) as usize;
        if self.bins.len() <= at {
            self.bins.resize_with(at + 1, Bin::default);
            self.moments.resize(at + 1, Moments::default());
        }
        self.bins[at].merge(bin);
        let part = start % self.width / TICK_NS;
        self.moments[at].merge(moments.within(part, self.width / TICK_NS));
        self.edges.add(start, self.width, bin);
    }

    fn fold(&mut self) {
        self.edges.fold(&self.bins, self.width);
        let mut bins = std::mem::take(&mut self.bins).into_iter();
        while let Some(mut first) = bins.next() {
            if let Some(second) = bins.next() {
                first.merge(&second);
            }
            self.bins.push(first);
        }
        let two = |pair: &[Moments]| {
            let mut both = Moments::default();
            for (part, moments) in (0..).zip(pair) {
                both.merge(moments.within(part, 2));
            }
            both
        };
        self.moments = self.moments.chunks(2).map(two).collect();
        self.width *= 2;
    }

    /// What happened in a window. It begins and ends exactly where it [can be cut](Self::can_be_cut_at);
    /// elsewhere it takes all of the bin that holds its begin or end. A window that reaches the
    /// phase's end has what was drained in its histograms and errors, but not in its rates.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Window {
        let end_ns = self.phase_end();
        let from = match self.edges.has(from_ns) {
            true => from_ns,
            false => from_ns - from_ns % self.width,
        };
        let to = match self.edges.has(to_ns) {
            true => to_ns,
            false => to_ns.div_ceil(self.width).saturating_mul(self.width),
        };
        let mut sum = Bin::default();
        let first = usize::try_from(from / self.width).unwrap_or(usize::MAX);
        let last = usize::try_from(to.div_ceil(self.width)).unwrap_or(usize::MAX);
        let bins = self.bins.iter().enumerate().take(last).skip(first);
        for (n, bin) in bins {
            let begin = n as u64 * self.width;
            let end = begin.saturating_add(self.width);
            self.edges.part((begin, end), (from, to), bin, &mut sum);
        }
        let completed_in_time = sum.counters.completed;
        let failed_in_time = sum.statuses.bad();
        let timed_out_in_time = sum.counters.timeouts;
        let values_in_time = sum.counters.values;
        let reaches_end = to_ns >= end_ns;
        if reaches_end {
            sum.merge(&self.drained);
        }
        Window {
            from_ns: from,
            to_ns: to
                .min((self.bins.len() as u64).saturating_mul(self.width))
                .min(end_ns),
            sum,
            completed_in_time,
            failed_in_time,
            timed_out_in_time,
            values_in_time,
        }
    }

    /// When nothing succeeded for longer than so, up to the phase's end: from and to. Both are right to
    /// the 128th part of a bin, and never too early and too late.
    pub fn gaps(&self, longer_than_ns: u64) -> Vec<(u64, u64)> {
        let moment = (self.width / MOMENTS).max(1);
        let mut gaps = Vec::new();
        let mut since = 0;
        let mut gap = |from: u64, to: u64| {
            if to.saturating_sub(from) > longer_than_ns {
                gaps.push((from, to));
            }
        };
        for (n, moments) in self.moments.iter().enumerate() {
            for at in moments.iter() {
                let at = n as u64 * self.width + at * moment;
                gap(since, at);
                since = at.saturating_add(moment);
            }
        }
        gap(since, self.phase_end());
        gaps
    }

    /// When the phase ended, or the end of its last bin if nobody said so.
    pub fn phase_end(&self) -> u64 {
        self.end_ns
            .unwrap_or((self.bins.len() as u64).saturating_mul(self.width))
    }

    /// All of the phase.
    pub fn whole(&self) -> Window {
        self.window(0, u64::MAX)
    }

    /// The mean number of operations in flight in each bin, from the times at which they were sent
    /// and ended.
    pub fn in_flight(&self) -> Vec<f64> {
        let mut level = 0i64;
        let mut means = Vec::with_capacity(self.bins.len());
        for (at, bin) in self.bins.iter().enumerate() {
            let start = at as u64 * self.width;
            let end = start
                .saturating_add(self.width)
                .min(self.end_ns.unwrap_or(u64::MAX));
            let counters = &bin.counters;
            // Each arrival adds one from its time to the bin's end, each departure takes one away.
            let arrived = i128::from(end) * i128::from(counters.sent) - counters.sent_at as i128;
            let left =
                i128::from(end) * i128::from(counters.completed) - counters.completed_at as i128;
            let width = end.saturating_sub(start).max(1);
            means.push(level as f64 + (arrived - left) as f64 / width as f64);
            level += counters.level();
        }
        means
    }
}

/// A part of a phase, added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Where it begins: as asked for, or the edge of a bin before.
    pub from_ns: u64,
    /// Where it ends: as asked for, the edge of a bin behind, or the phase's end.
    pub to_ns: u64,
    /// Everything in it, and what was drained if it reaches the phase's end.
    pub sum: Bin,
    /// Operations that ended inside it, without the drained ones.
    pub completed_in_time: u64,
    /// Of those, with a Bad status, timeouts among them.
    pub failed_in_time: u64,
    /// Of those, given up after the client's own timeout.
    pub timed_out_in_time: u64,
    /// Values of those.
    pub values_in_time: u64,
}

impl Window {
    /// One of its histograms.
    pub fn histogram(&self, measure: Measure) -> &Histogram {
        self.sum.histogram(measure)
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Operations that succeeded inside it: a rate is of these.
    pub fn succeeded_in_time(&self) -> u64 {
        self.completed_in_time.saturating_sub(self.failed_in_time)
    }

    /// Operations that succeeded, per second; none for an empty window.
    pub fn rate(&self) -> Option<f64> {
        let width = self.to_ns.saturating_sub(self.from_ns);
        (width > 0).then(|| self.succeeded_in_time() as f64 * 1e9 / width as f64)
    }
}
