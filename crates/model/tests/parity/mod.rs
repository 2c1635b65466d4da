//! The numerics beside those of scipy, numpy, statsmodels and scikit-learn: what `golden.py` says of problems that are
//! made here alike. It said it once, in `golden.json`; and it says it again, with what is installed for it.

#![allow(clippy::unwrap_used)]

mod python;

use model::process::{Gaussian, Kernel};
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

/// What was said once.
fn golden() -> Value {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

fn numbers(of: &Value) -> Vec<f64> {
    serde_json::from_value(of.clone()).unwrap()
}

fn each(of: &Value) -> &[Value] {
    of.as_array().unwrap()
}

/// The largest difference, relative to the largest element of what is expected.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let pairs = std::iter::zip(found, expected);
    let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    most / largest.max(f64::MIN_POSITIVE)
}

fn assert_least_squares(golden: &Value) {
    for which in ["least_squares", "ols"] {
        assert_eq!(each(&golden[which]).len(), 50);
        for (at, expected) in each(&golden[which]).iter().enumerate() {
            let (a, b) = problem(at as u64 + 1);
            let off = difference(&least_squares(&a, &b).unwrap(), &numbers(expected));
            assert!(off < 1e-8, "{which} {at}: {off}");
        }
    }
}

fn assert_without_negative_answers(golden: &Value) {
    let (mut zeros, mut others) = (0, 0);
    for (at, expected) in each(&golden["nnls"]).iter().enumerate() {
        let (a, b) = problem(at as u64 + 1);
        let (found, expected) = (nnls(&a, &b), numbers(expected));
        let off = difference(&found, &expected);
        assert!(off < 1e-8, "{at}: {off}: {found:?} {expected:?}");
        assert!(found.iter().all(|it| *it >= 0.0));
        zeros += expected.iter().filter(|it| **it == 0.0).count();
        others += expected.iter().filter(|it| **it > 0.0).count();
    }
    // Both kinds are met, or the test says little.
    assert!(zeros > 50 && others > 50, "{zeros} {others}");
}

/// Places, what was measured there, and places to ask about.
type Surface = (Vec<Vec<f64>>, Vec<f64>, Vec<Vec<f64>>);

/// The one that `golden.py` makes.
fn surface(seed: u64) -> Surface {
    let numbers = &mut Numbers(seed);
    let inputs = 1 + seed as usize % 4;
    let places = |numbers: &mut Numbers, count, width| -> Vec<Vec<f64>> {
        let mut place = || {
            (0..inputs)
                .map(|_| (numbers.next() - 0.5) * width)
                .collect()
        };
        (0..count).map(|_| place()).collect()
    };
    let x = places(numbers, 24 + 3 * seed as usize, 3.4);
    let mut height = |x: &Vec<f64>| {
        let bowl: f64 = x[1..].iter().take(1).map(|it| 0.1 * it * it).sum();
        0.3 * (2.0 * x[0]).sin() + bowl + 0.1 * (numbers.next() - 0.5)
    };
    let y = x.iter().map(&mut height).collect();
    (x, y, places(numbers, 8, 6.0))
}

fn assert_gaussian(golden: &Value) {
    assert_eq!(each(golden).len(), 8);
    for (at, expected) in each(golden).iter().enumerate() {
        let (x, y, asked) = surface(at as u64 + 1);
        let inputs = x[0].len();
        let said = |kernel: &Kernel| -> (Vec<f64>, Vec<f64>) {
            let process = Gaussian::new(kernel.clone(), x.clone(), &y).unwrap();
            asked.iter().map(|it| process.predict(it)).unzip()
        };
        // With a kernel that is given there is one answer.
        let known = Kernel {
            variance: 0.2,
            lengths: vec![0.7; inputs],
            noise: 0.01,
        };
        let (likelihood, slope) = known.likelihood(&x, &y).unwrap();
        let (mean, deviation) = said(&known);
        let expected_of = &expected["known"];
        for (which, found) in [
            ("likelihood", vec![likelihood]),
            ("slope", slope),
            ("mean", mean),
            ("deviation", deviation),
        ] {
            let expected = match &expected_of[which] {
                one @ Value::Number(_) => vec![one.as_f64().unwrap()],
                several => numbers(several),
            };
            let off = difference(&found, &expected);
            assert!(off < 1e-8, "{which} of {at}: {off}");
        }
        // A kernel that is searched for is as likely, and says the same.
        let first = Kernel {
            variance: 0.1,
            lengths: vec![1.0; inputs],
            noise: 0.01,
        };
        let kernel = first.fitted(&x, &y, true);
        let (likelihood, _) = kernel.likelihood(&x, &y).unwrap();
        let best = expected["found"]["likelihood"].as_f64().unwrap();
        assert!(
            (likelihood - best).abs() < 1e-3,
            "{at}: {likelihood} {best}: {kernel:?}"
        );
        let (mean, deviation) = said(&kernel);
        for (which, found) in [("mean", mean), ("deviation", deviation)] {
            let off = difference(&found, &numbers(&expected["found"][which]));
            assert!(off < 1e-3, "{which} of {at}: {off}: {kernel:?}");
        }
    }
}

#[test]
fn least_squares_are_those_of_numpy_and_statsmodels() {
    assert_least_squares(&golden());
}

#[test]
fn least_squares_without_negative_answers_are_those_of_scipy() {
    assert_without_negative_answers(&golden());
}

#[test]
fn gaussian_processes_are_those_of_scikit_learn() {
    assert_gaussian(&golden()["gaussian"]);
}

#[test]
fn what_python_says_today_is_what_we_say() {
    let Some(said) = python::golden() else { return };
    println!(
        "scipy {}, scikit-learn {}",
        said["scipy"], said["scikit-learn"]
    );
    assert_least_squares(&said);
    assert_without_negative_answers(&said);
    assert_gaussian(&said["gaussian"]);
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
