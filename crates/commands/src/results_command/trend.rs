//! `uaperf results trend`: how figures went over occasions, and where they changed.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use judge::Exit;

use crate::failure::Failure;
use crate::held_against::HeldAgainst;
use crate::screen::{self, Out};
use crate::{lost, results, written};

/// See how figures went over many occasions, and where their level changed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Trend {
    /// Folder of occasions: a file, or a folder with a file for each repetition, each
    #[arg(value_name = "DIR", default_value = written::FOLDER)]
    folder: PathBuf,
    #[command(flatten)]
    held: HeldAgainst,
    /// Also write a page with charts
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Occasions are ordered by when their first run began. A change of level is held for three occasions or more; two such days
and no more are bad days. Occasions of which most runs were not steady, limited by the generator, FAILED or INCOMPLETE
are left out, and named. It draws and tells; `uaperf compare` is what fails a build.

Examples:
  uaperf results trend nightly
  uaperf results trend nightly --metric p99,cpu-per-request --report trend.html
  uaperf results trend nightly --json";

/// Carries out `uaperf results trend`.
pub fn run(args: &Trend) -> anyhow::Result<ExitCode> {
    written::check([("--report", &args.report)], &[])?;
    let options = args.held.options(false)?;
    let occasions = results::occasions(&args.folder)?;
    let trends = report::trends(&args.folder.display().to_string(), &occasions, &options);
    if trends.trends.is_empty() && trends.left_out.is_empty() {
        let what = format!("{}: nothing here has such a figure", args.folder.display());
        let hint = "each file in it, and each folder, is an occasion; see `uaperf results list`";
        return Err(Failure::new(what).hint(hint).into());
    }
    if let Some(file) = &args.report {
        written::put("--report", file, report::trends_html(&trends).as_bytes());
    }
    let mut out = Out::beside_file(args.report.as_deref().is_some_and(written::is_output));
    match args.json {
        true => screen::json(&mut out, &report::trends::Object::of(&trends))?,
        false => {
            out.write_all(report::trends::screen(&trends, out.style()).as_bytes())?;
            if let Some(file) = args.report.as_ref().filter(|_| !lost::is_any()) {
                writeln!(out, "\nreport      {}", file.display())?;
            }
        }
    }
    Ok(ExitCode::from(match trends.trends.is_empty() {
        true => Exit::Verdict,
        false => Exit::Good,
    }))
}
