//! Symmetric positive matrices, row by row: the lower triangle, and what is solved with it.

/// The lower triangle of L with L·Lᵀ = m. None where m is not positive definite.
pub fn cholesky(m: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let mut lower: Vec<Vec<f64>> = Vec::with_capacity(m.len());
    for (i, row) in m.iter().enumerate() {
        let mut found = Vec::with_capacity(i + 1);
        for (j, above) in lower.iter().enumerate() {
            found.push((row[j] - dot(&found, &above[..j])) / above[j]);
        }
        let rest = row[i] - dot(&found, &found);
        // Written so that not a number is refused, too.
        if !(rest > 0.0 && rest.is_finite()) {
            return None;
        }
        found.push(rest.sqrt());
        lower.push(found);
    }
    Some(lower)
}

/// Solves L·x = b.
pub fn forward(lower: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(b.len());
    for (i, (row, b)) in std::iter::zip(lower, b).enumerate() {
        x.push((b - dot(&row[..i], &x)) / row[i]);
    }
    x
}

/// Solves Lᵀ·x = b.
pub fn backward(lower: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for (i, row) in lower.iter().enumerate().rev() {
        x[i] /= row[i];
        let known = x[i];
        for (x, l) in std::iter::zip(&mut x, &row[..i]) {
            *x -= l * known;
        }
    }
    x
}

/// The inverse of L·Lᵀ.
pub fn inverse(lower: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = lower.len();
    (0..n)
        .map(|at| {
            let mut unit = vec![0.0; n];
            unit[at] = 1.0;
            backward(lower, &forward(lower, &unit))
        })
        .collect()
}

/// The product of two vectors, as far as the shorter one goes.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    std::iter::zip(a, b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_solved_is_a_solution() {
        let m = vec![
            vec![4.0, 2.0, 0.6],
            vec![2.0, 5.0, 1.0],
            vec![0.6, 1.0, 3.0],
        ];
        let b = [1.0, -2.0, 0.5];
        let lower = cholesky(&m).unwrap();
        let x = backward(&lower, &forward(&lower, &b));
        for (row, b) in std::iter::zip(&m, b) {
            assert!((dot(row, &x) - b).abs() < 1e-14);
        }
        for (inverse, x) in std::iter::zip(inverse(&lower), &x) {
            assert!((dot(&inverse, &b) - x).abs() < 1e-14);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_no_triangle() {
        assert_eq!(cholesky(&[vec![1.0, 2.0], vec![2.0, 1.0]]), None);
        assert_eq!(cholesky(&[vec![f64::NAN]]), None);
    }
}
