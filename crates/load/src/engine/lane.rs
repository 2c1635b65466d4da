//! One session while a phase runs: what it sends when, and what became of it.
//!
//! No socket and no clock: a lane is told what time it is and what came in, so that the whole of
//! a run can be played in virtual time.

use std::collections::HashMap;
use std::time::Duration;

use record::{Lateness, Times};
use wire::channel::{ChannelError, SendError};
use wire::client::{Connection, Event, MAX_IN_FLIGHT, RequestId};
use wire::service::Request;
use wire::time::{Instant, Now};
use wire::types::{ByteString, NodeId, RequestHeader, StatusCode};

use super::books::{Books, Outcome, Run};
use super::control::Level;
use super::end::End;
use super::source::Source;
use super::subscriber::{Came, Step, Subscriber};
use crate::work::{self, Answer, Asker, Point, Requests, Service};

/// Operations whose results go on, by their places in the list, and where.
type Rest = Vec<(usize, ByteString)>;

/// A request on its way.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    planned: u64,
    sent: u64,
    work: u32,
    /// How many results its answer has to have.
    expected: u32,
    /// Of the answers so far, when it takes several.
    values: u32,
    /// The place in the list of its first operation.
    first: u32,
}

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
    flights: Vec<Flight>,
    /// Of requests that go on with an answer: the places of their operations.
    places: HashMap<usize, Vec<usize>>,
    blocked: Option<(Reason, u64)>,
    /// The socket did not take all that it was given.
    full: bool,
    /// Completions of one buffer that are alike, to be written down together.
    run: Run,
    /// Its subscriptions, if it has some.
    subscriber: Option<Box<Subscriber>>,
    /// Requests wait until its subscriptions are set up.
    held: bool,
}

/// Bytes that wait for the socket before a lane stops adding to them.
const BACKLOG: usize = 64 * 1024;

impl Lane {
    /// A lane over an open connection with an active session.
    pub fn new(connection: Connection, setup: Setup) -> Self {
        Self {
            connection,
            most: setup.in_flight,
            end: End::planned(setup.end),
            setup,
            turn: 0,
            flights: Vec::new(),
            places: HashMap::new(),
            blocked: None,
            full: false,
            run: Run::default(),
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
        subscriptions.is_none_or(|it| it.step() == Step::Gone)
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
    pub fn resubscribe(&mut self, requests: Requests, came: Came) {
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.reconnected(requests, came);
        }
    }

    /// How many requests are on their way, without those of subscriptions.
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
        Some(at.as_nanos().saturating_sub(self.setup.origin.as_nanos()))
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
        let t = at.as_nanos().saturating_sub(self.setup.origin.as_nanos());
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

    /// Sends what its subscriptions have to send; so too when no more requests are to be sent.
    pub fn pump_subscriptions(&mut self, now: Now, books: &mut Books<'_>) {
        if let Some(subscriber) = &mut self.subscriber
            && !self.full
            && self.connection.is_open()
            && let Some(mut ear) = books.ear()
        {
            subscriber.pump(&mut self.connection, now, &mut ear);
        }
    }

    /// Sends what is due. To be written by the caller at once; tells whether there is anything.
    pub fn pump(&mut self, now: Now, books: &mut Books<'_>) -> bool {
        if self.held {
            return false;
        }
        let t = self.since_start(now);
        // Requests that are alike are written down together: (ledger, lateness, bytes), how many.
        let mut alike: Option<((u32, Lateness, u32), u32)> = None;
        let mut any = false;
        while let Some(planned) = self.setup.source.peek() {
            if planned > t || planned >= self.end.at() || self.setup.requests == 0 {
                break;
            }
            if let Some(reason) = self.obstacle() {
                let since = self.blocked.map_or(t, |(_, since)| since);
                self.blocked = Some((reason, since));
                break;
            }
            self.setup.source.pop();
            if self.setup.source.skips(t) {
                if let Some(ledger) = books.of(self.setup.first) {
                    ledger.skipped(t, 1);
                }
                continue;
            }
            let work = self.turn;
            self.turn = (work + 1) % self.setup.askers.len().max(1);
            let Some(bytes) = self.send(planned, t, work, now) else {
                self.refused(planned, t, work, books);
                break;
            };
            any = true;
            let what = (self.ledger(work), self.lateness(planned, t), bytes);
            match &mut alike {
                Some((same, n)) if *same == what => *n += 1,
                other => {
                    if let Some((what, n)) = other.replace((what, 1)) {
                        let (work, lateness, bytes) = what;
                        books.sent(t, work, lateness, bytes, n);
                    }
                }
            }
        }
        if let Some(((work, lateness, bytes), n)) = alike {
            books.sent(t, work, lateness, bytes, n);
        }
        if self.obstacle().is_none() {
            self.blocked = None;
        }
        any
    }

    fn obstacle(&self) -> Option<Reason> {
        if self.full || !self.connection.is_open() {
            Some(Reason::Socket)
        } else if self.in_flight() >= self.most.min(MAX_IN_FLIGHT) {
            Some(Reason::Slot)
        } else {
            None
        }
    }

    /// Until something stood in the way, a late request is the pacer's; from then on it is what
    /// stood in the way.
    fn lateness(&self, planned: u64, t: u64) -> Lateness {
        let late = t - planned;
        let Some((reason, since)) = self.blocked else {
            return Lateness {
                pacer: late,
                ..Lateness::default()
            };
        };
        let pacer = since.saturating_sub(planned).min(late);
        let (slot, socket) = match reason {
            Reason::Slot => (late - pacer, 0),
            Reason::Socket => (0, late - pacer),
        };
        Lateness {
            pacer,
            slot,
            socket,
        }
    }

    fn send(&mut self, planned: u64, t: u64, work: usize, now: Now) -> Option<u32> {
        let asker = self.setup.askers.get_mut(work)?;
        let deadline = now.mono + self.setup.timeout;
        let mut bytes = 0;
        let expected = asker.batch() as u32;
        let first = asker.next() as u32;
        let id = self
            .connection
            .send(deadline, |out, handle| {
                bytes = asker.append(out, handle, now.utc);
            })
            .ok()?;
        if planned >= self.setup.warmup {
            self.setup.requests -= 1;
        }
        self.keep(
            id,
            Flight {
                planned,
                sent: t,
                work: self.ledger(work),
                expected,
                values: 0,
                first,
            },
        );
        Some(bytes as u32)
    }

    /// A request that cannot be sent, since the server said that it takes none of its size, has
    /// failed like any other.
    #[cold]
    fn refused(&mut self, planned: u64, t: u64, work: usize, books: &mut Books<'_>) {
        if planned >= self.setup.warmup {
            self.setup.requests -= 1;
        }
        let flight = Flight {
            planned,
            sent: t,
            work: self.ledger(work),
            ..Flight::default()
        };
        let lateness = self.lateness(planned, t);
        if let Some(ledger) = books.of(flight.work) {
            ledger.late(t, lateness, 1);
        }
        let status = StatusCode::BadRequestTooLarge;
        self.run.add(flight.outcome(t, status, 0), books);
        self.run.write(books);
        self.setup.source.answered(t);
    }

    fn keep(&mut self, id: RequestId, flight: Flight) {
        let slot = id.slot();
        if slot >= self.flights.len() {
            self.flights.resize(slot + 1, Flight::default());
        }
        if let Some(place) = self.flights.get_mut(slot) {
            *place = flight;
        }
        // Left from one that was never answered.
        if !self.places.is_empty() {
            self.places.remove(&slot);
        }
    }

    /// Says whether the socket took all that it was given.
    pub fn wrote(&mut self, all: bool) {
        // What is small enough may wait behind what is being written.
        self.full = !all && self.connection.pending().len() > BACKLOG;
    }

    /// Looks at all that came in. Tells why the connection has ended, once it has.
    pub fn drain(&mut self, now: Now, books: &mut Books<'_>) -> Option<ChannelError> {
        let t = self.since_start(now);
        let mut ended = None;
        // Browses whose results go on.
        let mut more: Vec<(Flight, Rest)> = Vec::new();
        // Those whose rest nobody wants.
        let mut forgotten: Vec<(u32, Rest)> = Vec::new();
        while let Some(event) = self.connection.poll_event(now) {
            match event {
                Event::Response { id, body } => {
                    if let Some(subscriber) = &mut self.subscriber
                        && subscriber.owns(id)
                        && let Some(mut ear) = books.ear()
                    {
                        subscriber.answered(id, body, now, &mut ear);
                        if subscriber.is_expelled() {
                            self.connection
                                .lost("the server does not know the session any more");
                        }
                        continue;
                    }
                    let mut flight = flight(&self.flights, id);
                    let asker = flight.work.wrapping_sub(self.setup.first);
                    let Some(asker) = self.setup.askers.get(asker as usize) else {
                        continue;
                    };
                    let follows = asker.follows();
                    let answer = asker.service().judge(body, flight.expected as usize);
                    if answer.bad + answer.uncertain > 0
                        && let Some(ledger) = books.of(flight.work)
                    {
                        asker.service().each_failure(body, |status| {
                            ledger.values_failed(t, status.bits(), 1);
                        });
                    }
                    flight.values = flight.values.saturating_add(answer.values);
                    let bytes = body.len() as u32;
                    // Most requests have no places of their own.
                    let places = match self.places.is_empty() {
                        true => None,
                        false => self.places.remove(&id.slot()),
                    };
                    let rest = |points: Vec<Point>| -> Rest {
                        let place = |at: u32| match &places {
                            Some(places) => places.get(at as usize).copied().unwrap_or(0),
                            None => asker.place(flight.first as usize, at),
                        };
                        let points = points.into_iter();
                        points
                            .map(|point| (place(point.operation), point.bytes))
                            .collect()
                    };
                    match answer {
                        Answer { more: points, .. } if !points.is_empty() && follows => {
                            if let Some(ledger) = books.of(flight.work) {
                                ledger.received_bytes(t, bytes, 1);
                            }
                            more.push((flight, rest(points)));
                        }
                        Answer { status, more, .. } => {
                            if !more.is_empty() {
                                forgotten.push((flight.work, rest(more)));
                            }
                            self.setup.source.answered(t);
                            self.run.add(flight.outcome(t, status, bytes), books);
                        }
                    }
                }
                Event::Aborted { id, error } => {
                    if failed(&mut self.subscriber, id, error.status, now, books) {
                        continue;
                    }
                    let flight = flight(&self.flights, id);
                    self.setup.source.answered(t);
                    self.run.add(flight.outcome(t, error.status, 0), books);
                }
                Event::TimedOut(id) => {
                    if failed(&mut self.subscriber, id, StatusCode::BadTimeout, now, books) {
                        continue;
                    }
                    let flight = flight(&self.flights, id);
                    self.setup.source.answered(t);
                    books.timed_out(flight.work, flight.times(t));
                }
                Event::Unanswered(id) => {
                    let status = StatusCode::BadConnectionClosed;
                    if failed(&mut self.subscriber, id, status, now, books) {
                        continue;
                    }
                    let flight = flight(&self.flights, id);
                    self.setup.source.answered(t);
                    self.run.add(flight.outcome(t, status, 0), books);
                }
                Event::Closed(error) => {
                    if let Some(subscriber) = &mut self.subscriber
                        && let Some(mut ear) = books.ear()
                    {
                        subscriber.cut(now, &mut ear);
                    }
                    // What falls due until it is back cannot be sent because of the server.
                    let since = self.blocked.map_or(t, |(_, since)| since);
                    self.blocked = Some((Reason::Socket, since));
                    ended = Some(error);
                }
                _ => {}
            }
        }
        self.run.write(books);
        for (flight, points) in more {
            self.browse_next(flight, points, now, books);
        }
        for (work, points) in forgotten {
            // Part 4, 5.9.3: a continuation point holds resources until it is released. Nobody
            // waits for the answer.
            if let Ok(id) = self.ask_next(points, true, work, now, books) {
                self.connection.forget(id);
            }
        }
        ended
    }

    fn ask_next(
        &mut self,
        rest: Rest,
        release: bool,
        work: u32,
        now: Now,
        books: &mut Books<'_>,
    ) -> Result<RequestId, SendError> {
        let asker = self.setup.askers.get(work as usize);
        if let Some(asker) = asker.filter(|asker| asker.service() == Service::History) {
            let deadline = now.mono + self.setup.timeout;
            let mut bytes = 0;
            let id = self.connection.send(deadline, |out, handle| {
                bytes = asker.append_rest(&rest, release, out, handle, now.utc);
            })?;
            let t = self.since_start(now);
            if let Some(ledger) = books.of(work) {
                ledger.sent_bytes(t, bytes as u32, 1);
            }
            return Ok(id);
        }
        let points = rest.into_iter().map(|(_, point)| point).collect();
        let header = RequestHeader {
            authentication_token: self.setup.token.clone(),
            timestamp: now.utc.into(),
            ..RequestHeader::default()
        };
        let mut request = Request::from(work::next(header, points, release));
        let deadline = now.mono + self.setup.timeout;
        let mut bytes = 0;
        let id = self.connection.send(deadline, |out, handle| {
            let before = out.len();
            request.header_mut().request_handle = handle;
            // Continuation points that were decoded encode again.
            let _ = request.encode(out);
            bytes = out.len() - before;
        })?;
        let t = self.since_start(now);
        if let Some(ledger) = books.of(work) {
            ledger.sent_bytes(t, bytes as u32, 1);
        }
        Ok(id)
    }

    /// A Browse or a HistoryRead is one operation to its end: the rest is asked for at once, and it completes with
    /// its last answer.
    fn browse_next(&mut self, mut flight: Flight, points: Rest, now: Now, books: &mut Books<'_>) {
        flight.expected = points.len() as u32;
        let places = points.iter().map(|(place, _)| *place).collect();
        let sent = self.ask_next(points, false, flight.work, now, books);
        match sent {
            Ok(id) => {
                self.keep(id, flight);
                self.places.insert(id.slot(), places);
            }
            Err(_) => {
                let t = self.since_start(now);
                self.setup.source.answered(t);
                let status = StatusCode::BadNotConnected;
                self.run.add(flight.outcome(t, status, 0), books);
                self.run.write(books);
            }
        }
    }

    /// The phase ends before its time: nothing is due then or later.
    pub fn end_at(&mut self, t: u64) {
        self.end = End::planned(self.end.at().min(t));
    }

    /// The phase is over: what was due and never sent, and what is still on its way, is written
    /// down as such.
    pub fn finish(&mut self, t: u64, books: &mut Books<'_>) {
        let until = t.min(self.end.at());
        if self.setup.source.is_open() {
            while let Some(planned) = self.setup.source.peek()
                && planned < until
                && self.setup.requests > 0
            {
                self.setup.source.pop();
                self.setup.requests -= 1;
                if let Some(ledger) = books.of(self.setup.first) {
                    ledger.unsent(planned, until, 1);
                }
            }
        }
        while let Some(id) = self.connection.give_up() {
            if self.subscriber.as_ref().is_some_and(|it| it.owns(id)) {
                continue;
            }
            let flight = flight(&self.flights, id);
            if let Some(ledger) = books.of(flight.work) {
                ledger.unfinished(flight.times(t), 1);
            }
        }
    }

    /// The ledger of one of the things that are asked.
    fn ledger(&self, work: usize) -> u32 {
        self.setup.first + work as u32
    }

    fn since_start(&self, now: Now) -> u64 {
        now.mono
            .as_nanos()
            .saturating_sub(self.setup.origin.as_nanos())
    }
}

/// Tells subscriptions of a request that came to nothing, if it was one of theirs.
fn failed(
    subscriber: &mut Option<Box<Subscriber>>,
    id: RequestId,
    status: StatusCode,
    now: Now,
    books: &mut Books<'_>,
) -> bool {
    match (subscriber, books.ear()) {
        (Some(subscriber), Some(mut ear)) if subscriber.owns(id) => {
            subscriber.failed(id, status, now, &mut ear);
            true
        }
        _ => false,
    }
}

fn flight(flights: &[Flight], id: RequestId) -> Flight {
    flights.get(id.slot()).copied().unwrap_or_default()
}

impl Flight {
    fn times(&self, completed: u64) -> Times {
        Times {
            planned: self.planned,
            sent: self.sent,
            completed,
        }
    }

    fn outcome(&self, completed: u64, status: StatusCode, bytes: u32) -> Outcome {
        Outcome {
            work: self.work,
            times: self.times(completed),
            status: status.bits(),
            values: self.values,
            bytes,
        }
    }
}
