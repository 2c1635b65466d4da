//! Subscriptions before a phase begins and after it: created in complete sets of all loops, then left to settle;
//! and deleted when servers have told what they counted of them.

use std::io;

use wire::time::Instant;

use super::super::barrier::{Barrier, Set};
use super::super::host::Host;
use super::super::spent::Idle;
use super::super::subscriber::SubscriberStep;
use super::{EventLoop, TICK};

impl<H: Host> EventLoop<H> {
    /// Has subscriptions and items created, each as a complete set of all loops; then the phase
    /// begins.
    pub(super) fn set_up(&mut self, barrier: &Barrier) -> io::Result<()> {
        let now = self.host.now();
        self.origin = now.mono;
        for n in 0..self.seats.len() {
            if let Some(seat) = self.seats.get_mut(n) {
                seat.lane.set_up(now);
            }
            self.pump(n, now);
        }
        for set in [Set::Subscriptions, Set::Items] {
            let mut arrived = false;
            while !barrier.is_complete(set) {
                if !arrived && (self.has(set) || self.control.is_over()) {
                    arrived = true;
                    barrier.arrive(set, self.host.mono());
                    continue;
                }
                self.send_due(self.t());
                let t = self.t();
                if t >= self.next_tick {
                    self.tick(t);
                }
                self.wait(t)?;
            }
            if set == Set::Subscriptions {
                self.let_go_on(SubscriberStep::Items);
            }
        }
        // First values settle before anything counts.
        let begin = barrier.completed() + self.settings.settle;
        loop {
            let now = self.host.mono();
            if now >= begin || self.control.is_over() {
                break;
            }
            self.settles_until = Some(self.since_origin(begin));
            self.send_due(self.t());
            let t = self.t();
            if t >= self.next_tick {
                self.tick(t);
            }
            self.wait(t)?;
        }
        self.settles_until = None;
        self.begin(begin.min(self.host.mono()));
        Ok(())
    }

    /// All loops are as far: its sessions take the next step.
    fn let_go_on(&mut self, next: SubscriberStep) {
        let now = self.host.now();
        for n in 0..self.seats.len() {
            let lane = self.seats.get_mut(n).map(|seat| &mut seat.lane);
            if let Some(subscriber) = lane.and_then(|lane| lane.subscriber()) {
                subscriber.allow(next);
            }
            self.pump(n, now);
        }
    }

    /// Whether all its sessions have their part of a set, or never will.
    fn has(&self, set: Set) -> bool {
        self.seats.iter().all(|seat| {
            let subscriptions = seat.lane.subscriptions();
            subscriptions.is_none_or(|it| {
                !seat.alive
                    || match set {
                        Set::Subscriptions => it.has_subscriptions(),
                        Set::Items => it.step() >= SubscriberStep::Running,
                        Set::Quiet => it.is_quiet() && seat.lane.in_flight() == 0,
                        Set::EventInfo => it.is_told(),
                    }
            })
        })
    }

    /// After the end: once the sessions of all loops are quiet, servers are asked; once they have answered,
    /// all may go.
    pub(super) fn take_leave(&mut self, barrier: &Barrier) {
        if self.ended.is_none() {
            return;
        }
        for (n, (set, next)) in [
            (Set::Quiet, SubscriberStep::ReadingDiagnostics),
            (Set::EventInfo, SubscriberStep::Leaving),
        ]
        .into_iter()
        .enumerate()
        {
            if self.left == 2 * n && self.has(set) {
                self.left += 1;
                barrier.arrive(set, self.host.mono());
            }
            if self.left == 2 * n + 1 && barrier.is_complete(set) {
                self.left += 1;
                self.let_go_on(next);
            }
        }
    }

    /// It has ended: nobody is to wait for it.
    pub(super) fn has_left(&self, barrier: &Barrier) {
        for (n, set) in [Set::Quiet, Set::EventInfo].into_iter().enumerate() {
            if self.left <= 2 * n {
                barrier.arrive(set, self.host.mono());
            }
        }
    }

    /// All is set up: the phase began at this moment.
    fn begin(&mut self, origin: Instant) {
        self.origin = origin;
        if let Some(notification_ledger) = &mut self.notification_ledger {
            let at = origin.nanos_since(self.zero);
            notification_ledger.measure(at);
        }
        self.begun = true;
        // What was slept before is no part of what it will have run.
        self.idle = Idle::default();
        self.next_tick = TICK;
        self.due.clear();
        for seat in &mut self.seats {
            seat.queued = None;
            seat.lane.begin(origin);
        }
    }
}
