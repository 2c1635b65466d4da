//! A comparison for machines: what the screen says, as an object.

use judge::compare::{Direction, Method, Outcome, P, Row};
use serde::Serialize;

use crate::compared::{At, Compared};
use crate::trend::TrendOutput;

/// What was compared, and what came of it.
#[derive(Debug, Serialize)]
pub struct Comparison<'a> {
    format: &'static str,
    version: u32,
    base: &'a str,
    new: &'a str,
    /// What the exit code is.
    exit_code: u8,
    /// Conditions of the command line that do not hold.
    failed: &'a [String],
    /// What makes the two hard to compare.
    doubts: &'a [String],
    /// What failed, or was not there, on either side: the first that are of no point, then each point's.
    failures: Vec<Failed<'a>>,
    /// Points that one side has and the other has not.
    alone: &'a [String],
    points: Vec<Point<'a>>,
    history: Vec<TrendOutput<'a>>,
}

#[derive(Debug, Serialize)]
struct Failed<'a> {
    /// The point; empty if there is but one.
    point: &'a str,
    /// Whether it is the new side that is worse; otherwise the two are not comparable.
    worse: bool,
    why: &'a str,
}

#[derive(Debug, Serialize)]
struct Point<'a> {
    label: &'a str,
    base_runs: usize,
    new_runs: usize,
    metrics: Vec<Figure<'a>>,
}

#[derive(Debug, Serialize)]
struct Figure<'a> {
    metric: String,
    better_is: &'static str,
    outcome: &'static str,
    /// Runs on each side from which it could be told, where it cannot.
    runs_wanted: Option<u32>,
    base: Side<'a>,
    new: Side<'a>,
    ratio: Option<f64>,
    /// Of the ratio, 95 %.
    interval: Option<(f64, f64)>,
    method: &'static str,
    p: Option<f64>,
    p_adjusted: Option<f64>,
    /// So many figures were corrected for together.
    family: usize,
    /// Differences of less, in parts, are noise.
    margin: f64,
}

#[derive(Debug, Serialize)]
struct Side<'a> {
    mean: f64,
    /// The standard deviation between runs in parts of the mean.
    spread: Option<f64>,
    runs: &'a [f64],
}

impl<'a> Comparison<'a> {
    /// What was compared, which conditions do not hold, and the exit code that comes of it.
    pub fn new(compared: &'a Compared, failed: &'a [String], exit_code: u8) -> Self {
        let everywhere = compared.failures.iter().map(|failure| ("", failure));
        let each = compared.points.iter();
        let in_points = each.flat_map(|at| at.failures.iter().map(|it| (at.label.as_str(), it)));
        Self {
            format: "uaperf-comparison",
            version: 1,
            base: &compared.sides.0,
            new: &compared.sides.1,
            exit_code,
            failed,
            doubts: &compared.doubts,
            failures: everywhere
                .chain(in_points)
                .map(|(point, it)| Failed {
                    point,
                    worse: it.worse,
                    why: &it.told,
                })
                .collect(),
            alone: &compared.alone,
            points: compared.points.iter().map(point).collect(),
            history: compared.history.iter().map(TrendOutput::of).collect(),
        }
    }
}

fn point(at: &At) -> Point<'_> {
    Point {
        label: &at.label,
        base_runs: at.runs.0,
        new_runs: at.runs.1,
        metrics: at.rows.iter().map(figure).collect(),
    }
}

fn figure(row: &Row) -> Figure<'_> {
    let it = &row.comparison;
    let value = |p: Option<P>| p.map(|p| p.value);
    Figure {
        metric: row.metric.to_string(),
        better_is: match it.better {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        },
        outcome: it.outcome.name(),
        runs_wanted: match it.outcome {
            Outcome::CannotTell { runs } => runs,
            _ => None,
        },
        base: Side {
            mean: it.means.0,
            spread: it.spread.0,
            runs: &it.base,
        },
        new: Side {
            mean: it.means.1,
            spread: it.spread.1,
            runs: &it.new,
        },
        ratio: it.ratio,
        interval: it.interval,
        method: match it.method {
            Method::Welch => "welch",
            Method::Bootstrap => "bootstrap",
            Method::Pairs => "pairs",
            Method::Within => "within-run",
            Method::Operations => "operations",
            Method::None => "none",
        },
        p: value(it.p),
        p_adjusted: it.adjusted,
        family: it.family,
        margin: it.margin,
    }
}
