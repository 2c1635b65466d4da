//! Download and build peers.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::screen::tell;

/// Download and build peers
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Names as in `uaperf peers list`, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut failed = Vec::new();
    for stack in super::chosen(&args.names)? {
        let name = stack.name;
        // One that cannot be had does not keep the next from being installed.
        if let Err(error) = stack.install(&mut |event| tell!("{name}: {event}")) {
            tell!("{error}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let names = failed.join(" ");
    Err(Failure::new(format!("not installed: {names}"))
        .hint(format!("uaperf peers doctor {names}"))
        .into())
}
