//! `uaperf show`: results that were kept in files, on the screen again.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::global::Global;
use crate::results::{self, Files, ResultFile};
use crate::{percentiles, printed, publishing, screen, sheet, written};

/// Show results: one in full, a few side by side, many as a trend
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Result files, such as results/20260301T093000Z-read.json, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    also: Files,
    /// A table of these percentiles of every time that was measured instead, such as p50,p95,p99.99
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = percentiles::percentile)]
    percentiles: Vec<f64>,
    /// Write a table of percentiles of each phase and time into this folder, for HdrHistogram's plotters (.hgrm)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["percentiles", "json"])]
    hgrm: Option<PathBuf>,
    /// Print results as JSON instead of a screen for people: an object, or a list of several
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Nothing is shown when a file is written instead.

Examples:
  uaperf show results/20260301T093000Z-read.json
  uaperf show before.json after.json
  uaperf show results/*-read.json
  uaperf show results --csv all.csv
  uaperf show results --json | jq '.[].phases[0].total.histograms.response.p99_ns'
  uaperf show results/20260301T093000Z-read.json --junit verdict.xml
  uaperf show before.json after.json --percentiles p50,p95,p99,p99.99
  uaperf show before.json --hgrm tables
  uaperf show heard.json                             kept by `uaperf listen --out heard.json`
  uaperf show security.json                          kept by `uaperf security --out security.json`
  uaperf show attack.json                            kept by `uaperf attack --out attack.json`";

/// Carries out `uaperf show`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    written::check(args.also.named(), &args.files)?;
    let kept: Vec<_> = args.files.iter().map(|it| kept(it)).collect();
    if kept.iter().any(Option::is_some) {
        return show_kept(&args, kept);
    }
    let runs = results::read(&args.files)?;
    if let Some(folder) = &args.hgrm {
        percentiles::write_tables(folder, &runs)?;
        args.also.write(&runs, &[]);
        return Ok(ExitCode::SUCCESS);
    }
    if !args.percentiles.is_empty() {
        let out = screen::Out::beside_file(args.also.take_output());
        args.also.write(&runs, &[]);
        percentiles::print(out, &runs, &args.percentiles, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        if args.also.take_output() {
            let what = "--json: a file goes to standard output already (-)";
            return Err(Failure::usage(what).into());
        }
        args.also.write(&runs, &[]);
        printed::results(&mut screen::out(), &runs)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.also.is_any() {
        args.also.write(&runs, &[]);
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = screen::out();
    out.write_all(::report::show(&runs, out.style()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The screen of a result that is not a run.
fn kept(file: &Path) -> Option<Result<String, Failure>> {
    let file = ResultFile::open(file)?;
    publishing::kept(&file).or_else(|| sheet::kept_screen(&file, screen::out().style()))
}

/// What `publish`, `listen`, `security` and `attack` kept, one below the other.
fn show_kept(args: &Args, kept: Vec<Option<Result<String, Failure>>>) -> anyhow::Result<ExitCode> {
    if args.json {
        let what =
            "--json: results of `publish`, `listen`, `security` and `attack` are JSON as they are";
        return Err(Failure::usage(what).hint("cat FILE").into());
    }
    if args.also.is_any() || args.hgrm.is_some() || !args.percentiles.is_empty() {
        let what = "results of `publish`, `listen`, `security` and `attack` have a screen only";
        return Err(Failure::usage(what).hint("uaperf show FILE").into());
    }
    let several = kept.len() > 1;
    let mut out = screen::out();
    for (file, it) in std::iter::zip(&args.files, kept) {
        let shown = file.display();
        let Some(text) = it else {
            let what = format!(
                "{shown}: is no result of `publish`, `listen`, `security` or `attack`, as others are"
            );
            return Err(Failure::usage(what).hint("show it by itself").into());
        };
        let text = text?;
        if several {
            writeln!(out, "{shown}")?;
        }
        writeln!(out, "{text}")?;
    }
    Ok(ExitCode::SUCCESS)
}
