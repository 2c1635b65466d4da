//! The numerics beside those of scipy, numpy and statsmodels: 50 problems, what `golden.py` says of them in
//! `golden.json`.

#![allow(clippy::unwrap_used)]

use model::{Matrix, least_squares, nnls};
use serde_json::Value;

/// The generator of `golden.py`.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn problem(seed: u64) -> (Matrix, Vec<f64>) {
    let mut numbers = Numbers(seed);
    let columns = 2 + seed as usize % 9;
    let rows = columns + 3 + seed as usize % 17;
    let mut a = vec![vec![0.0; rows]; columns];
    for row in 0..rows {
        for (at, column) in a.iter_mut().enumerate() {
            column[row] = numbers.next() * 10f64.powi((at % 4) as i32 - 1);
        }
    }
    let b = (0..rows).map(|_| numbers.next() * 4.0 - 1.0).collect();
    (Matrix::of_columns(a), b)
}

fn golden(which: &str) -> Vec<Vec<f64>> {
    let all: Value = serde_json::from_str(include_str!("golden.json")).unwrap();
    serde_json::from_value(all[which].clone()).unwrap()
}

/// The largest difference, relative to the largest element of what is expected.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let pairs = std::iter::zip(found, expected);
    let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    most / largest.max(f64::MIN_POSITIVE)
}

#[test]
fn least_squares_are_those_of_numpy_and_statsmodels() {
    for which in ["least_squares", "ols"] {
        for (at, expected) in golden(which).iter().enumerate() {
            let (a, b) = problem(at as u64 + 1);
            let off = difference(&least_squares(&a, &b).unwrap(), expected);
            assert!(off < 1e-8, "{which} {at}: {off}");
        }
    }
}

#[test]
fn least_squares_without_negative_answers_are_those_of_scipy() {
    let (mut zeros, mut others) = (0, 0);
    for (at, expected) in golden("nnls").iter().enumerate() {
        let (a, b) = problem(at as u64 + 1);
        let found = nnls(&a, &b);
        let off = difference(&found, expected);
        assert!(off < 1e-8, "{at}: {off}: {found:?} {expected:?}");
        assert!(found.iter().all(|it| *it >= 0.0));
        zeros += expected.iter().filter(|it| **it == 0.0).count();
        others += expected.iter().filter(|it| **it > 0.0).count();
    }
    // Both kinds are met, or the test says little.
    assert!(zeros > 50 && others > 50, "{zeros} {others}");
}

#[test]
fn columns_that_depend_on_each_other_are_found() {
    let column = vec![1.0, 2.0, 3.0, 5.0];
    let twice = column.iter().map(|it| it * 2.0).collect();
    let a = Matrix::of_columns(vec![column.clone(), twice]);
    assert_eq!(least_squares(&a, &[1.0, 2.0, 3.0, 4.0]), None);
    // One of them does what both would.
    let alone = nnls(&Matrix::of_columns(vec![column]), &[1.0, 2.0, 3.0, 4.0]);
    let both = nnls(&a, &[1.0, 2.0, 3.0, 4.0]);
    assert!(
        (both[0] + 2.0 * both[1] - alone[0]).abs() < 1e-12,
        "{both:?}"
    );
}
