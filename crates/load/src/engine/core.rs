//! The loop of one thread: its sockets, its lanes, its clock. Cores share nothing while a phase
//! runs.

mod handover;
mod set_up;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use record::samples::Sheet;
use record::{Ledger, Receipt};
use wire::channel::ChannelError;
use wire::time::{Instant, Now};

use super::control::Control;
use super::cycle::Cycle;
use super::end::End;
use super::gate::Gate;
use super::host::{Errand, Host, Mail, Reopened, Rung};
use super::seat::{Coalescing, MOST_ROOM, Seat, books};
use super::settings::Settings;
use super::spent::Spent;
use super::told::{Left, Loss, Progress, Report};
use crate::transport::Got;

/// Timeouts are looked for, levels noted and orders taken this often.
const TICK: u64 = 10_000_000;
/// So much later if nothing else wakes the core before: a look is no reason to be woken twice.
const SLACK: u64 = TICK / 2;

/// With no more sockets than these, a spinning core asks them one by one, which is cheaper than to
/// ask the poll.
const ASKED_ONE_BY_ONE: usize = 4;

/// The loop. All that it knows of the outside is its [`Host`].
pub struct Core<H: Host> {
    host: H,
    number: usize,
    settings: Arc<Settings>,
    seats: Vec<Seat<H::Socket>>,
    ledgers: Vec<Ledger>,
    sheet: Option<Sheet>,
    /// What subscriptions bring.
    receipt: Option<Receipt>,
    /// When the receipt's clock shows 0.
    zero: Instant,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Seats with more to read than they were given time for.
    again: Vec<usize>,
    rung: Vec<Rung>,
    origin: Instant,
    control: Control,
    /// How much of what a person did is known here.
    changes: usize,
    progress: Sender<Progress>,
    losses: Vec<Loss>,
    idle_ns: u64,
    sent_bytes: u64,
    received_bytes: u64,
    writes: u64,
    reads: u64,
    next_tick: u64,
    /// Where cores wait for each other while subscriptions are set up.
    gate: Option<Arc<Gate>>,
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
    /// How far it is in taking leave: at each gate it arrives, and passes.
    left: usize,
}

/// What a core is made of.
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
    pub gate: Option<Arc<Gate>>,
    /// Where it notes what subscriptions bring, and when the clock of that shows 0.
    pub receipt: Option<(Receipt, Instant)>,
}

impl<H: Host> Core<H> {
    /// A core with its sessions.
    pub fn new(parts: Parts<H>) -> io::Result<Self> {
        let end = parts.settings.end_ns();
        let (receipt, zero) = match parts.receipt {
            Some((receipt, zero)) => (Some(receipt), zero),
            None => (None, parts.origin),
        };
        let mut core = Self {
            host: parts.host,
            number: parts.number,
            seats: parts.seats,
            ledgers: (0..parts.ledgers).map(|_| Ledger::with_end(end)).collect(),
            sheet: parts.sheet,
            receipt,
            zero,
            due: BinaryHeap::new(),
            again: Vec::new(),
            rung: Vec::new(),
            origin: parts.origin,
            control: parts.control,
            changes: 0,
            progress: parts.progress,
            losses: Vec::new(),
            idle_ns: 0,
            sent_bytes: 0,
            received_bytes: 0,
            writes: 0,
            reads: 0,
            next_tick: TICK,
            begun: parts.gate.is_none(),
            settles_until: None,
            gate: parts.gate,
            end: End::planned(end),
            ended: None,
            over: 0,
            cycle: Cycle::default(),
            left: 0,
            settings: parts.settings,
        };
        let coalesces = core.settings.coalesce > 1;
        for (n, seat) in core.seats.iter_mut().enumerate() {
            core.host.register(n, &mut seat.socket)?;
            if core.settings.stamps {
                // Without stamps the lag stays unknown, and is shown as such.
                core.host.stamp(&mut seat.socket);
            }
            if coalesces {
                seat.coalescing = Coalescing::Learning(0, 0);
            }
        }
        Ok(core)
    }

    /// Carries out the phase.
    pub fn run(mut self) -> io::Result<Report<H::Socket>> {
        let gate = self.gate.take();
        let ran = self.carry_out(gate.as_deref());
        if let Some(gate) = &gate {
            match ran {
                Ok(_) => self.has_left(gate),
                Err(_) => gate.give_up(self.host.mono()),
            }
        }
        let (t, spent) = ran?;
        Ok(self.report(t, spent))
    }

    /// From the first subscription to the last answer; tells when that was there, and what had been spent when
    /// the phase began.
    fn carry_out(&mut self, gate: Option<&Gate>) -> io::Result<(u64, Spent)> {
        match gate {
            Some(gate) => self.set_up(gate)?,
            None => self.host.sleep_until(self.origin),
        }
        let spent = Spent::so_far();
        for n in 0..self.seats.len() {
            self.queue(n);
        }
        let mut t = self.t();
        while !self.is_over(t) {
            self.send_due(t);
            let before = self.t();
            if before >= self.next_tick {
                self.tick(before);
            }
            let found = self.wait(before)?;
            t = self.t();
            if let Some(gate) = gate {
                self.take_leave(gate);
            }
            if let Some(think) = self.settings.together {
                self.turn_cycle(t, think);
            }
            // A spinning core is idle while it finds nothing; what a sleeping one slept is counted
            // where it sleeps.
            if self.settings.spin && found == Found::Nothing {
                self.idle_ns += t - before;
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
        at.as_nanos().saturating_sub(self.origin.as_nanos())
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
    /// requests, or is lost for good, does not end the phase: others go on, here or in other cores.
    fn may_send(&self, seat: &Seat<H::Socket>) -> bool {
        (seat.alive || self.settings.reconnect) && !seat.lane.is_spent()
    }

    /// The phase ends: from now on only answers are awaited.
    fn end(&mut self, end: u64) {
        self.ended = Some(end);
        self.due.clear();
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

    /// Fewer answers will come than a socket that rings for several waits for.
    fn ring_for_each(&mut self, n: usize) {
        if let Some(seat) = self.seats.get_mut(n)
            && seat.coalescing == Coalescing::On
        {
            self.host.low_water(&seat.socket, 1);
            seat.coalescing = Coalescing::Off;
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
            let mut books = books(&mut self.ledgers, &mut self.sheet, &mut self.receipt, seat);
            seat.lane.pump_subscriptions(now, &mut books);
            self.deliver(n);
        }
        if self.ended.is_none()
            && let Some(seat) = self.seats.get_mut(n)
        {
            let mut books = books(&mut self.ledgers, &mut self.sheet, &mut self.receipt, seat);
            seat.lane.pump(now, &mut books);
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

    fn flush(&mut self, n: usize) {
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

    /// Waits for the next thing to happen, and lets it.
    fn wait(&mut self, t: u64) -> io::Result<Found> {
        let mut found = Found::Nothing;
        if self.settings.spin && self.seats.len() <= ASKED_ONE_BY_ONE {
            for n in 0..self.seats.len() {
                if self.read(n) {
                    found = Found::Something;
                }
            }
            return Ok(found);
        }
        let until = self.until();
        let at = |t: u64| Instant::from_nanos(self.origin.as_nanos().saturating_add(t));
        let mut rung = std::mem::take(&mut self.rung);
        let mail = self.host.wait(until.map(at), at(t), &mut rung)?;
        if until.is_some_and(|until| until > t) {
            self.idle_ns += self.t().saturating_sub(t);
        }
        for n in std::mem::take(&mut self.again) {
            self.read(n);
        }
        if mail {
            self.read_mail();
        }
        for Rung {
            seat,
            readable,
            writable,
        } in rung.drain(..)
        {
            if writable {
                self.writable(seat);
            }
            if readable && self.read(seat) {
                found = Found::Something;
            }
        }
        self.rung = rung;
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
        let slack = match self.receipt.is_some() && self.due.is_empty() {
            true => SLACK,
            false => 0,
        };
        Some(due.min(self.next_tick + slack).min(end))
    }

    fn writable(&mut self, n: usize) {
        let waits = |seat: &mut Seat<_>| !seat.lane.connection().pending().is_empty();
        if self.seats.get_mut(n).is_some_and(waits) {
            self.flush(n);
            let now = self.host.now();
            self.pump(n, now);
        }
    }

    /// Reads what there is, writes it down and sends what follows from it. Tells whether there
    /// was anything.
    fn read(&mut self, n: usize) -> bool {
        let mut any = false;
        // A socket that never runs dry must not starve the others.
        for _ in 0..8 {
            let Some(seat) = self.seats.get_mut(n).filter(|seat| seat.alive) else {
                return any;
            };
            let room = seat.room;
            let space = seat.lane.connection().space(room);
            let (bytes, more, stamp) = match self.host.read(&mut seat.socket, space) {
                Ok(Got::Bytes { n, more, stamp }) => (n, more, stamp),
                Ok(Got::Nothing) => return any,
                Ok(Got::End) => {
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
    fn drain(&mut self, n: usize, now: Now, stamp: Option<u64>, bytes: usize) {
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
        let mut books = books(&mut self.ledgers, &mut self.sheet, &mut self.receipt, seat);
        let ended = seat.lane.drain(now, &mut books);
        let answers = waited.saturating_sub(seat.lane.in_flight());
        if answers > 0 {
            self.cycle.answered(t);
        }
        seat.learn(&mut self.host, bytes, answers, self.settings.coalesce);
        if let Some(job) = seat.lane.connection().poll_job() {
            seat.busy = true;
            self.host.submit(Errand::Job(n, job));
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
        self.host.deregister(&mut seat.socket);
        self.losses.push(Loss {
            session: seat.index,
            at_ns: t,
            reason: error.to_string(),
            back: false,
        });
        if self.settings.reconnect && self.ended.is_none() && !seat.lane.is_spent() {
            self.host.submit(Errand::Reopen(n, seat.index));
        }
    }

    fn read_mail(&mut self) {
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
            self.host.submit(Errand::Reopen(n, seat.index));
        }
    }

    /// What has to be looked at from time to time.
    fn tick(&mut self, t: u64) {
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
            self.tell(t);
        }
        if self.settings.spin {
            self.read_mail();
        }
    }

    /// Does what a person did since the last look. All cores know the same moment for it, so that they
    /// offer together what one would.
    fn change(&mut self) {
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
    fn tell(&mut self, t: u64) {
        let mut closed = Vec::new();
        for (work, ledger) in self.ledgers.iter_mut().enumerate() {
            closed.extend(ledger.take_closed(t).map(|tick| (work, tick)));
        }
        if !closed.is_empty() {
            let heard = self.receipt.as_ref().map(Receipt::measured_so_far);
            // Nobody may be listening.
            let _ = self.progress.send(Progress {
                core: self.number,
                closed,
                heard: heard.map(Box::new),
                ran_ns: t,
                idle_ns: self.idle_ns,
            });
        }
    }

    fn report(self, t: u64, spent: Spent) -> Report<H::Socket> {
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
            seats,
            lanes: lanes.collect(),
            ledgers: self.ledgers,
            cycles: self.cycle.into_took(),
            account: self.receipt.map(|receipt| {
                let until = self
                    .ended
                    .unwrap_or(t)
                    .saturating_add(self.origin.as_nanos());
                receipt.finish(until.saturating_sub(self.zero.as_nanos()))
            }),
            ended_ns: self.ended,
            losses: self.losses,
            idle_ns: self.idle_ns,
            ran_ns: t,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            writes: self.writes,
            reads: self.reads,
            cpu_ns: spent.cpu_ns,
            starved_ns: spent.starved_ns,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Something,
    Nothing,
}

/// From ticks of 100 ns since 1601 to nanoseconds since 1970.
fn unix_nanos(utc: i64) -> u64 {
    u64::try_from(utc - 116_444_736_000_000_000).unwrap_or_default() * 100
}
