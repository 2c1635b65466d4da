//! How figures went over occasions: a chart each, with the levels between changes.

use maud::{Markup, html};

use super::chart::{Chart, Drawn, Series};
use super::contents::Contents;
use super::scale::{Scale, Spread};
use super::table::{Cell, Table};
use crate::metric::{changed_by, kind, probability};
use crate::trend::Trend;
use crate::trends::Trends;
use crate::unit::Kind;

pub(super) fn page(trends: &Trends) -> Markup {
    let mut contents = Contents::default();
    contents.add("changes", "Changes of level", changes(trends));
    let mut labels: Vec<&str> = Vec::new();
    for trend in &trends.trends {
        if !labels.contains(&trend.label.as_str()) {
            labels.push(&trend.label);
        }
    }
    for (n, label) in labels.into_iter().enumerate() {
        let of = trends.trends.iter().enumerate();
        let of = of.filter(|(_, it)| it.label == label);
        let body = html! { @for (i, trend) in of { (course(trend, &format!("trend-{i}"))) } };
        contents.add(format!("point-{n}"), label, body);
    }
    html! {
        section.first aria-label="Outcome" {
            div.verdict.(if trends.changes().any(|(trend, it)| trend.is_worse(it)) { "warning" } else { "good" }) {
                p.word { (trends.headline()) }
                ul {
                    @for it in &trends.left_out {
                        li.note { b { "Note " } "left out, nothing to be believed: " (it) }
                    }
                }
            }
            dl.setup {
                dt { "Folder" } dd { (trends.folder) }
                dt { "Occasions" } dd { (trends.occasions)
                    @if let Some((first, last)) = &trends.ends { ", " (first) " to " (last) } }
            }
            p.note { (trends.explained()) }
        }
        (contents.list())
        (contents.parts())
    }
}

/// All changes in a table; nothing where there are none.
fn changes(trends: &Trends) -> Markup {
    let rows: Vec<_> = trends
        .changes()
        .map(|(trend, it)| {
            let kind = kind(trend.metric);
            let (word, ink) = match trend.is_worse(it) {
                true => ("worse", "bad"),
                false => ("better", "good"),
            };
            vec![
                Cell::text(trend.since(it)),
                Cell::text(trend.label.clone()),
                Cell::text(trend.metric.to_string()),
                Cell::inked(word, ink),
                Cell::number(Some(it.before), kind),
                Cell::number(Some(it.after), kind),
                Cell::shown(changed_by(it.ratio()), it.ratio() - 1.0, Kind::Share),
                Cell::shown(probability(it.p), it.p, Kind::Count),
            ]
        })
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let head = [
        "since", "of", "metric", "change", "before", "after", "by", "p",
    ];
    Table {
        caption: "Changes of level".into(),
        head: head.map(str::to_owned).to_vec(),
        rows,
    }
    .markup()
}

/// A trend: its occasions, and the level between two changes.
pub(super) fn course(trend: &Trend, id: &str) -> Markup {
    let points: Vec<(f64, f64)> = trend
        .occasions
        .iter()
        .enumerate()
        .map(|(i, it)| ((i + 1) as f64, it.mean))
        .collect();
    let kind = kind(trend.metric);
    let title = trend.title();
    let mut series = vec![Series::new(&title, &title, 0, points.clone()).drawn(Drawn::Curve)];
    if !trend.changes.is_empty() {
        series.push(Series::new("level", "level", 1, levels(trend)).drawn(Drawn::Thin));
    }
    let rows = trend.occasions.iter().map(|it| {
        vec![
            Cell::text(it.name.clone()),
            Cell::number(Some(it.mean), kind),
            Cell::number(Some(it.runs as f64), Kind::Count),
        ]
    });
    let table = Table {
        caption: format!("{title} on each occasion"),
        head: ["occasion", "mean", "runs"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    let told: Vec<String> = trend.changes.iter().map(|it| trend.told(it)).collect();
    let told = match told.is_empty() {
        true => "No change of level.".to_owned(),
        false => format!("{}.", told.join("; ")),
    };
    let chart = Chart {
        id: id.to_owned(),
        title: title.clone(),
        told: format!("{} occasions. {told}", points.len()),
        x: Scale::exactly(Kind::Count, 0.5, points.len() as f64 + 0.5),
        y: Scale::around(Spread::Linear, kind, points.iter().map(|it| it.1)),
        x_of: "occasion".into(),
        y_of: "mean".into(),
        series,
        zones: Vec::new(),
        height: 200.0,
    };
    html! { (chart.figure(Some(&told))) (table.markup()) }
}

/// A line for each level, with a gap where it changes.
fn levels(trend: &Trend) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let first = trend.changes.first().map(|it| (0, it.before));
    let starts = first
        .into_iter()
        .chain(trend.changes.iter().map(|it| (it.at, it.after)));
    let ends = trend.changes.iter().map(|it| it.at);
    let ends = ends.chain([trend.occasions.len()]);
    for ((from, level), to) in starts.zip(ends) {
        points.push((from as f64 + 0.75, f64::NAN));
        points.push((from as f64 + 1.0, level));
        points.push((to as f64, level));
    }
    points
}
