//! A comparison as Markdown, for a comment in a pull request.

use std::fmt::Write;

use judge::compare::{Outcome, Row};

use crate::compared::{At, Compared, explained, remark};
use crate::metric::{changed_by, kind};
use crate::page::clean;

/// What was compared and what came of it, in Markdown: the outcome, a table for each point, and what there is to mind.
pub fn markdown(compared: &Compared) -> String {
    let mut out = String::new();
    // Writing into a String does not fail.
    let _ = write(&mut out, compared);
    out
}

fn write(out: &mut String, compared: &Compared) -> std::fmt::Result {
    let (outcome, headline) = compared.headline();
    writeln!(out, "### {}: {headline}\n", outcome.name().to_uppercase())?;
    let (base, new) = (escaped(&compared.sides.0), escaped(&compared.sides.1));
    writeln!(out, "base: {base}, new: {new}")?;
    for at in &compared.points {
        point(out, at)?;
    }
    let failures = compared
        .failures()
        .map(|(label, failure)| match label.is_empty() {
            true => format!("**failure:** {}", escaped(&failure.told)),
            false => format!(
                "**failure:** {}: {}",
                escaped(label),
                escaped(&failure.told)
            ),
        });
    let single = compared.single().map(str::to_owned);
    let doubts = compared.doubts.iter().map(|it| escaped(it));
    let alone = compared.alone.iter();
    let alone = alone.map(|it| format!("only on one side: {}", escaped(it)));
    let notes: Vec<String> = failures.chain(single).chain(doubts).chain(alone).collect();
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        writeln!(out, "- {note}")?;
    }
    writeln!(out, "\n<sub>{}</sub>", escaped(&explained(compared)))
}

fn point(out: &mut String, at: &At) -> std::fmt::Result {
    let runs = at.of_runs();
    match at.label.is_empty() {
        true => writeln!(out, "\n{runs}\n")?,
        false => writeln!(out, "\n**{}**, {runs}\n", escaped(&at.label))?,
    }
    writeln!(out, "| | base | new | change | 95 % interval | verdict |")?;
    writeln!(out, "|---|--:|--:|--:|--:|---|")?;
    at.rows.iter().try_for_each(|row| line(out, row))
}

fn line(out: &mut String, row: &Row) -> std::fmt::Result {
    let it = &row.comparison;
    let show = |value: f64| kind(row.metric).show(value);
    let none = || "n/a".to_owned();
    let change = it.ratio.map_or_else(none, changed_by);
    let interval = it.interval.map_or_else(none, |(low, high)| {
        format!("{} to {}", changed_by(low), changed_by(high))
    });
    let verdict = match (it.outcome, remark(it)) {
        (Outcome::Worse | Outcome::NotComparable, _) => format!("**{}**", it.outcome.name()),
        (_, Some(remark)) => format!("{}: {remark}", it.outcome.name()),
        (_, None) => it.outcome.name().to_owned(),
    };
    writeln!(
        out,
        "| {} | {} | {} | {change} | {interval} | {} |",
        row.metric,
        show(it.means.0),
        show(it.means.1),
        verdict,
    )
}

/// Text that comes from files, so that it stays text: no cell ends in it, no tag begins, and nobody is called.
pub fn escaped(it: &str) -> String {
    let mut safe = String::with_capacity(it.len());
    for c in clean(it).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '@' => safe.push_str("&#64;"),
            '|' | '`' | '[' | ']' | '\\' | '*' | '_' => {
                safe.push('\\');
                safe.push(c);
            }
            '\n' | '\r' => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}
