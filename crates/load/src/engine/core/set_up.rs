//! Subscriptions before a phase begins: created in complete sets of all cores, then left to settle.

use std::io;
use std::sync::atomic::Ordering;

use wire::time::Instant;

use super::super::gate::{Gate, Set};
use super::super::host::Host;
use super::super::subscriber::Step;
use super::{Core, TICK};

impl<H: Host> Core<H> {
    /// Has subscriptions and items created, each as a complete set of all cores; then the phase
    /// begins.
    pub(super) fn set_up(&mut self, gate: &Gate) -> io::Result<()> {
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
            while !gate.is_complete(set) {
                if !arrived && (self.has(set) || self.stop.load(Ordering::Relaxed)) {
                    arrived = true;
                    gate.arrive(set, self.host.mono());
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
                self.go_on();
            }
        }
        // First values settle before anything counts.
        let begin = gate.completed() + self.settings.settle;
        loop {
            let now = self.host.mono();
            if now >= begin || self.stop.load(Ordering::Relaxed) {
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

    /// All subscriptions of all cores are there: items follow.
    fn go_on(&mut self) {
        let now = self.host.now();
        for n in 0..self.seats.len() {
            let lane = self.seats.get_mut(n).map(|seat| &mut seat.lane);
            if let Some(subscriber) = lane.and_then(|lane| lane.subscriber()) {
                subscriber.allow(Step::Items);
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
                        Set::Items => it.step() >= Step::Running,
                    }
            })
        })
    }

    /// All is set up: the phase began at this moment.
    fn begin(&mut self, origin: Instant) {
        self.origin = origin;
        if let Some(receipt) = &mut self.receipt {
            let at = origin.as_nanos().saturating_sub(self.zero.as_nanos());
            receipt.measure(at);
        }
        self.begun = true;
        self.next_tick = TICK;
        self.due.clear();
        for seat in &mut self.seats {
            seat.queued = None;
            seat.lane.begin(origin);
        }
    }
}
