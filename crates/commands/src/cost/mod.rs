//! `uaperf cost`: what a server spends on each thing that it does or holds, by slopes over sweeps.

mod design;
mod picture;
mod saved;
mod several;
mod table;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use judge::Exit;
use load::access::NAMELESS;
use load::engine::Control;
use plan::TargetSpec;
use plan::unit::duration;
use record::Run;
use record::run::{Kind, Phase, UsageSeries};

pub use self::saved::page as kept_page;

use self::design::{Pace, Per};
use self::table::{Cost, FORMAT, Point, Table, VERSION};
use crate::access;
use crate::failure::Failure;
use crate::global::Global;
use crate::interrupt;
use crate::quick;
use crate::screen::{self, tell};
use crate::time_limit;
use crate::{results, written};

/// Measure what a server spends on each Read, value, notification, connection, session, subscription and item
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The server: opc.tcp://host:port/path
    #[arg(value_name = "URL", required_unless_present = "peers")]
    target: Option<TargetSpec>,
    /// Servers that are started for it instead, one after the other: plant (ours), stacks as in `uaperf peers list`, or all;
    /// the tables are Markdown then, and --out is a folder
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["target", "server_pid"])]
    peers: Vec<String>,
    /// How long each of some sixty steps loads the server
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = length)]
    step: Duration,
    /// The server's process, where it does not listen itself on this machine's loopback
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Only these, instead of all
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_enum)]
    only: Vec<Per>,
    /// What may be done to the server beyond reading: storm (connections that come and go)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["storm"])]
    allow: Vec<String>,
    /// The table as JSON instead of a screen for people
    #[arg(long)]
    json: bool,
    /// Also write the table as JSON into this file; with --peers one for each server into this folder
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also draw the table as a page of bars for a browser
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// No progress while it runs
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    feed: quick::feed::Args,
    #[command(flatten)]
    access: access::Args,
}

const EXAMPLES: &str = "\
The server's process has to run on this machine. Nothing is written to the server; what is made in it is \
subscriptions, items and sessions, and they are deleted again. Costs are slopes over steps with more and more of one \
thing, each with half of its 95 % interval; what noise hides is said to be hidden.

Examples:
  uaperf cost opc.tcp://localhost:4840
  uaperf cost opc.tcp://localhost:4840 --step 3s --allow storm --out costs.json
  uaperf cost opc.tcp://localhost:4840 --report costs.html
  uaperf cost --peers all --step 3s --allow storm --out costs
  uaperf cost opc.tcp://localhost:4840 --server-pid 4711 --security best --json";

fn length(text: &str) -> Result<Duration, String> {
    let long = duration::parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_millis(500)..=Duration::from_secs(600)).contains(&long) {
        true => Ok(long),
        false => Err("want 500ms to 10m".to_owned()),
    }
}

/// Carries out `uaperf cost`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let control = Control::default();
    interrupt::stops(&control)?;
    let live = ("--live-file", &args.feed.live_file);
    let Some(target) = &args.target else {
        written::check([("--report", &args.report), live], &[])?;
        args.feed.open()?;
        return several::run(&args, &control, global);
    };
    written::check(
        [("--out", &args.out), ("--report", &args.report), live],
        &[],
    )?;
    args.feed.open()?;
    let bench = Bench {
        args: &args,
        target: target.to_string(),
        control,
        global,
    };
    let table = bench.table(&Per::ALL)?;
    if let Some(file) = &args.out {
        let text = serde_json::to_string_pretty(&table)?;
        results::write(file, &(text + "\n"))?;
    }
    if let Some(file) = &args.report {
        let name = table.process.clone().unwrap_or_else(|| "server".to_owned());
        let page = picture::page(&[(&name, &table)]);
        written::put("--report", file, page.as_bytes());
    }
    let mut out = out(&args);
    match args.json {
        true => screen::json(&mut out, &table)?,
        false => out.write_all(screen::text(&table, table::draw).as_bytes())?,
    }
    Ok(ExitCode::from(match &table {
        it if it.interrupted => Exit::Interrupted,
        it if it.costs.iter().any(Cost::was_measured) => Exit::Good,
        _ => Exit::Nothing,
    }))
}

/// Where the table goes: beside a file that goes to standard output.
fn out(args: &Args) -> screen::Out {
    let files = [&args.report, &args.feed.live_file];
    let takes_output = |it: &Option<PathBuf>| it.as_deref().is_some_and(written::is_output);
    screen::Out::beside_file(files.into_iter().any(takes_output))
}

/// Who makes the steps.
struct Bench<'a> {
    args: &'a Args,
    target: String,
    control: Control,
    global: &'a Global,
}

/// The first load, which says how much the server can do.
const PILOT: &str = "--in-flight 1 --duration 1s --warmup 200ms";

/// After so many steps that went wrong nothing more of a kind is tried.
const ENOUGH: usize = 3;

impl Bench<'_> {
    /// Of these kinds, as far as they are wanted.
    fn table(&self, kinds: &[Per]) -> anyhow::Result<Table> {
        let words = PILOT.split(' ').map(str::to_owned).collect();
        let pilot = self.measure("read", words)?;
        let phase = only(&pilot)?;
        if let Some(why) = lacking(&pilot) {
            return Err(Failure::new(format!("nothing can be measured: {why}")).into());
        }
        let server = server(phase).ok_or_else(|| {
            Failure::new("the server's process cannot be found from here".to_owned())
                .hint("run it on the server's machine, with --server-pid PID")
        })?;
        let unknown =
            |what: &str| Failure::new(format!("nothing can be measured: {what} is not known"));
        let pid = server.pid.ok_or_else(|| unknown("the server's process"))?;
        let pace = Pace {
            reads_per_s: phase
                .total
                .rate_per_s
                .ok_or_else(|| unknown("how many reads a second the server does"))?,
            length: self.args.step,
        };
        let target = pilot.targets.first();
        let mut table = Table {
            format: FORMAT.to_owned(),
            version: VERSION,
            url: target.map_or_else(String::new, |it| it.url.clone()),
            server: target.map_or_else(String::new, product),
            security: target.map_or_else(String::new, |it| it.security.clone()),
            pid,
            process: server.name.clone(),
            machine: pilot.machine.clone(),
            step_ns: duration::nanos(self.args.step),
            reads_per_s: pace.reads_per_s,
            interrupted: false,
            costs: Vec::new(),
        };
        let only = &self.args.only;
        for &per in kinds {
            if self.control.is_stopped() {
                break;
            }
            if !only.is_empty() && !only.contains(&per) {
                continue;
            }
            let cost = match per.needs() {
                Some(what) if !self.args.allow.iter().any(|it| it == what) => Cost::missing(
                    per,
                    &format!("it has to be allowed: the same command with --allow {what}"),
                ),
                _ => self.sweep(per, pace),
            };
            table.costs.push(cost);
        }
        table.interrupted = self.control.is_stopped();
        Ok(table)
    }

    /// Makes the steps of one kind.
    fn sweep(&self, per: Per, pace: Pace) -> Cost {
        let (mut points, mut left_out) = (Vec::new(), Vec::new());
        let levels = per.levels(pace);
        for (n, &level) in levels.iter().enumerate() {
            if self.control.is_stopped() {
                left_out.push(time_limit::why());
                break;
            }
            if !self.args.quiet {
                tell!(
                    "{}: step {} of {}, {level}",
                    per.name(),
                    n + 1,
                    levels.len()
                );
            }
            quick::feed::point(&format!("{} {level}", per.name()));
            match self.step(per, level, pace) {
                Ok(point) => points.push(point),
                Err(why) => left_out.push(format!("{level}: {why}")),
            }
            if left_out.len() >= ENOUGH {
                break;
            }
        }
        Cost::of(per, points, left_out)
    }

    fn step(&self, per: Per, level: u32, pace: Pace) -> Result<Point, String> {
        let run = self
            .measure(per.service(), per.words(level, pace))
            .map_err(|error| format!("{error:#}"))?;
        if let Some(why) = lacking(&run) {
            return Err(why);
        }
        let phase = only(&run).map_err(|error| error.to_string())?;
        let server = server(phase).ok_or("the server's process was not seen")?;
        let cpu = match &server.window.cpu_cores {
            record::run::Figure::Known(cores) => *cores,
            record::run::Figure::Missing { not_available } => return Err(not_available.clone()),
        };
        let amount = per.amount(level, phase).filter(|it| *it > 0.0);
        let inside = server.at_ns.iter().zip(&server.rss_bytes);
        let mut last = inside.rev().filter(|(at, _)| **at <= phase.to_ns);
        Ok(Point {
            amount: amount.ok_or("nothing came of it")?,
            cpu_cores: cpu,
            rss_bytes: last.find_map(|(_, rss)| *rss).map(|it| it as f64),
        })
    }

    /// A quick command of one phase.
    fn measure(&self, service: &str, words: Vec<String>) -> anyhow::Result<Run> {
        let mut all = vec![self.target.clone(), "--quiet".to_owned()];
        all.extend(
            self.args
                .server_pid
                .map(|pid| format!("--server-pid={pid}")),
        );
        all.extend(words);
        // There is one for each name that is asked for here.
        let typed = quick::definition(service)
            .unwrap_or_default()
            .no_binary_name(true)
            .try_get_matches_from(all)
            .map_err(|error| Failure::usage(crate::usage::in_one_line(&error)))?;
        let asked = quick::asked(service, &typed)?.through(self.args.access.clone());
        let targets = asked.targets()?;
        let phase = asked.phase(targets.len())?;
        asked.measure(
            &targets,
            &phase,
            &self.control.for_measurement(),
            self.global,
        )
    }
}

fn only(run: &Run) -> anyhow::Result<&Phase> {
    let phase = run.phases.first();
    phase.ok_or_else(|| Failure::new("nothing was measured".to_owned()).into())
}

fn server(phase: &Phase) -> Option<&UsageSeries> {
    phase.resources.iter().find(|it| it.who == "server")
}

/// Why a step says nothing: something of it was not there, or went wrong.
fn lacking(run: &Run) -> Option<String> {
    let phase = run.phases.first()?;
    let evidence = run.verdict.evidence.first().cloned().unwrap_or_default();
    let refused = phase.subscriptions.as_ref().and_then(|it| it.ended.first());
    match run.verdict.kind {
        Kind::Failed | Kind::Incomplete => Some(evidence),
        // Then a part of what it spent went into something else.
        _ if phase.total.errors > 0 => Some(format!("{} operations failed", phase.total.errors)),
        _ => refused.map(|it| format!("{}: {}", it.what, it.status.name)),
    }
}

/// What a server calls itself.
fn product(target: &record::run::Target) -> String {
    let product = &target.product;
    let words = [&product.name, &product.version];
    let known: Vec<&str> = words
        .iter()
        .filter_map(|it| Some(it.known()?.as_str()))
        .collect();
    match known.is_empty() {
        true => NAMELESS.to_owned(),
        false => known.join(" "),
    }
}
