//! Tests for a change and for a trend. Both look at ranks, so that single large values weigh
//! little, and both know that neighbours are alike: what follows itself counts for less.

use record::average::{mean, median};

/// Fewer values cannot reach the significance that is asked for.
const MIN_VALUES: usize = 30;

/// A change, or the ends of a trend.
pub(super) struct Shift {
    /// Where the second part begins.
    pub at: usize,
    /// The median before.
    pub before: f64,
    /// The median after.
    pub after: f64,
    /// How often chance alone would do this.
    pub p: f64,
}

impl Shift {
    /// The same, counted from further ahead.
    pub(super) fn behind(mut self, first: usize) -> Self {
        self.at += first;
        self
    }
}

/// Pettitt's test for one change of level (1979).
pub(super) fn change_point(values: &[f64]) -> Option<Shift> {
    let n = values.len();
    if n < MIN_VALUES {
        return None;
    }
    let ranks = ranks(values);
    let mut before = 0.0;
    let (mut largest, mut at) = (0.0, 0);
    for (t, rank) in ranks.iter().enumerate().take(n - 1) {
        before += rank;
        let u = (2.0 * before - (t + 1) as f64 * (n + 1) as f64).abs();
        if u > largest {
            (largest, at) = (u, t + 1);
        }
    }
    let (first, second) = values.split_at(at);
    let (before, after) = (median(first)?, median(second)?);
    let rest = ranks_less(&ranks, at);
    let n = n as f64;
    let exponent = -6.0 * largest * largest / (n * n * n + n * n);
    Some(Shift {
        at,
        before,
        after,
        p: (2.0 * (exponent / inflation(&rest)).exp()).min(1.0),
    })
}

/// Mann and Kendall's test for a trend; before and after are the first and the last third.
pub(super) fn trend(values: &[f64]) -> Option<Shift> {
    let n = values.len();
    if n < MIN_VALUES {
        return None;
    }
    let mut s = 0.0;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (at, a) in values.iter().enumerate() {
        for (apart, b) in values[at..].iter().enumerate().skip(1) {
            s += (b - a)
                .partial_cmp(&0.0)
                .map_or(0.0, |o| f64::from(o as i8));
            slopes.push((b - a) / apart as f64);
        }
    }
    let before = median(&values[..n / 3])?;
    let after = median(&values[n - n / 3..])?;
    // Theil and Sen's slope; what is left without it says how alike neighbours are.
    let slope = median(&slopes)?;
    let rest: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(at, value)| value - slope * at as f64)
        .collect();
    let m = n as f64;
    let variance = m * (m - 1.0) * (2.0 * m + 5.0) / 18.0 * inflation(&ranks(&rest));
    let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
    Some(Shift {
        at: n / 3,
        before,
        after,
        p: libm::erfc(z / std::f64::consts::SQRT_2),
    })
}

/// Ranks from 1, the mean of them where values are equal.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let mut end = at + 1;
        while end < order.len() && values[order[end]] == values[order[at]] {
            end += 1;
        }
        let rank = (at + 1 + end) as f64 / 2.0;
        for &index in &order[at..end] {
            ranks[index] = rank;
        }
        at = end;
    }
    ranks
}

/// Ranks around the mean of their own part.
fn ranks_less(ranks: &[f64], at: usize) -> Vec<f64> {
    let (first, second) = ranks.split_at(at);
    let around = |part: &[f64]| {
        let mean = mean(part).unwrap_or(0.0);
        part.iter().map(|rank| rank - mean).collect::<Vec<_>>()
    };
    let mut rest = around(first);
    rest.extend(around(second));
    rest
}

/// By how much correlation of neighbours inflates the variance of a sum: 1 for none. What was
/// fitted before (a level and a step, or a level and a slope) takes some of the slow variation along, so
/// that estimates are too low by as many times the inflation itself over the length: hence twice.
fn inflation(values: &[f64]) -> f64 {
    const FITTED: f64 = 2.0;
    let n = values.len() as f64;
    let mean = mean(values).unwrap_or(0.0);
    let around: Vec<f64> = values.iter().map(|v| v - mean).collect();
    let variance: f64 = around.iter().map(|v| v * v).sum();
    if variance <= 0.0 {
        return 1.0;
    }
    let correlation: Vec<f64> = (1..values.len() / 4)
        .map(|lag| {
            let products: f64 = around.iter().zip(&around[lag..]).map(|(a, b)| a * b).sum();
            products / variance
        })
        .collect();
    let mut inflation = 1.0;
    for _ in 0..2 {
        let missing = FITTED * inflation / n;
        // Up to the first that is not positive, and at least what the first alone suggests if it went
        // on as it began.
        let sum: f64 = correlation.iter().take_while(|&&one| one > 0.0).sum();
        // The upper end of what a series of this length can tell (Bartlett).
        let first = correlation.first().copied().unwrap_or(0.0);
        let first = first + missing + ((1.0 - first * first) / n).sqrt();
        let first = first.clamp(0.0, 0.95);
        inflation = ((1.0 + first) / (1.0 - first)).max(1.0 + 2.0 * sum);
    }
    inflation
}
