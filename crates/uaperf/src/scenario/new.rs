//! `uaperf new`: a scenario to begin from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::Global;
use crate::failure::Failure;

/// Write a scenario to begin from, with comments
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What it is about [default: read]
    #[arg(value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// The file; one that is there is left alone [default: standard output]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What starters there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Kind {
    /// Reads at a given rate, with conditions
    #[default]
    Read,
    /// What a server can do: requests in flight doubled until it is saturated
    Capacity,
    /// The price of each security policy
    Security,
    /// Reads and writes side by side, by weight
    Mixed,
    /// The same load on other vendors' stacks
    Peers,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Self::Read => include_str!("starters/read.toml"),
            Self::Capacity => include_str!("starters/capacity.toml"),
            Self::Security => include_str!("starters/security.toml"),
            Self::Mixed => include_str!("starters/mixed.toml"),
            Self::Peers => include_str!("starters/peers.toml"),
        }
    }
}

/// Carries out `uaperf new`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let text = args.kind.unwrap_or_default().text();
    let Some(file) = args.file else {
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    let new = OpenOptions::new().write(true).create_new(true).open(&file);
    new.and_then(|mut new| new.write_all(text.as_bytes()))
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::usage(format!(
                "{} is there already (want a new file)",
                file.display()
            )),
            _ => Failure::new(format!("cannot write {}: {error}", file.display())),
        })?;
    eprintln!("{}: next, uaperf run --dry-run {0}", file.display());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use plan::scenario::Given;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_starter_can_be_run_as_it_is() {
        for kind in Kind::value_variants() {
            super::super::parse(kind.text(), Path::new("starter.toml"), &Given::default()).unwrap();
        }
    }
}
