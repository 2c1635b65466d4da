//! The sheet of `uaperf attack` as a page.

use judge::Exit;
use judge::attack::{exit, words};
use maud::{Markup, html};
use record::attack::{Attacked, Sheet, Stage, Stages, Verdict};

use super::chart::{Chart, Drawn, Series};
use super::parts::{Span, spans};
use super::scale::{Scale, Spread as Axis};
use super::table::{Cell, Table};
use crate::attack::{how, ink, interval, percentiles};
use crate::page::counted;
use crate::style::TextStyle;
use crate::unit::{Kind, when};

pub(super) fn page(sheet: &Sheet) -> Markup {
    let (class, word) = headline(sheet);
    html! {
        section.first aria-label="Verdicts and set-up" {
            div.verdict.(class) {
                p.word { (word) }
                ul {
                    @if sheet.interrupted { li { "interrupted: what was not measured by then is missing" } }
                    @if let Some(why) = &sheet.failed { li { "nothing more was tried: " (why) } }
                    @if let Some(why) = &sheet.gone { li { "the server is gone: " (why) } }
                    @for kind in &sheet.kinds {
                        li { b { (kind.kind) } " " (words(kind.verdict)) }
                        @if let Some(why) = &kind.not_tried { li.try { (why) } }
                        @for line in &kind.evidence { li.try { (line) } }
                    }
                }
            }
            dl.setup {
                dt { "Target" } dd { span.mono { (sheet.url) } br; (sheet.product) }
                dt { "Measured" } dd { (when(sheet.started)) br; (how(sheet)) }
            }
        }
        section aria-label="Good clients" {
            h2 { "Good clients" }
            (spans("Reads of the good client: from the median to p99", "In the calm before, while attacked, and afterwards.", &all_spans(sheet)))
            (ratios(sheet).markup())
            (good(sheet).markup())
        }
        section aria-label="In the course of time" {
            h2 { "In the course of time" }
            @for (n, kind) in sheet.kinds.iter().enumerate() {
                @if let Some(seen) = &kind.seen { (course(n, kind, seen)) }
            }
        }
        section aria-label="Attackers and server" {
            h2 { "Attackers and server" }
            (answers(sheet).markup())
            (held(sheet).markup())
        }
    }
}

/// The colour and the words over it all.
fn headline(sheet: &Sheet) -> (&'static str, String) {
    let harmed = sheet.kinds.iter().filter(|it| it.verdict.is_harm());
    match (harmed.count(), exit(sheet)) {
        (0, Exit::Good) => {
            let tried = |it: &&Attacked| it.verdict != Verdict::NotTried;
            let tried = sheet.kinds.iter().filter(tried).count();
            let word = match tried == sheet.kinds.len() {
                true => "No harm was seen".to_owned(),
                false => format!("No harm was seen in {tried} of {} kinds", sheet.kinds.len()),
            };
            ("good", word)
        }
        (0, Exit::Interrupted) => ("warning", "Interrupted before harm was seen".to_owned()),
        (0, Exit::Threshold) => ("bad", "The server is gone".to_owned()),
        (0, Exit::Verdict) => (
            "warning",
            "It cannot be told whether there was harm".to_owned(),
        ),
        (0, _) => ("warning", "Not everything could be tried".to_owned()),
        (n, _) => {
            let kinds = counted(n as u64, "kind of attack", "kinds of attack");
            ("bad", format!("{kinds} did harm"))
        }
    }
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

const fn class(ink: TextStyle) -> &'static str {
    match ink {
        TextStyle::Good => "good",
        TextStyle::Warning => "warning",
        TextStyle::Bad => "bad",
        TextStyle::Bold | TextStyle::Faint => "",
    }
}

/// The stages of a kind, with their names.
fn stages(seen: &Stages) -> [(&'static str, &Stage); 3] {
    [
        ("calm", &seen.calm),
        ("attacked", &seen.attacked),
        ("after", &seen.after),
    ]
}

fn all_spans(sheet: &Sheet) -> Vec<Span> {
    let ends = |stage: &Stage| {
        let at = |q| stage.response.quantile(q).map(|ns| ns as f64);
        Some((at(0.5)?, at(0.99)?))
    };
    let of = |kind: &Attacked| {
        let seen = kind.seen.as_ref();
        let stages = seen.map(stages).into_iter().flatten();
        let spans = stages.map(|(when, stage)| (format!("{}, {when}", kind.kind), ends(stage)));
        spans.collect::<Vec<_>>()
    };
    sheet.kinds.iter().flat_map(of).collect()
}

fn ratios(sheet: &Sheet) -> Table {
    let cell = |it: Option<record::attack::Ratio>| match it {
        Some(it) => Cell::plain(interval(it), it.ratio),
        None => Cell::text("n/a"),
    };
    let rows = sheet.kinds.iter().flat_map(|kind| {
        percentiles(kind)
            .into_iter()
            .map(move |(name, attacked, after)| {
                vec![
                    Cell::text(kind.kind.clone()),
                    Cell::text(name),
                    cell(attacked),
                    cell(after),
                    Cell::inked(words(kind.verdict), class(ink(kind.verdict))),
                ]
            })
    });
    Table {
        caption: "How many times as long as in the calm before, with 95 % intervals".into(),
        head: heads(&["attack", "percentile", "attacked", "after", "verdict"]),
        rows: rows.collect(),
    }
}

fn good(sheet: &Sheet) -> Table {
    let row = |kind: &Attacked, when: &str, stage: &Stage| {
        let count = |n: u64| Cell::number(Some(n as f64), Kind::Count);
        let time = |q| {
            let ns = stage.response.quantile(q);
            Cell::number(ns.map(|ns| ns as f64), Kind::Nanos)
        };
        let came = &stage.newcomers;
        vec![
            Cell::text(kind.kind.clone()),
            Cell::text(when),
            Cell::number(Some(stage.rate_per_s), Kind::PerSecond),
            time(0.5),
            time(0.99),
            time(0.999),
            count(stage.errors),
            count(stage.lost_sessions),
            count(came.came),
            count(came.refused),
            Cell::number(came.median_ns.map(|ns| ns as f64), Kind::Nanos),
            Cell::number(stage.server_cores.known().copied(), Kind::Cores),
        ]
    };
    let of = |kind: &Attacked| {
        let seen = kind.seen.as_ref();
        let stages = seen.map(stages).into_iter().flatten();
        stages
            .map(|(when, stage)| row(kind, when, stage))
            .collect::<Vec<_>>()
    };
    Table {
        caption: "What good clients had".into(),
        head: heads(&[
            "attack",
            "when",
            "Reads",
            "median",
            "p99",
            "p99.9",
            "errors",
            "connections lost",
            "newcomers",
            "got no session",
            "connecting",
            "server CPU",
        ]),
        rows: sheet.kinds.iter().flat_map(of).collect(),
    }
}

/// The 99th percentile of each interval, stage after stage.
fn course(n: usize, kind: &Attacked, seen: &Stages) -> Markup {
    let series: Vec<Series> = stages(seen)
        .iter()
        .enumerate()
        .filter_map(|(colour, (when, stage))| {
            let width =
                stage.to_ns.saturating_sub(stage.from_ns) as f64 / stage.p99_ns.len().max(1) as f64;
            let points: Vec<(f64, f64)> = stage
                .p99_ns
                .iter()
                .enumerate()
                .map(|(n, &ns)| {
                    let at = stage.from_ns as f64 + (n as f64 + 0.5) * width;
                    (at / 1e9, ns as f64)
                })
                .collect();
            let series = Series::new(when, when, colour, points.clone());
            (!points.is_empty()).then(|| series.drawn(Drawn::Curve))
        })
        .collect();
    if series.is_empty() {
        return html! {};
    }
    let points = || series.iter().flat_map(|it| &it.points);
    let chart = Chart {
        id: format!("attack-{n}"),
        title: format!("{}: p99 in the course of time", kind.kind),
        told: format!("{}: {}.", kind.kind, words(kind.verdict)),
        x: Scale::around(Axis::Linear, Kind::Seconds, points().map(|it| it.0)),
        y: Scale::around(Axis::Log, Kind::Nanos, points().map(|it| it.1)),
        x_of: "time".into(),
        y_of: "p99".to_owned(),
        series,
        zones: Vec::new(),
        height: 220.0,
    };
    chart.figure(None)
}

fn answers(sheet: &Sheet) -> Table {
    let of = |kind: &Attacked| {
        let answers = kind.seen.iter().flat_map(|it| &it.attackers.answers);
        let rows = answers.map(|it| {
            vec![
                Cell::text(kind.kind.clone()),
                Cell::text(it.variant.clone()),
                Cell::text(it.told.clone()),
                Cell::text(if it.refused { "refused" } else { "let be" }),
                Cell::number(Some(it.count as f64), Kind::Count),
            ]
        });
        rows.collect::<Vec<_>>()
    };
    Table {
        caption: "What attackers were told".into(),
        head: heads(&["attack", "which", "answer", "", "times"]),
        rows: sheet.kinds.iter().flat_map(of).collect(),
    }
}

fn held(sheet: &Sheet) -> Table {
    let row = |kind: &Attacked| {
        let seen = kind.seen.as_ref()?;
        let attackers = &seen.attackers;
        let mut row = vec![
            Cell::text(kind.kind.clone()),
            Cell::number(Some(attackers.made as f64), Kind::Count),
            Cell::number(Some(attackers.planned as f64), Kind::Count),
            Cell::number(Some(attackers.held_up as f64), Kind::Count),
            Cell::number(attackers.cores.known().copied(), Kind::Cores),
        ];
        for (held, kind) in [
            (&seen.memory, Kind::Bytes),
            (&seen.descriptors, Kind::Count),
            (&seen.sessions, Kind::Count),
        ] {
            let figures = [&held.before, &held.most, &held.after];
            let known = figures.map(|it| it.known().map(|n| *n as f64));
            row.extend(known.map(|it| Cell::number(it, kind)));
        }
        Some(row)
    };
    Table {
        caption: "Attackers, and what the server held: before, at most, at the end".into(),
        head: heads(&[
            "attack",
            "made",
            "planned",
            "held up",
            "attackers' CPU",
            "memory",
            "most",
            "end",
            "files and sockets",
            "most",
            "end",
            "sessions",
            "most",
            "end",
        ]),
        rows: sheet.kinds.iter().filter_map(row).collect(),
    }
}
