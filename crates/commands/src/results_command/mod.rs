//! `uaperf results`: what was measured, found again.

mod list;
mod rm;
mod trend;
mod wanted;

use std::process::ExitCode;

use clap::Subcommand;

use crate::global::Global;

/// Find results again, and see how figures developed
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::List),
    Trend(trend::Trend),
    Rm(rm::Rm),
}

/// Carries out `uaperf results`.
pub fn run(args: &Args, _: &Global) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List(list) => list::run(list),
        Action::Trend(trend) => trend::run(trend),
        Action::Rm(rm) => rm::run(rm),
    }
}
