//! What the kernel and the processor counted, on a page.

use maud::{Markup, html};
use record::run::{CounterUsage, Figure, Phase};

use super::table::{Cell, Table};
use crate::unit::Kind;

/// A row for each process that was counted, and one for each of its threads by name.
pub(super) fn counters(phase: &Phase) -> Markup {
    let all = phase.resources.iter();
    let all: Vec<_> = all
        .filter_map(|usage| Some((crate::resources::label(usage), usage.counters.as_ref()?)))
        .collect();
    if all.is_empty() {
        return html! {};
    }
    let mut rows = Vec::new();
    for (who, counters) in &all {
        rows.push(row(who, "all", counters));
        let threads = counters.threads.iter();
        rows.extend(threads.map(|it| {
            let name = match it.count {
                1 => it.name.clone(),
                n => format!("{} ({n})", it.name),
            };
            row(who, &name, &it.counters)
        }));
    }
    let head = [
        "process",
        "threads",
        "cycles",
        "instructions",
        "a cycle",
        "a request",
        "cache references",
        "cache misses",
        "branch misses",
        "context switches",
        "migrations",
        "page faults",
        "time on a core",
        "counted for",
    ];
    let table = Table {
        caption: "Counted by the kernel and the processor in the measured window".into(),
        head: head.map(str::to_owned).to_vec(),
        rows,
    };
    html! {
        (table.markup())
        @for (who, counters) in &all {
            @for line in crate::counters::counted(counters) {
                p.note { b { (who) } " " (line) }
            }
        }
    }
}

fn row(who: &str, threads: &str, it: &CounterUsage) -> Vec<Cell> {
    let [
        cycles,
        instructions,
        references,
        misses,
        branches,
        switches,
        migrations,
        faults,
        clock,
    ] = it
        .all()
        .map(|(_, figure)| figure.known().map(|it| it.count as f64));
    let plain = |figure: &Figure<f64>| match figure.known() {
        Some(value) => Cell::plain(format!("{value:.2}"), *value),
        None => Cell::number(None, Kind::Count),
    };
    let request = it.instructions_per_operation.as_ref();
    vec![
        Cell::text(who.to_owned()),
        Cell::text(threads.to_owned()),
        Cell::number(cycles, Kind::Count),
        Cell::number(instructions, Kind::Count),
        plain(&it.instructions_per_cycle),
        Cell::number(request.and_then(|it| it.known().copied()), Kind::Count),
        Cell::number(references, Kind::Count),
        Cell::number(misses, Kind::Count),
        Cell::number(branches, Kind::Count),
        Cell::number(switches, Kind::Count),
        Cell::number(migrations, Kind::Count),
        Cell::number(faults, Kind::Count),
        Cell::number(clock, Kind::Nanos),
        Cell::number(Some(it.least_share()), Kind::Share),
    ]
}
