//! What becomes of requests.

use wire::channel::ChannelError;
use wire::client::{Event, RequestId};
use wire::time::Now;
use wire::types::StatusCode;

use super::super::recorder::Recorder;
use super::rest::Rest;
use super::{Flight, Lane, Reason};
use crate::work::Answer;

impl Lane {
    /// Looks at all that came in. Tells why the connection has ended, once it has.
    pub fn drain(&mut self, now: Now, recorder: &mut Recorder<'_>) -> Option<ChannelError> {
        let t = self.since_start(now.mono);
        let mut ended = None;
        let mut rests: Vec<Rest> = Vec::new();
        while let Some(event) = self.connection.poll_event(now) {
            match event {
                Event::Response { id, body } => {
                    if let Some(subscriber) = &mut self.subscriber
                        && subscriber.owns(id)
                        && let Some(mut tracker) = recorder.tracker()
                    {
                        subscriber.answered(id, body, now, &mut tracker);
                        if subscriber.is_expelled() {
                            self.connection
                                .lost("the server does not know the session any more");
                        }
                        continue;
                    }
                    let mut flight = self.flights.get(id);
                    let Some(asker) = self.setup.asker_of(flight.work) else {
                        continue;
                    };
                    let answer = asker.service().judge(body, flight.expected as usize);
                    if answer.bad + answer.uncertain > 0
                        && let Some(ledger) = recorder.of(flight.work)
                    {
                        asker.service().each_failure(body, |status| {
                            ledger.values_failed(t, status.bits(), 1);
                        });
                    }
                    let Answer {
                        status,
                        values,
                        more,
                        ..
                    } = answer;
                    flight.values = flight.values.saturating_add(values);
                    let bytes = body.len() as u32;
                    let places = self.flights.take_places(id);
                    if !more.is_empty() {
                        let rest = Rest::of(asker, flight, places.as_deref(), more);
                        let wanted = rest.wanted;
                        rests.push(rest);
                        if wanted {
                            if let Some(ledger) = recorder.of(flight.work) {
                                ledger.received_bytes(t, bytes, 1);
                            }
                            continue;
                        }
                    }
                    self.done(flight, t, status, bytes, recorder);
                }
                Event::Aborted { id, error } => self.failed(id, error.status, now, recorder),
                Event::Unanswered(id) => {
                    self.failed(id, StatusCode::BadConnectionClosed, now, recorder);
                }
                Event::TimedOut(id) => self.timed_out(id, now, recorder),
                Event::Closed(error) => {
                    if let Some(subscriber) = &mut self.subscriber
                        && let Some(mut tracker) = recorder.tracker()
                    {
                        subscriber.cut(now, &mut tracker);
                    }
                    // What falls due until it is back cannot be sent because of the server.
                    self.block(Reason::Socket, t);
                    ended = Some(error);
                }
                _ => {}
            }
        }
        self.write_down(recorder);
        for rest in &rests {
            self.follow(rest, now, recorder);
        }
        ended
    }

    /// A request has ended, and its session may send another one.
    #[inline]
    pub(super) fn done(
        &mut self,
        flight: Flight,
        t: u64,
        status: StatusCode,
        bytes: u32,
        recorder: &mut Recorder<'_>,
    ) {
        self.setup.source.answered(t);
        if let Some((before, n)) = self.done.add(flight.outcome(t, status, bytes)) {
            recorder.done(before, n);
        }
    }

    /// Writes down those that have ended so far.
    pub(super) fn write_down(&mut self, recorder: &mut Recorder<'_>) {
        if let Some((last, n)) = self.done.take() {
            recorder.done(last, n);
        }
    }

    /// A request has ended without an answer.
    fn failed(&mut self, id: RequestId, status: StatusCode, now: Now, recorder: &mut Recorder<'_>) {
        if !self.subscriber_failed(id, status, now, recorder) {
            let t = self.since_start(now.mono);
            self.done(self.flights.get(id), t, status, 0, recorder);
        }
    }

    /// A request was given up.
    fn timed_out(&mut self, id: RequestId, now: Now, recorder: &mut Recorder<'_>) {
        if !self.subscriber_failed(id, StatusCode::BadTimeout, now, recorder) {
            let (t, flight) = (self.since_start(now.mono), self.flights.get(id));
            self.setup.source.answered(t);
            recorder.timed_out(flight.work, flight.times(t));
        }
    }

    /// Tells subscriptions of a request that came to nothing, if it was one of theirs.
    fn subscriber_failed(
        &mut self,
        id: RequestId,
        status: StatusCode,
        now: Now,
        recorder: &mut Recorder<'_>,
    ) -> bool {
        match (&mut self.subscriber, recorder.tracker()) {
            (Some(subscriber), Some(mut tracker)) if subscriber.owns(id) => {
                subscriber.failed(id, status, now, &mut tracker);
                true
            }
            _ => false,
        }
    }
}
