//! Least squares without negative answers: costs are never negative.

use crate::matrix::{Matrix, least_squares, norm};

/// The x ≥ 0 for which the length of a·x − b is smallest (Lawson and Hanson 1974, chapter 23).
///
/// A column that depends on others already in use gets 0.
pub fn nnls(a: &Matrix, b: &[f64]) -> Vec<f64> {
    let (a, lengths) = a.scaled();
    let n = a.columns();
    let mut x = vec![0.0; n];
    let mut used = vec![false; n];
    // Columns that would only repeat others, and are not tried again.
    let mut barred = vec![false; n];
    let tolerance = 10.0 * f64::EPSILON * a.rows() as f64 * norm(b);
    // Each column comes in and goes out a few times at most; the limit only guards against rounding.
    for _ in 0..30 * n.max(1) {
        let rest: Vec<f64> = std::iter::zip(b, a.times(&x))
            .map(|(b, ax)| b - ax)
            .collect();
        let gain = |column: usize| -> f64 {
            let pairs = std::iter::zip(a.column(column), &rest);
            pairs.map(|(a, rest)| a * rest).sum()
        };
        let best = (0..n)
            .filter(|&it| !used[it] && !barred[it])
            .map(|it| (it, gain(it)))
            .filter(|(_, gain)| *gain > tolerance)
            .max_by(|x, y| x.1.total_cmp(&y.1));
        let Some((next, _)) = best else { break };
        used[next] = true;
        if !settle(&a, b, &mut x, &mut used) || !used[next] {
            used[next] = false;
            x[next] = 0.0;
            barred[next] = true;
        } else {
            barred.fill(false);
        }
    }
    std::iter::zip(x, lengths).map(|(x, l)| x / l).collect()
}

/// Moves to the least squares of the columns in use, and lets go of those that would become negative. Whether the
/// columns in use are independent.
fn settle(a: &Matrix, b: &[f64], x: &mut [f64], used: &mut [bool]) -> bool {
    loop {
        let columns: Vec<usize> = (0..used.len()).filter(|&it| used[it]).collect();
        let Some(wanted) = least_squares(&a.only(&columns), b) else {
            return false;
        };
        let inside = |&(&column, &wanted): &(&usize, &f64)| wanted <= 0.0 && used[column];
        let step = std::iter::zip(&columns, &wanted)
            .filter(inside)
            .map(|(&column, &wanted)| x[column] / (x[column] - wanted))
            .filter(|step| step.is_finite())
            .fold(f64::INFINITY, f64::min);
        let any = wanted.iter().any(|it| *it <= 0.0);
        if !any {
            for (&column, wanted) in std::iter::zip(&columns, wanted) {
                x[column] = wanted;
            }
            return true;
        }
        let step = if step.is_finite() { step } else { 0.0 };
        let mut left = false;
        for (&column, wanted) in std::iter::zip(&columns, wanted) {
            x[column] += step * (wanted - x[column]);
            if x[column] <= f64::EPSILON && wanted <= 0.0 {
                x[column] = 0.0;
                used[column] = false;
                left = true;
            }
        }
        if !left {
            return true;
        }
    }
}
