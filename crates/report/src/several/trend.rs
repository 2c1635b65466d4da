//! A line for each run.

use plan::Measure;
use plan::unit::{Rate, duration, share};
use record::run::Phase;

use super::{bad, cpu, differences, none, percentile, phase, phases, ratio, started};
use crate::page::{Page, WIDTH, clean, cut, cut_inside, grouped};
use crate::points::{Named, Points};
use crate::style::{Style, TextStyle};
use crate::summary::ink;
use crate::table;
use crate::trend::spark;

/// The first column.
const LABEL: usize = 20;

/// A line for each run and phase, and how its figures went.
pub(super) fn screen(runs: &[Named], style: Style) -> String {
    let mut page = Page::new(style);
    let (head, rows) = labelled(runs);
    let phases = phases(runs);
    for name in phases.iter().copied() {
        page.gap();
        if phases.len() > 1 {
            page.line(&style.ink(TextStyle::Bold, cut(&clean(name), WIDTH)));
        }
        let all: Vec<(&String, &Phase)> = rows
            .iter()
            .filter_map(|(label, it)| Some((label, phase(&it.run, name)?)))
            .collect();
        let notified = all.iter().any(|(_, it)| it.is_notified());
        page.line(&format!(
            "{:LABEL$} {:17}{:>10}{:>8}{:>10}{:>10}{:>8}{:>9}{:>7}",
            cut(&head, LABEL),
            "verdict",
            if notified { "values" } else { "rate" },
            "",
            "p50",
            "p99",
            "",
            if notified { "lost" } else { "errors" },
            "CPU"
        ));
        let first = all.first().map(|(_, it)| *it);
        let first_rate = first.and_then(Phase::rate_per_s);
        let first_p99 = first.and_then(|it| percentile(it, 0.99));
        for (label, phase) in &all {
            let (rate, p99) = (phase.rate_per_s(), percentile(phase, 0.99));
            let verdict = format!("{:17}", phase.verdict.kind);
            let verdict = style.ink(ink(phase.verdict.kind), verdict);
            let mut line = format!("{:LABEL$} {verdict}", cut_inside(label, LABEL));
            let cpu = cpu(phase, Measure::Cpu).map(share::show_cores);
            for (cell, width) in [
                (rate.map(Rate::show).unwrap_or_else(none), 10),
                (ratio(first_rate, rate).unwrap_or_default(), 8),
                (table::time(percentile(phase, 0.5)), 10),
                (table::time(p99), 10),
                (ratio(first_p99, p99).unwrap_or_default(), 8),
                (bad(phase).map_or_else(none, grouped), 9),
                (cpu.unwrap_or_else(none), 7),
            ] {
                line.push_str(&format!("{:>width$}", cut(&cell, width)));
            }
            page.line(&line);
        }
        page.gap();
        let drawn = |of: fn(&Phase) -> Option<f64>, show: fn(f64) -> String| {
            let values: Vec<f64> = all.iter().filter_map(|(_, it)| of(it)).collect();
            let (first, last) = (values.first()?, values.last()?);
            let bars = spark(values.get(values.len().saturating_sub(BARS)..)?);
            Some(format!("{bars}  {} to {}", show(*first), show(*last)))
        };
        let what = if notified { "values" } else { "rate" };
        let courses = [
            (what, drawn(Phase::rate_per_s, Rate::show)),
            ("p50", drawn(|it| percentile(it, 0.5), duration::show_nanos)),
            (
                "p99",
                drawn(|it| percentile(it, 0.99), duration::show_nanos),
            ),
        ];
        for (label, course) in courses {
            page.row(label, &course.unwrap_or_else(none));
        }
    }
    page.gap();
    page.sentence(0, "× is the ratio to the first; CPU is the server's.");
    let mut all = runs.iter().flat_map(|it| &it.run.phases);
    if all.any(|it| it.is_notified()) {
        page.sentence(
            0,
            "Of subscriptions: values that came a second, their delays, and what was lost.",
        );
    }
    differences(&mut page, runs);
    page.finish()
}

/// As many bars as fit a line; of more, the last.
const BARS: usize = 60;

/// What the first column is about, and the runs with what it has for them: points of a scenario by what was varied,
/// other runs by when they began.
fn labelled(runs: &[Named]) -> (String, Vec<(String, &Named)>) {
    let points = Points::of(runs);
    if points.axes.is_empty() || runs.iter().any(|it| it.varied.is_empty()) {
        let when = runs.iter().map(|it| (started(&it.run), it)).collect();
        return ("started".to_owned(), when);
    }
    let all = points.points.iter().flat_map(|point| {
        let label = clean(&point.values.join(", "));
        point.runs.iter().map(move |it| (label.clone(), *it))
    });
    (clean(&points.axes.join(", ")), all.collect())
}
