//! `uaperf pubsub`: what belongs to PubSub beside publishing and listening.

use std::process::ExitCode;

use super::{account, keys_command};
use crate::global::Global;

/// PubSub tools: keys for messages, and what became of each value
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Keys(Box<keys_command::Args>),
    Account(account::Args),
}

/// Carries out `uaperf pubsub`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Keys(args) => keys_command::run(*args, global),
        Command::Account(args) => account::run(&args),
    }
}
