//! What is wrong with each peer, how that can be seen, and what cures it.

use crate::screen;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

use ::peers::{Client, ClientOptions, Server, Stack, StackState, StartOptions, Tool};
use judge::Exit;

/// Say what is wrong with peers, and what cures it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Names as in `uaperf peers list` [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Also start each one that is installed and let its client talk to it
    #[arg(long = "try")]
    try_it: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stacks = match args.names.is_empty() {
        true => Stack::all().to_vec(),
        false => super::chosen(&args.names)?,
    };
    let mut out = screen::out();
    if !args.json {
        writeln!(out, "peers are in {}", ::peers::home().display())?;
    }
    let mut tools = Tools::default();
    let (mut all_well, mut peers) = (true, Vec::new());
    for (stack, state) in super::states(&stacks) {
        let mut said = Vec::new();
        let well = match args.json {
            true => examine(&mut said, &mut tools, stack, &state, args.try_it)?,
            false => examine(&mut out, &mut tools, stack, &state, args.try_it)?,
        };
        all_well &= well;
        let said = String::from_utf8_lossy(&said);
        // The first lines are its name.
        let said: Vec<&str> = said.lines().skip(2).map(str::trim).collect();
        peers.push(serde_json::json!({
            "name": stack.name,
            "version": stack.version,
            "installed": matches!(state, StackState::Installed),
            "well": well,
            "said": said,
        }));
    }
    if args.json {
        screen::json(&mut out, &peers)?;
    }
    Ok(match all_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Exit::Nothing),
    })
}

/// Writes what there is to say about one peer; false when something about it is wrong. Not being
/// installed is not wrong.
fn examine(
    out: &mut impl Write,
    tools: &mut Tools,
    stack: &'static Stack,
    state: &StackState,
    try_it: bool,
) -> io::Result<bool> {
    writeln!(
        out,
        "\n{} {}: {}, {}",
        stack.name, stack.version, stack.title, stack.language
    )?;
    let mut well = true;
    for tool in stack.tools {
        match tools.check(tool) {
            Ok(version) => writeln!(out, "  has    {}: {version}", tool.name)?,
            Err(reason) => {
                well = false;
                writeln!(
                    out,
                    "  lacks  {}: {reason}\n    cure: {}",
                    tool.name, tool.cure
                )?;
            }
        }
    }
    match state {
        StackState::Installed if try_it => well &= try_out(out, stack)?,
        StackState::Installed => writeln!(out, "  is installed in {}", stack.dir().display())?,
        StackState::NotInstalled => {
            writeln!(
                out,
                "  is not installed\n    cure: uaperf peers install {}",
                stack.name
            )?;
        }
        // The tools are named above.
        StackState::Missing(_) => {}
        StackState::Broken { reason, log } => {
            well = false;
            writeln!(out, "  could not be installed: {reason}")?;
            write_tail(out, log)?;
            writeln!(
                out,
                "    cure: mend that, then uaperf peers install {}",
                stack.name
            )?;
        }
    }
    Ok(well)
}

fn try_out(out: &mut impl Write, stack: &'static Stack) -> io::Result<bool> {
    let server = match Server::start(stack, &StartOptions::default()) {
        Ok(server) => server,
        Err(error) => {
            writeln!(out, "  does not start: {error}")?;
            writeln!(
                out,
                "    cure: remove {} and uaperf peers install {}",
                stack.dir().display(),
                stack.name
            )?;
            return Ok(false);
        }
    };
    let ready = server.start_time().as_secs_f64();
    writeln!(out, "  starts: ready after {ready:.1} s")?;
    let complaint = match Client::run(stack, server.url(), &ClientOptions::default()) {
        Ok(report) => report.error,
        Err(error) => Some(error.to_string()),
    };
    match complaint {
        None => writeln!(
            out,
            "  works: its client reads, writes, browses, calls and subscribes"
        )?,
        Some(ref what) => {
            writeln!(out, "  its client and server disagree: {what}")?;
            write_tail(out, server.log())?;
        }
    }
    Ok(complaint.is_none())
}

fn write_tail(out: &mut impl Write, log: &std::path::Path) -> io::Result<()> {
    // A log that is not there has no last lines; what failed is said beside it.
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines[lines.len().saturating_sub(10)..] {
        writeln!(out, "    | {line}")?;
    }
    writeln!(out, "    (all of it: {})", log.display())
}

/// Answers of tools that were asked before: several stacks need the same ones.
#[derive(Default)]
struct Tools(BTreeMap<&'static str, Result<String, String>>);

impl Tools {
    fn check(&mut self, tool: &'static Tool) -> &Result<String, String> {
        self.0.entry(tool.name).or_insert_with(|| tool.check())
    }
}
