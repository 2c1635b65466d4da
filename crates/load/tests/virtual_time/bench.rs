//! The generator's own loop on a pretended host: servers whose conduct is known, and a clock that is
//! set.

mod host;
mod server;

use std::sync::Arc;
use std::time::Duration;

use host::Pretended;
use load::engine::{self, Control, Lane, Level, Parts, Recorder, Settings, Setup, Source, settle};
use load::work::{Asker, Operations, Selection};
use plan::{Arrival, NodeSpec, Phase, Plan, Read, Schedule, Seat, Targets, Work};
use record::run::Stall;
use record::{Ledger, Tally};
use wire::service::{Limits, Request, Response};
use wire::time::{Instant, Now};
use wire::types::{AttributeId, BrowseDescription, NodeId, ReadValueId, RequestHeader, StatusCode};
use wire::{client, server as ends};

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
            end: Settings::new(phase).end_ns(),
            ..idle()
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

    /// What one core found, and when it did not run itself.
    pub fn with_stalls(&self) -> (Tally, Vec<Stall>) {
        let seat = Seat {
            target: 0,
            index: 0,
        };
        let report = self.core(&[seat]).run().unwrap();
        let stalls = report.spent.stalls.clone();
        (settle(&mut [report]).tallies.remove(0), stalls)
    }

    /// How long each cycle took on one core.
    pub fn cycles(&self) -> Vec<u64> {
        let seats: Vec<Seat> = (0..self.phase.sessions)
            .map(|index| Seat { target: 0, index })
            .collect();
        let took = self.core(&seats).run().unwrap().cycles;
        took.iter().map(|it| it.ns).collect()
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
        lane.pump(now(sent), &mut Recorder::new(&mut ledgers));
        lane.finish(over, false, &mut Recorder::new(&mut ledgers));
        let [ledger] = ledgers;
        ledger.finish()
    }

    /// The loop of one thread, as it runs over sockets, with these sessions.
    fn core(&self, seats: &[Seat]) -> engine::EventLoop<Pretended> {
        let control = Control::default();
        let mut host = Pretended::new(self, control.clone());
        let places = seats.iter().enumerate().map(|(n, &seat)| {
            let (lane, line) = host.connect(seat);
            let target = seat.target as usize;
            engine::Seat::new(n, target, target, line, lane)
        });
        let seats = places.collect();
        engine::EventLoop::new(Parts {
            host,
            number: 0,
            settings: Arc::new(Settings::new(&self.phase)),
            seats,
            ledgers: self.targets as usize,
            origin: Instant::from_nanos(ORIGIN),
            control,
            progress: std::sync::mpsc::channel().0,
            sheet: None,
            barrier: None,
            notification_ledger: None,
        })
        .unwrap()
    }

    /// The same by one core against one target.
    pub fn tally(&self) -> Tally {
        self.run(1).remove(0)
    }
}

fn random(seed: u8) -> wire::channel::Random {
    Box::new(move |bytes| bytes.fill(seed))
}

/// Two ends of an open channel.
pub fn joined(largest: u32, t: u64) -> (client::Connection, ends::Connection) {
    let now = now(t);
    let client = client::Config::new("opc.tcp://pretended:4840", random(1));
    let mut config = ends::Config::new(7, random(2));
    if largest > 0 {
        config.limits.receive_message = largest;
    }
    let mut client = client::Connection::new(client, now);
    let mut server = ends::Connection::new(config, now);
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

/// What a session is told that has nothing to send.
pub fn idle() -> Setup {
    Setup {
        token: NodeId::null(),
        askers: Vec::new(),
        source: Source::closed(1, Duration::ZERO),
        requests: 0,
        warmup: 0,
        timeout: Duration::from_secs(10),
        in_flight: 1,
        place: (0, 1),
        origin: now(0).mono,
        end: 1000 * MS,
        first: 0,
    }
}

/// A request as the server knows it.
pub type NumberedRequest = (ends::RequestId, Request);

/// Takes to a server what a session has sent, and tells what it asks.
pub fn asked(lane: &mut Lane, server: &mut ends::Connection, t: u64) -> Vec<NumberedRequest> {
    let bytes = lane.connection().pending().to_vec();
    lane.connection().wrote(bytes.len());
    server.receive(&bytes);
    let mut asked = Vec::new();
    while let Some(event) = server.poll_event(now(t)) {
        if let ends::Event::Request { id, body } = event {
            let request = Request::decode(body, &Limits::for_message_size(body.len()));
            asked.push((id, request.unwrap()));
        }
    }
    asked
}

/// Takes a response to the session; to be drained there.
pub fn answer(
    lane: &mut Lane,
    server: &mut ends::Connection,
    id: ends::RequestId,
    response: impl Into<Response>,
) {
    let body = encoded(&response.into());
    server
        .respond(id, |out| out.extend_from_slice(&body))
        .unwrap();
    let bytes = server.pending().to_vec();
    server.wrote(bytes.len());
    lane.connection().receive(&bytes);
}

fn encoded(response: &Response) -> Vec<u8> {
    let mut out = Vec::new();
    response.encode(&mut out).unwrap();
    out
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
