//! One file that a person looks at: charts, tables behind them, nothing from the network.
//!
//! Pictures are SVG with the values beside them; a small script switches layers, reads values off and
//! copies tables. Without the script everything is still there to be looked at and printed.

mod accounting;
mod chart;
mod compared;
mod course;
mod evenly;
mod head;
mod latency;
mod parts;
mod printed;
mod published;
mod scale;
mod sweep;
mod table;
mod unit;
mod witness;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(crate) use unit::Kind;

use crate::compared::Compared;
use crate::points::{Named, Points};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// As many runs are shown in full; of more, what they have in common.
const IN_FULL: usize = 4;

/// A report of one or several runs.
pub fn html(runs: &[Named]) -> String {
    let points = Points::of(runs);
    let title = match runs {
        [one] => format!("{} {}", one.run.command, head::when(&one.run)),
        _ => format!("{} runs", runs.len()),
    };
    let body = match runs {
        [one] => single(one),
        _ => several(runs, &points),
    };
    page(&title, &body)
}

/// A report of a comparison.
pub fn compared_html(compared: &Compared) -> String {
    page("comparison", &compared::page(compared))
}

fn page(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="uaperf";
                // Nothing is fetched, whatever a server's name may hold.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
                link rel="icon" href="data:,";
                title { "uaperf: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header.top {
                    p { b { "uaperf" } " " (title) }
                    button.theme type="button" aria-label="Switch between light and dark" { "◐" }
                }
                main { (body) }
                footer { p { "uaperf " (env!("CARGO_PKG_VERSION")) ". Times are explained in docs/measuring.md." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn single(named: &Named) -> Markup {
    html! {
        section.first aria-label="Verdict and set-up" {
            (head::verdict(&named.run.verdict, &head::notes(&named.run)))
            @if let [phase] = named.run.phases.as_slice() { (head::figures(phase)) }
            (head::set_up(&named.run))
        }
        (run(named, "r"))
        (printed::beside(&named.run))
    }
}

/// All of a run below its verdict.
fn run(named: &Named, id: &str) -> Markup {
    let run = &named.run;
    let several = run.phases.len() > 1;
    html! {
        @for (i, phase) in run.phases.iter().enumerate() {
            @let id = format!("{id}{i}");
            section aria-label={ "Phase " (phase.name) } {
                @if several {
                    h2 { (phase.name) }
                    (head::verdict(&phase.verdict, &[]))
                    (head::figures(phase))
                }
                (parts::expectations(phase))
                (accounting::accounting(run, phase))
                @if let Some(told) = &phase.diagnostics { (witness::section(told)) }
                (latency::percentiles(phase, &id))
                (latency::density(phase, &id))
                (parts::side_by_side(run, phase))
                (parts::statuses(phase))
                (parts::resources(phase))
            }
        }
        section aria-label="Over time" {
            h2 { "Over time" }
            (course::courses(run, id))
        }
    }
}

fn several(runs: &[Named], points: &Points) -> Markup {
    let mut phases: Vec<&str> = Vec::new();
    for phase in runs.iter().flat_map(|it| &it.run.phases) {
        if !phases.contains(&phase.name.as_str()) {
            phases.push(&phase.name);
        }
    }
    let worst = runs.iter().max_by_key(|it| it.run.verdict.kind);
    let same = |it: &Named| worst.is_some_and(|w| w.run.verdict.kind == it.run.verdict.kind);
    let count = runs.iter().filter(|it| same(it)).count();
    let word = worst.map_or("", |it| it.run.verdict.kind.name());
    let varied = match points.axes.as_slice() {
        [] => "repetitions of the same".to_owned(),
        axes => format!("{} points of {}", points.points.len(), axes.join(" and ")),
    };
    let note = match count == runs.len() {
        true => format!("{} runs, {varied}, all {word}", runs.len()),
        false => format!(
            "{} runs, {varied}; {count} of them {word}, the worst verdict",
            runs.len()
        ),
    };
    html! {
        section.first aria-label="Verdict and set-up" {
            @if let Some(worst) = worst {
                (head::verdict(&worst.run.verdict, &[vec![note], head::notes(&worst.run)].concat()))
            }
            @if let Some(first) = runs.first() { (head::set_up(&first.run)) }
        }
        @for (i, phase) in phases.iter().enumerate() {
            section aria-label={ "Phase " (phase) } {
                @if phases.len() > 1 { h2 { (phase) } }
                (sweep::curves(points, phase, &format!("s{i}")))
                (sweep::table(points, phase))
                (sweep::overlay(points, phase, &format!("s{i}")))
                (sweep::runs(points, phase))
            }
        }
        @if let Some(first) = runs.first() { (printed::beside(&first.run)) }
        @if runs.len() <= IN_FULL {
            @for (i, named) in runs.iter().enumerate() {
                section aria-label=(named.name) {
                    h2 { (crate::several::short(&named.name)) }
                    (head::verdict(&named.run.verdict, &head::notes(&named.run)))
                    (run(named, &format!("r{i}-")))
                }
            }
        }
    }
}
