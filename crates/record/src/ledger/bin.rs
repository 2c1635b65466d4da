//! A closed bin: counts and sparse histograms.

use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::histogram::exact;

use super::{Counters, Measure};

/// What happened in one interval of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Counts.
    pub counters: Counters,
    /// Operations by the status that they ended with.
    pub statuses: Statuses,
    /// Values inside responses by status, other than Good.
    pub value_statuses: Statuses,
    #[serde(with = "exact::array")]
    pub(super) histograms: [Histogram; Measure::ALL.len()],
}

impl Bin {
    /// One of its histograms.
    pub fn histogram(&self, measure: Measure) -> &Histogram {
        &self.histograms[measure as usize]
    }

    /// Bytes of memory that it holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        let histograms: usize = self.histograms.iter().map(Histogram::heap_bytes).sum();
        let statuses = self.statuses.others.capacity() + self.value_statuses.others.capacity();
        histograms + statuses * size_of::<(u32, u64)>()
    }

    /// Adds another bin.
    pub fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.statuses.merge(&other.statuses);
        self.value_statuses.merge(&other.value_statuses);
        for (ours, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            ours.merge(theirs);
        }
    }
}

/// Counts by status code.
// Part 4, 7.39.1: the upper half is the code; what is below are flags that say nothing about the
// kind of failure. So there are at most 65,536 of them, whatever a server sends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statuses {
    good: u64,
    // Rising by code, without the code 0.
    others: Vec<(u32, u64)>,
}

impl Statuses {
    #[inline]
    pub(super) fn add(&mut self, status: u32, n: u64) {
        if status < 0x0001_0000 {
            self.good += n;
        } else {
            self.add_other(status & 0xFFFF_0000, n);
        }
    }

    fn add_other(&mut self, code: u32, n: u64) {
        match self.others.binary_search_by_key(&code, |&(code, _)| code) {
            Ok(at) => self.others[at].1 += n,
            Err(at) => self.others.insert(at, (code, n)),
        }
        debug_assert!(self.others.is_sorted_by(|one, next| one.0 < next.0));
        debug_assert!(self.others.len() < 65_536);
    }

    /// Codes and how often each came, in rising order: Good (0) first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (self.good > 0)
            .then_some((0, self.good))
            .into_iter()
            .chain(self.others.iter().copied())
    }

    /// How many there are of a code.
    pub fn of(&self, code: u32) -> u64 {
        self.iter()
            .find(|&(one, _)| one == code & 0xFFFF_0000)
            .map_or(0, |(_, n)| n)
    }

    /// Bad codes and how often each came, in rising order.
    pub fn bad_codes(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.iter().filter(|&(code, _)| super::is_bad(code))
    }

    /// How many have a Bad code.
    pub fn bad(&self) -> u64 {
        self.bad_codes().map(|(_, n)| n).sum()
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.good += other.good;
        for &(code, n) in &other.others {
            self.add_other(code, n);
        }
    }
}
