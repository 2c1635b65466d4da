//! `uaperf compare`: is the new one better or worse, the same, or can that not be told?

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::Exit;
use judge::compare::{FAILURES, LEAST_MARGIN, Metric, Outcome, Row, Rules, unbelievable};
use plan::unit::Percent;
use report::Compared;
use report::compared::{At, Options};

use crate::failure::Failure;
use crate::global::Global;
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
    /// What it is now
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Exit code 3 when a metric is worse by more than this
    #[arg(long, value_name = "PERCENT")]
    max_regression: Option<Percent>,
    /// Exit code 3 also when a metric is worse, when one cannot be told, or when one differs at all
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Call one run each better or worse by the samples inside them, though another run may differ by more
    #[arg(long)]
    single_run: bool,
    /// What to compare, such as p99, rate, service.p50, cpu-per-request [default: times, CPU for each request, the rate of closed loops]
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<Metric>,
    /// Differences of less are noise
    #[arg(long, value_name = "PERCENT", default_value_t = Percent::from_fraction(LEAST_MARGIN))]
    margin: Percent,
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
    #[arg(long)]
    json: bool,
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

Exit codes: 3 when new fails more than base or a side broke, and when a metric is worse by more than
--max-regression or --fail-on says so; 4 when most runs of a side were not steady or limited by the
generator.";

/// Carries out `uaperf compare`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    let inputs = [&[args.base.clone(), args.new.clone()], args.same.as_slice()].concat();
    written::check([("--report", &args.report)], &inputs)?;
    if !(args.margin.fraction() >= 0.0 && args.margin.fraction() < 1.0) {
        return Err(
            Failure::usage(format!("--margin {}: want less than 100%", args.margin)).into(),
        );
    }
    let base = results::read(std::slice::from_ref(&args.base))?;
    let new = results::read(std::slice::from_ref(&args.new))?;
    let same = results::read(&args.same)?;
    let history = match &args.history {
        Some(folder) => earlier(folder, &[&base, &new])?,
        None => Vec::new(),
    };
    let options = Options {
        metrics: args.metric.clone(),
        rules: Rules {
            margin: args.margin.fraction(),
            single_run: args.single_run,
        },
    };
    let names = [&args.base, &args.new].map(|path| path.display().to_string());
    let [x, y] = &names;
    let compared = report::compared((x, &base), (y, &new), &same, &history, &options);
    if let Some(file) = &args.report {
        written::put(
            "--report",
            file,
            report::compared_html(&compared).as_bytes(),
        );
    }
    let failed = args.failed(&compared);
    let exit = args.exit(&compared, &failed, &[&base, &new]);
    let mut out = Out::beside_file(args.report.as_deref().is_some_and(written::is_output));
    if args.json {
        let code = exit.map_or(Exit::Nothing.code(), Exit::code);
        screen::json(&mut out, &report::Comparison::new(&compared, &failed, code))?;
    } else {
        out.write_all(report::compared::screen(&compared, out.style()).as_bytes())?;
        args.write_rest(&mut out, &compared)?;
    }
    let Some(exit) = exit else {
        let what = "nothing to compare: the two sides have no point, phase and metric in common";
        return Err(Failure::new(what).into());
    };
    // Where something broke, or nothing can be believed, the rest is not the reason.
    if exit == Exit::Threshold && compared.failures().next().is_none() && !args.json {
        for line in &failed {
            writeln!(out, "FAILED      {line}")?;
        }
    }
    Ok(ExitCode::from(exit.code()))
}

impl Args {
    /// What it ends with; none if nothing was to be compared.
    fn exit(
        &self,
        compared: &Compared,
        failed: &[String],
        sides: &[&[report::Named]],
    ) -> Option<Exit> {
        // Failures come before the question whether figures can be believed.
        if compared.failures().next().is_some() {
            return Some(Exit::Threshold);
        }
        // Success and completeness alone are no comparison, unless they were asked for.
        let wanted =
            |row: &Row| !FAILURES.contains(&row.metric) || self.metric.contains(&row.metric);
        if !compared.points.iter().any(|at| at.rows.iter().any(wanted)) {
            return None;
        }
        let bad = |side: &&[report::Named]| {
            let runs: Vec<_> = side.iter().map(|it| &it.run).collect();
            unbelievable(&runs)
        };
        Some(match (sides.iter().any(bad), failed.is_empty()) {
            (true, _) => Exit::Verdict,
            (false, true) => Exit::Good,
            (false, false) => Exit::Threshold,
        })
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
        if let Some(file) = self.report.as_ref().filter(|_| !lost::is_any()) {
            writeln!(out, "\nreport      {}", file.display())?;
        }
        Ok(())
    }

    /// What was not to be, in a line each.
    fn failed(&self, compared: &Compared) -> Vec<String> {
        let at = |at: &At, row: &Row| match at.label.is_empty() {
            true => row.metric.to_string(),
            false => format!("{} ({})", row.metric, at.label),
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
fn earlier(
    folder: &Path,
    compared: &[&[report::Named]],
) -> Result<Vec<(String, Vec<report::Named>)>, Failure> {
    let occasions = results::occasions(folder)?;
    let other = |(_, runs): &(String, Vec<report::Named>)| {
        !compared
            .iter()
            .any(|side| report::compared::all_among(runs, side))
    };
    Ok(occasions.into_iter().filter(other).collect())
}
