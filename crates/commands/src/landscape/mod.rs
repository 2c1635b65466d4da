//! `uaperf fleet serve`: a landscape of simulated devices, for a client, gateway, historian or SCADA system under test.

mod file;
mod ledger;
mod live;
mod part;
mod placed;
mod schedule;
mod share;
mod start;

pub use part::{addresses, carry_out};

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use judge::Exit;
use observe::Process;
use plan::unit::{Bytes, duration};

use crate::failure::Failure;
use crate::fleet::spec::Spec;
use crate::global::Global;
use crate::looking_up;
use crate::metrics;
use crate::screen::{self, tell};
use crate::serve::running::{self, End};
use crate::serve::{figures, memory};
use file::Landscape;
use ledger::{Happened, Joint, Sheet, Struck, happened};
use live::{Begun, Live};
use share::Part;
use start::Running;

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
    /// Have agents serve the devices of groups that do not say it themselves with `on`: local:N, ssh:host, ssh:user@host,
    /// ssh:host:/path/to/uaperf, nats:TAG or nats:TAG/NAME, with *N or *cores behind it for its part
    #[arg(long, value_name = "SPEC", value_delimiter = ',')]
    fleet: Vec<Spec>,
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
    #[command(flatten)]
    metrics: metrics::Args,
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

impl Args {
    /// The options for an agent.
    fn words(&self) -> Vec<String> {
        let mut words = vec![format!("--grace={}ns", duration::nanos(self.grace))];
        words.extend(self.threads.map(|n| format!("--threads={n}")));
        words.extend(self.memory.map(|it| format!("--memory={}", it.0)));
        match self.trust {
            true => words.push("--trust".to_owned()),
            false => words.extend(self.looking_up.words()),
        }
        words
    }
}

const EXAMPLES: &str = "\
Examples:
  uaperf fleet serve devices.toml
  uaperf fleet serve devices.toml --check
  uaperf fleet serve devices.toml --trust --duration 10m --ledger truth.json --each
  uaperf fleet serve devices.toml --trust --fleet ssh:lab@pc1,ssh:lab@pc2

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

Ends with exit code 0 after --duration and with Ctrl-C, and writes its ledger either way; with exit code 1 where the
ledger of an agent is missing.";

/// Carries out `uaperf fleet serve`.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<ExitCode> {
    let landscape = Landscape::read(&args.file)?;
    if args.check {
        write!(screen::out(), "{}", live::contents(&landscape))?;
        return Ok(ExitCode::SUCCESS);
    }
    let placed = placed::is_asked(&landscape, args);
    if placed && !args.metrics.is_none() {
        let what = "--metrics and --push: agents serve the devices, and their figures are not here";
        let hint = "leave it out, or serve a part on each host with --metrics there";
        return Err(Failure::usage(what).hint(hint).into());
    }
    if let Some(path) = &args.ledger {
        running::check_ledger(path)?;
    }
    let ended = running::endings(args.with_parent)?;
    let quiet = args.quiet || args.with_parent;
    let joint = match placed {
        true => placed::serve(&landscape, args, global, ended, quiet)?,
        false => here(&landscape, args, global, ended, quiet)?,
    };
    if let Some(path) = &args.ledger {
        let text = joint.to_json(args.each);
        running::write_ledger(path, &text)?;
    }
    if !quiet {
        write!(screen::out(), "{}", joint.totals())?;
    }
    Ok(match joint.is_whole() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Exit::Nothing),
    })
}

/// Serves all devices in this process until it ends; gives their ledger.
fn here(
    landscape: &Landscape,
    args: &Args,
    global: &Global,
    ended: Receiver<End>,
    quiet: bool,
) -> anyhow::Result<Joint> {
    let all = Part {
        devices: &[],
        host: None,
    };
    let listeners = args.metrics.open()?;
    // Certificates of many devices take a while, in which somebody may have enough of it.
    let patience = Patience::new(ended);
    let is_over = || patience.is_over();
    let running = start::start(landscape, &all, args, global, &is_over)?;
    let told = running.watches.clone();
    listeners.begin(move || figures::families(&told), metrics::warn)?;
    let mut process = Process::own();
    if !quiet {
        let begun = Begun {
            devices: running.watches.len(),
            took: running.took,
            certificates: running.certificates,
            memory: process.sample().rss_bytes.ok(),
            agents: 0,
        };
        tell!("{}", live::begun(landscape, &begun));
    }
    let urls: Vec<String> = running
        .watches
        .iter()
        .map(|it| it.url().to_owned())
        .collect();
    let mut out = screen::out();
    for line in live::ready(landscape, &urls) {
        writeln!(out, "READY {line}")?;
    }
    out.flush()?;
    let ended = patience.into_inner();
    let (struck, end) = pass_time(landscape, &running, args.duration, quiet, &ended)?;
    let watches = running.stop(match end {
        // Whoever started this waits for its end and not for its words.
        Some(End::Parent) => None,
        Some(End::Signal) | None => Some(args.grace),
    });
    let sheet = Sheet::read(landscape, &all, &watches);
    Ok(Joint::here(landscape, sheet, happened(landscape, &struck)))
}

/// Whether somebody has had enough of it meanwhile.
struct Patience {
    ended: Mutex<Receiver<End>>,
    over: AtomicBool,
}

impl Patience {
    /// As long as nobody ends it.
    fn new(ended: Receiver<End>) -> Self {
        Self {
            ended: Mutex::new(ended),
            over: AtomicBool::new(false),
        }
    }

    fn is_over(&self) -> bool {
        if self.ended.lock().is_ok_and(|it| it.try_recv().is_ok()) {
            self.over.store(true, Ordering::Relaxed);
        }
        self.over.load(Ordering::Relaxed)
    }

    /// Who waits for the end from now on.
    fn into_inner(self) -> Receiver<End> {
        self.ended
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
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
) -> anyhow::Result<(Vec<Struck>, Option<End>)> {
    let start = Instant::now();
    let mut live = (!quiet).then(|| Live::new(running.watches.len()));
    let mut process = Process::own();
    let mut schedule = landscape.events.iter().enumerate().peekable();
    let mut struck = Vec::new();
    loop {
        let now = start.elapsed();
        for it in running.strike(&mut schedule, start)? {
            struck.push(it);
            if let Some(event) = landscape.events.get(it.event).filter(|_| !quiet) {
                screen::status("");
                tell!("{}", live::event(event, &Happened::of(event, it)));
            }
        }
        if most.is_some_and(|most| now >= most) {
            return Ok((struck, None));
        }
        let next = schedule.peek().map(|(_, event)| event.at);
        let wait = [next, most]
            .into_iter()
            .flatten()
            .map(|at| at.saturating_sub(now))
            .fold(EVERY, Duration::min);
        match ended.recv_timeout(wait) {
            Ok(end) => return Ok((struck, Some(end))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("nobody is left who could end this").into());
            }
        }
        if let Some(live) = &mut live {
            let look = live::look(&running.watches, &mut process);
            live.look(start.elapsed(), look, &happened(landscape, &struck), next);
        }
    }
}
