//! What was published, and what each listener heard.

use judge::Places;
use judge::compare::Metric;
use maud::{Markup, html};
use plan::unit::Rate;
use record::run::{Listener, Phase, PubSub, Published};

use super::table::{Cell, Table};
use crate::page::grouped;
use crate::unit::Kind;

/// The figures that one looks for first.
pub(super) fn figures(phase: &Phase, told: &PubSub) -> Vec<(String, &'static str, Option<String>)> {
    let mut all = Vec::new();
    if let Some(values) = phase.values_per_s() {
        let of = phase.total.rate_per_s.map(|rate| {
            let each = rate / told.listeners.len().max(1) as f64;
            format!("{} {}", Rate::show(each), told.counted().1)
        });
        all.push((Rate::show(values), "values", of));
    }
    let listeners = told.listeners.len();
    let who = if listeners == 1 {
        "listener"
    } else {
        "listeners"
    };
    all.push((grouped(listeners as u64), who, None));
    let share = told
        .loss_share()
        .filter(|it| *it > 0.0)
        .map(|it| Kind::Share.show(it));
    match told.lost() {
        Some(lost) => all.push((grouped(lost), "lost", share)),
        None => all.push(("n/a".to_owned(), "lost: no sequence numbers", None)),
    }
    for (metric, of) in [
        (Metric::BytesPerValue, "a value"),
        (Metric::CpuPerValue, "CPU a value, publisher"),
        (Metric::ReceiverCpuPerValue, "CPU a value, listener"),
    ] {
        if let Some(value) = metric.of(phase) {
            all.push((Kind::from(metric.unit()).show(value), of, None));
        }
    }
    all
}

/// More listeners than these are only counted.
const SHOWN: usize = 32;

/// What was sent, and a row for each listener.
pub(super) fn section(told: &PubSub) -> Markup {
    html! {
        @if let Some(sent) = &told.published {
            p.note {
                (grouped(sent.cycles)) " cycles"
                @if let Some(planned) = sent.planned_cycles { " of " (grouped(planned)) }
                @if let Some(interval) = sent.interval_ns { ", one each " (Kind::Nanos.show(interval as f64)) }
                ": " (grouped(sent.datagrams)) " " (told.counted().1) " of " (Kind::Bytes.show(sent.datagram_bytes as f64))
                " with " (grouped(sent.values)) " values, sent to " (told.to) "."
            }
        }
        @if let Some(text) = crate::pubsub::broker(told) {
            p.note { (text) "." }
        }
        @if let Some(text) = crate::pubsub::keys(told) {
            p.note { "Keys: " (text) "." }
        }
        @if let Some(text) = crate::pubsub::clocks(told) {
            p.note { "Clocks: " (text) "." }
        }
        (listeners(told).markup())
        @if let Some(sent) = &told.published {
            (places(sent, told).markup())
        }
        @if told.listeners.len() > SHOWN {
            p.note { "And " (told.listeners.len() - SHOWN) " more listeners." }
        }
    }
}

/// Where each value ended, for each listener.
fn places(sent: &Published, told: &PubSub) -> Table {
    let places = told.listeners.iter().enumerate().take(SHOWN);
    let places: Vec<_> = places
        .filter_map(|(n, it)| Some((n, Places::in_phase(sent, it)?)))
        .collect();
    // A place where nothing ended is left out, but where all should end.
    let is_shown = |at: usize| {
        let ended = |(_, it): &(usize, Places)| it.named().get(at).is_some_and(|it| it.1 > 0);
        places.iter().any(ended)
    };
    let names = Places::default().named();
    let shown: Vec<usize> = (0..names.len()).filter(|at| is_shown(*at)).collect();
    let count = |n: u64| Cell::number(Some(n as f64), Kind::Count);
    let row = |(n, it): &(usize, Places)| {
        let all = it.named();
        let ended = shown
            .iter()
            .filter_map(|at| all.get(*at))
            .map(|it| count(it.1));
        let mut row = vec![Cell::text((n + 1).to_string()), count(it.due)];
        row.extend(ended);
        row
    };
    let mut head = vec!["listener".to_owned(), "values due".to_owned()];
    head.extend(
        shown
            .iter()
            .filter_map(|at| names.get(*at))
            .map(|it| it.0.to_owned()),
    );
    Table {
        caption: "Where each value ended".into(),
        head,
        rows: places.iter().map(row).collect(),
    }
}

fn listeners(told: &PubSub) -> Table {
    let head = [
        "listener",
        told.counted().1,
        "values",
        "lost",
        "gaps",
        "longest gap",
        "repeated",
        "late",
        "socket drops",
        "not readable",
        "CPU",
        "encoding",
        "security",
    ];
    let count = |n: u64| Cell::number(Some(n as f64), Kind::Count);
    let maybe = |n: Option<u64>, kind| Cell::number(n.map(|n| n as f64), kind);
    let row = |(n, it): (usize, &Listener)| {
        vec![
            Cell::text(match &it.on {
                None => (n + 1).to_string(),
                Some(host) => format!("{} on {host}", n + 1),
            }),
            count(it.datagrams),
            count(it.values),
            maybe(it.lost.max(it.never_came), Kind::Count),
            count(it.gaps),
            count(it.longest_gap),
            count(it.repeated),
            count(it.late),
            maybe(it.socket_drops.known().copied(), Kind::Count),
            count(it.unreadable()),
            maybe(it.cpu_ns.known().copied(), Kind::Nanos),
            Cell::text(it.encodings.join(", ")),
            Cell::text(it.security.join(", ")),
        ]
    };
    let rows = told.listeners.iter().enumerate().take(SHOWN);
    Table {
        caption: "Listeners, each with a socket and a thread, over the whole phase".into(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.map(row).collect(),
    }
}
