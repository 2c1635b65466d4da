//! `uaperf fleet`: hosts are looked at and made ready, results that came late are brought, and landscapes served.

mod collect;

use std::process::ExitCode;

use crate::fleet::{check, install, key};
use crate::global::Global;
use crate::landscape;

/// Check the hosts of a fleet, collect results that came late, serve a landscape of devices
#[derive(Debug, clap::Args)]
pub struct FleetArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Check(check::Args),
    Collect(collect::Args),
    Install(install::Args),
    Key(key::Args),
    Serve(Box<landscape::Args>),
}

/// Carries out `uaperf fleet`.
pub fn run(args: FleetArgs, global: &Global) -> anyhow::Result<ExitCode> {
    match args.what {
        What::Check(args) => check::run(&args, global),
        What::Collect(args) => collect::run(&args, global),
        What::Install(args) => install::run(&args),
        What::Key(args) => key::run(&args),
        What::Serve(args) => landscape::run(&args, global),
    }
}
