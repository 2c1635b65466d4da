//! `uaperf new`: a scenario to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::failure::Failure;
use crate::global::Global;
use crate::screen::{self, tell};

/// Write a scenario to start from, with comments
#[derive(Debug, clap::Args)]
#[command(after_help = kinds())]
pub struct Args {
    /// What it is about [default: read]
    #[arg(value_name = "KIND", value_parser = first)]
    kind: Option<First>,
    /// The file; one that is there is left alone [default: standard output]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The first word: a kind, or the file if there is no other word.
#[derive(Debug, Clone, PartialEq, Eq)]
enum First {
    Kind(Kind),
    File(PathBuf),
}

fn first(text: &str) -> Result<First, String> {
    match Kind::from_str(text, false) {
        Ok(kind) => Ok(First::Kind(kind)),
        Err(_) if text.contains(['.', '/', '\\']) => Ok(First::File(text.into())),
        Err(_) => {
            let names: Vec<String> = Kind::value_variants().iter().map(|it| it.name()).collect();
            Err(format!("want a file, or one of {}", names.join(", ")))
        }
    }
}

/// The kinds with a line each.
fn kinds() -> String {
    let mut text = "Kinds:".to_owned();
    for kind in Kind::value_variants() {
        text.push_str(&format!("\n  {:<15}{}", kind.name(), kind.about()));
    }
    text + "\n\nExamples:\n  uaperf new hmi hmi.toml\n  uaperf run hmi.toml --target opc.tcp://plc1:4840"
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
    /// Operators who look at pages of values that are renewed twice a second
    Hmi,
    /// One client that must not miss a value of ten thousand
    Historian,
    /// Polling once a second, and a method call for each order
    Mes,
    /// Fast subscriptions one way, writes the other way
    Gateway,
    /// Browsing all there is and reading names and classes of it
    Commissioning,
    /// An alarm client in a flood of events, and stations that follow what matters
    Alarms,
    /// Operators and engineers who connect, look, think, write and go again
    Users,
    /// Many small devices that write their values and read a set point
    Field,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Self::Read => include_str!("starters/read.toml"),
            Self::Capacity => include_str!("starters/capacity.toml"),
            Self::Security => include_str!("starters/security.toml"),
            Self::Mixed => include_str!("starters/mixed.toml"),
            Self::Peers => include_str!("starters/peers.toml"),
            Self::Hmi => include_str!("starters/hmi.toml"),
            Self::Historian => include_str!("starters/historian.toml"),
            Self::Mes => include_str!("starters/mes.toml"),
            Self::Gateway => include_str!("starters/gateway.toml"),
            Self::Commissioning => include_str!("starters/commissioning.toml"),
            Self::Alarms => include_str!("starters/alarms.toml"),
            Self::Users => include_str!("starters/users.toml"),
            Self::Field => include_str!("starters/field.toml"),
        }
    }

    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |it| it.get_name().to_owned())
    }

    /// What it is about, in a line.
    fn about(self) -> String {
        let value = self.to_possible_value();
        let about = value.as_ref().and_then(PossibleValue::get_help);
        about.map(ToString::to_string).unwrap_or_default()
    }
}

/// Carries out `uaperf new`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let (kind, file) = match (args.kind, args.file) {
        (Some(First::Kind(kind)), file) => (kind, file),
        (Some(First::File(file)), None) => (Kind::default(), Some(file)),
        (Some(First::File(first)), Some(_)) => {
            let what = first.display();
            return Err(Failure::usage(format!("there is no scenario kind {what}"))
                .hint("uaperf new --help lists them")
                .into());
        }
        (None, file) => (Kind::default(), file),
    };
    let text = kind.text();
    let Some(file) = file else {
        screen::out().write_all(text.as_bytes())?;
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
    tell!("{}: next, uaperf run --dry-run {0}", file.display());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use plan::scenario::Given;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_starter_can_be_run_as_it_is() {
        for kind in Kind::value_variants() {
            super::super::parse(kind.text(), Path::new("starter.toml"), &Given::default()).unwrap();
        }
    }

    #[test]
    fn the_page_on_scenarios_has_a_line_for_each() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
        let page = std::fs::read_to_string(page).unwrap();
        for kind in Kind::value_variants() {
            let line = format!("| `{}` | {} |", kind.name(), kind.about());
            assert!(page.contains(&line), "{line}");
        }
    }
}
