//! The histogram of the tick that is open: a counter for every slot.

use super::buckets::{SLOTS, slot};
use super::{Histogram, Writer};

/// Counters that are looked at together when the histogram is emptied.
const BLOCK: usize = 64;
const BLOCKS: usize = SLOTS / BLOCK;
const WORDS: usize = BLOCKS.div_ceil(64);

/// Counts values, in about 3 ns each, and remembers which blocks it touched, so that emptying it
/// costs what was recorded, not what could have been.
#[derive(Debug)]
pub(crate) struct Dense {
    // Empty until something is counted, then fresh pages of zeros: memory is taken only for what
    // is touched.
    counts: Vec<u64>,
    touched: [u64; WORDS],
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Dense {
    pub(crate) fn new() -> Self {
        Self {
            counts: Vec::new(),
            touched: [0; WORDS],
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Counts `n` equal values.
    #[inline]
    pub(crate) fn record(&mut self, value: u64, n: u64) {
        let slot = slot(value);
        if let Some(count) = self.counts.get_mut(slot) {
            *count += n;
        } else {
            self.first(slot, n);
        }
        let block = slot / BLOCK;
        if let Some(word) = self.touched.get_mut(block / 64) {
            *word |= 1 << (block % 64);
        }
        self.count += n;
        self.sum += u128::from(value) * u128::from(n);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[cold]
    fn first(&mut self, slot: usize, n: u64) {
        self.counts = vec![0; SLOTS];
        if let Some(count) = self.counts.get_mut(slot) {
            *count = n;
        }
    }

    /// What was recorded; nothing stays.
    pub(crate) fn take(&mut self) -> Histogram {
        if self.count == 0 {
            return Histogram::default();
        }
        let mut writer = Writer::default();
        for (at, word) in self.touched.iter_mut().enumerate() {
            while *word != 0 {
                let start = (at * 64 + word.trailing_zeros() as usize) * BLOCK;
                *word &= *word - 1;
                let Some(block) = self.counts.get_mut(start..start + BLOCK) else {
                    continue;
                };
                for (offset, count) in block.iter_mut().enumerate() {
                    if *count != 0 {
                        writer.push(start + offset, *count);
                        *count = 0;
                    }
                }
            }
        }
        let taken = writer.finish(self.count, self.sum, self.min, self.max);
        self.count = 0;
        self.sum = 0;
        self.min = u64::MAX;
        self.max = 0;
        taken
    }
}
