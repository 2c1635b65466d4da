//! `uaperf man` and `uaperf completions`: what the definition of the arguments says, for manuals and
//! shells.

use std::path::PathBuf;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::failure::Failure;
use crate::screen;

/// Write manual pages, one for each command
#[derive(Debug, clap::Args)]
pub struct Man {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Print completions of commands and options for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  uaperf completions bash > ~/.local/share/bash-completion/completions/uaperf
  uaperf completions fish > ~/.config/fish/completions/uaperf.fish";

/// Carries out `uaperf man`.
pub fn man(args: Man, program: clap::Command) -> anyhow::Result<ExitCode> {
    let failed = |error: std::io::Error| {
        Failure::new(format!(
            "cannot write to {}: {error}",
            args.folder.display()
        ))
    };
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(program, &args.folder).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Carries out `uaperf completions`.
pub fn completions(args: Completions, mut program: clap::Command) -> anyhow::Result<ExitCode> {
    // Into memory first: the generator panics where a pipe is closed early.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut program, "uaperf", &mut text);
    std::io::Write::write_all(&mut screen::out(), &text)?;
    Ok(ExitCode::SUCCESS)
}
