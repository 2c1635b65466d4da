//! `uaperf peers`: other vendors' stacks as targets.

mod doctor;
mod install;
mod list;
pub mod start;
mod stop;

use std::process::ExitCode;
use std::time::Duration;

use ::peers::{Stack, StackState};

use crate::failure::Failure;
use crate::global::Global;

/// Install, start and stop servers of other vendors' stacks
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::Args),
    Install(install::Args),
    Start(start::Args),
    Stop(stop::Args),
    Doctor(doctor::Args),
}

const EXAMPLES: &str = "\
Examples:
  uaperf peers list                         what is here, and what the others would take
  uaperf peers install asyncua node-opcua   download and build these two
  uaperf peers start asyncua                a server with the bench nodes, until Ctrl-C
  uaperf peers start open62541 --port 4840 --update 10ms --pin 0 --background
  uaperf peers stop all                     end those that were left running
  uaperf peers doctor                       why something does not work";

/// The options of a server that is started.
pub fn start_definition() -> clap::Command {
    <start::Args as clap::Args>::augment_args(clap::Command::new("start"))
}

/// Starts a peer's server as these options of `uaperf peers start` say.
pub fn started(name: &str, typed: &clap::ArgMatches) -> anyhow::Result<::peers::Server> {
    let args = <start::Args as clap::FromArgMatches>::from_arg_matches(typed)?;
    ::peers::Server::start(named(name)?, &args.options()).map_err(start::explained)
}

/// Starts a peer's server on a free port, its values changing so often.
pub fn changing(name: &str, update: Duration) -> anyhow::Result<::peers::Server> {
    let options = ::peers::StartOptions {
        update: Some(update),
        ..::peers::StartOptions::default()
    };
    ::peers::Server::start(named(name)?, &options).map_err(start::explained)
}

/// Carries out `uaperf peers`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::List(args) => list::run(args),
        Command::Install(args) => install::run(args),
        Command::Start(args) => start::run(args),
        Command::Stop(args) => stop::run(args),
        Command::Doctor(args) => doctor::run(args),
    }
}

/// The stack of this name.
fn named(name: &str) -> anyhow::Result<&'static Stack> {
    let all = Stack::all().iter().map(|stack| stack.name);
    let found = Stack::named(name).ok_or_else(|| {
        Failure::usage(format!("there is no peer {name:?}"))
            .hint(format!("one of {}", all.collect::<Vec<_>>().join(", ")))
    })?;
    Ok(found)
}

/// The stacks of these names, each once; all of them when one of the names is `all`.
fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Stack>> {
    if names.iter().any(|name| name == "all") {
        return Ok(Stack::all().to_vec());
    }
    let mut stacks: Vec<&'static Stack> = Vec::new();
    for name in names {
        let stack = named(name)?;
        if !stacks.iter().any(|other| other.name == stack.name) {
            stacks.push(stack);
        }
    }
    Ok(stacks)
}

/// The states of stacks, asked for at the same time: a check may start a Java machine.
fn states(stacks: &[&'static Stack]) -> Vec<(&'static Stack, StackState)> {
    std::thread::scope(|scope| {
        let asked = stacks.iter().copied();
        let asked: Vec<_> = asked
            .map(|stack| (stack, scope.spawn(move || stack.state())))
            .collect();
        let answered = asked.into_iter();
        // A check does not panic; were one to, that peer would be missing from the list.
        answered
            .filter_map(|(stack, state)| Some((stack, state.join().ok()?)))
            .collect()
    })
}
