//! Lanes, pretended servers behind them, and a clock that is set.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use load::engine::{Books, Lane, Setup, Source};
use load::work::{Asker, Operations, Selection};
use plan::{Arrival, NodeSpec, Phase, Plan, Read, Schedule, Seat, Targets, Work};
use record::{Ledger, Tally};
use wire::service::{Limits, Request, Response};
use wire::time::{Instant, Now};
use wire::types::{
    AttributeId, BrowseDescription, BrowseNextResponse, BrowseResponse, BrowseResult, ByteString,
    DataValue, NodeId, ReadResponse, ReadValueId, ReferenceDescription, RequestHeader,
    ResponseHeader, ServiceFault, StatusCode, Variant,
};
use wire::{client, server};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;

/// The phase begins here on the pretended monotonic clock.
const ORIGIN: u64 = 5 * S;
/// 2026-01-01 in ticks: any moment will do.
const EPOCH: i64 = 134_116_992_000_000_000;

fn now(t: u64) -> Now {
    Now {
        mono: Instant::from_nanos(ORIGIN + t),
        utc: EPOCH + (t / 100) as i64,
    }
}

/// What a server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Answers after so long.
    Answer(u64),
    /// Answers with a fault.
    Fault(u64, StatusCode),
    /// Ends the answer with an abort chunk.
    Abort(u64, StatusCode),
    /// Never answers.
    Swallow,
}

/// What servers do, as a function of seat and number of the request.
pub type Conduct = Arc<dyn Fn(Seat, u64) -> Fate>;

/// How the world is.
#[derive(Clone)]
pub struct World {
    pub phase: Phase,
    pub targets: u32,
    pub conduct: Conduct,
    /// Servers stand still from one time to another: they neither read nor answer.
    pub stall: Option<(u64, u64)>,
    /// The generator does, and finds everything at the end of it.
    pub starved: Option<(u64, u64)>,
    /// Connections are lost; they are back at the second time, if there is one.
    pub lost: Option<(u64, Option<u64>)>,
    /// Bytes that fit between a lane and a server that does not read.
    pub socket: usize,
    /// References that a Browse has, and how many come in one answer.
    pub references: (usize, usize),
    /// The largest message that the servers take.
    pub largest: u32,
    /// When the generator is told to stop.
    pub stopped: Option<u64>,
    /// How long it waits for answers after the end.
    pub patience: u64,
}

impl World {
    pub fn new(arrival: Arrival, duration: Duration) -> Self {
        let node: NodeSpec = "ns=2;i=1000".parse().unwrap();
        let mut phase = Phase::new(Work::Read(Read::new(node.into())));
        phase.arrival = arrival;
        phase.duration = Some(duration);
        Self {
            phase,
            targets: 1,
            conduct: Arc::new(|_, _| Fate::Answer(200 * US)),
            stall: None,
            starved: None,
            lost: None,
            socket: usize::MAX,
            references: (0, 0),
            largest: 0,
            stopped: None,
            patience: u64::MAX,
        }
    }

    pub fn conduct(mut self, conduct: impl Fn(Seat, u64) -> Fate + 'static) -> Self {
        self.conduct = Arc::new(conduct);
        self
    }

    fn end(&self) -> u64 {
        self.phase
            .measured_until()
            .map_or(u64::MAX, |end| end.as_nanos() as u64)
    }

    /// Carries the phase out with so many cores; one tally for each target.
    pub fn run(&self, cores: u32) -> Vec<Tally> {
        let urls = (0..self.targets).map(|n| format!("opc.tcp://pretended:{}", 4840 + n));
        let plan = Plan::of(
            Targets::from_iter(urls.map(|url| url.parse().unwrap())),
            self.phase.clone(),
        );
        let mut sums = vec![Tally::default(); self.targets as usize];
        for share in plan.shares(cores) {
            let seats = share.seats.iter().map(|seat| Place::new(self, *seat));
            let ledgers = Core::new(self, seats.collect()).run();
            for (sum, ledger) in sums.iter_mut().zip(ledgers) {
                sum.merge(&ledger.finish());
            }
        }
        sums
    }

    /// The same by one core against one target.
    pub fn tally(&self) -> Tally {
        self.run(1).remove(0)
    }
}

/// A server behind one connection.
struct Server {
    connection: server::Connection,
    /// What it will say when: in order of time, then of requests.
    later: BTreeMap<(u64, u64), Say>,
    requests: u64,
    /// The answer to a Read: the same each time.
    read: Option<Vec<u8>>,
}

enum Say {
    Answer(server::RequestId, Vec<u8>),
    Abort(server::RequestId, StatusCode),
}

/// A session.
struct Place {
    seat: Seat,
    lane: Lane,
    server: Server,
    alive: bool,
    /// Bytes that a server which stands still has not read.
    unread: Vec<u8>,
}

/// A loop without a socket: what [`load::engine`]'s does, in virtual time.
struct Core<'a> {
    world: &'a World,
    places: Vec<Place>,
    ledgers: Vec<Ledger>,
    sending: bool,
}

fn random(seed: u8) -> wire::channel::Random {
    Box::new(move |bytes| bytes.fill(seed))
}

/// Two ends of an open channel.
fn joined(largest: u32, t: u64) -> (client::Connection, server::Connection) {
    let now = now(t);
    let client = client::Config::new("opc.tcp://pretended:4840", random(1));
    let mut config = server::Config::new(7, random(2));
    if largest > 0 {
        config.limits.receive_message = largest;
    }
    let mut client = client::Connection::new(client, now);
    let mut server = server::Connection::new(config, now);
    while !client.is_open() {
        let bytes = client.pending().to_vec();
        client.wrote(bytes.len());
        server.receive(&bytes);
        while server.poll_event(now).is_some() {}
        while let Some(job) = server.poll_job() {
            server.complete(job.run(), now);
        }
        while server.poll_event(now).is_some() {}
        let bytes = server.pending().to_vec();
        server.wrote(bytes.len());
        client.receive(&bytes);
        while client.poll_event(now).is_some() {}
        while let Some(job) = client.poll_job() {
            client.complete(job.run(), now);
        }
        while client.poll_event(now).is_some() {}
    }
    (client, server)
}

fn askers(phase: &Phase) -> Vec<Asker> {
    let batch = phase.work.batch();
    let node = NodeId::new(2, 1000u32);
    let header = RequestHeader::default();
    let asker = match &phase.work {
        Work::Browse(browse) => {
            let operations = Operations::new([BrowseDescription {
                node_id: node,
                ..Default::default()
            }]);
            let all = Selection::new(0..1, batch);
            let asker = Asker::browse(
                header,
                browse.max_references,
                operations.unwrap().into(),
                all,
            );
            match browse.follow {
                true => asker,
                false => asker.map(Asker::without_rest),
            }
        }
        Work::Read(read) => {
            let operations = Operations::new([ReadValueId {
                node_id: node,
                attribute_id: AttributeId::Value as u32,
                ..Default::default()
            }]);
            let all = Selection::new(0..1, batch);
            Asker::read(header, read, operations.unwrap().into(), all)
        }
        other => panic!("no pretended server for {}", other.name()),
    };
    vec![asker.unwrap()]
}

impl Place {
    fn new(world: &World, seat: Seat) -> Self {
        let phase = &world.phase;
        let (connection, server) = joined(world.largest, 0);
        let source = match (&phase.arrival, Schedule::of_phase(phase, seat)) {
            (Arrival::Closed { in_flight, think }, _) => Source::closed(*in_flight, *think),
            (Arrival::Open(_), schedule) => Source::open(schedule.unwrap(), phase.catch_up),
        };
        let lane = Lane::new(
            connection,
            Setup {
                token: NodeId::null(),
                askers: askers(phase),
                source,
                requests: phase
                    .requests_of(seat.target, seat.index, world.targets)
                    .unwrap_or(u64::MAX),
                warmup: phase.warmup.given().as_nanos() as u64,
                timeout: phase.timeout,
                in_flight: phase.in_flight() as usize,
                origin: Instant::from_nanos(ORIGIN),
                end: world.end(),
            },
        );
        Self {
            seat,
            lane,
            server: Server::new(server),
            alive: true,
            unread: Vec::new(),
        }
    }

    /// When something will happen here by itself.
    fn next(&mut self, sending: bool) -> Option<u64> {
        let due = self.lane.due().filter(|_| sending);
        let timeout = self.lane.connection().poll_timeout();
        let timeout = timeout.map(|at| at.as_nanos() - ORIGIN);
        let said = self.server.later.keys().next().map(|(at, _)| *at);
        [due, timeout, said].into_iter().flatten().min()
    }
}

impl Server {
    fn new(connection: server::Connection) -> Self {
        Self {
            connection,
            later: BTreeMap::new(),
            requests: 0,
            read: None,
        }
    }

    /// Reads requests and makes up its mind about them.
    fn receive(&mut self, world: &World, seat: Seat, t: u64, bytes: &[u8]) {
        self.connection.receive(bytes);
        while let Some(event) = self.connection.poll_event(now(t)) {
            let server::Event::Request { id, body } = event else {
                continue;
            };
            let n = self.requests;
            self.requests += 1;
            let mut answer = |status| {
                let good = status == StatusCode::Good;
                let reads = good && matches!(world.phase.work, Work::Read(_));
                match (reads, &self.read) {
                    (true, Some(same)) => same.clone(),
                    (true, None) => {
                        let answer = encoded(&answer(body, world, status));
                        self.read.insert(answer).clone()
                    }
                    (false, _) => encoded(&answer(body, world, status)),
                }
            };
            let (after, say) = match (world.conduct)(seat, n) {
                Fate::Answer(after) => (after, Say::Answer(id, answer(StatusCode::Good))),
                Fate::Fault(after, status) => (after, Say::Answer(id, answer(status))),
                Fate::Abort(after, status) => (after, Say::Abort(id, status)),
                Fate::Swallow => continue,
            };
            let mut at = t + after;
            if let Some((from, to)) = world.stall
                && (from..to).contains(&at)
            {
                at = to;
            }
            self.later.insert((at, n), say);
        }
    }

    /// What it has said by now.
    fn said(&mut self, t: u64) -> Vec<u8> {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > t {
                break;
            }
            match entry.remove() {
                Say::Answer(id, body) => self
                    .connection
                    .respond(id, |out| out.extend_from_slice(&body))
                    .unwrap(),
                Say::Abort(id, status) => self.connection.abort(id, status).unwrap(),
            }
        }
        let bytes = self.connection.pending().to_vec();
        self.connection.wrote(bytes.len());
        bytes
    }
}

fn encoded(response: &Response) -> Vec<u8> {
    let mut out = Vec::new();
    response.encode(&mut out).unwrap();
    out
}

fn answer(body: &[u8], world: &World, status: StatusCode) -> Response {
    let header = ResponseHeader {
        service_result: status,
        ..Default::default()
    };
    if status != StatusCode::Good {
        return Response::Fault(ServiceFault {
            response_header: header,
        });
    }
    let request = Request::decode(body, &Limits::for_message_size(body.len())).unwrap();
    match request {
        Request::Read(read) => {
            let value = DataValue {
                value: Some(Variant::Double(1.5)),
                ..Default::default()
            };
            Response::from(ReadResponse {
                response_header: header,
                results: Some(vec![value; read.nodes_to_read.unwrap_or_default().len()]),
                diagnostic_infos: None,
            })
        }
        Request::Browse(_) => Response::from(BrowseResponse {
            response_header: header,
            results: Some(vec![references(world, 0)]),
            diagnostic_infos: None,
        }),
        Request::BrowseNext(next) => {
            let points = next.continuation_points.unwrap_or_default();
            let from = |point: &ByteString| usize::from(point.value.as_ref().unwrap()[0]);
            let results = match next.release_continuation_points {
                true => None,
                false => Some(points.iter().map(|p| references(world, from(p))).collect()),
            };
            Response::from(BrowseNextResponse {
                response_header: header,
                results,
                diagnostic_infos: None,
            })
        }
        other => panic!("{other:?}"),
    }
}

/// The references from one on, with a continuation point if they go on.
fn references(world: &World, from: usize) -> BrowseResult {
    let (all, each) = world.references;
    let n = each.min(all - from);
    BrowseResult {
        status_code: StatusCode::Good,
        continuation_point: match from + n < all {
            true => ByteString::from(vec![(from + n) as u8]),
            false => ByteString::null(),
        },
        references: Some(vec![ReferenceDescription::default(); n]),
    }
}

impl<'a> Core<'a> {
    fn new(world: &'a World, places: Vec<Place>) -> Self {
        let ledger = |_| Ledger::with_end(world.end());
        Self {
            world,
            places,
            ledgers: (0..world.targets).map(ledger).collect(),
            sending: true,
        }
    }

    fn run(mut self) -> Vec<Ledger> {
        let mut t = 0;
        while !self.is_over(t) {
            for n in 0..self.places.len() {
                self.turn(n, t);
            }
            let Some(next) = self.next(t) else {
                break;
            };
            t = next;
        }
        for place in &mut self.places {
            let ledgers = self.ledgers.get_mut(place.seat.target as usize..).unwrap();
            place.lane.finish(t, &mut Books::new(ledgers));
        }
        self.ledgers
    }

    fn is_over(&mut self, t: u64) -> bool {
        let stop = self.world.stopped.unwrap_or(u64::MAX).min(self.world.end());
        let back = self.world.lost.is_some_and(|(_, back)| back.is_some());
        if self.sending {
            let may = |place: &Place| (place.alive || back) && !place.lane.is_spent();
            self.sending = t < stop && self.places.iter().any(may);
            if !self.sending && t >= stop {
                for ledger in &mut self.ledgers {
                    ledger.end_at(stop);
                }
                for place in &mut self.places {
                    place.lane.end_at(stop);
                }
            }
        }
        let patient = t < stop.saturating_add(self.world.patience);
        !self.sending && (!patient || self.places.iter().all(|place| place.lane.in_flight() == 0))
    }

    /// When something happens next, as far as the generator notices.
    fn next(&mut self, t: u64) -> Option<u64> {
        let world = self.world;
        let sending = self.sending;
        let mut next = self
            .places
            .iter_mut()
            .filter_map(|place| place.next(sending))
            .map(|at| at.max(t + 1))
            .min();
        let mut also = |at: Option<u64>| {
            if let Some(at) = at.filter(|at| *at > t) {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        };
        if self.sending {
            also(Some(world.end()).filter(|end| *end < u64::MAX));
            also(world.stopped);
            also(world.lost.map(|(at, _)| at));
            also(world.lost.and_then(|(_, back)| back));
        }
        also(world.stall.map(|(_, to)| to));
        if world.patience < u64::MAX {
            also(Some(world.end() + world.patience));
        }
        match world.starved {
            Some((from, to)) => next.map(|at| if (from..to).contains(&at) { to } else { at }),
            None => next,
        }
    }

    fn turn(&mut self, n: usize, t: u64) {
        let (world, place) = (self.world, &mut self.places[n]);
        let ledgers = self.ledgers.get_mut(place.seat.target as usize..).unwrap();
        let books = &mut Books::new(ledgers);
        match world.lost {
            Some((at, back)) if place.alive && t >= at && back.is_none_or(|back| t < back) => {
                place.alive = false;
                place.server.later.clear();
                place
                    .lane
                    .connection()
                    .lost("the server closed the connection");
                assert!(place.lane.drain(now(t), books).is_some());
            }
            Some((_, Some(back))) if !place.alive && t >= back => {
                let (connection, server) = joined(world.largest, t);
                place.alive = true;
                place.server = Server::new(server);
                let again = askers(&world.phase);
                place.lane.reconnect(connection, NodeId::null(), again);
            }
            _ => {}
        }
        let stalled = world
            .stall
            .is_some_and(|(from, to)| (from..to).contains(&t));
        if place.alive && !stalled {
            let unread = std::mem::take(&mut place.unread);
            place.server.receive(world, place.seat, t, &unread);
        }
        let said = place.server.said(t);
        place.lane.connection().receive(&said);
        let timeout = place.lane.connection().poll_timeout();
        if timeout.is_some_and(|at| at <= now(t).mono) {
            place.lane.connection().handle_timeout(now(t));
        }
        if place.alive {
            place.lane.drain(now(t), books);
        }
        if self.sending {
            place.lane.pump(now(t), books);
        }
        loop {
            let pending = place.lane.connection().pending();
            let room = world.socket.saturating_sub(place.unread.len());
            let bytes = pending[..pending.len().min(room)].to_vec();
            if bytes.is_empty() {
                break;
            }
            place.lane.connection().wrote(bytes.len());
            match stalled {
                true => place.unread.extend(bytes),
                false => place.server.receive(world, place.seat, t, &bytes),
            }
        }
        let all = place.lane.connection().pending().is_empty();
        place.lane.wrote(all);
    }
}
