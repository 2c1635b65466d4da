//! `uaperf run`: a scenario carried out, point after point.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use judge::{Exit, Missing};
use load::engine::Control;
use plan::description;
use plan::scenario::{Given, Group, Point, Scenario, Step, Turn};
use plan::unit::duration::show;
use record::run::{ByHand, Hand, Kind, Mark};
use record::sweep::{self, Measurement, Source, State, Sweep};
use record::{Run, Timestamp};
use report::Unmeasured;
use report::watch::Plan;

use super::rows::Rows;
use super::servers::{Reached, Servers};
use super::vocabulary::{Commands, SOME_SERVER};
use super::{parameter, parse, read};
use crate::failure::Failure;
use crate::global::Global;
use crate::lost;
use crate::quick;
use crate::results::{self, Files};
use crate::screen::{self, Out};
use crate::written;

/// Carry out a scenario: a file per point, a table at the end
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The scenario, or a test description document of 2015; not needed with --resume
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    file: Option<PathBuf>,
    /// A parameter's value instead of the one in the file: rate=500/s, or rate='{ sweep = ["1/s", "2/s"] }'
    #[arg(short = 'P', value_name = "NAME=VALUE", value_parser = parameter, conflicts_with = "resume")]
    parameters: Vec<(String, String)>,
    /// These servers instead of those that the scenario names or starts
    #[arg(long, value_name = "URL", conflicts_with = "resume")]
    target: Vec<String>,
    /// How often each point is measured, instead of what the scenario says
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
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
    /// No progress while it runs
    #[arg(short, long)]
    quiet: bool,
    /// On a terminal, a line each second instead of a screen with charts and keys
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    feed: quick::feed::Args,
}

const EXAMPLES: &str = "\
Examples:
  uaperf new read reads.toml                   a scenario to begin from
  uaperf run --dry-run reads.toml              what it would do, and how long that takes
  uaperf run reads.toml -P duration=2s         carry it out, with a parameter of your own
  uaperf run reads.toml --target opc.tcp://plc1:4840
  uaperf run --resume results/20260301T093000Z-reads

Ctrl-C ends the point that is being measured; --resume goes on from there.";

/// Carries out `uaperf run`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let resumed = match &args.resume {
        Some(folder) => Some((folder.clone(), resumed(folder, args.file.as_deref())?)),
        None => None,
    };
    let source = match &resumed {
        Some((_, index)) => index.scenario.clone(),
        None => {
            let file = args.file.clone().unwrap_or_default();
            Source {
                text: read(&file)?,
                file,
                parameters: args.parameters.clone(),
                targets: args.target.iter().map(|spec| from_here(spec)).collect(),
                repeat: args.repeat,
            }
        }
    };
    let mut given = Given {
        parameters: source.parameters.clone(),
        targets: source.targets.clone(),
        repeat: source.repeat,
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
        return Ok(ExitCode::SUCCESS);
    }
    let control = Control::default();
    quick::interrupted(&control)?;
    let live = [("--live-file", &args.feed.live_file)];
    let inputs: Vec<PathBuf> = args.file.iter().cloned().collect();
    written::check(live.into_iter().chain(args.files.named()), &inputs)?;
    args.feed.open()?;
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
    if !args.quiet {
        quick::stage::open(args.plain);
    }
    let commands = Commands::beside(&index.scenario.file);
    let mut bench = Bench {
        commands: &commands,
        servers: Servers::new(&commands)?,
        scenario: &scenario,
        control,
        global,
        server_pid: args.server_pid,
        quiet: args.quiet,
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
    let code = bench.finish(&args.files);
    // What was done until then is shown, and stays.
    done.map(|()| code)
}

/// A list of servers that was typed is looked for here, and not beside the scenario.
fn from_here(spec: &str) -> String {
    let file = spec.strip_prefix('@');
    match file {
        Some(file) => format!("@{}", from_anywhere(Path::new(file)).display()),
        None => spec.to_owned(),
    }
}

/// A file by a name that is the same wherever it is asked for.
fn from_anywhere(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

fn unreadable(error: record::run::ReadError) -> anyhow::Error {
    Failure::usage(error.to_string())
        .hint("--resume wants a folder that uaperf run has made")
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
            .hint("leave the file away to go on with that one, or --resume to begin anew")
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

/// An index of all that is to be measured.
pub(super) fn index(scenario: &Scenario, source: Source, now: Timestamp) -> Sweep {
    let measurements = scenario.turns().into_iter().map(|turn| Measurement {
        point: turn.point,
        repetition: turn.repetition,
        values: scenario
            .points
            .get(turn.point)
            .map_or(Vec::new(), |it| it.values.clone()),
        state: State::Planned,
        why: None,
        file: None,
        verdict: None,
        phases: Vec::new(),
        expected: None,
        slo: None,
        stopped: None,
        aborted: None,
    });
    let axes = scenario.axes.iter().map(|axis| sweep::Axis {
        name: axis.name.clone(),
        values: axis.values.clone(),
    });
    Sweep {
        format: sweep::FORMAT.to_owned(),
        version: sweep::VERSION,
        name: scenario.name.clone(),
        started: now,
        ended: now,
        // It may be gone on with from another folder.
        scenario: Source {
            file: from_anywhere(&source.file),
            ..source
        },
        axes: axes.collect(),
        repeat: scenario.repeat,
        order: scenario.order.name().to_owned(),
        seed: scenario.seed,
        measurements: measurements.collect(),
    }
}

/// A scenario while it is carried out.
struct Bench<'a> {
    commands: &'a Commands,
    servers: Servers<'a>,
    scenario: &'a Scenario,
    control: Control,
    global: &'a Global,
    server_pid: Option<u32>,
    quiet: bool,
    trust: bool,
    rows: Option<Rows>,
    folder: PathBuf,
    index: Sweep,
    /// What measurements took beyond their load.
    spent: Vec<Duration>,
    /// Which of them is being carried out, of how many, and its name.
    measured: Option<(usize, usize, String)>,
    /// How long all behind it take, about.
    behind: Duration,
    /// A result could not be written.
    is_full: bool,
}

impl Bench<'_> {
    fn carry_out(&mut self) -> anyhow::Result<()> {
        let mut first = true;
        for place in 0..self.index.measurements.len() {
            if self.control.is_stopped() || self.is_full {
                break;
            }
            let Some(it) = self.index.measurements.get(place).filter(|it| it.is_left()) else {
                continue;
            };
            let turn = Turn {
                point: it.point,
                repetition: it.repetition,
            };
            let Some(point) = self.scenario.points.get(turn.point) else {
                continue;
            };
            if let Some(end) = self.ended_before(turn) {
                let why = format!("beyond {end}");
                self.note(place, |it| {
                    it.state = State::LeftOut;
                    it.why = Some(why);
                })?;
                continue;
            }
            if !std::mem::take(&mut first) {
                self.wait(self.scenario.pause);
            }
            self.announce(place, point);
            let began = Instant::now();
            let measured = self.measure(place, point, turn);
            let load = Scenario::length(point).0;
            self.spent.push(began.elapsed().saturating_sub(load));
            self.keep(place, point, measured)?;
        }
        Ok(())
    }

    /// The point at which this repetition of the sweep ended, if this one lies beyond it.
    fn ended_before(&self, turn: Turn) -> Option<String> {
        let ends = self
            .index
            .measurements
            .iter()
            .filter(|it| it.stopped.is_some() && it.repetition == turn.repetition);
        let mut beyond = ends.filter(|it| self.scenario.is_beyond(turn.point, it.point));
        beyond.next().map(|it| report::named(&self.index, it))
    }

    fn wait(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while Instant::now() < until && !self.control.is_stopped() {
            std::thread::sleep(Duration::from_millis(50).min(pause));
        }
    }

    fn announce(&mut self, place: usize, point: &Point) {
        if let Some(it) = self.index.measurements.get(place) {
            quick::feed::point(&report::named(&self.index, it));
        }
        if self.quiet {
            return;
        }
        let all = self.index.measurements.len();
        let Some(it) = self.index.measurements.get(place) else {
            return;
        };
        let repetition = match self.index.repeat {
            1 => String::new(),
            n => format!(", repetition {} of {n}", it.repetition),
        };
        let left = self
            .index
            .measurements
            .iter()
            .skip(place)
            .filter(|it| it.is_left());
        let (mut load, mut count) = (Duration::ZERO, 0);
        for it in left {
            count += 1;
            let point = self.scenario.points.get(it.point).unwrap_or(point);
            let next = Scenario::length(point)
                .0
                .saturating_add(self.scenario.pause);
            load = load.saturating_add(next);
        }
        let beside = self.spent.iter().sum::<Duration>();
        let beside = beside.checked_div(u32::try_from(self.spent.len()).unwrap_or(0));
        let left = load.saturating_add(beside.unwrap_or_default().saturating_mul(count));
        let behind = left.saturating_sub(Scenario::length(point).0);
        let left = match left.is_zero() {
            // Requests take as long as they take, and none has been seen yet.
            true => String::new(),
            false => format!("; about {} left", show(left)),
        };
        let name = format!("{}{repetition}", report::named(&self.index, it));
        // A terminal that is gone does not stop a measurement.
        let _ = writeln!(std::io::stderr(), "[{}/{all}] {name}{left}", place + 1);
        self.measured = Some((place + 1, all, name));
        self.behind = behind;
    }

    /// All phases of a point.
    fn measure(&mut self, place: usize, point: &Point, turn: Turn) -> anyhow::Result<Run> {
        let reached = match &point.start {
            Some(start) => Some(self.servers.for_turn(start, turn)?),
            None => None,
        };
        let control = self.control.for_measurement();
        let file = self.folder.join(self.index.file_of(place));
        let alone = point.groups.iter().map(|it| it.steps.len()).sum::<usize>() == 1;
        // What a phase has written beside the result bears its name where there are several.
        let beside = |step: &Step| match alone {
            true => file.with_extension(""),
            false => file.with_extension(results::in_file_names(&step.name)),
        };
        let mut whole: Option<Run> = None;
        let mut lacking = Lacking::default();
        let of = point.groups.len();
        for (n, group) in point.groups.iter().enumerate() {
            if control.is_aborted() {
                break;
            }
            // What was measured before stays; what follows would not find what it builds on.
            if control.is_over() || lacking.some() {
                lacking.left(group, control.is_over());
                continue;
            }
            let length = |group: &Group| group.length(point.servers());
            let behind = point.groups.iter().skip(n + 1).filter_map(length);
            let behind = behind.fold(self.behind, Duration::saturating_add);
            quick::stage::plan(Plan {
                point: self.measured.clone().filter(|(_, of, _)| *of > 1),
                phase: (n + 1, of),
                behind: Some(behind),
            });
            let quiet = self.quiet || group.steps.len() > 1 && !quick::stage::is_open();
            let measure = |step: &Step| {
                self.phase(
                    step,
                    point,
                    turn,
                    reached.as_ref(),
                    (quiet, &beside(step)),
                    &control,
                )
            };
            let runs: Vec<anyhow::Result<Run>> = match group.steps.as_slice() {
                [step] => vec![measure(step)],
                steps => std::thread::scope(|scope| {
                    let threads: Vec<_> = steps
                        .iter()
                        .map(|step| scope.spawn(move || measure(step)))
                        .collect();
                    let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
                    let gone = || Err(Failure::new("a thread ended before its time").into());
                    ended.map(|it| it.unwrap_or_else(|_| gone())).collect()
                }),
            };
            for (step, run) in group.steps.iter().zip(runs) {
                match (run, &mut whole) {
                    (Ok(run), Some(whole)) => add(whole, run),
                    (Ok(run), None) => whole = Some(run),
                    (Err(error), _) => lacking.failed(step, error),
                }
            }
        }
        let mut run = match (whole, lacking.first) {
            (Some(run), _) => run,
            (None, Some(error)) => return Err(error),
            (None, None) => return Err(Failure::new("interrupted").into()),
        };
        run.verdict = judge::lower(run.verdict, &lacking.missing);
        if self.control.is_stopped()
            && !lacking.missing.is_empty()
            && !run.marks.contains(&Mark::Interrupted)
        {
            run.marks.push(Mark::Interrupted);
        }
        "run".clone_into(&mut run.command);
        if let Some(peer) = reached.and_then(|it| it.peer) {
            for target in &mut run.targets {
                target.peer = Some(peer.clone());
            }
        }
        let values = self
            .scenario
            .axes
            .iter()
            .map(|axis| axis.name.clone())
            .zip(&point.values);
        let values: serde_json::Map<String, serde_json::Value> = values
            .map(|(name, value)| (name, value.as_str().into()))
            .collect();
        if let Some(request) = run.request.as_object_mut() {
            request.insert("scenario".into(), self.scenario.name.as_str().into());
            if let Some(study) = &self.scenario.study {
                request.insert("study".into(), study.as_str().into());
            }
            request.insert("point".into(), (turn.point + 1).into());
            request.insert("repetition".into(), turn.repetition.into());
            request.insert("values".into(), values.into());
        }
        Ok(run)
    }

    fn phase(
        &self,
        step: &Step,
        point: &Point,
        turn: Turn,
        reached: Option<&Reached>,
        (quiet, stem): (bool, &Path),
        control: &Control,
    ) -> anyhow::Result<Run> {
        let targets = reached.map_or(point.targets.as_slice(), |it| it.targets.as_slice());
        // The phase below has the servers themselves; here they are only to be named.
        let mut words = vec![SOME_SERVER.to_owned()];
        if let Some(pid) = reached.map(|it| it.pid).or(self.server_pid) {
            words.push(format!("--server-pid={pid}"));
        }
        words.extend(Commands::beside_result(&step.settings, stem));
        if quiet {
            words.push("--quiet".to_owned());
        }
        let trusts = step.settings.iter().any(|it| it.option == "trust");
        if (self.trust || reached.is_some()) && !trusts {
            words.push("--trust".to_owned());
        }
        let asked = self
            .commands
            .asked(&step.service, &step.settings, &words)
            .map_err(|refusal| Failure::usage(refusal.what))?;
        let targets = self.commands.resolved(targets).map_err(Failure::usage)?;
        let mut phase = step.phase.clone();
        // Each repetition has a random course of its own, or all would share one bias.
        phase.seed = phase.seed.wrapping_add(u64::from(turn.repetition) - 1);
        asked.measure(&targets, &phase, &control.for_phase(), self.global)
    }

    /// What came of a measurement, into its file and the index.
    fn keep(
        &mut self,
        place: usize,
        point: &Point,
        measured: anyhow::Result<Run>,
    ) -> anyhow::Result<()> {
        let phases = point.groups.iter().map(|group| group.steps.len());
        let phases: usize = phases.sum();
        let run = match measured {
            Ok(run) => run,
            Err(_) if self.control.is_stopped() => {
                return self.note(place, |it| it.state = State::Interrupted);
            }
            Err(error) => {
                let why = format!("{error:#}");
                if !self.quiet {
                    let _ = writeln!(std::io::stderr(), "  failed: {why}");
                }
                return self.note(place, |it| {
                    it.state = State::Failed;
                    it.why = Some(why);
                });
            }
        };
        let wanted = self.index.destination(&self.folder, place);
        let lost = written::keep(&run, &wanted).lost;
        // The next one would be lost as well.
        self.is_full = lost.is_some();
        let file = self.index.file_of(place);
        if let Some(rows) = self.rows.as_ref().filter(|_| !self.control.is_stopped()) {
            let point = self
                .index
                .measurements
                .get(place)
                .map_or(place, |it| it.point);
            rows.append(point, &run)?;
        }
        // A phase that a person ended, to have the next one, is done.
        let ended = |it: &ByHand| it.did == Hand::EndedPhase;
        let ended = run.phases.iter().any(|it| it.by_hand.iter().any(ended));
        let interrupted =
            self.control.is_stopped() || run.marks.contains(&Mark::Interrupted) && !ended;
        let aborted = run.marks.contains(&Mark::Aborted);
        let (slo, stopped) = judged(point, &run);
        self.note(place, |it| {
            it.take(&run);
            it.file = Some(file).filter(|_| lost.is_none());
            it.slo = slo;
            it.stopped = stopped.filter(|_| !interrupted);
            it.state = match run.verdict.kind {
                _ if lost.is_some() => State::Failed,
                _ if interrupted => State::Interrupted,
                Kind::Failed => State::Failed,
                // A phase that could not begin is to be measured again.
                Kind::Incomplete if run.phases.len() < phases && !aborted => State::Failed,
                _ => State::Done,
            };
            it.why = lost;
        })
    }

    fn note(&mut self, place: usize, note: impl FnOnce(&mut Measurement)) -> anyhow::Result<()> {
        if let Some(it) = self.index.measurements.get_mut(place) {
            note(it);
        }
        self.index.ended = SystemTime::now().into();
        self.index
            .write(&self.folder)
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(())
    }

    /// The table, where everything is, and how it went. Files come first.
    fn finish(self, files: &Files) -> ExitCode {
        let Self {
            folder,
            index,
            servers,
            rows,
            control,
            ..
        } = self;
        drop(servers);
        if files.is_any() {
            let failed = failures(&index);
            match index.measurements.iter().any(|it| it.file.is_some()) {
                true => match results::read(std::slice::from_ref(&folder)) {
                    Ok(runs) => files.write(&runs, &failed),
                    Err(error) => lost::add(error),
                },
                false => files.write_failed(&failed),
            }
        }
        let mut out = Out::beside_file(files.take_output());
        let mut text = report::sweep(&index, out.style());
        text.push_str(&format!("\nresults     {}\n", folder.display()));
        if let Some(rows) = rows.filter(|rows| rows.file().exists()) {
            text.push_str(&format!("rows        {}\n", rows.file().display()));
        }
        if index.measurements.iter().any(Measurement::is_left) {
            text.push_str(&format!(
                "go on with  uaperf run --resume {}\n",
                folder.display()
            ));
        }
        // Printing does not fail.
        let _ = out.write_all(text.as_bytes());
        let interrupted = control.is_stopped();
        ExitCode::from(exit(&index, interrupted).code())
    }
}

/// Phases of a point that were not carried out.
#[derive(Default)]
struct Lacking {
    missing: Vec<Missing>,
    /// What the first of them failed of.
    first: Option<anyhow::Error>,
}

impl Lacking {
    fn some(&self) -> bool {
        !self.missing.is_empty()
    }

    fn failed(&mut self, step: &Step, error: anyhow::Error) {
        self.missing.push(Missing::Phase {
            name: step.name.clone(),
            why: format!("{error:#}"),
        });
        self.first.get_or_insert(error);
    }

    /// A group that was not begun.
    fn left(&mut self, group: &Group, interrupted: bool) {
        let why = match interrupted {
            true => "interrupted before",
            false => "what came before it was not done",
        };
        let phases = group.steps.iter().map(|step| Missing::Phase {
            name: step.name.clone(),
            why: why.to_owned(),
        });
        self.missing.extend(phases);
    }
}

/// Measurements of which there is no result, and why.
fn failures(index: &Sweep) -> Vec<Unmeasured> {
    let failed = index.measurements.iter();
    let failed = failed.filter(|it| it.state == State::Failed && it.file.is_none());
    let unmeasured = |it: &Measurement| Unmeasured {
        name: report::named(index, it),
        why: it.why.clone().unwrap_or_default(),
    };
    failed.map(unmeasured).collect()
}

/// What kept its objective, and what ends the sweep.
fn judged(point: &Point, run: &Run) -> (Option<bool>, Option<String>) {
    let (mut slo, mut stopped) = (None, None);
    let steps = point.groups.iter().flat_map(|group| &group.steps);
    for step in steps {
        let Some(phase) = run.phases.iter().find(|phase| phase.name == step.name) else {
            continue;
        };
        let figures = judge::Measured(phase);
        if !step.slo.is_empty() {
            let kept = step.slo.iter().all(|it| it.check(&figures).is_met());
            slo = Some(slo.unwrap_or(true) && kept);
        }
        let end = step.stop_when.iter().find(|it| it.check(&figures).is_met());
        stopped = stopped.or_else(|| end.map(ToString::to_string));
    }
    (slo, stopped)
}

/// Adds the phases of another run of the same point.
fn add(whole: &mut Run, run: Run) {
    if let (Some(phases), Some(more)) = (
        whole.plan["phases"].as_array_mut(),
        run.plan["phases"].as_array(),
    ) {
        phases.extend(more.iter().cloned());
    }
    whole.phases.extend(run.phases);
    let phases = whole.phases.iter();
    whole.verdict = judge::worst(phases.map(|phase| (phase.name.as_str(), &phase.verdict)));
    for mark in run.marks {
        if !whole.marks.contains(&mark) {
            whole.marks.push(mark);
        }
    }
    for note in run.notes {
        if !whole.notes.contains(&note) {
            whole.notes.push(note);
        }
    }
    whole.ended = whole.ended.max(run.ended);
}

/// How a scenario ends: interrupted, not measured as a whole, then verdicts, then conditions.
fn exit(index: &Sweep, interrupted: bool) -> Exit {
    let all = || index.measurements.iter();
    let done = || all().filter(|it| it.state == State::Done);
    let lacking = |it: &Measurement| {
        it.state == State::Failed || matches!(it.verdict, Some(Kind::Failed | Kind::Incomplete))
    };
    let doubtful =
        |it: &Measurement| matches!(it.verdict, Some(Kind::GeneratorLimited | Kind::Unsteady));
    if interrupted && all().any(Measurement::is_left) {
        Exit::Interrupted
    } else if done().count() == 0 || all().any(lacking) {
        Exit::Nothing
    } else if done().any(doubtful) {
        Exit::Verdict
    } else if done().any(|it| it.expected == Some(false)) {
        Exit::Threshold
    } else {
        Exit::Good
    }
}
