//! `uaperf paper run`: experiments one after the other, each with a page, and what is to be said of their shapes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use judge::Exit;
use load::engine::Control;
use plan::description;
use plan::unit::duration;

use super::catalogue::{Catalogue, Ready};
use crate::failure::Failure;
use crate::fleet::Spec;
use crate::global::Global;
use crate::interrupt;
use crate::model::held_out;
use crate::scenario::parameter;
use crate::scenario::run::{Bundled, carry_out};
use crate::screen::{self, tell};
use crate::serving::{Folder, Serving};
use crate::{pcap, peers, quick, results, reverse, tags, written};

/// Carry out experiments, each into a folder with a page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Such as burger2019.fig_06; a study for all of it; `all` for all studies
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// As long as the study measured, or as short as shows that it works
    #[arg(long, value_enum, default_value_t)]
    scale: Scale,
    /// A parameter's value instead of the scenario's own
    #[arg(short = 'P', value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// These servers instead of those that the scenarios start
    #[arg(long, value_name = "URL")]
    target: Vec<String>,
    /// The server of another stack instead, as in `uaperf peers list`; it has the bench address space
    #[arg(long, value_name = "NAME", conflicts_with = "target")]
    peer: Option<String>,
    /// How often values of --peer change
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration::parse)]
    update: Duration,
    /// How often each point is measured [default: as the scenario says; once with --scale quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// Share sessions out to these agents: local:N, ssh:host, ssh:user@host, ssh:host:/path/to/uaperf, each with *N or *cores
    /// for its weight
    #[arg(long, value_name = "SPEC", value_delimiter = ',')]
    fleet: Vec<Spec>,
    /// Show what would be done, and how long it takes
    #[arg(long)]
    dry_run: bool,
    /// Folder for the folders of the experiments; a new one [default: results/UTCTIME-paper]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Accept the servers' certificates this once, whatever is wrong with them
    #[arg(long)]
    trust: bool,
    /// No progress while it runs
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    feed: quick::feed::Args,
    #[command(flatten)]
    pcap: pcap::Args,
    #[command(flatten)]
    tags: tags::Args,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// Seconds instead of minutes, and each point once
    Quick,
    /// What the study did
    #[default]
    Full,
}

const EXAMPLES: &str = "\
An experiment of several points can be gone on with after Ctrl-C: uaperf run --resume FOLDER.

Examples:
  uaperf paper run burger2019.fig_06 --dry-run
  uaperf paper run all --scale quick --out papers
  uaperf paper run tahvanainen2016.table_11 --target opc.tcp://plc1:4840 -P 'node=ns=3;s=Temp'
  uaperf paper run tahvanainen2016.table_11 --scale quick --peer open62541";

/// Where a scenario says which nodes it is about.
const NODE: &str = "\"$node\"";
/// Those of other stacks.
const BENCH: &str = "nsu=urn:bench;i=1000..1999";

/// What became of a scenario.
struct Done {
    name: String,
    exit: Exit,
    pages: Vec<PathBuf>,
    told: Vec<String>,
}

/// Carries out `uaperf paper run`.
pub fn run(args: Args, catalogue: &Catalogue, global: &Global) -> anyhow::Result<ExitCode> {
    let chosen = chosen(&args, catalogue)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => results::fresh(SystemTime::now().into(), "paper"),
    };
    // Kept for all experiments; none measures how it starts.
    let peer = match &args.peer {
        Some(name) if !args.dry_run => Some(peers::changing(name, args.update)?),
        _ => None,
    };
    let mut targets = args.target.clone();
    targets.extend(peer.iter().map(|it| it.url().to_owned()));
    let control = Control::default();
    if !args.dry_run {
        interrupt::stops(&control)?;
        written::check([("--live-file", &args.feed.live_file)], &[])?;
        args.feed.open()?;
    }
    let mut done = Vec::new();
    for (place, ready) in chosen.iter().enumerate() {
        if control.is_stopped() {
            break;
        }
        if chosen.len() > 1 && !args.quiet {
            tell!(
                "experiment {} of {}: {}",
                place + 1,
                chosen.len(),
                ready.name
            );
        }
        let done_now = one(&args, ready, catalogue, (&targets, &out), &control, global)?;
        done.push(done_now);
    }
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    write_screen(&mut text, &done, &out)?;
    screen::out().write_all(text.as_bytes())?;
    let exit = match control.is_stopped() {
        true => Exit::Interrupted,
        false => worst(&done),
    };
    Ok(ExitCode::from(exit))
}

/// The scenarios of what was asked for, each once.
fn chosen(args: &Args, catalogue: &Catalogue) -> anyhow::Result<Vec<&'static Ready>> {
    let mut chosen: Vec<&Ready> = Vec::new();
    for word in &args.ids {
        let experiments = catalogue.select(word)?;
        let alone = experiments.iter().any(|it| it.id == *word);
        for it in experiments {
            let ready = match it.ready() {
                Ok(ready) => ready,
                Err(error) if alone => return Err(error.into()),
                Err(_) => continue,
            };
            // Its length stands in the document, and is the study's.
            let is_short = args.scale == Scale::Full || !description::is_description(ready.text);
            if !is_short && alone {
                let told = format!(
                    "{} is a test description of 2015, which has no short run",
                    it.id
                );
                return Err(Failure::usage(told).hint("leave --scale quick away").into());
            }
            if !is_short {
                if !args.quiet {
                    tell!("{}: left out, it has no short run", it.id);
                }
                continue;
            }
            if chosen.iter().all(|other| other.name != ready.name) {
                chosen.push(ready);
            }
        }
    }
    match chosen.is_empty() {
        true => Err(Failure::usage("nothing of that can be run").into()),
        false => Ok(chosen),
    }
}

fn one(
    args: &Args,
    ready: &'static Ready,
    catalogue: &Catalogue,
    (targets, out): (&[String], &Path),
    control: &Control,
    global: &Global,
) -> anyhow::Result<Done> {
    let folder = out.join(ready.stem());
    let page = folder.join("report.html");
    let mut parameters = Vec::new();
    if args.scale == Scale::Quick {
        let quick = catalogue.quick.get(ready.name);
        for text in quick.into_iter().flatten() {
            parameters.push(parameter(text).map_err(Failure::new)?);
        }
    }
    // Another stack has none of the study's nodes.
    if args.peer.is_some() && ready.text.contains(NODE) {
        parameters.push(("node".to_owned(), BENCH.to_owned()));
    }
    // What was typed comes last, and holds.
    parameters.retain(|(name, _)| args.parameters.iter().all(|(other, _)| other != name));
    parameters.extend(args.parameters.iter().cloned());
    let is_description = description::is_description(ready.text);
    // The documents of 2015 name no server; a scenario starts its own.
    let own = match is_description && targets.is_empty() && !args.dry_run {
        true => Some(Own::start()?),
        false => None,
    };
    let own_url = own.iter().map(|it| it.serving.urls.first());
    let target = own_url.flatten().map(ToString::to_string);
    let bundled = Bundled {
        file: ready.name,
        text: ready.text,
        parameters,
        target: target.chain(targets.iter().cloned()).collect(),
        repeat: match args.scale {
            Scale::Quick => Some(args.repeat.unwrap_or(1)),
            Scale::Full => args.repeat,
        }
        .filter(|_| !is_description),
        fleet: args.fleet.clone(),
        dry_run: args.dry_run,
        out: folder.clone(),
        trust: args.trust || own.is_some() || args.peer.is_some(),
        quiet: args.quiet,
        report: page.clone(),
        reverse: reverse::Args::default(),
        pcap: args.pcap.clone(),
        tags: args.tags.clone(),
    };
    let exit = carry_out(bundled.into(), Some(control), global)?;
    let is_there = page.exists();
    let runs = match is_there {
        true => results::read(std::slice::from_ref(&folder))?,
        false => Vec::new(),
    };
    let mut told = report::shapes(&runs);
    let mut pages = Vec::from_iter(is_there.then_some(page));
    let fitted = catalogue.fitted.get(ready.name).filter(|_| is_there);
    match fitted.map(|sessions| held_out(&folder, *sessions)) {
        Some(Ok(found)) => {
            told.push(found.told);
            pages.push(found.page);
        }
        // Where a run was ended early there may be too little.
        Some(Err(error)) => told.push(error.to_string()),
        None => {}
    }
    Ok(Done {
        name: ready.stem(),
        exit,
        pages,
        told,
    })
}

/// The built-in server for a document that names none, and the folder of its certificates.
struct Own {
    serving: Serving,
    _folder: Folder,
}

impl Own {
    fn start() -> anyhow::Result<Self> {
        let folder = Folder::make("paper")?;
        let words = ["--profile", "gonzalez2015", "--trust"];
        Ok(Self {
            serving: Serving::start(&words, &folder.0.join("server"))?,
            _folder: folder,
        })
    }
}

fn worst(done: &[Done]) -> Exit {
    // From what says least to what says most of the figures.
    let order = [
        Exit::Interrupted,
        Exit::Nothing,
        Exit::Verdict,
        Exit::Threshold,
    ];
    let found = order
        .into_iter()
        .find(|exit| done.iter().any(|it| it.exit == *exit));
    found.unwrap_or(Exit::Good)
}

fn ended(exit: Exit) -> &'static str {
    match exit {
        Exit::Good => "done",
        Exit::Threshold => "done, a threshold was not met",
        Exit::Verdict => "done, figures in doubt",
        Exit::Interrupted => "interrupted",
        Exit::Nothing | Exit::Usage => "FAILED, or not complete",
    }
}

fn write_screen(text: &mut String, done: &[Done], out: &Path) -> std::fmt::Result {
    writeln!(text)?;
    for it in done {
        writeln!(text, "{:<40} {}", it.name, ended(it.exit))?;
        for told in &it.told {
            writeln!(text, "  {told}")?;
        }
        for page in &it.pages {
            writeln!(text, "  page  {}", page.display())?;
        }
    }
    writeln!(text, "\nresults     {}", out.display())
}
