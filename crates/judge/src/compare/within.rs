//! Single long runs: what a figure's own course says about how well it is known.
//!
//! A run is cut into batches, long enough that they no longer resemble each other. How far the batches lie apart
//! is how well their mean is known. How much another run would differ remains unknown.

use plan::{Measure, Stat};
use record::run::{HistogramCourse, Phase};

use super::interval::{degrees, t_quantile, t_tails};
use super::{Comparison, Direction, Method, Metric, Outcome, P, level, variance};
use crate::confidence::quantile_interval;

/// A figure of a run, on the scale of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure itself.
    pub value: f64,
    /// The standard error of its logarithm.
    pub error: f64,
    /// The degrees of freedom of that.
    pub degrees: f64,
}

impl Estimate {
    /// The mean of a course, from values of equal intervals; none if they are too few.
    pub fn of_course(values: &[f64]) -> Option<Self> {
        let (error, degrees) = scatter(values)?;
        Some(Self {
            value: level(values),
            error,
            degrees,
        })
    }
}

/// Batches at first.
const MOST_BATCHES: usize = 32;
/// Fewer say nothing.
const LEAST_BATCHES: usize = 8;
/// Neighbours may be as alike.
const ALIKE: f64 = 0.2;

/// What a phase knows of a metric; none if it is too short or the metric has no course in the file.
pub fn estimate(phase: &Phase, metric: Metric) -> Option<Estimate> {
    let value = metric.of(phase).filter(|&value| value > 0.0)?;
    let (values, histogram) = match metric {
        Metric::CpuPerRequest => (cpu(phase)?, None),
        Metric::Figure(Measure::Response, Stat::Rate) => (rate(phase), None),
        Metric::Figure(measure @ (Measure::Response | Measure::Service), stat) => {
            let course = match measure {
                Measure::Response => &phase.series.response,
                _ => &phase.series.service,
            };
            let histogram = phase.total.histogram(measure.name());
            match stat {
                Stat::Mean => (means(phase, course), None),
                Stat::Percentile(_) => {
                    let quantile = stat.quantile()?;
                    // The course closest to it: what makes it wander makes that wander too.
                    let rows = if quantile < 0.9 {
                        &course.p50_ns
                    } else {
                        &course.p99_ns
                    };
                    (column(phase, rows), Some((histogram, quantile)))
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let (mut error, degrees) = scatter(&values)?;
    if let Some((histogram, quantile)) = histogram {
        // What order statistics say of independent samples is the least that is unknown.
        let independent = effective(&values, error).min(1.0) * histogram.count() as f64;
        let (low, high) = quantile_interval(histogram, quantile, independent)?;
        if low > 0 {
            error = error.max((high as f64 / low as f64).ln() / (2.0 * 1.96));
        }
    }
    Some(Estimate {
        value,
        error,
        degrees,
    })
}

/// Which share of a sample is worth as much as an independent one, from how its intervals scatter.
fn effective(values: &[f64], error: f64) -> f64 {
    let squared = variance(values) / (level(values).powi(2) * values.len() as f64);
    match error > 0.0 {
        true => squared / (error * error),
        false => 1.0,
    }
}

/// The standard error of the mean's logarithm, from batches, and its degrees of freedom.
pub(super) fn scatter(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < LEAST_BATCHES {
        return None;
    }
    let mut count = MOST_BATCHES.min(values.len());
    loop {
        let batches = batches(values, count);
        let middle = level(&batches);
        if middle <= 0.0 {
            return None;
        }
        let next = count / 2;
        if neighbours(&batches) < ALIKE || next < LEAST_BATCHES {
            // What is left of the resemblance, as of an AR(1) process.
            let left = neighbours(&batches).clamp(0.0, 0.8);
            let inflated = (1.0 + left) / (1.0 - left);
            let error = (variance(&batches) * inflated / batches.len() as f64).sqrt() / middle;
            return Some((error, (batches.len() as f64 - 1.0) / inflated));
        }
        count = next;
    }
}

/// Means of so many parts of (nearly) the same length.
fn batches(values: &[f64], count: usize) -> Vec<f64> {
    let edge = |i: usize| i * values.len() / count;
    (0..count)
        .filter_map(|i| values.get(edge(i)..edge(i + 1)))
        .map(level)
        .collect()
}

/// The correlation of neighbours.
fn neighbours(values: &[f64]) -> f64 {
    let middle = level(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|two| two.iter().map(|value| value - middle).product::<f64>())
        .sum();
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

/// The rows of the measured window that are whole.
fn window(phase: &Phase) -> std::ops::Range<usize> {
    let interval = phase.series.interval_ns.max(1);
    let first = usize::try_from(phase.from_ns.div_ceil(interval)).unwrap_or(usize::MAX);
    let last = usize::try_from(phase.to_ns / interval).unwrap_or(usize::MAX);
    first..last.max(first)
}

fn rate(phase: &Phase) -> Vec<f64> {
    let rows = phase.series.completed.get(window(phase));
    rows.unwrap_or_default().iter().map(|&n| n as f64).collect()
}

fn means(phase: &Phase, course: &HistogramCourse) -> Vec<f64> {
    let rows = course.mean_ns.get(window(phase));
    rows.unwrap_or_default().iter().copied().flatten().collect()
}

fn column(phase: &Phase, column: &[Option<u64>]) -> Vec<f64> {
    let rows = column.get(window(phase)).unwrap_or_default();
    rows.iter().flatten().map(|&value| value as f64).collect()
}

/// CPU of the server for each request, between looks at it.
fn cpu(phase: &Phase) -> Option<Vec<f64>> {
    let server = phase.resources.iter().find(|it| it.who == "server")?;
    let interval = phase.series.interval_ns.max(1) as f64;
    // Completed until a time, within an interval evenly.
    let mut sums = vec![0.0];
    for &n in &phase.series.completed {
        sums.push(sums.last().copied().unwrap_or(0.0) + n as f64);
    }
    let until = |ns: u64| {
        let at = ns as f64 / interval;
        let row = (at.floor() as usize).min(sums.len() - 1);
        let next = (row + 1).min(sums.len() - 1);
        let (low, high) = (
            sums.get(row).copied().unwrap_or(0.0),
            sums.get(next).copied().unwrap_or(0.0),
        );
        low + (high - low) * (at - row as f64).clamp(0.0, 1.0)
    };
    let looks = server.at_ns.windows(2).zip(server.cpu_cores.iter().skip(1));
    let values = looks.filter_map(|(two, cores)| {
        let (from, to) = (*two.first()?, *two.last()?);
        let done = until(to) - until(from);
        let inside = from >= phase.from_ns && to <= phase.to_ns;
        (inside && done > 0.0).then_some((*cores)? * (to - from) as f64 / done)
    });
    Some(values.collect())
}

/// Compares figures of two single runs.
pub fn compare_estimates(
    base: Estimate,
    new: Estimate,
    better: Direction,
    margin: f64,
) -> Comparison {
    let (x, y) = (
        (base.error.powi(2), base.degrees),
        (new.error.powi(2), new.degrees),
    );
    let difference = (new.value / base.value).ln();
    let error = (x.0 + y.0).sqrt();
    let degrees = degrees(x, y);
    let interval = t_quantile(degrees).map(|t| {
        (
            (difference - t * error).exp(),
            (difference + t * error).exp(),
        )
    });
    let p = match error > 0.0 {
        true => t_tails(difference / error, degrees),
        false => Some(if difference == 0.0 { 1.0 } else { 0.0 }),
    };
    let mut comparison = Comparison {
        base: vec![base.value],
        new: vec![new.value],
        means: (base.value, new.value),
        spread: (None, None),
        ratio: Some(difference.exp()),
        interval,
        method: Method::Within,
        p: p.map(|value| P {
            value,
            least: 0.0,
            exact: false,
        }),
        adjusted: None,
        family: 1,
        single: false,
        mann_whitney: None,
        delta: None,
        margin,
        better,
        outcome: Outcome::CannotTell { runs: None },
    };
    comparison.decide(1);
    comparison
}
