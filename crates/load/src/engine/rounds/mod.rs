//! Work that is done in rounds of steps: connecting, making items and nodes.
//!
//! What a step costs is mostly RSA, sockets and what a server does about it, so this needs no loop over
//! sockets: a client calls and waits, and as many of them as are to be at it at the same time have a
//! thread. A thread may have several clients, which take turns; sessions that wait for theirs are
//! kept alive, and weigh little.

mod book;
mod client;
mod connect;
mod items;
mod nodes;
mod sequence;
mod storm;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};

use plan::unit::duration::nanos;
use plan::{Phase, Seat};
use record::run::{Counted, Figure};
use wire::time::Instant;

use self::book::Book;
use self::client::{Client, Did};
use self::storm::Storm;
use super::opening::{self, Absents};
use super::run::{Failed, Outcome, RunError, Running, gather};
use super::settings::Settings;
use super::spent::Spent;
use super::told::{Loss, Report};
use super::witness::Witness;
use crate::transport::{Clock, Socket};
use crate::work::Prepared;

/// What is known of rounds beside their times.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    /// When each that went well was over, in nanoseconds since the phase began, rising.
    pub ends_ns: Vec<u64>,
    /// What became of the sessions of a storm.
    pub held: Option<Held>,
}

/// Sessions that were held at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// How many, when they were let go.
    pub sessions: u64,
    /// When the last one had come, in nanoseconds since the phase began.
    pub from_ns: u64,
    /// When they were let go.
    pub to_ns: u64,
}

/// What all threads share.
pub(super) struct Course<'a> {
    pub settings: &'a Settings,
    pub running: &'a Running<'a>,
    pub clock: Clock,
    pub origin: Instant,
    pub storm: Option<Storm>,
    /// Requests to each target that did nothing but keep a session alive.
    pub kept: Vec<AtomicU64>,
    pub book: Mutex<Book>,
}

impl Course<'_> {
    /// Nanoseconds since the phase began.
    pub fn t(&self) -> u64 {
        let now = self.clock.mono().as_nanos();
        now.saturating_sub(self.origin.as_nanos())
    }

    /// What is written down from now on is drained.
    pub fn end_at(&self, t: u64) {
        if let Ok(mut book) = self.book.lock() {
            book.end_at(t);
        }
    }

    fn is_stopped(&self) -> bool {
        self.running.control.is_over()
    }
}

/// What it takes to start a thread.
const PER_THREAD: Duration = Duration::from_micros(100);

/// Clients that do something at the same time, unless the plan says how many.
const AT_ONCE: usize = 64;

/// Carries out a phase whose work is rounds of steps.
pub(super) fn run(
    running: &Running<'_>,
    seats: &[Seat],
    progress: &mut dyn FnMut(super::told::Progress),
) -> Result<Outcome, RunError> {
    let phase = running.phase;
    let names = Prepared::names(phase);
    let settings = Settings::new(phase);
    let at_once = match phase.connect() {
        Some(connect) => connect.at_once as usize,
        // A user who thinks holds up nobody.
        None if phase.sequences().is_some() => seats.len(),
        None => AT_ONCE,
    };
    let threads = seats.len().min(at_once).max(1);
    let targets = u32::try_from(running.targets.len()).unwrap_or(u32::MAX);
    let clients: Vec<_> = seats
        .iter()
        .filter_map(|&seat| Client::new(running, seat, targets))
        .collect();
    let (mut clients, failed) = ready(running, clients, threads)?;
    if clients.is_empty() {
        let none = failed.into_iter().next();
        return Err(none.map_or(RunError::Thread, |failed| running.no_session(failed)));
    }
    let opened = clients.len();
    let witnesses = witnesses(running, &mut clients);
    let clock = Clock::new();
    let run_up = super::run::RUN_UP + PER_THREAD * u32::try_from(threads).unwrap_or(0);
    let began = SystemTime::now() + run_up;
    let origin = clock.mono() + run_up;
    let (tell, told) = channel();
    let course = Course {
        settings: &settings,
        running,
        clock,
        origin,
        storm: phase
            .connect()
            .filter(|_| phase.is_storm())
            .map(|connect| Storm::of(opened as u64, connect.hold)),
        kept: running.targets.iter().map(|_| AtomicU64::new(0)).collect(),
        book: Mutex::new(Book::new(running, &settings, &names, tell)),
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
    let book = course.book.into_inner().map_err(|_| RunError::Thread)?;
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
    let targets = running.targets.len();
    let mut outcome = gather(
        &names,
        targets,
        seats,
        reports,
        &Absents::default(),
        Vec::new(),
    );
    outcome.began = began;
    outcome.by_hand = super::run::by_hand(running.control, origin);
    outcome.stopped = running.control.is_over();
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

/// What a thread did, and its clients, whose sessions are open still.
type Done<'a> = (Report<Socket>, Vec<Client<'a>>);

/// Lets the threads do it, and listens meanwhile.
fn carry_out<'a>(
    course: &'a Course<'a>,
    shares: Vec<Vec<Client<'a>>>,
    told: &Receiver<super::told::Progress>,
    progress: &mut dyn FnMut(super::told::Progress),
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

/// Opens the sessions that have to be there before the first round, several at a time.
fn ready<'a>(
    running: &Running<'a>,
    clients: Vec<Client<'a>>,
    threads: usize,
) -> Result<(Vec<Client<'a>>, Vec<Failed>), RunError> {
    let next = Mutex::new(clients.into_iter());
    let (there, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let client = next.lock().ok().and_then(|mut next| next.next());
            let Some(mut client) = client.filter(|_| !running.control.is_over()) else {
                return;
            };
            match client.ready() {
                Ok(()) => super::run::push(&there, client),
                Err(error) => super::run::push(
                    &failed,
                    Failed {
                        seat: client.seat,
                        error,
                    },
                ),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut there = there.into_inner().map_err(|_| RunError::Thread)?;
    there.sort_by_key(|client: &Client<'_>| client.seat);
    let mut failed = failed.into_inner().map_err(|_| RunError::Thread)?;
    failed.sort_by_key(|it: &Failed| it.seat);
    Ok((there, failed))
}

/// A wait is looked up from this often, to see whether it is over for another reason.
const LOOK_UP: u64 = 20_000_000;

/// A thread and its clients.
struct Worker<'a> {
    course: &'a Course<'a>,
    clients: Vec<Client<'a>>,
    /// Those of them that have rounds to come.
    active: usize,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Sessions that the server has to hear from.
    kept: BinaryHeap<Reverse<(u64, usize)>>,
    /// Since when it could have begun something.
    free: u64,
    slept: u64,
    losses: Vec<Loss>,
}

impl<'a> Worker<'a> {
    fn new(course: &'a Course<'a>, clients: Vec<Client<'a>>) -> Self {
        Self {
            course,
            active: clients.iter().filter(|client| client.is_active()).count(),
            clients,
            due: BinaryHeap::new(),
            kept: BinaryHeap::new(),
            free: 0,
            slept: 0,
            losses: Vec::new(),
        }
    }

    fn run(mut self) -> Done<'a> {
        let course = self.course;
        let end = course.settings.end_ns();
        let spent = Spent::so_far();
        std::thread::sleep(course.origin.since(course.clock.mono()));
        for n in 0..self.clients.len() {
            self.queue(n);
        }
        loop {
            let t = course.t();
            if course.is_stopped() {
                course.end_at(t);
                break;
            }
            match &course.storm {
                Some(storm) if storm.is_over(t) => break,
                Some(storm) if t >= end => {
                    let left = self.clients.iter_mut().map(Client::give_up).sum();
                    if storm.leave_out(left, t) {
                        course.end_at(t);
                    }
                }
                None if t >= end => break,
                _ => {}
            }
            // Whoever comes first, sessions that are there do not die for it.
            if let Some(&Reverse((at, n))) = self.kept.peek()
                && at <= t
            {
                self.kept.pop();
                self.keep(n, at);
                continue;
            }
            let kept = self.kept.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let look_up = (t + LOOK_UP).min(kept);
            match self.due.peek() {
                Some(&Reverse((at, n))) if at <= t => {
                    self.due.pop();
                    if self.clients.get(n).and_then(Client::next) == Some(at) {
                        self.act(n, at);
                        self.queue(n);
                    }
                }
                // What is left is kept alive for nothing more.
                _ if course.storm.is_none() && self.active == 0 => break,
                Some(&Reverse((at, _))) => self.nap(at.min(look_up)),
                None if course.storm.is_some() => self.nap(look_up),
                None => break,
            }
        }
        self.report(end, spent)
    }

    fn queue(&mut self, n: usize) {
        let Some(client) = self.clients.get(n) else {
            return;
        };
        self.due.extend(client.next().map(|at| Reverse((at, n))));
        self.kept
            .extend(client.keep_at().map(|at| Reverse((at, n))));
    }

    /// Lets the server hear from a client, unless it has heard from it meanwhile.
    fn keep(&mut self, n: usize, at: u64) {
        let Some(client) = self.clients.get_mut(n) else {
            return;
        };
        if client.keep_at() != Some(at) {
            return;
        }
        if let Did::Lost(reason) = client.keep(self.course) {
            self.losses.push(Loss {
                session: place(self.course, client.seat),
                at_ns: self.course.t(),
                reason,
                back: false,
            });
        }
        self.kept
            .extend(client.keep_at().map(|at| Reverse((at, n))));
        self.free = self.course.t();
    }

    fn nap(&mut self, until: u64) {
        let before = self.course.t();
        std::thread::sleep(Duration::from_nanos(until.saturating_sub(before)));
        self.slept += self.course.t() - before;
    }

    fn act(&mut self, n: usize, at: u64) {
        let Some(client) = self.clients.get_mut(n) else {
            return;
        };
        let was_active = client.is_active();
        match client.act(self.course, at, self.free) {
            Did::Well => {}
            Did::Lost(reason) => self.losses.push(Loss {
                session: place(self.course, client.seat),
                at_ns: self.course.t(),
                reason,
                back: false,
            }),
        }
        if was_active && !client.is_active() {
            self.active -= 1;
        }
        self.free = self.course.t();
    }

    /// What it did, and its clients: they leave when the server was asked what it counted for them.
    fn report(mut self, end: u64, spent: Spent) -> Done<'a> {
        let course = self.course;
        let t = course.t();
        let ended = (course.is_stopped() || t >= end).then_some(t.min(end));
        if let Some(storm) = &course.storm {
            storm.stop(t);
        }
        for client in &mut self.clients {
            if let Some(ended) = ended {
                client.unsent(course, ended);
            }
        }
        let spent = Spent::so_far().since(&spent);
        let report = Report {
            losses: self.losses,
            ..Report::of_calls(self.clients.len(), ended, t, self.slept, &spent)
        };
        (report, self.clients)
    }
}

/// Which of all sessions it is.
fn place(course: &Course<'_>, seat: Seat) -> usize {
    seat.target as usize * course.running.phase.sessions as usize + seat.index as usize
}

/// When a user comes, and when it begins nothing more.
fn stay(phase: &Phase, seat: Seat, targets: u32) -> Option<(Duration, Duration)> {
    let sequences = phase.sequences()?;
    let sessions = u64::from(phase.sessions);
    let place = u64::from(seat.target) * sessions + u64::from(seat.index);
    let end = phase.measured_until().unwrap_or(Duration::MAX);
    Some(sequences.stay(place, sessions * u64::from(targets), end))
}

/// When a client's rounds are due, and how many there are.
fn rounds(phase: &Phase, seat: Seat, targets: u32) -> (super::source::Source, u64) {
    let mut source = opening::source(phase, seat);
    if let Some((from, _)) = stay(phase, seat, targets) {
        source.delay(nanos(from));
    }
    match phase.is_storm() {
        true => (source, 1),
        false => (source, opening::requests(phase, seat, targets)),
    }
}

/// Where the threads tell what is over.
type Tell = Sender<super::told::Progress>;
