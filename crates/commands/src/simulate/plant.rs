//! `uaperf simulate plant`: a plant file, as discrete events.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use judge::Exit;
use model::plant::Plant;
use plan::unit::duration::{self, show_ns};
use simulate::{Engine, Files};

use super::{files, screen as drawn, world};
use crate::failure::Failure;
use crate::interrupt;
use crate::model::delays::Begin;
use crate::model::{self as models, Who};
use crate::screen::{self, tell};
use crate::written;

/// Simulate a plant file: its servers, clients and links, and what happens to them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The plant: the file that `uaperf size` reads, with links and events
    #[arg(value_name = "PLANT.toml")]
    plant: PathBuf,
    /// A model file, or one that comes with the program: burger2019, plant, open62541, pyopcua [default: the file's own costs]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Whether each point goes to one client or to each of them, instead of what the file says
    #[arg(long, value_name = "WHO")]
    fanout: Option<Who>,
    /// How long is simulated [default: what the file says, or 10m]
    #[arg(long, value_name = "DURATION", value_parser = crate::model::interval)]
    duration: Option<Duration>,
    /// When publishing intervals of a server's clients begin, instead of what the file says
    #[arg(long, value_name = "WHEN")]
    phases: Option<Begin>,
    /// Where chance comes from: the same number, the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write run files into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Of what there is a run file each
    #[arg(long, value_name = "WHAT", default_value = "kind", requires = "out")]
    files: Of,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Of {
    /// All clients of a kind of servers
    Kind,
    /// All clients of a server
    Node,
    /// Each client
    Client,
}

const EXAMPLES: &str = "\
A plant file is that of `uaperf size`, and may say more:

  duration = \"10m\"
  phases = \"random\"           # of publishing intervals: aligned, random, staggered; a node may too
  [[link]]
  name = \"cell switch\"
  link = \"100Mbit/s,delay=200us\"
  each = 24                   # nodes behind one of it; without it, all are behind the same
  [[node]]
  name = \"controller\"
  link = \"cell switch\"
  reads = \"20/s\"              # of all its clients together; batch = 10
  connect = \"6ms\"             # CPU time of a client that connects
  [[event]]
  at = \"5m\"
  link = \"cell switch\"
  down = \"45s\"                # or node = \"controller\" with restart or power_off; which = 3
  [client]
  watchdog = \"10s\"
  back_off = \"1s..30s\"
  [costs]                     # where there is no model
  message = \"1.5ms\"
  value = \"26us\"

Examples:
  uaperf simulate plant line4.toml --model server.json
  uaperf simulate plant line4.toml --model burger2019 --phases staggered --out results/line4
  uaperf show results/line4/controller.json";

/// More run files than these are not written.
const MOST_FILES: u64 = 1_000;

/// Carries out `uaperf simulate plant`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let model = args
        .model
        .as_ref()
        .map(|it| models::server_model(it))
        .transpose()?;
    let text = models::text(&args.plant)?;
    let wrong = |error: String| Failure::new(format!("{}: {error}", args.plant.display()));
    let mut plant = Plant::read(&text, args.fanout.map(Into::into))
        .map_err(|error| wrong(error.to_string()))?;
    if let Some(it) = args.duration {
        plant.duration_ms = it.as_secs_f64() * 1e3;
    }
    if let Some(it) = args.phases {
        plant
            .nodes
            .iter_mut()
            .for_each(|node| node.phases = it.into());
    }
    if model.is_none() && plant.costs.is_empty() {
        return Err(wrong("nothing says what a message costs".to_owned())
            .hint("--model with a model file or burger2019, or [costs] in the file")
            .into());
    }
    let made = world::World::of(&plant, model.as_ref(), args.seed).map_err(wrong)?;
    let mut it = made;
    it.world.files = match args.files {
        Of::Kind => Files::Kind,
        Of::Node => Files::Node,
        Of::Client => Files::Client,
    };
    let files = match args.files {
        Of::Kind => it.world.kinds.len() as u64,
        Of::Node => it.world.nodes(),
        Of::Client => it.world.sessions(),
    };
    if args.out.is_some() && files > MOST_FILES {
        return Err(Failure::usage(format!(
            "--files: that would be {files} run files (at most {MOST_FILES})"
        ))
        .hint("--files kind has one for each kind of server")
        .into());
    }
    if let Some(folder) = &args.out {
        written::check_folder(folder)?;
    }
    let stop = interrupt::flag()?;
    let engine = Engine::new(&it.world).map_err(|error| wrong(error.to_string()))?;
    let (began, length) = (Instant::now(), it.world.length);
    let mut told = 0;
    let outcome = engine.run(|now| {
        let percent = now.saturating_mul(100) / length;
        if percent > told && began.elapsed() > Duration::from_secs(1) {
            told = percent;
            screen::status(&format!("simulated {percent} % of {}", show_ns(length)));
        }
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    screen::status("");
    let interrupted = outcome.length < length;
    let took = began.elapsed();
    let summary = drawn::Summary::of(&it, &plant, &outcome);
    screen::print(&summary, args.json, drawn::draw)?;
    tell!(
        "simulated {} in {}, {} events",
        show_ns(outcome.length),
        duration::show(took),
        outcome.events
    );
    if let Some(folder) = &args.out {
        let written = files::write(&it, &plant, outcome, interrupted, folder)?;
        let files = if written == 1 { "file" } else { "files" };
        tell!("{written} run {files} in {}", folder.display());
    }
    Ok(match interrupted {
        true => ExitCode::from(Exit::Interrupted),
        false => ExitCode::SUCCESS,
    })
}
