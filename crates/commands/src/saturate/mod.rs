//! `uaperf saturate`: how much load a server takes within an objective, and what gives out first.

mod examples;
mod options;
mod screen;
mod search_file;
mod trying;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use judge::Exit;
use judge::capacity::{Capacity, End, Next, Search};
use load::engine::Control;
use record::run::Kind;

use crate::failure::Failure;
use crate::fleet;
use crate::global::Global;
use crate::interrupt;
use crate::quick::{self, QuickCommand};
use crate::results;
use crate::screen::{Out, tell};
use search_file::{SearchFile, Trial};
use trying::{Tried, Trying};

/// Find the capacity of a server: increase the load, then narrow down the limit
#[derive(Debug, clap::Args)]
#[command(after_help = examples::ALL, arg_required_else_help = true)]
pub struct Args {
    /// Go on with a search that was stopped, as it was begun: its folder
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// With --resume: give up after so many trials, instead of as many as were allowed before
    #[arg(long, value_name = "N", requires = "resume", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: Option<u32>,
    #[command(subcommand)]
    what: Option<What>,
}

const OUT: &str = "The folder of the trials [default: results/UTCTIME-saturate]";

#[derive(Debug, clap::Subcommand)]
enum What {
    /// By reading
    #[command(after_help = examples::READ)]
    Read(Of<quick::Read>),
    /// By writing
    #[command(after_help = examples::WRITE)]
    Write(Of<quick::Write>),
    /// By browsing
    #[command(after_help = examples::BROWSE)]
    Browse(Of<quick::Browse>),
    /// By translating browse paths
    #[command(after_help = examples::TRANSLATE)]
    Translate(Of<quick::Translate>),
    /// By calling a method
    #[command(after_help = examples::CALL)]
    Call(Of<quick::Call>),
    /// By subscribing: --grow items, subscriptions or sessions
    #[command(after_help = examples::SUBSCRIBE)]
    Subscribe(Box<Of<quick::Subscribe>>),
    /// By connecting: --grow rate or sessions
    #[command(after_help = examples::CONNECT)]
    Connect(Of<quick::Connect>),
    /// By making and deleting monitored items: --grow rate, sessions, items, subscriptions or batch
    #[command(after_help = examples::ITEMS)]
    Items(Of<quick::Items>),
    /// By adding and deleting nodes: --grow rate, sessions or batch
    #[command(after_help = examples::NODES)]
    Nodes(Of<quick::Nodes>),
    /// By reading histories
    #[command(after_help = examples::HISTORY)]
    History(Of<quick::History>),
    /// By simulated users: --grow sessions or rate
    #[command(after_help = examples::SEQUENCE)]
    Sequence(Of<quick::Users>),
}

/// What a command measures, and the search for the most of it. Options that are about one run are none of a search.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("out", |it| it.value_name("DIR").help(OUT)),
    mut_arg("samples", |it| it.hide(true)),
    mut_arg("hlog", |it| it.hide(true)),
    mut_arg("plain", |it| it.hide(true))
)]
struct Of<T: clap::Args> {
    #[command(flatten)]
    load: T,
    #[command(flatten)]
    search: options::Args,
}

impl<T: clap::Args + TryInto<QuickCommand, Error = anyhow::Error>> Of<T> {
    fn ask(self) -> anyhow::Result<(QuickCommand, options::Args)> {
        Ok((self.load.try_into()?, self.search))
    }
}

impl What {
    fn ask(self) -> anyhow::Result<(QuickCommand, options::Args)> {
        match self {
            Self::Read(of) => of.ask(),
            Self::Write(of) => of.ask(),
            Self::Browse(of) => of.ask(),
            Self::Translate(of) => of.ask(),
            Self::Call(of) => of.ask(),
            Self::Subscribe(of) => of.ask(),
            Self::Connect(of) => of.ask(),
            Self::Items(of) => of.ask(),
            Self::Nodes(of) => of.ask(),
            Self::History(of) => of.ask(),
            Self::Sequence(of) => of.ask(),
        }
    }
}

/// Reads the words of a search that was typed once; none if they are of something else.
pub type SearchParser = fn(&[String]) -> clap::error::Result<Option<(Args, Global)>>;

/// Carries out `uaperf saturate`.
pub fn run(args: Args, global: &Global, again: SearchParser) -> anyhow::Result<ExitCode> {
    match (args.what, args.resume) {
        (Some(what), None) => {
            let (asked, search) = what.ask()?;
            saturate(&asked.with_secret()?, &search, None, global)
        }
        (None, Some(folder)) => resume(&folder, args.trials, again),
        (Some(_), Some(folder)) => {
            let folder = folder.display();
            let what = format!("--resume {folder}: the command is the one that is kept there");
            let hint = format!("uaperf saturate --resume {folder}");
            Err(Failure::usage(what).hint(hint).into())
        }
        (None, None) => Err(
            Failure::usage("give a command, such as read, or --resume DIR")
                .hint("uaperf saturate --help")
                .into(),
        ),
    }
}

/// Goes on where a search was stopped: the same command, in the folder where it was typed.
fn resume(folder: &Path, trials: Option<u32>, again: SearchParser) -> anyhow::Result<ExitCode> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut search_file = SearchFile::read(&folder)?;
    if let Some(trials) = trials {
        search_file.allow(trials);
    }
    // Files that it names are there. Where that folder is gone, they may be here.
    let _ = std::env::set_current_dir(search_file.from());
    let search = again(search_file.command()).map_err(|error| {
        let why = crate::usage::in_one_line(&error);
        Failure::usage(format!("--resume {}: {why}", folder.display()))
    })?;
    match search {
        Some((
            Args {
                what: Some(what), ..
            },
            global,
        )) => {
            let (asked, search) = what.ask()?;
            saturate(&asked.with_secret()?, &search, Some(search_file), &global)
        }
        _ => Err(Failure::usage(format!("--resume {}: no search", folder.display())).into()),
    }
}

fn saturate(
    asked: &QuickCommand,
    search: &options::Args,
    begun: Option<SearchFile>,
    global: &Global,
) -> anyhow::Result<ExitCode> {
    let targets = asked.targets()?;
    let phase = asked.phase(targets.len())?;
    let objective = search.objective(&phase);
    let bounds = search.bounds(&phase, targets.len())?;
    let trying = Trying {
        asked,
        targets,
        phase,
        grow: search.grow,
        objective,
        control: Control::default(),
        global,
    };
    // What cannot grow is said before anything is measured.
    trying.check(bounds.start, bounds.most)?;
    asked.check_search()?;
    let as_json = asked.prints_search_as_json()?;
    interrupt::stops(&trying.control)?;
    let mut search_file = match begun {
        Some(search_file) => search_file,
        None => SearchFile::new(
            asked.destination(),
            SystemTime::now().into(),
            search.grow,
            &trying.objective,
            &bounds,
        )?,
    };
    let mut out = Out::beside_file(as_json || asked.takes_output());
    let found = look(&trying, &mut search_file, out);
    search_file.leave();
    let Some(capacity) = found.transpose() else {
        match search_file.trials() {
            [] => writeln!(out, "\nstopped before the first trial was over")?,
            _ => writeln!(out, "\nstopped; to go on: {}", search_file.again())?,
        }
        return Ok(ExitCode::from(Exit::Interrupted));
    };
    let capacity = capacity.inspect_err(|error| {
        asked.fail(error);
        if !search_file.trials().is_empty() {
            // What went wrong follows.
            tell!("the search ended; to go on: {}", search_file.again());
        }
    })?;
    let files = asked.files();
    if files.is_any() {
        files.write(&results::read(&[search_file.folder().to_owned()])?, &[]);
    }
    writeln!(out, "\ntrials      {}", search_file.folder().display())?;
    if as_json {
        crate::screen::json(&mut crate::screen::out(), search_file.page())?;
    }
    // Nothing was found out of a load that was not there as a whole in any trial.
    let lacking = |it: &Trial| matches!(it.verdict.kind, Kind::Failed | Kind::Incomplete);
    Ok(ExitCode::from(match capacity.end {
        _ if search_file.trials().iter().all(lacking) => Exit::Nothing,
        End::Knee | End::Most => Exit::Good,
        End::Least => Exit::Threshold,
        End::Generator | End::Unclear => Exit::Verdict,
    }))
}

/// So many trials in which nothing was done, and none before them, are enough.
const FAILED: usize = 2;

/// Makes trials and tells of each, to the end; nothing if somebody stopped it.
fn look(
    trying: &Trying<'_>,
    search_file: &mut SearchFile,
    mut out: Out,
) -> anyhow::Result<Option<Capacity>> {
    let grow = trying.grow;
    out.write_all(screen::head(grow, &trying.objective).as_bytes())?;
    let mut search = Search::new(search_file.bounds().clone());
    for trial in search_file.trials() {
        search.tell(trial.load, trial.answer);
        out.write_all(screen::trial(grow, trial).as_bytes())?;
    }
    let mut too_much = None;
    let capacity = loop {
        out.flush()?;
        // Less of what cannot be done at all cannot be done either.
        if search_file.trials().len() >= FAILED && search_file.trials().iter().all(Trial::failed) {
            break search.nothing();
        }
        let load = match search.next() {
            Next::Found(capacity) => break capacity,
            Next::Try(load) => load,
        };
        let mut tried = search.points().iter().rev().map(|point| point.load);
        let below = tried.find(|&below| below < load);
        match trying.make(load, search.trials(), below)? {
            Tried::Stopped => return Ok(None),
            Tried::TooMuch(most, why) => {
                search.limit(most);
                too_much = Some(why);
            }
            Tried::Judged(run, judged) => {
                let trial = search_file.add(load, judged, &run)?;
                fleet::kept();
                search.tell(trial.load, trial.answer);
                out.write_all(screen::trial(grow, trial).as_bytes())?;
            }
        }
    };
    search_file.close(capacity)?;
    let said = screen::SearchEnd {
        grow,
        objective: &trying.objective,
        search: &search,
        capacity,
        trials: search_file.trials(),
        bottleneck: search_file.bottleneck(),
        too_much: too_much.as_deref(),
        clients: trying.clients(),
    };
    out.write_all(said.to_string().as_bytes())?;
    Ok(Some(capacity))
}
