//! What subscriptions brought, and what became of the rest.

use maud::{Markup, html};
use record::run::{Incident, Outcome, Phase, Run, Subscriptions};

use super::fairness;
use super::place::place;
use super::server_diagnostics::beside;
use super::table::{Cell, Table};
use crate::unit::Kind;

/// The accounting of notifications, where there were any.
pub(super) fn accounting(run: &Run, phase: &Phase) -> Markup {
    let Some(told) = &phase.subscriptions else {
        return html! {};
    };
    let ink = match told.outcome {
        Outcome::Lossless | Outcome::NothingMissing => "good",
        Outcome::Stalled => "warning",
        Outcome::Lost => "bad",
    };
    html! {
        h3.accounting { "Accounting of notifications: " span.(ink) { (told.outcome.name()) } }
        @for sentence in &told.rests_on { p.note { (sentence) } }
        @if let Some(why) = &told.held { p.note { "Nothing was to be reported: " (why) "." } }
        (shares(told))
        (places(told).markup())
        @if !told.causes.is_empty() { (causes(run, told).markup()) }
        @if let Some(events) = &told.events {
            (counts("Events as they came; what is not named is 0", &told.values).markup())
            (counts("What events were; what is not named is 0", &events.counts).markup())
            (counts("Types of events, each copy", &events.kinds).markup())
        } @else {
            (counts("Values as they came; what is not named is 0", &told.values).markup())
        }
        (counts("Messages and requests; what is not named is 0", &told.messages).markup())
        @if !told.steps.is_empty() { (steps(told).markup()) }
        (fairness::fairness(run, told))
        @if !told.beside.is_empty() { (beside("What the server says beside what came", &told.beside).markup()) }
    }
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// What became of the updates of counters, as one bar.
fn shares(told: &Subscriptions) -> Markup {
    let all: u64 = told
        .places
        .iter()
        .filter(|(name, _)| is_fate(name))
        .map(|it| it.1)
        .sum();
    if all == 0 {
        return html! {};
    }
    let mut parts = Vec::new();
    let mut left = 0.0;
    for (i, (name, count)) in told
        .places
        .iter()
        .filter(|(name, _)| is_fate(name))
        .enumerate()
        .filter(|(_, it)| *it.1 > 0)
    {
        let width = *count as f64 / all as f64 * 860.0;
        parts.push((i % 8, left, width, words(name), *count));
        left += width;
    }
    html! {
        figure.chart.bars {
            figcaption { h3 { "What became of the updates of counters" } }
            div.layers {
                @for (colour, _, _, name, _) in &parts {
                    span class={ "legend c" (colour) } { span.key aria-hidden="true" {} (name) }
                }
            }
            div.picture { svg viewBox="0 0 860 26" role="img"
                aria-label="What became of the updates of counters, in shares; the table below has the figures" {
                @for (colour, left, width, name, count) in &parts {
                    g class={ "span c" (colour) } {
                        path.line d=(format!("M{left:.1} 13H{:.1}", left + width)) stroke-width="20" {
                            title { (name) ": " (Kind::Count.show(*count as f64)) }
                        }
                    }
                }
            } }
        }
    }
}

/// Places of single updates; their sum and what came back to life are no fates of their own.
fn is_fate(name: &str) -> bool {
    !matches!(name, "updates" | "refilled")
}

fn places(told: &Subscriptions) -> Table {
    let all = told.places.get("updates").copied().unwrap_or(0).max(1);
    let row = |(name, count): (&String, &u64)| {
        vec![
            Cell::text(words(name)),
            Cell::number(Some(*count as f64), Kind::Count),
            Cell::number(Some(*count as f64 / all as f64), Kind::Share),
        ]
    };
    Table {
        caption: "Updates of counters; what is not named is 0".into(),
        head: ["", "updates", "share"].map(str::to_owned).to_vec(),
        rows: told.places.iter().filter(|it| *it.1 > 0).map(row).collect(),
    }
}

fn causes(run: &Run, told: &Subscriptions) -> Table {
    let row = |it: &Incident| {
        let at = it.first.as_ref().map(|first| first.at_ns as f64);
        vec![
            Cell::text(words(&it.cause)),
            Cell::number(Some(it.count as f64), Kind::Count),
            match at {
                Some(at) if at < 0.0 => Cell::text("while setting up"),
                at => Cell::number(at, Kind::Nanos),
            },
            Cell::text(
                it.first
                    .as_ref()
                    .map_or_else(String::new, |first| place(run, &first.place)),
            ),
        ]
    };
    Table {
        caption: "What happened, by cause".into(),
        head: ["cause", "count", "first after", "first in"]
            .map(str::to_owned)
            .to_vec(),
        rows: told.causes.iter().map(row).collect(),
    }
}

fn counts(caption: &str, counts: &std::collections::BTreeMap<String, u64>) -> Table {
    let row = |(name, count): (&String, &u64)| {
        vec![
            Cell::text(words(name)),
            Cell::number(Some(*count as f64), Kind::Count),
        ]
    };
    Table {
        caption: caption.to_owned(),
        head: ["", "count"].map(str::to_owned).to_vec(),
        rows: counts.iter().filter(|it| *it.1 > 0).map(row).collect(),
    }
}

fn steps(told: &Subscriptions) -> Table {
    let rows = told.steps.iter().map(|it| {
        let at = |q: f64| it.times.quantile(q).map(|ns| ns as f64);
        vec![
            Cell::text(words(&it.step)),
            Cell::number(Some(it.things as f64), Kind::Count),
            Cell::number(Some(it.span_ns as f64), Kind::Nanos),
            Cell::number(Some(it.times.count() as f64), Kind::Count),
            Cell::number(at(0.5), Kind::Nanos),
            Cell::number(it.times.max().map(|ns| ns as f64), Kind::Nanos),
        ]
    });
    Table {
        caption: "Setting up and taking down".into(),
        head: ["step", "things", "in all", "requests", "p50", "max"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}
