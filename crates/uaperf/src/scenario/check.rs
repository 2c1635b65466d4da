//! `uaperf check`: whether a scenario can be run, or which line of it is wrong.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use plan::scenario::Given;

use super::{parameter, parse, read};
use crate::cli::Global;

/// Say whether a scenario can be run; else which line and key is wrong
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenario files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A parameter's value instead of the one in the file
    #[arg(short = 'P', value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
}

/// Carries out `uaperf check`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let given = Given {
        parameters: args.parameters,
        targets: Vec::new(),
    };
    for file in &args.files {
        let scenario = parse(&read(file)?, file, &given)?;
        writeln!(
            out,
            "{}: {}",
            file.display(),
            report::planned::in_short(&scenario)
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
