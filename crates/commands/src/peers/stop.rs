//! End the servers that were left running.

use std::process::ExitCode;

use serde_json::json;

use crate::failure::Failure;
use crate::screen::{self, tell};

/// End servers that were started with --background
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Names as in `uaperf peers list`, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stacks = super::chosen(&args.names)?;
    let mut stopped = Vec::new();
    for running in ::peers::background::list() {
        if stacks.iter().any(|stack| stack.name == running.stack) && running.stop() {
            let ::peers::background::Running {
                stack, url, pid, ..
            } = running;
            tell!("ended {stack} at {url} (process {pid})");
            stopped.push(json!({"name": stack, "url": url.to_string(), "pid": pid}));
        }
    }
    if args.json {
        screen::json(&mut screen::out(), &stopped)?;
    }
    // `stop all` is what scripts say to be sure: nothing to do is fine there.
    if stopped.is_empty() && !args.names.iter().any(|name| name == "all") {
        return Err(
            Failure::new(format!("not running: {}", args.names.join(" ")))
                .hint("uaperf peers list shows what runs in the background")
                .into(),
        );
    }
    Ok(ExitCode::SUCCESS)
}
