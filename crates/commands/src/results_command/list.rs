//! `uaperf results list`: what was measured, found again.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use judge::{Exit, Measured};
use plan::unit::Rate;
use plan::unit::duration::show_nanos;
use plan::{Figures, Measure, Stat};
use record::Run;
use serde::Serialize;

use super::wanted::Wanted;
use crate::screen::{self, counted};
use crate::written;

/// List results: when, what, of whom, how it went
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct List {
    /// Folders, with all that is in them
    #[arg(value_name = "DIR", default_value = written::FOLDER)]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
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
        let all = list.wanted.of(folder)?.into_iter();
        found.extend(all.map(|(file, run)| ListedResult::of(file, &run)));
    }
    found.sort_by(|a: &ListedResult, b| (&a.started, &a.file).cmp(&(&b.started, &b.file)));
    screen::print(&found, list.json, write_screen)?;
    Ok(ExitCode::from(match found.is_empty() {
        true => Exit::Nothing,
        false => Exit::Good,
    }))
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
    let results = counted(all.len(), "result");
    writeln!(
        out,
        "\n{results}; rate and p99 are those of the first phase"
    )
}
