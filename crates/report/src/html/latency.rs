//! Times: by percentile, and how dense they lie.

use maud::{Markup, html};
use record::Histogram;
use record::run::{Phase, Trust};

use super::chart::{Chart, Drawn, Series};
use super::scale::{Scale, Spread};
use super::table::{Cell, Table};
use crate::table::{self, PERCENTILES, Percentile, percentile};
use crate::unit::Kind;

/// What can be switched, in the order of its buttons.
const LAYERS: [(&str, usize, bool); 4] = [
    ("response", 0, false),
    ("service", 1, false),
    ("lateness", 2, true),
    ("delay", 3, false),
];

/// Points of a curve from the fastest to the slowest, evenly in nines.
pub(super) fn by_percentile(histogram: &Histogram) -> Vec<(f64, f64)> {
    let nines = (histogram.count() as f64).log10();
    if histogram.is_empty() {
        return Vec::new();
    }
    let steps = ((nines * 24.0).ceil() as usize).clamp(2, 200);
    let places = (0..=steps).map(|step| 1.0 - 10_f64.powf(-nines * step as f64 / steps as f64));
    let at = |q: f64| Some((q, histogram.quantile(q)? as f64));
    places.filter_map(at).collect()
}

/// Latency by percentile, with its layers.
pub(super) fn percentiles(phase: &Phase, id: &str) -> Markup {
    let series: Vec<Series> = LAYERS
        .iter()
        .map(|&(name, colour, hidden)| {
            let points = by_percentile(phase.total.histogram(name));
            Series::new(name, name, colour, points).hidden(hidden)
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    if series.is_empty() {
        return html! {};
    }
    let first = series
        .first()
        .map_or("response", |it| match it.name.as_str() {
            "delay" => "delay",
            _ => "response",
        });
    let response = phase.total.histogram(first);
    let told = format!(
        "Median {first} {}, p99 {}, largest {}.",
        table::time(response.quantile(0.5).map(|it| it as f64)),
        table::time(response.quantile(0.99).map(|it| it as f64)),
        table::time(phase.max_ns(first).map(|it| it as f64)),
    );
    let chart = Chart {
        id: format!("{id}-percentiles"),
        title: "Latency by percentile".into(),
        told,
        x: Scale::around(
            Spread::Nines,
            Kind::Percentile,
            all(&series).map(|point| point.0),
        ),
        y: seen_first(Spread::Log, Kind::Nanos, &series),
        x_of: "percentile".into(),
        y_of: "time".into(),
        series,
        zones: Vec::new(),
        height: 330.0,
    };
    chart.figure(table::omission(&phase.total).as_deref())
}

/// The table of times, and what is doubtful about it.
pub(super) fn times(phase: &Phase) -> Markup {
    let table = table_of(phase);
    if table.rows.is_empty() {
        return html! {};
    }
    html! {
        (table.markup())
        @if let Some(doubt) = doubt(phase) { p.note { (doubt) } }
        @if let Some(why) = table::refusal(phase) { p.note { (table::NOT_KNOWN) ": " (why) "." } }
    }
}

pub(super) fn all(series: &[Series]) -> impl Iterator<Item = (f64, f64)> + '_ {
    series.iter().flat_map(|it| it.points.iter().copied())
}

/// An axis for what is seen at first.
pub(super) fn seen_first(spread: Spread, kind: Kind, series: &[Series]) -> Scale {
    let of = |hidden: bool| {
        let of = series.iter().filter(move |it| it.hidden == hidden);
        of.flat_map(|it| it.points.iter().map(|point| point.1))
    };
    Scale::around_seen(spread, kind, of(false), of(true))
}

fn table_of(phase: &Phase) -> Table {
    let rows = [
        ("response", "response"),
        ("service", "service"),
        ("lateness", "lateness"),
        ("pacer", "of it pacer"),
        ("slot", "of it slot"),
        ("socket", "of it socket"),
        ("lag", "receive delay"),
        ("delay", "delay"),
        ("phase", "of it phase"),
        ("queueing", "of it queueing"),
        ("transport", "of it transport"),
        ("counter-delay", "delay by counter"),
        ("server-delay", "delay from the server timestamp"),
        ("publish-delay", "delay of messages, from publishing"),
        ("arrival", "between arrivals"),
        ("cycle", "cycle"),
        ("jitter", "jitter"),
    ];
    let mut head: Vec<String> = ["", "mean", "stddev"].map(str::to_owned).to_vec();
    head.extend(PERCENTILES.iter().map(|(_, name)| (*name).to_owned()));
    head.push("max".into());
    let row = |(name, label): &(&str, &str)| {
        let histogram = phase.total.histogram(name);
        if histogram.is_empty() {
            return None;
        }
        let size = table::independent(phase, name, histogram);
        let told = |value: Option<f64>, text: String| match value {
            None => Cell::number(None, Kind::Nanos),
            Some(ns) => match phase.trust(name, ns) {
                Trust::Whole => Cell::shown(text, ns, Kind::Nanos),
                Trust::Within(error) => {
                    let text = format!("{text} ± {}", Kind::Nanos.show(error as f64));
                    Cell::shown(text, ns, Kind::Nanos)
                }
                Trust::Nothing(_) => Cell::text(table::NOT_KNOWN),
            },
        };
        let time = |value: Option<f64>| {
            let text = value.map_or_else(String::new, |ns| Kind::Nanos.show(ns));
            told(value, text)
        };
        let mut row = vec![
            Cell::text(*label),
            time(histogram.mean()),
            Cell::number(histogram.deviation(), Kind::Nanos),
        ];
        for (quantile, _) in PERCENTILES {
            let found = percentile(histogram, quantile, size);
            row.push(told(found.value(), found.to_string()));
        }
        row.push(time(phase.max_ns(name).map(|it| it as f64)));
        Some(row)
    };
    Table {
        caption: "Times".into(),
        head,
        rows: rows.iter().filter_map(row).collect(),
    }
}

/// What `~` and `n/a` mean, where they stand.
fn doubt(phase: &Phase) -> Option<String> {
    let response = phase.total.histogram("response");
    let size = table::independent(phase, "response", response);
    let found = PERCENTILES.map(|(q, _)| percentile(response, q, size));
    let alike = found
        .iter()
        .any(|it| matches!(it, Percentile::OfThisRun(_)));
    let few = found.iter().any(|it| matches!(it, Percentile::TooFew));
    let worth = || {
        format!(
            "{} response times are worth {} independent ones",
            crate::page::grouped(response.count()),
            crate::page::grouped(size.round() as u64)
        )
    };
    let needs = "p90 needs 36, p99 368, p99.9 3,688";
    match (alike, few) {
        (true, _) => Some(format!(
            "~ is true of this run, but another may well differ: {} ({needs}).",
            worth()
        )),
        (false, true) => Some(format!("n/a: too few values ({needs}).")),
        _ => None,
    }
}

/// Bins of the density.
const BINS: usize = 90;

/// One of the densities of a chart.
pub(super) struct Dense<'a> {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) histogram: &'a Histogram,
    pub(super) hidden: bool,
}

/// The empirical density of round-trip times.
pub(super) fn density(phase: &Phase, id: &str) -> Markup {
    let layers = [("service", 1), ("response", 0), ("delay", 3)];
    let known: Vec<(&str, usize, &Histogram)> = layers
        .iter()
        .map(|&(name, colour)| (name, colour, phase.total.histogram(name)))
        .filter(|(_, _, histogram)| histogram.count() >= LEAST)
        .collect();
    let of = match known.iter().all(|(name, ..)| *name == "delay") {
        true => "delays",
        false => "round-trip times",
    };
    let several = known.len() > 1;
    let all = known.iter().map(|&(name, colour, histogram)| Dense {
        name: match name {
            "service" => "service (round trip)".to_owned(),
            name => name.to_owned(),
        },
        colour,
        histogram,
        hidden: name == "response" && several,
    });
    let all: Vec<Dense> = all.collect();
    densities(
        &format!("{id}-density"),
        &format!("Density of {of}"),
        of,
        &all,
    )
}

/// Densities of fewer values are noise.
const LEAST: u64 = 50;

/// Empirical densities over each other, in the same classes.
pub(super) fn densities(id: &str, title: &str, of: &str, all_of: &[Dense]) -> Markup {
    let known = || all_of.iter().filter(|it| it.histogram.count() >= LEAST);
    // The slowest thousandth would press all the rest into a corner.
    let edges = known().filter_map(|it| {
        Some((
            it.histogram.min()?.max(1) as f64,
            it.histogram.quantile(0.999)? as f64,
        ))
    });
    let (low, high) = edges.fold((f64::INFINITY, 0.0_f64), |(low, high), edge| {
        (low.min(edge.0), high.max(edge.1))
    });
    if high <= low {
        return html! {};
    }
    let step = (high / low).ln() / BINS as f64;
    let series: Vec<Series> = known()
        .map(|it| {
            let mut bins = [0_u64; BINS];
            for (value, count) in it.histogram.values() {
                let at = ((value.max(1) as f64 / low).ln() / step).floor();
                if let Some(bin) = bins.get_mut(at.max(0.0) as usize) {
                    *bin += count;
                }
            }
            let share = |n: u64| n as f64 / it.histogram.count() as f64;
            let points = bins
                .iter()
                .enumerate()
                .map(|(i, &n)| (low * ((i as f64 + 0.5) * step).exp(), share(n)))
                .collect();
            Series::new(&it.name, &it.name, it.colour, points)
                .drawn(Drawn::Area)
                .hidden(it.hidden)
        })
        .collect();
    let chart = Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        told: format!(
            "Shares of {of} in {BINS} classes from {} to {}; the slowest thousandth is left out.",
            Kind::Nanos.show(low),
            Kind::Nanos.show(high)
        ),
        x: Scale {
            spread: Spread::Log,
            kind: Kind::Nanos,
            low,
            high,
        },
        y: Scale::around(Spread::Linear, Kind::Share, all(&series).map(|it| it.1)),
        x_of: "time".into(),
        y_of: "share in each class".into(),
        series,
        zones: Vec::new(),
        height: 250.0,
    };
    chart.figure(None)
}
