//! Pictures of what is of no run.

use maud::{Markup, html};

use super::chart::{self, Drawn, Series};
use super::rows::{Place, Row, Rows};
use super::scale::{Scale, Spread};
use super::table::{Cell, Table};
use crate::pictures::{Bars, Chart, Length, Lengths, Pictures, Shares};
use crate::unit::Kind;

pub(super) fn page(it: &Pictures) -> Markup {
    html! {
        section.first aria-label="What it is about" {
            h2 { (it.title) }
            @for line in &it.about { p { (line) } }
        }
        @for (n, part) in it.parts.iter().enumerate() {
            section aria-label=(part.title) {
                h2 { (part.title) }
                @for line in &part.told { p { (line) } }
                @for (at, drawn) in part.charts.iter().enumerate() {
                    (chart(&format!("picture-{n}-{at}"), drawn))
                }
                @for drawn in &part.bars { (bars(drawn)) }
                @for drawn in &part.lengths { (lengths(drawn)) }
            }
        }
    }
}

fn chart(id: &str, it: &Chart) -> Markup {
    let (x_kind, y_kind) = match it.shares {
        Shares::None => (Kind::Count, Kind::Count),
        Shares::Y => (Kind::Count, Kind::Share),
        Shares::Both => (Kind::Share, Kind::Share),
    };
    let spread = match it.by_logarithm {
        true => Spread::Log,
        false => Spread::Linear,
    };
    let series = it.curves.iter().enumerate().map(|(n, curve)| {
        let drawn = match curve.joined {
            true => Drawn::Line,
            false => Drawn::Rings,
        };
        let mut series = Series::new(&curve.name, &curve.name, n, curve.points.clone());
        series.band.clone_from(&curve.band);
        series.drawn(drawn)
    });
    let points = || it.curves.iter().flat_map(|it| &it.points);
    let bands = it.curves.iter().flat_map(|it| &it.band);
    let heights = points()
        .map(|it| it.1)
        .chain(bands.flat_map(|it| [it.0, it.1]));
    chart::Chart {
        id: id.to_owned(),
        title: it.title.clone(),
        told: it.told.clone(),
        x: Scale::around(spread, x_kind, points().map(|it| it.0)),
        y: Scale::around(spread, y_kind, heights),
        x_of: it.x_of.clone(),
        y_of: it.y_of.clone(),
        series: series.collect(),
        zones: Vec::new(),
        height: 340.0,
    }
    .figure(Some(&it.told))
}

/// Bars from zero, with their figures in a table below.
fn lengths(it: &Lengths) -> Markup {
    let kind = Kind::from(it.unit);
    let grouped = it.each.iter().any(|it| !it.group.is_empty());
    let row = |it: &Length| {
        let mut row = vec![Cell::text(it.name.clone())];
        if grouped {
            row.insert(0, Cell::text(it.group.clone()));
        }
        row.push(Cell::number(it.value.map(|it| it.0), kind));
        row.push(Cell::number(it.value.map(|it| it.1), kind));
        row.push(Cell::text(it.missing.clone()));
        row
    };
    let mut head = vec!["", "each", "± (95 %)", ""];
    if grouped {
        head.insert(0, "");
    }
    let table = Table {
        caption: it.title.clone(),
        head: head.into_iter().map(str::to_owned).collect(),
        rows: it.each.iter().map(row).collect(),
    };
    html! { (super::bars::lengths(it)) (table.markup()) }
}

/// From one end to the other.
fn ends((name, from, to): &(String, f64, f64)) -> Row<'_> {
    let (low, high) = (from.min(*to), from.max(*to));
    let drawn = move |place: &Place<'_>| {
        let (from, to, y) = (place.of(low), place.of(high), place.y);
        html! {
            g class="c0 span" {
                path.line d=(format!("M{from:.1} {y}H{to:.1}")) {}
                path.line d=(format!("M{from:.1} {:.1}v10M{to:.1} {:.1}v10", y - 5.0, y - 5.0)) {}
            }
        }
    };
    Row {
        group: None,
        name,
        drawn: Box::new(drawn),
    }
}

/// Bars with their ends in a table below.
fn bars(it: &Bars) -> Markup {
    let both = it.each.iter().flat_map(|bar| [bar.1, bar.2]);
    let rows = Rows {
        title: &it.title,
        note: html! { (it.told) },
        told: &it.told,
        scale: Scale::around(Spread::Linear, Kind::Share, both),
        behind: 20.0,
        rows: it.each.iter().map(ends).collect(),
    };
    let row = |(name, from, to): &(String, f64, f64)| {
        vec![
            Cell::text(name.clone()),
            Cell::number(Some(*from), Kind::Share),
            Cell::number(Some(*to), Kind::Share),
        ]
    };
    let table = Table {
        caption: it.title.clone(),
        head: ["", "from", "to"].map(str::to_owned).to_vec(),
        rows: it.each.iter().map(row).collect(),
    };
    rows.figure(&table.markup())
}
