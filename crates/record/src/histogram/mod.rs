//! Histograms: dense while they are being filled, sparse once they are kept.

pub(crate) mod buckets;
pub(crate) mod dense;
pub(crate) mod exact;
mod text;

pub use text::HistogramError;

use crate::average::mean_of_sum;
use buckets::{highest, lowest, slot};

/// Values (mostly durations in nanoseconds) counted in the slots of an HdrHistogram with three
/// significant digits. Only slots that counted something take memory, two or three bytes each.
///
/// All of it is integers, so that merging is exact, commutative and associative; percentiles are
/// never averaged. Mean and extremes are those of the values themselves, quantiles and deviation
/// those of the slots, which differ by less than a thousandth. Nothing is clamped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    // Pairs of (slots since the last one, count), each a little-endian base-128 number.
    bytes: Vec<u8>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Histogram {
    /// Without values.
    pub const EMPTY: Self = Self {
        bytes: Vec::new(),
        count: 0,
        sum: 0,
        min: 0,
        max: 0,
    };

    /// A histogram of `n` equal values.
    pub fn of(value: u64, n: u64) -> Self {
        if n == 0 {
            return Self::default();
        }
        let mut writer = Writer::default();
        writer.push(slot(value), n);
        writer.finish(n, u128::from(value) * u128::from(n), value, value)
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The smallest value, exactly; none when nothing was recorded.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, exactly; none when nothing was recorded.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean of the values themselves; none when nothing was recorded.
    pub fn mean(&self) -> Option<f64> {
        mean_of_sum(self.sum as f64, self.count)
    }

    /// The value that a share `q` (0 to 1) of all values does not exceed, rounded up to its slot
    /// and never beyond the largest; none when nothing was recorded.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (slot, count) in self.slots() {
            seen += count;
            if seen >= rank {
                return Some(highest(slot).clamp(self.min, self.max));
            }
        }
        self.max()
    }

    /// The standard deviation; none when nothing was recorded.
    pub fn deviation(&self) -> Option<f64> {
        if self.is_empty() {
            return None;
        }
        // Around the mean of the slots, not of the values: a single value deviates from nothing.
        let middles = || {
            self.slots()
                .map(|(slot, n)| (lowest(slot).midpoint(highest(slot)) as f64, n as f64))
        };
        let count = self.count as f64;
        let mean = middles().map(|(value, n)| value * n).sum::<f64>() / count;
        let squares: f64 = middles().map(|(value, n)| (value - mean).powi(2) * n).sum();
        Some((squares / count).sqrt())
    }

    /// The share of values at or below a value, 0 to 1, to a slot; none when nothing was recorded.
    pub fn share_up_to(&self, value: u64) -> Option<f64> {
        let limit = slot(value);
        let below: u64 = self
            .slots()
            .take_while(|&(slot, _)| slot <= limit)
            .map(|(_, count)| count)
            .sum();
        (self.count > 0).then(|| below as f64 / self.count as f64)
    }

    /// Smallest value of each slot that counted something, with its count, in rising order.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.slots().map(|(slot, count)| (lowest(slot), count))
    }

    /// Bytes of memory that it holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds the values of another one.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut writer = Writer::default();
        let (mut ours, mut theirs) = (self.slots().peekable(), other.slots().peekable());
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (Some(&(a, m)), Some(&(b, n))) if a == b => {
                    ours.next();
                    theirs.next();
                    (a, m + n)
                }
                (Some(&(a, m)), Some(&(b, _))) if a < b => {
                    ours.next();
                    (a, m)
                }
                (Some(&(a, m)), None) => {
                    ours.next();
                    (a, m)
                }
                (_, Some(&(b, n))) => {
                    theirs.next();
                    (b, n)
                }
                (None, None) => break,
            };
            writer.push(next.0, next.1);
        }
        *self = writer.finish(
            self.count + other.count,
            self.sum + other.sum,
            self.min.min(other.min),
            self.max.max(other.max),
        );
    }

    /// What was added since another look at the same counts; none if they are others, or began anew. Sum and extremes of
    /// what was added are those of its slots where the sums and extremes of both do not tell.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let count = self.count.checked_sub(before.count)?;
        let mut writer = Writer::default();
        let mut then = before.slots().peekable();
        let (mut least, mut most) = (None, None);
        for (slot, now) in self.slots() {
            let earlier = then.next_if(|it| it.0 == slot).map_or(0, |it| it.1);
            let added = now.checked_sub(earlier)?;
            if added > 0 {
                writer.push(slot, added);
                least = least.or(Some(slot));
                most = Some(slot);
            }
        }
        let (None, Some(least), Some(most)) = (then.next(), least, most) else {
            return (count == 0).then(Self::default);
        };
        let sum = self.sum.checked_sub(before.sum)?;
        let min = if self.min < before.min {
            self.min
        } else {
            lowest(least).max(self.min)
        };
        let max = if self.max > before.max {
            self.max
        } else {
            highest(most)
        };
        Some(writer.finish(count, sum, min, max.min(self.max)))
    }

    fn slots(&self) -> Slots<'_> {
        Slots {
            bytes: &self.bytes,
            slot: 0,
        }
    }
}

impl FromIterator<u64> for Histogram {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        let mut writer = Writer::default();
        for alike in values.chunk_by(|a, b| slot(*a) == slot(*b)) {
            if let Some(&first) = alike.first() {
                writer.push(slot(first), alike.len() as u64);
            }
        }
        let sum = values.iter().map(|&value| u128::from(value)).sum();
        writer.finish(values.len() as u64, sum, min, max)
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("mean", &self.mean())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

struct Slots<'a> {
    bytes: &'a [u8],
    slot: usize,
}

impl Slots<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Some(value)
    }
}

impl Iterator for Slots<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        self.slot += self.number()? as usize;
        Some((self.slot, self.number()?))
    }
}

/// Takes slots in rising order.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    last: usize,
}

impl Writer {
    pub(crate) fn push(&mut self, slot: usize, count: u64) {
        self.number((slot - self.last) as u64);
        self.last = slot;
        self.number(count);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn finish(mut self, count: u64, sum: u128, min: u64, max: u64) -> Histogram {
        self.bytes.shrink_to_fit();
        Histogram {
            bytes: self.bytes,
            count,
            sum,
            min,
            max,
        }
    }
}
