//! What plants say of their own work: loops, services, queues, run spans.

use maud::{Markup, html};
use record::Histogram;
use record::run::{Internals, Phase};

use super::chart::{Chart, Series};
use super::latency::all;
use super::scale::{Scale, Spread};
use super::sweep::{CURVES, histograms};
use super::table::{Cell, Table};
use crate::internals;
use crate::points::Points;
use crate::unit::Kind;

/// Of more plants nothing is shown one by one.
const PLANTS: usize = 4;

/// The tables of a phase.
pub(super) fn section(phase: &Phase) -> Markup {
    let Some(told) = &phase.diagnostics else {
        return html! {};
    };
    let several = told.targets.len() > 1;
    html! {
        @for (n, it) in internals::of(told).take(PLANTS) {
            @let whose = if several { format!("plant {n}") } else { "the plant".to_owned() };
            (loops(&whose, it).markup())
            (services(&whose, it).markup())
            (queues(&whose, it).markup())
            @if !it.updates.is_empty() { (updates(&whose, it).markup()) }
        }
    }
}

fn count(n: u64) -> Cell {
    Cell::number(Some(n as f64), Kind::Count)
}

fn time(ns: Option<f64>) -> Cell {
    Cell::number(ns, Kind::Nanos)
}

fn table(caption: String, head: &[&str], rows: Vec<Vec<Cell>>) -> Table {
    Table {
        caption,
        head: head.iter().map(|&it| it.to_owned()).collect(),
        rows,
    }
}

fn loops(whose: &str, told: &Internals) -> Table {
    let rows = told.loops.iter().map(|it| {
        vec![
            Cell::text(it.name.clone()),
            Cell::number(Some(it.share(told.elapsed_ns)), Kind::Share),
            count(it.turns),
            time(it.longest_turn_ns.map(|ns| ns as f64)),
        ]
    });
    table(
        format!("How busy the loops of {whose} were, by its own word"),
        &["loop", "busy", "turns", "longest turn"],
        rows.collect(),
    )
}

fn services(whose: &str, told: &Internals) -> Table {
    let busy: u64 = told.loops.iter().map(|it| it.busy_ns).sum();
    let rows = internals::by_time(told).into_iter().map(|it| {
        let all = it.all_ns();
        let share = all.filter(|_| busy > 0).map(|all| all / busy as f64);
        vec![
            Cell::text(it.service.clone()),
            count(it.count),
            time(it.mean_ns()),
            time(it.longest_ns.map(|ns| ns as f64)),
            Cell::number(share, Kind::Share),
        ]
    });
    table(
        format!("What the loops of {whose} were busy with"),
        &["service", "requests", "mean", "longest", "of the busy time"],
        rows.collect(),
    )
}

fn queues(whose: &str, told: &Internals) -> Table {
    let rows = told.queues.iter().filter_map(|it| {
        Some(vec![
            Cell::text(internals::waiting(it)?),
            Cell::number(it.mean(), Kind::Count),
            Cell::number(it.largest.map(|n| n as f64), Kind::Count),
            count(it.looks),
        ])
    });
    table(
        format!("What waited at {whose}"),
        &["waiting", "mean", "largest", "looks"],
        rows.collect(),
    )
}

fn updates(whose: &str, told: &Internals) -> Table {
    let rows = told.updates.iter().map(|it| {
        let at = |q| time(it.spans.quantile(q).map(|ns| ns as f64));
        vec![
            Cell::text(internals::updating(it)),
            count(it.spans.count()),
            count(it.missed),
            time(it.spans.mean()),
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0),
        ]
    });
    let head = [
        "loop", "passes", "missed", "mean", "p50", "p90", "p99", "longest",
    ];
    table(
        format!("Run spans of {whose}, by its own word"),
        &head,
        rows.collect(),
    )
}

/// Run spans of points (or of runs, if there is but one point) over each other, as their cumulative distribution.
pub(super) fn overlay(points: &Points, phase: &str, id: &str) -> Markup {
    let curves = histograms(points, phase, |it| {
        let mut spans = Histogram::default();
        for (_, plant) in it.diagnostics.iter().flat_map(internals::of) {
            plant.updates.iter().for_each(|it| spans.merge(&it.spans));
        }
        spans
    });
    if curves.len() < 2 {
        return html! {};
    }
    let every = curves.len().div_ceil(CURVES);
    let series: Vec<Series> = curves
        .iter()
        .step_by(every)
        .enumerate()
        .map(|(n, (name, spans))| Series::new(name, name, n, cumulative(spans)))
        .collect();
    let chart = Chart {
        id: format!("{id}-spans"),
        title: "Run span of the plant, cumulative".into(),
        told: "The share of passes that took no longer, by the plant's own word.".into(),
        x: Scale::around(Spread::Log, Kind::Nanos, all(&series).map(|it| it.0)),
        y: Scale::exactly(Kind::Share, 0.0, 1.0),
        x_of: "run span".into(),
        y_of: "share of passes".into(),
        series,
        zones: Vec::new(),
        height: 330.0,
    };
    let note = (every > 1).then(|| format!("Every {every}th of them."));
    chart.figure(note.as_deref())
}

/// Each value with the share of those that are not larger.
fn cumulative(spans: &Histogram) -> Vec<(f64, f64)> {
    let all = spans.count() as f64;
    let mut below = 0;
    let steps = spans.values().map(|(value, count)| {
        below += count;
        (value as f64, below as f64 / all)
    });
    steps.collect()
}
