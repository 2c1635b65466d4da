//! What is sent when, and what stands in the way.

use record::Lateness;
use wire::client::MAX_IN_FLIGHT;
use wire::time::Now;
use wire::types::StatusCode;

use super::super::recorder::{Alike, Recorder, Sent};
use super::{Flight, Lane, Reason};

/// Bytes that wait for the socket before a lane stops adding to them.
const BACKLOG: usize = 64 * 1024;

impl Lane {
    /// Sends what its subscriptions have to send; so too when no more requests are to be sent.
    pub fn pump_subscriptions(&mut self, now: Now, recorder: &mut Recorder<'_>) {
        if let Some(subscriber) = &mut self.subscriber
            && !self.full
            && self.connection.is_open()
            && let Some(mut tracker) = recorder.tracker()
        {
            subscriber.pump(&mut self.connection, now, &mut tracker);
        }
    }

    /// Sends what is due. To be written by the caller at once; tells whether there is anything.
    pub fn pump(&mut self, now: Now, recorder: &mut Recorder<'_>) -> bool {
        if self.held {
            return false;
        }
        let t = self.since_start(now.mono);
        let mut sent = Alike::<Sent>::default();
        let mut any = false;
        while let Some(planned) = self.setup.source.peek() {
            if planned > t || planned >= self.end.at() || self.setup.requests == 0 {
                break;
            }
            if let Some(reason) = self.obstacle() {
                self.block(reason, t);
                break;
            }
            self.setup.source.pop();
            if self.setup.source.skips(t) {
                if let Some(ledger) = recorder.of(self.setup.first) {
                    ledger.skipped(t, 1);
                }
                continue;
            }
            let work = self.turn;
            self.turn = (work + 1) % self.setup.askers.len().max(1);
            let Some(bytes) = self.send(planned, t, work, now) else {
                self.refused(planned, t, work, recorder);
                break;
            };
            any = true;
            let one = Sent {
                work: self.setup.ledger(work),
                lateness: self.lateness(planned, t),
                bytes,
            };
            if let Some((before, n)) = sent.add(one) {
                recorder.sent(t, before, n);
            }
        }
        if let Some((last, n)) = sent.take() {
            recorder.sent(t, last, n);
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

    /// Something stands in the way, now or still.
    pub(super) fn block(&mut self, reason: Reason, t: u64) {
        let since = self.blocked.map_or(t, |(_, since)| since);
        self.blocked = Some((reason, since));
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
        self.setup.spend(planned);
        let flight = Flight {
            planned,
            sent: t,
            work: self.setup.ledger(work),
            expected,
            values: 0,
            first,
        };
        self.flights.keep(id, flight);
        Some(bytes as u32)
    }

    /// A request that cannot be sent, since the server said that it takes none of its size, has
    /// failed like any other.
    #[cold]
    fn refused(&mut self, planned: u64, t: u64, work: usize, recorder: &mut Recorder<'_>) {
        self.setup.spend(planned);
        let flight = Flight {
            planned,
            sent: t,
            work: self.setup.ledger(work),
            ..Flight::default()
        };
        let lateness = self.lateness(planned, t);
        if let Some(ledger) = recorder.of(flight.work) {
            ledger.late(t, lateness, 1);
        }
        self.done(flight, t, StatusCode::BadRequestTooLarge, 0, recorder);
        self.write_down(recorder);
    }

    /// Says whether the socket took all that it was given.
    pub fn wrote(&mut self, all: bool) {
        // What is small enough may wait behind what is being written.
        self.full = !all && self.connection.pending().len() > BACKLOG;
    }
}
