//! One file that a person looks at: charts, tables behind them, nothing from the network.
//!
//! Pictures are SVG with the values beside them; a small script switches layers, reads values off and
//! copies tables. Without the script everything is still there to be looked at and printed.

mod accounting;
mod attack;
mod bars;
mod chart;
mod compared;
mod contents;
mod counters;
mod course;
mod cpu;
mod explained;
mod fairness;
mod finding;
mod flow;
mod head;
mod hosts;
mod internals;
mod latency;
mod measured;
mod models;
mod parts;
mod pictures;
mod place;
mod printed;
mod published;
mod pubsub;
mod ranges;
mod rows;
mod scale;
mod security;
mod server_diagnostics;
mod shape;
mod sweep;
mod table;
mod trend;

use judge::compare::Metric;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::Run;

pub use shape::shapes;

use self::contents::Contents;
use self::models::ModelComparison;
use crate::compared::Compared;
use crate::pictures::Pictures;
use crate::points::{Family, Named, Points, families};
use crate::trends::Trends;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// As many runs are shown in full; of more, what they have in common.
const IN_FULL: usize = 4;

/// A report of one or several runs. Curves are over `x`, a figure that was measured such as values per second, or over what
/// was varied.
pub fn html(runs: &[Named], x: Option<Metric>) -> String {
    let title = match runs {
        [one] => format!("{} {}", one.run.command, crate::unit::when(one.run.started)),
        _ => format!("{} runs", runs.len()),
    };
    let body = match runs {
        [one] => single(one),
        _ => several(runs, x),
    };
    page(&title, &body)
}

/// A report of a comparison: of one new side with a base, or of several.
pub fn compared_html(all: &[&Compared]) -> String {
    page("comparison", &compared::page(all))
}

/// A report of how figures went over occasions.
pub fn trends_html(trends: &Trends) -> String {
    page(&format!("trend {}", trends.folder), &trend::page(trends))
}

/// What protections cost at a server, and what should be mended there.
pub fn security_html(sheet: &record::security::Sheet) -> String {
    page(&format!("security {}", sheet.url), &security::page(sheet))
}

/// What attacks do to the good clients of a server.
pub fn attack_html(sheet: &record::attack::Sheet) -> String {
    page(&format!("attack {}", sheet.url), &attack::page(sheet))
}

/// What was measured of a study's experiment, and what the study printed of it, for a page in Markdown.
#[derive(Debug, Default)]
pub struct Repeated {
    /// Pictures as files of SVG.
    pub pictures: Vec<String>,
    /// A table of points for each phase, in Markdown.
    pub measured: Vec<String>,
    /// What the study printed, in Markdown.
    pub printed: Vec<String>,
}

/// More pictures are for the page that a browser shows.
const PICTURES: usize = 3;

/// The runs of an experiment: a table for each phase, and curves where something was varied that is a number: of times, of
/// the server's CPU where it sends by itself, of times for each value.
pub fn repeated(runs: &[Named]) -> Repeated {
    let mut found = Repeated::default();
    for family in families(runs) {
        let points = Points::of(family.runs.iter().copied());
        for phase in crate::several::phases(family.runs.iter().copied()) {
            let mut table = sweep::table(&points, phase);
            table.caption = format!("{}: {}", phase, table.caption);
            found.measured.push(table.markdown());
            found.pictures.extend(sweep::alone(&points, phase));
        }
    }
    found.pictures.truncate(PICTURES);
    let first = runs.first().map(|it| printed::tables(&it.run));
    let tables = first.iter().flatten();
    found.printed = tables.map(table::Table::markdown).collect();
    found
}

/// Pictures of what is of no run.
pub fn pictures_html(pictures: &Pictures) -> String {
    page(&pictures.title, &pictures::page(pictures))
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
    let run = &named.run;
    let mut contents = Contents::default();
    contents.add("set-up", "What was measured", head::set_up(run));
    parts(run, "r", &mut contents);
    contents.add("published", "As published", printed::beside(run));
    contents.add("words", "What the words mean", explained::words([run]));
    html! {
        section.first aria-label="Verdict and figures" {
            (head::of_run(run))
            (head::subject(run))
            @match run.phases.as_slice() {
                [phase] => { (head::figures(phase)) (latency::percentiles(phase, "r0")) }
                phases => (head::overview(phases, "r")),
            }
        }
        (contents.list())
        (contents.parts())
    }
}

/// All of a run below its verdict: a part for each thing that there is to say, by phases where it has several.
fn parts(run: &Run, id: &str, contents: &mut Contents) {
    let several = run.phases.len() > 1;
    for (i, phase) in run.phases.iter().enumerate() {
        let id = format!("{id}{i}");
        if several {
            let body = html! {
                (head::verdict(&[], &phase.verdict, phase.bottleneck.as_ref(), &[], false))
                (head::figures(phase))
                (latency::percentiles(phase, &id))
            };
            contents.chapter(&id, &phase.name, body);
        }
        let mut add = |what: &str, title: &str, body: Markup| {
            contents.add(format!("{id}-{what}"), title, body);
        };
        add("thresholds", "Thresholds", parts::expectations(phase));
        add("hosts", "Hosts", hosts::of_run(run, i, phase));
        add(
            "accounting",
            "Notifications",
            accounting::accounting(run, phase),
        );
        if let Some(told) = &phase.pubsub {
            add("pubsub", "PubSub", pubsub::section(told));
        }
        let times = html! { (latency::times(phase)) (latency::density(phase, &id)) };
        add("times", "Times", times);
        add(
            "targets",
            "Targets and services",
            parts::side_by_side(run, phase),
        );
        add("statuses", "Answers", parts::statuses(phase));
        let spent = html! {
            (parts::resources(phase)) (internals::section(phase)) (cpu::density(phase, &id))
        };
        add("resources", "Resources", spent);
        add("limit", "What limited it", parts::bottleneck(phase));
        if let Some(told) = &phase.diagnostics {
            add(
                "diagnostics",
                "Server diagnostics",
                server_diagnostics::section(told),
            );
        }
    }
    if several {
        contents.leave();
    }
    contents.add(format!("{id}-time"), "Over time", course::courses(run, id));
}

/// What a set-up is of.
const OF_FIRST: PreEscaped<&str> = PreEscaped(
    "<p class=\"note\">This is the first run; the tables below have what was varied.</p>",
);

fn several(runs: &[Named], x: Option<Metric>) -> Markup {
    let families = families(runs);
    let worst = runs.iter().max_by_key(|it| it.run.verdict.kind);
    let alone = families.len() == 1;
    let mut contents = Contents::default();
    let found = families.iter().flat_map(|family| {
        let points = Points::of(family.runs.iter().copied());
        let name = |it: String| {
            if alone {
                it
            } else {
                format!("{}: {it}", family.name)
            }
        };
        let found = finding::of_points(&points).into_iter().map(name);
        found.collect::<Vec<_>>()
    });
    let found: Vec<String> = found.collect();
    let (first, last): (Option<ModelComparison>, _) = match models::beside(&families) {
        Some(it) if it.has_curves => (Some(it), None),
        it => (None, it),
    };
    let both = |contents: &mut Contents, it: Option<ModelComparison>| {
        let body = it.map_or_else(|| html! {}, |it| it.body);
        contents.add("models", "Both communication models", body);
    };
    both(&mut contents, first);
    for (i, family) in families.iter().enumerate() {
        if !alone {
            let body = match family.runs.as_slice() {
                [one] => html! {
                    (head::of_run(&one.run))
                    @if let [phase] = one.run.phases.as_slice() {
                        (head::figures(phase)) (latency::percentiles(phase, &format!("r{i}-0")))
                    }
                },
                _ => html! {},
            };
            contents.chapter(format!("f{i}"), &family.name, body);
        }
        if family.runs.len() > 1 {
            points(&family.runs, x, &format!("s{i}-"), &mut contents);
        }
        if let Some(first) = family.runs.first() {
            let set_up = html! {
                @if family.runs.len() > 1 { (OF_FIRST) }
                (head::set_up(&first.run))
            };
            contents.add(format!("f{i}-set-up"), "What was measured", set_up);
            contents.add(
                format!("f{i}-published"),
                "As published",
                printed::beside(&first.run),
            );
        }
        if let [one] = family.runs.as_slice() {
            parts(&one.run, &format!("r{i}-"), &mut contents);
        }
        contents.leave();
        if (2..=IN_FULL).contains(&family.runs.len()) {
            for (k, named) in family.runs.iter().enumerate() {
                let id = format!("r{i}-{k}-");
                let body = html! {
                    (head::of_run(&named.run))
                    @if let [phase] = named.run.phases.as_slice() {
                        (head::figures(phase)) (latency::percentiles(phase, &format!("{id}0")))
                    }
                };
                contents.chapter(
                    format!("{id}run"),
                    &crate::several::short(&named.name),
                    body,
                );
                parts(&named.run, &id, &mut contents);
            }
        }
    }
    contents.leave();
    both(&mut contents, last);
    contents.add(
        "words",
        "What the words mean",
        explained::words(runs.iter().map(|it| &it.run)),
    );
    html! {
        section.first aria-label="Verdict and figures" {
            @if let Some(worst) = worst {
                (head::verdict(&found, &worst.run.verdict, None, &[vec![counts(runs, &families)], head::notes(&worst.run)].concat(), worst.run.is_simulated()))
            }
            (head::large(&ranges::figures(runs)))
        }
        (contents.list())
        (contents.parts())
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
fn points(runs: &[&Named], x: Option<Metric>, id: &str, contents: &mut Contents) {
    let points = Points::of(runs.iter().copied()).over(x);
    let phases = crate::several::phases(runs.iter().copied());
    let alone = phases.len() == 1;
    for (i, phase) in phases.iter().enumerate() {
        let id = format!("{id}{i}");
        let curves = html! {
            (sweep::curves(&points, phase, &id))
            @for told in shape::of_phase(&points, phase) { p.note { (told) "." } }
        };
        let title = |what: &str| match alone {
            true => what.to_owned(),
            false => format!("{what}: {phase}"),
        };
        let mut add = |what: &str, name: &str, body: Markup| {
            contents.add(format!("{id}-{what}"), &title(name), body);
        };
        add("curves", "Compared", curves);
        let tables =
            html! { (sweep::table(&points, phase).markup()) (sweep::runs(&points, phase)) };
        add("figures", "Figures of each", tables);
        add(
            "percentiles",
            "Latencies over each other",
            html! { (sweep::overlay(&points, phase, &id)) (cpu::overlay(&points, phase, &id)) },
        );
        add(
            "run-spans",
            "Run spans of the server's loops",
            internals::overlay(&points, phase, &id),
        );
        add("hosts", "Hosts", hosts::of_points(&points, phase));
    }
}
