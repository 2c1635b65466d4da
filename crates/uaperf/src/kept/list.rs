//! `uaperf results list`: what was measured, found again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::{Exit, Measured};
use plan::unit::Rate;
use plan::unit::duration::show_nanos;
use plan::{Figures, Measure, Stat};
use record::Run;
use record::run::ReadError;
use serde::Serialize;

use crate::{screen, tags, written};

/// List results: when, what, of whom, how it went
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct List {
    /// Folders, with all that is in them
    #[arg(value_name = "DIR", default_value = written::FOLDER)]
    folders: Vec<PathBuf>,
    /// Only those with this tag; may be given several times
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = tags::tag)]
    tags: Vec<(String, String)>,
    /// Only those of this command: read, subscribe, run
    #[arg(long, value_name = "NAME")]
    command: Option<String>,
    /// Only those of servers whose URL has this in it
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Only those that began on this day or later, such as 2026-11-26
    #[arg(long, value_name = "DATE", value_parser = day)]
    since: Option<String>,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
The earliest first. `uaperf show FILE` shows one, `uaperf rerun FILE` measures it again.

Examples:
  uaperf results list
  uaperf results list --tag build=1.4.2 --command read
  uaperf results list results nightly --since 2026-11-01 --json";

#[derive(Debug, Serialize)]
struct ListedResult {
    file: PathBuf,
    started: String,
    command: String,
    targets: Vec<String>,
    verdict: String,
    rate_per_s: Option<f64>,
    p99_ns: Option<f64>,
    tags: std::collections::BTreeMap<String, String>,
}

/// Carries out `uaperf results list`.
pub fn run(list: &List) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    for folder in &list.folders {
        look(folder, list, &mut found).map_err(|error| {
            let what = format!("cannot read {}: {error}", folder.display());
            crate::failure::Failure::new(what)
                .hint("results are kept in results/ unless --out names another place")
        })?;
    }
    found.sort_by(|a: &ListedResult, b| (&a.started, &a.file).cmp(&(&b.started, &b.file)));
    screen::print(&found, list.json, write_screen)?;
    Ok(ExitCode::from(match found.is_empty() {
        true => Exit::Nothing,
        false => Exit::Good,
    }))
}

/// How deep folders are looked into: those of papers have those of experiments, which have results.
const DEEP: usize = 4;

fn look(folder: &Path, list: &List, found: &mut Vec<ListedResult>) -> std::io::Result<()> {
    let mut left = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = left.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if depth < DEEP {
                    left.push((path, depth + 1));
                }
                continue;
            }
            let json = path.extension().is_some_and(|ending| ending == "json");
            // What is no result, and one that was cut off, is for those who ask for it by its name.
            let run: Result<Run, ReadError> = match json {
                true => Run::read(&path),
                false => continue,
            };
            if let Ok(run) = run
                && list.wants(&run)
            {
                found.push(ListedResult::of(path, &run));
            }
        }
    }
    Ok(())
}

impl List {
    fn wants(&self, run: &Run) -> bool {
        let tagged = |(name, value): &(String, String)| run.tags.get(name) == Some(value);
        self.tags.iter().all(tagged)
            && self.command.as_ref().is_none_or(|it| *it == run.command)
            && self.target.as_ref().is_none_or(|it| run.targets.iter().any(|target| target.url.contains(it.as_str())))
            // Timestamps are ISO 8601 in UTC: their order is that of their text.
            && self.since.as_ref().is_none_or(|it| run.started.to_string() >= *it)
    }
}

impl ListedResult {
    fn of(file: PathBuf, run: &Run) -> Self {
        let phase = run.phases.first();
        let measure = match phase.is_some_and(|it| it.subscriptions.is_some()) {
            true => Measure::Delay,
            false => Measure::Response,
        };
        Self {
            file,
            started: run.started.to_string(),
            command: run.command.clone(),
            targets: run.targets.iter().map(|it| it.url.clone()).collect(),
            verdict: run.verdict.kind.name().to_owned(),
            rate_per_s: phase.and_then(record::run::Phase::rate_per_s),
            p99_ns: phase.and_then(|it| Measured(it).figure(measure, Stat::P99)),
            tags: run.tags.clone(),
        }
    }
}

/// A day, or a moment of it.
fn day(text: &str) -> Result<String, String> {
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    let read: Result<record::Timestamp, _> = whole.parse();
    read.map(|it| it.to_string())
        .map_err(|_| format!("{text:?} is no day (want 2026-11-26, or 2026-11-26T09:30:00Z)"))
}

fn write_screen(out: &mut String, all: &Vec<ListedResult>) -> std::fmt::Result {
    if all.is_empty() {
        return writeln!(out, "no results");
    }
    for it in all {
        let started = it.started.split('.').next().unwrap_or_default();
        let started = started.trim_end_matches('Z').replace('T', " ");
        let rate = it.rate_per_s.map_or_else(|| "n/a".to_owned(), Rate::show);
        let p99 = it.p99_ns.map_or_else(|| "n/a".to_owned(), show_nanos);
        writeln!(
            out,
            "{started}  {:<10} {:<17} {rate:>9} {p99:>9}  {}",
            it.command,
            it.verdict,
            it.file.display()
        )?;
        let tags = it
            .tags
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let about: Vec<String> = it.targets.iter().take(2).cloned().chain(tags).collect();
        writeln!(out, "{:21}{}", "", about.join("  "))?;
    }
    writeln!(out, "\n{} of rate and p99 of their first phase", all.len())
}
