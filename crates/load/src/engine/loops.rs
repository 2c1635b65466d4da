//! Sessions dealt out to loops, which all begin at the same moment.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use plan::unit::duration::nanos;
use plan::{Seat, Share};
use record::NotificationLedger;
use wire::time::Instant;
use wire::types::StatusCode;

use super::barrier::{Barrier, Set};
use super::control::Control;
use super::diagnostics_reader::{self, DiagnosticsReader};
use super::error::RunError;
use super::event_loop::{EventLoop, Parts};
use super::helper::Helpers;
use super::lane::Lane;
use super::machine::Machine;
use super::opening::{self, DetachedSessions, Waiting};
use super::outcome::{Outcome, gather};
use super::reports::Progress;
use super::running::{Begin, Others, Running, listen};
use super::seat::Seat as Place;
use super::settings::Settings;
use super::settle::Settled;
use super::subscriber::Subscriber;
use crate::access::Leaving;
use crate::diagnostics::Plant;
use crate::transport::{Clock, Socket};

/// What it takes to get a loop's session ready.
const PER_SESSION: Duration = Duration::from_micros(20);

/// Opens the sessions, lets the loops carry out the phase, and closes the sessions.
pub fn run(
    running: &Running<'_>,
    shares: &[Share],
    seats: &[Seat],
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let Running { phase, options, .. } = *running;
    debug_assert!(seats.is_sorted(), "sessions are looked up by their seat");
    let (mut waiting, failed) = opening::open_all(running, seats)?;
    if waiting.is_empty() {
        return Err(running.no_session(failed));
    }
    let readers: Vec<DiagnosticsReader> = match options.diagnostics {
        true => (0..running.servers())
            .map(|n| {
                let target = running.targets.get(n as usize);
                let namespaces = target.map(|it| it.about.namespaces.as_slice());
                let plant = Plant::of(namespaces.unwrap_or_default());
                DiagnosticsReader::begin(n, plant, &mut waiting)
            })
            .collect(),
        false => Vec::new(),
    };
    let mut settings = Settings::new(phase);
    settings.stamps = options.stamps;
    settings.abandons = options.abandons;
    if let Some(plan) = phase.subscribe() {
        let items = waiting.iter().map(Waiting::items).sum();
        settings.settle = plan.settling(items);
    }
    let settings = Arc::new(settings);
    let detached_sessions = Arc::new(DetachedSessions::default());
    let helpers = Helpers::start(opening::reopener(running, seats, &detached_sessions))?;
    let mut there: Vec<Seat> = waiting.iter().map(|it| it.seat).collect();
    there.sort_unstable();
    let opened = there.len();
    let clock = Clock::new();
    let zero = clock.now();
    let agreed = match (&options.others, phase.subscribe()) {
        (Some(others), None) => others.ready(Duration::ZERO),
        _ => None,
    };
    let mut begin = match agreed {
        Some(at) => Begin::at(at, &clock),
        None => Begin::after(PER_SESSION, opened, &clock),
    };
    let deal = Placement {
        running,
        settings: &settings,
        seats,
        there,
        fewer: !failed.is_empty(),
        readers: &readers,
        zero: zero.mono,
        origin: begin.origin,
    };
    let hands = hands(shares, waiting);
    let others = options
        .others
        .clone()
        .filter(|_| phase.subscribe().is_some());
    let barrier = phase
        .subscribe()
        .map(|_| Arc::new(Barrier::new(hands.len() + usize::from(others.is_some()))));
    let (tell, told) = channel();
    let mut threads = Vec::new();
    for (number, hand) in hands {
        let items: u64 = hand.iter().map(Waiting::items).sum();
        let places = hand
            .into_iter()
            .map(|it| deal.place(it, &detached_sessions));
        let host = Machine::new(helpers.clone())?;
        if let Some(barrier) = &barrier {
            let waker = host.waker();
            // A loop that cannot be woken looks by itself a moment later.
            barrier.join(move || drop(waker.wake()));
        }
        let parts = Parts {
            host,
            number,
            settings: Arc::clone(&settings),
            seats: places.collect(),
            ledgers: running.ledgers(),
            origin: begin.origin,
            control: running.control.clone(),
            progress: tell.clone(),
            sheet: running.sheet(),
            barrier: barrier.clone(),
            notification_ledger: barrier.as_ref().map(|_| {
                let mut notification_ledger = NotificationLedger::new(zero.utc);
                notification_ledger.expect_items(items as usize);
                (notification_ledger, zero.mono)
            }),
        };
        let pin = number.checked_rem(options.pin.len());
        let pin = pin.and_then(|at| options.pin.get(at).copied());
        let at_start = options.at_start.clone();
        let thread = std::thread::Builder::new().name(format!("load-{number}"));
        threads.push(thread.spawn(move || -> Result<_, RunError> {
            pin.map_or(Ok(()), pin_to)?;
            at_start
                .map_or(Ok(()), |it| it())
                .map_err(RunError::Start)?;
            Ok(EventLoop::new(parts)?.run()?)
        })?);
    }
    drop(tell);
    if let Some((others, barrier)) = others.zip(barrier.clone()) {
        let (settings, control) = (Arc::clone(&settings), running.control.clone());
        let thread = std::thread::Builder::new().name("others".into());
        thread.spawn(move || wait_for(&*others, &barrier, settings.settle, &control))?;
    }
    listen(&told, progress);
    let mut reports = Vec::new();
    for thread in threads {
        reports.push(thread.join().map_err(|_| RunError::Thread)??);
    }
    if let Some(barrier) = barrier {
        begin = Begin::at(barrier.completed() + settings.settle, &clock);
    }
    let (mut outcome, settled) = gather(running, begin, seats, reports);
    conclude(&mut outcome, settled, seats, &detached_sessions, readers);
    outcome.opened = opened;
    outcome.failed = failed;
    Ok(outcome)
}

/// The sessions that were opened, by the loop that gets them.
fn hands(shares: &[Share], waiting: Vec<Waiting>) -> Vec<(usize, Vec<Waiting>)> {
    let mut by_seat: HashMap<Seat, Waiting> = waiting.into_iter().map(|it| (it.seat, it)).collect();
    let hand = |share: &Share| -> Vec<Waiting> {
        let seats = share.seats.iter();
        seats.filter_map(|seat| by_seat.remove(seat)).collect()
    };
    let all = shares.iter().map(hand).enumerate();
    all.filter(|(_, hand)| !hand.is_empty()).collect()
}

/// Stands at the barrier for the processes that have the other sessions. Their subscriptions and items are created
/// beside ours; the phase begins for all when the last of them is ready.
fn wait_for(others: &dyn Others, barrier: &Barrier, settle: Duration, control: &Control) {
    let clock = Clock::new();
    for set in [Set::Subscriptions, Set::Quiet, Set::EventInfo] {
        barrier.arrive(set, clock.mono());
    }
    while barrier.waits_for(Set::Items) > 1 && !control.is_over() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let agreed = others.ready(settle).unwrap_or_else(|| clock.mono());
    let settled = agreed.as_nanos().saturating_sub(nanos(settle));
    barrier.arrive(Set::Items, Instant::from_nanos(settled));
}

/// What has to be known to give a session its place.
struct Placement<'a> {
    running: &'a Running<'a>,
    settings: &'a Settings,
    /// Of all sessions, in order.
    seats: &'a [Seat],
    /// Of those that were opened, in order.
    there: Vec<Seat>,
    /// Some could not be opened.
    fewer: bool,
    readers: &'a [DiagnosticsReader],
    zero: Instant,
    origin: Instant,
}

impl Placement<'_> {
    /// A session's place in its loop.
    fn place(&self, it: Waiting, detached_sessions: &DetachedSessions) -> Place<Socket> {
        let (phase, servers) = (self.running.phase, self.running.servers());
        let seat = it.seat;
        // Only those are dealt that have a seat.
        let index = self.seats.binary_search(&seat);
        debug_assert!(index.is_ok(), "{seat:?} is nobody's");
        let index = index.unwrap_or_default();
        let setup = opening::setup(
            phase,
            self.settings,
            (seat, servers),
            self.requests(seat),
            it.detached.token().clone(),
            it.askers,
            self.origin,
        );
        let mut lane = Lane::new(it.connection, setup);
        if let Some(requests) = it.requests {
            let first = self.there.iter().find(|it| it.target == seat.target);
            let asks = first == Some(&seat);
            let duty = diagnostics_reader::duty(phase, self.readers, seat, asks);
            let orders = opening::orders(phase, seat, servers, self.zero, duty);
            lane = lane.subscribing(Subscriber::new(requests, orders));
        }
        if let Ok(mut detached_sessions) = detached_sessions.lock() {
            detached_sessions.insert(index, it.detached);
        }
        let target = seat.target as usize;
        let base = target * self.running.names().len();
        Place::new(index, target, base, it.socket, lane)
    }

    /// How many requests a session may send after the warm-up.
    fn requests(&self, seat: Seat) -> u64 {
        let phase = self.running.phase;
        match self.there.binary_search(&seat) {
            Ok(place) if self.fewer => {
                let all = opening::requests_of_all(phase, self.seats, self.running.servers());
                opening::requests_of_fewer(all, place, self.there.len())
            }
            _ => opening::requests(phase, seat, self.running.servers()),
        }
    }
}

/// Adds what subscribers and servers say of it all, and closes the sessions that are left.
fn conclude(
    outcome: &mut Outcome,
    settled: Settled<Socket>,
    seats: &[Seat],
    detached_sessions: &DetachedSessions,
    mut readers: Vec<DiagnosticsReader>,
) {
    if let Ok(detached_sessions) = detached_sessions.lock() {
        for (index, detached) in &*detached_sessions {
            let target = seats.get(*index).map(|seat| seat.target as usize);
            if let Some(reader) = target.and_then(|target| readers.get_mut(target)) {
                reader.knows(detached.id());
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
            let (what, status) = *change;
            let change = (what.into(), status);
            *outcome.unchanged.entry(change).or_default() += n;
        }
        outcome.shape.merge(&subscriber.shape());
        let waiting = subscriber.publish_requests();
        outcome.publish_requests = outcome.publish_requests.max(waiting);
    }
    let mut sessions = Vec::new();
    for (index, socket, connection) in settled.sessions {
        let detached = detached_sessions
            .lock()
            .ok()
            .and_then(|mut it| it.remove(&index));
        let whole = detached.map(|it| it.put_together(socket.into_inner(), connection));
        if let (Some(Ok(session)), Some(seat)) = (whole, seats.get(index)) {
            sessions.push((seat.target as usize, session));
        }
    }
    for (target, reader) in readers.iter().enumerate() {
        let told = match heard.remove(&target) {
            Some(told) => {
                let sessions = told
                    .sessions
                    .unwrap_or(Err(StatusCode::BadConnectionClosed));
                reader.end_with(sessions, told.subscriptions)
            }
            None => reader.end_through(target, &mut sessions),
        };
        outcome.diagnostics.push(told);
    }
    let mut leaving = Leaving::default();
    for (target, session) in sessions {
        leaving.leave(target, session);
    }
}

fn pin_to(cpu: usize) -> Result<(), RunError> {
    platform::thread::pin(cpu).map_err(|error| RunError::Pin { cpu, error })
}
