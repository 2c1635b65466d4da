//! The arguments as typed, and which subcommand they go to.
//!
//! A subcommand is one file `src/NAME.rs` with `pub struct Args` and
//! `pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode>`, one
//! variant of [`Command`] and one line in [`Cli::run`].

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{
    calibrate, cert, compare, demo, discover, pages, peers, perfclient, place, plant, probe, quick,
    report, saturate, scenario, serve, show,
};

/// The performance laboratory for OPC UA: measure, compare, explain, predict.
#[derive(Debug, Parser)]
#[command(
    name = "uaperf",
    version,
    propagate_version = true,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = EXIT_CODES
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options that every subcommand understands.
#[derive(Debug, clap::Args)]
pub struct Global {
    /// Folder with certificates and trust lists [default: uaperf/pki in the user's configuration folder]
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        env = "UAPERF_PKI",
        hide_env_values = true
    )]
    pki: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Probe(probe::Args),
    Discover(discover::Args),
    Read(quick::Read),
    Write(quick::Write),
    Browse(quick::Browse),
    History(quick::History),
    Translate(quick::Translate),
    Call(quick::Call),
    Register(quick::Register),
    Subscribe(Box<quick::Subscribe>),
    Connect(quick::Connect),
    Items(quick::Items),
    Nodes(quick::Nodes),
    Sequence(quick::Users),
    Perfclient(perfclient::Args),
    Calibrate(calibrate::Args),
    Saturate(saturate::Args),
    Run(scenario::run::Args),
    Check(scenario::check::Args),
    New(scenario::new::Args),
    Serve(serve::Args),
    Plant(plant::Args),
    Show(show::Args),
    Report(report::Args),
    Compare(compare::Args),
    Cert(cert::Args),
    Peers(peers::Args),
    Man(pages::Man),
    Completions(pages::Completions),
}

const EXIT_CODES: &str = "\
Exit codes:
  0  good
  1  nothing could be measured, or the operation failed
  2  wrong usage
  3  a threshold or comparison failed
  4  the generator was the limit, or the run was not steady";

impl Cli {
    /// Carries out the subcommand.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Calibrate(args) => calibrate::run(args, &self.global),
            Command::Saturate(args) => saturate::run(args, &self.global),
            Command::Cert(args) => cert::run(args, &self.global),
            Command::Perfclient(args) => perfclient::run(args, &self.global),
            Command::Peers(args) => peers::run(args, &self.global),
            Command::Probe(args) => probe::run(args, &self.global),
            Command::Discover(args) => discover::run(&args),
            Command::Plant(args) => plant::run(args),
            Command::Serve(args) => serve::run(args, &self.global),
            Command::Show(args) => show::run(args, &self.global),
            Command::Report(args) => report::run(args, &self.global),
            Command::Compare(args) => compare::run(args, &self.global),
            Command::Read(args) => quick::read(args, &self.global),
            Command::Write(args) => quick::write(args, &self.global),
            Command::Browse(args) => quick::browse(args, &self.global),
            Command::History(args) => quick::history(args, &self.global),
            Command::Translate(args) => quick::translate(args, &self.global),
            Command::Call(args) => quick::call(args, &self.global),
            Command::Register(args) => quick::register(args, &self.global),
            Command::Run(args) => scenario::run::run(args, &self.global),
            Command::Check(args) => scenario::check::run(args, &self.global),
            Command::New(args) => scenario::new::run(args, &self.global),
            Command::Man(args) => pages::man(args),
            Command::Completions(args) => pages::completions(args),
            Command::Subscribe(args) => quick::subscribe(*args, &self.global),
            Command::Items(args) => quick::items(args, &self.global),
            Command::Nodes(args) => quick::nodes(args, &self.global),
            Command::Connect(args) => quick::connect(args, &self.global),
            Command::Sequence(args) => quick::sequence(args, &self.global),
            Command::Demo(args) => demo::run(args, &self.global),
        }
    }
}

impl Global {
    /// The folder of certificates and trust lists: as typed, or the user's own.
    pub fn pki(&self) -> anyhow::Result<PathBuf> {
        match &self.pki {
            Some(folder) => Ok(folder.clone()),
            None => Ok(place::configuration()?.join("pki")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Cli::command().debug_assert();
    }
}
