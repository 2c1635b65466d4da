//! The Universal Scalability Law: how capacity grows with the number of clients or threads, and where it ends.

use crate::matrix::Matrix;
use crate::nnls::nnls;

/// X(N) = γN / (1 + α(N − 1) + βN(N − 1)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalability {
    /// What one alone does.
    pub gamma: f64,
    /// Contention: the share that goes one after the other.
    pub alpha: f64,
    /// Coherency: what each has to agree with each other.
    pub beta: f64,
    /// The largest N that was measured.
    pub most: f64,
}

/// Where capacity is largest, or why that is not said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Peak {
    /// It grows for ever, as far as the fit tells.
    None,
    /// There; measured up to at least 80 % of it.
    At(f64),
    /// The fit says so much, but nothing was measured near it.
    Refused(f64),
}

/// A peak is claimed only if something was measured at so much of it: fits to smaller N are 30 % off there.
const NEAR: f64 = 0.8;

impl Scalability {
    /// Fits (N, throughput). N/X is linear in 1/γ, α/γ and β/γ, none of which is negative. None with fewer than
    /// four points, or without throughput.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let good = |&(n, x): &(f64, f64)| n >= 1.0 && x > 0.0;
        if points.len() < 4 || !points.iter().all(good) {
            return None;
        }
        // Relative to N/X, so that small and large N count alike.
        let of = |value: fn(f64) -> f64| points.iter().map(|(n, x)| value(*n) * x / n).collect();
        let columns = vec![of(|_| 1.0), of(|n| n - 1.0), of(|n| n * (n - 1.0))];
        let ones = vec![1.0; points.len()];
        let [one, contention, coherency] = nnls(&Matrix::of_columns(columns), &ones)[..] else {
            return None;
        };
        (one > 0.0).then(|| Self {
            gamma: 1.0 / one,
            alpha: contention / one,
            beta: coherency / one,
            most: points.iter().map(|it| it.0).fold(0.0, f64::max),
        })
    }

    /// Throughput of so many.
    pub fn predict(&self, n: f64) -> f64 {
        self.gamma * n / (1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0))
    }

    /// Where throughput is largest.
    pub fn peak(&self) -> Peak {
        if self.beta <= 0.0 {
            return Peak::None;
        }
        let peak = ((1.0 - self.alpha).max(0.0) / self.beta).sqrt().max(1.0);
        match self.most >= NEAR * peak {
            true => Peak::At(peak),
            false => Peak::Refused(peak),
        }
    }
}
