//! The sheet of `uaperf security` as a page.

use maud::{Markup, html};
use plan::unit::Rate;
use record::run::Figure;
use record::security::{Outcome, Sheet, Size, Spread, Way};

use super::chart::{Chart, Drawn, Series};
use super::parts::{Span, spans};
use super::scale::{Scale, Spread as Axis};
use super::table::{Cell, Table};
use crate::security::{how, rights, sizes};
use crate::unit::{Kind, when};

pub(super) fn page(sheet: &Sheet) -> Markup {
    let warned = !sheet.warnings.is_empty();
    html! {
        section.first aria-label="Warnings and set-up" {
            div.verdict.(if warned { "warning" } else { "good" }) {
                p.word { @if warned { (sheet.warnings.len()) " to mend" } @else { "Nothing to mend was found" } }
                ul {
                    @if sheet.interrupted { li { "interrupted: what was not measured by then is missing" } }
                    @for warning in &sheet.warnings {
                        li { (warning.what) }
                        li.try { b { "Cure " } (warning.cure) }
                    }
                }
            }
            dl.setup {
                dt { "Target" } dd { span.mono { (sheet.url) } br; (sheet.product) }
                @if let Figure::Known(shown) = &sheet.certificate {
                    dt { "Certificate" } dd { (shown.subject) ", " (shown.key) ", " (shown.days_left) " days left" }
                }
                dt { "Measured" } dd { (when(sheet.started)) br; (how(sheet)) }
            }
        }
        section aria-label="Connecting" {
            h2 { "Connecting" }
            (spans("Connecting: from the median to p90", "From the first byte to an active session.", &connecting(sheet)))
            (steps(sheet).markup())
            (connections(sheet).markup())
            (handshakes(sheet).markup())
        }
        section aria-label="Reading" {
            h2 { "Reading" }
            (over("trip", sheet, "Round trip over payload", "round trip", Kind::Nanos, |it| Some(it.round_trip.median_ns as f64)))
            (over("ratio", sheet, "Round trip as a multiple of the first policy's", "times", Kind::Count, |it| it.ratio.known().map(|it| it.median)))
            (over("server", sheet, "CPU of the server for a Read", "CPU", Kind::Nanos, |it| it.server_cpu_ns.known().copied()))
            (over("client", sheet, "CPU of the client for a Read", "CPU", Kind::Nanos, |it| it.client_cpu_ns.known().copied()))
            @for values in sizes(sheet) { (reads(sheet, values).markup()) }
            (costs(sheet).markup())
        }
        section aria-label="What is refused" {
            h2 { "What is refused" }
            (refusals(sheet).markup())
            p { "Anonymous users " (rights(&sheet.rights)) }
            (users(sheet).markup())
        }
    }
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

fn typical(it: &Figure<Spread>) -> Option<f64> {
    it.known().map(|it| it.median_ns as f64)
}

fn connecting(sheet: &Sheet) -> Vec<Span> {
    let ends = |it: &Spread| (it.median_ns as f64, it.p90_ns as f64);
    let span = |way: &Way| (way.security.clone(), way.connect.known().map(ends));
    sheet.ways.iter().map(span).collect()
}

/// The median of each step.
fn steps(sheet: &Sheet) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for step in sheet.ways.iter().flat_map(|it| &it.steps) {
        if !names.contains(&step.step.as_str()) {
            names.push(&step.step);
        }
    }
    let row = |way: &Way| {
        let time = |name: &&str| {
            let step = way.steps.iter().find(|it| it.step == **name);
            Cell::number(step.map(|it| it.took.median_ns as f64), Kind::Nanos)
        };
        let mut row = vec![Cell::text(way.security.clone())];
        row.extend(names.iter().map(time));
        row
    };
    Table {
        caption: "Steps of connecting (medians)".into(),
        head: heads(&[&["policy and mode"], names.as_slice()].concat()),
        rows: sheet.ways.iter().map(row).collect(),
    }
}

fn connections(sheet: &Sheet) -> Table {
    let row = |way: &Way| {
        let known = way.connect.known();
        let time =
            |of: fn(&Spread) -> u64| Cell::number(known.map(|it| of(it) as f64), Kind::Nanos);
        vec![
            Cell::text(way.security.clone()),
            Cell::number(known.map(|it| it.count as f64), Kind::Count),
            time(|it| it.median_ns),
            time(|it| it.p90_ns),
            time(|it| it.max_ns),
            Cell::number(way.server_connect_cpu_ns.known().copied(), Kind::Nanos),
            Cell::number(way.client_connect_cpu_ns.known().copied(), Kind::Nanos),
            Cell::number(typical(&way.renewal), Kind::Nanos),
            Cell::number(way.renewal.known().map(|it| it.max_ns as f64), Kind::Nanos),
            Cell::text(way.failed.clone().unwrap_or_default()),
        ]
    };
    Table {
        caption: "Connections and renewals".into(),
        head: heads(&[
            "policy and mode",
            "connections",
            "median",
            "p90",
            "max",
            "server CPU each",
            "client CPU each",
            "renewal",
            "longest renewal",
            "",
        ]),
        rows: sheet.ways.iter().map(row).collect(),
    }
}

/// Several clients at once.
fn handshakes(sheet: &Sheet) -> Table {
    let row = |way: &Way| {
        let seen = way.handshakes.known()?;
        let rate = Cell::plain(
            format!(
                "{} ({} to {})",
                Rate::show(seen.per_second.median),
                Rate::show(seen.per_second.low),
                Rate::show(seen.per_second.high)
            ),
            seen.per_second.median,
        );
        let cpu = |it: &Figure<f64>| Cell::number(it.known().copied(), Kind::Nanos);
        Some(vec![
            Cell::text(way.security.clone()),
            Cell::number(Some(f64::from(seen.at_once)), Kind::Count),
            rate,
            Cell::number(Some(seen.made as f64), Kind::Count),
            Cell::number(Some(seen.failed as f64), Kind::Count),
            cpu(&seen.server_cpu_ns),
            cpu(&seen.client_cpu_ns),
            Cell::text(seen.why.clone().unwrap_or_default()),
        ])
    };
    Table {
        caption: "Handshakes: connections that several clients make and leave at the same time"
            .into(),
        head: heads(&[
            "policy and mode",
            "clients",
            "a second (rounds)",
            "made",
            "failed",
            "server CPU each",
            "client CPU each",
            "",
        ]),
        rows: sheet.ways.iter().filter_map(row).collect(),
    }
}

/// A figure over the bytes of the response.
fn over(
    id: &str,
    sheet: &Sheet,
    title: &str,
    of: &str,
    kind: Kind,
    value: impl Fn(&Size) -> Option<f64>,
) -> Markup {
    let series: Vec<Series> = sheet
        .ways
        .iter()
        .enumerate()
        .filter_map(|(n, way)| {
            let point = |it: &Size| Some((it.response_bytes as f64, value(it)?));
            let points: Vec<(f64, f64)> = way.sizes.iter().filter_map(point).collect();
            let series = Series::new(&way.security, &way.security, n, points.clone());
            (!points.is_empty()).then(|| series.drawn(Drawn::Curve))
        })
        .collect();
    if series.is_empty() {
        return html! {};
    }
    let points = || series.iter().flat_map(|it| &it.points);
    let chart = Chart {
        id: format!("security-{id}"),
        title: title.to_owned(),
        told: format!("{title}, a curve for each policy and mode; the tables have the figures."),
        x: Scale::around(Axis::Log, Kind::Bytes, points().map(|it| it.0)),
        y: Scale::around(Axis::Log, kind, points().map(|it| it.1)),
        x_of: "response".into(),
        y_of: of.to_owned(),
        series,
        zones: Vec::new(),
        height: 340.0,
    };
    chart.figure(None)
}

fn reads(sheet: &Sheet, values: u32) -> Table {
    let row = |way: &Way| {
        let it = way.sizes.iter().find(|it| it.values == values)?;
        let time = |ns: u64| Cell::number(Some(ns as f64), Kind::Nanos);
        let ratio = match it.ratio.known() {
            Some(ratio) => Cell::plain(
                format!(
                    "{:.2} ({:.2} to {:.2})",
                    ratio.median, ratio.low, ratio.high
                ),
                ratio.median,
            ),
            None => Cell::text("n/a"),
        };
        Some(vec![
            Cell::text(way.security.clone()),
            Cell::number(Some(it.requests as f64), Kind::Count),
            time(it.round_trip.median_ns),
            time(it.round_trip.p90_ns),
            time(it.round_trip.max_ns),
            ratio,
            Cell::number(Some(it.request_bytes as f64), Kind::Bytes),
            Cell::number(Some(it.response_bytes as f64), Kind::Bytes),
            Cell::number(it.server_cpu_ns.known().copied(), Kind::Nanos),
            Cell::number(it.client_cpu_ns.known().copied(), Kind::Nanos),
        ])
    };
    Table {
        caption: match values {
            1 => "Reads of 1 value".to_owned(),
            n => format!("Reads of {n} values"),
        },
        head: heads(&[
            "policy and mode",
            "requests",
            "median",
            "p90",
            "max",
            "ratio (rounds)",
            "request",
            "response",
            "server CPU",
            "client CPU",
        ]),
        rows: sheet.ways.iter().filter_map(row).collect(),
    }
}

fn costs(sheet: &Sheet) -> Table {
    let row = |way: &Way| {
        let ends = [&way.server_cost, &way.client_cost];
        let cells = ends.into_iter().flat_map(|it| {
            let known = it.known();
            [known.map(|it| it.request_ns), known.map(|it| it.byte_ns)]
        });
        let mut row = vec![Cell::text(way.security.clone())];
        row.extend(cells.map(|it| Cell::number(it, Kind::Nanos)));
        row
    };
    Table {
        caption: "CPU for a Read, and for each byte of request and response".into(),
        head: heads(&[
            "policy and mode",
            "server, Read",
            "server, byte",
            "client, Read",
            "client, byte",
        ]),
        rows: sheet.ways.iter().map(row).collect(),
    }
}

fn refusals(sheet: &Sheet) -> Table {
    let row = |it: &record::security::Refusal| {
        let ink = match it.outcome {
            Outcome::Refused => "good",
            Outcome::Accepted => "bad",
            Outcome::NotTried => "",
        };
        vec![
            Cell::text(it.what.clone()),
            Cell::inked(it.outcome.name(), ink),
            Cell::text(it.told.clone()),
        ]
    };
    Table {
        caption: "What has to be refused".into(),
        head: heads(&["shown", "outcome", "status"]),
        rows: sheet.refusals.iter().map(row).collect(),
    }
}

fn users(sheet: &Sheet) -> Table {
    let all = sheet
        .ways
        .iter()
        .flat_map(|way| way.users.iter().map(move |user| (way, user)));
    let row = |(way, user): (&Way, &record::security::User)| {
        let why = match &user.activation {
            Figure::Known(_) => String::new(),
            Figure::Missing { not_available } => not_available.clone(),
        };
        vec![
            Cell::text(way.security.clone()),
            Cell::text(user.kind.clone()),
            match user.in_the_clear {
                true => Cell::inked("in the clear", "bad"),
                false => Cell::text(""),
            },
            Cell::number(typical(&user.activation), Kind::Nanos),
            Cell::text(why),
        ]
    };
    Table {
        caption: "Users".into(),
        head: heads(&["policy and mode", "user", "secret", "activation", ""]),
        rows: all.map(row).collect(),
    }
}
