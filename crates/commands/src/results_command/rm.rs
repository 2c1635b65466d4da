//! `uaperf results rm`: results that nobody wants any more.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::Exit;
use record::{Run, sweep};

use super::wanted::Wanted;
use crate::failure::Failure;
use crate::screen;

/// Remove results: files by their names, or those in folders by what they say
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Rm {
    /// Result files, or folders with all that is in them
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    /// Only tell which would be removed
    #[arg(long)]
    dry_run: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Only what is a result goes: pages, tables and other files stay, and so do folders that have any. Of a folder it has to be
said which ones; a scenario's folder that has none left goes with its index. If one file is no result, nothing is removed.

Examples:
  uaperf results rm results/20260301T093000Z-read.json
  uaperf results rm results --before 2026-11-01 --dry-run
  uaperf results rm results nightly --tag build=1.4.2";

/// Carries out `uaperf results rm`.
pub fn run(args: &Rm) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    for path in &args.paths {
        match path.is_dir() {
            true if !args.wanted.says_which() => {
                let what = format!(
                    "{}: is a folder, and nothing says which of its results",
                    path.display()
                );
                let hint = "--before DATE, --tag NAME=VALUE, --command NAME or --target TEXT; or name the files";
                return Err(Failure::usage(what).hint(hint).into());
            }
            true => found.extend(args.wanted.of(path)?.into_iter().map(|(file, _)| file)),
            false => {
                let run = Run::read(path).map_err(|error| Failure::new(error.to_string()))?;
                if args.wanted.has(&run) {
                    found.push(path.clone());
                }
            }
        }
    }
    found.sort();
    found.dedup();
    let mut out = screen::out();
    for file in &found {
        if !args.dry_run {
            std::fs::remove_file(file).map_err(|error| {
                Failure::new(format!("cannot remove {}: {error}", file.display()))
            })?;
            file.parent().into_iter().for_each(tidy);
        }
        if !args.json {
            writeln!(out, "{}", file.display())?;
        }
    }
    let did = if args.dry_run {
        "would be removed"
    } else {
        "removed"
    };
    match args.json {
        true => screen::json(
            &mut out,
            &serde_json::json!({"removed": !args.dry_run, "files": found}),
        )?,
        false => writeln!(out, "{} {did}", found.len())?,
    }
    Ok(ExitCode::from(match found.is_empty() {
        true => Exit::Nothing,
        false => Exit::Good,
    }))
}

/// A scenario's folder in which nothing but its index is left goes too.
fn tidy(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let left: Vec<_> = entries.flatten().map(|it| it.file_name()).collect();
    if matches!(left.as_slice(), [index] if index == sweep::FILE) {
        // Whoever writes there meanwhile keeps the folder.
        let _ = std::fs::remove_file(folder.join(sweep::FILE));
        let _ = std::fs::remove_dir(folder);
    }
}
