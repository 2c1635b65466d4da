//! `uaperf run`: a scenario carried out, point after point.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use judge::Exit;
use load::engine::Control;
use plan::description;
use plan::scenario::{Given, Scenario};
use plan::unit::duration;
use record::Timestamp;
use record::sweep::{self, Source, Sweep};

use super::bench::Bench;
use super::index::{from_anywhere, index};
use super::rows::Rows;
use super::servers::Servers;
use super::vocabulary::{Commands, SOME_SERVER};
use super::{parameter, parse, read};
use crate::failure::Failure;
use crate::fleet::{self, Spec};
use crate::global::Global;
use crate::interrupt;
use crate::quick;
use crate::results::{self, Files};
use crate::screen;
use crate::written;
use crate::{pcap, printed, reverse, tags};

/// Run a scenario: a result file for each point, a table at the end
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The scenario, or a test description document of 2015; not needed with --resume
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    file: Option<PathBuf>,
    /// What is in it, where it comes with the program.
    #[arg(skip)]
    text: Option<&'static str>,
    /// A parameter's value instead of the one in the file: rate=500/s, or rate='{ sweep = ["1/s", "2/s"] }'
    #[arg(short = 'P', value_name = "NAME=VALUE", value_parser = parameter, conflicts_with = "resume")]
    parameters: Vec<(String, String)>,
    /// These servers instead of those that the scenario names or starts
    #[arg(long, value_name = "URL", conflicts_with = "resume")]
    target: Vec<String>,
    /// How often each point is measured, instead of what the scenario says
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// Share sessions out to these agents, instead of those of the scenario: local:N, ssh:host, ssh:user@host,
    /// ssh:host:/path/to/uaperf, each with *N or *cores for its weight
    #[arg(
        long,
        value_name = "SPEC",
        value_delimiter = ',',
        conflicts_with = "resume"
    )]
    fleet: Vec<Spec>,
    /// Agents stop their load when they hear nothing from the controller for this long [default: as the scenario says, or 10s]
    #[arg(long, value_name = "DURATION", value_parser = fleet::orphan, conflicts_with = "resume")]
    orphan: Option<Duration>,
    /// Show what would be done, and how long it takes
    #[arg(long)]
    dry_run: bool,
    /// Folder of the results; a new one [default: results/UTCTIME-NAME]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Go on in this folder: what is left, what failed, what was interrupted
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Accept the servers' certificates this once, whatever is wrong with them
    #[arg(long)]
    trust: bool,
    /// Watch this process too: the server's, when it runs on this machine and was started elsewhere
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    #[command(flatten)]
    printed: printed::Args,
    /// On a terminal, a line each second instead of a screen with charts and keys
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    feed: quick::feed::Args,
    #[command(flatten)]
    tags: tags::Args,
    #[command(flatten)]
    reverse: reverse::Args,
    #[command(flatten)]
    pcap: pcap::Args,
}

const EXAMPLES: &str = "\
Examples:
  uaperf new read reads.toml                   a scenario to start from
  uaperf run --dry-run reads.toml              what it would do, and how long that takes
  uaperf run reads.toml -P duration=2s         carry it out, with a parameter of your own
  uaperf run reads.toml --target opc.tcp://plc1:4840
  uaperf run reads.toml --fleet ssh:lab@pc1,ssh:lab@pc2*3
  uaperf run --resume results/20260301T093000Z-reads

Ctrl-C ends the point that is being measured; --resume goes on from there.";

/// A scenario that comes with the program, and what is asked of it.
#[derive(Debug)]
pub struct Bundled {
    /// Its file, by name only.
    pub file: &'static str,
    /// What is in it.
    pub text: &'static str,
    /// Parameters instead of its own.
    pub parameters: Vec<(String, String)>,
    /// Servers instead of its own.
    pub target: Vec<String>,
    /// How often each point is measured.
    pub repeat: Option<u32>,
    /// Agents instead of its own.
    pub fleet: Vec<Spec>,
    /// Whether it is only shown what would be done.
    pub dry_run: bool,
    /// Folder of the results.
    pub out: PathBuf,
    /// Whether certificates are accepted.
    pub trust: bool,
    /// No progress.
    pub quiet: bool,
    /// A page of the results.
    pub report: PathBuf,
    /// Whether connections are recorded.
    pub reverse: reverse::Args,
    pub pcap: pcap::Args,
    /// What is said of its results.
    pub tags: tags::Args,
}

impl From<Bundled> for Args {
    fn from(it: Bundled) -> Self {
        Self {
            file: Some(it.file.into()),
            text: Some(it.text),
            parameters: it.parameters,
            target: it.target,
            repeat: it.repeat,
            fleet: it.fleet,
            orphan: None,
            dry_run: it.dry_run,
            out: Some(it.out),
            resume: None,
            trust: it.trust,
            server_pid: None,
            printed: printed::Args::quiet(it.quiet),
            plain: true,
            files: Files {
                report: Some(it.report),
                ..Files::default()
            },
            feed: quick::feed::Args::default(),
            tags: it.tags,
            reverse: it.reverse,
            pcap: it.pcap,
        }
    }
}

/// Carries out `uaperf run`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let exit = carry_out(args, None, global)?;
    Ok(ExitCode::from(exit))
}

/// Carries out a scenario; `control` is there where somebody listens for Ctrl-C already.
pub fn carry_out(args: Args, control: Option<&Control>, global: &Global) -> anyhow::Result<Exit> {
    let resumed = match &args.resume {
        Some(folder) => Some((folder.clone(), resumed(folder, args.file.as_deref())?)),
        None => None,
    };
    let source = match &resumed {
        Some((_, index)) => index.scenario.clone(),
        None => {
            // Without a file there is a text; a parser sees to it that there is one of both.
            let file = args.file.clone().unwrap_or_default();
            Source {
                text: match args.text {
                    Some(text) => text.to_owned(),
                    None => read(&file)?,
                },
                file,
                parameters: args.parameters.clone(),
                targets: args.target.iter().map(|spec| from_here(spec)).collect(),
                repeat: args.repeat,
                fleet: args.fleet.iter().map(ToString::to_string).collect(),
                orphan: args.orphan.map(duration::typed),
            }
        }
    };
    let mut given = Given {
        parameters: source.parameters.clone(),
        targets: source.targets.clone(),
        repeat: source.repeat,
        fleet: source.fleet.clone(),
        orphan: source.orphan.clone(),
    };
    let named_none = description::is_description(&source.text) && given.targets.is_empty();
    if named_none && args.dry_run {
        // Whichever: what would be done is the same.
        given.targets.push(SOME_SERVER.to_owned());
    } else if named_none {
        return Err(Failure::usage("a test description names no server")
            .hint("--target opc.tcp://host:4840")
            .into());
    }
    let parsed = parse(&source.text, &source.file, &given);
    let (scenario, document) = match &resumed {
        Some((folder, _)) if !source.file.exists() => {
            parsed.map_err(|error| moved(&error, &source.file, folder))?
        }
        _ => parsed?,
    };
    if args.dry_run {
        let mut out = screen::out();
        let style = out.style();
        let begun = resumed.as_ref().map(|(_, index)| index);
        let plan = report::planned::plan(&scenario, begun, style);
        let plan = match named_none {
            true => plan.replacen(SOME_SERVER, "to be given with --target", 1),
            false => plan,
        };
        out.write_all(plan.as_bytes())?;
        return Ok(Exit::Good);
    }
    let steps = scenario.points.iter().flat_map(|it| &it.groups);
    let mut steps = steps.flat_map(|group| &group.steps);
    let is_shared = steps.any(|step| !step.agents().is_empty());
    if args.orphan.is_some() && !is_shared {
        return Err(Failure::usage("--orphan needs agents (--fleet)")
            .hint("name them with --fleet, or in the scenario's table [fleet]")
            .into());
    }
    let alone = [
        ("--pcap", args.pcap.is_asked()),
        ("--listen-reverse", args.reverse.is_asked()),
    ];
    if let Some((option, _)) = alone.iter().find(|(_, asked)| is_shared && *asked) {
        return Err(Failure::usage(format!("{option}: {}", fleet::ALONE)).into());
    }
    let control = match control {
        Some(control) => control.clone(),
        None => {
            let control = Control::default();
            interrupt::stops(&control)?;
            control
        }
    };
    let live = [("--live-file", &args.feed.live_file), args.pcap.named()];
    let inputs: Vec<PathBuf> = args.file.iter().cloned().collect();
    written::check(live.into_iter().chain(args.files.named()), &inputs)?;
    args.printed.check(args.files.take_output())?;
    args.feed.open()?;
    args.pcap.begin()?;
    args.reverse.begin()?;
    args.tags.begin()?;
    let rows = document.map(|document| {
        Rows::of(
            document,
            &source.file,
            args.out.as_deref(),
            args.resume.as_deref(),
        )
    });
    let (folder, index) = match resumed {
        Some(resumed) => resumed,
        None => begun(&args, &scenario, source)?,
    };
    if !args.printed.is_quiet() {
        // Keys would reach no agent.
        quick::stage::open(args.plain || is_shared);
    }
    let commands = Commands::beside(&index.scenario.file);
    let mut bench = Bench {
        commands: &commands,
        servers: Servers::new(&commands)?,
        scenario: &scenario,
        control,
        global,
        server_pid: args.server_pid,
        quiet: args.printed.is_quiet(),
        trust: args.trust,
        rows,
        folder,
        index,
        spent: Vec::new(),
        measured: None,
        behind: Duration::ZERO,
        is_full: false,
    };
    let done = bench.carry_out();
    let exit = bench.finish(&args.files, args.printed.what());
    // What was done until then is shown, and stays.
    done.map(|()| exit)
}

/// A list of servers that was typed is looked for here, and not beside the scenario.
fn from_here(spec: &str) -> String {
    let file = spec.strip_prefix('@');
    match file {
        Some(file) => format!("@{}", from_anywhere(Path::new(file)).display()),
        None => spec.to_owned(),
    }
}

fn unreadable(error: record::run::ReadError) -> anyhow::Error {
    Failure::usage(error.to_string())
        .hint("--resume needs a folder that uaperf run has made")
        .into()
}

/// What is wrong with a scenario that is gone on with, when it is not where it was.
fn moved(error: &anyhow::Error, file: &Path, folder: &Path) -> anyhow::Error {
    Failure::usage(error.to_string())
        .hint(format!(
            "{} is gone; if it was moved: uaperf run WHERE/IT/IS/NOW --resume {}",
            file.display(),
            folder.display()
        ))
        .into()
}

/// The index of a folder that is gone on with, if it belongs to the file that was named. What that file refers
/// to lies beside it.
fn resumed(folder: &Path, file: Option<&Path>) -> anyhow::Result<Sweep> {
    let mut index = Sweep::read(folder).map_err(unreadable)?;
    let Some(file) = file else { return Ok(index) };
    if read(file)? != index.scenario.text {
        let told = format!(
            "{} is not the scenario that {} was measured with",
            file.display(),
            folder.display()
        );
        return Err(Failure::usage(told)
            .hint("omit the file to continue that one, or omit --resume to start again")
            .into());
    }
    index.scenario.file = from_anywhere(file);
    Ok(index)
}

/// A new folder with an index of all that is to be measured.
fn begun(args: &Args, scenario: &Scenario, source: Source) -> anyhow::Result<(PathBuf, Sweep)> {
    let now = Timestamp::from(SystemTime::now());
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => results::fresh(now, &scenario.name),
    };
    if folder.join(sweep::FILE).exists() {
        let told = format!("{} has results already", folder.display());
        let hint = format!("uaperf run --resume {}, or another --out", folder.display());
        return Err(Failure::usage(told).hint(hint).into());
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::usage(format!(
            "--out {}: that is a file (want a folder)",
            folder.display()
        ))
        .into());
    }
    let index = index(scenario, source, now);
    index
        .write(&folder)
        .map_err(|error| Failure::new(error.to_string()))?;
    Ok((folder, index))
}
