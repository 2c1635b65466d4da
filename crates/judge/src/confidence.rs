//! How well a percentile is known.
//!
//! Operations that follow each other are alike: a thousand of them may say no more than fifty that
//! are independent. So the spread of batch means is held against the spread of single values, and
//! percentiles get the interval that order statistics give for so many independent values.

use record::{Histogram, Measure, Tally};

/// Both tails together of a 95 % interval.
const OUTSIDE: f64 = 0.05;

/// Fewer batches say nothing about correlation.
const MIN_BATCHES: usize = 10;
/// More are not needed, and would be shorter than the correlation.
const MAX_BATCHES: usize = 30;

/// How many independent values the operations of a window are worth, from the means of its bins. None
/// if there are fewer than ten bins with operations.
pub fn effective_samples(tally: &Tally, measure: Measure, from_ns: u64, to_ns: u64) -> Option<f64> {
    let width = tally.width_ns();
    let first = usize::try_from(from_ns / width).ok()?;
    let last = usize::try_from(to_ns.div_ceil(width)).unwrap_or(usize::MAX);
    let last = last.min(tally.bins().len());
    let bins: Vec<&Histogram> = tally
        .bins()
        .get(first..last)?
        .iter()
        .map(|bin| bin.histogram(measure))
        .filter(|histogram| !histogram.is_empty())
        .collect();
    if bins.len() < MIN_BATCHES {
        return None;
    }
    let batches: Vec<Histogram> = bins
        .chunks(bins.len().div_ceil(MAX_BATCHES))
        .map(|chunk| {
            let mut batch = Histogram::default();
            for bin in chunk {
                batch.merge(bin);
            }
            batch
        })
        .collect();
    let mut whole = Histogram::default();
    for batch in &batches {
        whole.merge(batch);
    }
    let (mean, deviation) = (whole.mean()?, whole.deviation()?);
    let n = whole.count() as f64;
    // The variance of one value that would explain how far the batch means lie apart.
    let apart: f64 = batches
        .iter()
        .filter_map(|batch| Some(batch.count() as f64 * (batch.mean()? - mean).powi(2)))
        .sum();
    let apart = apart / (batches.len() - 1) as f64;
    if apart <= 0.0 {
        return Some(n);
    }
    Some((n * deviation.powi(2) / apart).clamp(1.0, n))
}

/// The least number of independent values from which an equal-tailed 95 % interval of a quantile
/// can be had: 72 for p95, 368 for p99, 3,688 for p99.9.
// Below it, even the largest value lies under the quantile too often: q^n > 0.025.
pub fn needed_for(q: f64) -> f64 {
    let far = q.max(1.0 - q);
    ((OUTSIDE / 2.0).ln() / far.ln()).ceil()
}

/// The 95 % interval of a quantile, for so many independent values; none if they are too few.
pub fn quantile_interval(histogram: &Histogram, q: f64, effective: f64) -> Option<(u64, u64)> {
    let n = effective.floor();
    if !(q > 0.0 && q < 1.0) || n < needed_for(q) {
        return None;
    }
    let (low, high) = ranks(n, q);
    Some((
        histogram.quantile(low / (n + 1.0))?,
        histogram.quantile(high / (n + 1.0))?,
    ))
}

/// The largest rank whose value lies above the quantile with at most 2.5 %, and the smallest that lies
/// below it with at most 2.5 %.
fn ranks(n: f64, q: f64) -> (f64, f64) {
    // The number of values below the quantile is binomial.
    let deviation = (n * q * (1.0 - q)).sqrt();
    let mut k = (n * q - 10.0 * deviation - 10.0).floor().max(0.0);
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let mut share = (choose + k * q.ln() + (n - k) * (1.0 - q).ln()).exp();
    let mut below = 0.0;
    let mut low = 1.0;
    while k < n {
        // P(B ≤ k)
        below += share;
        if below <= OUTSIDE / 2.0 {
            low = k + 1.0;
        }
        if below >= 1.0 - OUTSIDE / 2.0 {
            return (low, k + 1.0);
        }
        share *= (n - k) / (k + 1.0) * q / (1.0 - q);
        k += 1.0;
    }
    (low, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_as_many_samples_as_order_statistics_say() {
        let needed = [0.5, 0.95, 0.99, 0.999].map(needed_for);
        assert_eq!(needed, [6.0, 72.0, 368.0, 3688.0]);
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Median of 10 values: second and ninth, 97.9 %; of 100: 40th and 61st (Conover, table A3).
        assert_eq!(ranks(10.0, 0.5), (2.0, 9.0));
        assert_eq!(ranks(100.0, 0.5), (40.0, 61.0));
        // At the limit only the largest is left.
        assert_eq!(ranks(368.0, 0.99).1, 368.0);
    }
}
