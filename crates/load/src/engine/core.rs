//! The loop of one thread: its sockets, its lanes, its clock. Cores share nothing while a phase
//! runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use record::Ledger;
use record::samples::Sheet;
use wire::channel::ChannelError;
use wire::client::Done;
use wire::time::{Instant, Now};

use super::helper::{Errand, Helpers, Opened};
use super::seat::{Coalescing, MOST_ROOM, Seat, books};
use super::settings::Settings;
use super::spent::Spent;
use super::told::{Loss, Progress, Report};
use crate::transport::{Clock, Got, Timer};

const WAKER: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);

/// Timeouts are looked for, levels noted and orders taken this often.
const TICK: u64 = 10_000_000;

/// With no more sockets than these, a spinning core asks them one by one, which is cheaper than to
/// ask the poll.
const ASKED_ONE_BY_ONE: usize = 4;

/// What others tell a core.
pub enum Mail {
    /// An expensive step of the channel of this seat is done.
    Job(usize, Done),
    /// The session of this seat is back, or is not.
    Reopened(usize, Result<Box<Opened>, String>),
}

/// The loop.
pub struct Core {
    number: usize,
    settings: Arc<Settings>,
    clock: Clock,
    poll: Poll,
    timer: Timer,
    helpers: Helpers,
    waker: Arc<Waker>,
    mail: Receiver<Mail>,
    post: Sender<Mail>,
    seats: Vec<Seat>,
    ledgers: Vec<Ledger>,
    sheet: Option<Sheet>,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Seats with more to read than they were given time for.
    again: Vec<usize>,
    origin: Instant,
    stop: Arc<AtomicBool>,
    progress: Sender<Progress>,
    losses: Vec<Loss>,
    idle_ns: u64,
    sent_bytes: u64,
    received_bytes: u64,
    writes: u64,
    reads: u64,
    next_tick: u64,
    sending: bool,
    ended_at: u64,
}

/// What a core is made of.
pub struct Parts {
    /// Which of them it is.
    pub number: usize,
    /// What holds for all sessions.
    pub settings: Arc<Settings>,
    /// Its sessions.
    pub seats: Vec<Seat>,
    /// How many ledgers there are to write to.
    pub ledgers: usize,
    /// Monotonic time when the phase begins.
    pub origin: Instant,
    /// Set when the phase is to end early.
    pub stop: Arc<AtomicBool>,
    /// Where progress is told.
    pub progress: Sender<Progress>,
    /// Who does what takes long.
    pub helpers: Helpers,
    /// Where single requests are written down.
    pub sheet: Option<Sheet>,
}

impl Core {
    /// A core with its sessions.
    pub fn new(parts: Parts) -> io::Result<Self> {
        let poll = Poll::new()?;
        let clock = Clock::new();
        let timer = Timer::new(poll.registry(), TIMER, clock)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (post, mail) = std::sync::mpsc::channel();
        let end = parts.settings.end_ns();
        let mut core = Self {
            number: parts.number,
            clock,
            poll,
            timer,
            helpers: parts.helpers,
            waker,
            mail,
            post,
            seats: parts.seats,
            ledgers: (0..parts.ledgers).map(|_| Ledger::with_end(end)).collect(),
            sheet: parts.sheet,
            due: BinaryHeap::new(),
            again: Vec::new(),
            origin: parts.origin,
            stop: parts.stop,
            progress: parts.progress,
            losses: Vec::new(),
            idle_ns: 0,
            sent_bytes: 0,
            received_bytes: 0,
            writes: 0,
            reads: 0,
            next_tick: TICK,
            sending: true,
            ended_at: 0,
            settings: parts.settings,
        };
        let coalesces = core.settings.coalesce > 1;
        for (n, seat) in core.seats.iter_mut().enumerate() {
            seat.socket.register(core.poll.registry(), Token(n))?;
            if core.settings.stamps {
                // Without stamps the lag stays unknown, and is shown as such.
                seat.socket.stamp();
            }
            if coalesces {
                seat.coalescing = Coalescing::Learning(0, 0);
            }
        }
        Ok(core)
    }

    /// Carries out the phase.
    pub fn run(mut self) -> io::Result<Report> {
        let spent = Spent::so_far();
        let mut events = Events::with_capacity(1024);
        self.wait_for_origin();
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
            let found = self.wait(before, &mut events)?;
            t = self.t();
            // A spinning core is idle while it finds nothing; what a sleeping one slept is counted
            // where it sleeps.
            if self.settings.spin && found == Found::Nothing {
                self.idle_ns += t - before;
            }
        }
        Ok(self.report(t, spent))
    }

    fn t(&self) -> u64 {
        self.since_origin(self.clock.mono())
    }

    fn since_origin(&self, at: Instant) -> u64 {
        at.as_nanos().saturating_sub(self.origin.as_nanos())
    }

    fn wait_for_origin(&self) {
        // The last bit is spun: all cores begin at once.
        const LAST: Duration = Duration::from_millis(1);
        let left = self.origin.since(self.clock.mono());
        std::thread::sleep(left.saturating_sub(LAST));
        while self.clock.mono() < self.origin {
            std::hint::spin_loop();
        }
    }

    /// Whether nothing more is to be sent or awaited.
    fn is_over(&mut self, t: u64) -> bool {
        if self.sending {
            let ends = self.settings.end_ns();
            self.sending = t < ends
                && !self.stop.load(Ordering::Relaxed)
                && self.seats.iter().any(|seat| self.may_send(seat));
            if !self.sending {
                self.stop_sending(t);
            }
        }
        if self.sending {
            return false;
        }
        // Requests have their own timeout, so that this ends.
        self.seats.iter().all(|seat| seat.lane.in_flight() == 0)
    }

    fn may_send(&self, seat: &Seat) -> bool {
        match seat.alive || self.settings.reconnect {
            true => !seat.lane.is_spent(),
            false => false,
        }
    }

    /// From now on only answers are awaited.
    fn stop_sending(&mut self, t: u64) {
        self.due.clear();
        let end = t.min(self.settings.end_ns());
        for ledger in &mut self.ledgers {
            ledger.end_at(end);
        }
        for seat in &mut self.seats {
            seat.lane.end_at(end);
            if seat.coalescing == Coalescing::On {
                seat.socket.low_water(1);
            }
        }
        // What came while the socket was to wait for more.
        for n in 0..self.seats.len() {
            self.again.push(n);
        }
        self.ended_at = end;
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
        if !self.sending {
            return;
        }
        while let Some(&Reverse((at, n))) = self.due.peek()
            && at <= t
        {
            self.due.pop();
            // Each seat's write takes its time: the next one is sent that much later.
            let now = self.clock.now();
            if let Some(seat) = self.seats.get_mut(n) {
                seat.queued = None;
            }
            self.pump(n, now);
        }
    }

    /// Sends what is due in this seat, and writes it.
    fn pump(&mut self, n: usize, now: Now) {
        if self.sending
            && let Some(seat) = self.seats.get_mut(n)
        {
            let mut books = books(&mut self.ledgers, &mut self.sheet, seat);
            seat.lane.pump(now, &mut books);
        }
        self.flush(n);
        self.queue(n);
    }

    fn flush(&mut self, n: usize) {
        let Some(seat) = self.seats.get_mut(n).filter(|seat| seat.alive) else {
            return;
        };
        let mut all = true;
        while !seat.lane.connection().pending().is_empty() {
            match seat.socket.write(seat.lane.connection().pending()) {
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
    fn wait(&mut self, t: u64, events: &mut Events) -> io::Result<Found> {
        let mut found = Found::Nothing;
        if self.settings.spin && self.seats.len() <= ASKED_ONE_BY_ONE {
            for n in 0..self.seats.len() {
                if self.read(n) {
                    found = Found::Something;
                }
            }
            return Ok(found);
        }
        let timeout = self.timeout(t);
        let polled = self.poll.poll(events, timeout);
        if timeout != Some(Duration::ZERO) {
            self.idle_ns += self.t().saturating_sub(t);
        }
        match polled {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(found),
            Err(error) => return Err(error),
        }
        for n in std::mem::take(&mut self.again) {
            self.read(n);
        }
        for event in &*events {
            match event.token() {
                TIMER => {}
                WAKER => self.read_mail(),
                Token(n) => {
                    if event.is_writable() {
                        self.writable(n);
                    }
                    if event.is_readable() && self.read(n) {
                        found = Found::Something;
                    }
                }
            }
        }
        Ok(found)
    }

    fn timeout(&mut self, t: u64) -> Option<Duration> {
        if self.settings.spin || !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        let due = self.due.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        let mut until = due.min(self.next_tick);
        if self.sending {
            until = until.min(self.settings.end_ns());
        }
        let origin = self.origin.as_nanos();
        let at = |t: u64| Instant::from_nanos(origin.saturating_add(t));
        self.timer.until(at(until), at(t))
    }

    fn writable(&mut self, n: usize) {
        let waits = |seat: &mut Seat| !seat.lane.connection().pending().is_empty();
        if self.seats.get_mut(n).is_some_and(waits) {
            self.flush(n);
            let now = self.clock.now();
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
            let (bytes, more, stamp) = match seat.socket.read(space) {
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
            let now = self.clock.now();
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
            && let Some(ledger) = self.ledgers.get_mut(seat.base)
        {
            ledger.lag(t, unix_nanos(now.utc).saturating_sub(stamp));
        }
        let waited = seat.lane.in_flight();
        let mut books = books(&mut self.ledgers, &mut self.sheet, seat);
        let ended = seat.lane.drain(now, &mut books);
        let answers = waited.saturating_sub(seat.lane.in_flight());
        seat.learn(bytes, answers, self.settings.coalesce);
        if let Some(job) = seat.lane.connection().poll_job() {
            seat.busy = true;
            self.helpers.submit(self.letter(), Errand::Job(n, job));
        }
        if let Some(error) = ended {
            self.lost(n, t, &error);
            return;
        }
        let now = Now {
            mono: self.clock.mono(),
            utc: now.utc,
        };
        self.pump(n, now);
    }

    fn letter(&self) -> super::helper::Letter {
        super::helper::Letter {
            post: self.post.clone(),
            waker: Arc::clone(&self.waker),
        }
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
        seat.socket.deregister(self.poll.registry());
        self.losses.push(Loss {
            session: seat.index,
            at_ns: t,
            reason: error.to_string(),
            back: false,
        });
        if self.settings.reconnect && self.sending {
            let index = seat.index;
            self.helpers.submit(self.letter(), Errand::Reopen(n, index));
        }
    }

    fn read_mail(&mut self) {
        while let Ok(mail) = self.mail.try_recv() {
            match mail {
                Mail::Job(n, done) => {
                    let now = self.clock.now();
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

    fn reopened(&mut self, n: usize, opened: Opened) {
        let now = self.clock.now();
        let t = self.since_origin(now.mono);
        let Some(seat) = self.seats.get_mut(n) else {
            return;
        };
        seat.socket = opened.socket;
        if seat
            .socket
            .register(self.poll.registry(), Token(n))
            .is_err()
        {
            return;
        }
        seat.lane
            .reconnect(opened.connection, opened.token, opened.askers);
        seat.alive = true;
        seat.busy = false;
        if self.settings.stamps {
            seat.socket.stamp();
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
            && self.sending
        {
            self.helpers
                .submit(self.letter(), Errand::Reopen(n, seat.index));
        }
    }

    /// What has to be looked at from time to time.
    fn tick(&mut self, t: u64) {
        self.next_tick = t - t % TICK + TICK;
        let now = self.clock.now();
        for n in 0..self.seats.len() {
            let Some(seat) = self.seats.get_mut(n) else {
                continue;
            };
            let (in_flight, waiting) = (seat.lane.in_flight() as u64, seat.lane.waiting(t));
            if self.sending
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
        let mut closed = Vec::new();
        for (work, ledger) in self.ledgers.iter_mut().enumerate() {
            closed.extend(ledger.take_closed(t).map(|tick| (work, tick)));
        }
        if !closed.is_empty() {
            let core = self.number;
            // Nobody may be listening.
            let _ = self.progress.send(Progress { core, closed });
        }
        if self.settings.spin {
            self.read_mail();
        }
    }

    fn report(mut self, t: u64, spent: Spent) -> Report {
        for seat in &mut self.seats {
            let mut books = books(&mut self.ledgers, &mut self.sheet, seat);
            seat.lane.finish(t, &mut books);
        }
        let spent = Spent::so_far().since(&spent);
        let seats = self.seats.len();
        let sessions = self
            .seats
            .into_iter()
            .filter(|seat| seat.alive)
            .map(|mut seat| {
                seat.socket.deregister(self.poll.registry());
                (seat.index, seat.socket, seat.lane.into_connection())
            });
        Report {
            seats,
            sessions: sessions.collect(),
            tallies: self.ledgers.into_iter().map(Ledger::finish).collect(),
            losses: self.losses,
            idle_ns: self.idle_ns,
            ran_ns: t,
            ended_ns: self.ended_at,
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
