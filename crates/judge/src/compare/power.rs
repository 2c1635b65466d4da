//! How many runs it would take.

use record::average::mean;

use super::exact::least;
use super::interval::t_quantile;
use super::pairs::differences;
use super::{ALPHA, level, variance};

/// More are not worth naming.
const MOST: u32 = 1000;

/// Runs on each side with which the interval would leave the margin or fit into it, if ratio and variation stay as
/// they were found; and with which a permutation could show it among `family` metrics.
pub fn runs_needed(
    base: &[f64],
    new: &[f64],
    ratio: f64,
    margin: f64,
    family: usize,
) -> Option<u32> {
    let logs = |side: &[f64]| -> Vec<f64> { side.iter().map(|&value| value.ln()).collect() };
    let several: Vec<f64> = [base, new]
        .iter()
        .filter(|side| side.len() > 1)
        .map(|side| variance(&logs(side)))
        .collect();
    let pooled = mean(&several).filter(|_| ratio > 0.0)?;
    let differs = ratio.ln().abs() > margin.ln_1p();
    let room = room(ratio.ln(), margin);
    let reaches = |n: u32| {
        let runs = n as usize;
        let small = !differs || least(runs, runs) * family.max(1) as f64 <= ALPHA;
        let half = t_quantile(2.0 * f64::from(n) - 2.0)? * (2.0 * pooled / f64::from(n)).sqrt();
        Some(small && half < room)
    };
    (2..=MOST).find(|&n| reaches(n) == Some(true))
}

/// The same for pairs of runs that go at the same time.
pub fn pairs_needed(base: &[f64], new: &[f64], margin: f64) -> Option<u32> {
    let differences = differences(base, new).filter(|it| it.len() > 1)?;
    let (room, variance) = (room(level(&differences), margin), variance(&differences));
    let reaches = |n: u32| {
        let half = t_quantile(f64::from(n) - 1.0)? * (variance / f64::from(n)).sqrt();
        Some(half < room)
    };
    (2..=MOST).find(|&n| reaches(n) == Some(true))
}

/// How long an interval around this difference may be on either side to leave the margin from outside, or to fit into it.
fn room(difference: f64, margin: f64) -> f64 {
    (difference.abs() - margin.ln_1p()).abs()
}
