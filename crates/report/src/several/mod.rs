//! Several runs: side by side, or as a trend when they are many.

mod beside;
mod trend;

use judge::Measured;
use plan::{Figures, Measure, Stat};
use record::run::{Phase, Run};

use crate::page::Page;
use crate::points::Named;
use crate::style::{Style, TextStyle};
use crate::summary::{marked, summary};
use crate::table::{self, looked_at};

/// One or several runs: one as its [`summary`], a few side by side, many as a trend.
pub fn show(runs: &[Named], style: Style) -> String {
    match runs {
        [one] => summary(&one.run, style),
        few if few.len() <= beside::MOST => beside::screen(few, style),
        many => trend::screen(many, style),
    }
}

fn percentile(phase: &Phase, quantile: f64) -> Option<f64> {
    let (name, histogram) = looked_at(phase);
    let size = table::independent(phase, name, histogram);
    table::percentile(histogram, quantile, size).value()
}

/// What went wrong: errors, and what subscriptions or listeners lost. Not known where messages have no sequence numbers.
fn bad(phase: &Phase) -> Option<u64> {
    let lost = match phase.pubsub {
        Some(_) => phase.lost()?,
        // Requests lose nothing.
        None => phase.lost().unwrap_or(0),
    };
    Some(lost + phase.total.errors)
}

/// Mean CPU in cores, without spinning.
fn cpu(phase: &Phase, measure: Measure) -> Option<f64> {
    Measured(phase).figure(measure, Stat::Mean)
}

/// A figure over that of the first run.
fn ratio(first: Option<f64>, this: Option<f64>) -> Option<String> {
    let (first, this) = (first?, this?);
    (first > 0.0 && this > 0.0).then(|| match this / first {
        ratio if ratio < 99.95 => format!("×{ratio:.2}"),
        ratio => format!("×{ratio:.0}"),
    })
}

/// Names of all phases, in the order of their first run.
pub(crate) fn phases<'a>(runs: impl IntoIterator<Item = &'a Named>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for phase in runs.into_iter().flat_map(|it| &it.run.phases) {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    names
}

fn phase<'a>(run: &'a Run, name: &str) -> Option<&'a Phase> {
    run.phases.iter().find(|phase| phase.name == name)
}

/// The name of a file without its folder and ending.
pub(crate) fn short(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".json").unwrap_or(file).to_owned()
}

fn started(run: &Run) -> String {
    let text = run.started.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}

/// What makes runs hard to compare.
fn differences(page: &mut Page, runs: &[Named]) {
    let mut notes = Vec::new();
    let mut compare = |what: &str, of: &dyn Fn(&Run) -> Option<String>| {
        let mut seen: Vec<String> = runs.iter().filter_map(|it| of(&it.run)).collect();
        seen.sort();
        seen.dedup();
        if seen.len() > 1 {
            notes.push(format!("they differ in their {what}: {}", seen.join("; ")));
        }
    };
    compare("command", &|run| Some(run.command.clone()));
    compare("CPU", &|run| run.machine.cpu.known().cloned());
    compare("cores", &|run| {
        run.machine.cores.known().map(u64::to_string)
    });
    compare("kernel", &|run| run.machine.kernel.known().cloned());
    compare("governor", &|run| run.machine.governor.known().cloned());
    compare("build", &|run| {
        let build = &run.machine.build;
        Some(format!("{} {}", build.version, build.profile))
    });
    let plans: Vec<_> = runs.iter().map(|it| &it.run.plan["phases"]).collect();
    if plans.windows(2).any(|two| two[0] != two[1]) {
        notes.push("they were asked for different loads".to_owned());
    }
    for it in runs {
        for mark in &it.run.marks {
            notes.push(format!("{}: {}", short(&it.name), marked(*mark)));
        }
    }
    page.gap();
    for note in notes {
        page.inked_row("note", TextStyle::Warning, &note);
    }
}

fn none() -> String {
    "n/a".to_owned()
}
