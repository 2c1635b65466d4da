//! What costs leave over: a Gaussian process on the logarithm of what was measured to what costs say.
//!
//! Far from what was measured it says nothing, and costs alone remain.

mod bounded;
mod cholesky;
mod gaussian;
mod inputs;

use serde::{Deserialize, Serialize};

use crate::cost::{Point, log_ratio};
use crate::folds::{Folds, dealt};
use crate::workload::Workload;

pub use gaussian::{Gaussian, Kernel};
pub use inputs::{Input, Quantity};

/// A process, and those without each fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// What it looks at.
    pub inputs: Vec<Input>,
    /// Where was measured, by inputs.
    pub places: Vec<Vec<f64>>,
    /// Of all of it.
    pub whole: Layer,
    /// Without each fold.
    pub folds: Vec<Layer>,
}

/// What one process found at places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// What it supposes.
    pub kernel: Kernel,
    /// How much each place counts; 0 for those it does not know.
    pub weights: Vec<f64>,
}

impl Process {
    /// Of points and what costs say of them: `crossed` says for any of them what costs say that have not seen each.
    pub(crate) fn fit(
        points: &[Point],
        folds: &Folds,
        crossed: &dyn Fn(&[Point], &Folds) -> Vec<f64>,
    ) -> Self {
        let workloads: Vec<&Workload> = points.iter().map(|it| &it.workload).collect();
        let inputs = Input::all(&workloads);
        let places: Vec<Vec<f64>> = workloads
            .iter()
            .map(|of| inputs.iter().map(|it| it.of(of)).collect())
            .collect();
        let left = |points: &[Point], folds: &Folds| -> Vec<f64> {
            std::iter::zip(points, crossed(points, folds))
                .map(|(it, predicted)| log_ratio(it.us_per_s, predicted))
                .collect()
        };
        let layer = |members: &[usize], y: &[f64], from: Option<&Kernel>| -> Layer {
            let x: Vec<Vec<f64>> = members.iter().map(|&it| places[it].clone()).collect();
            let kernel = match from {
                // The same search for each fold would take ten times as long; it goes on from where all of it ended.
                Some(kernel) => kernel.fitted(&x, y, false),
                None => Kernel::first(inputs.len(), y).fitted(&x, y, true),
            };
            let mut weights = vec![0.0; places.len()];
            if let Some(found) = Gaussian::new(kernel.clone(), x, y) {
                for (&at, weight) in std::iter::zip(members, found.weights()) {
                    weights[at] = *weight;
                }
            }
            Layer { kernel, weights }
        };
        let all: Vec<usize> = (0..points.len()).collect();
        let whole = layer(&all, &left(points, folds), None);
        let without = (0..folds.count()).map(|fold| {
            let members = folds.others(fold);
            let rest: Vec<Point> = members.iter().map(|&it| points[it].clone()).collect();
            let y = left(&rest, &dealt(rest.len()));
            layer(&members, &y, Some(&whole.kernel))
        });
        Self {
            folds: without.collect(),
            inputs,
            places,
            whole,
        }
    }

    /// By which factor costs are off at a workload.
    pub fn factor(&self, workload: &Workload) -> f64 {
        self.by(&self.whole, workload)
    }

    /// The same of the process that does not know a fold.
    pub fn factor_without(&self, fold: usize, workload: &Workload) -> f64 {
        self.folds.get(fold).map_or(1.0, |it| self.by(it, workload))
    }

    fn by(&self, layer: &Layer, workload: &Workload) -> f64 {
        let at: Vec<f64> = self.inputs.iter().map(|it| it.of(workload)).collect();
        let known = std::iter::zip(&self.places, &layer.weights)
            .filter(|(_, weight)| **weight != 0.0)
            .map(|(place, weight)| weight * layer.kernel.between(place, &at));
        libm::exp(known.sum())
    }
}
