//! In a sentence: whether a sweep has the shape that was published of the same experiment.

use judge::Shape;
use judge::compare::Metric;
use plan::{Measure, Stat};

use super::measured::{compared, interval, values};
use super::published::same_experiment;
use crate::points::{Named, Points, families};
use crate::several::phases;
use crate::unit::Kind;

/// Of all runs, what is to be said of each published curve.
pub fn shapes(runs: &[Named]) -> Vec<String> {
    let mut all = Vec::new();
    for family in families(runs) {
        let points = Points::of(family.runs.iter().copied());
        for phase in phases(family.runs.iter().copied()) {
            all.extend(of_phase(&points, phase));
        }
    }
    all
}

/// Means of a phase over its axis beside each published sweep over the same axis.
pub(super) fn of_phase(points: &Points, phase: &str) -> Vec<String> {
    let (Some(axis), [name]) = (points.curve(), points.axes.as_slice()) else {
        return Vec::new();
    };
    let first = points.points.first().and_then(|it| it.runs.first());
    let published = first.map_or_else(Vec::new, |it| same_experiment(name, &it.run));
    let measure = compared(points, phase, &published);
    let metric = Metric::Figure(measure, Stat::Mean);
    let ours = points.points.iter().filter_map(|point| {
        let (mean, _, _) = interval(&values(point, phase, metric));
        Some((point.number(axis)?, mean))
    });
    let ours: Vec<(f64, f64)> = ours.collect();
    let told = published.iter().filter_map(|it| {
        let (column, of) = it.times().first()?;
        let shape = Shape::of(&it.points(column, 1e6), &ours)?;
        let from = match measure {
            Measure::PublishDelay => ", ours from publishing on",
            _ => "",
        };
        let told = sentence(name, &shape);
        Some(format!("{}, {of}{from}: {told}", it.source))
    });
    told.collect()
}

fn sentence(axis: &str, shape: &Shape) -> String {
    let number = |it: f64| Kind::Count.show(it);
    let (from, to) = shape.ends;
    let times = |growth: f64| match growth >= 1.0 {
        true => format!("grows {} times", number(growth)),
        false => format!("falls to {} times", number(growth)),
    };
    let ranks = match shape.ranks {
        Some(ranks) => format!("ranks correlate {ranks:.2}"),
        None => "one of them is flat".to_owned(),
    };
    let knee = |at: Option<f64>| at.map_or("nowhere".to_owned(), |at| format!("at {}", number(at)));
    format!(
        "over {} places from {axis} {} to {} the published one {}, ours {}; {ranks}; a factor \
         of two from the first value: {} there, {} here",
        shape.places,
        number(from),
        number(to),
        times(shape.growth.0),
        times(shape.growth.1),
        knee(shape.knees.0),
        knee(shape.knees.1),
    )
}
