//! A comparison to look at: intervals around no change, and the way there.

use judge::compare::{FAILURES, Method, Metric, Outcome, Row};
use maud::{Markup, html};
use plan::{Measure, Stat};

use super::contents::Contents;
use super::head::{self, Large};
use super::table::{Cell, Table};
use super::trend;
use crate::compared::{At, Compared, explained, remark, wanted};
use crate::metric::{changed_by, kind, probability};
use crate::unit::Kind;

const fn ink(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better | Outcome::Same => "good",
        Outcome::Worse | Outcome::NotComparable => "bad",
        Outcome::CannotTell { .. } => "warning",
    }
}

/// A base and one new side or several.
pub(super) fn page(all: &[&Compared]) -> Markup {
    match all {
        [one] => html! { (first(one, true)) (rest(one, "")) },
        several => beside(several),
    }
}

/// Several new sides beside each other, then each by itself.
fn beside(all: &[&Compared]) -> Markup {
    let mut contents = Contents::default();
    for (n, it) in all.iter().enumerate() {
        let body = html! { (first(it, false)) (rest(it, &format!("side-{n}-"))) };
        contents.chapter(format!("side-{n}"), &it.sides.1, body);
    }
    html! {
        section.first aria-label="All of them" {
            h2 { (all.len()) " compared with " (all.first().map_or("", |it| &it.sides.0)) }
            (head::large(&changes(all)))
            (overview(all).markup())
        }
        (contents.list())
        (contents.parts())
    }
}

/// A row for each new side and point: the outcome, and how far each metric went.
fn overview(all: &[&Compared]) -> Table {
    let mut metrics: Vec<Metric> = Vec::new();
    let rows_of = || all.iter().flat_map(|it| &it.points).flat_map(|at| &at.rows);
    for row in rows_of() {
        if !FAILURES.contains(&row.metric) && !metrics.contains(&row.metric) {
            metrics.push(row.metric);
        }
    }
    let each = all
        .iter()
        .flat_map(|it| it.points.iter().map(move |at| (it, at)));
    let rows = each.map(|(it, at)| {
        let (outcome, _) = it.headline();
        let mut cells = vec![
            Cell::text(it.sides.1.clone()),
            Cell::text(at.label.clone()),
            Cell::inked(outcome.name(), ink(outcome)),
        ];
        cells.extend(metrics.iter().map(|metric| {
            let row = at.rows.iter().find(|row| row.metric == *metric);
            let told = row.and_then(|row| Some((row.comparison.outcome, row.comparison.ratio?)));
            match told {
                Some((outcome, ratio)) => Cell::inked(
                    format!("{} {}", changed_by(ratio), outcome.name()),
                    ink(outcome),
                ),
                None => Cell::text("n/a"),
            }
        }));
        cells
    });
    let head = ["new", "point", "outcome"].map(str::to_owned).into_iter();
    Table {
        caption: "Change of each against base".into(),
        head: head.chain(metrics.iter().map(Metric::to_string)).collect(),
        rows: rows.collect(),
    }
}

/// What one looks for first.
const FIRST: [Metric; 5] = [
    Metric::Figure(Measure::Response, Stat::P99),
    Metric::Figure(Measure::Delay, Stat::P99),
    Metric::Figure(Measure::Response, Stat::Rate),
    Metric::Figure(Measure::Response, Stat::Values),
    Metric::CpuPerRequest,
];

/// More figures than these are a table.
const MOST: usize = 5;

/// How far metrics went: of each the largest change of all sides and points.
fn changes(all: &[&Compared]) -> Vec<Large<String>> {
    let points: Vec<(&Compared, &At)> = all
        .iter()
        .flat_map(|it| it.points.iter().map(move |at| (*it, at)))
        .collect();
    let mut metrics: Vec<Metric> = Vec::new();
    let rows = points.iter().flat_map(|(_, at)| &at.rows);
    for metric in FIRST.into_iter().chain(rows.map(|row| row.metric)) {
        if !FAILURES.contains(&metric) && !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let largest = |metric: Metric| {
        let of = points.iter().filter_map(|(side, at)| {
            let row = at.rows.iter().find(|row| row.metric == metric)?;
            let ratio = row
                .comparison
                .ratio
                .filter(|it| it.is_finite() && *it > 0.0)?;
            Some((*side, *at, row, ratio))
        });
        of.max_by(|a, b| a.3.ln().abs().total_cmp(&b.3.ln().abs()))
    };
    let found = metrics.into_iter().filter_map(|metric| {
        let (side, at, row, ratio) = largest(metric)?;
        let show = |it: f64| kind(metric).show(it);
        let (base, new) = row.comparison.means;
        let mut more = format!("{} to {}", show(base), show(new));
        if all.len() > 1 {
            more = format!("{more}, {}", side.sides.1);
        }
        if !at.label.is_empty() {
            more = format!("{more}, {}", at.label);
        }
        let of = match points.len() {
            1 => format!("{metric}, {}", row.comparison.outcome.name()),
            _ => format!(
                "{metric}, largest change, {}",
                row.comparison.outcome.name()
            ),
        };
        Some((changed_by(ratio), of, Some(more)))
    });
    found.take(MOST).collect()
}

/// The outcome, and what there is to mind; with large figures where it is `alone` on its page.
fn first(compared: &Compared, alone: bool) -> Markup {
    let (outcome, headline) = compared.headline();
    html! {
        section.first aria-label="Outcome and set-up" {
            div.verdict.(ink(outcome)) {
                p.word { (outcome.name().to_uppercase()) }
                ul {
                    li { (headline) }
                    @for (label, failure) in compared.failures() {
                        li { @if !label.is_empty() { (label) ": " } (failure.told) }
                    }
                    @if let Some(single) = compared.single() { li.note { b { "Note " } (single) } }
                    @for doubt in &compared.doubts { li.note { b { "Note " } (doubt) } }
                    @for alone in &compared.alone { li.note { b { "Note " } "only on one side: " (alone) } }
                }
            }
            @if alone { (head::large(&changes(&[compared]))) }
            dl.setup {
                dt { "Base" } dd { (compared.sides.0) }
                dt { "New" } dd { (compared.sides.1) }
            }
        }
    }
}

/// Figures of each point, and how they went before.
fn rest(compared: &Compared, id: &str) -> Markup {
    html! {
        @for at in &compared.points {
            section aria-label={ "Comparison " (at.label) } {
                @if !at.label.is_empty() { h2 { (at.label) } }
                (forest(at))
                (table(at).markup())
                p.note { "M–W: Mann and Whitney's p; spread: how far runs of a side deviate from each other." }
                @for row in &at.rows { @if let Some(told) = told(row) { p.note { (told) } } }
            }
        }
        (agents(compared))
        p.note { (explained(compared)) }
        @if !compared.history.is_empty() {
            section aria-label="History" {
                h2 { "History" }
                @for (i, trend) in compared.history.iter().enumerate() {
                    (trend::course(trend, &format!("{id}history-{i}")))
                }
            }
        }
    }
}

/// Agents of fleets, on either side.
fn agents(compared: &Compared) -> Markup {
    if compared.agents.is_empty() {
        return html! {};
    }
    let rows = compared.agents.iter().map(|it| {
        let verdict = match (it.lost, it.verdict) {
            (0, Some(kind)) => Cell::inked(kind.name(), super::explained::ink(kind)),
            (0, None) => Cell::text("n/a"),
            (lost, _) => Cell::inked(format!("lost in {lost} of {}", it.count), "bad"),
        };
        vec![
            Cell::text(it.side),
            Cell::text(it.name.clone()),
            Cell::number(it.share, Kind::Share),
            verdict,
            Cell::number(it.busiest, Kind::Share),
            Cell::number(it.clock_error_ns.map(|ns| ns as f64), Kind::Nanos),
        ]
    });
    let head = [
        "side",
        "agent",
        "share of the load",
        "worst verdict",
        "busiest core",
        "clock within",
    ];
    Table {
        caption: "Agents that made the load".into(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
    .markup()
}

/// What there is to say of a row besides its figures.
fn told(row: &Row) -> Option<String> {
    let it = &row.comparison;
    let bootstrap = (it.method == Method::Bootstrap)
        .then(|| "interval by the bootstrap over runs (bias-corrected and accelerated)".to_owned());
    let more = remark(it).into_iter().chain(bootstrap).collect::<Vec<_>>();
    (!more.is_empty()).then(|| {
        format!(
            "{}, {}: {}.",
            row.metric,
            wanted(it.better),
            more.join("; ")
        )
    })
}

/// How wide intervals are drawn, and where. Texts keep their size, so a narrow screen gets a drawing of its own.
struct Frame {
    class: &'static str,
    width: f64,
    /// Where names end.
    names: f64,
    /// Where no change is, and how far the largest is from there.
    centre: f64,
    half: f64,
}

const FRAMES: [Frame; 2] = [
    Frame {
        class: "wide",
        width: 860.0,
        names: 165.0,
        centre: 500.0,
        half: 320.0,
    },
    Frame {
        class: "narrow",
        width: 380.0,
        names: 118.0,
        centre: 252.0,
        half: 104.0,
    },
];

/// A tick's text, and a gap.
const TICK: f64 = 46.0;

impl Frame {
    /// Ticks that do not run into each other, from the middle to both sides.
    fn ticks(&self, ratios: &[f64], place: impl Fn(f64) -> f64) -> Vec<f64> {
        let (below, above): (Vec<f64>, Vec<f64>) = ratios.iter().partition(|it| **it < 1.0);
        let mut kept = vec![1.0];
        for side in [below.into_iter().rev().collect::<Vec<_>>(), above] {
            let mut last = place(1.0);
            for ratio in side {
                if (place(ratio) - last).abs() >= TICK {
                    last = place(ratio);
                    kept.push(ratio);
                }
            }
        }
        kept
    }
}

/// A row with its ratio and its interval.
type Known<'a> = (&'a Row, f64, (f64, f64));

/// Intervals of the ratios around one, the margin as a strip.
fn forest(at: &At) -> Markup {
    let known: Vec<Known<'_>> = at
        .rows
        .iter()
        .filter_map(|row| Some((row, row.comparison.ratio?, row.comparison.interval?)))
        .collect();
    if known.is_empty() {
        return html! {};
    }
    html! {
        figure.chart.bars {
            figcaption {
                h3 { "Change against base" }
                p.note { "Each metric with its 95 % interval; the strip is what counts as noise." }
            }
            div.picture { @for frame in &FRAMES { (drawn(&known, frame)) } }
        }
    }
}

fn drawn(known: &[Known<'_>], frame: &Frame) -> Markup {
    let reach = known
        .iter()
        .flat_map(|(row, _, (low, high))| [1.0 / low, *high, 1.0 + 2.0 * row.comparison.margin])
        .fold(1.02, f64::max)
        .min(20.0);
    let place = |ratio: f64| frame.centre + (ratio.ln() / reach.ln()).clamp(-1.0, 1.0) * frame.half;
    let height = 44.0 + 30.0 * known.len() as f64;
    let margin = known
        .iter()
        .map(|it| it.0.comparison.margin)
        .fold(0.0, f64::max);
    let steps = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 4.0];
    let step = steps
        .into_iter()
        .find(|step| reach - 1.0 <= 4.0 * step)
        .unwrap_or(10.0);
    // Steps of equal size run out below −100 %.
    const WIDE: [f64; 9] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
    let even = (-4..=4).map(|i| f64::from(i) * step + 1.0);
    let ticks: Vec<f64> = match reach > 2.0 {
        true => WIDE.to_vec(),
        false => even.collect(),
    };
    let ticks: Vec<f64> = ticks
        .into_iter()
        .filter(|ratio| *ratio > 0.0 && (1.0 / reach..=reach).contains(ratio))
        .collect();
    html! {
        svg class=(frame.class) viewBox={ "0 0 " (frame.width) " " (height) } role="img"
            aria-label="Change of each metric with its interval; the table below has the figures" {
            rect.zone x=(format!("{:.1}", place(1.0 / (1.0 + margin)))) y="6"
                width=(format!("{:.1}", place(1.0 + margin) - place(1.0 / (1.0 + margin)))) height=(height - 36.0) {}
            g.grid {
                @for tick in frame.ticks(&ticks, place) {
                    path d=(format!("M{:.1} 6V{:.1}", place(tick), height - 30.0)) {}
                    text.x x=(format!("{:.1}", place(tick))) y=(height - 12.0) { (short(tick)) }
                }
                path.axis d=(format!("M{} 6V{:.1}", frame.centre, height - 30.0)) {}
            }
            @for (i, (row, ratio, (low, high))) in known.iter().enumerate() {
                @let y = 24.0 + 30.0 * i as f64;
                text.label x=(frame.names) y=(y + 4.0) { (row.metric) }
                g class={ "span " (ink(row.comparison.outcome)) } {
                    path.line d=(format!("M{:.1} {y}H{:.1}", place(*low), place(*high))) {}
                    circle cx=(format!("{:.1}", place(*ratio))) cy=(y) r="5" {}
                }
            }
        }
    }
}

/// A change under a tick: `+5 %`, `0`.
fn short(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    match percent.abs() < 1e-9 {
        true => "0".to_owned(),
        false => format!(
            "{}{} %",
            if percent > 0.0 { "+" } else { "−" },
            Kind::Count.show(percent.abs())
        ),
    }
}

fn table(at: &At) -> Table {
    let head = [
        "metric",
        "outcome",
        "base",
        "new",
        "change",
        "low",
        "high",
        "p (Holm)",
        "M–W",
        "delta",
        "spread base",
        "spread new",
    ];
    let row = |row: &Row| {
        let it = &row.comparison;
        let kind = kind(row.metric);
        let share = |ratio: Option<f64>| match ratio {
            Some(ratio) => Cell::shown(changed_by(ratio), ratio - 1.0, Kind::Share),
            None => Cell::number(None, Kind::Share),
        };
        let p = |p: Option<f64>| match p {
            Some(p) => Cell::shown(probability(p), p, Kind::Count),
            None => Cell::number(None, Kind::Count),
        };
        vec![
            Cell::text(row.metric.to_string()),
            Cell::inked(it.outcome.name(), ink(it.outcome)),
            Cell::number(Some(it.means.0), kind),
            Cell::number(Some(it.means.1), kind),
            share(it.ratio),
            share(it.interval.map(|it| it.0)),
            share(it.interval.map(|it| it.1)),
            p(it.adjusted.or(it.p.map(|p| p.value))),
            p(it.mann_whitney.map(|p| p.value)),
            match it.delta {
                Some(delta) => Cell::shown(format!("{delta:+.2}"), delta, Kind::Count),
                None => Cell::number(None, Kind::Count),
            },
            Cell::number(it.spread.0, Kind::Share),
            Cell::number(it.spread.1, Kind::Share),
        ]
    };
    Table {
        caption: format!("Metrics of {}", at.of_runs()),
        head: head.map(str::to_owned).to_vec(),
        rows: at.rows.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_either_drawing_do_not_run_into_each_other_and_the_middle_has_one() {
        let ratios = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
        for frame in &FRAMES {
            let place = |ratio: f64| frame.centre + ratio.ln() / 20f64.ln() * frame.half;
            let mut kept = frame.ticks(&ratios, place);
            kept.sort_by(f64::total_cmp);
            assert!(kept.len() >= 5 && kept.contains(&1.0), "{kept:?}");
            for pair in kept.windows(2) {
                assert!(place(pair[1]) - place(pair[0]) >= TICK, "{kept:?}");
            }
            let text = TICK / 2.0;
            assert!(place(20.0) + text <= frame.width && frame.names < place(0.05));
        }
    }
}
