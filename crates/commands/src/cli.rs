//! The arguments as typed, and which subcommand they go to.
//!
//! A subcommand is one file `src/NAME.rs` with `pub struct Args` and
//! `pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode>`, one
//! variant of [`Command`] and one line in [`Cli::run`].

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::global::Global;
use crate::{
    agent, attack, bench, ca, calibrate, cert, compare, cost, demo, discover, doctor,
    fleet_command, link, model, pages, paper, peers, perfclient, plant, probe, publishing, quick,
    report, rerun, results_command, saturate, scenario, security, serve, settings, show, simulate,
    size, usage, watch,
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
    Cost(cost::Args),
    Security(security::Args),
    Attack(Box<attack::Args>),
    Calibrate(calibrate::Args),
    Watch(watch::Args),
    Bench(bench::Args),
    Doctor(doctor::Args),
    Saturate(saturate::Args),
    Fleet(fleet_command::FleetArgs),
    Agent(agent::Args),
    Run(scenario::run::Args),
    Paper(paper::Args),
    Results(results_command::Args),
    Rerun(rerun::Args),
    Check(scenario::check::Args),
    New(scenario::new::Args),
    Serve(serve::Args),
    Publish(publishing::publish::Args),
    Listen(publishing::listen::Args),
    Pubsub(publishing::command::Args),
    Link(link::Args),
    Plant(plant::Args),
    Show(show::Args),
    Report(report::Args),
    Compare(compare::Args),
    Model(model::Args),
    Size(size::Args),
    Simulate(simulate::Args),
    Cert(cert::Args),
    Ca(ca::Args),
    Peers(peers::Args),
    Config(settings::Args),
    Man(pages::Man),
    Completions(pages::Completions),
}

/// The arguments of `uaperf agent`, without those of all others, whose definition would be a part of what an agent that waits
/// takes of its host's memory.
#[derive(Debug, Parser)]
#[command(
    name = "uaperf",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct OfAgent {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Agent,
}

#[derive(Debug, Subcommand)]
enum Agent {
    Agent(agent::Args),
}

/// Whether a command line is that of an agent.
pub fn is_of_agent(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|it| it == "agent")
}

impl OfAgent {
    /// Carries it out.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        self.global.begin()?;
        let Agent::Agent(args) = self.command;
        agent::run(args, &self.global)
    }
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
        self.global.begin()?;
        match self.command {
            Command::Cost(args) => cost::run(args, &self.global),
            Command::Security(args) => security::run(args, &self.global),
            Command::Attack(args) => attack::run(*args, &self.global),
            Command::Calibrate(args) => calibrate::run(args, &self.global),
            Command::Bench(args) => bench::run(args, &self.global),
            Command::Results(args) => results_command::run(&args, &self.global),
            Command::Rerun(args) => rerun::run(args, &self.global),
            Command::Doctor(args) => doctor::run(args, &self.global),
            Command::Watch(args) => watch::run(args, &self.global),
            Command::Saturate(args) => saturate::run(args, &self.global, Self::search),
            Command::Fleet(args) => fleet_command::run(args, &self.global),
            Command::Agent(args) => agent::run(args, &self.global),
            Command::Cert(args) => cert::run(args, &self.global),
            Command::Ca(args) => ca::run(args, &self.global),
            Command::Perfclient(args) => perfclient::run(args, &self.global),
            Command::Peers(args) => peers::run(args, &self.global),
            Command::Probe(args) => probe::run(args, &self.global),
            Command::Discover(args) => discover::run(&args),
            Command::Link(args) => link::run(args, &self.global),
            Command::Plant(args) => plant::run(args, &self.global),
            Command::Publish(args) => publishing::publish::run(args, &self.global),
            Command::Listen(args) => publishing::listen::run(args, &self.global),
            Command::Pubsub(args) => publishing::command::run(args, &self.global),
            Command::Serve(args) => serve::run(args, &self.global),
            Command::Show(args) => show::run(args, &self.global),
            Command::Report(args) => report::run(args, &self.global),
            Command::Compare(args) => compare::run(args, &self.global),
            Command::Model(args) => model::run(args, &self.global),
            Command::Size(args) => size::run(args, &self.global),
            Command::Simulate(args) => simulate::run(args, &self.global),
            Command::Read(args) => quick::read(args, &self.global),
            Command::Write(args) => quick::write(args, &self.global),
            Command::Browse(args) => quick::browse(args, &self.global),
            Command::History(args) => quick::history(args, &self.global),
            Command::Translate(args) => quick::translate(args, &self.global),
            Command::Call(args) => quick::call(args, &self.global),
            Command::Register(args) => quick::register(args, &self.global),
            Command::Run(args) => scenario::run::run(args, &self.global),
            Command::Paper(args) => paper::run(args, &self.global),
            Command::Check(args) => scenario::check::run(args, &self.global),
            Command::New(args) => scenario::new::run(args, &self.global),
            Command::Config(args) => settings::run(args, &self.global, &Self::command()),
            Command::Man(args) => pages::man(args, Self::command()),
            Command::Completions(args) => pages::completions(args, Self::command()),
            Command::Subscribe(args) => quick::subscribe(*args, &self.global),
            Command::Items(args) => quick::items(args, &self.global),
            Command::Nodes(args) => quick::nodes(args, &self.global),
            Command::Connect(args) => quick::connect(args, &self.global),
            Command::Sequence(args) => quick::sequence(args, &self.global),
            Command::Demo(args) => demo::run(args, &self.global),
        }
    }

    /// A search that was typed once, with its options.
    fn search(words: &[String]) -> clap::error::Result<Option<(saturate::Args, Global)>> {
        let program = std::iter::once("uaperf");
        let words = program.chain(words.iter().map(String::as_str));
        let matches = Self::command().try_get_matches_from(words)?;
        let typed = Self::from_arg_matches(&matches)?;
        usage::goes_on(&Self::command(), &matches);
        Ok(match typed.command {
            Command::Saturate(args) => Some((args, typed.global)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_agent_has_the_same_arguments_alone_and_among_all_commands() {
        let told = |mut command: clap::Command| {
            command.build();
            let agent = command.find_subcommand_mut("agent").unwrap();
            agent.render_long_help().to_string()
        };
        assert_eq!(told(OfAgent::command()), told(Cli::command()));
    }

    /// Commands that print something else, and why.
    const WITHOUT_JSON: [(&str, &str); 21] = [
        ("demo", "a walk through the program, to be read"),
        ("demo pubsub", "a walk through the program, to be read"),
        ("perfclient", "prints what the test client of 2016 printed"),
        ("agent", "speaks with its controller on both streams"),
        ("saturate", "goes on with a search, as that was typed"),
        ("serve", "a server; its addresses are lines READY URL"),
        ("fleet serve", "a server; its addresses are lines READY URL"),
        (
            "fleet key",
            "makes a key file and prints the line for agents",
        ),
        ("fleet collect", "writes result files, which are JSON"),
        ("paper show", "prints a scenario"),
        (
            "paper run",
            "writes indices and result files, which are JSON",
        ),
        ("paper pages", "writes pages"),
        (
            "rerun",
            "prints what the command of the result prints, which has --json",
        ),
        ("new", "prints a scenario"),
        ("pubsub keys make", "writes key files"),
        ("plant from", "prints a plant file"),
        ("plant password", "prints the line of a plant file"),
        ("report", "writes pages"),
        ("model fit", "writes a model, which is JSON"),
        ("model design", "writes a scenario"),
        ("man", "writes manual pages"),
    ];

    /// The commands that do something, by their words; the options that they have.
    fn doing<'a>(
        command: &'a clap::Command,
        words: &str,
        all: &mut Vec<(String, &'a clap::Command)>,
    ) {
        for sub in command
            .get_subcommands()
            .filter(|it| it.get_name() != "help")
        {
            let words = format!("{words} {}", sub.get_name()).trim().to_owned();
            if !sub.is_subcommand_required_set() && sub.get_name() != "completions" {
                all.push((words.clone(), sub));
            }
            doing(sub, &words, all);
        }
    }

    #[test]
    fn every_command_has_json_or_a_reason() {
        let cli = Cli::command();
        let mut all = Vec::new();
        doing(&cli, "", &mut all);
        let has = |it: &clap::Command| it.get_arguments().any(|arg| arg.get_long() == Some("json"));
        let without = all.iter().filter(|(_, it)| !has(it));
        let without: Vec<&str> = without.map(|(words, _)| words.as_str()).collect();
        let mut wanted = WITHOUT_JSON.map(|(words, _)| words).to_vec();
        let lack: Vec<_> = without.iter().filter(|it| !wanted.contains(it)).collect();
        assert!(lack.is_empty(), "they have no --json: {lack:?}");
        wanted.retain(|words| !without.contains(words));
        assert!(
            wanted.is_empty(),
            "they have --json, or are not there: {wanted:?}"
        );
    }

    /// What stands behind all commands: where, and the text.
    fn behind(command: &clap::Command, name: &str, all: &mut Vec<(String, String)>) {
        if let Some(text) = command.get_after_help() {
            all.push((name.to_owned(), text.to_string()));
        }
        for sub in command.get_subcommands() {
            behind(sub, &format!("{name} {}", sub.get_name()), all);
        }
    }

    /// The words of a line, as a shell takes them apart; what is told beside it is left out.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for c in line.chars().chain([' ']) {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.extend(Some(std::mem::take(&mut word))),
                c => word.push(c),
            }
        }
        // Behind two blanks is told what it does; behind others what becomes of what it prints.
        let end = words
            .iter()
            .position(|it| matches!(it.as_str(), "" | ">" | "|"));
        words.truncate(end.unwrap_or(words.len()));
        words
    }

    #[test]
    fn every_example_in_the_help_is_a_command_that_there_is() {
        let mut all = Vec::new();
        behind(&Cli::command(), "uaperf", &mut all);
        let (mut tried, mut wrong) = (0, Vec::new());
        for (name, text) in all {
            let mut joined = String::new();
            for line in text.lines() {
                let goes_on = joined.ends_with(' ');
                let line = if goes_on { line.trim_start() } else { line };
                match line.strip_suffix('\\') {
                    Some(more) => joined.extend([more.trim_end(), " "]),
                    None => joined.extend([line, "\n"]),
                }
            }
            for line in joined.lines() {
                let Some(example) = line.strip_prefix("  uaperf ") else {
                    continue;
                };
                // Its options are those of the test client of 2016, with one dash.
                if example.starts_with("perfclient") {
                    continue;
                }
                tried += 1;
                let words = words(example);
                let typed = std::iter::once("uaperf".to_owned()).chain(words);
                if let Err(error) = Cli::command().try_get_matches_from(typed) {
                    let told = error.to_string();
                    wrong.push(format!(
                        "{name}: {line}: {}",
                        told.lines().next().unwrap_or("")
                    ));
                }
            }
            // Longer ones are broken again where there is no room.
            let long = text
                .lines()
                .filter(|line| line.starts_with(' ') && line.chars().count() > 100);
            wrong.extend(long.map(|line| format!("{name}: wider than a screen: {line}")));
        }
        assert!(tried >= 40, "{tried}");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
