//! The program: arguments in, exit code out.

mod access;
mod advice;
mod cert;
mod cli;
mod demo;
mod failure;
mod peers;
mod place;
mod probe;
mod serve;
mod show;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.run() {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
