//! From a phase to what became of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use plan::{Phase, Plan, Seat, Targets};
use record::receipt::Account;
use record::run::{Counted, Figure};
use record::samples::Samples;
use record::{Receipt, Tally};
use thiserror::Error;
use wire::time::Instant;

use super::control::{Change, Control};
use super::core::{Core, Parts};
use super::fresh::{self, Client};
use super::gate::Gate;
use super::helper::{Helpers, Reopen};
use super::lane::Lane;
use super::machine::Machine;
use super::opening::{self, Absents, SessionError, Target, Waiting};
use super::rounds::{self, Rounds};
use super::seat::Seat as Place;
use super::settings::Settings;
use super::settle::settle;
use super::subscriber::{Shape, Subscriber};
use super::told::{Loss, Progress, Report};
use super::witness::{self, Witness};
use crate::transport::{Clock, Socket, Steps};
use crate::work::{Prepared, Requests};
use wire::types::StatusCode;

/// How a phase is carried out on this machine.
#[derive(Clone)]
pub struct Options {
    /// Threads; sessions are dealt out to them.
    pub threads: u32,
    /// CPUs to keep the threads on, in turn; anywhere if there are none.
    pub pin: Vec<usize>,
    /// Whether the limits that a server declares are kept.
    pub limits: bool,
    /// Whether the kernel is asked when bytes came in.
    pub stamps: bool,
    /// Where single requests are written down.
    pub samples: Option<Samples>,
    /// Whether servers are asked what they counted themselves.
    pub diagnostics: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            pin: Vec::new(),
            limits: true,
            stamps: true,
            samples: None,
            diagnostics: false,
        }
    }
}

/// Why a phase could not be carried out at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Not one session could be opened; the first of the reasons.
    #[error("{url}: {error}")]
    NoSession {
        /// With which target.
        url: String,
        /// Why.
        error: Box<SessionError>,
    },
    /// The system has no more threads or descriptors.
    #[error("cannot start a thread or a poll: {0}")]
    System(#[from] std::io::Error),
    /// A thread ended before its time.
    #[error("a thread of the generator ended before its time")]
    Thread,
}

/// A session that could not be opened.
#[derive(Debug)]
pub struct Failed {
    /// Which.
    pub seat: Seat,
    /// Why.
    pub error: SessionError,
}

/// How long it took to open a session, step by step.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Which.
    pub seat: Seat,
    /// Its steps.
    pub steps: Steps,
}

/// What a core cost.
#[derive(Debug, Clone)]
pub struct CoreSpent {
    /// Sessions that it had.
    pub sessions: usize,
    /// Time that it ran.
    pub ran_ns: u64,
    /// Time of that in which there was nothing to do; a spinning core is idle then.
    pub idle_ns: u64,
    /// CPU time, where the system tells.
    pub cpu_ns: Option<u64>,
    /// Time in which it had something to do and no CPU, where the system tells.
    pub starved_ns: Option<u64>,
    /// Bytes given to sockets.
    pub sent_bytes: u64,
    /// Bytes taken from sockets.
    pub received_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Reads.
    pub reads: u64,
}

/// What became of a phase.
#[derive(Debug)]
pub struct Outcome {
    /// What was asked, one after the other; one tally each.
    pub names: Vec<&'static str>,
    /// So many of them, from the first one on, are operations; what follows are steps of them.
    pub operations: usize,
    /// What was written down: by target, then by name.
    pub tallies: Vec<Vec<Tally>>,
    /// When the phase began.
    pub began: SystemTime,
    /// When it stopped sending, in nanoseconds since.
    pub ended_ns: u64,
    /// When the last answer was there.
    pub drained_ns: u64,
    /// Whether it was stopped early.
    pub stopped: bool,
    /// What a person did to it, and when, in nanoseconds since it began.
    pub by_hand: Vec<(u64, Change)>,
    /// Sessions that were opened.
    pub opened: Vec<Opened>,
    /// Sessions that were not.
    pub failed: Vec<Failed>,
    /// Sessions that were lost on the way.
    pub losses: Vec<(Seat, Loss)>,
    /// What the cores cost.
    pub cores: Vec<CoreSpent>,
    /// How long each cycle took, in nanoseconds, where all sessions send together: until the slowest
    /// was answered.
    pub cycles_ns: Vec<u64>,
    /// What subscriptions brought, if there were some.
    pub account: Option<Account>,
    /// Subscriptions that were not created, by status.
    pub refused: BTreeMap<u32, u64>,
    /// Changes of subscriptions that a server refused, by what they were and its status.
    pub unchanged: BTreeMap<(&'static str, u32), u64>,
    /// The most Publish requests that a session kept waiting.
    pub publish_requests: usize,
    /// What became of the shape that was asked for.
    pub shape: Shape,
    /// What is known of rounds of steps, if that is what was done.
    pub rounds: Option<Rounds>,
    /// What each target counted itself, if they were asked.
    pub diagnostics: Vec<Figure<Counted>>,
}

impl Outcome {
    /// All targets together, by name.
    pub fn total(&self) -> Vec<Tally> {
        let mut targets = self.tallies.iter();
        let mut total: Vec<Tally> = match targets.next() {
            Some(first) => first.clone(),
            None => Vec::new(),
        };
        for target in targets {
            for (sum, tally) in total.iter_mut().zip(target) {
                sum.merge(tally);
            }
        }
        total
    }
}

/// Sessions that are opened at the same time.
const OPENERS: usize = 8;

/// Between the last preparation and the begin, for all threads to be there.
pub(super) const RUN_UP: Duration = Duration::from_millis(20);

/// Carries out a phase against its targets. `progress` is told what happens, about ten times a
/// second for each core.
pub fn run(
    phase: &Phase,
    targets: &[Arc<Target>],
    prepared: &[Arc<Prepared>],
    options: &Options,
    control: &Control,
    mut progress: impl FnMut(Progress),
) -> Result<Outcome, RunError> {
    let plan = Plan::of(
        Targets::from_iter(targets.iter().map(|target| target.access.url.clone())),
        phase.clone(),
    );
    // Whoever waits for all others has to see them: sessions that send together share a core.
    let threads = if phase.together {
        1
    } else {
        options.threads.max(1)
    };
    let shares = plan.shares(threads);
    let seats: Vec<Seat> = {
        let mut all: Vec<Seat> = shares
            .iter()
            .flat_map(|share| share.seats.clone())
            .collect();
        all.sort_unstable();
        all
    };
    if !phase.work.steps().is_empty() {
        let running = Running {
            phase,
            targets,
            prepared,
            options,
            control,
        };
        return rounds::run(&running, &seats, &mut progress);
    }
    if phase.fresh_session {
        return run_fresh(phase, targets, prepared, &seats, options, control, progress);
    }
    let (mut waiting, failed) = open_all(phase, targets, prepared, &seats, control)?;
    if waiting.is_empty() {
        let none = failed.into_iter().next();
        return Err(none.map_or(RunError::Thread, |failed| RunError::NoSession {
            url: url(targets, failed.seat),
            error: Box::new(failed.error),
        }));
    }
    let count = u32::try_from(targets.len()).unwrap_or(u32::MAX);
    let witnesses: Vec<Witness> = match options.diagnostics {
        true => (0..count)
            .map(|n| Witness::begin(n, &mut waiting))
            .collect(),
        false => Vec::new(),
    };
    let mut settings = Settings::new(phase);
    settings.stamps = options.stamps;
    if let Some(plan) = phase.subscribe() {
        let items = waiting.iter().filter_map(|it| it.requests.as_ref());
        let items: u64 = items.map(Requests::all_items).sum();
        settings.settle = plan.settling(items);
    }
    let absents = Arc::new(Absents::default());
    let settle = settings.settle;
    let settings = Arc::new(settings);
    let helpers = Helpers::start(reopen(phase, targets, prepared, &seats, &absents))?;
    let names = Prepared::names(phase);
    let name = phase
        .name
        .as_deref()
        .unwrap_or(phase.work.name())
        .to_owned();

    let mut there: Vec<Seat> = waiting.iter().map(|it| it.seat).collect();
    there.sort_unstable();
    let mut by_seat: HashMap<Seat, Waiting> = waiting.into_iter().map(|it| (it.seat, it)).collect();
    let mut opened = Vec::with_capacity(by_seat.len());
    let clock = Clock::new();
    let zero = clock.now();
    let origin =
        clock.mono() + RUN_UP + PER_SESSION * u32::try_from(by_seat.len()).unwrap_or(u32::MAX);
    let began = SystemTime::now() + origin.since(clock.mono());
    let (tell, told) = channel();
    let mut threads = Vec::new();
    let alive = |share: &&plan::Share| share.seats.iter().any(|it| by_seat.contains_key(it));
    let cores = shares.iter().filter(alive).count();
    let gate = phase.subscribe().map(|_| Arc::new(Gate::new(cores)));
    for (number, share) in shares.iter().enumerate() {
        let mut places = Vec::new();
        let mut items = 0;
        for seat in &share.seats {
            let Some(it) = by_seat.remove(seat) else {
                continue;
            };
            let index = seats.binary_search(seat).unwrap_or_default();
            let token = it.absent.token().clone();
            let requests = match there.binary_search(seat) {
                Ok(place) if !failed.is_empty() => {
                    opening::requests_of_fewer(phase, place, there.len())
                }
                _ => opening::requests(phase, *seat, count),
            };
            let setup = opening::setup(
                phase,
                &settings,
                (*seat, count),
                requests,
                token,
                it.askers,
                origin,
            );
            places.push(Place::new(
                index,
                seat.target as usize,
                seat.target as usize * names.len(),
                it.socket,
                match it.requests {
                    None => Lane::new(it.connection, setup),
                    Some(requests) => {
                        items += requests.all_items() as usize;
                        let first = there.iter().find(|it| it.target == seat.target);
                        let asks = first == Some(seat);
                        let duty = witness::duty(phase, &witnesses, *seat, asks);
                        let orders = opening::orders(phase, *seat, count, zero.mono, duty);
                        let subscriber = Subscriber::new(requests, orders);
                        Lane::new(it.connection, setup).subscribing(subscriber)
                    }
                },
            ));
            if let Ok(mut absents) = absents.lock() {
                absents.insert(index, it.absent);
            }
            opened.push(Opened {
                seat: *seat,
                steps: it.steps,
            });
        }
        if places.is_empty() {
            continue;
        }
        let host = Machine::new(helpers.clone())?;
        if let Some(gate) = &gate {
            let waker = host.waker();
            // A core that cannot be woken looks by itself a moment later.
            gate.join(move || drop(waker.wake()));
        }
        let parts = Parts {
            host,
            number,
            settings: Arc::clone(&settings),
            seats: places,
            ledgers: names.len() * targets.len(),
            origin,
            control: control.clone(),
            progress: tell.clone(),
            sheet: options.samples.as_ref().map(|it| it.sheet(&name)),
            gate: gate.clone(),
            receipt: gate.as_ref().map(|_| {
                let mut receipt = Receipt::new(zero.utc);
                receipt.expect_items(items);
                (receipt, zero.mono)
            }),
        };
        let pin = match options.pin.as_slice() {
            [] => None,
            pin => Some(pin[number % pin.len()]),
        };
        let thread = std::thread::Builder::new().name(format!("load-{number}"));
        threads.push(thread.spawn(move || {
            pin_to(pin);
            Core::new(parts)?.run()
        })?);
    }
    drop(tell);
    listen(&told, &mut progress);
    let mut reports = Vec::new();
    for thread in threads {
        reports.push(thread.join().map_err(|_| RunError::Thread)??);
    }
    let mut outcome = gather(&names, targets.len(), &seats, reports, &absents, witnesses);
    let origin = match gate {
        Some(gate) => gate.completed() + settle,
        None => origin,
    };
    outcome.began = match phase.subscribe() {
        Some(_) => SystemTime::now() - clock.mono().since(origin),
        None => began,
    };
    outcome.stopped = control.is_over();
    outcome.by_hand = by_hand(control, origin);
    outcome.opened = opened;
    outcome.failed = failed;
    Ok(outcome)
}

/// What is carried out, and how.
pub(super) struct Running<'a> {
    pub phase: &'a Phase,
    pub targets: &'a [Arc<Target>],
    pub prepared: &'a [Arc<Prepared>],
    pub options: &'a Options,
    pub control: &'a Control,
}

impl Running<'_> {
    /// Nothing can be done.
    pub fn no_session(&self, failed: Failed) -> RunError {
        RunError::NoSession {
            url: url(self.targets, failed.seat),
            error: Box::new(failed.error),
        }
    }
}

/// A thread for each session, which opens it anew for each request.
fn run_fresh(
    phase: &Phase,
    targets: &[Arc<Target>],
    prepared: &[Arc<Prepared>],
    seats: &[Seat],
    options: &Options,
    control: &Control,
    mut progress: impl FnMut(Progress),
) -> Result<Outcome, RunError> {
    let names = Prepared::names(phase);
    let settings = Settings::new(phase);
    let count = u32::try_from(targets.len()).unwrap_or(u32::MAX);
    let clock = Clock::new();
    let origin = clock.mono() + RUN_UP + PER_THREAD * u32::try_from(seats.len()).unwrap_or(0);
    let began = SystemTime::now() + origin.since(clock.mono());
    let name = phase.name.as_deref().unwrap_or(phase.work.name());
    let (tell, told) = channel();
    let asked = targets.iter().filter(|_| options.diagnostics);
    let witnesses: Vec<_> = asked.map(|it| (Witness::beside(it), it)).collect();
    let reports = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, &seat) in seats.iter().enumerate() {
            let place = seat.target as usize;
            let (Some(target), Some(prepared)) = (targets.get(place), prepared.get(place)) else {
                continue;
            };
            let client = Client {
                phase,
                settings: &settings,
                target,
                prepared,
                seat,
                requests: opening::requests(phase, seat, count),
                origin,
                control,
                ledgers: names.len() * targets.len(),
                base: place * names.len(),
                number,
            };
            let source = opening::source(phase, seat);
            let sheet = options.samples.as_ref().map(|it| it.sheet(name));
            let tell = tell.clone();
            let thread = std::thread::Builder::new().name(format!("load-{}", seat.index));
            threads.push(
                thread.spawn_scoped(scope, move || fresh::run(&client, source, sheet, &tell))?,
            );
        }
        drop(tell);
        listen(&told, &mut progress);
        let ended = threads
            .into_iter()
            .map(|it| it.join().map_err(|_| RunError::Thread));
        ended.collect::<Result<Vec<_>, RunError>>()
    })?;
    let absents = Absents::default();
    let mut outcome = gather(&names, targets.len(), seats, reports, &absents, Vec::new());
    let ended = witnesses.iter().map(|(it, target)| it.end_beside(target));
    outcome.diagnostics = ended.collect();
    outcome.began = began;
    outcome.stopped = control.is_over();
    outcome.by_hand = by_hand(control, origin);
    Ok(outcome)
}

pub(super) fn by_hand(control: &Control, origin: Instant) -> Vec<(u64, Change)> {
    let since = |at: Instant| at.as_nanos().saturating_sub(origin.as_nanos());
    let changes = control.changes().into_iter();
    changes.map(|it| (since(it.at), it)).collect()
}

/// What it takes to start a thread.
const PER_THREAD: Duration = Duration::from_micros(100);

/// What it takes to get a core's session ready.
const PER_SESSION: Duration = Duration::from_micros(20);

fn url(targets: &[Arc<Target>], seat: Seat) -> String {
    targets
        .get(seat.target as usize)
        .map_or_else(String::new, |target| target.access.url.to_string())
}

fn listen(told: &Receiver<Progress>, progress: &mut impl FnMut(Progress)) {
    loop {
        match told.recv_timeout(Duration::from_millis(100)) {
            Ok(said) => progress(said),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

pub(super) fn gather(
    names: &[&'static str],
    targets: usize,
    seats: &[Seat],
    mut reports: Vec<Report<Socket>>,
    absents: &Absents,
    mut witnesses: Vec<Witness>,
) -> Outcome {
    let works = names.len();
    let settled = settle(&mut reports);
    let mut outcome = Outcome {
        names: names.to_vec(),
        operations: works,
        tallies: Vec::new(),
        began: SystemTime::UNIX_EPOCH,
        ended_ns: settled.ended_ns,
        drained_ns: 0,
        stopped: false,
        by_hand: Vec::new(),
        opened: Vec::new(),
        failed: Vec::new(),
        losses: Vec::new(),
        cores: Vec::new(),
        cycles_ns: Vec::new(),
        account: None,
        refused: BTreeMap::new(),
        unchanged: BTreeMap::new(),
        publish_requests: 0,
        shape: Shape::default(),
        rounds: None,
        diagnostics: Vec::new(),
    };
    if let Ok(absents) = absents.lock() {
        for (index, absent) in &*absents {
            let target = seats.get(*index).map(|seat| seat.target as usize);
            if let Some(witness) = target.and_then(|target| witnesses.get_mut(target)) {
                witness.knows(absent.id());
            }
        }
    }
    let mut heard = BTreeMap::new();
    for (index, mut subscriber) in settled.subscribers {
        if let (Some(seat), Some(told)) = (seats.get(index), subscriber.heard()) {
            heard.insert(seat.target as usize, told);
        }
        for (status, n) in subscriber.refused() {
            *outcome.refused.entry(*status).or_default() += n;
        }
        for (change, n) in subscriber.failures() {
            *outcome.unchanged.entry(*change).or_default() += n;
        }
        outcome.shape.merge(subscriber.shape());
        let waiting = subscriber.publish_requests();
        outcome.publish_requests = outcome.publish_requests.max(waiting);
    }
    for report in reports {
        match (&mut outcome.account, report.account) {
            (Some(sum), Some(account)) => sum.merge(&account),
            (sum, account) => *sum = sum.take().or(account),
        }
        outcome.drained_ns = outcome.drained_ns.max(report.ran_ns);
        outcome.cycles_ns.extend(report.cycles);
        outcome.cores.push(CoreSpent {
            sessions: report.seats,
            ran_ns: report.ran_ns,
            idle_ns: report.idle_ns,
            cpu_ns: report.cpu_ns,
            starved_ns: report.starved_ns,
            sent_bytes: report.sent_bytes,
            received_bytes: report.received_bytes,
            writes: report.writes,
            reads: report.reads,
        });
        let lost = report.losses.into_iter();
        outcome
            .losses
            .extend(lost.filter_map(|loss| Some((*seats.get(loss.session)?, loss))));
    }
    let mut sessions = Vec::new();
    for (index, socket, connection) in settled.sessions {
        let absent = absents.lock().ok().and_then(|mut it| it.remove(&index));
        let whole = absent.map(|it| it.put_together(socket.into_inner(), connection));
        if let (Some(Ok(session)), Some(seat)) = (whole, seats.get(index)) {
            sessions.push((seat.target as usize, session));
        }
    }
    for (target, witness) in witnesses.iter().enumerate() {
        let told = match heard.remove(&target) {
            Some(told) => {
                let sessions = told
                    .sessions
                    .unwrap_or(Err(StatusCode::BadConnectionClosed));
                witness.end_with(sessions, told.subscriptions)
            }
            None => witness.end_through(target, &mut sessions),
        };
        outcome.diagnostics.push(told);
    }
    for (_, session) in sessions {
        // Whether the server minds being left is of no interest.
        let _ = session.close(&mut Steps::new());
    }
    let mut tallies = settled.tallies;
    tallies.resize_with(works * targets, Tally::default);
    let mut tallies = tallies.into_iter();
    outcome.tallies = (0..targets)
        .map(|_| tallies.by_ref().take(works).collect())
        .collect();
    outcome
}

/// Opens all sessions, several at a time. One that does not open is told and left out.
fn open_all(
    phase: &Phase,
    targets: &[Arc<Target>],
    prepared: &[Arc<Prepared>],
    seats: &[Seat],
    control: &Control,
) -> Result<(Vec<Waiting>, Vec<Failed>), RunError> {
    let next = Mutex::new(seats.iter().copied());
    let (waiting, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let seat = match next.lock() {
                Ok(mut next) => next.next(),
                Err(_) => None,
            };
            let Some(seat) = seat.filter(|_| !control.is_over()) else {
                return;
            };
            let place = seat.target as usize;
            let (Some(target), Some(prepared)) = (targets.get(place), prepared.get(place)) else {
                return;
            };
            match opening::open(target, prepared, phase, seat) {
                Ok(it) => push(&waiting, it),
                Err(error) => push(&failed, Failed { seat, error }),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..seats.len().min(OPENERS) {
            scope.spawn(work);
        }
        work();
    });
    let whole = |_| RunError::Thread;
    let mut failed = failed.into_inner().map_err(|_| whole(()))?;
    failed.sort_by_key(|it: &Failed| it.seat);
    Ok((waiting.into_inner().map_err(|_| whole(()))?, failed))
}

pub(super) fn push<T>(to: &Mutex<Vec<T>>, it: T) {
    if let Ok(mut to) = to.lock() {
        to.push(it);
    }
}

fn reopen(
    phase: &Phase,
    targets: &[Arc<Target>],
    prepared: &[Arc<Prepared>],
    seats: &[Seat],
    absents: &Arc<Absents>,
) -> Arc<Reopen> {
    let absents = Arc::clone(absents);
    let (phase, seats) = (phase.clone(), seats.to_vec());
    let (targets, prepared) = (targets.to_vec(), prepared.to_vec());
    Arc::new(move |index| {
        let gone = || "there is no such session".to_owned();
        let seat = *seats.get(index).ok_or_else(gone)?;
        let place = seat.target as usize;
        let target = targets.get(place).ok_or_else(gone)?;
        let prepared = prepared.get(place).ok_or_else(gone)?;
        opening::reopen(target, prepared, &phase, (index, seat), &absents)
            .map_err(|error| error.to_string())
    })
}

#[cfg(target_os = "linux")]
fn pin_to(cpu: Option<usize>) {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if let Some(cpu) = cpu {
        let mut set = CpuSet::new();
        set.set(cpu);
        // A CPU that is not there, or not ours: the thread runs elsewhere, as without pinning.
        let _ = sched_setaffinity(None, &set);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin_to(_: Option<usize>) {}
