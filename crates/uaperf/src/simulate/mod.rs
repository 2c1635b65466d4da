//! `uaperf simulate`: what a plant would do that is not built yet.

mod files;
mod plant;
mod screen;
mod world;

use std::process::ExitCode;

use crate::global::Global;

/// Simulate a plant: CPU, delays, losses, and what happens when a switch or a server stops
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Plant(plant::Args),
}

/// Carries out `uaperf simulate`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Plant(args) => plant::run(args),
    }
}
