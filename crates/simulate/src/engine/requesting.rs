//! Requests in an open loop: they are due whatever the server does.

use record::Times;

use super::{DOWN, Engine, UP};
use crate::event::What;
use crate::session::SessionState;

/// `BadNotConnected`, for requests that were due while there was no connection.
// Part 6, Annex A.2.
const NOT_CONNECTED: u32 = 0x808A_0000;

impl Engine<'_> {
    /// A client's next request is due.
    pub(super) fn request(&mut self, at: usize) {
        let Some(it) = &self.kind(at).requests else {
            return;
        };
        let wait = match it.poisson {
            true => (self.random.exponential() * it.every as f64) as u64,
            false => it.every,
        };
        self.plan(wait, What::Request, 0, at);
        let now = self.now;
        let session = &mut self.sessions[at];
        if session.state != SessionState::Connected {
            let times = Times {
                planned: now,
                sent: now,
                completed: now,
            };
            self.recorder(at).ledger.failed(times, NOT_CONNECTED, 1);
            return;
        }
        let epoch = session.epoch;
        let recorder = self.recorder(at);
        recorder.ledger.late(now, record::Lateness::default(), 1);
        recorder.ledger.sent_bytes(now, it.up_bytes, 1);
        self.sessions[at].asked.push_back(now);
        self.send_request(at, epoch, 0);
    }

    /// It is sent, until it comes through or its connection ends.
    pub(super) fn send_request(&mut self, at: usize, epoch: u16, tries: u32) {
        let bytes = self.kind(at).requests.as_ref().map_or(0, |it| it.up_bytes);
        if self.sessions[at].epoch != epoch {
            return;
        }
        match self.carry(at, UP, u64::from(bytes), tries) {
            Ok(there) => self.plan_at(there, What::Asked, epoch, at),
            Err(lost) => {
                self.plan_at(lost.again, What::AgainRequest, epoch, at);
                self.watch(at);
            }
        }
    }

    /// A request is at the server.
    pub(super) fn asked(&mut self, at: usize, epoch: u16) {
        let session = &self.sessions[at];
        let node = session.node as usize;
        if session.epoch != epoch || self.nodes[node].stopped > 0 {
            return;
        }
        if let Some(it) = &self.kind(at).requests {
            let done = self.work(node, it.cost);
            self.plan_at(done, What::Answered, epoch, at);
        }
    }

    /// Its answer is ready.
    pub(super) fn answered(&mut self, at: usize, epoch: u16) {
        if self.sessions[at].epoch != epoch {
            return;
        }
        let bytes = self
            .kind(at)
            .requests
            .as_ref()
            .map_or(0, |it| it.down_bytes);
        match self.carry(at, DOWN, u64::from(bytes), 0) {
            Ok(there) => self.plan_at(there, What::Taken, epoch, at),
            Err(lost) => {
                self.plan_at(lost.again, What::Answered, epoch, at);
                self.watch(at);
            }
        }
    }

    /// Its answer is at the client. Equal jobs of one queue are done in their order, so that it is the oldest's.
    pub(super) fn taken(&mut self, at: usize, epoch: u16) {
        let now = self.now;
        let session = &mut self.sessions[at];
        if session.epoch != epoch {
            return;
        }
        session.last_heard = now;
        let planned = session.asked.pop_front();
        let Some(it) = &self.kind(at).requests else {
            return;
        };
        if let Some(planned) = planned {
            let times = Times {
                planned,
                sent: planned,
                completed: now,
            };
            let ledger = &mut self.recorder(at).ledger;
            ledger.done(times, 0, it.values, 1);
            ledger.received_bytes(now, it.down_bytes, 1);
        }
    }
}
