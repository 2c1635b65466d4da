//! What a scenario found: a row for each point.

use plan::unit::{Rate, duration, share};
use record::average::median;
use record::run::Kind;
use record::sweep::{Measurement, MeasurementState, Short, Sweep};

use crate::page::{Page, WIDTH, clean, counted, cut, cut_inside, grouped};
use crate::style::Style;
use crate::summary::ink;

/// The widest column of swept values.
const CELL: usize = 24;
/// As narrow as they get.
const NARROW: usize = 5;
const COLUMN: usize = 10;
/// What figures and verdict take.
const FIGURES: usize = 3 * COLUMN + 8 + 20;

/// A scenario's results: each point with its values and figures, what was left out, what kept its
/// objective.
pub fn sweep(sweep: &Sweep, style: Style) -> String {
    let mut page = Page::new(style);
    verdict(&mut page, sweep, style);
    let all = counted(
        sweep.measurements.len() as u64,
        "measurement",
        "measurements",
    );
    page.row(
        "scenario",
        &format!("{}: {all}, {}", clean(&sweep.name), so_far(sweep)),
    );
    page.gap();
    table(&mut page, sweep);
    page.gap();
    if sweep.repeat > 1 {
        page.sentence(0, "Medians of the repetitions; the worst verdict of them.");
    }
    let mut phases = sweep.measurements.iter().flat_map(|it| &it.phases);
    if phases.any(|it| it.of == "delay") {
        page.sentence(
            0,
            "Of subscriptions and PubSub: values that came a second, and their delays.",
        );
    }
    for (place, it) in sweep.measurements.iter().enumerate() {
        if let (MeasurementState::Failed, Some(why)) = (it.state, &it.why) {
            let which = format!(
                "measurement {} ({}) failed: {why}",
                place + 1,
                named(sweep, it)
            );
            page.sentence(0, &which);
        }
        if let Some(condition) = &it.aborted {
            let which = format!("measurement {} ({})", place + 1, named(sweep, it));
            page.sentence(0, &format!("{which} was ended early: {condition}."));
        }
        if let Some(condition) = &it.stopped {
            page.sentence(
                0,
                &format!("The sweep ended at {}: {condition}.", named(sweep, it)),
            );
        }
    }
    objective(&mut page, sweep);
    page.finish()
}

/// What became of how many measurements.
pub(crate) fn so_far(sweep: &Sweep) -> String {
    let state = |state: MeasurementState| {
        sweep
            .measurements
            .iter()
            .filter(|it| it.state == state)
            .count() as u64
    };
    let mut told = vec![format!("{} measured", state(MeasurementState::Done))];
    for (what, number) in [
        ("failed", state(MeasurementState::Failed)),
        ("left out", state(MeasurementState::LeftOut)),
        ("interrupted", state(MeasurementState::Interrupted)),
        ("to be measured", state(MeasurementState::Planned)),
    ] {
        if number > 0 {
            told.push(format!("{number} {what}"));
        }
    }
    told.join(", ")
}

/// The worst verdict of all measurements, and how many have which.
fn verdict(page: &mut Page, sweep: &Sweep, style: Style) {
    let of = |it: &Measurement| match it.state {
        MeasurementState::Failed => Some(Kind::Failed),
        _ => it.verdict,
    };
    let mut verdicts: Vec<Kind> = sweep.measurements.iter().filter_map(of).collect();
    verdicts.sort();
    let Some(&worst) = verdicts.last() else {
        return;
    };
    page.line(&style.ink(ink(worst), worst));
    if verdicts.len() > 1 {
        let all = counted(verdicts.len() as u64, "measurement", "measurements");
        let groups = verdicts.chunk_by(|a, b| a == b).rev();
        let groups: Vec<String> = groups
            .filter_map(|group| Some(format!("{} {}", group.len(), group.first()?)))
            .collect();
        let of = match groups.len() {
            1 => format!("all {all}"),
            _ => format!("the worst of {all}: {}", groups.join(", ")),
        };
        page.sentence(2, &of);
    }
    page.gap();
}

/// `batch 100, sessions 2`, or the point's number.
pub fn named(sweep: &Sweep, it: &Measurement) -> String {
    let values = sweep.axes.iter().zip(&it.values);
    let values: Vec<String> = values
        .map(|(axis, value)| format!("{} {}", clean(&axis.name), clean(value)))
        .collect();
    match values.is_empty() {
        true => format!("point {}", it.point + 1),
        false => values.join(", "),
    }
}

/// The measurements of one point.
fn of_point(sweep: &Sweep, point: usize) -> Vec<&Measurement> {
    sweep
        .measurements
        .iter()
        .filter(|it| it.point == point)
        .collect()
}

fn points(sweep: &Sweep) -> usize {
    sweep
        .measurements
        .iter()
        .map(|it| it.point + 1)
        .max()
        .unwrap_or(0)
}

fn table(page: &mut Page, sweep: &Sweep) {
    let many = sweep.measurements.iter().any(|it| it.phases.len() > 1);
    let mut heads: Vec<String> = vec!["point".to_owned()];
    heads.extend(sweep.axes.iter().map(|axis| clean(&axis.name)));
    if many {
        heads.push("phase".to_owned());
    }
    let mut rows: Vec<(Vec<String>, String, String)> = Vec::new();
    for point in 0..points(sweep) {
        let all = of_point(sweep, point);
        let Some(first) = all.first() else { continue };
        let done: Vec<&&Measurement> = all.iter().filter(|it| !it.phases.is_empty()).collect();
        let phases = done.iter().map(|it| it.phases.len()).max().unwrap_or(0);
        let label = |phase: Option<&str>| {
            let mut cells = vec![(point + 1).to_string()];
            cells.extend(first.values.iter().map(|it| clean(it)));
            if many {
                cells.push(clean(phase.unwrap_or("")));
            }
            cells
        };
        if phases == 0 {
            let word = match first.state {
                MeasurementState::LeftOut => "left out",
                MeasurementState::Failed => "failed",
                MeasurementState::Interrupted => "interrupted",
                MeasurementState::Planned | MeasurementState::Done => "to be measured",
            };
            rows.push((label(None), word.to_owned(), String::new()));
            continue;
        }
        for n in 0..phases {
            let shorts: Vec<&Short> = done.iter().filter_map(|it| it.phases.get(n)).collect();
            let name = shorts.first().map(|it| it.name.as_str());
            let last = n + 1 == phases;
            // What was lost stands with its phase, the rest with the last one of the point.
            let mut notes = Vec::from_iter(lost(&shorts));
            if last {
                notes.extend(marks(&all));
            }
            rows.push((label(name), figures(&shorts), notes.join(", ")));
        }
    }
    let mut widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(n, head)| {
            let cells = rows.iter().filter_map(|(cells, ..)| cells.get(n));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            widest.max(head.chars().count()).min(CELL)
        })
        .collect();
    // Figures and verdict come first; what people chose themselves is cut where there is no room.
    while widths.iter().map(|wide| wide + 2).sum::<usize>() > WIDTH - FIGURES {
        match widths.iter_mut().max().filter(|wide| **wide > NARROW) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    let line = |cells: &[String], rest: &str| {
        let mut line = String::new();
        for (cell, wide) in cells.iter().zip(&widths) {
            line.push_str(&format!("{:>wide$}  ", cut_inside(cell, *wide)));
        }
        let room = WIDTH.saturating_sub(rest.chars().count());
        cut(&line, room) + rest
    };
    let marked = |page: &mut Page, line: &str, marks: &str| {
        let wide = |text: &str| text.chars().count();
        if marks.is_empty() {
            page.line(line);
        } else if wide(line) + 2 + wide(marks) <= WIDTH {
            page.line(&format!("{line}, {marks}"));
        } else {
            // What was varied is not cut for them: they stand below.
            page.line(line);
            page.line(&format!("{marks:>WIDTH$}"));
        }
    };
    let head = format!(
        "{:>COLUMN$}{:>COLUMN$}{:>COLUMN$}{:>8}  verdict",
        "rate", "p50", "p99", "CPU"
    );
    page.line(&line(&heads, &head));
    for (cells, figures, marks) in &rows {
        marked(page, &line(cells, figures), marks);
    }
}

/// The figures of a phase over its repetitions.
fn figures(shorts: &[&Short]) -> String {
    let time = |of: fn(&Short) -> Option<u64>| {
        let values = shorts.iter().filter_map(|it| of(it)).map(|ns| ns as f64);
        median(values).map_or("-".to_owned(), duration::show_nanos)
    };
    let rate = median(shorts.iter().filter_map(|it| it.rate_per_s));
    let cpu = median(shorts.iter().filter_map(|it| it.server_cpu_cores));
    let verdict = shorts
        .iter()
        .map(|it| it.verdict)
        .max()
        .unwrap_or(Kind::Failed);
    format!(
        "{:>COLUMN$}{:>COLUMN$}{:>COLUMN$}{:>8}  {}",
        rate.map_or("-".to_owned(), Rate::show),
        time(|it| it.p50_ns),
        time(|it| it.p99_ns),
        cpu.map_or("-".to_owned(), share::show_cores),
        verdict.name()
    )
}

/// What a phase lost in all its repetitions.
fn lost(shorts: &[&Short]) -> Option<String> {
    let lost: u64 = shorts.iter().filter_map(|it| it.lost).sum();
    (lost > 0).then(|| format!("{} lost", grouped(lost)))
}

fn marks(all: &[&Measurement]) -> Vec<String> {
    let mut marks = Vec::new();
    let missed = |of: fn(&Measurement) -> Option<bool>| all.iter().any(|it| of(it) == Some(false));
    if missed(|it| it.expected.filter(|_| it.aborted.is_none())) {
        marks.push("expect missed".to_owned());
    }
    if missed(|it| it.slo) {
        marks.push("slo missed".to_owned());
    }
    if all.iter().any(|it| it.aborted.is_some()) {
        marks.push("aborted".to_owned());
    }
    if all.iter().any(|it| it.stopped.is_some()) {
        marks.push("end".to_owned());
    }
    marks
}

/// Which points kept the objective, if there was one.
fn objective(page: &mut Page, sweep: &Sweep) {
    let judged: Vec<Vec<&Measurement>> = (0..points(sweep))
        .map(|point| of_point(sweep, point))
        .filter(|all| all.iter().any(|it| it.slo.is_some()))
        .collect();
    if judged.is_empty() {
        return;
    }
    let kept = |all: &&Vec<&Measurement>| all.iter().all(|it| it.slo != Some(false));
    let good: Vec<&Vec<&Measurement>> = judged.iter().filter(kept).collect();
    let last = good.last().and_then(|all| all.first());
    let told = match last {
        Some(it) => format!(
            "{} of {} kept the objective; the last of them: {}",
            good.len(),
            counted(judged.len() as u64, "point", "points"),
            named(sweep, it)
        ),
        None => "no point kept the objective".to_owned(),
    };
    page.row("slo", &told);
}
