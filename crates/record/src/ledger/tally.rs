//! What the ledgers of all cores add up to.

use crate::Histogram;

use super::{Bin, Measure, TICK_NS};

/// How many bins there can be; then each two become one, of twice the width.
pub const BINS: usize = 600;

/// A phase in bins of equal width. Merging is exact, commutative and associative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    width: u64,
    bins: Vec<Bin>,
    /// What came after the phase's end.
    pub drained: Bin,
    /// When the phase ended; none if nobody said so.
    pub end_ns: Option<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            width: TICK_NS,
            bins: Vec::new(),
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

    /// Adds what another core wrote down in the same phase.
    pub fn merge(&mut self, other: &Self) {
        while self.width < other.width {
            self.fold();
        }
        let scale = (self.width / other.width).max(1) as usize;
        let needed = other.bins.len().div_ceil(scale);
        if self.bins.len() < needed {
            self.bins.resize_with(needed, Bin::default);
        }
        for (at, bin) in other.bins.iter().enumerate() {
            self.bins[at / scale].merge(bin);
        }
        self.drained.merge(&other.drained);
        self.end_ns = self.end_ns.max(other.end_ns);
    }

    /// Bytes of memory that it holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        let bins = self.bins.capacity() * size_of::<Bin>();
        let inside: usize = self.bins.iter().map(Bin::heap_bytes).sum();
        bins + inside + self.drained.heap_bytes()
    }

    pub(super) fn add(&mut self, start: u64, bin: Bin) {
        while start / self.width >= BINS as u64 {
            self.fold();
        }
        let at = (start / self.width) as usize;
        if self.bins.len() <= at {
            self.bins.resize_with(at + 1, Bin::default);
        }
        self.bins[at].merge(&bin);
    }

    fn fold(&mut self) {
        let mut bins = std::mem::take(&mut self.bins).into_iter();
        while let Some(mut first) = bins.next() {
            if let Some(second) = bins.next() {
                first.merge(&second);
            }
            self.bins.push(first);
        }
        self.width *= 2;
    }

    /// The bins of a window added up: from the one that holds `from_ns` to the one that ends at or
    /// after `to_ns`, both moved to the edges of bins. A window that reaches the phase's end has
    /// what was drained in its histograms and errors, but not in its rates.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Window {
        let first = (from_ns / self.width) as usize;
        let last = usize::try_from(to_ns.div_ceil(self.width))
            .unwrap_or(usize::MAX)
            .min(self.bins.len());
        let mut sum = Bin::default();
        for bin in self.bins.get(first..last).unwrap_or_default() {
            sum.merge(bin);
        }
        let end_ns = self
            .end_ns
            .unwrap_or((self.bins.len() as u64).saturating_mul(self.width));
        let completed_in_time = sum.counters.completed;
        let values_in_time = sum.counters.values;
        let reaches_end = to_ns >= end_ns;
        if reaches_end {
            sum.merge(&self.drained);
        }
        Window {
            from_ns: first as u64 * self.width,
            to_ns: (last as u64).saturating_mul(self.width).min(end_ns),
            sum,
            completed_in_time,
            values_in_time,
        }
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

/// Some bins of a phase, added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Where it begins: the edge of a bin.
    pub from_ns: u64,
    /// Where it ends: the edge of a bin, or the phase's end.
    pub to_ns: u64,
    /// Everything in it, and what was drained if it reaches the phase's end.
    pub sum: Bin,
    /// Operations that ended inside it, without the drained ones.
    pub completed_in_time: u64,
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

    /// Operations that ended, per second; none for an empty window.
    pub fn rate(&self) -> Option<f64> {
        let width = self.to_ns.saturating_sub(self.from_ns);
        (width > 0).then(|| self.completed_in_time as f64 * 1e9 / width as f64)
    }
}
