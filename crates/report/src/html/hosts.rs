//! The agents of a fleet: whether each of them kept up, and how far its clock can be trusted.

use maud::{Markup, html};
use record::run::{Host, Kind as Word, Phase, Run};

use super::explained::ink;
use super::table::{Cell, Table};
use crate::hosts::{busiest, clock, machine, mean, of_named, of_phase, rate, verdict};
use crate::points::Points;
use crate::table::looked_at;
use crate::unit::Kind;

/// More rows are only counted.
const MOST: usize = 200;

/// The agents that shared a phase.
pub(super) fn of_run(run: &Run, place: usize, phase: &Phase) -> Markup {
    let hosts: Vec<&Host> = of_phase(run, place).collect();
    if hosts.is_empty() {
        return html! {};
    }
    let (first, rest) = FIGURES.split_at(OF_LOAD);
    let own = [looked_at(phase).0, "machine"];
    let head = ["agent"].iter().chain(first).chain(&CLOCK);
    let head = head.chain(rest).chain(&own);
    let row = |host: &&Host| {
        let began = host.clock.begin_error_ns.known().map(|&ns| ns as f64);
        let clock = clock(&host.clock).unwrap_or_else(|| "n/a".to_owned());
        let mut row = vec![Cell::text(match &host.role {
            None => host.name.clone(),
            Some(role) => format!("{} {role}", host.name),
        })];
        let mut figures = figures(host, phase).into_iter();
        row.extend(figures.by_ref().take(OF_LOAD));
        row.extend([Cell::text(clock), Cell::number(began, Kind::Nanos)]);
        row.extend(figures);
        row.push(Cell::number(mean(host, phase), Kind::Nanos));
        row.push(Cell::text(machine(&host.machine)));
        row
    };
    let table = Table {
        caption: "Agents that shared the load, their clocks beside the controller's".into(),
        head: head.map(|it| name(it)).collect(),
        rows: hosts.iter().take(MOST).map(row).collect(),
    };
    html! {
        (table.markup())
        @if hosts.len() > MOST { p.note { "and " (hosts.len() - MOST) " more" } }
        @for host in hosts.iter().take(MOST) {
            @for told in told(host) { p.note { b { (host.name) } " " (told) } }
        }
    }
}

/// Agents of all points, where there are any.
pub(super) fn of_points(points: &Points, phase: &str) -> Markup {
    let mut rows = Vec::new();
    let mut all = 0;
    for point in &points.points {
        for named in &point.runs {
            let Some(it) = named.run.phases.iter().find(|it| it.name == phase) else {
                continue;
            };
            for host in of_named(&named.run, phase) {
                all += 1;
                if rows.len() < MOST {
                    let mut row = vec![
                        Cell::text(crate::several::short(&named.name)),
                        Cell::text(host.name.clone()),
                    ];
                    row.extend(figures(host, it));
                    rows.push(row);
                }
            }
        }
    }
    if rows.is_empty() {
        return html! {};
    }
    let head = ["run", "agent"].into_iter().chain(FIGURES);
    let table = Table {
        caption: "Agents that shared the load".into(),
        head: head.map(name).collect(),
        rows,
    };
    html! {
        (table.markup())
        @if all > MOST { p.note { "and " (all - MOST) " more" } }
    }
}

const FIGURES: [&str; 6] = [
    "sessions",
    "share of the load",
    "verdict",
    "busiest core",
    "requests",
    "values",
];

/// So many of them are about the load that an agent had; what it did follows.
const OF_LOAD: usize = 4;

const CLOCK: [&str; 2] = ["clock", "began within"];

fn name(name: &str) -> String {
    match name {
        "response" | "delay" | "server-delay" => format!("mean {name}"),
        other => other.to_owned(),
    }
}

fn figures(host: &Host, phase: &Phase) -> [Cell; 6] {
    let there = host.total.is_some();
    let share = Some(host.offered_share).filter(|_| there && host.role.is_none());
    let values = host.total.as_ref().map(|it| it.values as f64);
    let kind = crate::hosts::kind(host);
    let ink = match (kind, &host.lost) {
        (_, Some(_)) => "bad",
        (Some(kind), None) => ink(kind),
        (None, None) => "",
    };
    [
        Cell::number(Some(host.sessions as f64), Kind::Count),
        Cell::number(share, Kind::Share),
        Cell::inked(verdict(host), ink),
        Cell::number(busiest(host), Kind::Share),
        Cell::number(rate(host, phase), Kind::PerSecond),
        Cell::number(values, Kind::Count),
    ]
}

/// Why it is lost, or what its verdict rests on, where that is not good.
fn told(host: &Host) -> Vec<String> {
    if let Some(lost) = &host.lost {
        return vec![format!("{lost}.")];
    }
    let doubtful = host.verdict.as_ref();
    let doubtful = doubtful.filter(|it| it.kind != Word::Valid);
    let sentence = |it: &String| format!("{it}.");
    doubtful.map_or_else(Vec::new, |it| it.evidence.iter().map(sentence).collect())
}
