//! Tests as files: `uaperf run`, `uaperf check`, `uaperf new`.

pub mod check;
pub mod new;
pub mod run;
mod servers;
mod vocabulary;

use std::path::Path;

use plan::scenario::{Given, Scenario};

use crate::failure::Failure;
use vocabulary::Commands;

/// A scenario, from its text.
fn parse(text: &str, file: &Path, given: &Given) -> anyhow::Result<Scenario> {
    Scenario::parse(
        text,
        &file.display().to_string(),
        given,
        &Commands::beside(file),
    )
    .map_err(|complaint| Failure::usage(complaint.to_string()).into())
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", file.display()))
            .hint("uaperf new scenario.toml writes one to begin from")
            .into()
    })
}

/// `-P name=value`.
fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is no parameter (want NAME=VALUE)")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
