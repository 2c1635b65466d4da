//! What plants say of their own work: loops, services, queues.

use maud::{Markup, html};
use record::run::{Internals, Phase};

use super::table::{Cell, Table};
use super::unit::Kind;
use crate::internals;

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
