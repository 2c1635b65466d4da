//! Servers whose conduct is known.

use std::collections::BTreeMap;

use plan::{Seat, Work};
use wire::server as ends;
use wire::service::{Limits, Request, Response};
use wire::types::{
    BrowseNextResponse, BrowseResponse, BrowseResult, ByteString, DataValue, ReadResponse,
    ReferenceDescription, ResponseHeader, ServiceFault, StatusCode, Variant,
};

use super::{Fate, World, encoded, now};

/// A server behind one connection.
pub struct Server {
    connection: ends::Connection,
    /// What it will say when: in order of time, then of requests.
    later: BTreeMap<(u64, u64), Say>,
    requests: u64,
    /// The answer to a Read: the same each time.
    read: Option<Vec<u8>>,
}

enum Say {
    Answer(ends::RequestId, Vec<u8>),
    Abort(ends::RequestId, StatusCode),
}

impl Server {
    pub fn new(connection: ends::Connection) -> Self {
        Self {
            connection,
            later: BTreeMap::new(),
            requests: 0,
            read: None,
        }
    }

    /// When it says something next.
    pub fn next(&self) -> Option<u64> {
        self.later.keys().next().map(|(at, _)| *at)
    }

    /// Reads requests and makes up its mind about them.
    pub fn receive(&mut self, world: &World, seat: Seat, t: u64, bytes: &[u8]) {
        self.connection.receive(bytes);
        while let Some(event) = self.connection.poll_event(now(t)) {
            let ends::Event::Request { id, body } = event else {
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
    pub fn said(&mut self, t: u64) -> Vec<u8> {
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
