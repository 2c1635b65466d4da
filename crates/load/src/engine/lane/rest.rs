//! Results that go on behind an answer: the rest of a Browse or a HistoryRead.

use wire::channel::SendError;
use wire::client::RequestId;
use wire::service::Request;
use wire::time::Now;
use wire::types::{ByteString, RequestHeader, StatusCode};

use super::super::recorder::Recorder;
use super::{Flight, Lane};
use crate::work::{self, Asker, Point, Service};

/// What an answer left open.
pub struct Rest {
    /// The request.
    pub flight: Flight,
    /// Operations whose results go on, by their places in the list, and where.
    points: Vec<(usize, ByteString)>,
    /// Whether it is asked for, or nobody wants it.
    pub wanted: bool,
}

impl Rest {
    /// Of an answer. `places`: those of its operations, if it was itself to the rest of another.
    pub fn of(asker: &Asker, flight: Flight, places: Option<&[usize]>, points: Vec<Point>) -> Self {
        // An answer has as many results as its request had operations, or its points are not taken.
        let place = |at: u32| match places {
            Some(places) => places.get(at as usize).copied().unwrap_or(0),
            None => asker.place(flight.first as usize, at),
        };
        let points = points.into_iter();
        Self {
            flight,
            points: points.map(|it| (place(it.operation), it.bytes)).collect(),
            wanted: asker.follows(),
        }
    }
}

impl Lane {
    /// A Browse or a HistoryRead is one operation to its end: the rest is asked for at once, and it
    /// completes with its last answer.
    pub(super) fn follow(&mut self, rest: &Rest, now: Now, recorder: &mut Recorder<'_>) {
        let sent = self.ask_next(rest, now, recorder);
        if !rest.wanted {
            // Part 4, 5.9.3: a continuation point holds resources until it is released. Nobody
            // waits for the answer.
            if let Ok(id) = sent {
                self.connection.forget(id);
            }
            return;
        }
        let mut flight = rest.flight;
        flight.expected = rest.points.len() as u32;
        match sent {
            Ok(id) => {
                let places = rest.points.iter().map(|(place, _)| *place).collect();
                self.flights.keep_rest(id, flight, places);
            }
            Err(_) => {
                let t = self.since_start(now.mono);
                self.done(flight, t, StatusCode::BadNotConnected, 0, recorder);
                self.write_down(recorder);
            }
        }
    }

    fn ask_next(
        &mut self,
        rest: &Rest,
        now: Now,
        recorder: &mut Recorder<'_>,
    ) -> Result<RequestId, SendError> {
        let deadline = now.mono + self.setup.timeout;
        let mut bytes = 0;
        let asker = self.setup.asker_of(rest.flight.work);
        let id = match asker.filter(|it| it.service() == Service::History) {
            Some(asker) => self.connection.send(deadline, |out, handle| {
                bytes = asker.append_rest(&rest.points, !rest.wanted, out, handle, now.utc);
            })?,
            None => {
                let points = rest.points.iter().map(|(_, point)| point.clone()).collect();
                let header = RequestHeader {
                    authentication_token: self.setup.token.clone(),
                    timestamp: now.utc.into(),
                    ..RequestHeader::default()
                };
                let mut request = Request::from(work::next(header, points, !rest.wanted));
                self.connection.send(deadline, |out, handle| {
                    let before = out.len();
                    request.header_mut().request_handle = handle;
                    // Continuation points that were decoded encode again.
                    let encoded = request.encode(out);
                    debug_assert!(encoded.is_ok());
                    bytes = out.len() - before;
                })?
            }
        };
        let t = self.since_start(now.mono);
        if let Some(ledger) = recorder.of(rest.flight.work) {
            ledger.sent_bytes(t, bytes as u32, 1);
        }
        Ok(id)
    }
}
