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
mod models;
mod parts;
mod place;
mod printed;
mod published;
mod pubsub;
mod scale;
mod security;
mod shape;
mod sweep;
mod table;
mod unit;
mod witness;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use shape::shapes;
pub(crate) use unit::Kind;

use crate::compared::Compared;
use crate::points::{Family, Named, Points, families};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// As many runs are shown in full; of more, what they have in common.
const IN_FULL: usize = 4;

/// A report of one or several runs.
pub fn html(runs: &[Named]) -> String {
    let title = match runs {
        [one] => format!("{} {}", one.run.command, head::when(one.run.started)),
        _ => format!("{} runs", runs.len()),
    };
    let body = match runs {
        [one] => single(one),
        _ => several(runs),
    };
    page(&title, &body)
}

/// A report of a comparison.
pub fn compared_html(compared: &Compared) -> String {
    page("comparison", &compared::page(compared))
}

/// What protections cost at a server, and what should be mended there.
pub fn security_html(sheet: &record::security::Sheet) -> String {
    page(&format!("security {}", sheet.url), &security::page(sheet))
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
            (head::of_run(&named.run))
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
                    (head::verdict(&phase.verdict, phase.bottleneck.as_ref(), &[], false))
                    (head::figures(phase))
                }
                (parts::expectations(phase))
                (accounting::accounting(run, phase))
                @if let Some(told) = &phase.pubsub { (pubsub::section(told)) }
                @if let Some(told) = &phase.diagnostics { (witness::section(told)) }
                (latency::percentiles(phase, &id))
                (latency::density(phase, &id))
                (parts::side_by_side(run, phase))
                (parts::statuses(phase))
                (parts::resources(phase))
                (parts::bottleneck(phase))
            }
        }
        section aria-label="Over time" {
            h2 { "Over time" }
            (course::courses(run, id))
        }
    }
}

/// What a set-up is of.
const OF_FIRST: PreEscaped<&str> = PreEscaped(
    "<p class=\"note\">This is the first run; the tables below have what was varied.</p>",
);

fn several(runs: &[Named]) -> Markup {
    let families = families(runs);
    let worst = runs.iter().max_by_key(|it| it.run.verdict.kind);
    let alone = families.len() == 1;
    html! {
        section.first aria-label="Verdict and set-up" {
            @if let Some(worst) = worst {
                (head::verdict(&worst.run.verdict, None, &[vec![counts(runs, &families)], head::notes(&worst.run)].concat(), worst.run.is_simulated()))
            }
            @if let (true, Some(first)) = (alone, runs.first()) { (head::set_up(&first.run)) (OF_FIRST) }
        }
        (models::beside(&families))
        @for (i, family) in families.iter().enumerate() {
            @if !alone {
                section aria-label=(family.name) {
                    h2 { (family.name) }
                    @if let [one] = family.runs.as_slice() {
                        (head::of_run(&one.run))
                        @if let [phase] = one.run.phases.as_slice() { (head::figures(phase)) }
                    }
                    @if let Some(first) = family.runs.first() { (head::set_up(&first.run)) }
                    @if family.runs.len() > 1 { (OF_FIRST) }
                }
            }
            @match family.runs.as_slice() {
                [one] => (run(one, &format!("r{i}-"))),
                all => (points(all, &format!("s{i}-"))),
            }
            @if let Some(first) = family.runs.first() { (printed::beside(&first.run)) }
            @if (2..=IN_FULL).contains(&family.runs.len()) {
                @for (k, named) in family.runs.iter().enumerate() {
                    section aria-label=(named.name) {
                        h2 { (crate::several::short(&named.name)) }
                        (head::of_run(&named.run))
                        (run(named, &format!("r{i}-{k}-")))
                    }
                }
            }
        }
    }
}

/// How many runs there are, of what, and how many have the worst verdict.
fn counts(runs: &[Named], families: &[Family]) -> String {
    let of = |family: &Family| {
        let points = Points::of(family.runs.iter().copied());
        match (family.runs.len(), points.axes.as_slice()) {
            (1, _) => "1 run".to_owned(),
            (n, []) => format!("{n} repetitions of the same"),
            (_, axes) => format!("{} points of {}", points.points.len(), axes.join(" and ")),
        }
    };
    let varied = match families {
        [family] => of(family),
        all => {
            let each = all.iter().map(|it| format!("{}: {}", it.name, of(it)));
            each.collect::<Vec<_>>().join("; ")
        }
    };
    let worst = runs.iter().map(|it| it.run.verdict.kind).max();
    let count = runs.iter().filter(|it| Some(it.run.verdict.kind) == worst);
    let (count, word) = (count.count(), worst.map_or("", |it| it.name()));
    match count == runs.len() {
        true => format!("{} runs, {varied}, all {word}", runs.len()),
        false => format!(
            "{} runs, {varied}; {count} of them {word}, the worst verdict",
            runs.len()
        ),
    }
}

/// Runs of the same with something varied, or again and again: phase by phase.
fn points(runs: &[&Named], id: &str) -> Markup {
    let points = Points::of(runs.iter().copied());
    let phases = crate::several::phases(runs.iter().copied());
    html! {
        @for (i, phase) in phases.iter().enumerate() {
            section aria-label={ "Phase " (phase) } {
                @if phases.len() > 1 { h2 { (phase) } }
                (sweep::curves(&points, phase, &format!("{id}{i}")))
                @for told in shape::of_phase(&points, phase) { p.note { (told) "." } }
                (sweep::table(&points, phase))
                (sweep::overlay(&points, phase, &format!("{id}{i}")))
                (sweep::runs(&points, phase))
            }
        }
    }
}
