//! `uaperf check`: whether a scenario can be run, or which line of it is wrong.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plan::description;
use plan::scenario::Given;
use serde_json::json;

use super::vocabulary::SOME_SERVER;
use super::{parameter, parse, read};
use crate::ending;
use crate::global::Global;
use crate::{results, screen};

/// Check a scenario or a result file; errors name the line and the key
#[derive(Debug, clap::Args)]
#[command(visible_alias = "validate")]
pub struct Args {
    /// Scenarios, test description documents, or result files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A parameter's value instead of the one in the file
    #[arg(short = 'P', value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Carries out `uaperf check`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let mut out = screen::out();
    let given = Given {
        parameters: args.parameters,
        targets: Vec::new(),
        repeat: None,
        fleet: Vec::new(),
        orphan: None,
    };
    let checked = |file: &Path| {
        let text = read(file)?;
        if text.trim_start().starts_with('{') {
            return Ok(results::checked(file, &text)?);
        }
        let mut given = given.clone();
        if description::is_description(&text) {
            // Whichever: a document names none.
            given.targets.push(SOME_SERVER.to_owned());
        }
        let (scenario, _) = parse(&text, file, &given)?;
        anyhow::Ok(report::planned::in_short(&scenario))
    };
    // One that is wrong does not hide what there is to say of the others.
    let mut code = ExitCode::SUCCESS;
    let mut all = Vec::new();
    for file in &args.files {
        match checked(file) {
            Ok(told) if args.json => all.push(json!({"file": file, "good": true, "about": told})),
            Ok(told) => writeln!(out, "{}: {told}", file.display())?,
            Err(error) => {
                all.push(json!({"file": file, "good": false, "problem": format!("{error:#}")}));
                code = ending::report(&error);
            }
        }
    }
    if args.json {
        screen::json(&mut out, &all)?;
    }
    Ok(code)
}
