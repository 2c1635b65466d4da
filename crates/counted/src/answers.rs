//! The generator's loop on answers that are there already, from the ring of a socket to the write of what follows.
//!
//! A round is 16 requests and their answers. A path is the number of nodes of each Read, or `nothing-NODES`: the same
//! without the generator, which is what the pretended socket costs.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use load::engine::{
    Control, EventLoop, Host, Lane, Mail, Parts, ReadySocket, Seat, Settings, Setup, SlowTask,
    Source, settle,
};
use load::transport::ReadOutcome;
use load::work::{Asker, Operations, Selection};
use plan::{Arrival, NodeSpec, Phase, Read, Warmup, Work};
use wire::service::Response;
use wire::time::{Instant, Now};
use wire::types::{
    AttributeId, DataValue, NodeId, ReadResponse, ReadValueId, RequestHeader, ResponseHeader,
    StatusCode, Variant,
};
use wire::{client, server};

/// Answers that come at once, as from a plant.
const AT_ONCE: usize = 16;
/// Requests on their way.
const IN_FLIGHT: u32 = 64;
/// Header, channel, token, sequence number, request id.
const BODY_AT: usize = 24;
/// Where a response body of the usual kind has the request's handle.
const HANDLE_AT: usize = BODY_AT + 4 + 8;

/// A socket that answers each request, and a clock that takes a microsecond for each look.
struct Replay {
    t: u64,
    answer: Vec<u8>,
    sequence: u32,
    asked: VecDeque<u32>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().unwrap())
}

impl Host for Replay {
    type Socket = ();

    fn mono(&self) -> Instant {
        Instant::from_nanos(self.t)
    }

    fn now(&self) -> Now {
        Now {
            mono: self.mono(),
            utc: 134_116_992_000_000_000,
        }
    }

    fn sleep_until(&mut self, at: Instant) {
        self.t = at.as_nanos();
    }

    fn register(&mut self, _: usize, (): &mut ()) -> io::Result<()> {
        Ok(())
    }

    fn deregister(&mut self, (): &mut ()) {}

    fn read(&mut self, (): &mut (), into: &mut [u8]) -> io::Result<ReadOutcome> {
        let mut n = 0;
        for id in self.asked.drain(..AT_ONCE.min(self.asked.len())) {
            let out = &mut into[n..][..self.answer.len()];
            out.copy_from_slice(&self.answer);
            out[16..20].copy_from_slice(&self.sequence.to_le_bytes());
            out[20..24].copy_from_slice(&id.to_le_bytes());
            out[HANDLE_AT..][..4].copy_from_slice(&id.to_le_bytes());
            self.sequence += 1;
            n += self.answer.len();
        }
        Ok(match n {
            0 => ReadOutcome::Nothing,
            n => ReadOutcome::Bytes {
                n,
                more: false,
                stamp: Some(0),
            },
        })
    }

    fn write(&mut self, (): &mut (), bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            self.asked.push_back(word(rest, 20));
            rest = &rest[word(rest, 4) as usize..];
        }
        Ok(bytes.len())
    }

    fn low_water(&mut self, (): &(), _: usize) -> bool {
        false
    }

    fn stamp(&mut self, (): &mut ()) -> bool {
        true
    }

    fn wait(
        &mut self,
        _: Option<Instant>,
        _: Instant,
        rung: &mut Vec<ReadySocket>,
    ) -> io::Result<bool> {
        self.t += 1000;
        rung.push(ReadySocket {
            seat: 0,
            readable: true,
            writable: false,
        });
        Ok(false)
    }

    fn submit(&mut self, _: SlowTask) {}

    fn mail(&mut self) -> Option<Mail<()>> {
        None
    }
}

fn random() -> wire::channel::Random {
    Box::new(|bytes| bytes.fill(7))
}

/// A client's end of an open channel, and the number of the server's next chunk.
fn open(now: Now) -> (client::Connection, u32) {
    let client = client::Config::new("opc.tcp://pretended:4840", random());
    let mut client = client::Connection::new(client, now);
    let mut server = server::Connection::new(server::Config::new(7, random()), now);
    let mut sequence = 0;
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
        sequence += u32::from(bytes.starts_with(b"OPN"));
        client.receive(&bytes);
        while client.poll_event(now).is_some() {}
        while let Some(job) = client.poll_job() {
            client.complete(job.run(), now);
        }
        while client.poll_event(now).is_some() {}
    }
    (client, sequence + 1)
}

/// A whole chunk with an answer of so many Doubles.
fn answer(channel: u32, token: u32, nodes: usize) -> Vec<u8> {
    let value = |n: usize| DataValue {
        value: Some(Variant::Double(n as f64)),
        ..DataValue::default()
    };
    let response = Response::from(ReadResponse {
        response_header: ResponseHeader {
            service_result: StatusCode::Good,
            ..ResponseHeader::default()
        },
        results: Some((0..nodes).map(value).collect()),
        diagnostic_infos: None,
    });
    let mut chunk = b"MSGF".to_vec();
    chunk.resize(BODY_AT, 0);
    response.encode(&mut chunk).unwrap();
    let size = chunk.len() as u32;
    chunk[4..8].copy_from_slice(&size.to_le_bytes());
    chunk[8..12].copy_from_slice(&channel.to_le_bytes());
    chunk[12..16].copy_from_slice(&token.to_le_bytes());
    chunk
}

/// Sends so many rounds of Reads.
pub fn run(path: &str, rounds: u32) {
    let nothing = path.strip_prefix("nothing-");
    let nodes: u32 = nothing.unwrap_or(path).parse().expect("a number of nodes");

    let node: NodeSpec = "ns=2;i=1000".parse().unwrap();
    let read = Read {
        batch: nodes,
        ..Read::new(node.into())
    };
    let ids = (0..nodes).map(|n| ReadValueId {
        node_id: NodeId::new(2, 1000 + n),
        attribute_id: AttributeId::Value as u32,
        ..ReadValueId::default()
    });
    let operations = Arc::new(Operations::new(ids).unwrap());
    let header = RequestHeader {
        authentication_token: NodeId::new(1, wire::types::ByteString::from(vec![7; 32])),
        ..RequestHeader::default()
    };
    let all = Selection::new(0..nodes as usize, nodes);
    let asker = Asker::read(header, &read, operations, all).unwrap();

    let requests = u64::from(rounds) * AT_ONCE as u64;
    let mut phase = Phase::new(Work::Read(read));
    phase.arrival = Arrival::Closed {
        in_flight: IN_FLIGHT,
        think: Duration::ZERO,
    };
    phase.warmup = Warmup::Given {
        warmup: Duration::ZERO,
    };
    phase.duration = None;
    phase.requests = Some(requests);

    let mut host = Replay {
        t: 0,
        answer: Vec::new(),
        sequence: 0,
        asked: VecDeque::new(),
    };
    let (mut connection, sequence) = open(host.now());
    host.sequence = sequence;
    // A request shows the token that answers name.
    let mut asker = asker;
    connection
        .send(Instant::from_nanos(u64::MAX), |out, handle| {
            asker.append(out, handle, 0);
        })
        .unwrap();
    let request = connection.pending().to_vec();
    connection.wrote(request.len());
    assert!(connection.give_up().is_some());
    host.answer = answer(connection.channel_id(), word(&request, 12), nodes as usize);

    if nothing.is_some() {
        let written = request.repeat(AT_ONCE);
        let mut room = vec![0; 64 * 1024];
        for _ in 0..rounds {
            host.write(&mut (), &written).unwrap();
            host.read(&mut (), &mut room).unwrap();
        }
        return;
    }
    let settings = Settings::new(&phase);
    let setup = Setup {
        token: NodeId::null(),
        askers: vec![asker],
        source: Source::closed(IN_FLIGHT, Duration::ZERO),
        requests,
        warmup: 0,
        timeout: phase.timeout,
        in_flight: IN_FLIGHT as usize,
        place: (0, 1),
        origin: Instant::from_nanos(0),
        end: settings.end_ns(),
        first: 0,
    };
    let mut seat = Seat::new(0, 0, 0, (), Lane::new(connection, setup));
    seat.room = 64 * 1024;
    let core = EventLoop::new(Parts {
        host,
        number: 0,
        settings: Arc::new(settings),
        seats: vec![seat],
        ledgers: 1,
        origin: Instant::from_nanos(0),
        control: Control::default(),
        progress: std::sync::mpsc::channel().0,
        sheet: None,
        barrier: None,
        notification_ledger: None,
    });
    let mut reports = [core.unwrap().run().unwrap()];
    let whole = settle(&mut reports).tallies[0].whole();
    assert_eq!(whole.sum.counters.values, requests * u64::from(nodes));
}
