//! `uaperf agent`: carries out what a controller asks for, over its standard input and output.

mod guard;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use fleet::frame::{encode, pack, unpack};
use fleet::{Hello, Share, Stamp, ToAgent};
use judge::Exit;
use load::engine::{Control, Others};
use plan::unit::duration::{self, nanos};
use plan::{Phase, Seat, TargetSpec, Targets};
use record::run::Figure;
use wire::time::Instant;

use crate::failure::Failure;
use crate::fleet::pipe::{self, End, stamp};
use crate::fleet::result_folder::ResultFolder;
use crate::fleet::task::{AgentResults, AgentUpdate, Load, Part, Role, Task, Watches};
use crate::fleet::{VERSION, check, nats};
use crate::global::Global;
use crate::interrupt;
use crate::publishing::phase::SERVICES as PUBSUB;
use crate::publishing::role::{self, Stage};
use crate::quick;
use crate::remote_watch::FromWatch;
use crate::screen::{self, tell};
use crate::watch::piped;
use crate::{landscape, link};
use guard::Guard;

/// Generate a share of a fleet's load; started by --fleet, on this machine or over ssh
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// Hear from the controller on standard input, and answer on standard output
    #[arg(long, required_unless_present = "nats")]
    pipe: bool,
    #[command(flatten)]
    outpost: nats::Args,
    /// Stop when the controller says nothing for so long; it may ask for another time
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    orphan: Duration,
    #[command(flatten)]
    guard: guard::Args,
}

const NOTES: &str = "\
People do not start agents: `uaperf read … --fleet local:2,ssh:user@host` does. An agent makes its load and stops it by
itself when its pipe ends or the controller is silent.

On a host that others reach, let it take signed commands only, such as by a line of ssh's authorized_keys:
  command=\"uaperf agent --pipe --allow-from fleet.keys --targets 10.0.0.*:4840\" ssh-ed25519 AAAA…

Where a host only dials out, an agent waits at a broker until it is ended; for each load it starts a process of its own:
  uaperf agent --nats tls://broker:4222 --tag lab --allow-from fleet.keys --targets '10.0.0.*:4840'

Certificates and trust lists are those of the agent's own user.";

/// What an agent that lost its controller has for ending its load, before the process ends: beside the time of requests
/// that a server does not answer, and of sessions that it does not close. The server may be behind the same network.
const GRACE: Duration = Duration::from_secs(15);

/// Progress is told this often.
const EVERY: Duration = Duration::from_millis(250);

/// What the thread that speaks with the controller hears.
enum Inbox {
    Message(ToAgent, Stamp),
    End(String),
    Ready(Duration),
    Progress(Vec<u8>),
    Results(Vec<u8>),
    Failed(String),
}

/// What the load waits for.
#[derive(Debug, Default)]
struct Start {
    state: Mutex<AgentState>,
    changed: Condvar,
    /// How long a request of the share may take, in nanoseconds.
    timeout: AtomicU64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum AgentState {
    #[default]
    Unknown,
    At(Instant),
    Never,
}

impl Start {
    fn set(&self, state: AgentState) {
        let mut now = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == AgentState::Unknown {
            *now = state;
        }
        self.changed.notify_all();
    }

    fn wait(&self) -> Option<Instant> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = |state: &mut AgentState| *state == AgentState::Unknown;
        let state = self.changed.wait_while(state, unknown);
        match *state.unwrap_or_else(PoisonError::into_inner) {
            AgentState::At(at) => Some(at),
            AgentState::Unknown | AgentState::Never => None,
        }
    }
}

/// The other agents, as the load knows them.
struct Waiting {
    start: Arc<Start>,
    tell: Mutex<Sender<AgentUpdate>>,
    /// By how much the moment to begin was over when this heard of it, in nanoseconds.
    late: Arc<AtomicU64>,
}

impl Others for Waiting {
    fn ready(&self, rest: Duration) -> Option<Instant> {
        if let Ok(tell) = self.tell.lock() {
            // Whoever does not listen lets nobody begin.
            let _ = tell.send(AgentUpdate::Ready(rest));
        }
        let at = self.start.wait()?;
        let late = stamp().mono_ns.saturating_sub(at.as_nanos());
        self.late.store(late, Ordering::Relaxed);
        Some(at)
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}

/// Carries out `uaperf agent`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    if args.outpost.nats.is_some() {
        // What is wrong with it is said now, and not at the first load.
        Guard::new(&args.guard)?;
        let mut words = args.guard.words();
        words.push(format!("--orphan={}ns", nanos(args.orphan)).into());
        words.extend(["--pki".into(), global.pki()?.into()]);
        return nats::run(&args.outpost, &words);
    }
    let guard = Guard::new(&args.guard)?;
    let (post, letters) = channel();
    let (give, tasks) = channel();
    let (hint, hints) = channel();
    let control = Control::default();
    let start = Arc::new(Start::default());
    let line = Line {
        agent: fleet::Agent::new(hello(&guard), nanos(args.orphan), stamp()),
        out: writer()?,
        give,
        hint,
        control: control.clone(),
        start: Arc::clone(&start),
    };
    reader(post.clone())?;
    let talking = std::thread::Builder::new().name("controller".into());
    let talking = talking.spawn(move || line.talk(&letters))?;
    let mut kept = None;
    platform::memory::unmap_code();
    if let Ok(share) = tasks.recv() {
        let at = At {
            start: &start,
            control: &control,
            post: &post,
            hints,
            global,
        };
        let done = done(&share, &guard, at);
        let letter = match done {
            Ok(Done { results, on }) => {
                kept = on;
                Inbox::Results(results)
            }
            Err(error) => Inbox::Failed(format!("{error:#}")),
        };
        // It is gone when the controller is.
        let _ = post.send(letter);
    }
    let end = talking
        .join()
        .unwrap_or(DisconnectKind::Orphaned(String::new()));
    if let (DisconnectKind::Left { taken: true }, Some((folder, name))) = (&end, &kept) {
        folder.remove(name);
    }
    match end {
        DisconnectKind::Left { .. } => Ok(ExitCode::SUCCESS),
        DisconnectKind::Orphaned(why) => {
            let kept = kept.map_or_else(String::new, |(folder, name)| {
                format!("; what it did is in {}", folder.file(&name).display())
            });
            tell!("the agent stopped: {why}{kept}");
            Ok(ExitCode::from(Exit::Nothing))
        }
    }
}

/// What came of a task.
struct Done {
    results: Vec<u8>,
    /// Where they are kept, under which name.
    on: Option<(ResultFolder, String)>,
}

/// What a task is carried out with.
struct At<'a> {
    start: &'a Arc<Start>,
    control: &'a Control,
    post: &'a Sender<Inbox>,
    /// What comes for a role.
    hints: Receiver<Vec<u8>>,
    global: &'a Global,
}

/// Carries a task out.
fn done(share: &Share, guard: &Guard, at: At<'_>) -> anyhow::Result<Done> {
    let task: Task = unpack(&share.task)?;
    guard.check(share, &task)?;
    let ended = |came: bool| {
        guard.ended(match (came, at.control.is_over()) {
            (true, false) => "ended as asked",
            (true, true) => "ended before its time",
            (false, _) => "came to nothing",
        })
    };
    let load = match task {
        Task::Load(load) => load,
        Task::Role(role) => {
            let stage = Stage {
                ready: &|| {
                    let _ = at.post.send(Inbox::Ready(Duration::ZERO));
                    at.start.wait()
                },
                tell: &|bytes| {
                    let _ = at.post.send(Inbox::Progress(bytes));
                },
                hints: &at.hints,
                control: at.control,
                global: at.global,
            };
            let results = match *role {
                Role::Serve(it) => landscape::carry_out(&it, &stage),
                Role::Watch(it) => watch(&it, &stage),
                Role::Link(it) => link::carry_out(&it, &stage),
                other => role::carry_out(other, &stage),
            };
            ended(results.is_ok())?;
            return Ok(Done {
                results: results?,
                on: None,
            });
        }
        Task::Late(own) => {
            let folder = ResultFolder::of(&own.load)?;
            let results = folder.get(&own.kept()).map_err(|error| {
                let file = folder.file(&own.kept());
                Failure::new(format!(
                    "it has kept no results of this load: {}: {error}",
                    file.display()
                ))
            })?;
            return Ok(Done {
                results,
                on: Some((folder, own.kept())),
            });
        }
    };
    let own = load.own.clone();
    let results = carry_out(*load, &share.seats, &at);
    ended(results.is_ok())?;
    let results = results?;
    // Whoever cannot keep them has done the work all the same.
    let keep = || {
        let folder = ResultFolder::of(&own.load)?;
        ResultFolder::tidy();
        folder.put(&own.kept(), &results)?;
        anyhow::Ok((folder, own.kept()))
    };
    let on = keep().map_err(|error| tell!("warning: results are not kept: {error:#}"));
    Ok(Done {
        results,
        on: on.ok(),
    })
}

/// Looks for a controller.
fn watch(role: &Watches, stage: &Stage<'_>) -> anyhow::Result<Vec<u8>> {
    let tell = |look: &FromWatch| {
        // It is as long as a process has threads.
        pack(look).into_iter().for_each(|bytes| (stage.tell)(bytes));
    };
    let begin = || (stage.ready)().is_some();
    let is_over = || stage.control.is_over();
    let every = Duration::from_nanos(role.every_ns);
    piped::look(&role.what, every, &begin, &tell, &is_over)?;
    Ok(Vec::new())
}

/// Who this is.
fn hello(guard: &Guard) -> Hello {
    let machine = observe::fingerprint();
    let cores = machine.cores.known().copied().unwrap_or(1);
    Hello {
        version: VERSION.to_owned(),
        host: gethostname::gethostname().to_string_lossy().into_owned(),
        pid: std::process::id(),
        platform: machine.build.target,
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        services: {
            let all = quick::SERVICES
                .iter()
                .chain(&PUBSUB)
                .chain(&["serve", "watch", "link"]);
            all.map(|it| (*it).to_owned()).collect()
        },
        limits: {
            let limits = check::limits(machine.build.debug_assertions);
            guard.limits().into_iter().chain(limits).collect()
        },
        nonce: guard.nonce(),
    }
}

/// How it parts from its controller.
enum DisconnectKind {
    Left {
        /// Its results are with the controller.
        taken: bool,
    },
    Orphaned(String),
}

/// The line to the controller.
struct Line {
    agent: fleet::Agent,
    out: Sender<Vec<u8>>,
    give: Sender<Share>,
    hint: Sender<Vec<u8>>,
    control: Control,
    start: Arc<Start>,
}

impl Line {
    /// Until the controller needs it no more, or is gone.
    fn talk(mut self, letters: &Receiver<Inbox>) -> DisconnectKind {
        loop {
            while let Some(task) = self.agent.poll_task() {
                match task {
                    fleet::Task::Share(share) => drop(self.give.send(share)),
                    fleet::Task::Start { at_ns } => {
                        self.start.set(AgentState::At(Instant::from_nanos(at_ns)));
                    }
                    // It is gone when the share is done.
                    fleet::Task::Word(bytes) => drop(self.hint.send(bytes)),
                    fleet::Task::Stop => self.stop(),
                    fleet::Task::Leave { taken } => {
                        self.stop();
                        return DisconnectKind::Left { taken };
                    }
                    fleet::Task::Orphaned { why } => {
                        self.stop();
                        let timeout =
                            Duration::from_nanos(self.start.timeout.load(Ordering::Relaxed));
                        leave_after(GRACE.saturating_add(timeout.saturating_mul(2)));
                        return DisconnectKind::Orphaned(why);
                    }
                }
            }
            while let Some(message) = self.agent.poll_transmit(stamp()) {
                // What does not fit is noticed at the other end; a pipe that is gone by the reader.
                if let Ok(frame) = encode(&message) {
                    let _ = self.out.send(frame);
                }
            }
            let due = self.agent.poll_timeout().unwrap_or(u64::MAX);
            let wait = Duration::from_nanos(due.saturating_sub(stamp().mono_ns));
            match letters.recv_timeout(wait.min(Duration::from_secs(3600))) {
                Ok(Inbox::Message(message, at)) => self.agent.receive(message, at),
                Ok(Inbox::End(why)) => self.agent.closed(why),
                Ok(Inbox::Ready(rest)) => self.agent.ready(nanos(rest)),
                Ok(Inbox::Progress(bytes)) => self.agent.progress(bytes),
                Ok(Inbox::Results(bytes)) => self.agent.results(&bytes),
                Ok(Inbox::Failed(why)) => self.agent.failed(why),
                Err(RecvTimeoutError::Timeout) => self.agent.handle_timeout(stamp()),
                Err(RecvTimeoutError::Disconnected) => self.agent.closed("nobody is left"),
            }
        }
    }

    /// No more load.
    fn stop(&self) {
        self.control.stop();
        self.start.set(AgentState::Never);
    }
}

/// A load that does not end though it is to is ended with the process.
fn leave_after(grace: Duration) {
    let thread = std::thread::Builder::new().name("end".into());
    // Without a thread the load ends by itself all the same, when requests have timed out.
    let _ = thread.spawn(move || {
        std::thread::sleep(grace);
        interrupt::quit(Exit::Nothing);
    });
}

/// What comes from the controller.
fn reader(post: Sender<Inbox>) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("from".into());
    let read = move || {
        let each = |message, now| {
            let _ = post.send(Inbox::Message(message, now));
        };
        let why = match pipe::read(std::io::stdin().lock(), each) {
            End::Over => "the pipe to the controller ended".to_owned(),
            End::Failed(error) => error.to_string(),
            End::NotOurs(error) => format!("no controller is at the other end: {error}"),
        };
        // Nobody reads it when all is over.
        let _ = post.send(Inbox::End(why));
    };
    thread.spawn(read).map(drop)
}

/// What goes to the controller, from a thread of its own: one that does not read holds nobody up.
fn writer() -> std::io::Result<Sender<Vec<u8>>> {
    let (out, frames) = channel::<Vec<u8>>();
    let thread = std::thread::Builder::new().name("to".into());
    thread.spawn(move || pipe::write(screen::pipe(), &frames))?;
    Ok(out)
}

/// The share carried out: the results, as bytes.
fn carry_out(task: Load, seats: &[Seat], at: &At<'_>) -> anyhow::Result<Vec<u8>> {
    let At {
        start,
        control,
        post,
        global,
        ..
    } = at;
    let phase = Phase::from_json(&task.phase).context("the phase cannot be read")?;
    start.timeout.store(nanos(phase.timeout), Ordering::Relaxed);
    let specs: Result<Vec<TargetSpec>, _> = task.targets.iter().map(|it| it.parse()).collect();
    let specs = specs.map_err(|error| Failure::usage(format!("a server's URL: {error}")))?;
    let targets = Targets::resolve(&specs, |_| Err(std::io::ErrorKind::Unsupported.into()))
        .map_err(|error| Failure::usage(error.to_string()))?;
    let (tell, told) = channel();
    let late = Arc::new(AtomicU64::new(0));
    let part = Part {
        seats: seats.to_vec(),
        others: Arc::new(Waiting {
            start: Arc::clone(start),
            tell: Mutex::new(tell.clone()),
            late: Arc::clone(&late),
        }),
        tell,
    };
    let asked = quick::QuickCommand::of_agent(&task.service, &task.targets, &task.words)?;
    let asked = asked.of_part(part, task.password);
    let posting = {
        let post = (*post).clone();
        let thread = std::thread::Builder::new().name("progress".into());
        thread.spawn(move || pass_progress(&told, &post))?
    };
    let run = asked.measure(&targets, &phase, control, global);
    // Its end of the channel goes with it.
    drop(asked);
    let part = posting.join().ok().flatten();
    let run = run?;
    let part = part.ok_or_else(|| Failure::new("it measured nothing"))?;
    let subscriptions = run.phases.first().and_then(|it| it.subscriptions.as_ref());
    let clock_error_ns = match subscriptions.map(|it| &it.clock.error_ns) {
        Some(Figure::Known(error)) => Some(*error),
        Some(Figure::Missing { .. }) => None,
        None => Some(0),
    };
    let results = AgentResults {
        part,
        run: serde_json::to_string(&run)?,
        clock_error_ns,
        late_ns: late.load(Ordering::Relaxed),
    };
    Ok(results.to_bytes()?)
}

/// Passes on what goes on, several at a time; gives the figures when all is over.
fn pass_progress(told: &Receiver<AgentUpdate>, post: &Sender<Inbox>) -> Option<load::engine::Part> {
    let mut part = None;
    let mut progress = Vec::new();
    let mut next = std::time::Instant::now() + EVERY;
    loop {
        let wait = next.saturating_duration_since(std::time::Instant::now());
        let over = match told.recv_timeout(wait) {
            Ok(AgentUpdate::Ready(rest)) => post.send(Inbox::Ready(rest)).is_err(),
            Ok(AgentUpdate::Progress(it)) => {
                progress.extend(it);
                false
            }
            Ok(AgentUpdate::Part(it)) => {
                part = Some(*it);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        if over || std::time::Instant::now() >= next {
            next = std::time::Instant::now() + EVERY;
            if let (false, Ok(bytes)) = (progress.is_empty(), pack(&progress)) {
                progress.clear();
                let _ = post.send(Inbox::Progress(bytes));
            }
        }
        if over {
            return part;
        }
    }
}
