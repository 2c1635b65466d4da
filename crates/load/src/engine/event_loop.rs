//! The loop of one thread: its sockets, its lanes, its clock. Loops share nothing while a phase
//! runs.

mod handover;
mod looks;
mod set_up;
mod sockets;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use record::samples::Sheet;
use record::{Ledger, NotificationLedger};
use wire::time::{Instant, Now};

use super::barrier::Barrier;
use super::control::Control;
use super::cycle::Cycle;
use super::end::End;
use super::heartbeat::Heartbeat;
use super::host::{Host, ReadySocket};
use super::reports::{Loss, Progress, Report};
use super::seat::{Coalescing, Seat, recorder};
use super::settings::Settings;
use super::spent::{Idle, Spent};

/// Timeouts are looked for, levels noted and orders taken this often.
const TICK: u64 = 10_000_000;
/// So much later if nothing else wakes the loop before: a look is no reason to be woken twice.
const SLACK: u64 = TICK / 2;

/// Who waits for nothing beyond the end takes what was on its way then all the same.
const GRACE: u64 = 100_000_000;

/// With no more sockets than these, a spinning loop asks them one by one, which is cheaper than to
/// ask the poll.
const ASKED_ONE_BY_ONE: usize = 4;

/// The loop. All that it knows of the outside is its [`Host`].
pub struct EventLoop<H: Host> {
    host: H,
    number: usize,
    settings: Arc<Settings>,
    seats: Vec<Seat<H::Socket>>,
    ledgers: Vec<Ledger>,
    sheet: Option<Sheet>,
    /// What subscriptions bring.
    notification_ledger: Option<NotificationLedger>,
    /// When the notification ledger's clock shows 0.
    zero: Instant,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Seats with more to read than they were given time for.
    again: Vec<usize>,
    ready: Vec<ReadySocket>,
    origin: Instant,
    control: Control,
    /// How much of what a person did is known here.
    changes: usize,
    progress: Sender<Progress>,
    losses: Vec<Loss>,
    idle: Idle,
    heart: Heartbeat,
    /// It was late: what waits in sockets is looked at before anything is given up.
    look_first: bool,
    sent_bytes: u64,
    received_bytes: u64,
    writes: u64,
    reads: u64,
    next_tick: u64,
    /// Where loops wait for each other while subscriptions are set up.
    barrier: Option<Arc<Barrier>>,
    /// The phase has begun: before, subscriptions are being set up.
    begun: bool,
    /// When it begins, once all is set up, on the clock of setting up.
    settles_until: Option<u64>,
    /// When the phase is to end.
    end: End,
    /// When it ended, because its time was over or somebody stopped it.
    ended: Option<u64>,
    /// So many seats, from the first one on, have nothing more to send or to await.
    over: usize,
    /// What goes on where all sessions send together.
    cycle: Cycle,
    /// How far it is in taking leave: at each barrier it arrives, and passes.
    left: usize,
}

/// What a loop is made of.
pub struct Parts<H: Host> {
    /// What it runs on.
    pub host: H,
    /// Which of them it is.
    pub number: usize,
    /// What holds for all sessions.
    pub settings: Arc<Settings>,
    /// Its sessions.
    pub seats: Vec<Seat<H::Socket>>,
    /// How many ledgers there are to write to.
    pub ledgers: usize,
    /// Monotonic time when the phase begins.
    pub origin: Instant,
    /// Ends the phase early, and changes what is offered.
    pub control: Control,
    /// Where progress is told.
    pub progress: Sender<Progress>,
    /// Where single requests are written down.
    pub sheet: Option<Sheet>,
    /// Where it waits for the others while subscriptions are set up.
    pub barrier: Option<Arc<Barrier>>,
    /// Where it notes what subscriptions bring, and when the clock of that shows 0.
    pub notification_ledger: Option<(NotificationLedger, Instant)>,
}

impl<H: Host> EventLoop<H> {
    /// A loop with its sessions.
    pub fn new(parts: Parts<H>) -> io::Result<Self> {
        let end = parts.settings.end_ns();
        let (notification_ledger, zero) = match parts.notification_ledger {
            Some((notification_ledger, zero)) => (Some(notification_ledger), zero),
            None => (None, parts.origin),
        };
        let mut event_loop = Self {
            host: parts.host,
            number: parts.number,
            seats: parts.seats,
            ledgers: (0..parts.ledgers)
                .map(|_| Ledger::with_end(end).with_cuts(parts.settings.cuts()))
                .collect(),
            sheet: parts.sheet,
            notification_ledger,
            zero,
            due: BinaryHeap::new(),
            again: Vec::new(),
            ready: Vec::new(),
            origin: parts.origin,
            control: parts.control,
            changes: 0,
            progress: parts.progress,
            losses: Vec::new(),
            idle: Idle::default(),
            heart: Heartbeat::of(parts.number),
            look_first: false,
            sent_bytes: 0,
            received_bytes: 0,
            writes: 0,
            reads: 0,
            next_tick: TICK,
            begun: parts.barrier.is_none(),
            settles_until: None,
            barrier: parts.barrier,
            end: End::planned(end),
            ended: None,
            over: 0,
            cycle: Cycle::default(),
            left: 0,
            settings: parts.settings,
        };
        let coalesces = event_loop.settings.coalesce > 1;
        for (n, seat) in event_loop.seats.iter_mut().enumerate() {
            event_loop.host.register(n, &mut seat.socket)?;
            if event_loop.settings.stamps {
                // Without stamps the lag stays unknown, and is shown as such.
                event_loop.host.stamp(&mut seat.socket);
            }
            if coalesces {
                seat.coalescing = Coalescing::Learning(0, 0);
            }
        }
        Ok(event_loop)
    }

    /// Carries out the phase.
    pub fn run(mut self) -> io::Result<Report<H::Socket>> {
        let barrier = self.barrier.take();
        let ran = self.carry_out(barrier.as_deref());
        if let Some(barrier) = &barrier {
            match ran {
                Ok(_) => self.has_left(barrier),
                Err(_) => barrier.give_up(self.host.mono()),
            }
        }
        let (t, spent) = ran?;
        Ok(self.report(t, spent))
    }

    /// From the first subscription to the last answer; tells when that was there, and what had been spent when
    /// the phase began.
    fn carry_out(&mut self, barrier: Option<&Barrier>) -> io::Result<(u64, Spent)> {
        match barrier {
            Some(barrier) => self.set_up(barrier)?,
            None => self.host.sleep_until(self.origin),
        }
        let spent = Spent::so_far();
        for n in 0..self.seats.len() {
            self.queue(n);
        }
        let mut t = self.t();
        self.heart.begin(t);
        while !self.is_over(t) {
            self.send_due(t);
            let before = self.t();
            self.is_there(before);
            if before >= self.next_tick {
                self.tick(before);
            }
            let found = self.wait(before)?;
            t = self.t();
            if let Some(barrier) = barrier {
                self.take_leave(barrier);
            }
            if let Some(think) = self.settings.together {
                self.turn_cycle(t, think);
            }
            // A spinning loop is idle while it finds nothing; what a sleeping one slept is counted
            // where it sleeps.
            if self.settings.spin && found == Activity::Nothing {
                self.idle.add(before, t);
            }
        }
        Ok((t, spent))
    }

    /// Once the last session has its answer, all of them begin another cycle.
    fn turn_cycle(&mut self, t: u64, think: u64) {
        while let Some(seat) = self.seats.get(self.cycle.resting)
            && (!seat.alive || seat.lane.is_resting())
        {
            self.cycle.resting += 1;
        }
        if self.cycle.resting < self.seats.len() || self.ended.is_some() {
            return;
        }
        let at = t.saturating_add(think);
        self.cycle.next(at);
        for n in 0..self.seats.len() {
            if let Some(seat) = self.seats.get_mut(n).filter(|seat| seat.alive) {
                seat.lane.begin_cycle(at);
            }
            self.queue(n);
        }
    }

    fn t(&self) -> u64 {
        self.since_origin(self.host.mono())
    }

    fn since_origin(&self, at: Instant) -> u64 {
        at.nanos_since(self.origin)
    }

    /// Whether nothing more is to be sent or awaited. Requests have their own timeout, so that
    /// this comes to pass.
    fn is_over(&mut self, t: u64) -> bool {
        if self.ended.is_none() && t >= self.end.at() {
            // Somebody may have paused it just before.
            self.change();
        }
        if self.ended.is_none() && (t >= self.end.at() || self.control.is_over()) {
            self.end(t.min(self.end.at()));
        }
        if let Some(ended) = self.ended
            && self.settings.abandons
            && t >= ended.saturating_add(GRACE)
        {
            return true;
        }
        while let Some(seat) = self.seats.get(self.over)
            && seat.lane.in_flight() == 0
            && (self.ended.is_some() || !self.may_send(seat))
            && (seat.lane.has_left() || !seat.alive)
        {
            self.over += 1;
        }
        self.over == self.seats.len()
    }

    /// Whether this session may send more, as far as it is concerned. One that has sent all its
    /// requests, or is lost for good, does not end the phase: others go on, here or in other loops.
    fn may_send(&self, seat: &Seat<H::Socket>) -> bool {
        (seat.alive || self.settings.reconnect) && !seat.lane.is_spent()
    }

    /// The phase ends: from now on only answers are awaited.
    fn end(&mut self, end: u64) {
        self.ended = Some(end);
        self.due.clear();
        let at = end
            .saturating_add(self.origin.as_nanos())
            .saturating_sub(self.zero.as_nanos());
        if let Some(notification_ledger) = &mut self.notification_ledger {
            notification_ledger.measured(at);
        }
        for ledger in &mut self.ledgers {
            ledger.end_at(end);
        }
        for n in 0..self.seats.len() {
            if let Some(seat) = self.seats.get_mut(n) {
                seat.lane.end_at(end);
                if let Some(subscriber) = seat.lane.subscriber() {
                    subscriber.end();
                    let now = self.host.now();
                    self.pump(n, now);
                }
            }
            self.ring_for_each(n);
            // What came while the socket was to wait for more.
            self.again.push(n);
        }
    }

    fn queue(&mut self, n: usize) {
        let Some(seat) = self.seats.get_mut(n) else {
            return;
        };
        if let Some(at) = seat.lane.due()
            && seat.queued != Some(at)
        {
            seat.queued = Some(at);
            self.due.push(Reverse((at, n)));
        }
    }

    fn send_due(&mut self, t: u64) {
        while let Some(&Reverse((at, n))) = self.due.peek()
            && at <= t
        {
            self.due.pop();
            // Each seat's write takes its time: the next one is sent that much later.
            let now = self.host.now();
            if let Some(seat) = self.seats.get_mut(n) {
                seat.queued = None;
            }
            self.pump(n, now);
        }
    }

    /// Sends what is due in this seat, and writes it.
    fn pump(&mut self, n: usize, now: Now) {
        let mut spent = false;
        if let Some(seat) = self.seats.get_mut(n)
            && seat.lane.subscriptions().is_some()
        {
            let mut recorder = recorder(
                &mut self.ledgers,
                &mut self.sheet,
                &mut self.notification_ledger,
                seat,
            );
            seat.lane.pump_subscriptions(now, &mut recorder);
            self.deliver(n);
        }
        if self.ended.is_none()
            && let Some(seat) = self.seats.get_mut(n)
        {
            let mut recorder = recorder(
                &mut self.ledgers,
                &mut self.sheet,
                &mut self.notification_ledger,
                seat,
            );
            seat.lane.pump(now, &mut recorder);
            spent = seat.coalescing == Coalescing::On && seat.lane.is_spent();
        }
        self.flush(n);
        if spent {
            self.ring_for_each(n);
        }
        if self.ended.is_none() {
            self.queue(n);
        }
    }

    /// Waits for the next thing to happen, and lets it.
    fn wait(&mut self, t: u64) -> io::Result<Activity> {
        let mut found = Activity::Nothing;
        if self.settings.spin && self.seats.len() <= ASKED_ONE_BY_ONE {
            for n in 0..self.seats.len() {
                if self.read(n) {
                    found = Activity::Something;
                }
            }
            self.look_first = false;
            return Ok(found);
        }
        // What came while it did not run has come in time.
        let until = match std::mem::take(&mut self.look_first) {
            true => None,
            false => self.until(),
        };
        let at = |t: u64| Instant::from_nanos(self.origin.as_nanos().saturating_add(t));
        let mut ready = std::mem::take(&mut self.ready);
        let mail = self.host.wait(until.map(at), at(t), &mut ready)?;
        let woken = self.t();
        if until.is_some_and(|until| until > t) {
            self.idle.add(t, woken);
        }
        if self.heart.rested(woken, until.unwrap_or(t)) {
            self.was_away();
        }
        for n in std::mem::take(&mut self.again) {
            self.read(n);
        }
        if mail {
            self.read_mail();
        }
        for ReadySocket {
            seat,
            readable,
            writable,
        } in ready.drain(..)
        {
            if writable {
                self.writable(seat);
            }
            if readable && self.read(seat) {
                found = Activity::Something;
            }
        }
        self.ready = ready;
        Ok(found)
    }

    /// When something is to be done that does not come from outside; none if there is something now.
    fn until(&self) -> Option<u64> {
        if self.settings.spin || !self.again.is_empty() {
            return None;
        }
        let due = self.due.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        let end = match self.ended {
            None if self.begun => self.end.at(),
            _ => self.settles_until.unwrap_or(u64::MAX),
        };
        // Where nothing is planned, how much waits at which moment says nothing.
        let slack = match self.notification_ledger.is_some() && self.due.is_empty() {
            true => SLACK,
            false => 0,
        };
        Some(due.min(self.next_tick + slack).min(end))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Something,
    Nothing,
}
