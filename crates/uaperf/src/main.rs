//! The program: arguments in, exit code out.

mod cert;
mod cli;
mod failure;
mod peers;
mod place;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
