//! `uaperf show`: results that were kept in files, on the screen again.

use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use record::Run;
use record::run::ReadError;
use report::Style;

use crate::cli::Global;
use crate::failure::Failure;

/// Show results: one in full, a few side by side, many as a trend
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Result files, such as results/20260301T093000Z-read.json
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// One row for each phase and metric into this file instead; - for standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  uaperf show results/20260301T093000Z-read.json
  uaperf show before.json after.json
  uaperf show results/*-read.json
  uaperf show results/*.json --csv all.csv";

/// Carries out `uaperf show`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    let runs = args
        .files
        .iter()
        .map(|file| Ok((file.display().to_string(), read(file)?)))
        .collect::<Result<Vec<(String, Run)>, Failure>>()?;
    let out = std::io::stdout();
    if let Some(file) = args.csv {
        let mut csv = report::csv::HEAD.to_owned();
        for (_, run) in &runs {
            report::csv::rows(&mut csv, run);
        }
        if file == Path::new("-") {
            out.lock().write_all(csv.as_bytes())?;
        } else {
            std::fs::write(&file, csv)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let style = style(&out);
    out.lock()
        .write_all(report::show(&runs, style).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Colours for a terminal that wants them.
pub fn style(stream: &impl IsTerminal) -> Style {
    Style::detect(stream, |name| std::env::var_os(name))
}

fn read(file: &Path) -> Result<Run, Failure> {
    Run::read(file).map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error {
            ReadError::File { .. } if file.is_dir() => {
                failure.hint(format!("uaperf show {}", file.join("*.json").display()))
            }
            ReadError::File { .. } => {
                failure.hint("runs are kept in results/ unless --out names another file")
            }
            ReadError::Json { .. } => {
                failure.hint("the file was changed or cut off; results are only ever written whole")
            }
            _ => failure,
        }
    })
}
