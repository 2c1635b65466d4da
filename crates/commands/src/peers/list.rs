//! What is here, and what it would take to have the rest.

use crate::screen;
use std::io::{self, Write};
use std::process::ExitCode;

use ::peers::{Stack, StackState};
use serde::Serialize;

/// Show which peers there are and which are installed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Listed {
    peers: Vec<Peer>,
    running: Vec<Started>,
}

#[derive(Debug, Serialize)]
struct Peer {
    name: &'static str,
    version: &'static str,
    language: &'static str,
    state: String,
    next: String,
}

#[derive(Debug, Serialize)]
struct Started {
    peer: String,
    url: String,
    pid: u32,
}

fn print_json() -> io::Result<()> {
    let peer = |(stack, state): (&'static Stack, StackState)| {
        let [_, _, _, word, next] = row(stack, &state);
        Peer {
            name: stack.name,
            version: stack.version,
            language: stack.language,
            state: word,
            next,
        }
    };
    let started = |it: ::peers::background::Running| Started {
        peer: it.stack.to_string(),
        url: it.url.to_string(),
        pid: it.pid,
    };
    let listed = Listed {
        peers: super::states(Stack::all()).into_iter().map(peer).collect(),
        running: ::peers::background::list()
            .into_iter()
            .map(started)
            .collect(),
    };
    screen::json(&mut screen::out(), &listed)
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.json {
        print_json()?;
        return Ok(ExitCode::SUCCESS);
    }
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
