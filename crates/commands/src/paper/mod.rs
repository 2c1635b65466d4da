//! `uaperf paper`: what the five studies printed, repeated.

mod catalogue;
mod pages;
mod run;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Subcommand;

use crate::global::Global;
use crate::screen;
use catalogue::{Catalogue, Experiment};

/// Repeat the experiments of the five studies
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Show(Show),
    Run(Box<run::Args>),
    Pages(pages::Args),
}

/// Show every table, figure and result in words, and how it is repeated
#[derive(Debug, clap::Args)]
struct List {
    /// A study, such as burger2019 [default: all five]
    #[arg(value_name = "STUDY", default_value = "all", hide_default_value = true)]
    study: String,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

/// Show the scenario of an experiment, with what the study states and what had to be assumed
#[derive(Debug, clap::Args)]
struct Show {
    /// Such as burger2019.fig_06
    id: String,
}

const EXAMPLES: &str = "\
Examples:
  uaperf paper list                              what the studies printed, and how each is repeated
  uaperf paper show burger2019.fig_06            its scenario; into a file it is one of your own
  uaperf paper run burger2019.fig_06             as the study did it, on the built-in server
  uaperf paper run tahvanainen2016 --scale quick short runs of all of a study: does it work?
  uaperf paper run morato2021.table_04 --target opc.tcp://plc1:4840 -P requests=10000
  uaperf paper pages results/20260301T093000Z-paper --out papers";

/// Carries out `uaperf paper`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let catalogue = Catalogue::read()?;
    match args.command {
        Command::List(args) => {
            let all = catalogue.select(&args.study)?;
            screen::print(&all, args.json, write_list)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Show(args) => {
            use std::io::Write as _;
            let ready = catalogue.find(&args.id)?.ready()?;
            screen::out().write_all(ready.text.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Run(args) => run::run(*args, &catalogue, global),
        Command::Pages(args) => pages::run(&args, &catalogue),
    }
}

fn write_list(out: &mut String, all: &Vec<&Experiment>) -> std::fmt::Result {
    let mut before = "";
    for it in all {
        let (study, _) = it.split();
        if study != before {
            let gap = if before.is_empty() { "" } else { "\n" };
            writeln!(out, "{gap}{study}")?;
            before = study;
        }
        writeln!(out, "  {:<42} {}: {}", it.id, it.printed, it.what)?;
        if let Some(command) = &it.simulated {
            writeln!(out, "  {:<42}   simulated: {command}", "")?;
        }
        let how = match (&it.scenario, &it.command, &it.missing) {
            (Some(_), ..) => continue,
            (_, Some(command), _) => command.clone(),
            (.., missing) => format!("not here: {}", missing.as_deref().unwrap_or_default()),
        };
        writeln!(out, "  {:<42}   {how}", "")?;
    }
    Ok(())
}
