//! What is looked at from time to time, and what is told: to whoever watches, and at the end.

use record::NotificationLedger;

use super::super::host::Host;
use super::super::reports::{self, Left, LoopSpent, Progress, Report};
use super::super::seat::Coalescing;
use super::super::spent::Spent;
use super::{EventLoop, TICK};

impl<H: Host> EventLoop<H> {
    /// The loop has come round once more.
    #[inline]
    pub(super) fn is_there(&mut self, t: u64) {
        if self.heart.worked(t, || self.host.cpu()) {
            self.was_away();
        }
    }

    /// It did not run for a while.
    #[cold]
    pub(super) fn was_away(&mut self) {
        self.look_first = true;
        let at = self.host.mono().nanos_since(self.zero);
        if let Some(notification_ledger) = &mut self.notification_ledger {
            notification_ledger.went_on(at);
        }
    }

    /// What has to be looked at from time to time.
    pub(super) fn tick(&mut self, t: u64) {
        if self.look_first {
            return;
        }
        self.heart.spent(self.host.cpu());
        self.next_tick = t - t % TICK + TICK;
        let now = self.host.now();
        for n in self.over..self.seats.len() {
            let may_send = self.seats.get(n).is_some_and(|seat| self.may_send(seat));
            let Some(seat) = self.seats.get_mut(n) else {
                continue;
            };
            let (in_flight, waiting) = (seat.lane.in_flight() as u64, seat.lane.waiting(t));
            // Whoever has nothing more to do is not looked at, whether or not others go on.
            if self.begun
                && self.ended.is_none()
                && (may_send || in_flight > 0)
                && let Some(ledger) = self.ledgers.get_mut(seat.base)
            {
                ledger.levels(t, in_flight, waiting);
            }
            let timeout = seat.lane.connection().poll_timeout();
            if seat.alive && timeout.is_some_and(|at| at <= now.mono) {
                seat.lane.connection().handle_timeout(now);
                self.drain(n, now, None, 0);
            } else if seat.coalescing == Coalescing::On && in_flight > 0 {
                // Fewer answers than were to be awaited may be all that there are.
                self.again.push(n);
            }
        }
        if self.begun {
            self.change();
            self.tell(t, false);
        }
        if self.settings.spin {
            self.read_mail();
        }
    }

    /// Does what a person did since the last look. All loops know the same moment for it, so that they
    /// offer together what one would.
    pub(super) fn change(&mut self) {
        let changes = self.control.changes_since(self.changes);
        if changes.is_empty() {
            return;
        }
        self.changes += changes.len();
        for change in &changes {
            self.end.change(self.since_origin(change.at), change.level);
        }
        if self.ended.is_none() {
            for ledger in &mut self.ledgers {
                ledger.end_at(self.end.at());
            }
        }
        for n in 0..self.seats.len() {
            if let Some(seat) = self.seats.get_mut(n) {
                for change in &changes {
                    seat.lane.change(change.at, change.level);
                }
            }
            self.queue(n);
        }
    }

    /// What is over, for whoever watches.
    fn tell(&mut self, t: u64, last: bool) {
        let closed = reports::closed(self.ledgers.iter_mut().enumerate(), t, last);
        if !closed.is_empty() {
            let heard = self
                .notification_ledger
                .as_ref()
                .map(NotificationLedger::measured_so_far);
            // Nobody may be listening.
            let _ = self.progress.send(Progress {
                core: self.number,
                closed,
                heard: heard.map(Box::new),
                ran_ns: t,
                idle_ns: self.idle.ns(),
                last,
            });
        }
    }

    pub(super) fn report(mut self, t: u64, spent: Spent) -> Report<H::Socket> {
        self.tell(t, true);
        let spent = Spent::so_far().since(&spent);
        let mut host = self.host;
        let seats = self.seats.len();
        let lanes = self.seats.into_iter().map(|mut seat| {
            if seat.alive {
                host.deregister(&mut seat.socket);
            }
            Left {
                index: seat.index,
                base: seat.base,
                lane: seat.lane,
                socket: seat.alive.then_some(seat.socket),
            }
        });
        Report {
            lanes: lanes.collect(),
            ledgers: self.ledgers,
            abandons: self.settings.abandons,
            cycles: self.cycle.into_took(),
            account: self.notification_ledger.map(|notification_ledger| {
                let until = self
                    .ended
                    .unwrap_or(t)
                    .saturating_add(self.origin.as_nanos());
                notification_ledger.finish(until.saturating_sub(self.zero.as_nanos()))
            }),
            ended_ns: self.ended,
            losses: self.losses,
            spent: LoopSpent {
                sessions: seats,
                ran_ns: t,
                idle_ns: self.idle.ns(),
                idle: self.idle,
                stalls: self.heart.into_stalls(),
                cpu_ns: spent.cpu_ns,
                starved_ns: spent.starved_ns,
                sent_bytes: self.sent_bytes,
                received_bytes: self.received_bytes,
                writes: self.writes,
                reads: self.reads,
            },
        }
    }
}
