//! Tests on runs that assume nothing about how they are distributed.

use plan::Random;
use statrs::distribution::{ContinuousCDF, Normal};

/// How often chance alone makes a difference as large as the one found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct P {
    /// The probability, two-sided.
    pub value: f64,
    /// The smallest that so many runs can show.
    pub least: f64,
    /// Counted out, not estimated.
    pub exact: bool,
}

/// More splits than these are drawn, not counted.
const MOST_SPLITS: f64 = 200_000.0;
/// As many are drawn.
const DRAWN: u32 = 20_000;

/// Permutes runs between the sides: how many splits of all runs have means at least as far apart.
pub fn permutation(base: &[f64], new: &[f64]) -> P {
    let all: Vec<f64> = base.iter().chain(new).copied().collect();
    let total: f64 = all.iter().sum();
    let (n, m) = (base.len() as f64, new.len() as f64);
    // The sum of one side decides the difference of the means.
    let apart = |sum: f64| ((total - sum) / m - sum / n).abs();
    let found = apart(base.iter().sum());
    let scale: f64 = all.iter().map(|value| value.abs()).sum::<f64>() + 1.0;
    share_of_splits(&all, base.len(), |sum| apart(sum) >= found - 1e-12 * scale)
}

/// Mann and Whitney's test: the same on ranks. Ties share their ranks.
pub fn mann_whitney(base: &[f64], new: &[f64]) -> P {
    let all: Vec<f64> = base.iter().chain(new).copied().collect();
    let ranks = ranks(&all);
    let (n, m) = (base.len() as f64, new.len() as f64);
    let expected = n * (n + m + 1.0) / 2.0;
    let found = (ranks.iter().take(base.len()).sum::<f64>() - expected).abs();
    if splits(all.len(), base.len()) <= MOST_SPLITS {
        return share_of_splits(&ranks, base.len(), |sum| {
            (sum - expected).abs() >= found - 1e-9
        });
    }
    // The normal approximation, with corrections for ties and continuity.
    let size = n + m;
    let mut sorted = ranks.clone();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|a, b| a == b)
        .map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64)
        .sum();
    let variance = n * m / 12.0 * (size + 1.0 - ties / (size * (size - 1.0)));
    let z = (found - 0.5).max(0.0) / variance.sqrt();
    let value = match variance > 0.0 {
        true => 2.0 * Normal::standard().sf(z),
        false => 1.0,
    };
    P {
        value: value.min(1.0),
        least: 0.0,
        exact: false,
    }
}

/// Cliff's delta: how much more often a new value exceeds a base value than the other way round.
pub fn cliffs_delta(base: &[f64], new: &[f64]) -> f64 {
    let sum: f64 = base
        .iter()
        .flat_map(|x| new.iter().map(move |y| (y > x, y < x)))
        .map(|(more, less)| f64::from(u8::from(more)) - f64::from(u8::from(less)))
        .sum();
    sum / (base.len() * new.len()).max(1) as f64
}

/// The smallest two-sided p that sides of these sizes can show.
pub(super) fn least(base: usize, new: usize) -> f64 {
    let extremes = match base == new {
        // Both ends: all large ones here, or all large ones there.
        true => 2.0,
        // The other end is closer to the middle.
        false => 1.0,
    };
    (extremes / splits(base + new, base)).min(1.0)
}

/// n over k.
fn splits(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// The share of all ways to choose `k` values whose sum is extreme.
fn share_of_splits(values: &[f64], k: usize, extreme: impl Fn(f64) -> bool) -> P {
    let all = splits(values.len(), k);
    if all <= MOST_SPLITS {
        let mut hits = 0_u64;
        choose(values, k, 0.0, &mut |sum| hits += u64::from(extreme(sum)));
        return P {
            value: hits as f64 / all,
            least: least(k, values.len() - k),
            exact: true,
        };
    }
    // Always the same ones: a result does not change when it is looked at again.
    let mut random = Random::new(1);
    let mut shuffled = values.to_vec();
    let mut hits = 0_u32;
    for _ in 0..DRAWN {
        for i in 0..k {
            let rest = (shuffled.len() - i) as u64;
            shuffled.swap(i, i + (random.next_u64() % rest) as usize);
        }
        hits += u32::from(extreme(shuffled.iter().take(k).sum()));
    }
    // The split that was found is one of them.
    P {
        value: f64::from(hits + 1) / f64::from(DRAWN + 1),
        least: 1.0 / f64::from(DRAWN + 1),
        exact: false,
    }
}

/// Calls with the sum of each choice of `k` values.
fn choose(values: &[f64], k: usize, sum: f64, each: &mut impl FnMut(f64)) {
    let Some((first, rest)) = values.split_first().filter(|_| k > 0) else {
        return each(sum);
    };
    choose(rest, k - 1, sum + first, each);
    if rest.len() >= k {
        choose(rest, k, sum, each);
    }
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let alike = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values
        .iter()
        .map(|&value| below(value) + (alike(value) + 1.0) / 2.0)
        .collect()
}
