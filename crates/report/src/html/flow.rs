//! What network interfaces carried, and power, over time.

use record::run::{LinkCourse, Phase};

use super::chart::{Drawn, Series};
use crate::resources::label;

/// A phase and when it began, in seconds of the run.
type Placed<'a> = (f64, &'a Phase);

/// A column of the course of a link.
type Column = fn(&LinkCourse) -> &Vec<Option<f64>>;

/// Bytes a second of each interface, each way.
pub(super) fn links(group: &[Placed]) -> Vec<Series> {
    let both: [(&str, Drawn, Column); 2] = [
        ("in", Drawn::Line, |it| &it.received_bytes_per_s),
        ("out", Drawn::Thin, |it| &it.sent_bytes_per_s),
    ];
    let each = names(group).into_iter().enumerate();
    each.flat_map(|(n, (whose, link))| {
        both.into_iter().filter_map(move |(way, drawn, column)| {
            let points = course(group, &whose, &link, column);
            let layer = format!("{whose} {link}");
            some(&points).then(|| {
                Series::new(&format!("{layer} {way}"), &layer, n % 8, points)
                    .ended(way)
                    .drawn(drawn)
            })
        })
    })
    .collect()
}

/// The share of each link that has a speed, the fuller way.
pub(super) fn shares(group: &[Placed]) -> Vec<Series> {
    let each = names(group).into_iter().enumerate();
    each.filter_map(|(n, (whose, link))| {
        let points = course(group, &whose, &link, |it| &it.share);
        let name = format!("{whose} {link}");
        some(&points).then(|| Series::new(&name, &name, n % 8, points))
    })
    .collect()
}

/// Watts of each meter and domain.
pub(super) fn power(group: &[Placed]) -> Vec<Series> {
    let mut names: Vec<&str> = Vec::new();
    for it in group.iter().flat_map(|(_, phase)| &phase.energy) {
        if !names.contains(&it.by.as_str()) {
            names.push(&it.by);
        }
    }
    let each = names.into_iter().enumerate();
    each.filter_map(|(n, name)| {
        let mut points = Vec::new();
        for (begin, phase) in group {
            let own = phase.energy.iter().find(|it| it.by == name);
            let Some(course) = own.and_then(|it| it.course.as_ref()) else {
                continue;
            };
            let interval = course.interval_ns as f64 / 1e9;
            for (row, watts) in course.watts.iter().enumerate() {
                let middle = begin + (row as f64 + 0.5) * interval;
                points.push((middle, watts.unwrap_or(f64::NAN)));
            }
            points.push((begin + phase.end_ns as f64 / 1e9, f64::NAN));
        }
        points.pop();
        some(&points).then(|| Series::new(name, name, n % 8, points))
    })
    .collect()
}

/// Interfaces that have a course, with whose they are.
fn names(group: &[Placed]) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    for usage in group.iter().flat_map(|(_, phase)| &phase.resources) {
        for link in usage.links.iter().filter(|it| it.course.is_some()) {
            let name = (label(usage).to_owned(), link.name.clone());
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn course(group: &[Placed], whose: &str, link: &str, column: Column) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (begin, phase) in group {
        let usages = phase.resources.iter().filter(|it| label(it) == whose);
        let mut links = usages.flat_map(|it| &it.links);
        let own = links.find(|it| it.name == link);
        let Some(course) = own.and_then(|it| it.course.as_ref()) else {
            continue;
        };
        let rows = course.at_ns.iter().zip(column(course));
        // What was looked at behind the phase's end is none of it.
        let rows = rows.filter(|(at, _)| **at <= phase.end_ns);
        points.extend(rows.map(|(at, it)| (begin + *at as f64 / 1e9, it.unwrap_or(f64::NAN))));
        points.push((begin + phase.end_ns as f64 / 1e9, f64::NAN));
    }
    points.pop();
    points
}

fn some(points: &[(f64, f64)]) -> bool {
    points.iter().any(|it| it.1.is_finite())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use record::Ledger;
    use record::run::{Energy, Figure, LinkUsage, PowerCourse, UsageSeries, WarmUp};

    use super::*;

    fn phase() -> Phase {
        let time = "2026-03-01T09:30:00Z".parse().unwrap();
        let tally = Ledger::with_end(2_000_000_000).finish();
        let name = |code: u32| format!("{code:08X}");
        let mut phase = Phase::new("p", time, &tally, WarmUp::default(), 0, &name);
        let course = LinkCourse {
            at_ns: vec![500_000_000, 1_000_000_000, 2_500_000_000],
            received_bytes_per_s: vec![Some(1e6), None, Some(9e6)],
            sent_bytes_per_s: vec![Some(2e6), Some(3e6), Some(9e6)],
            share: Vec::new(),
        };
        phase.resources.push(UsageSeries {
            who: "host".to_owned(),
            links: vec![LinkUsage {
                name: "eth0".to_owned(),
                received_bytes: Figure::Known(1),
                sent_bytes: Figure::Known(1),
                dropped: Figure::Known(0),
                share: Figure::missing("no speed"),
                course: Some(course),
            }],
            ..UsageSeries::default()
        });
        phase.energy.push(Energy {
            by: "package-0".to_owned(),
            joules: Figure::Known(20.0),
            watts: Figure::Known(10.0),
            idle_watts: Figure::missing("x"),
            above_idle_joules: Figure::missing("x"),
            per_operation_joules: Figure::missing("x"),
            per_value_joules: Figure::missing("x"),
            widest_gap_ns: Figure::Known(1),
            aligned_by_s: None,
            course: Some(PowerCourse {
                interval_ns: 1_000_000_000,
                watts: vec![Some(8.0), Some(12.0)],
            }),
        });
        phase
    }

    fn known(series: &Series) -> Vec<(f64, f64)> {
        let all = series.points.iter().copied();
        all.filter(|it| it.1.is_finite()).collect()
    }

    #[test]
    fn links_and_power_are_drawn_at_their_times_up_to_the_phase_s_end() {
        let phase = phase();
        let group = [(10.0, &phase)];
        let drawn = links(&group);
        assert_eq!(drawn.len(), 2);
        assert_eq!(known(&drawn[0]), [(10.5, 1e6)]);
        assert_eq!(known(&drawn[1]), [(10.5, 2e6), (11.0, 3e6)]);
        // Of a link without a speed there is no share.
        assert!(shares(&group).is_empty());
        assert_eq!(known(&power(&group)[0]), [(10.5, 8.0), (11.5, 12.0)]);
    }
}
