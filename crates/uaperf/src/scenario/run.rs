//! `uaperf run`: a scenario carried out.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use plan::scenario::Given;
use report::Style;

use super::{parameter, parse, read};
use crate::cli::Global;
use crate::failure::Failure;

/// Carry out a scenario
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The scenario
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A parameter's value instead of the one in the file
    #[arg(short = 'P', value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// These servers instead of those that the scenario names or starts
    #[arg(long, value_name = "URL")]
    target: Vec<String>,
    /// Show what would be done, and how long it takes
    #[arg(long)]
    dry_run: bool,
}

/// Carries out `uaperf run`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let given = Given {
        parameters: args.parameters,
        targets: args.target,
    };
    if !args.dry_run {
        return Err(Failure::usage("scenarios are not carried out yet (want --dry-run)").into());
    }
    let scenario = parse(&read(&args.file)?, &args.file, &given)?;
    let mut out = std::io::stdout().lock();
    let style = Style::detect(&out, |name| std::env::var_os(name));
    out.write_all(report::planned::plan(&scenario, style).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
