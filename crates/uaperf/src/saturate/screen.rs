//! What a person sees of a search: a line for each trial, then the curve and its knee.

use std::fmt::Write as _;

use judge::capacity::{Answer, Capacity, End, Search, Why};
use plan::unit::{Rate, duration};
use plan::{Grow, Threshold};
use record::run::Kind;

use super::book::Trial;

/// What is looked for, and the head of the list of trials.
pub fn head(grow: Grow, objective: &[Threshold]) -> String {
    let objective: Vec<String> = objective.iter().map(ToString::to_string).collect();
    format!(
        "the most {grow} that meets {}\n\n{:>14}{:>11}{:>10}{:>10}{:>8}{:>9}  {:<18}{}\n",
        objective.join(", "),
        grow.name(),
        "per second",
        "p50",
        "p99",
        "errors",
        "server",
        "verdict",
        "objective"
    )
}

/// A trial.
pub fn trial(grow: Grow, trial: &Trial) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(na, |ns| duration::show_nanos(ns as f64));
    format!(
        "{:>14}{:>11}{:>10}{:>10}{:>8}{:>9}  {:<18}{}\n",
        load(grow, trial.load),
        trial.rate_per_s.map_or_else(na, Rate::show),
        time(trial.p50_ns),
        time(trial.p99_ns),
        trial.errors,
        trial
            .server_cores
            .map_or_else(na, |cores| format!("{:.0} %", cores * 100.0)),
        trial.verdict.kind,
        answer(trial)
    )
}

fn answer(trial: &Trial) -> String {
    let answer = match trial.answer {
        Answer::Met => "met",
        Answer::Missed => "missed",
        Answer::Unsteady => "not told: unsteady",
        Answer::Generator => "not told: generator",
    };
    match &trial.why {
        Some(why) => format!("{answer}: {why}"),
        None => answer.to_owned(),
    }
}

fn na() -> String {
    "n/a".to_owned()
}

fn load(grow: Grow, load: f64) -> String {
    match grow {
        Grow::Rate => Rate::show(load),
        _ => format!("{load}"),
    }
}

/// The end of a range: of whole loads, with the part of one that is open.
fn bound(grow: Grow, at: f64) -> String {
    match grow {
        Grow::Rate => Rate::show(at),
        _ => format!("{:.0}", at.floor()),
    }
}

/// The end: what was found, what gave out first, the curve.
pub fn capacity(grow: Grow, search: &Search, found: Capacity, trials: &[Trial]) -> String {
    let mut out = String::new();
    // Writing into a String does not fail.
    let _ = write(&mut out, grow, search, found, trials);
    out
}

fn write(
    out: &mut String,
    grow: Grow,
    search: &Search,
    found: Capacity,
    trials: &[Trial],
) -> std::fmt::Result {
    let votes = |at: Option<f64>| {
        let point = search.points().iter().find(|it| Some(it.load) == at);
        point.map_or_else(String::new, |it| {
            let trials = it.met + it.missed + it.unsteady;
            format!("met in {} of {trials} trials", it.met)
        })
    };
    let show = |at: Option<f64>| at.map_or_else(na, |at| grow.show(at));
    let open = || {
        let (low, high) = (found.low, found.high);
        let ends = [low, high].map(|at| at.map_or_else(na, |at| bound(grow, at)));
        ends.join(" to ")
    };
    writeln!(out)?;
    match found.end {
        End::Knee => {
            let trials = search.trials();
            writeln!(
                out,
                "CAPACITY    {}; {} with a chance of 90 %, by {trials} trials",
                show(found.knee),
                open()
            )?;
            writeln!(
                out,
                "below       {}, {}",
                show(found.holds),
                votes(found.holds)
            )?;
            writeln!(
                out,
                "above       {}, {}",
                show(found.fails),
                votes(found.fails)
            )?;
        }
        End::Most => writeln!(
            out,
            "CAPACITY    at least {}, where the search was to end (--to)",
            show(found.holds)
        )?,
        End::Least => writeln!(
            out,
            "CAPACITY    none: {} misses the objective already",
            show(found.fails)
        )?,
        End::Generator => writeln!(
            out,
            "CAPACITY    at least {}; above it the generator was the limit",
            show(found.holds)
        )?,
        End::Unclear => writeln!(
            out,
            "CAPACITY    not as closely as asked for in {} trials: {} with a chance of 90 %; {} held last",
            search.trials(),
            open(),
            show(found.holds)
        )?,
    }
    gave_out(out, grow, found, trials)?;
    curve(out, grow, trials)
}

/// The lowest load above all that held whose trial says more than that the objective was missed.
fn gave_out(out: &mut String, grow: Grow, found: Capacity, trials: &[Trial]) -> std::fmt::Result {
    let above = |trial: &&Trial| found.holds.is_none_or(|holds| trial.load > holds);
    let mut missed: Vec<&Trial> = trials
        .iter()
        .filter(above)
        .filter(|it| it.answer != Answer::Met)
        .collect();
    missed.sort_by(|a, b| a.load.total_cmp(&b.load));
    if missed.is_empty() {
        return Ok(());
    }
    let behind = missed.iter().find_map(|trial| {
        let why = trial.why.as_ref();
        let why = why.filter(|why| matches!(why, Why::Behind(_)))?;
        Some((grow.show(trial.load), why))
    });
    if let Some((at, why)) = &behind {
        writeln!(out, "gave out    at {at}: the server {why}")?;
    }
    let limited = missed.iter().find(|it| it.verdict.kind != Kind::Valid);
    match limited {
        Some(trial) => {
            let at = grow.show(trial.load);
            let head = if behind.is_some() { "" } else { "gave out" };
            writeln!(out, "{head:<12}at {at}: {}", trial.verdict.kind)?;
            for evidence in &trial.verdict.evidence {
                writeln!(out, "            {evidence}")?;
            }
        }
        None if behind.is_none() => writeln!(
            out,
            "gave out    the objective alone: server and generator kept up with all that was tried"
        )?,
        None => {}
    }
    Ok(())
}

/// The width of the longest bar.
const BAR: usize = 40;

/// The 99th percentile over the load, each the median of its trials.
fn curve(out: &mut String, grow: Grow, trials: &[Trial]) -> std::fmt::Result {
    let mut points: Vec<(f64, Vec<u64>)> = Vec::new();
    let mut sorted: Vec<&Trial> = trials.iter().collect();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    for trial in sorted {
        let p99 = trial.p99_ns;
        match points.last_mut() {
            Some((load, p99s)) if *load == trial.load => p99s.extend(p99),
            _ => points.push((trial.load, p99.into_iter().collect())),
        }
    }
    let medians: Vec<(f64, u64)> = points
        .into_iter()
        .filter_map(|(load, mut p99s)| {
            p99s.sort_unstable();
            Some((load, *p99s.get(p99s.len() / 2)?))
        })
        .collect();
    let logarithm = |ns: u64| (ns.max(1) as f64).log10();
    let least = medians
        .iter()
        .map(|(_, ns)| logarithm(*ns))
        .fold(f64::MAX, f64::min);
    let most = medians
        .iter()
        .map(|(_, ns)| logarithm(*ns))
        .fold(0.0, f64::max);
    writeln!(out, "\np99 over {} (bars are logarithmic)", grow.name())?;
    for (at, p99) in medians {
        let share = (logarithm(p99) - least) / (most - least).max(0.1);
        let bar = "█".repeat(1 + (share * (BAR - 1) as f64).round() as usize);
        let text = duration::show_nanos(p99 as f64);
        writeln!(out, "{:>14}{text:>10}  {bar}", load(grow, at))?;
    }
    Ok(())
}
