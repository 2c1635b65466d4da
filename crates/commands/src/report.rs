//! `uaperf report`: results as one page to look at.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use judge::compare::Metric;

use crate::cost;
use crate::failure::Failure;
use crate::global::Global;
use crate::lost;
use crate::results::{self, ResultFile};
use crate::{screen, sheet, written};

/// Draw results: one page with charts and tables that opens offline
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Result files, or folders of them; or files of `security`, `attack` and `cost`
    #[arg(required = true, value_name = "FILE|DIR")]
    results: Vec<PathBuf>,
    /// The page; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Draw curves over a figure that was measured, such as values, rate or cpu, in place of what was varied
    #[arg(long, value_name = "METRIC")]
    x: Option<Metric>,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
}

const EXAMPLES: &str = "\
Examples:
  uaperf report results/20260301T093000Z-read.json --open
  uaperf report results/20260301T093000Z-batch -o batch.html
  uaperf report results/20260301T093000Z-batch --x values
  uaperf report before.json after.json
  uaperf report security.json                        the sheet of `uaperf security`
  uaperf report attack.json                          the sheet of `uaperf attack`
  uaperf report costs.json                           the table of `uaperf cost`, or several of them";

/// Carries out `uaperf report`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    written::check([("--output", &Some(args.output.clone()))], &args.results)?;
    let kept = match args.results.as_slice() {
        [file] => ResultFile::open(file).and_then(|it| sheet::kept_page(&it)),
        _ => None,
    };
    let kept = kept.or_else(|| cost::kept_page(&args.results));
    let page = match kept {
        Some(page) => page?,
        None => report::html(&results::read(&args.results)?, args.x),
    };
    written::put("--output", &args.output, page.as_bytes());
    if !written::is_output(&args.output) && !lost::is_any() {
        writeln!(
            screen::out(),
            "report      {} ({} KB)",
            args.output.display(),
            page.len().div_ceil(1000)
        )?;
        if args.open {
            open(&args.output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a file in whatever the user's desktop shows it with.
pub fn open(file: &Path) -> Result<(), Failure> {
    let (program, before) = platform::process::OPENER;
    let started = Command::new(program)
        .args(before)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::new(format!("cannot start {program}: {error}"))
            .hint(format!("open {} in a browser", file.display()))),
    }
}
