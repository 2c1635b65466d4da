//! What is drawn of points: which measure, and its value in each repetition.

use judge::compare::{Metric, t_half};
use plan::{Measure, Stat};
use record::run::Phase;

use super::published::Published;
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

/// What is held against published times: of subscriptions the delay from publishing on. Studies took it from the moment in which the
/// server sampled a value, half a publishing interval after it changed; where a server publishes as it samples both are the same.
pub(super) fn compared(points: &Points, phase: &str, published: &[&Published]) -> Measure {
    let metric = Metric::Figure(Measure::PublishDelay, Stat::Mean);
    let mut all = points.points.iter();
    match published.iter().any(|it| it.is_of_messages())
        && all.any(|point| !values(point, phase, metric).is_empty())
    {
        true => Measure::PublishDelay,
        false => looked_at(points, phase),
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
