//! How much a sample is worth: requests that follow each other are alike, so that a million of them can
//! say as little about the tail as a thousand independent ones.

use record::Histogram;
use record::run::{HistogramCourse, Phase};

/// Below so many intervals nothing can be said about how alike they are.
const FEWEST_INTERVALS: usize = 10;
/// More batches than these would be shorter than what makes their values alike.
const MOST_BATCHES: usize = 30;

/// The effective size of a sample by batch means, as `judge::effective_samples` has it, from what a result file
/// keeps: that of an independent sample whose mean would scatter
/// as much as this one's does. Batches are the intervals of the phase that lie in its window, several of
/// them together when they are many. None if they are too few.
pub(crate) fn size(phase: &Phase, histogram: &Histogram, course: &HistogramCourse) -> Option<f64> {
    let interval = phase.series.interval_ns.max(1);
    let first = usize::try_from(phase.from_ns / interval).ok()?;
    let last = usize::try_from(phase.to_ns.div_ceil(interval)).ok()?;
    let intervals: Vec<(f64, f64)> = course
        .mean_ns
        .iter()
        .zip(&phase.series.completed)
        .take(last)
        .skip(first)
        .filter_map(|(mean, &n)| Some(((*mean)?, n as f64)))
        .filter(|&(_, n)| n > 0.0)
        .collect();
    if intervals.len() < FEWEST_INTERVALS {
        return None;
    }
    let together = |chunk: &[(f64, f64)]| {
        let n: f64 = chunk.iter().map(|(_, n)| n).sum();
        (chunk.iter().map(|(mean, n)| mean * n).sum::<f64>() / n, n)
    };
    let batches: Vec<(f64, f64)> = intervals
        .chunks(intervals.len().div_ceil(MOST_BATCHES))
        .map(together)
        .collect();
    let total: f64 = batches.iter().map(|(_, n)| n).sum();
    let mean = batches.iter().map(|(mean, n)| mean * n).sum::<f64>() / total;
    let between: f64 = batches
        .iter()
        .map(|(batch, n)| n / total * (batch - mean).powi(2))
        .sum();
    let k = batches.len() as f64;
    // Independent values would make batch means scatter by deviation²/(n/k).
    let expected = histogram.deviation()?.powi(2) * k / total;
    let found = between * k / (k - 1.0);
    let alike = if expected > 0.0 {
        found / expected
    } else {
        1.0
    };
    Some(histogram.count() as f64 / alike.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Ledger, Times};

    /// Ten seconds of a thousand requests each, with these response times.
    fn phase(response: impl Fn(u64) -> u64) -> Phase {
        let mut ledger = Ledger::with_end(10_000_000_000);
        for k in 0..10_000 {
            let planned = k * 1_000_000;
            let times = Times {
                planned,
                sent: planned,
                completed: planned + response(k),
            };
            ledger.done(times, 0, 1, 1);
        }
        let started = "2026-03-01T09:30:00Z".parse().unwrap();
        let warm_up = record::run::WarmUp::default();
        Phase::new("p", started, &ledger.finish(), warm_up, 0, &|code| {
            code.to_string()
        })
    }

    fn effective(phase: &Phase) -> f64 {
        let histogram = phase.total.histogram("response");
        size(phase, histogram, &phase.series.response).unwrap()
    }

    #[test]
    fn independent_values_count_in_full() {
        let mut random = plan::Random::new(1);
        let times: Vec<u64> = (0..10_000)
            .map(|_| 100_000 + (random.exponential() * 100_000.0) as u64)
            .collect();
        let size = effective(&phase(|k| times[k as usize]));
        assert!((5_000.0..=10_000.0).contains(&size), "{size}");
    }

    #[test]
    fn a_hundred_values_that_are_one_count_as_one() {
        let mut random = plan::Random::new(2);
        let levels: Vec<u64> = (0..100)
            .map(|_| 100_000 + (random.exponential() * 100_000.0) as u64)
            .collect();
        // The level changes with the interval: a hundred values in a row are the same. As many batches
        // as there are tell it to a third or so.
        let size = effective(&phase(|k| levels[(k / 100) as usize]));
        assert!((50.0..=200.0).contains(&size), "{size}");
    }

    #[test]
    fn a_phase_of_few_intervals_says_nothing_about_it() {
        let mut short = phase(|_| 5);
        short.to_ns = 500_000_000;
        assert_eq!(
            size(
                &short,
                short.total.histogram("response"),
                &short.series.response
            ),
            None
        );
    }
}
