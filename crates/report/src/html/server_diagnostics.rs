//! Servers' own counts beside ours.

use maud::{Markup, html};
use record::run::{CountComparison, Diagnostics};

use super::table::{Cell, Table};
use crate::unit::Kind;

/// The counts of both sides as a table, or why there are none.
pub(super) fn section(told: &Diagnostics) -> Markup {
    html! {
        @if told.beside.is_empty() {
            @if let Some(why) = told.silence() {
                p.note { "The server's own counters are not available: " (why) "." }
            }
        } @else {
            (beside("What the servers' own diagnostics say beside what we counted", &told.beside).markup())
        }
    }
}

/// Counts of servers beside ours.
pub(super) fn beside(caption: &str, rows: &[CountComparison]) -> Table {
    let rows = rows.iter().map(|it| {
        let outcome = match (it.agrees(), &it.because) {
            (true, _) => Cell::inked("agree", "good"),
            (false, Some(because)) => Cell::inked(because.clone(), "warning"),
            (false, None) => Cell::inked("differ", "bad"),
        };
        vec![
            Cell::text(it.source.clone()),
            Cell::text(it.what.replace('_', " ")),
            Cell::number(Some(it.server as f64), Kind::Count),
            Cell::number(Some(it.client as f64), Kind::Count),
            outcome,
        ]
    });
    Table {
        caption: caption.into(),
        head: ["counted by", "what", "server", "client", ""]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}
