//! End the servers that were left running.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::screen::tell;

/// End servers that were started with --background
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Names as in `uaperf peers list`, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stacks = super::chosen(&args.names)?;
    let mut stopped = 0;
    for running in ::peers::background::list() {
        if stacks.iter().any(|stack| stack.name == running.stack) && running.stop() {
            let ::peers::background::Running {
                stack, url, pid, ..
            } = running;
            tell!("ended {stack} at {url} (process {pid})");
            stopped += 1;
        }
    }
    // `stop all` is what scripts say to be sure: nothing to do is fine there.
    if stopped == 0 && !args.names.iter().any(|name| name == "all") {
        return Err(
            Failure::new(format!("not running: {}", args.names.join(" ")))
                .hint("uaperf peers list shows what runs in the background")
                .into(),
        );
    }
    Ok(ExitCode::SUCCESS)
}
