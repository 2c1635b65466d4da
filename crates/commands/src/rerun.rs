//! `uaperf rerun`: the command of a result once more.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use record::Run;
use serde_json::Value;

use crate::failure::Failure;
use crate::global::Global;
use crate::screen::{self, tell};
use crate::{quick, results, settings};

/// Run the command of a result again, into a new file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The result
    file: PathBuf,
    /// Only show the command
    #[arg(long)]
    dry_run: bool,
    /// The new result file [default: results/UTCTIME-COMMAND.json, or a new folder for a scenario]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
The command is the one that was typed, but for the files that it wrote: a result is not overwritten by another one. Files
that it reads are looked for from here. Of a scenario's result the whole scenario is carried out.

Examples:
  uaperf rerun results/20261126T094920Z-read.json
  uaperf rerun before.json --out after.json
  uaperf rerun before.json --dry-run";

/// Options that name a file or a folder which the command writes.
const WRITTEN: &[&str] = &[
    "out",
    "report",
    "csv",
    "junit",
    "samples",
    "hlog",
    "live-file",
    "pcap",
];

/// What measures beside the commands of services.
const ALSO: &[&str] = &["run", "paper", "saturate", "perfclient"];

/// Carries out `uaperf rerun`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let runs = results::read(std::slice::from_ref(&args.file))?;
    let [named] = runs.as_slice() else {
        let what = format!("{}: want one result", args.file.display());
        return Err(Failure::usage(what).into());
    };
    let mut words = again(&args.file, &named.run)?;
    if let Some(out) = &args.out {
        words.push(format!("--out={}", out.display()));
    }
    let line = shown(&words);
    if args.dry_run {
        writeln!(screen::out(), "{line}")?;
        return Ok(ExitCode::SUCCESS);
    }
    tell!("{line}");
    let mut command = settings::this_program()?;
    platform::process::become_command(command.args(&words)).map_err(Into::into)
}

/// The words that were typed, without the files that were written.
fn again(file: &Path, run: &Run) -> Result<Vec<String>, Failure> {
    let wrong = |why: &str| Failure::new(format!("{}: {why}", file.display()));
    let Some(typed) = run.request["argv"].as_array() else {
        return Err(wrong(
            "it does not say what was typed (a simulation, or an older file)",
        ));
    };
    let words: Vec<&str> = typed.iter().filter_map(Value::as_str).collect();
    // A file from somewhere else starts nothing but a measurement.
    match words.first() {
        Some(&first) if quick::definition(first).is_some() || ALSO.contains(&first) => {}
        _ => return Err(wrong("its command is none that can be carried out again")),
    }
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let option = word
            .strip_prefix("--")
            .map(|it| it.split_once('=').unwrap_or((it, "")));
        match option {
            Some((name, _)) if WRITTEN.contains(&name) => {
                if !word.contains('=') {
                    words.next();
                }
            }
            _ => kept.push(word.to_owned()),
        }
    }
    Ok(kept)
}

/// As a shell takes it.
fn shown(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let quoted = words
        .iter()
        .map(|word| match word.chars().all(plain) && !word.is_empty() {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        });
    let words: Vec<String> = std::iter::once("uaperf".to_owned()).chain(quoted).collect();
    words.join(" ")
}
