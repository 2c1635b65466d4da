//! What was found, in a sentence: of a phase, and of runs with something varied.

use judge::compare::{Metric, unbelievable};
use plan::{Measure, Stat};
use record::run::Phase;

use super::measured::{interval, looked_at, values};
use crate::page::{counted, grouped};
use crate::points::{Point, Points};
use crate::several::phases;
use crate::table::{self, Percentile, percentile};
use crate::unit::Kind;

/// What one phase found. Nothing where there is nothing to be said in a sentence.
pub(crate) fn of_phase(phase: &Phase) -> Option<String> {
    let sum = &phase.total;
    let notified = !sum.histogram("delay").is_empty() && phase.is_notified();
    let name = if notified { "delay" } else { "response" };
    let times = sum.histogram(name);
    if times.is_empty() {
        return None;
    }
    let size = table::independent(phase, name, times);
    let of = if notified { "came" } else { "were answered" };
    let within: Vec<String> = [(0.5, "half"), (0.99, "99 %")]
        .into_iter()
        .filter_map(|(q, share)| match percentile(times, q, size) {
            Percentile::TooFew => None,
            found => Some((share, found)),
        })
        .enumerate()
        .map(|(i, (share, found))| match i {
            0 => format!("{share} {of} within {found}"),
            _ => format!("{share} within {found}"),
        })
        .collect();
    let within = match within.is_empty() {
        false => within.join(", "),
        true => {
            let longest = phase.max_ns(name)? as f64;
            format!("all {of} within {}", Kind::Nanos.show(longest))
        }
    };
    let share = |n: u64, all: u64| Kind::Share.show(n as f64 / all.max(n) as f64);
    let (what, wrong) = match &phase.subscriptions {
        Some(told) if notified => (
            phase
                .values_in_window()
                .map(|n| counted(n, "value", "values")),
            match told.lost {
                0 => "none lost".to_owned(),
                n => format!("{} lost", grouped(n)),
            },
        ),
        _ => (
            sum.rate_per_s
                .map(|it| format!("{} requests a second", Kind::Count.show(it))),
            match sum.errors {
                0 => "none failed".to_owned(),
                n => format!("{} failed ({})", grouped(n), share(n, sum.completed)),
            },
        ),
    };
    let what = what.map_or_else(String::new, |it| format!("{it}: "));
    Some(format!("{what}{within}; {wrong}."))
}

/// More values of an axis are summed up in their best and their worst.
const EACH: usize = 4;

/// Nothing is claimed of figures that are the generator's own, or wander.
const DOUBTFUL: &str = "Not compared: figures of some runs cannot be believed.";
/// What has to be minded of differences between single runs.
const ONE_RUN: &str = " (one run each: how much the next would differ is not known)";

/// What runs with one thing varied found: of each phase, how its times and costs went with it.
pub(crate) fn of_points(points: &Points) -> Vec<String> {
    let [axis] = points.axes.as_slice() else {
        return Vec::new();
    };
    let (Some(first), true) = (points.points.first(), points.points.len() > 1) else {
        return Vec::new();
    };
    let doubtful = |it: &Point| unbelievable(&it.runs.iter().map(|it| &it.run).collect::<Vec<_>>());
    if points.points.iter().any(doubtful) {
        return vec![DOUBTFUL.to_owned()];
    }
    let single = points.points.iter().all(|it| it.runs.len() == 1);
    let but = if single { ONE_RUN } else { "" };
    let all = first.runs.iter();
    let names = phases(all.copied());
    let several = names.len() > 1;
    let found = names.iter().filter_map(|phase| {
        let measured = Measured::new(points, phase);
        let told = match points.points.iter().all(|it| it.number(0).is_some()) {
            true => measured.along(axis, points),
            false => measured.beside(points),
        }?;
        Some(match several {
            true => format!("{phase}: {told}{but}."),
            false => format!("{told}{but}."),
        })
    });
    found.collect()
}

/// What is compared of a phase, and how it is called.
struct Measured<'a> {
    phase: &'a str,
    metrics: Vec<(Metric, &'static str)>,
}

impl<'a> Measured<'a> {
    fn new(points: &Points, phase: &'a str) -> Self {
        let of = looked_at(points, phase);
        let name = match of {
            Measure::Delay => "p99 of the delay",
            _ => "p99",
        };
        let metrics = vec![
            (Metric::Figure(of, Stat::P99), name),
            (Metric::CpuPerRequest, "CPU per request"),
        ];
        Self { phase, metrics }
    }

    fn at(&self, point: &Point, metric: Metric) -> Option<(f64, f64, f64)> {
        let found = interval(&values(point, self.phase, metric));
        (found.0.is_finite() && found.0 > 0.0).then_some(found)
    }

    /// From the first value of an axis of numbers to the last.
    fn along(&self, axis: &str, points: &Points) -> Option<String> {
        let (first, last) = (points.points.first()?, points.points.last()?);
        let (from, to) = (first.values.first()?, last.values.first()?);
        let parts: Vec<String> = self
            .metrics
            .iter()
            .filter_map(|(metric, name)| {
                let (a, b) = (self.at(first, *metric)?, self.at(last, *metric)?);
                let show = |it: f64| Kind::from(metric.unit()).show(it);
                Some(format!("{name} goes from {} to {}", show(a.0), show(b.0)))
            })
            .collect();
        match parts.is_empty() {
            true => None,
            false => Some(format!("From {axis} {from} to {to}, {}", parts.join(", "))),
        }
    }

    /// Each of a few against the first; of many, the two ends.
    fn beside(&self, points: &Points) -> Option<String> {
        let (base, others) = points.points.split_first()?;
        let name = |it: &Point| it.values.join(", ");
        if others.len() > EACH {
            let (metric, of) = self.metrics.first()?;
            let mut known: Vec<(f64, &Point)> = points
                .points
                .iter()
                .filter_map(|it| Some((self.at(it, *metric)?.0, it)))
                .collect();
            known.sort_by(|a, b| a.0.total_cmp(&b.0));
            let ((low, least), (high, most)) = (known.first()?, known.last()?);
            let show = |it: f64| Kind::from(metric.unit()).show(it);
            return Some(format!(
                "{of} is lowest with {} ({}) and highest with {} ({})",
                name(least),
                show(*low),
                name(most),
                show(*high)
            ));
        }
        let told: Vec<String> = others
            .iter()
            .filter_map(|other| {
                let parts: Vec<String> = self
                    .metrics
                    .iter()
                    .filter_map(|(metric, of)| {
                        Some(difference(
                            of,
                            self.at(base, *metric)?,
                            self.at(other, *metric)?,
                        ))
                    })
                    .collect();
                (!parts.is_empty()).then(|| format!("{}: {}", name(other), parts.join(", ")))
            })
            .collect();
        match told.is_empty() {
            true => None,
            false => Some(format!("Against {}: {}", name(base), told.join("; "))),
        }
    }
}

/// How a figure lies to another one; each with the ends of its interval, if it has one.
fn difference(of: &str, base: (f64, f64, f64), other: (f64, f64, f64)) -> String {
    let ratio = other.0 / base.0;
    let apart = match base.1.is_finite() && other.1.is_finite() {
        true => base.2 < other.1 || other.2 < base.1,
        // Of single runs nothing is known of their spread.
        false => true,
    };
    let percent = |it: f64| Kind::Share.show(it);
    match ratio {
        _ if !apart => format!("{of} not told apart"),
        r if r >= 2.0 => format!("{of} {} times as high", Kind::Count.show(r)),
        r if r >= 1.005 => format!("{of} {} higher", percent(r - 1.0)),
        r if r > 0.995 => format!("{of} the same"),
        r => format!("{of} {} lower", percent(1.0 - r)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_claimed_only_where_intervals_are_apart() {
        let none = f64::NAN;
        let told = |a, b| difference("p99", a, b);
        assert_eq!(
            told((1.0, none, none), (1.09, none, none)),
            "p99 9 % higher"
        );
        assert_eq!(told((1.0, none, none), (0.5, none, none)), "p99 50 % lower");
        assert_eq!(
            told((1.0, none, none), (3.0, none, none)),
            "p99 3 times as high"
        );
        assert_eq!(told((1.0, none, none), (1.001, none, none)), "p99 the same");
        assert_eq!(
            told((1.0, 0.9, 1.1), (1.09, 1.0, 1.2)),
            "p99 not told apart"
        );
        assert_eq!(told((1.0, 0.99, 1.01), (1.09, 1.08, 1.1)), "p99 9 % higher");
    }
}
