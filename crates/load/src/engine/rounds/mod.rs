//! Work that is done in rounds of steps: connecting, making items and nodes.
//!
//! A client calls and waits. As many of them as are to be at it at the same time have a task; the tasks share the
//! threads of the phase. A task may have several clients, which take turns; sessions that wait for theirs are
//! kept alive, and weigh little.

mod act;
mod client;
mod connect;
mod course;
mod items;
mod nodes;
mod recorder;
mod round;
mod sequence;
mod storm;
mod user;
mod worker;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use plan::Seat;
use record::run::{Counted, Figure};

use self::client::Client;
use self::course::RoundsShared;
use self::recorder::RoundsRecorder;
use self::storm::Storm;
use self::worker::{Done, Worker};
use super::diagnostics_reader::DiagnosticsReader;
use super::error::{Failed, RunError};
use super::outcome::{Outcome, gather};
use super::reports::{Progress, Report};
use super::running::{Begin, PER_THREAD, Running};
use super::settings::Settings;
use super::several::{self, in_tasks, several};
use crate::access::Leaving;
use crate::transport::{Clock, Socket};

/// Clients that do something at the same time, unless the plan says how many.
const AT_ONCE: usize = 64;

/// A wait is looked up from this often, in nanoseconds; less often where many wait.
const LOOK_UP: u64 = 20_000_000;

/// Carries out a phase whose work is rounds of steps.
pub(super) fn run(
    running: &Running<'_>,
    seats: &[Seat],
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let phase = running.phase;
    let settings = Settings::new(phase);
    let at_once = match phase.connect() {
        Some(connect) => connect.at_once as usize,
        // A user who thinks holds up nobody.
        None if phase.sequences().is_some() => seats.len(),
        None => AT_ONCE,
    };
    let workers = seats.len().min(at_once).max(1);
    let clients = seats.iter().filter_map(|&seat| Client::new(running, seat));
    // Sessions that have to be there before the first round.
    let at_once = (workers, running.threads());
    let opened = several(
        clients,
        at_once,
        running.control,
        |mut client: Client<'_>| async move {
            let seat = client.seat;
            match client.ready().await {
                Ok(()) => Ok(client),
                Err(error) => Err(Failed { seat, error }),
            }
        },
    );
    let (mut clients, failed) = opened?;
    if clients.is_empty() {
        return Err(running.no_session(failed));
    }
    clients.sort_by_key(|client| client.seat);
    let opened = clients.len();
    let readers = readers(running, &mut clients);
    let clock = Clock::new();
    let others = running.options.others.as_ref();
    let begin = match others.and_then(|it| it.ready(Duration::ZERO)) {
        Some(at) => Begin::at(at, &clock),
        None => Begin::after(PER_THREAD, running.threads(), &clock),
    };
    let (tell, told) = channel();
    let course = RoundsShared {
        settings: &settings,
        running,
        clock,
        origin: begin.origin,
        storm: phase
            .connect()
            .filter(|_| phase.is_storm())
            .map(|connect| Storm::of(opened as u64, connect.hold)),
        kept: running.targets.iter().map(|_| AtomicU64::new(0)).collect(),
        recorder: Mutex::new(RoundsRecorder::new(running, &settings, tell)),
        look_up: LOOK_UP * (workers / AT_ONCE).clamp(1, 10) as u64,
    };
    let workers = workers.min(opened);
    let mut shares: Vec<Vec<Client<'_>>> = (0..workers).map(|_| Vec::new()).collect();
    for (n, client) in clients.into_iter().enumerate() {
        if let Some(share) = shares.get_mut(n % workers) {
            share.push(client);
        }
    }
    let threads = running.threads();
    let work = |share| Worker::new(&course, share).run();
    let done = in_tasks(shares, threads, work, || {
        told.try_iter().for_each(&mut *progress);
    })?;
    told.try_iter().for_each(&mut *progress);
    let (mut reports, shares): (Vec<_>, Vec<_>) = done.into_iter().map(report).unzip();
    let mut shares: Vec<Vec<Client<'_>>> = shares.into_iter().flatten().collect();
    let diagnostics = ended(&course, readers, &mut shares);
    close(&course, shares)?;
    let ended = course.storm.as_ref().map(|storm| storm.held());
    let mut recorder = course.recorder.into_inner().map_err(|_| RunError::Thread)?;
    let rest = recorder.rest(clock.mono().nanos_since(begin.origin));
    rest.into_iter().for_each(&mut *progress);
    let (ledgers, mut rounds) = recorder.close();
    if let Some(first) = reports.first_mut() {
        first.ledgers = ledgers;
    }
    if let Some(held) = ended {
        rounds.held = Some(held);
        for report in &mut reports {
            report.ended_ns = Some(held.from_ns);
        }
    }
    let (mut outcome, _) = gather(running, begin, seats, reports);
    outcome.operations = 1;
    outcome.rounds = Some(rounds);
    outcome.failed = failed;
    outcome.diagnostics = diagnostics;
    Ok(outcome)
}

/// Asks the servers what they have counted so far.
fn readers(running: &Running<'_>, clients: &mut [Client<'_>]) -> Vec<DiagnosticsReader> {
    let asked = running.options.diagnostics.then_some(running.targets);
    let targets = asked.into_iter().flatten().enumerate();
    targets
        .map(|(n, target)| {
            let own = |it: &&mut Client<'_>| it.seat.target as usize == n;
            let ours = clients.iter_mut().filter(own);
            let ids = ours.flat_map(|it| it.ids.iter().cloned()).collect();
            let mut sessions = clients.iter_mut().filter(own);
            let first = sessions.find_map(|it| it.session.as_mut());
            DiagnosticsReader::of_rounds(target, ids, first)
        })
        .collect()
}

/// Asks again, while the sessions that are left are there.
fn ended(
    course: &RoundsShared<'_>,
    readers: Vec<DiagnosticsReader>,
    shares: &mut [Vec<Client<'_>>],
) -> Vec<Figure<Counted>> {
    let each = std::iter::zip(readers, course.running.targets).enumerate();
    each.map(|(n, (mut reader, target))| {
        let kept = course
            .kept
            .get(n)
            .map_or(0, |it| it.load(Ordering::Relaxed));
        let own = |it: &&mut Client<'_>| it.seat.target as usize == n;
        let now = shares.iter_mut().flatten().filter(own);
        for id in now.flat_map(|it| it.ids.iter()) {
            reader.knows(id.clone());
        }
        let mut left = shares.iter_mut().flatten().filter(own);
        // Sessions of one that comes and goes were not there when the server was asked first.
        let through = left.find(|it| !it.ids.is_empty() && it.session.is_some());
        let session = through.and_then(|it| it.session.as_mut());
        reader.end_of_rounds(target, session, kept)
    })
    .collect()
}

/// All leave, as many at a time as came at a time.
fn close<'a>(course: &'a RoundsShared<'a>, shares: Vec<Vec<Client<'a>>>) -> Result<(), RunError> {
    let leave = |mut share: Vec<Client<'a>>| async move {
        let mut leaving = Leaving::default();
        for client in &mut share {
            client.close(course, &mut leaving).await;
        }
    };
    let threads = course.running.threads();
    in_tasks(shares, threads, leave, || {}).map(drop)
}

/// What the workers of a thread did, and their clients.
fn report<'a>(thread: several::Done<Done<'a>>) -> (Report<Socket>, Vec<Vec<Client<'a>>>) {
    let ended = thread.each.iter().filter_map(|it| it.ended).max();
    let ran = thread.each.iter().map(|it| it.ran).max();
    let (mut losses, mut shares) = (Vec::new(), Vec::new());
    for done in thread.each {
        losses.extend(done.losses);
        shares.push(done.clients);
    }
    let sessions = shares.iter().map(Vec::len).sum();
    let (ran, idle) = (ran.unwrap_or_default(), thread.idle_ns);
    let report = Report {
        losses,
        ..Report::of_calls(sessions, ended, ran, idle, &thread.spent)
    };
    (report, shares)
}
