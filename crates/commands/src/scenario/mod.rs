//! Tests as files: `uaperf run`, `uaperf check`, `uaperf new`.
//!
//! A file is a scenario, or a test description document of 2015, which becomes one.

mod bench;
pub mod check;
mod index;
mod measure;
pub mod new;
mod phase_work;
mod placed;
mod rows;
pub mod run;
mod servers;
mod vocabulary;
mod whole;

use std::path::Path;

use plan::description::{self, Description};
use plan::scenario::{Complaint, Given, Scenario};

use crate::failure::Failure;
use vocabulary::Commands;

/// A scenario, from its text; and the document, if it is a test description.
fn parse(
    text: &str,
    file: &Path,
    given: &Given,
) -> anyhow::Result<(Scenario, Option<Description>)> {
    let commands = Commands::beside(file);
    let named = file.display().to_string();
    let usage = |complaint: Complaint| Failure::usage(complaint.to_string());
    if !description::is_description(text) {
        let scenario = Scenario::parse(text, &named, given, &commands).map_err(usage)?;
        return Ok((scenario, None));
    }
    let document = Description::parse(text, &named).map_err(usage)?;
    if let Some((name, _)) = given.parameters.first() {
        let told = format!("-P {name}: a test description has no parameters");
        return Err(Failure::usage(told).into());
    }
    if !given.fleet.is_empty() {
        let told = "--fleet: the requests of a test description are sent at one moment, which agents cannot do \
                    yet (want a scenario)";
        return Err(Failure::usage(told).into());
    }
    let mut scenario = document
        .scenario(&named, &given.targets, &commands)
        .map_err(usage)?;
    if let Some(stem) = file.file_stem() {
        scenario.name = stem.to_string_lossy().into_owned();
    }
    Ok((scenario, Some(document)))
}

fn read(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", file.display()))
            .hint("uaperf new scenario.toml writes one to start from")
    })?;
    // Some editors begin a file with a mark of its encoding.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// `-P name=value`.
pub fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is no parameter (want NAME=VALUE)")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod options;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod reference;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
