//! `uaperf fleet serve`: a landscape of simulated devices, for a client, gateway, historian or SCADA system under test.

mod file;
mod ledger;
mod live;
mod schedule;
mod start;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use plan::unit::{Bytes, duration};

use crate::failure::Failure;
use crate::global::Global;
use crate::looking_up;
use crate::screen::{self, tell};
use crate::serve::memory;
use crate::serve::running::{self, End};
use file::Landscape;
use ledger::Happened;
use live::Live;
use start::{Patience, Running};

/// Serve hundreds to thousands of simulated devices, with faults by schedule and one ledger of all of them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The landscape: groups of devices, and what happens to them
    #[arg(value_name = "DEVICES.toml")]
    file: PathBuf,
    /// Say what is in the file and whether anything is wrong with it; serve nothing
    #[arg(long)]
    check: bool,
    /// End by itself after so long [default: with Ctrl-C]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Threads that all devices share [default: half as many as there are processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=254))]
    threads: Option<u16>,
    /// Memory for what clients of all devices send, ask for and do not take, such as 512MiB [default: half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    memory: Option<Bytes>,
    /// Take the certificate of every client, and of a broker; else they have to be trusted with `uaperf cert trust`
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    looking_up: looking_up::Args,
    /// Write to FILE at the end what became of each update, sample, value and message, the sum over all devices
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// And a line for each device
    #[arg(long, requires = "ledger")]
    each: bool,
    /// How long clients are told that it ends, unless they leave before
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration::parse)]
    grace: Duration,
    /// Show nothing but where to connect to
    #[arg(long, short)]
    quiet: bool,
    /// End when standard input ends: for a parent that must not leave devices behind
    #[arg(long, hide = true)]
    with_parent: bool,
}

const EXAMPLES: &str = "\
Examples:
  uaperf fleet serve devices.toml
  uaperf fleet serve devices.toml --check
  uaperf fleet serve devices.toml --trust --duration 10m --ledger truth.json --each

A landscape of two lines, of which one restarts:
  [[group]]
  name = \"line1\"
  count = 100
  port = 20000

  [[group]]
  name = \"line2\"
  count = 100

  [[event]]
  at = \"30s\"
  devices = \"line2-*\"
  action = \"restart\"
  for = \"5s\"

Ends with exit code 0 after --duration and with Ctrl-C, and writes its ledger either way.";

/// Carries out `uaperf fleet serve`.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<ExitCode> {
    let landscape = Landscape::read(&args.file)?;
    if args.check {
        write!(screen::out(), "{}", live::contents(&landscape))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &args.ledger {
        running::check_ledger(path)?;
    }
    // Certificates of many devices take a while, in which somebody may have enough of it.
    let patience = Patience::new(running::endings(args.with_parent)?);
    let running = start::start(&landscape, args, global, &patience)?;
    let quiet = args.quiet || args.with_parent;
    if !quiet {
        tell!("{}", live::begun(&landscape, &running));
    }
    let mut out = screen::out();
    for line in live::ready(&landscape, &running) {
        writeln!(out, "READY {line}")?;
    }
    out.flush()?;
    let ended = patience.into_inner();
    let (happened, end) = pass_time(&landscape, &running, args.duration, quiet, &ended)?;
    let watches = running.stop(match end {
        // Whoever started this waits for its end and not for its words.
        Some(End::Parent) => None,
        Some(End::Signal) | None => Some(args.grace),
    });
    let joint = ledger::Joint::read(&landscape, &watches, happened);
    if let Some(path) = &args.ledger {
        let text = joint.to_json(args.each);
        running::write_ledger(path, &text)?;
    }
    if !quiet {
        write!(screen::out(), "{}", joint.totals())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How often is looked.
const EVERY: Duration = Duration::from_secs(1);

/// Until it ends: what is due happens to devices, and a line shows how they are. What happened, and who ended it.
fn pass_time(
    landscape: &Landscape,
    running: &Running,
    most: Option<Duration>,
    quiet: bool,
    ended: &Receiver<End>,
) -> anyhow::Result<(Vec<Happened>, Option<End>)> {
    let start = Instant::now();
    let mut live = (!quiet).then(|| Live::new(&running.watches));
    let mut events = landscape.events.iter().peekable();
    let mut happened = Vec::new();
    loop {
        let now = start.elapsed();
        while let Some(event) = events.next_if(|event| event.at <= now) {
            let it = running.strike(event, start)?;
            if !quiet {
                screen::status("");
                tell!("{}", live::event(event, &it));
            }
            happened.push(it);
        }
        if most.is_some_and(|most| now >= most) {
            return Ok((happened, None));
        }
        let next = events.peek().map(|event| event.at);
        let wait = [next, most]
            .into_iter()
            .flatten()
            .map(|at| at.saturating_sub(now))
            .fold(EVERY, Duration::min);
        match ended.recv_timeout(wait) {
            Ok(end) => return Ok((happened, Some(end))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("nobody is left who could end this").into());
            }
        }
        if let Some(live) = &mut live {
            live.look(start.elapsed(), &happened, next);
        }
    }
}
