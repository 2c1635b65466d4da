//! A Gaussian process with a squared exponential kernel, a length for each input, and noise (Rasmussen and Williams
//! 2006, chapters 2 and 5).

use plan::Random;
use serde::{Deserialize, Serialize};

use super::bounded::minimum;
use super::cholesky::{backward, cholesky, dot, forward, inverse};

/// What a process supposes of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// By how much the function varies, squared.
    pub variance: f64,
    /// How far one has to go along each input until it is another.
    pub lengths: Vec<f64>,
    /// By how much a measurement of it varies, squared.
    pub noise: f64,
}

/// Keeps a matrix positive that rounding made singular.
const JITTER: f64 = 1e-10;

/// What is tried: the function varies by 0.3 % to a factor of e³, over a tenth to a hundredfold of how far inputs
/// spread, and is measured with noise of 0.1 % to a factor of e.
const VARIANCE: (f64, f64) = (1e-5, 10.0);
const LENGTH: (f64, f64) = (0.1, 100.0);
const NOISE: (f64, f64) = (1e-6, 1.0);

/// Starts of the search beside the first: likelihoods have several peaks.
const RESTARTS: usize = 5;

/// Kernels are found with so many points; all of them are used then.
const FOR_KERNEL: usize = 150;

impl Kernel {
    /// What the search begins with: the function varies as what was measured does, a tenth of that is noise.
    pub fn first(inputs: usize, y: &[f64]) -> Self {
        let square = dot(y, y) / y.len().max(1) as f64;
        Self {
            variance: square.clamp(VARIANCE.0, VARIANCE.1),
            lengths: vec![1.0; inputs],
            noise: (square / 10.0).clamp(NOISE.0, NOISE.1),
        }
    }

    fn of_logs(logs: &[f64]) -> Self {
        let inputs = logs.len().saturating_sub(2);
        Self {
            variance: libm::exp(logs[0]),
            lengths: logs[1..=inputs].iter().map(|it| libm::exp(*it)).collect(),
            noise: libm::exp(logs[inputs + 1]),
        }
    }

    fn logs(&self) -> Vec<f64> {
        let all = std::iter::once(self.variance)
            .chain(self.lengths.iter().copied())
            .chain([self.noise]);
        all.map(libm::log).collect()
    }

    fn bounds(inputs: usize) -> Vec<(f64, f64)> {
        let all = std::iter::once(VARIANCE)
            .chain(std::iter::repeat_n(LENGTH, inputs))
            .chain([NOISE]);
        all.map(|(low, high)| (libm::log(low), libm::log(high)))
            .collect()
    }

    /// How much of the function at one place is known from another.
    pub fn between(&self, a: &[f64], b: &[f64]) -> f64 {
        let square: f64 = std::iter::zip(std::iter::zip(a, b), &self.lengths)
            .map(|((a, b), length)| {
                let apart = (a - b) / length;
                apart * apart
            })
            .sum();
        self.variance * libm::exp(-0.5 * square)
    }

    fn matrix(&self, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = x
            .iter()
            .map(|a| x.iter().map(|b| self.between(a, b)).collect())
            .collect();
        for (i, row) in all.iter_mut().enumerate() {
            row[i] += self.noise + JITTER;
        }
        all
    }

    /// The logarithm of how likely what was measured is, and its slope along the logarithms of variance, lengths and
    /// noise. None where rounding leaves no positive matrix.
    pub fn likelihood(&self, x: &[Vec<f64>], y: &[f64]) -> Option<(f64, Vec<f64>)> {
        let matrix = self.matrix(x);
        let lower = cholesky(&matrix)?;
        let weights = backward(&lower, &forward(&lower, y));
        let n = y.len() as f64;
        let logs: f64 = (0..y.len()).map(|it| libm::log(lower[it][it])).sum();
        let value =
            -0.5 * dot(y, &weights) - logs - 0.5 * n * libm::log(2.0 * std::f64::consts::PI);
        let inverse = inverse(&lower);
        let mut slope = vec![0.0; self.lengths.len() + 2];
        let last = slope.len() - 1;
        for i in 0..y.len() {
            slope[last] += 0.5 * self.noise * (weights[i] * weights[i] - inverse[i][i]);
            slope[0] += 0.5 * self.variance * (weights[i] * weights[i] - inverse[i][i]);
            for j in 0..i {
                // Twice a half: the matrix is symmetric.
                let part = (weights[i] * weights[j] - inverse[i][j]) * matrix[i][j];
                slope[0] += part;
                for (at, length) in self.lengths.iter().enumerate() {
                    let apart = (x[i][at] - x[j][at]) / length;
                    slope[at + 1] += part * apart * apart;
                }
            }
        }
        Some((value, slope))
    }

    /// The kernel under which what was measured is most likely, from this one on and, where asked, from others too.
    pub fn fitted(&self, x: &[Vec<f64>], y: &[f64], restarts: bool) -> Self {
        // Evenly out of all: tables are often in the order of what was varied.
        let all = x.len().min(y.len());
        let few = all.min(FOR_KERNEL);
        let (x, y): (Vec<Vec<f64>>, Vec<f64>) = (0..few)
            .map(|it| it * all / few)
            .map(|it| (x[it].clone(), y[it]))
            .unzip();
        let less = |logs: &[f64]| {
            let (value, slope) = Self::of_logs(logs).likelihood(&x, &y)?;
            Some((-value, slope.into_iter().map(|it| -it).collect()))
        };
        let bounds = Self::bounds(self.lengths.len());
        let mut random = Random::new(1);
        let others = (0..if restarts { RESTARTS } else { 0 }).map(|_| {
            let any = |&(low, high): &(f64, f64)| low + (high - low) * random.above_zero();
            bounds.iter().map(any).collect()
        });
        let starts: Vec<Vec<f64>> = std::iter::once(self.logs()).chain(others).collect();
        starts
            .iter()
            .filter_map(|start| minimum(&less, start, &bounds))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or_else(|| self.clone(), |(logs, _)| Self::of_logs(&logs))
    }
}

/// A process that knows what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    kernel: Kernel,
    x: Vec<Vec<f64>>,
    lower: Vec<Vec<f64>>,
    weights: Vec<f64>,
}

impl Gaussian {
    /// Of points and what was measured there. None where rounding leaves no positive matrix.
    pub fn new(kernel: Kernel, x: Vec<Vec<f64>>, y: &[f64]) -> Option<Self> {
        let lower = cholesky(&kernel.matrix(&x))?;
        let weights = backward(&lower, &forward(&lower, y));
        Some(Self {
            kernel,
            x,
            lower,
            weights,
        })
    }

    /// What it supposes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// How much each point counts: the mean at a place is the sum of these times what is known of it from there.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The mean of a measurement at a place, and its standard deviation.
    pub fn predict(&self, at: &[f64]) -> (f64, f64) {
        let known: Vec<f64> = self.x.iter().map(|x| self.kernel.between(x, at)).collect();
        let half = forward(&self.lower, &known);
        let variance = self.kernel.variance + self.kernel.noise - dot(&half, &half);
        (dot(&known, &self.weights), variance.max(0.0).sqrt())
    }
}
