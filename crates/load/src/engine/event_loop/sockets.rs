//! What comes in and goes out: sockets read and written, lost and opened again; what helpers send.

use std::io;
use std::time::Duration;

use tracing::{info, warn};
use wire::channel::ChannelError;
use wire::time::Now;

use super::super::host::{Host, Mail, Reopened, SlowTask};
use super::super::reports::Loss;
use super::super::seat::{Coalescing, MOST_ROOM, Seat, recorder};
use super::EventLoop;
use crate::transport::{ReadOutcome, unix_nanos};

impl<H: Host> EventLoop<H> {
    /// Fewer answers will come than a socket that rings for several waits for.
    pub(super) fn ring_for_each(&mut self, n: usize) {
        if let Some(seat) = self.seats.get_mut(n)
            && seat.coalescing == Coalescing::On
        {
            self.host.low_water(&seat.socket, 1);
            seat.coalescing = Coalescing::Off;
            self.again.push(n);
        }
    }

    pub(super) fn flush(&mut self, n: usize) {
        let Some(seat) = self.seats.get_mut(n).filter(|seat| seat.alive) else {
            return;
        };
        let mut all = true;
        while !seat.lane.connection().pending().is_empty() {
            let pending = seat.lane.connection().pending();
            match self.host.write(&mut seat.socket, pending) {
                Ok(bytes) => {
                    seat.lane.connection().wrote(bytes);
                    self.sent_bytes += bytes as u64;
                    self.writes += 1;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    all = false;
                    break;
                }
                // What the server wrote before it hung up may still be read; the end is seen then.
                Err(_) => {
                    self.again.push(n);
                    break;
                }
            }
        }
        seat.lane.wrote(all);
    }

    pub(super) fn writable(&mut self, n: usize) {
        let waits = |seat: &mut Seat<_>| !seat.lane.connection().pending().is_empty();
        if self.seats.get_mut(n).is_some_and(waits) {
            self.flush(n);
            let now = self.host.now();
            self.pump(n, now);
        }
    }

    /// Reads what there is, writes it down and sends what follows from it. Tells whether there
    /// was anything.
    pub(super) fn read(&mut self, n: usize) -> bool {
        let mut any = false;
        // A socket that never runs dry must not starve the others.
        for _ in 0..8 {
            let Some(seat) = self.seats.get_mut(n).filter(|seat| seat.alive) else {
                return any;
            };
            let room = seat.room;
            let space = seat.lane.connection().space(room);
            let (bytes, more, stamp) = match self.host.read(&mut seat.socket, space) {
                Ok(ReadOutcome::Bytes { n, more, stamp }) => (n, more, stamp),
                Ok(ReadOutcome::Nothing) => return any,
                Ok(ReadOutcome::End) => {
                    seat.lane
                        .connection()
                        .lost("the server closed the connection");
                    (0, false, None)
                }
                Err(_) => {
                    seat.lane.connection().lost("the socket failed");
                    (0, false, None)
                }
            };
            any = true;
            let now = self.host.now();
            seat.lane.connection().filled(bytes);
            if bytes > 0 {
                self.received_bytes += bytes as u64;
                self.reads += 1;
                if more && room < MOST_ROOM {
                    seat.room = room * 2;
                }
            }
            self.drain(n, now, stamp, bytes);
            if !more {
                return any;
            }
        }
        self.again.push(n);
        any
    }

    /// Looks at what came in, and sends what is due then.
    pub(super) fn drain(&mut self, n: usize, now: Now, stamp: Option<u64>, bytes: usize) {
        let t = self.since_origin(now.mono);
        let Some(seat) = self.seats.get_mut(n) else {
            return;
        };
        if let Some(stamp) = stamp
            && self.begun
            && let Some(ledger) = self.ledgers.get_mut(seat.base)
        {
            ledger.lag(t, unix_nanos(now.utc).saturating_sub(stamp));
        }
        let waited = seat.lane.in_flight();
        let mut recorder = recorder(
            &mut self.ledgers,
            &mut self.sheet,
            &mut self.notification_ledger,
            seat,
        );
        let ended = seat.lane.drain(now, &mut recorder);
        let answers = waited.saturating_sub(seat.lane.in_flight());
        if answers > 0 {
            self.cycle.answered(t);
        }
        seat.learn(&mut self.host, bytes, answers, self.settings.coalesce);
        if let Some(job) = seat.lane.connection().poll_job() {
            seat.busy = true;
            self.host.submit(SlowTask::Job(n, job));
        }
        if let Some(error) = ended {
            self.lost(n, t, &error);
            return;
        }
        let now = Now {
            mono: self.host.mono(),
            utc: now.utc,
        };
        self.pump(n, now);
    }

    fn lost(&mut self, n: usize, t: u64, error: &ChannelError) {
        let Some(seat) = self.seats.get_mut(n) else {
            return;
        };
        if !seat.alive {
            return;
        }
        seat.alive = false;
        seat.lost = t;
        warn!(session = seat.index, %error, "session lost");
        self.host.deregister(&mut seat.socket);
        self.losses.push(Loss {
            session: seat.index,
            at_ns: t,
            reason: error.to_string(),
            back: false,
        });
        if self.settings.reconnect && self.ended.is_none() && !seat.lane.is_spent() {
            self.host.submit(SlowTask::Reopen(n, seat.index));
        }
    }

    pub(super) fn read_mail(&mut self) {
        while let Some(mail) = self.host.mail() {
            match mail {
                Mail::Job(n, done) => {
                    let now = self.host.now();
                    if let Some(seat) = self.seats.get_mut(n).filter(|seat| seat.busy) {
                        seat.busy = false;
                        seat.lane.connection().complete(done, now);
                    }
                    self.drain(n, now, None, 0);
                }
                Mail::Reopened(n, Ok(opened)) => self.reopened(n, *opened),
                Mail::Reopened(n, Err(_)) => self.reopen_later(n),
            }
        }
    }

    fn reopened(&mut self, n: usize, opened: Reopened<H::Socket>) {
        let now = self.host.now();
        let t = self.since_origin(now.mono);
        let Some(seat) = self.seats.get_mut(n) else {
            return;
        };
        seat.socket = opened.socket;
        if self.host.register(n, &mut seat.socket).is_err() {
            return;
        }
        seat.lane
            .reconnect(opened.connection, opened.token, opened.askers);
        if let Some(requests) = opened.requests {
            seat.lane.resubscribe(requests, opened.came);
        }
        seat.alive = true;
        seat.busy = false;
        if self.settings.stamps {
            self.host.stamp(&mut seat.socket);
        }
        if seat.coalescing != Coalescing::Off {
            seat.coalescing = Coalescing::Learning(0, 0);
        }
        let (lost, index, base) = (seat.lost, seat.index, seat.base);
        info!(session = index, after = ?Duration::from_nanos(t.saturating_sub(lost)), "session back");
        if let Some(loss) = self
            .losses
            .iter_mut()
            .rev()
            .find(|loss| loss.session == index)
        {
            loss.back = true;
        }
        if let Some(ledger) = self.ledgers.get_mut(base) {
            ledger.reconnected(t, t.saturating_sub(lost));
        }
        self.pump(n, now);
    }

    /// The server is not back yet: the helper has waited a while, and tries again.
    fn reopen_later(&mut self, n: usize) {
        if let Some(seat) = self.seats.get(n).filter(|seat| !seat.alive)
            && self.ended.is_none()
        {
            self.host.submit(SlowTask::Reopen(n, seat.index));
        }
    }
}
