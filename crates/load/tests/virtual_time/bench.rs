//! The generator's own loop on a pretended host: servers whose conduct is known, and a clock that is
//! set.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use load::engine::{
    self, Books, Came, Control, Did, Errand, Host, Lane, Level, Mail, Parts, Reopened, Rung,
    Settings, Setup, Source, settle,
};
use load::transport::Got;
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

pub fn now(t: u64) -> Now {
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
    /// Only those with this target are.
    pub lost_target: Option<u32>,
    /// Bytes that fit between a lane and a server that does not read.
    pub socket: usize,
    /// References that a Browse has, and how many come in one answer.
    pub references: (usize, usize),
    /// The largest message that the servers take.
    pub largest: u32,
    /// When the generator is told to stop.
    pub stopped: Option<u64>,
    /// What a person does to what is offered, and when.
    pub by_hand: Vec<(u64, Level)>,
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
            lost_target: None,
            socket: usize::MAX,
            references: (0, 0),
            largest: 0,
            stopped: None,
            by_hand: Vec::new(),
        }
    }

    pub fn conduct(mut self, conduct: impl Fn(Seat, u64) -> Fate + 'static) -> Self {
        self.conduct = Arc::new(conduct);
        self
    }

    /// A session that has sent nothing yet.
    pub fn lane(&self, seat: Seat, connection: client::Connection) -> Lane {
        let phase = &self.phase;
        let source = match (&phase.arrival, Schedule::beyond_phase(phase, seat)) {
            (Arrival::Closed { .. }, _) if phase.together => Source::cycle(),
            (Arrival::Closed { in_flight, think }, _) => Source::closed(*in_flight, *think),
            (Arrival::Open(_), schedule) => Source::open(schedule.unwrap(), phase.catch_up),
        };
        let setup = Setup {
            token: NodeId::null(),
            askers: askers(phase),
            source,
            requests: phase
                .requests_of(seat.target, seat.index, self.targets)
                .unwrap_or(u64::MAX),
            warmup: phase.warmup.given().as_nanos() as u64,
            timeout: phase.timeout,
            in_flight: phase.in_flight() as usize,
            place: (
                u64::from(seat.target) * u64::from(phase.sessions) + u64::from(seat.index),
                u64::from(self.targets) * u64::from(phase.sessions),
            ),
            origin: Instant::from_nanos(ORIGIN),
            end: Settings::new(phase).end_ns(),
            first: 0,
        };
        Lane::new(connection, setup)
    }

    /// Carries the phase out with so many cores; one tally for each target.
    pub fn run(&self, cores: u32) -> Vec<Tally> {
        let urls = (0..self.targets).map(|n| format!("opc.tcp://pretended:{}", 4840 + n));
        let plan = Plan::of(
            Targets::from_iter(urls.map(|url| url.parse().unwrap())),
            self.phase.clone(),
        );
        let mut reports: Vec<_> = plan
            .shares(cores)
            .into_iter()
            .map(|share| self.core(&share.seats).run().unwrap())
            .collect();
        settle(&mut reports).tallies
    }

    /// How long each cycle took on one core.
    pub fn cycles(&self) -> Vec<u64> {
        let seats: Vec<Seat> = (0..self.phase.sessions)
            .map(|index| Seat { target: 0, index })
            .collect();
        self.core(&seats).run().unwrap().cycles
    }

    /// One session that sends what is due at one time and is given up at another, without any
    /// answer.
    pub fn given_up(&self, sent: u64, over: u64) -> Tally {
        let (connection, _) = joined(self.largest, 0);
        let seat = Seat {
            target: 0,
            index: 0,
        };
        let mut lane = self.lane(seat, connection);
        let mut ledgers = [Ledger::new()];
        lane.pump(now(sent), &mut Books::new(&mut ledgers));
        lane.finish(over, &mut Books::new(&mut ledgers));
        let [ledger] = ledgers;
        ledger.finish()
    }

    /// The loop of one thread, as it runs over sockets, with these sessions.
    fn core(&self, seats: &[Seat]) -> engine::Core<Pretended> {
        let control = Control::default();
        let mut host = Pretended::new(self, control.clone());
        let places = seats.iter().enumerate().map(|(n, &seat)| {
            let (lane, line) = host.connect(seat);
            let target = seat.target as usize;
            engine::Seat::new(n, target, target, line, lane)
        });
        let seats = places.collect();
        engine::Core::new(Parts {
            host,
            number: 0,
            settings: Arc::new(Settings::new(&self.phase)),
            seats,
            ledgers: self.targets as usize,
            origin: Instant::from_nanos(ORIGIN),
            control,
            progress: std::sync::mpsc::channel().0,
            sheet: None,
            gate: None,
            receipt: None,
        })
        .unwrap()
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

/// What lies between a session and its server.
struct Line {
    seat: Seat,
    server: Server,
    /// The server is gone.
    cut: bool,
    /// The session was told.
    told: bool,
    /// Bytes that a server which stands still has not read.
    unread: Vec<u8>,
    /// The session was told that no more fits.
    full: bool,
    /// Bytes that the session has not read.
    said: VecDeque<u8>,
}

/// A machine whose time passes when somebody waits.
struct Pretended {
    world: World,
    t: u64,
    control: Control,
    /// How much of what a person does is done.
    pressed: usize,
    /// By place in the core.
    seats: Vec<Seat>,
    lines: BTreeMap<usize, Rc<RefCell<Line>>>,
    /// Sessions to be opened again when the servers are back.
    reopen: Vec<usize>,
    mail: Vec<Mail<Rc<RefCell<Line>>>>,
}

fn random(seed: u8) -> wire::channel::Random {
    Box::new(move |bytes| bytes.fill(seed))
}

/// Two ends of an open channel.
pub fn joined(largest: u32, t: u64) -> (client::Connection, server::Connection) {
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

impl Line {
    fn new(seat: Seat, server: server::Connection) -> Self {
        Self {
            seat,
            server: Server::new(server),
            cut: false,
            told: false,
            unread: Vec::new(),
            full: false,
            said: VecDeque::new(),
        }
    }

    /// When something happens here by itself.
    fn next(&self) -> Option<u64> {
        let said = self.server.later.keys().next().map(|(at, _)| *at);
        said.filter(|_| !self.cut)
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

impl Pretended {
    fn new(world: &World, control: Control) -> Self {
        Self {
            world: world.clone(),
            t: 0,
            control,
            pressed: 0,
            seats: Vec::new(),
            lines: BTreeMap::new(),
            reopen: Vec::new(),
            mail: Vec::new(),
        }
    }

    /// A session that waits for the phase to begin.
    fn connect(&mut self, seat: Seat) -> (Lane, Rc<RefCell<Line>>) {
        self.seats.push(seat);
        let (connection, server) = joined(self.world.largest, 0);
        let line = Rc::new(RefCell::new(Line::new(seat, server)));
        (self.world.lane(seat, connection), line)
    }

    fn stands_still(&self) -> bool {
        let now = |(from, to): (u64, u64)| (from..to).contains(&self.t);
        self.world.stall.is_some_and(now)
    }

    /// When something happens next, as far as the generator notices.
    fn next(&self, until: u64) -> u64 {
        let world = &self.world;
        let own = self.lines.values().filter_map(|line| line.borrow().next());
        let outside = [
            world.stopped,
            world.by_hand.get(self.pressed).map(|(at, _)| *at),
            world.lost.map(|(at, _)| at),
            world.lost.and_then(|(_, back)| back),
            world.stall.map(|(_, to)| to),
        ];
        let outside = outside.into_iter().flatten().filter(|at| *at > self.t);
        let next = own.chain(outside).fold(until, u64::min).max(self.t);
        match world.starved {
            Some((from, to)) if (from..to).contains(&next) => to,
            _ => next,
        }
    }

    /// What has become of all lines by now.
    fn look(&mut self, rung: &mut Vec<Rung>) {
        let (world, t, still) = (&self.world, self.t, self.stands_still());
        let gone = |(at, back): (u64, Option<u64>)| t >= at && back.is_none_or(|back| t < back);
        let gone = world.lost.is_some_and(gone);
        for (&seat, line) in &self.lines {
            let line = &mut *line.borrow_mut();
            let mut writable = false;
            let meant = world.lost_target.is_none_or(|it| it == line.seat.target);
            if gone && meant && !line.cut {
                line.cut = true;
            } else if !line.cut {
                if !still && !line.unread.is_empty() {
                    let unread = std::mem::take(&mut line.unread);
                    line.server.receive(world, line.seat, t, &unread);
                    writable = std::mem::take(&mut line.full);
                }
                line.said.extend(line.server.said(t));
            }
            let readable = !line.said.is_empty() || (line.cut && !line.told);
            if readable || writable {
                rung.push(Rung {
                    seat,
                    readable,
                    writable,
                });
            }
        }
        if !gone {
            for n in std::mem::take(&mut self.reopen) {
                let (connection, server) = joined(world.largest, t);
                let line = Line::new(self.seats[n], server);
                let again = Reopened {
                    socket: Rc::new(RefCell::new(line)),
                    connection,
                    token: NodeId::null(),
                    askers: askers(&world.phase),
                    requests: None,
                    came: Came::New,
                };
                self.mail.push(Mail::Reopened(n, Ok(Box::new(again))));
            }
        }
    }
}

impl Host for Pretended {
    type Socket = Rc<RefCell<Line>>;

    fn mono(&self) -> Instant {
        self.now().mono
    }

    fn now(&self) -> Now {
        now(self.t)
    }

    fn sleep_until(&mut self, at: Instant) {
        self.t = at.as_nanos() - ORIGIN;
    }

    fn register(&mut self, seat: usize, line: &mut Self::Socket) -> io::Result<()> {
        self.lines.insert(seat, Rc::clone(line));
        Ok(())
    }

    fn deregister(&mut self, line: &mut Self::Socket) {
        self.lines.retain(|_, it| !Rc::ptr_eq(it, line));
    }

    fn read(&mut self, line: &mut Self::Socket, into: &mut [u8]) -> io::Result<Got> {
        let line = &mut *line.borrow_mut();
        if line.said.is_empty() {
            let ended = line.cut && !std::mem::replace(&mut line.told, line.cut);
            return Ok(if ended { Got::End } else { Got::Nothing });
        }
        let n = line.said.len().min(into.len());
        for (to, byte) in into.iter_mut().zip(line.said.drain(..n)) {
            *to = byte;
        }
        Ok(Got::Bytes {
            n,
            more: n == into.len(),
            stamp: None,
        })
    }

    fn write(&mut self, line: &mut Self::Socket, bytes: &[u8]) -> io::Result<usize> {
        let still = self.stands_still();
        let line = &mut *line.borrow_mut();
        if line.cut {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = self.world.socket.saturating_sub(line.unread.len());
        let bytes = &bytes[..bytes.len().min(room)];
        if bytes.is_empty() {
            line.full = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        match still {
            true => line.unread.extend(bytes),
            false => line.server.receive(&self.world, line.seat, self.t, bytes),
        }
        Ok(bytes.len())
    }

    fn low_water(&mut self, _: &Self::Socket, _: usize) -> bool {
        false
    }

    fn stamp(&mut self, _: &mut Self::Socket) -> bool {
        false
    }

    fn wait(
        &mut self,
        until: Option<Instant>,
        _: Instant,
        rung: &mut Vec<Rung>,
    ) -> io::Result<bool> {
        if let Some(until) = until {
            self.t = self.next(until.as_nanos() - ORIGIN);
        }
        while let Some(&(at, level)) = self.world.by_hand.get(self.pressed)
            && at <= self.t
        {
            self.pressed += 1;
            let at = Instant::from_nanos(ORIGIN + at);
            self.control.change_at(at, Did::Offered, level);
        }
        let stopped = self.world.stopped.is_some_and(|at| self.t >= at);
        if stopped {
            self.control.stop();
        }
        self.look(rung);
        Ok(!self.mail.is_empty())
    }

    fn submit(&mut self, errand: Errand) {
        match errand {
            Errand::Job(seat, job) => self.mail.push(Mail::Job(seat, job.run())),
            Errand::Reopen(seat, _) => self.reopen.push(seat),
        }
    }

    fn mail(&mut self) -> Option<Mail<Self::Socket>> {
        self.mail.pop()
    }
}
