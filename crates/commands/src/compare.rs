//! `uaperf compare`: is the new one better or worse, the same, or can that not be told?

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::Exit;
use judge::compare::{FAILURES, Outcome, Row, unbelievable};
use plan::unit::Percent;
use report::compared::At;
use report::{Compared, Named};

use crate::failure::Failure;
use crate::global::Global;
use crate::held_against::HeldAgainst;
use crate::lost;
use crate::screen::{self, Out};
use crate::{results, written};

/// Compare results: files, or folders with a file for each repetition
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What it was: a result file, or a folder of repetitions
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// What it is now; several are compared with BASE, one after the other
    #[arg(value_name = "NEW", required = true)]
    new: Vec<PathBuf>,
    /// Exit code 3 when a metric is worse by more than this
    #[arg(long, value_name = "PERCENT")]
    max_regression: Option<Percent>,
    /// Exit code 3 also when a metric is worse, when one cannot be told, or when one differs at all
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Call one run each better or worse by the samples inside them, though another run may differ by more
    #[arg(long)]
    single_run: bool,
    #[command(flatten)]
    held: HeldAgainst,
    /// Runs of one and the same thing, measured apart: twice what they vary by is noise too
    #[arg(long, value_name = "FILE|DIR")]
    same: Vec<PathBuf>,
    /// Folder of earlier occasions (a file or a folder each): how metrics went until now
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    /// Also write a page with charts
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// JSON for machines instead of a screen for people
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// How it is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// A form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A screen for people
    Text,
    /// An object; a list of them when several are compared with BASE
    Json,
    /// Tables for a comment in a pull request
    Markdown,
}

/// What a comparison may not come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// A metric is worse, by more than --margin
    Worse,
    /// A metric cannot be told
    CannotTell,
    /// A metric is better or worse
    AnyDifference,
}

impl FailOn {
    fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::CannotTell => "cannot-tell",
            Self::AnyDifference => "any-difference",
        }
    }

    fn hits(self, outcome: Outcome) -> bool {
        match self {
            Self::Worse => outcome == Outcome::Worse,
            Self::CannotTell => matches!(outcome, Outcome::CannotTell { .. }),
            Self::AnyDifference => matches!(outcome, Outcome::Worse | Outcome::Better),
        }
    }
}

const EXAMPLES: &str = "\
The unit is the run: five on each side, interleaved, tell a difference of a few percent; three on
each side cannot reach p 0.05. Runs that went at the same time as one of the other side are compared
in pairs: what a shared host does hits both. One run each has intervals, and cannot tell.
Failures come first: success and completeness are compared in any case, and a side with a run that
is FAILED or INCOMPLETE is worse, or the two are not comparable.

Examples:
  uaperf compare before.json after.json
  uaperf compare results/main results/branch --max-regression 5%
  uaperf compare results/main results/branch --max-regression 5% --fail-on cannot-tell
  uaperf compare results/main results/branch --history results --report compared.html
  uaperf compare before.json after.json --json
  uaperf compare results/main results/branch --format markdown > comment.md
  uaperf compare results/v1 results/v2 results/v3

Exit codes: 3 when new fails more than base or a side broke, and when a metric is worse by more than
--max-regression or --fail-on says so; 4 when most runs of a side were not steady or limited by the
generator.";

/// Carries out `uaperf compare`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    let sides = [std::slice::from_ref(&args.base), &args.new, &args.same].concat();
    written::check([("--report", &args.report)], &sides)?;
    let options = args.held.options(args.single_run)?;
    let read = |path: &PathBuf| results::read(std::slice::from_ref(path));
    let base = read(&args.base)?;
    let same = results::read(&args.same)?;
    let news = args.new.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let history = match &args.history {
        Some(folder) => {
            let known = std::iter::once(&base).chain(&news);
            let known: Vec<&[Named]> = known.map(Vec::as_slice).collect();
            earlier(folder, &known)?
        }
        None => Vec::new(),
    };
    let left = args.base.display().to_string();
    let compare = |(path, new): (&PathBuf, &Vec<Named>)| {
        let right = path.display().to_string();
        let compared = report::compared((&left, &base), (&right, new), &same, &history, &options);
        let failed = args.failed(&compared);
        let exit = args.exit(&compared, &failed, &[&base, new]);
        Judged {
            compared,
            failed,
            exit,
        }
    };
    let all: Vec<Judged> = args.new.iter().zip(&news).map(compare).collect();
    if let Some(file) = &args.report {
        let each: Vec<&Compared> = all.iter().map(|it| &it.compared).collect();
        written::put("--report", file, report::compared_html(&each).as_bytes());
    }
    args.print(&all)?;
    if all.iter().any(|it| it.exit.is_none()) {
        let what = "nothing to compare: the two sides have no point, phase and metric in common";
        return Err(Failure::new(what).into());
    }
    Ok(ExitCode::from(worst(&all)))
}

/// What all of them come to: one that is worse for certain comes before one that cannot be believed.
fn worst(all: &[Judged]) -> Exit {
    let has = |wanted: Exit| all.iter().any(|it| it.exit == Some(wanted));
    match (has(Exit::Threshold), has(Exit::Verdict)) {
        (true, _) => Exit::Threshold,
        (false, true) => Exit::Verdict,
        (false, false) => Exit::Good,
    }
}

/// A comparison with one of the new sides, and what it comes to.
struct Judged {
    compared: Compared,
    /// Conditions of the command line that do not hold.
    failed: Vec<String>,
    /// None if there was nothing to compare.
    exit: Option<Exit>,
}

impl Judged {
    /// The conditions, where they are the reason of the exit code: where something broke, or nothing can be believed, they
    /// are not.
    fn reasons(&self) -> &[String] {
        let threshold = self.exit == Some(Exit::Threshold);
        match threshold && self.compared.failures().next().is_none() {
            true => &self.failed,
            false => &[],
        }
    }

    fn object(&self) -> report::Comparison<'_> {
        let code = self.exit.map_or(Exit::Nothing.code(), Exit::code);
        report::Comparison::new(&self.compared, &self.failed, code)
    }
}

impl Args {
    /// What it ends with; none if nothing was to be compared.
    fn exit(&self, compared: &Compared, failed: &[String], sides: &[&[Named]]) -> Option<Exit> {
        // Failures come before the question whether figures can be believed.
        if compared.failures().next().is_some() {
            return Some(Exit::Threshold);
        }
        // Success and completeness alone are no comparison, unless they were asked for.
        let wanted =
            |row: &Row| !FAILURES.contains(&row.metric) || self.held.metric.contains(&row.metric);
        if !compared.points.iter().any(|at| at.rows.iter().any(wanted)) {
            return None;
        }
        let bad = |side: &&[Named]| {
            let runs: Vec<_> = side.iter().map(|it| &it.run).collect();
            unbelievable(&runs)
        };
        Some(match (sides.iter().any(bad), failed.is_empty()) {
            (true, _) => Exit::Verdict,
            (false, true) => Exit::Good,
            (false, false) => Exit::Threshold,
        })
    }

    fn print(&self, all: &[Judged]) -> anyhow::Result<()> {
        let format = if self.json { Format::Json } else { self.format };
        let mut out = Out::beside_file(self.report.as_deref().is_some_and(written::is_output));
        match (format, all) {
            (Format::Json, [one]) => screen::json(&mut out, &one.object())?,
            (Format::Json, several) => {
                let objects: Vec<_> = several.iter().map(Judged::object).collect();
                screen::json(&mut out, &objects)?;
            }
            (Format::Markdown, all) => {
                for it in all {
                    out.write_all(report::markdown(&it.compared).as_bytes())?;
                    for reason in it.reasons() {
                        writeln!(out, "\n**FAILED:** {}", report::escaped(reason))?;
                    }
                }
            }
            (Format::Text, all) => {
                for (n, it) in all.iter().enumerate() {
                    out.write_all(if n > 0 { b"\n" } else { b"" })?;
                    let text = report::compared::screen(&it.compared, out.style());
                    out.write_all(text.as_bytes())?;
                    self.write_rest(&mut out, &it.compared)?;
                    for reason in it.reasons() {
                        writeln!(out, "FAILED      {reason}")?;
                    }
                }
                if let Some(file) = self.report.as_ref().filter(|_| !lost::is_any()) {
                    writeln!(out, "\nreport      {}", file.display())?;
                }
            }
        }
        Ok(())
    }

    /// What stands below the screen.
    fn write_rest(&self, out: &mut Out, compared: &Compared) -> anyhow::Result<()> {
        let history = self.history.as_ref();
        if let Some(folder) = history.filter(|_| compared.history.is_empty()) {
            let folder = folder.display();
            writeln!(
                out,
                "history     {folder}: no earlier occasion of what is compared"
            )?;
        }
        Ok(())
    }

    /// What was not to be, in a line each.
    fn failed(&self, compared: &Compared) -> Vec<String> {
        let at = |at: &At, row: &Row| match at.label.is_empty() {
            true => row.metric.to_string(),
            false => format!("{} ({})", row.metric, screen::plain(&at.label)),
        };
        let mut lines = Vec::new();
        if let Some(limit) = self.max_regression {
            for (point, row) in compared.failed(limit.fraction()) {
                let by = row.comparison.regression();
                let by = by.map_or_else(String::new, |by| format!(" by {:.1} %", by * 100.0));
                lines.push(format!(
                    "{} is worse{by}: --max-regression {limit}",
                    at(point, row)
                ));
            }
        }
        let rows = || {
            let each = compared.points.iter();
            each.flat_map(|point| point.rows.iter().map(move |row| (point, row)))
        };
        for what in &self.fail_on {
            let hit = rows().filter(|(_, row)| what.hits(row.comparison.outcome));
            lines.extend(hit.map(|(point, row)| {
                format!(
                    "{}: {}: --fail-on {}",
                    at(point, row),
                    row.comparison.outcome.name(),
                    what.name()
                )
            }));
        }
        lines
    }
}

/// Occasions other than those that are compared.
fn earlier(folder: &Path, compared: &[&[Named]]) -> Result<Vec<(String, Vec<Named>)>, Failure> {
    let occasions = results::occasions(folder)?;
    let other = |(_, runs): &(String, Vec<Named>)| {
        !compared
            .iter()
            .any(|side| report::compared::all_among(runs, side))
    };
    Ok(occasions.into_iter().filter(other).collect())
}
