//! `uaperf config show`: what is set, and where.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, Command, Subcommand};
use serde::Serialize;

use super::{files, find, places, resolve};
use crate::failure::Failure;
use crate::global::Global;
use crate::screen;

/// The command that shows settings, and is not changed by them.
pub const NAME: &str = "config";

/// Show settings: options from files and environment variables
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(Show),
}

/// Show the files that are read, their targets, and what is set of a command's options, each with its place
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct Show {
    /// The command, with all of its options: read, cert make [default: what is set of all commands]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A file uaperf.toml of this folder, or of the nearest one above it, and the user's own (uaperf/uaperf.toml in the configuration
folder) have options by their long names, for all commands, in a table of a command ([read]) for that one; [targets.NAME] has a
server's url and options, and is @NAME on a command line. UAPERF_RATE=100/s sets --rate, and so on. What is typed goes first, then
variables, targets, the nearest file, the user's. --settings none looks at nothing.

Examples:
  uaperf config show
  uaperf config show read
  uaperf config show subscribe --json";

#[derive(Debug, Serialize)]
struct Settings {
    files: Vec<Place>,
    targets: Vec<Named>,
    options: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Place {
    file: PathBuf,
    there: bool,
}

#[derive(Debug, Serialize)]
struct Named {
    name: String,
    url: String,
    options: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    option: String,
    values: Vec<String>,
    from: String,
}

/// Carries out `uaperf config`; `command` is all of the program's.
pub fn run(args: Args, global: &Global, command: &Command) -> anyhow::Result<ExitCode> {
    let Action::Show(show) = args.action;
    let told = told(&show, global, command)?;
    let mut out = screen::out();
    if show.json {
        serde_json::to_writer_pretty(&mut out, &told)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    for place in &told.files {
        let there = if place.there { "" } else { "  (not there)" };
        writeln!(out, "{}{there}", place.file.display())?;
    }
    if told.files.is_empty() {
        writeln!(out, "no file is looked at (--settings none)")?;
    }
    for target in &told.targets {
        let options = target.options.iter();
        let options = options.map(|it| format!("  --{} {}", it.option, it.values.join(",")));
        let options = options.collect::<String>();
        writeln!(out, "@{}  {}{options}", target.name, target.url)?;
    }
    // What is set of several commands is one line.
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for it in &told.options {
        let line = format!("--{} {}  ({})", it.option, it.values.join(","), it.from);
        let whose = it.command.as_deref().unwrap_or_default();
        match lines.iter_mut().find(|(there, _)| *there == line) {
            Some((_, commands)) => commands.push(whose),
            None => lines.push((line, vec![whose])),
        }
    }
    for (line, commands) in &lines {
        match commands.as_slice() {
            [one] => writeln!(out, "{one} {line}")?,
            several => writeln!(out, "{line}, of {} commands", several.len())?,
        }
    }
    if told.options.is_empty() {
        writeln!(out, "nothing is set")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(show: &Show, global: &Global, command: &Command) -> Result<Settings, Failure> {
    let named = global.settings.iter();
    let words: Vec<OsString> = named
        .flat_map(|it| ["--settings".into(), it.clone().into_os_string()])
        .collect();
    let files = files(&words)?.unwrap_or_default();
    for file in &files {
        file.check(command)?;
    }
    let mut all = match (words.is_empty(), files.is_empty()) {
        (true, _) if std::env::var_os(super::VARIABLE).is_none_or(|it| it.is_empty()) => places(),
        _ => files.iter().map(|file| file.path.clone()).collect(),
    };
    all.dedup();
    let all = all.into_iter().map(|file| Place {
        there: file.is_file(),
        file,
    });
    let targets = files.iter().flat_map(|file| &file.targets);
    let targets = targets.map(|(name, target)| Named {
        name: name.clone(),
        url: target.url.clone(),
        options: target
            .options
            .iter()
            .map(|(option, given)| Shown {
                command: None,
                option: option.clone(),
                values: given.values.clone(),
                from: given.from.clone(),
            })
            .collect(),
    });
    let mut options = Vec::new();
    let path: Vec<&str> = show.command.iter().map(String::as_str).collect();
    let Some(below) = find(command, &path) else {
        let what = format!("there is no command {}", path.join(" "));
        return Err(Failure::usage(what).hint("uaperf --help"));
    };
    let whole = !path.is_empty();
    each(below, &mut path.clone(), &mut |own: &Command, path| {
        let args: Vec<&Arg> = match path.is_empty() {
            true => Vec::new(),
            false => own.get_arguments().chain(command.get_arguments()).collect(),
        };
        let set = resolve(&args, path, &[], &files)?;
        for arg in &args {
            let Some(long) = arg
                .get_long()
                .filter(|it| !matches!(*it, "help" | "version"))
            else {
                continue;
            };
            let found = set.iter().find(|it| it.arg.get_id() == arg.get_id());
            let (values, from) = match found {
                Some(set) => (set.given.values.clone(), set.given.from.clone()),
                None if whole && arg.get_action().takes_values() => {
                    let values = arg.get_default_values().iter();
                    let values: Vec<String> =
                        values.map(|it| it.to_string_lossy().into()).collect();
                    match values.is_empty() {
                        true => continue,
                        false => (values, "default".to_owned()),
                    }
                }
                None => continue,
            };
            options.push(Shown {
                command: Some(path.join(" ")),
                option: long.to_owned(),
                values,
                from,
            });
        }
        Ok(())
    })?;
    Ok(Settings {
        files: all.collect(),
        targets: targets.collect(),
        options,
    })
}

/// Every command without commands below it.
fn each<'a>(
    command: &'a Command,
    path: &mut Vec<&'a str>,
    what: &mut impl FnMut(&Command, &[&str]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !command.has_subcommands() {
        return what(command, path);
    }
    for below in command.get_subcommands() {
        path.push(below.get_name());
        each(below, path, what)?;
        path.pop();
    }
    Ok(())
}
