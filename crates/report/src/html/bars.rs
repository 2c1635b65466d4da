//! Bars beside each other: what was measured of stacks, policies, devices.

use judge::compare::Metric;
use maud::{Markup, html};
use plan::{Measure, Stat};

use super::measured::{interval, looked_at, values};
use super::parts::{Span, spans};
use super::rows::{Place, Row, Rows};
use super::scale::Scale;
use crate::page::cut_inside;
use crate::pictures::{Length, Lengths};
use crate::points::{Point, Points};
use crate::unit::Kind;

/// More bars are no picture any more.
const MOST: usize = 24;

/// One bar, from zero.
struct Bar {
    /// Bars of a group stand together.
    group: String,
    name: String,
    middle: f64,
    /// Its 95 % interval, where there are repetitions.
    interval: Option<(f64, f64)>,
    /// What stands there where it is not known.
    missing: String,
}

impl Bar {
    fn drawn(&self, place: &Place<'_>, kind: Kind, colour: usize) -> Markup {
        let (left, y) = (place.left, place.y);
        if !self.middle.is_finite() {
            return html! { text x=(left + 6.0) y=(y + 4.0) { (cut_inside(&self.missing, place.letters)) } };
        }
        let end = place.of(self.middle);
        let behind = self.interval.map_or(end, |it| end.max(place.of(it.1)));
        html! {
            g class={ "bar c" (colour) } {
                rect.fill x=(left) y=(y - 8.0) width=(format!("{:.1}", end - left)) height="16" {}
                @if let Some((low, high)) = self.interval {
                    path.whisker d=(format!("M{:.1} {y}H{:.1}", place.of(low), place.of(high))) {}
                }
            }
            text x=(format!("{:.1}", behind + 6.0)) y=(y + 4.0) { (kind.show(self.middle)) }
        }
    }
}

/// Points of which nothing that was varied is a number: from the median to p99, and bars of the means.
pub(super) fn beside(points: &Points, phase: &str) -> Markup {
    if points.points.len() < 2 {
        return html! {};
    }
    let measure = looked_at(points, phase);
    let all: Vec<Span> = points
        .points
        .iter()
        .map(|point| {
            let mean = |stat| {
                let values = values(point, phase, Metric::Figure(measure, stat));
                Some(interval(&values).0).filter(|it| it.is_finite() && *it > 0.0)
            };
            let label = point.values.join(", ");
            (label, mean(Stat::P50).zip(mean(Stat::P99)))
        })
        .collect();
    let (title, told) = match measure {
        Measure::Delay => (
            "Delays of values",
            "Delays from the median to p99, means of the repetitions.",
        ),
        _ => (
            "Response times",
            "Response times from the median to p99, means of the repetitions.",
        ),
    };
    let title = format!("{title} by {}", points.axes.join(" and "));
    html! {
        (spans(&title, told, &all))
        (grouped(points, phase))
    }
}

/// Bars of the mean time and of the server's CPU, grouped by the last thing that was varied if there are several.
pub(super) fn grouped(points: &Points, phase: &str) -> Markup {
    if !(2..=MOST).contains(&points.points.len()) {
        return html! {};
    }
    let measure = looked_at(points, phase);
    let time = match measure {
        Measure::Delay => "Mean delay",
        _ => "Mean response time",
    };
    let of = |metric| -> Vec<Bar> {
        let bar = |point: &Point| {
            let (middle, low, high) = interval(&values(point, phase, metric));
            // A number alone would not say what it is of.
            let named = |(axis, value): (&String, &String)| match value.parse::<f64>() {
                Ok(_) => format!("{axis} {value}"),
                Err(_) => value.clone(),
            };
            let all: Vec<String> = points.axes.iter().zip(&point.values).map(named).collect();
            let (group, name) = match all.as_slice() {
                [others @ .., last] if !others.is_empty() => (last.clone(), others.join(", ")),
                all => (String::new(), all.join(", ")),
            };
            Bar {
                group,
                name,
                middle,
                interval: Some((low, high)).filter(|it| it.0.is_finite()),
                missing: "n/a".into(),
            }
        };
        let mut all: Vec<Bar> = points.points.iter().map(bar).collect();
        let mut groups: Vec<String> = Vec::new();
        for bar in &all {
            if !groups.contains(&bar.group) {
                groups.push(bar.group.clone());
            }
        }
        all.sort_by_key(|bar| groups.iter().position(|it| *it == bar.group));
        all
    };
    let by = points.axes.join(" and ");
    html! {
        (means(&format!("{time} by {by}"), Kind::Nanos, &of(Metric::Figure(measure, Stat::Mean))))
        (means(&format!("Server CPU a request by {by}"), Kind::Nanos, &of(Metric::CpuPerRequest)))
    }
}

/// Of what was repeated.
fn means(title: &str, kind: Kind, bars: &[Bar]) -> Markup {
    let repeated = bars
        .iter()
        .any(|it| it.middle.is_finite() && it.interval.is_some());
    let note = html! {
        "Means of the repetitions; the table below has the figures."
        @if repeated { " Lines: their 95 % interval (t on logarithms); what lies far beyond is cut off." }
    };
    drawn(title, kind, note, bars)
}

/// Of what has a unit and an error.
pub(super) fn lengths(it: &Lengths) -> Markup {
    let bar = |it: &Length| Bar {
        group: it.group.clone(),
        name: it.name.clone(),
        middle: it.value.map_or(f64::NAN, |it| it.0),
        interval: it
            .value
            .map(|(middle, half)| ((middle - half).max(0.0), middle + half)),
        missing: match it.missing.is_empty() {
            true => "n/a".to_owned(),
            false => it.missing.clone(),
        },
    };
    let bars: Vec<Bar> = it.each.iter().map(bar).collect();
    drawn(&it.title, it.unit.into(), html! { (it.told) }, &bars)
}

fn drawn(title: &str, kind: Kind, note: Markup, bars: &[Bar]) -> Markup {
    let known = || bars.iter().filter(|it| it.middle.is_finite());
    if known().next().is_none() {
        return html! {};
    }
    let end = |it: &Bar| {
        let high = it.interval.map_or(it.middle, |(_, high)| high);
        high.min(2.0 * it.middle)
    };
    let longest = known().map(end).fold(0.0, f64::max);
    let mut names: Vec<&str> = Vec::new();
    let mut group = None;
    let rows = bars.iter().map(|bar| {
        let begins = group != Some(&bar.group) && !bar.group.is_empty();
        group = Some(&bar.group);
        if !names.contains(&bar.name.as_str()) {
            names.push(&bar.name);
        }
        let colour = names.iter().position(|it| *it == bar.name).unwrap_or(0) % 8;
        Row {
            group: begins.then_some(bar.group.as_str()),
            name: &bar.name,
            drawn: Box::new(move |place| bar.drawn(place, kind, colour)),
        }
    });
    Rows {
        title,
        note,
        told: "a bar each.",
        scale: Scale::exactly(kind, 0.0, longest * 1.05),
        behind: 90.0,
        rows: rows.collect(),
    }
    .figure(&html! {})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(group: &str, name: &str, middle: f64) -> Bar {
        Bar {
            group: group.to_owned(),
            name: name.to_owned(),
            middle,
            interval: None,
            missing: "n/a".to_owned(),
        }
    }

    /// The widths of the bars, in their order.
    fn widths(page: &str) -> Vec<f64> {
        let all = page.split("rect class=\"fill\"").skip(1);
        let width = |it: &str| Some(it.split_once("width=\"")?.1.split_once('"')?.0.to_owned());
        all.map(|it| width(it).unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn bars_begin_at_zero_and_are_as_long_as_what_they_stand_for() {
        let bars = [
            bar("", "None", 1e6),
            bar("", "Sign", 2e6),
            bar("", "x", f64::NAN),
        ];
        let page = means("Times", Kind::Nanos, &bars).into_string();
        let widths = widths(&page);
        assert_eq!(widths.len(), 4, "two in each of two drawings: {page}");
        for pair in widths.chunks(2) {
            assert!((pair[1] / pair[0] - 2.0).abs() < 0.01, "{widths:?}");
        }
        assert!(page.contains("n/a"));
        assert_eq!(
            means("Times", Kind::Nanos, &[bar("", "x", f64::NAN)]).into_string(),
            ""
        );
    }

    #[test]
    fn a_name_has_its_colour_in_every_group_and_a_group_its_name_once() {
        let bars = [
            bar("1 node", "plc", 1.0),
            bar("1 node", "pc", 2.0),
            bar("10 nodes", "pc", 3.0),
        ];
        let page = means("Times", Kind::Nanos, &bars).into_string();
        let (page, _) = page.split_once("</svg>").unwrap();
        assert_eq!(page.matches("10 nodes").count(), 1);
        let colours: Vec<&str> = page
            .split("class=\"bar ")
            .skip(1)
            .map(|it| &it[..2])
            .collect();
        assert_eq!(colours, ["c0", "c1", "c1"]);
    }
}
