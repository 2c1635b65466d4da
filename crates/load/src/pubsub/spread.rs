//! Times of many things, and what is said of them.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// What is said of many times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// The smallest.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// Half of them were less.
    pub p50_ns: u64,
    /// 90 of 100 were.
    pub p90_ns: u64,
    /// 99 of 100 were.
    pub p99_ns: u64,
    /// 999 of 1000 were.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

/// Collects times with three digits, up to an hour.
#[derive(Debug)]
pub(super) struct Times(Option<Histogram<u64>>);

const LONGEST_NS: u64 = 3_600_000_000_000;

impl Times {
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST_NS, 3).ok())
    }

    pub fn note(&mut self, ns: u64) {
        if let Some(all) = &mut self.0 {
            all.saturating_record(ns);
        }
    }

    /// None if there were none.
    pub fn spread(&self) -> Option<Spread> {
        let all = self.0.as_ref().filter(|it| !it.is_empty())?;
        Some(Spread {
            count: all.len(),
            min_ns: all.min(),
            mean_ns: all.mean(),
            p50_ns: all.value_at_quantile(0.5),
            p90_ns: all.value_at_quantile(0.9),
            p99_ns: all.value_at_quantile(0.99),
            p999_ns: all.value_at_quantile(0.999),
            max_ns: all.max(),
        })
    }

    /// All of them, as results keep them.
    pub fn histogram(&self) -> record::Histogram {
        let mut all = record::Histogram::default();
        for it in self.0.iter().flat_map(Histogram::iter_recorded) {
            let each = record::Histogram::of(it.value_iterated_to(), it.count_at_value());
            all.merge(&each);
        }
        all
    }

    /// How far each is from their median.
    pub fn away_from_median(&self) -> Option<Spread> {
        let all = self.0.as_ref().filter(|it| !it.is_empty())?;
        let median = all.value_at_quantile(0.5);
        let mut away = Histogram::new_with_bounds(1, LONGEST_NS, 3).ok()?;
        for it in all.iter_recorded() {
            let far = it.value_iterated_to().abs_diff(median);
            away.saturating_record_n(far, it.count_at_value());
        }
        Self(Some(away)).spread()
    }
}
