//! Work that is done in rounds of steps: connecting, making items and nodes.
//!
//! What a step costs is mostly RSA, sockets and what a server does about it, so this needs no loop over
//! sockets: a client calls and waits, and as many of them as are to be at it at the same time have a
//! thread. A thread may have several clients, which take turns; sessions that wait for theirs are
//! kept alive, and weigh little.

mod act;
mod book;
mod client;
mod connect;
mod course;
mod items;
mod nodes;
mod round;
mod sequence;
mod storm;
mod user;
mod worker;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use plan::Seat;
use record::run::{Counted, Figure};

use self::book::Book;
use self::client::Client;
use self::course::Course;
use self::storm::Storm;
use self::worker::{Done, Worker};
use super::error::{Failed, RunError};
use super::outcome::{Outcome, gather};
use super::reports::Progress;
use super::running::{Begin, PER_THREAD, Running};
use super::settings::Settings;
use super::several::several;
use super::witness::Witness;
use crate::transport::Clock;

/// Clients that do something at the same time, unless the plan says how many.
const AT_ONCE: usize = 64;

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
    let threads = seats.len().min(at_once).max(1);
    let clients = seats.iter().filter_map(|&seat| Client::new(running, seat));
    // Sessions that have to be there before the first round.
    let opened = several(clients, threads, running.control, |mut client| {
        let seat = client.seat;
        match client.ready() {
            Ok(()) => Ok(client),
            Err(error) => Err(Failed { seat, error }),
        }
    });
    let (mut clients, failed) = opened?;
    if clients.is_empty() {
        return Err(running.no_session(failed));
    }
    clients.sort_by_key(|client| client.seat);
    let opened = clients.len();
    let witnesses = witnesses(running, &mut clients);
    let clock = Clock::new();
    let others = running.options.others.as_ref();
    let begin = match others.and_then(|it| it.ready(Duration::ZERO)) {
        Some(at) => Begin::at(at, &clock),
        None => Begin::after(PER_THREAD, threads, &clock),
    };
    let (tell, told) = channel();
    let course = Course {
        settings: &settings,
        running,
        clock,
        origin: begin.origin,
        storm: phase
            .connect()
            .filter(|_| phase.is_storm())
            .map(|connect| Storm::of(opened as u64, connect.hold)),
        kept: running.targets.iter().map(|_| AtomicU64::new(0)).collect(),
        book: Mutex::new(Book::new(running, &settings, tell)),
    };
    let mut shares: Vec<Vec<Client<'_>>> = (0..threads.min(opened)).map(|_| Vec::new()).collect();
    for (n, client) in clients.into_iter().enumerate() {
        let place = n % threads.min(opened);
        if let Some(share) = shares.get_mut(place) {
            share.push(client);
        }
    }
    let done = carry_out(&course, shares, &told, progress)?;
    let (mut reports, mut shares): (Vec<_>, Vec<_>) = done.into_iter().unzip();
    let diagnostics = ended(&course, witnesses, &mut shares);
    close(&course, shares);
    let ended = course.storm.as_ref().map(|storm| storm.held());
    let mut book = course.book.into_inner().map_err(|_| RunError::Thread)?;
    let rest = book.rest(clock.mono().nanos_since(begin.origin));
    rest.into_iter().for_each(&mut *progress);
    let (ledgers, mut rounds) = book.close();
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
fn witnesses(running: &Running<'_>, clients: &mut [Client<'_>]) -> Vec<Witness> {
    let asked = running.options.diagnostics.then_some(running.targets);
    let targets = asked.into_iter().flatten().enumerate();
    targets
        .map(|(n, target)| {
            let own = |it: &&mut Client<'_>| it.seat.target as usize == n;
            let ours = clients.iter_mut().filter(own);
            let ids = ours.flat_map(|it| it.ids.iter().cloned()).collect();
            let mut sessions = clients.iter_mut().filter(own);
            let first = sessions.find_map(|it| it.session.as_mut());
            Witness::of_rounds(target, ids, first)
        })
        .collect()
}

/// Asks again, while the sessions that are left are there.
fn ended(
    course: &Course<'_>,
    witnesses: Vec<Witness>,
    shares: &mut [Vec<Client<'_>>],
) -> Vec<Figure<Counted>> {
    let each = std::iter::zip(witnesses, course.running.targets).enumerate();
    each.map(|(n, (mut witness, target))| {
        let kept = course
            .kept
            .get(n)
            .map_or(0, |it| it.load(Ordering::Relaxed));
        let own = |it: &&mut Client<'_>| it.seat.target as usize == n;
        let now = shares.iter_mut().flatten().filter(own);
        for id in now.flat_map(|it| it.ids.iter()) {
            witness.knows(id.clone());
        }
        let mut left = shares.iter_mut().flatten().filter(own);
        // Sessions of one that comes and goes were not there when the server was asked first.
        let through = left.find(|it| !it.ids.is_empty() && it.session.is_some());
        let session = through.and_then(|it| it.session.as_mut());
        witness.end_of_rounds(target, session, kept)
    })
    .collect()
}

/// All leave, as many at a time as came at a time.
fn close<'a>(course: &'a Course<'a>, shares: Vec<Vec<Client<'a>>>) {
    std::thread::scope(|scope| {
        for mut share in shares {
            scope.spawn(move || share.iter_mut().for_each(|client| client.close(course)));
        }
    });
}

/// Lets the threads do it, and listens meanwhile.
fn carry_out<'a>(
    course: &'a Course<'a>,
    shares: Vec<Vec<Client<'a>>>,
    told: &Receiver<Progress>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Done<'a>>, RunError> {
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (n, share) in shares.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(format!("load-{n}"));
            threads.push(thread.spawn_scoped(scope, move || Worker::new(course, share).run())?);
        }
        while threads.iter().any(|thread| !thread.is_finished()) {
            if let Ok(said) = told.recv_timeout(Duration::from_millis(20)) {
                progress(said);
            }
        }
        told.try_iter().for_each(progress);
        let ended = threads
            .into_iter()
            .map(|it| it.join().map_err(|_| RunError::Thread));
        ended.collect()
    })
}
