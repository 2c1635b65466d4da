//! `uaperf model noise`: by how much the same runs differ, which no model can do better than.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use model::checking::noise;

use super::input;
use crate::failure::Failure;
use crate::screen;

/// Say by how much the same runs differ
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Result files, folders of them, and tables (.csv)
    #[arg(required = true, value_name = "FILE|DIR")]
    data: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let found = noise(&input::rows(&args.data)?).ok_or_else(|| {
        Failure::new("no configuration was measured twice")
            .hint("repeat runs: `repeat = 3` in a scenario")
    })?;
    if args.json {
        let it = serde_json::json!({"cv": found.cv, "runs": found.runs});
        screen::json(&mut screen::out(), &it)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        screen::out(),
        "the same runs differ by {:.1} % (coefficient of variation of CPU, {} runs)",
        found.cv * 100.0,
        found.runs
    )?;
    Ok(ExitCode::SUCCESS)
}
