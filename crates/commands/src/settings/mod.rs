//! Settings: options that stand in a file or in the environment, so that nobody has to type them each time.
//!
//! They become words of the command line before it is read: so they are checked like what is typed, and stand in
//! results like it. What is typed goes before a variable, a variable before `uaperf.toml` of this folder or one
//! above it, and that before the user's own.

mod file;
mod show;

pub use show::{Args, run};

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::OnceLock;

use clap::{Arg, ArgAction, Command};

use crate::failure::Failure;
use file::{File, Given, Target};

/// The variable that names the only file that is read, or `none`.
const VARIABLE: &str = "UAPERF_SETTINGS";
/// No file and no variable is looked at.
const NONE: &str = "none";

/// Options by which somebody allows what is not harmless, or leaves a check out: they are typed each time.
const TYPED: &[&str] = &[
    "allow",
    "mine",
    "trust",
    "skip-check",
    "plain-password",
    "settings",
];

/// Options that are nothing without another one, which something typed may have taken the place of.
const WITH: &[(&str, &str)] = &[
    ("password-file", "user"),
    ("proxy-password-file", "proxy"),
    ("user-cert", "user-key"),
    ("user-key", "user-cert"),
];

/// This program once more, as a part of what it does: what was set is among its words already.
pub fn this_program() -> io::Result<Process> {
    let program = std::env::current_exe().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("cannot tell where this program is: {error}"),
        )
    })?;
    let mut process = Process::new(program);
    process.env(VARIABLE, NONE);
    Ok(process)
}

/// An option that is set, and where.
#[derive(Debug)]
struct Set<'a> {
    arg: &'a Arg,
    given: Given,
}

/// What was added to the command line, and where it is set.
static ADDED: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Where an option is set of which an error speaks, if nobody typed it.
pub fn blamed(error: &str) -> Option<&'static str> {
    let added = ADDED.get()?.iter();
    let mut blamed = added.filter(|(long, _)| error.contains(&format!("'--{long}")));
    blamed.next().map(|(_, from)| from.as_str())
}

/// The targets that files of settings name.
static NAMED: OnceLock<Vec<String>> = OnceLock::new();

/// Whether a file of settings has a target of this name.
pub fn names(target: &str) -> bool {
    NAMED
        .get()
        .is_some_and(|all| all.iter().any(|it| it == target))
}

/// The words of a command line with what is set added to it.
pub fn expand(command: &Command, words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let Some(path) = meant(command, &words) else {
        return Ok(words);
    };
    // What an agent is to do is told to it.
    if matches!(path.first(), None | Some(&(show::NAME | "agent"))) {
        return Ok(words);
    }
    let below = find(command, &path);
    // Words behind `--` are another program's where a command starts one.
    let starts_one = below.is_some_and(|it| it.get_arguments().any(Arg::is_last_set));
    let end = words
        .iter()
        .position(|it| starts_one && it == "--")
        .unwrap_or(words.len());
    let typed = words.get(..end).unwrap_or_default().to_vec();
    let files = files(&typed)?;
    for file in files.iter().flatten() {
        file.check(command)?;
    }
    let named = files.iter().flatten().flat_map(|it| it.targets.keys());
    NAMED.get_or_init(|| named.cloned().collect());
    let mut words = words;
    let mut targets = Vec::new();
    for i in 0..end {
        let before = i.checked_sub(1).and_then(|i| words.get(i));
        let Some((option, name)) = words.get(i).and_then(|it| target_name(it)) else {
            continue;
        };
        if !names_a_target(below, before, &option) {
            continue;
        }
        if let Some(target) = target(files.as_deref(), &name)? {
            words[i] = format!("{option}{}", target.url).into();
            targets.push(target);
        }
    }
    let Some(files) = &files else {
        return Ok(words);
    };
    let Some(below) = below else {
        return Ok(words);
    };
    let mut own = below.clone();
    own.build();
    let args: Vec<&Arg> = own.get_arguments().chain(command.get_arguments()).collect();
    let set = resolve(&args, &path, &targets, files)?;
    let set: Vec<Set<'_>> = set
        .into_iter()
        .filter(|it| !is_typed(it.arg, &typed))
        .filter(|it| {
            let mut others = own.get_arguments().filter(|arg| is_typed(arg, &typed));
            !others.any(|other| exclude(&own, it.arg, other))
        })
        .collect();
    let name = |it: &Set<'_>| it.arg.get_long().unwrap_or_default().to_owned();
    let names: Vec<String> = set.iter().map(name).collect();
    let there = |long: &str| {
        names.iter().any(|it| it == long)
            || arg(own.get_arguments(), long).is_some_and(|arg| is_typed(arg, &typed))
    };
    let alone = |it: &Set<'_>| {
        let with = WITH
            .iter()
            .filter(|(one, _)| it.arg.get_long() == Some(one));
        with.into_iter().any(|(_, other)| !there(other))
    };
    let set: Vec<Set<'_>> = set.into_iter().filter(|it| !alone(it)).collect();
    ADDED.get_or_init(|| {
        let set = set.iter();
        set.map(|it| (name(it), it.given.from.clone())).collect()
    });
    let added: Vec<String> = set.iter().flat_map(spelled).collect();
    // Nothing behind `--` is an option.
    let end = words.iter().position(|it| it == "--");
    let end = end.unwrap_or(words.len());
    words.splice(end..end, added.into_iter().map(OsString::from));
    Ok(words)
}

/// The subcommand that is meant, by its names.
fn meant<'a>(command: &'a Command, words: &[OsString]) -> Option<Vec<&'a str>> {
    let (mut at, mut path, mut index) = (command, Vec::new(), 1);
    while let Some(word) = words.get(index).and_then(|it| it.to_str()) {
        if let Some(long) = word.strip_prefix("--") {
            let arg = arg(command.get_arguments(), long.split('=').next()?);
            let takes = arg.is_some_and(|arg| arg.get_action().takes_values());
            index += if takes && !long.contains('=') { 2 } else { 1 };
            continue;
        }
        match at.find_subcommand(word) {
            Some(next) => {
                path.push(next.get_name());
                at = next;
                index += 1;
            }
            None => break,
        }
        if !at.has_subcommands() {
            return Some(path);
        }
    }
    // What is missing is told to whoever typed it.
    (!at.has_subcommands()).then_some(path)
}

fn find<'a>(command: &'a Command, path: &[&str]) -> Option<&'a Command> {
    path.iter()
        .try_fold(command, |at, name| at.find_subcommand(name))
}

fn arg<'a>(mut args: impl Iterator<Item = &'a Arg>, long: &str) -> Option<&'a Arg> {
    args.find(|arg| arg.get_long() == Some(long))
}

/// `@NAME`, alone or behind an option's `=`.
fn target_name(word: &OsStr) -> Option<(String, String)> {
    let word = word.to_str()?;
    let (before, name) = match word.split_once("=@") {
        Some((before, name)) if before.starts_with("--") => (format!("{before}="), name),
        _ => (String::new(), word.strip_prefix('@')?),
    };
    (!name.is_empty()).then(|| (before, name.to_owned()))
}

/// The option that has a target as its value, of commands that do not take it by itself.
const TARGET: &str = "target";

/// Whether a word is of a target: by itself, or the value of `--target`. Other options take files by such words.
fn names_a_target(command: Option<&Command>, before: Option<&OsString>, option: &str) -> bool {
    if !option.is_empty() {
        return option
            .strip_prefix("--")
            .is_some_and(|it| it == format!("{TARGET}="));
    }
    let Some(before) = before.and_then(|it| it.to_str()) else {
        return true;
    };
    let mut args = command.into_iter().flat_map(Command::get_arguments);
    let taking = args.find(|arg| {
        let long = before.strip_prefix("--");
        let short = before
            .strip_prefix('-')
            .filter(|it| it.chars().count() == 1);
        arg.get_action().takes_values()
            && (long.is_some() && arg.get_long() == long
                || short.is_some() && short.and_then(|it| it.chars().next()) == arg.get_short())
    });
    taking.is_none_or(|arg| arg.get_long() == Some(TARGET))
}

/// A target by its name. None where a file of that name may be meant, which has a target on each line.
fn target<'a>(files: Option<&'a [File]>, name: &str) -> Result<Option<&'a Target>, Failure> {
    let files = files.unwrap_or_default();
    let found = files.iter().find_map(|file| file.targets.get(name));
    let is_path = name.contains(['/', '\\', '.']) || Path::new(name).exists();
    let mut known: Vec<&str> = files
        .iter()
        .flat_map(|file| file.targets.keys())
        .map(String::as_str)
        .collect();
    if found.is_some() || is_path {
        return Ok(found);
    }
    known.sort_unstable();
    let known = match known.as_slice() {
        [] => "no file of settings has any".to_owned(),
        known => format!("there are @{}", known.join(", @")),
    };
    Err(Failure::usage(format!(
        "@{name} is no target of the settings ({known}), and no file"
    ))
    .hint("uaperf config show"))
}

/// What is set of these options, the first source that has it.
fn resolve<'a>(
    args: &[&'a Arg],
    path: &[&str],
    targets: &[&Target],
    files: &[File],
) -> Result<Vec<Set<'a>>, Failure> {
    let mut set = Vec::new();
    for &arg in args {
        let Some(long) = arg.get_long() else {
            continue;
        };
        if TYPED.contains(&long) || matches!(long, "help" | "version") {
            continue;
        }
        let of_targets: Vec<&Given> = targets
            .iter()
            .filter_map(|it| it.options.iter().find(|(name, _)| name == long))
            .map(|(_, given)| given)
            .collect();
        if let [first, rest @ ..] = of_targets.as_slice()
            && (rest.iter().any(|it| it.values != first.values) || of_targets.len() < targets.len())
        {
            let what = format!("--{long} is not the same of all these targets in the settings");
            return Err(Failure::usage(what).hint("use one command for each of them"));
        }
        let given = variable(arg, long)
            .or_else(|| of_targets.first().map(|it| (*it).clone()))
            .or_else(|| files.iter().find_map(|file| file.of(path, long)));
        if let Some(given) = given {
            set.push(Set { arg, given });
        }
    }
    Ok(set)
}

/// What the environment says of an option that has no variable of its own; an empty variable is one that is not set.
fn variable(arg: &Arg, long: &str) -> Option<Given> {
    if arg.get_env().is_some() {
        return None;
    }
    let name = format!("UAPERF_{}", long.to_uppercase().replace('-', "_"));
    let value = std::env::var(&name).ok().filter(|it| !it.is_empty())?;
    Some(Given {
        values: vec![value],
        from: name,
        folder: None,
    })
}

/// Whether it was typed.
fn is_typed(arg: &Arg, typed: &[OsString]) -> bool {
    let mut typed = typed
        .iter()
        .take_while(|it| *it != "--")
        .filter_map(|it| it.to_str());
    typed.any(|word| {
        let long = word.strip_prefix("--").and_then(|it| it.split('=').next());
        let short = word.strip_prefix('-').and_then(|it| it.chars().next());
        match long {
            Some(long) => arg.get_long() == Some(long),
            None => short.is_some() && arg.get_short() == short,
        }
    })
}

/// Whether two options do not go together, whichever of them says so.
fn exclude(command: &Command, one: &Arg, other: &Arg) -> bool {
    let own = |arg: &Arg| {
        command
            .get_arguments()
            .any(|it| it.get_id() == arg.get_id())
    };
    let says = |one: &Arg, other: &Arg| {
        let against = command.get_arg_conflicts_with(one);
        against.iter().any(|it| it.get_id() == other.get_id())
    };
    own(one) && own(other) && (says(one, other) || says(other, one))
}

/// The words that say it.
fn spelled(set: &Set<'_>) -> Vec<String> {
    let long = set.arg.get_long().unwrap_or_default();
    let path = set.arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let flag = !set.arg.get_action().takes_values();
    let values = set.given.values.iter();
    values
        .filter_map(|value| match (flag, value.as_str(), &set.given.folder) {
            (true, "true" | "1", _) => Some(format!("--{long}")),
            (true, "false" | "0", _) => None,
            (false, value, Some(folder)) if path => {
                Some(format!("--{long}={}", folder.join(value).display()))
            }
            // Of a flag it is refused with what is allowed.
            (_, value, _) => Some(format!("--{long}={value}")),
        })
        .take(match set.arg.get_action() {
            ArgAction::Append => usize::MAX,
            _ => 1,
        })
        .collect()
}

/// The files that are read, the first one before the others; none if nothing is to be looked at.
fn files(words: &[OsString]) -> Result<Option<Vec<File>>, Failure> {
    let named = named(words).or_else(|| std::env::var_os(VARIABLE).filter(|it| !it.is_empty()));
    if let Some(named) = named {
        return match named == NONE {
            true => Ok(None),
            false => Ok(Some(vec![File::read(Path::new(&named))?])),
        };
    }
    let places = places();
    let there = places.iter().filter(|place| place.is_file());
    let files: Result<Vec<File>, Failure> = there.map(|place| File::read(place)).collect();
    files.map(Some)
}

/// The file that was typed.
fn named(words: &[OsString]) -> Option<OsString> {
    let mut words = words.iter().filter_map(|it| it.to_str());
    while let Some(word) = words.next() {
        if word == "--settings" {
            return words.next().map(OsString::from);
        }
        if let Some(file) = word.strip_prefix("--settings=") {
            return Some(file.into());
        }
    }
    None
}

/// Where files of settings are looked for: the one of this folder or the nearest one above it, and the user's.
fn places() -> Vec<PathBuf> {
    // A folder that was removed has no settings.
    let here = std::env::current_dir().unwrap_or_default();
    let nearest = here.ancestors().map(|it| it.join(file::NAME));
    let nearest = nearest.into_iter().find(|it| it.is_file());
    let nearest = nearest.unwrap_or_else(|| here.join(file::NAME));
    let user = crate::place::configuration()
        .ok()
        .map(|it| it.join(file::NAME));
    let mut places = vec![nearest];
    places.extend(user.filter(|it| places.first() != Some(it)));
    places
}
