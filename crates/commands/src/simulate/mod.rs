//! `uaperf simulate`: what a plant would do that is not built yet, and what connecting would take over a link that is not there.

mod cavalieri;
mod cavalieri_costs;
mod files;
mod plant;
mod protocol;
mod protocol_file;
mod protocol_result;
mod protocol_screen;
mod scene;
mod screen;
mod world;

use std::process::ExitCode;

use crate::global::Global;

/// Simulate a plant, connecting or requests, in virtual time
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Plant(plant::Args),
    Handshake(protocol::Handshake),
    Requests(protocol::Requests),
    Cavalieri2010(cavalieri::Args),
}

/// Carries out `uaperf simulate`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Plant(args) => plant::run(args),
        Command::Handshake(args) => protocol::handshake(args),
        Command::Requests(args) => protocol::requests(args),
        Command::Cavalieri2010(args) => cavalieri::run(args),
    }
}
