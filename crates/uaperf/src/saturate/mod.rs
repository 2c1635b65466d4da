//! `uaperf saturate`: how much load a server takes within an objective, and what gives out first.

mod book;
mod options;
mod screen;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::SystemTime;

use judge::Exit;
use judge::capacity::{End, Judgement, Next, Search};
use load::engine::Control;
use plan::{Grow, Phase, Targets, Work};
use record::Run;

use crate::cli::Global;
use crate::failure::Failure;
use crate::quick::{self, Asked};
use book::Book;

/// Find how much load a server takes: grow it, then close in on the edge
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

const EXAMPLES: &str = "\
Each trial runs for --duration. The load doubles until the objective is missed. Then each trial is made \
where all of them together leave most open, near the knee by lot, until that is as narrow as --precision.

Examples:
  uaperf saturate read opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --slo 'p99<10ms'
  uaperf saturate read opc.tcp://plc1:4840 -n i=2258 --grow sessions --slo 'p99<50ms,errors=0'
  uaperf saturate subscribe opc.tcp://plc1:4840 -n 'ns=2;i=1..500' --grow items --slo loss=0
  uaperf saturate connect opc.tcp://plc1:4840 --sessions 50 --allow storm --slo 'p99<100ms,errors=0'
  uaperf saturate items opc.tcp://plc1:4840 -n 'ns=2;i=1..100' --items 1000 --slo 'p99<1s,errors=0'
  uaperf saturate write opc.tcp://plc1:4840 -n 'ns=2;i=5' --values =1 --allow write --grow batch";

#[derive(Debug, clap::Subcommand)]
enum What {
    /// By reading
    Read(Of<quick::Read>),
    /// By writing
    Write(Of<quick::Write>),
    /// By browsing
    Browse(Of<quick::Browse>),
    /// By translating browse paths
    Translate(Of<quick::Translate>),
    /// By calling a method
    Call(Of<quick::Call>),
    /// By subscribing: --grow items, subscriptions or sessions
    Subscribe(Box<Of<quick::Subscribe>>),
    /// By connecting: --grow rate or sessions
    Connect(Of<quick::Connect>),
    /// By making and deleting monitored items: --grow rate, sessions, items, subscriptions or batch
    Items(Of<quick::Items>),
    /// By adding and deleting nodes: --grow rate, sessions or batch
    Nodes(Of<quick::Nodes>),
    /// By reading histories
    History(Of<quick::History>),
    /// By simulated users: --grow sessions or rate
    Sequence(Of<quick::Users>),
}

#[derive(Debug, clap::Args)]
struct Of<T: clap::Args> {
    #[command(flatten)]
    load: T,
    #[command(flatten)]
    search: options::Args,
}

impl<T: clap::Args + TryInto<Asked, Error = anyhow::Error>> Of<T> {
    fn run(self, global: &Global) -> anyhow::Result<ExitCode> {
        saturate(&self.load.try_into()?, &self.search, global)
    }
}

/// Carries out `uaperf saturate`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    match args.what {
        What::Read(of) => of.run(global),
        What::Write(of) => of.run(global),
        What::Browse(of) => of.run(global),
        What::Translate(of) => of.run(global),
        What::Call(of) => of.run(global),
        What::Subscribe(of) => of.run(global),
        What::Connect(of) => of.run(global),
        What::Items(of) => of.run(global),
        What::Nodes(of) => of.run(global),
        What::History(of) => of.run(global),
        What::Sequence(of) => of.run(global),
    }
}

/// Whether something else than its answers says how much a server has to do: a rate, or the
/// changes of what is subscribed to.
fn paced(phase: &Phase) -> bool {
    phase.arrival.is_open() || matches!(phase.work, Work::Subscribe(_))
}

/// What one trial is made of.
struct Trying<'a> {
    asked: &'a Asked,
    targets: Targets,
    phase: Phase,
    grow: Grow,
    control: Control,
    global: &'a Global,
}

impl Trying<'_> {
    fn phase(&self, load: f64, trial: u32) -> anyhow::Result<Phase> {
        let targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        let grown = self.phase.grown(self.grow, load, targets);
        let grown = grown.map_err(|error| {
            let at = self.grow.show(load);
            Failure::usage(format!(
                "--{}: {} (want {}), at {at}",
                error.field, error.value, error.want
            ))
        })?;
        Ok(Phase {
            // Another trial of the same load is not the same trial.
            seed: self.phase.seed.wrapping_add(trial.into()),
            ..grown
        })
    }

    fn run(&self, phase: &Phase) -> anyhow::Result<Run> {
        self.asked
            .measure(&self.targets, phase, &self.control, self.global)
    }
}

fn saturate(asked: &Asked, search: &options::Args, global: &Global) -> anyhow::Result<ExitCode> {
    let targets = asked.targets()?;
    let phase = asked.phase(targets.len())?;
    let objective = search.objective(&phase);
    let bounds = search.bounds(&phase, targets.len())?;
    let trying = Trying {
        asked,
        targets,
        phase,
        grow: search.grow,
        control: Control::default(),
        global,
    };
    // What cannot grow is said before anything is measured.
    trying.phase(bounds.start, 0)?;
    quick::interrupt::watch(&trying.control)?;
    let mut book = match &search.resume {
        Some(folder) => Book::read(folder, search.grow, &objective, &bounds)?,
        None => Book::new(
            asked.destination(),
            SystemTime::now().into(),
            search.grow,
            &objective,
            &bounds,
        )?,
    };
    let mut out = std::io::stdout().lock();
    out.write_all(screen::head(search.grow, &objective).as_bytes())?;
    let mut searching = Search::new(bounds);
    for trial in book.trials() {
        searching.tell(trial.load, trial.answer);
        out.write_all(screen::trial(search.grow, trial).as_bytes())?;
    }
    let capacity = loop {
        let load = match searching.next() {
            Next::Found(capacity) => break Some(capacity),
            Next::Try(load) => load,
        };
        let phase = trying.phase(load, searching.trials() + 1)?;
        let run = trying.run(&phase)?;
        if trying.control.is_stopped() {
            break None;
        }
        let Some(measured) = run.phases.first() else {
            break None;
        };
        let judged = Judgement::of(measured, &objective, paced(&phase));
        let trial = book.add(load, judged, &run)?;
        searching.tell(trial.load, trial.answer);
        out.write_all(screen::trial(search.grow, trial).as_bytes())?;
        out.flush()?;
    };
    let Some(capacity) = capacity else {
        writeln!(
            out,
            "\nstopped; the same command goes on with --resume {}",
            book.folder().display()
        )?;
        return Ok(ExitCode::from(Exit::Nothing.code()));
    };
    book.close(capacity)?;
    out.write_all(screen::capacity(search.grow, &searching, capacity, book.trials()).as_bytes())?;
    writeln!(out, "\ntrials      {}", book.folder().display())?;
    Ok(ExitCode::from(
        match capacity.end {
            End::Knee | End::Most => Exit::Good,
            End::Least => Exit::Threshold,
            End::Generator | End::Unclear => Exit::Verdict,
        }
        .code(),
    ))
}
