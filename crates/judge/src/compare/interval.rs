//! Intervals of the difference of two means, on whatever scale the values are.

use plan::Random;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{ALPHA, level, variance};

/// The quantile of Student's t that leaves half of [`ALPHA`] above it.
pub(crate) fn t_quantile(degrees: f64) -> Option<f64> {
    // With millions of degrees the search for the quantile takes for ever; they are as good as these.
    let t = StudentsT::new(0.0, 1.0, degrees.clamp(1.0, 1e5)).ok()?;
    Some(t.inverse_cdf(1.0 - ALPHA / 2.0))
}

/// The two-sided probability of a t as large.
pub(super) fn t_tails(t: f64, degrees: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, degrees.clamp(1.0, 1e5)).ok()?;
    Some((2.0 * distribution.sf(t.abs())).min(1.0))
}

/// Welch and Satterthwaite's degrees of freedom, from the squared standard errors of both sides and the degrees
/// of freedom of these.
pub(super) fn degrees(x: (f64, f64), y: (f64, f64)) -> f64 {
    let all = (x.0 + y.0).powi(2);
    let each = |(squared, degrees): (f64, f64)| squared * squared / degrees;
    match each(x) + each(y) {
        sum if sum > 0.0 => all / sum,
        _ => x.1 + y.1,
    }
}

/// Welch's 95 % interval of mean(new) − mean(base); none when a side has fewer than two values.
pub fn welch(base: &[f64], new: &[f64]) -> Option<(f64, f64)> {
    if base.len() < 2 || new.len() < 2 {
        return None;
    }
    let squared = |side: &[f64]| (variance(side) / side.len() as f64, side.len() as f64 - 1.0);
    let (x, y) = (squared(base), squared(new));
    let half = t_quantile(degrees(x, y))? * (x.0 + y.0).sqrt();
    let difference = level(new) - level(base);
    Some((difference - half, difference + half))
}

/// Half of the 95 % interval of a mean; none of fewer than two values.
pub fn t_half(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let error = (variance(values) / values.len() as f64).sqrt();
    Some(t_quantile(values.len() as f64 - 1.0)? * error)
}

/// As many samples are drawn with replacement.
const RESAMPLES: usize = 2000;

/// Efron's bias-corrected and accelerated bootstrap interval of mean(new) − mean(base), over runs.
pub fn bca(base: &[f64], new: &[f64]) -> Option<(f64, f64)> {
    let found = level(new) - level(base);
    let mut random = Random::new(1);
    let mut drawn = |side: &[f64]| -> f64 {
        let size = side.len() as u64;
        let picked = (0..size).filter_map(|_| side.get((random.next_u64() % size.max(1)) as usize));
        picked.sum::<f64>() / size.max(1) as f64
    };
    let mut differences: Vec<f64> = (0..RESAMPLES).map(|_| drawn(new) - drawn(base)).collect();
    differences.sort_by(f64::total_cmp);
    let below = differences.iter().filter(|it| **it < found).count() as f64;
    let ties = differences.iter().filter(|it| **it == found).count() as f64;
    let normal = Normal::standard();
    let share = (below + ties / 2.0) / RESAMPLES as f64;
    if share <= 0.0 || share >= 1.0 {
        return None;
    }
    let bias = normal.inverse_cdf(share);
    let acceleration = acceleration(base, new);
    let at = |z: f64| {
        let shifted = bias + z;
        let level = normal.cdf(bias + shifted / (1.0 - acceleration * shifted));
        let index = (level * RESAMPLES as f64).floor() as usize;
        differences.get(index.min(RESAMPLES - 1)).copied()
    };
    let z = normal.inverse_cdf(1.0 - ALPHA / 2.0);
    Some((at(-z)?, at(z)?))
}

/// From leaving out one run at a time, of either side (Davison and Hinkley 1997, 5.3: influences of each sample).
fn acceleration(base: &[f64], new: &[f64]) -> f64 {
    let influences = |side: &[f64], sign: f64| -> Vec<f64> {
        let (middle, size) = (level(side), side.len() as f64);
        side.iter()
            .map(|value| sign * (value - middle) / size)
            .collect()
    };
    let all: Vec<f64> = influences(base, -1.0)
        .into_iter()
        .chain(influences(new, 1.0))
        .collect();
    let cubes: f64 = all.iter().map(|it| it.powi(3)).sum();
    let squares: f64 = all.iter().map(|it| it.powi(2)).sum();
    match squares > 0.0 {
        true => cubes / (6.0 * squares.powf(1.5)),
        false => 0.0,
    }
}
