//! Download and build peers.

use std::process::ExitCode;

use ::peers::Stack;
use serde_json::json;

use crate::failure::Failure;
use crate::screen::{self, tell};

/// Download and build peers
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Names as in `uaperf peers list`, or `all`; nats-server is the broker of `--fleet nats:TAG`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (mut failed, mut told) = (Vec::new(), Vec::new());
    let (brokers, names): (Vec<_>, Vec<_>) =
        (args.names.into_iter()).partition(|it| Stack::broker(it).is_some());
    let brokers = brokers.iter().filter_map(|it| Stack::broker(it));
    for stack in super::chosen(&names)?.into_iter().chain(brokers) {
        let name = stack.name;
        // One that cannot be had does not keep the next from being installed.
        if let Err(error) = stack.install(&mut |event| tell!("{name}: {event}")) {
            tell!("{error}");
            told.push(json!({"name": name, "installed": false, "problem": error.to_string()}));
            failed.push(name);
            continue;
        }
        told.push(json!({"name": name, "installed": true, "version": stack.version}));
    }
    if args.json {
        screen::json(&mut screen::out(), &told)?;
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let names = failed.join(" ");
    Err(Failure::new(format!("not installed: {names}"))
        .hint(format!("uaperf peers doctor {names}"))
        .into())
}
