//! What is drawn of points: which measure, and its value in each repetition.

use judge::compare::{Metric, t_half};
use plan::Measure;
use record::run::Phase;

use crate::metric::geometric_if_positive;
use crate::points::{Point, Points};

/// What a phase is looked at for: how long its requests took, or what was notified.
pub(super) fn looked_at(points: &Points, phase: &str) -> Measure {
    let runs = points.points.iter().flat_map(|it| &it.runs);
    let mut phases = runs.flat_map(|it| &it.run.phases);
    match phases.any(|it| it.name == phase && it.is_notified()) {
        true => Measure::Delay,
        false => Measure::Response,
    }
}

/// A metric of each repetition of a point.
pub(super) fn values(point: &Point, phase: &str, metric: Metric) -> Vec<f64> {
    let of = |phases: &[Phase]| {
        let phase = phases.iter().find(|it| it.name == phase)?;
        metric.of(phase)
    };
    point
        .runs
        .iter()
        .filter_map(|it| of(&it.run.phases))
        .collect()
}

/// The geometric mean and its 95 % interval; of few values without one. Where one is not positive, the arithmetic mean alone.
pub(super) fn interval(values: &[f64]) -> (f64, f64, f64) {
    let none = f64::NAN;
    let middle = geometric_if_positive(values).unwrap_or(none);
    let logs: Option<Vec<f64>> = values
        .iter()
        .map(|it| (*it > 0.0).then(|| it.ln()))
        .collect();
    match logs.and_then(|logs| t_half(&logs)) {
        Some(half) => (middle, middle / half.exp(), middle * half.exp()),
        None => (middle, none, none),
    }
}
