//! `uaperf fleet collect`: what agents did and could not tell, brought into the result that lacks it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use judge::Exit;
use load::engine::Control;
use plan::{Plan, TargetSpec, Targets};
use record::Run;
use record::run::{Destination, Kind, Mark};
use record::sweep::Sweep;

use crate::failure::Failure;
use crate::fleet::ledger::Ledger;
use crate::fleet::result_folder::{self, ResultFolder};
use crate::fleet::shared::Fleet;
use crate::fleet::sum::{AgentResult, Shared, add_up};
use crate::fleet::task::AgentResults;
use crate::global::Global;
use crate::screen::{self, tell};
use crate::{interrupt, quick, written};

/// Bring what agents did and could not tell into the result that lacks it, and judge it anew
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The result, or the name of a load whose controller was lost; without one, what waits is listed
    #[arg(value_name = "FILE|LOAD")]
    what: Option<PathBuf>,
    /// The result file of a load that has none yet [default: results/UTCTIME-COMMAND.json]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Agents keep what they did until the controller has it, for 30 days at most. It is brought on the machine that controlled
the load, as the same user. Exit code 1 as long as something is missing.

Examples:
  uaperf fleet collect
  uaperf fleet collect results/20261126T094920Z-read.json
  uaperf fleet collect 6f0c2a9d4be1573880a3d5c61e927f04 --out late.json";

/// Carries out `uaperf fleet collect`.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<ExitCode> {
    let Some(what) = &args.what else {
        screen::out().write_all(list()?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    let control = Control::default();
    interrupt::stops(&control)?;
    let name = what.to_string_lossy();
    let (run, shelves, wanted) = match result_folder::is_name(&name) {
        true => {
            let late = Late::of(&name, &control, global)?;
            let run = late.run()?;
            let wanted = match &args.out {
                Some(file) => Destination::File(file.clone()),
                None => Destination::Folder(written::FOLDER.into()),
            };
            (run, vec![late.shelf], wanted)
        }
        false if args.out.is_some() => {
            let told = "--out: results come into the result that lacks them (want FILE alone)";
            return Err(Failure::usage(told).into());
        }
        false => {
            let (run, shelves) = into_file(what, &control, global)?;
            (run, shelves, Destination::File(what.clone()))
        }
    };
    let kept = written::keep(&run, &wanted);
    if kept.lost.is_none() && run.hosts.iter().all(|it| it.results.is_none()) {
        shelves.iter().for_each(ResultFolder::clear);
    }
    if let Some(file) = &kept.file {
        in_index(file, &run)?;
    }
    let mut out = screen::out();
    let style = out.style();
    out.write_all(report::summary(&run, style).as_bytes())?;
    if let Some(file) = &kept.file {
        writeln!(out, "\nresult      {}", file.display())?;
    }
    Ok(ExitCode::from(Exit::of(&run)))
}

/// A result with what came late in it.
fn into_file(
    file: &Path,
    control: &Control,
    global: &Global,
) -> anyhow::Result<(Run, Vec<ResultFolder>)> {
    let mut run = Run::read(file).map_err(|error| Failure::usage(error.to_string()))?;
    let mut loads: Vec<(usize, String)> = Vec::new();
    for host in &run.hosts {
        if let Some(load) = &host.results
            && !loads.iter().any(|(_, it)| it == load)
        {
            loads.push((host.phase, load.clone()));
        }
    }
    if loads.is_empty() {
        return Err(Failure::usage(format!(
            "{}: no agent is missing of whom results could come",
            file.display()
        ))
        .into());
    }
    let mut shelves = Vec::new();
    for (place, load) in loads {
        let late = Late::of(&load, control, global)?;
        replace(&mut run, place, late.run()?);
        shelves.push(late.shelf);
    }
    Ok((run, shelves))
}

/// A load of which results were missing, with those that came meanwhile.
struct Late {
    ledger: Ledger,
    shelf: ResultFolder,
}

impl Late {
    /// Asks the agents that have not told what they did.
    fn of(load: &str, control: &Control, global: &Global) -> anyhow::Result<Self> {
        let shelf = ResultFolder::of(load)?;
        let ledger = Ledger::of(&shelf)?.ok_or_else(|| {
            Failure::usage(format!("no load {load} is known here"))
                .hint("collect on the machine that controlled it, as the same user")
        })?;
        let agents = ledger.agents.iter().enumerate();
        let is_wanted = |n: usize| ledger.taken(&shelf, n).is_none();
        let wanted = agents.filter(|(n, agent)| agent.host.sessions > 0 && is_wanted(*n));
        let wanted: Vec<usize> = wanted.map(|(n, _)| n).collect();
        if !wanted.is_empty() {
            let keep = |agent: usize, bytes: &[u8]| {
                // What cannot be read is not taken: its agent keeps it.
                let name = ledger.agents.get(agent).map_or("", |it| &it.host.name);
                AgentResults::of_bytes(bytes).with_context(|| format!("agent {name}"))?;
                Ok(shelf.put(&ledger.own(agent).taken(), bytes)?)
            };
            for (agent, why) in Fleet::late(&ledger, &wanted, (control, global), keep)? {
                let name = ledger.agents.get(agent).map_or("", |it| &it.host.name);
                tell!("warning: agent {name}: {why}");
            }
        }
        Ok(Self { ledger, shelf })
    }

    /// The run, as far as it is known now.
    fn run(&self) -> anyhow::Result<Run> {
        let ledger = &self.ledger;
        let agents = ledger.agents.iter().enumerate();
        let told = agents.map(|(n, agent)| {
            let results = ledger.taken(&self.shelf, n);
            let mut host = agent.host.clone();
            let late = host.lost.is_some();
            if late && results.is_some() {
                (host.lost, host.results, host.late) = (None, None, true);
            } else if late && host.sessions > 0 {
                host.results = Some(ledger.load.clone());
            }
            AgentResult {
                host,
                results,
                late,
            }
        });
        let told: Vec<AgentResult> = told.collect();
        if told.iter().all(|it| it.results.is_none()) {
            return Err(Failure::new("no agent has reported its results")
                .hint("try again when their hosts can be reached: uaperf fleet check SPEC")
                .into());
        }
        let late: Vec<String> = told
            .iter()
            .filter(|it| it.host.late)
            .map(|it| it.host.name.clone())
            .collect();
        let began = ledger.began.unwrap_or(ledger.started);
        let began = u64::try_from(began.unix_ns())
            .map_err(|_| Failure::new(format!("no load began at {began}")))?;
        let began = SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(began);
        let moment = (Instant::now(), began);
        let (outcome, shared) = add_up(&ledger.phase, ledger.targets.len(), moment, told);
        let urls: Vec<String> = ledger.targets.iter().map(|it| it.url.clone()).collect();
        let asked = quick::QuickCommand::of_agent(&ledger.command, &urls, &ledger.words)?;
        let mut run = asked.made_again(&ledger.phase, &outcome, shared);
        let specs: Result<Vec<TargetSpec>, _> = urls.iter().map(|it| it.parse()).collect();
        let specs = specs.map_err(|error| Failure::new(error.to_string()))?;
        let targets = Targets::resolve(&specs, |_| Err(std::io::ErrorKind::Unsupported.into()))
            .map_err(|error| Failure::new(error.to_string()))?;
        run.plan = Plan::of(targets, ledger.phase.clone()).to_value()?;
        run.request = ledger.request.clone().into();
        run.targets.clone_from(&ledger.targets);
        run.started = ledger.started;
        if !late.is_empty() {
            run.notes.push(format!(
                "what {} did was brought when the load was over",
                late.join(", ")
            ));
        }
        Ok(run)
    }
}

/// Puts a phase in the place of what was known of it. What only the controller saw meanwhile stays.
fn replace(run: &mut Run, place: usize, again: Run) {
    let Some(mut phase) = again.phases.into_iter().next() else {
        return;
    };
    let name = Some(phase.name.as_str()).filter(|_| run.phases.len() > 1);
    let is_note = |it: &String| Shared::is_note(it, None) || Shared::is_note(it, name);
    run.notes.retain(|it| !is_note(it));
    let Some(before) = run.phases.get_mut(place) else {
        return;
    };
    phase.resources.append(&mut before.resources);
    phase.observing = before.observing.take();
    phase.diagnostics = before.diagnostics.take();
    if let (Some(now), Some(before)) = (&mut phase.subscriptions, &mut before.subscriptions) {
        now.beside = std::mem::take(&mut before.beside);
    }
    if phase.verdict.kind == Kind::ServerSaturated {
        phase.bottleneck = Some(judge::bottleneck(&phase, None, &run.targets));
    }
    *before = phase;
    run.hosts.retain(|it| it.phase != place);
    run.hosts
        .extend(again.hosts.into_iter().map(|host| record::run::Host {
            phase: place,
            ..host
        }));
    run.hosts.sort_by_key(|it| it.phase);
    for note in again.notes {
        if !run.notes.contains(&note) {
            run.notes.push(note);
        }
    }
    run.verdict = match run.phases.as_slice() {
        [only] => only.verdict.clone(),
        all => judge::worst(all.iter().map(|it| (it.name.as_str(), &it.verdict))),
    };
    let others = run.phases.iter().enumerate().filter(|(n, _)| *n != place);
    let lacks = |kind: Kind| matches!(kind, Kind::Failed | Kind::Incomplete);
    let others = others.into_iter().any(|(_, it)| lacks(it.verdict.kind));
    if !others {
        run.marks.retain(|it| *it != Mark::Degraded);
    }
    for mark in again.marks {
        if !run.marks.contains(&mark) {
            run.marks.push(mark);
        }
    }
}

/// The same in the index of a scenario's results, if the file is one of them.
fn in_index(file: &Path, run: &Run) -> anyhow::Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let Ok(mut index) = Sweep::read(folder) else {
        return Ok(());
    };
    let name = file.file_name().map(|it| it.to_string_lossy().into_owned());
    let found = index.measurements.iter_mut().find(|it| it.file == name);
    if let Some(measurement) = found {
        measurement.take(run);
        index
            .write(folder)
            .map_err(|error| Failure::new(error.to_string()))?;
    }
    Ok(())
}

/// Loads of which something waits here.
fn list() -> anyhow::Result<String> {
    let mut text = String::new();
    let every = ResultFolder::every()?;
    if every.is_empty() {
        text.push_str("no results wait here\n");
    }
    for (load, shelf) in every {
        match Ledger::of(&shelf) {
            Ok(Some(ledger)) => {
                let urls: Vec<&str> = ledger.targets.iter().map(|it| it.url.as_str()).collect();
                let agents = ledger.agents.iter().enumerate();
                let missing = agents
                    .filter(|(n, it)| it.host.sessions > 0 && ledger.taken(&shelf, *n).is_none())
                    .map(|(_, it)| it.host.name.as_str());
                let missing: Vec<&str> = missing.collect();
                let missing = match missing.as_slice() {
                    [] => "all results are here".to_owned(),
                    names => format!("missing: {}", names.join(", ")),
                };
                writeln!(
                    text,
                    "{load}  {} {} {}; {missing}",
                    ledger.started,
                    ledger.command,
                    urls.join(", ")
                )?;
            }
            Ok(None) => writeln!(text, "{load}  an agent's results, for its controller")?,
            Err(error) => writeln!(text, "{load}  {error:#}")?,
        }
    }
    Ok(text)
}
