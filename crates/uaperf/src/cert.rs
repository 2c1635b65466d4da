//! `uaperf cert`: this program's certificate and the ones it trusts.

use std::process::ExitCode;

use crate::cli::Global;

/// Make, show, trust and reject certificates
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Carries out `uaperf cert`.
pub fn run(_args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    println!("{}", global.pki()?.display());
    Ok(ExitCode::SUCCESS)
}
