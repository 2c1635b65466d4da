//! One session while a phase runs: what it sends when, and what became of it.
//!
//! No socket and no clock: a lane is told what time it is and what came in, so that the whole of
//! a run can be played in virtual time.

mod flight;
mod receive;
mod rest;
mod send;

use std::time::Duration;

use wire::client::Connection;
use wire::time::{Instant, Now};
use wire::types::NodeId;

use self::flight::{Flight, Flights};
use super::control::Level;
use super::end::End;
use super::recorder::{Alike, Outcome, Recorder};
use super::source::Source;
use super::subscriber::{RecoveryPath, Subscriber, SubscriberStep};
use crate::work::{Asker, Requests};

/// Why requests that are due are not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// All slots are taken.
    Slot,
    /// The socket takes no more, or there is none: the connection is lost.
    Socket,
}

/// What a lane is told before it starts.
#[derive(Debug)]
pub struct Setup {
    /// The session's token.
    pub token: NodeId,
    /// What is asked; taken in turn. Each has a ledger of its own.
    pub askers: Vec<Asker>,
    /// When.
    pub source: Source,
    /// How many requests it may send after the warm-up.
    pub requests: u64,
    /// When the warm-up ends, in nanoseconds since the phase began.
    pub warmup: u64,
    /// How long a request may take.
    pub timeout: Duration,
    /// The most requests in flight, as planned.
    pub in_flight: usize,
    /// Its place among all sessions of all targets, and how many there are.
    pub place: (u64, u64),
    /// Monotonic time when the phase begins.
    pub origin: Instant,
    /// When it ends as planned, in nanoseconds since.
    pub end: u64,
    /// The ledger of the first thing that is asked; the others follow.
    pub first: u32,
}

impl Setup {
    /// The ledger of one of the things that are asked.
    #[inline]
    fn ledger(&self, work: usize) -> u32 {
        self.first + work as u32
    }

    /// Who asks what has this ledger.
    #[inline]
    fn asker_of(&self, ledger: u32) -> Option<&Asker> {
        let work = ledger.wrapping_sub(self.first);
        self.askers.get(work as usize)
    }

    /// A request of those that may be sent was sent; in the warm-up any number may.
    #[inline]
    fn spend(&mut self, planned: u64) {
        if planned >= self.warmup {
            self.requests -= 1;
        }
    }
}

/// One session while a phase runs.
#[derive(Debug)]
pub struct Lane {
    connection: Connection,
    setup: Setup,
    /// The most requests in flight.
    most: usize,
    /// When the phase ends.
    end: End,
    turn: usize,
    flights: Flights,
    blocked: Option<(Reason, u64)>,
    /// The socket did not take all that it was given.
    full: bool,
    /// Those of one buffer that have ended.
    done: Alike<Outcome>,
    /// Its subscriptions, if it has some.
    subscriber: Option<Box<Subscriber>>,
    /// Requests wait until its subscriptions are set up.
    held: bool,
}

impl Lane {
    /// A lane over an open connection with an active session.
    pub fn new(connection: Connection, setup: Setup) -> Self {
        Self {
            connection,
            most: setup.in_flight,
            end: End::planned(setup.end),
            setup,
            turn: 0,
            flights: Flights::default(),
            blocked: None,
            full: false,
            done: Alike::default(),
            subscriber: None,
            held: false,
        }
    }

    /// The session has subscriptions too; they are set up before it sends anything else.
    pub fn subscribing(mut self, subscriber: Subscriber) -> Self {
        self.subscriber = Some(Box::new(subscriber));
        self.held = true;
        self
    }

    /// Begins to set up, at this moment: times are counted from here until the phase begins.
    pub fn set_up(&mut self, now: Now) {
        self.setup.origin = now.mono;
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.begin(now);
        }
    }

    /// Its subscriptions.
    pub fn subscriber(&mut self) -> Option<&mut Subscriber> {
        self.subscriber.as_deref_mut()
    }

    /// Its subscriptions, to be looked at.
    pub fn subscriptions(&self) -> Option<&Subscriber> {
        self.subscriber.as_deref()
    }

    /// Whether nothing is left of its subscriptions at the server, as far as it can be told.
    pub fn has_left(&self) -> bool {
        let subscriptions = self.subscriber.as_ref();
        subscriptions.is_none_or(|it| it.step() == SubscriberStep::Gone)
    }

    /// Takes its subscriptions out, with all that they have heard.
    pub fn take_subscriber(&mut self) -> Option<Box<Subscriber>> {
        self.subscriber.take()
    }

    /// The phase begins at this moment, now that all is set up.
    pub fn begin(&mut self, origin: Instant) {
        self.setup.origin = origin;
        self.held = false;
    }

    /// The connection, for reading into, writing from and its jobs.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Gives the connection back.
    pub fn into_connection(self) -> Connection {
        self.connection
    }

    /// Puts another connection in the place of one that has ended, with new requests for its
    /// session.
    pub fn reconnect(&mut self, connection: Connection, token: NodeId, askers: Vec<Asker>) {
        self.connection = connection;
        self.setup.token = token;
        self.setup.askers = askers;
        self.full = false;
    }

    /// Its subscriptions go on over the new connection, with requests that have the session's token.
    pub fn resubscribe(&mut self, requests: Requests, came: RecoveryPath) {
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.reconnected(requests, came);
        }
    }

    /// How many requests are on their way, without those of subscriptions.
    #[inline]
    pub fn in_flight(&self) -> usize {
        let others = self.subscriber.as_ref().map_or(0, |it| it.in_flight());
        self.connection.in_flight().saturating_sub(others)
    }

    /// When the next request is due, if it can be sent then.
    pub fn due(&self) -> Option<u64> {
        match (self.request_due(), self.subscriptions_due()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// When its subscriptions have something to send.
    fn subscriptions_due(&self) -> Option<u64> {
        if self.full || !self.connection.is_open() {
            return None;
        }
        let at = self.subscriber.as_ref()?.due()?;
        Some(self.since_start(at))
    }

    fn request_due(&self) -> Option<u64> {
        let waits = self.blocked.is_some() || self.held;
        if waits || self.setup.requests == 0 || !self.connection.is_open() {
            return None;
        }
        self.setup.source.peek().filter(|at| *at < self.end.at())
    }

    /// Whether it will not send any more, however long it is let run.
    pub fn is_spent(&self) -> bool {
        if self.subscriber.is_some() {
            return false;
        }
        self.setup.requests == 0 || self.setup.source.is_dry_until(self.end.at())
    }

    /// Whether its part of a cycle is over: sent and answered, or not to be sent.
    pub fn is_resting(&self) -> bool {
        self.in_flight() == 0 && (self.setup.requests == 0 || self.setup.source.has_cycled())
    }

    /// Another cycle of all sessions begins.
    pub fn begin_cycle(&mut self, at: u64) {
        self.setup.source.begin_cycle(at);
    }

    /// How many requests are due and wait, as far as that is known without counting them all:
    /// in a closed loop exactly, in an open one 0 or 1.
    pub fn waiting(&self, t: u64) -> u64 {
        self.setup.source.waiting(t)
    }

    /// A person changed what is offered, at this moment.
    pub fn change(&mut self, at: Instant, level: Level) {
        let t = self.since_start(at);
        let many = self.share_of(level.percent);
        if !self.setup.source.is_open() {
            self.most = many.max(1) as usize;
        }
        self.setup.source.change(t, level, many);
        self.end.change(t, level);
    }

    /// Its share of the requests that all sessions are to have in flight. Together they have what is
    /// nearest to so much of the plan, and one at least.
    fn share_of(&self, percent: u32) -> u32 {
        let (place, of) = self.setup.place;
        let all = u128::from(of) * self.setup.in_flight as u128 * u128::from(percent);
        let all = ((all + 50) / 100).max(1);
        let below = |place: u64| all * u128::from(place) / u128::from(of.max(1));
        u32::try_from(below(place + 1) - below(place)).unwrap_or(u32::MAX)
    }

    /// The phase ends before its time: nothing is due then or later.
    pub fn end_at(&mut self, t: u64) {
        self.end = End::planned(self.end.at().min(t));
    }

    /// The phase is over: what was due and never sent, and what is still on its way, is written
    /// down as such. Where the end was the limit of each request (`abandons`), its time is over, too.
    pub fn finish(&mut self, t: u64, abandons: bool, recorder: &mut Recorder<'_>) {
        let until = t.min(self.end.at());
        if self.setup.source.is_open() {
            while let Some(planned) = self.setup.source.peek()
                && planned < until
                && self.setup.requests > 0
            {
                self.setup.source.pop();
                self.setup.requests -= 1;
                if let Some(ledger) = recorder.of(self.setup.first) {
                    ledger.unsent(planned, until, 1);
                }
            }
        }
        while let Some(id) = self.connection.give_up() {
            if self.subscriber.as_ref().is_some_and(|it| it.owns(id)) {
                continue;
            }
            let flight = self.flights.get(id);
            if abandons {
                recorder.timed_out(flight.work, flight.times(t));
            } else if let Some(ledger) = recorder.of(flight.work) {
                ledger.unfinished(flight.times(t), 1);
            }
        }
    }

    #[inline]
    fn since_start(&self, at: Instant) -> u64 {
        at.nanos_since(self.setup.origin)
    }
}
