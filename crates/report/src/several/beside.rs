//! A column for each run, a row for each figure.

use judge::compare::Metric;
use plan::Measure;
use plan::unit::{Bytes, Rate, duration, share};
use record::run::{Host, Phase, Run};

use super::{cpu, differences, looked_at, percentile, phase, phases, ratio, short, started};
use crate::hosts;
use crate::page::{Page, WIDTH, clean, cut, cut_inside, grouped};
use crate::points::{Named, Point, Points};
use crate::style::{Style, TextStyle};
use crate::summary::{ink, product};

/// As many columns as fit.
pub(super) const MOST: usize = 4;
const LABEL: usize = 16;
const COLUMN: usize = (WIDTH - LABEL) / MOST;
/// Runs that differ in more settings than these are no points of one test.
const AXES: usize = 6;

/// What is compared: its name, where it is in a phase, how it is shown.
type Row = (&'static str, fn(&Phase) -> Option<f64>, fn(f64) -> String);

/// What was done.
const DONE: &[Row] = &[
    (
        "rate",
        |phase| phase.total.rate_per_s.filter(|_| !phase.is_notified()),
        Rate::show,
    ),
    ("values", Phase::values_per_s, Rate::show),
    ("lost", |phase| Some(phase.lost()? as f64), count),
    ("errors", |phase| Some(phase.total.errors as f64), count),
];

/// The times that the phase is looked at for, below their mean.
const TIMES: &[Row] = &[
    time("  stddev", |phase| looked_at(phase).1.deviation()),
    time("  p50", |phase| percentile(phase, 0.5)),
    time("  p90", |phase| percentile(phase, 0.9)),
    time("  p99", |phase| percentile(phase, 0.99)),
    time("  p99.9", |phase| percentile(phase, 0.999)),
    time("  max", |phase| {
        phase.max_ns(looked_at(phase).0).map(|max| max as f64)
    }),
];

/// What it was made of, and what it took.
const TAKEN: &[Row] = &[
    time("service mean", |phase| asked_for(phase, "service")),
    time("lateness mean", |phase| asked_for(phase, "lateness")),
    (
        "request size",
        |phase| phase.total.requests.mean_bytes,
        Bytes::show,
    ),
    (
        "response size",
        |phase| phase.total.responses.mean_bytes,
        Bytes::show,
    ),
    (
        "generator CPU",
        |phase| cpu(phase, Measure::GeneratorCpu),
        share::show_cores,
    ),
    (
        "server CPU",
        |phase| cpu(phase, Measure::Cpu),
        share::show_cores,
    ),
    time("CPU a value", |phase| {
        Metric::CpuPerValue
            .of(phase)
            .filter(|_| phase.pubsub.is_some())
    }),
    time("  receiver", |phase| {
        let each = Metric::ReceiverCpuPerValue.of(phase);
        each.filter(|_| phase.pubsub.is_some())
    }),
];

const fn time(name: &'static str, of: fn(&Phase) -> Option<f64>) -> Row {
    (name, of, duration::show_nanos)
}

/// A Publish request waits for news: how long tells nothing of the server.
fn asked_for(phase: &Phase, times: &str) -> Option<f64> {
    let of = phase.total.histogram(times);
    of.mean().filter(|_| phase.subscriptions.is_none())
}

fn count(count: f64) -> String {
    grouped(count as u64)
}

fn cells(page: &mut Page, label: &str, cells: impl Iterator<Item = String>) {
    let mut line = format!("{label:LABEL$}");
    for cell in cells {
        line.push_str(&format!("{:>COLUMN$}", cut(&clean(&cell), COLUMN - 1)));
    }
    page.line(&line);
}

/// A row of figures with their ratios to the first; nothing where no run has one.
fn row(page: &mut Page, runs: &[Named], name: &str, (label, of, show): Row) {
    let figures: Vec<Option<f64>> = runs
        .iter()
        .map(|it| phase(&it.run, name).and_then(of))
        .collect();
    if figures.iter().all(Option::is_none) {
        return;
    }
    let first = figures.first().copied().flatten();
    let shown = figures.iter().enumerate().map(|(i, figure)| {
        let text = figure.map_or_else(|| "n/a".to_owned(), show);
        match ratio(first, *figure).filter(|_| i > 0) {
            Some(ratio) => format!("{ratio}  {text:>8}"),
            None => text,
        }
    });
    cells(page, label, shown);
}

/// What was varied between the runs, if it is little enough to be told.
fn varied(page: &mut Page, runs: &[Named]) {
    let points = Points::of(runs);
    if points.axes.len() > AXES {
        return;
    }
    let point = |run: &Named| {
        let has = |point: &&Point| point.runs.iter().any(|it| std::ptr::eq(*it, run));
        points.points.iter().find(has)
    };
    let of_runs: Vec<Option<&Point>> = runs.iter().map(point).collect();
    // Commands and security have rows of their own.
    let told = |name: &&String| !["command", "security"].contains(&name.as_str());
    for (axis, name) in points.axes.iter().enumerate().filter(|(_, it)| told(it)) {
        let values = of_runs.iter().map(|point| {
            let value = point.and_then(|it| it.values.get(axis));
            cut_inside(value.map_or("", String::as_str), COLUMN - 1)
        });
        cells(page, &cut(&clean(name), LABEL - 1), values);
    }
}

/// More agents than these are only counted.
const AGENTS: usize = 8;

/// The agents of a phase, one below the other: whether each kept up, with which part of the load.
fn agents(page: &mut Page, runs: &[Named], name: &str) {
    let mut names: Vec<&str> = Vec::new();
    for host in runs.iter().flat_map(|it| hosts::of_named(&it.run, name)) {
        if !names.contains(&host.name.as_str()) {
            names.push(&host.name);
        }
    }
    for agent in names.iter().take(AGENTS) {
        let of = |of: &dyn Fn(&Host, &Phase) -> Option<String>| -> Vec<Option<String>> {
            let cell = |it: &Named| {
                let phase = phase(&it.run, name)?;
                let mut hosts = hosts::of_named(&it.run, name);
                of(hosts.find(|it| it.name == *agent)?, phase)
            };
            runs.iter().map(cell).collect()
        };
        let rows = [
            (*agent, of(&|host, _| Some(hosts::verdict(host)))),
            (
                "  of the load",
                of(&|host, _| {
                    let shared = host.total.as_ref().filter(|_| host.role.is_none());
                    shared.map(|_| share::show(host.offered_share))
                }),
            ),
            (
                "  rate",
                of(&|host, phase| hosts::rate(host, phase).map(Rate::show)),
            ),
            (
                "  busiest core",
                of(&|host, _| hosts::busiest(host).map(share::show)),
            ),
            ("  clock", of(&|host, _| hosts::clock(&host.clock))),
        ];
        for (label, shown) in rows {
            if shown.iter().any(Option::is_some) {
                let shown = shown.into_iter().map(Option::unwrap_or_default);
                cells(page, &cut(&clean(label), LABEL - 1), shown);
            }
        }
    }
    if names.len() > AGENTS {
        page.line(&format!("and {} more agents", names.len() - AGENTS));
    }
}

pub(super) fn screen(runs: &[Named], style: Style) -> String {
    let mut page = Page::new(style);
    cells(&mut page, "", runs.iter().map(|it| short(&it.name)));
    cells(&mut page, "started", runs.iter().map(|it| started(&it.run)));
    // Padded first: colours take no room.
    let verdicts = runs.iter().map(|it| {
        let padded = format!("{:>COLUMN$}", it.run.verdict.kind);
        style.ink(ink(it.run.verdict.kind), padded)
    });
    page.line(&format!(
        "{:LABEL$}{}",
        "verdict",
        verdicts.collect::<String>()
    ));
    let text = |page: &mut Page, label: &str, of: fn(&Run) -> String| {
        cells(page, label, runs.iter().map(|it| of(&it.run)));
    };
    text(&mut page, "command", |run| run.command.clone());
    text(&mut page, "product", |run| {
        let product = run.targets.first().and_then(product);
        product.unwrap_or_else(|| "n/a".to_owned())
    });
    text(&mut page, "security", |run| match run.targets.first() {
        Some(target) => target.security.clone(),
        None => String::new(),
    });
    varied(&mut page, runs);
    let phases = phases(runs);
    for name in &phases {
        page.gap();
        if phases.len() > 1 {
            page.line(&style.ink(TextStyle::Bold, cut(&clean(name), WIDTH)));
        }
        let first = runs.iter().find_map(|it| phase(&it.run, name));
        let label = match first.map_or("response", |it| looked_at(it).0) {
            "response" => "response mean",
            _ => "delay mean",
        };
        let mean = time(label, |phase| looked_at(phase).1.mean());
        for of in DONE.iter().chain([&mean]).chain(TIMES).chain(TAKEN) {
            row(&mut page, runs, name, *of);
        }
        agents(&mut page, runs, name);
    }
    differences(&mut page, runs);
    page.finish()
}
