//! Statuses, resources, targets side by side, thresholds.

use maud::{Markup, html};
use plan::Threshold;
use record::run::{LinkTest, Phase, Run, Status, Trip, UsageSeries};

use super::rows::{Place, Row, Rows};
use super::table::{Cell, Table};
use crate::unit::Kind;

/// Requests by the status that they ended with, and values by theirs.
pub(super) fn statuses(phase: &Phase) -> Markup {
    let sum = &phase.total;
    let rows = |statuses: &[Status], what: &str| -> Vec<Vec<Cell>> {
        let all: u64 = statuses.iter().map(|it| it.count).sum();
        let mut often: Vec<&Status> = statuses.iter().collect();
        often.sort_by_key(|it| std::cmp::Reverse(it.count));
        let row = |it: &&Status| {
            let good = it.code >> 30 == 0;
            vec![
                Cell::inked(it.name.clone(), if good { "good" } else { "bad" }),
                Cell::text(format!("0x{:08X}", it.code)),
                Cell::text(what),
                Cell::number(Some(it.count as f64), Kind::Count),
                Cell::number(Some(it.count as f64 / all.max(1) as f64), Kind::Share),
            ]
        };
        often.iter().map(row).collect()
    };
    // All datagrams came, or there is more to say.
    if phase.pubsub.is_some() && sum.errors == 0 {
        return html! {};
    }
    let what = if phase.pubsub.is_some() {
        "datagrams"
    } else {
        "requests"
    };
    let mut all = rows(&sum.statuses, what);
    all.extend(rows(&sum.value_statuses, "values"));
    // A connection is no request: it has no share of them.
    let of_requests = |count: u64| (sum.planned > 0).then(|| count as f64 / sum.planned as f64);
    for (name, of, count, share) in [
        (
            "timed out",
            "requests",
            sum.timeouts,
            of_requests(sum.timeouts),
        ),
        (
            "skipped to catch up",
            "requests",
            sum.skipped,
            of_requests(sum.skipped),
        ),
        (
            "due and never sent",
            "requests",
            sum.unsent,
            of_requests(sum.unsent),
        ),
        (
            "without an answer at the end",
            "requests",
            sum.unfinished,
            of_requests(sum.unfinished),
        ),
        (
            "answered after the end",
            "requests",
            sum.drained,
            of_requests(sum.drained),
        ),
        ("lost and back", "connections", sum.reconnects, None),
    ] {
        if count > 0 {
            all.push(vec![
                Cell::text(name),
                Cell::text(""),
                Cell::text(of),
                Cell::number(Some(count as f64), Kind::Count),
                share.map_or_else(|| Cell::text(""), |it| Cell::number(Some(it), Kind::Share)),
            ]);
        }
    }
    if all.is_empty() {
        return html! {};
    }
    let head = ["status", "code", "of", "count", "share"]
        .map(str::to_owned)
        .to_vec();
    Table {
        caption: "Answers by status".into(),
        head,
        rows: all,
    }
    .markup()
}

/// What was spent.
pub(super) fn resources(phase: &Phase) -> Markup {
    if phase.resources.is_empty() {
        return html! {};
    }
    let head = [
        "",
        "CPU",
        "user",
        "kernel",
        "a request",
        "waited",
        "peak memory",
        "faults",
    ];
    let rows = phase.resources.iter().map(|usage| {
        let it = &usage.window;
        let ns = |figure: &record::run::Figure<u64>| figure.known().map(|&ns| ns as f64);
        let done = phase.total.completed as f64;
        let asks = ours(usage) && phase.pubsub.is_none();
        let each = ns(&it.cpu_ns).filter(|_| asks && done > 0.0);
        vec![
            Cell::text(crate::resources::label(usage).to_owned()),
            Cell::number(it.cpu_cores.known().copied(), Kind::Share),
            Cell::number(ns(&it.user_ns), Kind::Nanos),
            Cell::number(ns(&it.system_ns), Kind::Nanos),
            Cell::number(each.map(|cpu| cpu / done), Kind::Nanos),
            Cell::number(ns(&it.waited_ns), Kind::Nanos),
            Cell::number(ns(&it.rss_peak_bytes), Kind::Bytes),
            Cell::number(ns(&it.major_faults), Kind::Count),
        ]
    });
    let all = Table {
        caption: "Resources in the measured window (CPU of one core)".into(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    html! {
        (all.markup())
        (observed(phase))
        (super::counters::counters(phase))
        (threads(phase))
        (links(phase))
        @for usage in phase.resources.iter().filter(|it| it.source.is_some()) {
            @if let Some(source) = &usage.source {
                p.note { b { (crate::resources::label(usage)) } " " (crate::resources::told(source)) }
            }
        }
        @if let Some(test) = &phase.link_test { (link_test(test)) }
        @for it in &phase.energy {
            p.note { b { "energy" } " " (crate::resources::energy(it, phase)) }
        }
    }
}

/// What the way to the server carried before.
fn link_test(test: &LinkTest) -> Markup {
    let row = |it: &Trip| {
        let bytes = |n: u64| Cell::number(Some(n as f64), Kind::Bytes);
        let time = |ns: u64| Cell::number(Some(ns as f64), Kind::Nanos);
        vec![
            bytes(it.request_bytes),
            bytes(it.response_bytes),
            Cell::number(Some(it.count as f64), Kind::Count),
            time(it.min_ns),
            time(it.median_ns),
        ]
    };
    let table = Table {
        caption: "Link test: round trips before the load".into(),
        head: ["request", "response", "count", "shortest", "median"]
            .map(str::to_owned)
            .to_vec(),
        rows: test.trips.iter().map(row).collect(),
    };
    html! {
        (table.markup())
        @for (n, line) in crate::link_test::lines(test).iter().enumerate() {
            @if n != 1 { p.note { b { "link test" } " " (line) } }
        }
    }
}

/// What others than generator and server spend is not for our requests.
fn ours(usage: &UsageSeries) -> bool {
    matches!(usage.who.as_str(), "generator" | "server")
}

/// Means with their intervals, of what was to be observed.
fn observed(phase: &Phase) -> Markup {
    let Some(cost) = &phase.observing else {
        return html! {};
    };
    let rows = phase.resources.iter().filter_map(|usage| {
        let means = usage.means.as_ref()?;
        let [cpu, rss] = [&means.cpu_cores, &means.rss_bytes].map(|it| it.known());
        let count = |figure: &record::run::Figure<u64>| figure.known().map(|&n| n as f64);
        Some(vec![
            Cell::text(crate::resources::label(usage).to_owned()),
            Cell::number(cpu.map(|it| it.mean), Kind::Share),
            Cell::number(cpu.map(|it| it.error), Kind::Share),
            Cell::number(rss.map(|it| it.mean), Kind::Bytes),
            Cell::number(rss.map(|it| it.error), Kind::Bytes),
            Cell::number(count(&usage.window.voluntary_switches), Kind::Count),
            Cell::number(count(&usage.window.involuntary_switches), Kind::Count),
        ])
    });
    let head = [
        "",
        "mean CPU",
        "± (95 %)",
        "mean memory",
        "± (95 %)",
        "voluntary switches",
        "involuntary",
    ];
    let table = Table {
        caption: "Observed processes".into(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    html! {
        (table.markup())
        p { (crate::resources::observing(cost)) }
    }
}

/// Threads of one name, of each process.
fn threads(phase: &Phase) -> Markup {
    let all = phase.resources.iter();
    let all: Vec<_> = all
        .flat_map(|usage| usage.threads.iter().map(move |it| (usage, it)))
        .collect();
    if all.is_empty() {
        return html! {};
    }
    let head = [
        "process",
        "thread",
        "count",
        "CPU",
        "user",
        "kernel",
        "waited",
        "voluntary switches",
        "involuntary",
        "migrations",
    ];
    let count = |figure: &record::run::Figure<u64>| figure.known().map(|&n| n as f64);
    let rows = all.iter().map(|(usage, it)| {
        vec![
            Cell::text(crate::resources::label(usage).to_owned()),
            Cell::text(it.name.clone()),
            Cell::number(Some(it.count as f64), Kind::Count),
            Cell::number(it.cpu_cores.known().copied(), Kind::Share),
            Cell::number(count(&it.user_ns), Kind::Nanos),
            Cell::number(count(&it.system_ns), Kind::Nanos),
            Cell::number(count(&it.waited_ns), Kind::Nanos),
            Cell::number(count(&it.voluntary_switches), Kind::Count),
            Cell::number(count(&it.involuntary_switches), Kind::Count),
            Cell::number(count(&it.migrations), Kind::Count),
        ]
    });
    Table {
        caption: "Threads in the measured window".into(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
    .markup()
}

/// What was looked at for what limited the phase, with what speaks for and against each.
pub(super) fn bottleneck(phase: &Phase) -> Markup {
    let Some(found) = &phase.bottleneck else {
        return html! {};
    };
    let rows = crate::bottleneck::rows(found);
    let rows = rows.into_iter().map(|row| Vec::from(row.map(Cell::text)));
    let head = ["limited by", "finding", "for it", "against it"];
    Table {
        caption: "What limited it".into(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
    .markup()
}

/// Network interfaces that carried something.
fn links(phase: &Phase) -> Markup {
    let all: Vec<_> = phase.resources.iter().flat_map(|it| &it.links).collect();
    if all.is_empty() {
        return html! {};
    }
    let count = |figure: &record::run::Figure<u64>| figure.known().map(|&n| n as f64);
    let rows = all.iter().map(|it| {
        vec![
            Cell::text(it.name.clone()),
            Cell::number(count(&it.received_bytes), Kind::Bytes),
            Cell::number(count(&it.sent_bytes), Kind::Bytes),
            Cell::number(count(&it.dropped), Kind::Count),
            Cell::number(it.share.known().copied(), Kind::Share),
        ]
    });
    let head = ["link", "in", "out", "packets dropped", "share of the link"];
    Table {
        caption: "Network interfaces in the measured window".into(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
    .markup()
}

/// Thresholds, and what became of them.
pub(super) fn expectations(phase: &Phase) -> Markup {
    if phase.expectations.is_empty() {
        return html! {};
    }
    let has_budgets = !phase.series.budgets.is_empty();
    let rows = phase.expectations.iter().map(|it| {
        let threshold: Option<Threshold> = it.expected.parse().ok();
        let kind = threshold.map(|it| Kind::from(it.stat.unit(it.measure)));
        let found = match (it.found, kind) {
            (Some(found), Some(kind)) => Cell::number(Some(found), kind),
            _ => Cell::text(it.reason.clone().unwrap_or_else(|| "not measured".into())),
        };
        let mut row = vec![
            Cell::text(it.expected.clone()),
            found,
            Cell::inked(
                if it.met { "met" } else { "not met" },
                if it.met { "good" } else { "bad" },
            ),
        ];
        if has_budgets {
            let budget = phase
                .series
                .budgets
                .iter()
                .find(|of| of.expected == it.expected);
            row.push(Cell::number(budget.map(|it| it.allowed), Kind::Share));
            row.push(Cell::number(budget.map(|it| it.spent), Kind::Share));
            row.push(Cell::number(budget.map(|it| it.fastest), Kind::Count));
        }
        row
    });
    let mut head = vec!["expected", "found", ""];
    if has_budgets {
        head.extend(["error budget", "of it spent", "fastest burn rate"]);
    }
    Table {
        caption: "Thresholds".into(),
        head: head.into_iter().map(str::to_owned).collect(),
        rows: rows.collect(),
    }
    .markup()
}

/// More rows are only counted: a thousand targets are not looked at one by one.
const MOST: usize = 200;

/// Targets and services side by side: from the median to p99, to a common scale.
pub(super) fn side_by_side(run: &Run, phase: &Phase) -> Markup {
    if phase.parts.is_empty() {
        return html! {};
    }
    let name = |target: usize, service: &str| {
        let url = run.targets.get(target).map_or("?", |it| it.url.as_str());
        match run.targets.len() {
            0 | 1 => service.to_owned(),
            _ => format!(
                "{service} {}",
                url.strip_prefix("opc.tcp://").unwrap_or(url)
            ),
        }
    };
    let at = |part: &record::run::Part, q: f64| {
        let (_, response) = crate::table::of_part(phase, part);
        response.quantile(q).map(|it| it as f64)
    };
    let rows = phase.parts.iter().take(MOST).map(|part| {
        let sum = &part.sum;
        let (rate, response) = crate::table::of_part(phase, part);
        vec![
            Cell::text(name(part.target, &part.service)),
            Cell::number(rate, Kind::PerSecond),
            Cell::number(Some(sum.errors as f64), Kind::Count),
            Cell::number(response.mean(), Kind::Nanos),
            Cell::number(at(part, 0.5), Kind::Nanos),
            Cell::number(at(part, 0.99), Kind::Nanos),
            Cell::number(response.max().map(|it| it as f64), Kind::Nanos),
        ]
    });
    let table = Table {
        caption: "Targets and services side by side".into(),
        head: ["", "rate", "errors", "mean", "p50", "p99", "max"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    };
    let all: Vec<Span> = phase
        .parts
        .iter()
        .map(|part| {
            let ends = at(part, 0.5).zip(at(part, 0.99));
            (name(part.target, &part.service), ends)
        })
        .collect();
    let told = "Response times, of subscriptions delays, from the median to p99.";
    html! {
        (spans("Targets and services side by side", told, &all))
        (table.markup())
        @if phase.parts.len() > MOST { p.note { "and " (phase.parts.len() - MOST) " more" } }
    }
}

/// What it is of, and its two ends: its median, and p99 or p90.
pub(super) type Span = (String, Option<(f64, f64)>);

/// As many are drawn below each other.
const DRAWN: usize = 24;

/// From the median to a percentile above it.
fn span((name, ends): &Span) -> Row<'_> {
    let drawn = |place: &Place<'_>| {
        let Some((low, high)) = *ends else {
            return html! {};
        };
        let (from, to, y) = (place.of(low), place.of(high), place.y);
        html! {
            g class="c0 span" {
                path.line d=(format!("M{from:.1} {y}H{to:.1}")) {}
                circle cx=(format!("{from:.1}")) cy=(y) r="4" {}
                path.line d=(format!("M{to:.1} {:.1}v10", y - 5.0)) {}
            }
        }
    };
    Row {
        group: None,
        name,
        drawn: Box::new(drawn),
    }
}

/// Times below each other to a common scale, each from its median to a percentile above it.
pub(super) fn spans(title: &str, told: &str, all: &[Span]) -> Markup {
    let known = || all.iter().take(DRAWN).filter_map(|it| it.1);
    if known().next().is_none() {
        return html! {};
    }
    let longest = known().map(|it| it.1).fold(1.0, f64::max);
    let shortest = known().map(|it| it.0).fold(longest, f64::min);
    let scale = super::scale::Scale::around(
        super::scale::Spread::Log,
        Kind::Nanos,
        [shortest, longest].into_iter(),
    );
    let drawn = all.len().min(DRAWN);
    Rows {
        title,
        note: html! {
            (told) @if all.len() > drawn { " The first " (drawn) " of " (all.len()) "." }
        },
        told,
        scale,
        behind: 20.0,
        rows: all.iter().take(DRAWN).map(span).collect(),
    }
    .figure(&html! {})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_time_is_known_there_is_no_picture_of_times() {
        let drawn = |ends| spans("Times", "", &[("a".to_owned(), ends)]).into_string();
        assert!(drawn(Some((1e6, 2e6))).contains("<svg"));
        assert_eq!(drawn(None), "");
    }
}
