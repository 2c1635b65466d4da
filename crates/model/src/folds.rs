//! Cross-validation: which configurations are held out together.

use plan::Random;

use crate::cost::Point;

/// So many folds, as far as there are configurations.
const FOLDS: usize = 10;

/// The fold of each configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds(Vec<usize>);

/// Deals configurations out evenly, in an order that is the same each time.
pub fn dealt(configurations: usize) -> Folds {
    let mut random = Random::new(1);
    let mut order: Vec<(u64, usize)> = (0..configurations)
        .map(|it| (random.next_u64(), it))
        .collect();
    order.sort_unstable();
    let mut folds = vec![0; configurations];
    for (at, (_, configuration)) in order.into_iter().enumerate() {
        folds[configuration] = at % FOLDS.min(configurations);
    }
    Folds(folds)
}

impl Folds {
    /// The fold of each configuration.
    pub fn each(&self) -> &[usize] {
        &self.0
    }

    /// How many folds there are.
    pub fn count(&self) -> usize {
        self.0.iter().max().map_or(0, |it| it + 1)
    }

    /// The configurations that are not in a fold.
    pub fn others(&self, fold: usize) -> Vec<usize> {
        (0..self.0.len()).filter(|&it| self.0[it] != fold).collect()
    }

    /// A fit for each fold, to all points that are not in it.
    pub fn fits<T>(&self, points: &[Point], fit: impl Fn(&[Point]) -> T) -> Vec<T> {
        (0..self.count())
            .map(|fold| {
                let rest = self.others(fold);
                let rest: Vec<Point> = rest.into_iter().map(|it| points[it].clone()).collect();
                fit(&rest)
            })
            .collect()
    }

    /// What is predicted of each point by the fit that has not seen it.
    pub fn predicted<T>(
        &self,
        points: &[Point],
        fits: &[T],
        predict: impl Fn(&T, &Point) -> f64,
    ) -> Vec<f64> {
        std::iter::zip(points, &self.0)
            .map(|(point, &fold)| predict(&fits[fold], point))
            .collect()
    }
}
