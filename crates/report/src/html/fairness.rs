//! Subscriptions and their items beside each other: how evenly they were served, how late values of each were,
//! which never reported.

use maud::{Markup, html};
use record::Histogram;
use record::run::{EachSubscription, Figure, Place, Run, Slow, Subscriptions};

use super::place::place;
use super::table::{Cell, Table};
use crate::page::{counted, grouped};
use crate::unit::Kind;

/// Subscriptions that have a row each.
const LISTED: usize = 50;

/// What tells of the differences.
pub(super) fn fairness(run: &Run, told: &Subscriptions) -> Markup {
    let times = times(told);
    html! {
        @if !told.each.is_empty() {
            h3 { "Subscriptions and items beside each other" }
            @for sentence in sentences(told) { p.note { (sentence) } }
            (extremes(told).markup())
            (each(run, told).markup())
        }
        @if !told.slowest.is_empty() { (slowest(run, told).markup()) }
        @if !told.silent_items.is_empty() { (silent(run, told).markup()) }
        @if !times.rows.is_empty() { (times.markup()) }
    }
}

fn sentences(told: &Subscriptions) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(jain) = told.fairness.jain {
        sentences.push(format!(
            "Jain's index of the values an item over all subscriptions: {jain:.3} (1 is even)."
        ));
    }
    if let Some(bytes) = told.bytes_per_value {
        let shown = Kind::Bytes.show(bytes);
        sentences.push(format!(
            "{shown} on the wire for each value, with all that belongs to it."
        ));
    }
    sentences.push(match &told.clock.error_ns {
        Figure::Known(0) => "Delays: both sides read the same clock.".to_owned(),
        Figure::Known(error) => format!(
            "Delays may be wrong by {}, as far as the clocks of both sides are apart.",
            Kind::Nanos.show(*error as f64)
        ),
        Figure::Missing { .. } => "Delays: how far clocks agree is not known.".to_owned(),
    });
    if told.clock.ahead > 0 {
        let values = counted(told.clock.ahead, "value", "values");
        sentences.push(format!(
            "{values} came before their timestamps and count as 0."
        ));
    }
    if let Some(rate) = &told.by_rate {
        sentences.push(format!(
            "The change rate promises {} of {}; {} of them came.",
            counted(rate.expected, "value", "values"),
            counted(rate.items, "item", "items"),
            grouped(rate.came)
        ));
    }
    sentences
}

/// The smallest and the largest.
fn extremes(told: &Subscriptions) -> Table {
    let fair = &told.fairness;
    let of = |n: Option<u64>| n.map(|n| n as f64);
    let delay = &told.item_delay;
    let rows = [
        (
            "messages of a subscription",
            (fair.min_messages_per_s, fair.max_messages_per_s),
            Kind::PerSecond,
        ),
        (
            "values an item, of a subscription",
            (fair.min_values_per_item, fair.max_values_per_item),
            Kind::Count,
        ),
        (
            "values of an item",
            (of(told.item_values.min), of(told.item_values.max)),
            Kind::Count,
        ),
        (
            "jitter of a subscription",
            (fair.min_jitter_ns, fair.max_jitter_ns),
            Kind::Nanos,
        ),
        (
            "mean delay of an item",
            (of(delay.min()), of(delay.max())),
            Kind::Nanos,
        ),
    ];
    let rows = rows.into_iter().filter(|(_, (low, _), _)| low.is_some());
    let row = |(what, (low, high), kind): (&str, (Option<f64>, Option<f64>), Kind)| {
        vec![
            Cell::text(what),
            Cell::number(low, kind),
            Cell::number(high, kind),
        ]
    };
    Table {
        caption: "The least and the most, while it was measured".into(),
        head: ["", "least", "most"].map(str::to_owned).to_vec(),
        rows: rows.map(row).collect(),
    }
}

/// Subscriptions one by one; of many those with the fewest values for each of their items.
fn each(run: &Run, told: &Subscriptions) -> Table {
    let mut each: Vec<&EachSubscription> = told.each.iter().collect();
    let caption = match each.len() {
        n if n <= LISTED => "Each subscription, while it was measured".to_owned(),
        _ => {
            let items = |it: &EachSubscription| u64::from(it.items.max(1));
            each.sort_by_key(|it| it.values * 1000 / items(it));
            each.truncate(LISTED);
            format!(
                "The {LISTED} subscriptions with the fewest values, of {}",
                grouped(told.subscriptions)
            )
        }
    };
    let row = |it: &&EachSubscription| {
        vec![
            Cell::text(place(run, &it.place)),
            Cell::number(Some(it.publishing_ns as f64), Kind::Nanos),
            Cell::number(Some(f64::from(it.items)), Kind::Count),
            Cell::number(Some(it.messages as f64), Kind::Count),
            Cell::number(Some(it.keep_alives as f64), Kind::Count),
            Cell::number(Some(it.values as f64), Kind::Count),
            Cell::number(it.arrival.mean_ns, Kind::Nanos),
            Cell::number(it.arrival.deviation_ns, Kind::Nanos),
            Cell::number(it.jitter.deviation_ns, Kind::Nanos),
            Cell::text(it.ended.clone().unwrap_or_default()),
        ]
    };
    let head = [
        "subscription",
        "publishing",
        "items",
        "messages",
        "keep-alives",
        "values",
        "between arrivals",
        "stddev",
        "jitter",
        "ended",
    ];
    Table {
        caption,
        head: head.map(str::to_owned).to_vec(),
        rows: each.iter().map(row).collect(),
    }
}

fn slowest(run: &Run, told: &Subscriptions) -> Table {
    let row = |it: &Slow| {
        vec![
            Cell::text(place(run, &it.place)),
            Cell::number(Some(it.mean_ns as f64), Kind::Nanos),
        ]
    };
    Table {
        caption: format!(
            "Mean delay of each item: {} of {}, the slowest first",
            told.slowest.len(),
            grouped(told.item_delay.count())
        ),
        head: ["item", "mean delay"].map(str::to_owned).to_vec(),
        rows: told.slowest.iter().map(row).collect(),
    }
}

fn silent(run: &Run, told: &Subscriptions) -> Table {
    let row = |it: &Place| vec![Cell::text(place(run, it))];
    Table {
        caption: format!(
            "Items that never reported: {} of {}",
            told.silent_items.len(),
            grouped(told.silent)
        ),
        head: vec!["item".to_owned()],
        rows: told.silent_items.iter().map(row).collect(),
    }
}

/// How long what was missing was away.
fn times(told: &Subscriptions) -> Table {
    let row = |(what, times): (&str, &Histogram)| {
        let at = |ns: Option<u64>| Cell::number(ns.map(|ns| ns as f64), Kind::Nanos);
        (!times.is_empty()).then(|| {
            vec![
                Cell::text(what),
                Cell::number(Some(times.count() as f64), Kind::Count),
                Cell::number(times.mean(), Kind::Nanos),
                at(times.quantile(0.5)),
                at(times.max()),
            ]
        })
    };
    let all = [
        (
            "messages that were missing, until they came",
            &told.recovery,
        ),
        ("subscriptions that were away", &told.outages),
    ];
    Table {
        caption: "What came back".into(),
        head: ["", "how many", "mean", "p50", "max"]
            .map(str::to_owned)
            .to_vec(),
        rows: all.into_iter().filter_map(row).collect(),
    }
}
