//! What is here, and what it would take to have the rest.

use crate::screen;
use std::io::{self, Write};
use std::process::ExitCode;

use ::peers::{Stack, StackState};

/// Show which peers there are and which are installed
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    let rows: Vec<[String; 5]> = super::states(Stack::all())
        .into_iter()
        .map(|(stack, state)| row(stack, &state))
        .collect();
    let head = ["peer", "version", "language", "state", "next"].map(str::to_owned);
    let mut out = screen::out();
    write_table(&mut out, &[&[head], rows.as_slice()].concat())?;
    for running in ::peers::background::list() {
        let ::peers::background::Running {
            stack, url, pid, ..
        } = running;
        writeln!(
            out,
            "running: {stack} at {url} (process {pid}), to end it: uaperf peers stop {stack}"
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(stack: &Stack, state: &StackState) -> [String; 5] {
    let name = stack.name;
    let (word, next) = match state {
        StackState::Installed => ("installed", format!("uaperf peers start {name}")),
        StackState::NotInstalled => ("not installed", format!("uaperf peers install {name}")),
        StackState::Broken { .. } => ("broken", format!("uaperf peers doctor {name}")),
        StackState::Missing(tools) => {
            let needs: Vec<_> = tools.iter().map(|tool| tool.name).collect();
            (
                "needs tools",
                format!("{}: uaperf peers doctor {name}", needs.join(", ")),
            )
        }
    };
    [name, stack.version, stack.language, word, &next].map(str::to_owned)
}

fn write_table(out: &mut impl Write, rows: &[[String; 5]]) -> io::Result<()> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    for row in rows {
        for (cell, width) in row.iter().zip(widths) {
            write!(out, "{cell:width$}  ")?;
        }
        writeln!(out, "{}", row[4])?;
    }
    Ok(())
}
