//! A machine whose time passes when somebody waits.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;

use load::engine::{Control, Did, Host, Lane, Mail, ReadySocket, RecoveryPath, Reopened, SlowTask};
use load::transport::ReadOutcome;
use plan::Seat;
use wire::server as ends;
use wire::time::{Instant, Now};
use wire::types::NodeId;

use super::server::Server;
use super::{ORIGIN, World, askers, joined, now};

/// What lies between a session and its server.
pub struct Line {
    seat: Seat,
    server: Server,
    /// The server is gone.
    cut: bool,
    /// The session was told.
    told: bool,
    /// Bytes that a server which stands still has not read.
    unread: Vec<u8>,
    /// The session was told that no more fits.
    full: bool,
    /// Bytes that the session has not read.
    said: VecDeque<u8>,
}

/// A machine whose time passes when somebody waits.
pub struct Pretended {
    world: World,
    t: u64,
    control: Control,
    /// How much of what a person does is done.
    pressed: usize,
    /// By place in the core.
    seats: Vec<Seat>,
    lines: BTreeMap<usize, Rc<RefCell<Line>>>,
    /// Sessions to be opened again when the servers are back.
    reopen: Vec<usize>,
    mail: Vec<Mail<Rc<RefCell<Line>>>>,
}

impl Line {
    fn new(seat: Seat, server: ends::Connection) -> Self {
        Self {
            seat,
            server: Server::new(server),
            cut: false,
            told: false,
            unread: Vec::new(),
            full: false,
            said: VecDeque::new(),
        }
    }

    /// When something happens here by itself.
    fn next(&self) -> Option<u64> {
        self.server.next().filter(|_| !self.cut)
    }
}

impl Pretended {
    pub fn new(world: &World, control: Control) -> Self {
        Self {
            world: world.clone(),
            t: 0,
            control,
            pressed: 0,
            seats: Vec::new(),
            lines: BTreeMap::new(),
            reopen: Vec::new(),
            mail: Vec::new(),
        }
    }

    /// A session that waits for the phase to begin.
    pub fn connect(&mut self, seat: Seat) -> (Lane, Rc<RefCell<Line>>) {
        self.seats.push(seat);
        let (connection, server) = joined(self.world.largest, 0);
        let line = Rc::new(RefCell::new(Line::new(seat, server)));
        (self.world.lane(seat, connection), line)
    }

    fn stands_still(&self) -> bool {
        let now = |(from, to): (u64, u64)| (from..to).contains(&self.t);
        self.world.stall.is_some_and(now)
    }

    /// When something happens next, as far as the generator notices.
    fn next(&self, until: u64) -> u64 {
        let world = &self.world;
        let own = self.lines.values().filter_map(|line| line.borrow().next());
        let outside = [
            world.stopped,
            world.by_hand.get(self.pressed).map(|(at, _)| *at),
            world.lost.map(|(at, _)| at),
            world.lost.and_then(|(_, back)| back),
            world.stall.map(|(_, to)| to),
        ];
        let outside = outside.into_iter().flatten().filter(|at| *at > self.t);
        let next = own.chain(outside).fold(until, u64::min).max(self.t);
        match world.starved {
            Some((from, to)) if (from..to).contains(&next) => to,
            _ => next,
        }
    }

    /// What has become of all lines by now.
    fn look(&mut self, ready: &mut Vec<ReadySocket>) {
        let (world, t, still) = (&self.world, self.t, self.stands_still());
        let gone = |(at, back): (u64, Option<u64>)| t >= at && back.is_none_or(|back| t < back);
        let gone = world.lost.is_some_and(gone);
        for (&seat, line) in &self.lines {
            let line = &mut *line.borrow_mut();
            let mut writable = false;
            let meant = world.lost_target.is_none_or(|it| it == line.seat.target);
            if gone && meant && !line.cut {
                line.cut = true;
            } else if !line.cut {
                if !still && !line.unread.is_empty() {
                    let unread = std::mem::take(&mut line.unread);
                    line.server.receive(world, line.seat, t, &unread);
                    writable = std::mem::take(&mut line.full);
                }
                line.said.extend(line.server.said(t));
            }
            let readable = !line.said.is_empty() || (line.cut && !line.told);
            if readable || writable {
                ready.push(ReadySocket {
                    seat,
                    readable,
                    writable,
                });
            }
        }
        if !gone {
            for n in std::mem::take(&mut self.reopen) {
                let (connection, server) = joined(world.largest, t);
                let line = Line::new(self.seats[n], server);
                let again = Reopened {
                    socket: Rc::new(RefCell::new(line)),
                    connection,
                    token: NodeId::null(),
                    askers: askers(&world.phase),
                    requests: None,
                    came: RecoveryPath::New,
                };
                self.mail.push(Mail::Reopened(n, Ok(Box::new(again))));
            }
        }
    }
}

impl Host for Pretended {
    type Socket = Rc<RefCell<Line>>;

    fn mono(&self) -> Instant {
        self.now().mono
    }

    fn now(&self) -> Now {
        now(self.t)
    }

    fn sleep_until(&mut self, at: Instant) {
        self.t = at.as_nanos() - ORIGIN;
    }

    fn register(&mut self, seat: usize, line: &mut Self::Socket) -> io::Result<()> {
        self.lines.insert(seat, Rc::clone(line));
        Ok(())
    }

    fn deregister(&mut self, line: &mut Self::Socket) {
        self.lines.retain(|_, it| !Rc::ptr_eq(it, line));
    }

    fn read(&mut self, line: &mut Self::Socket, into: &mut [u8]) -> io::Result<ReadOutcome> {
        let line = &mut *line.borrow_mut();
        if line.said.is_empty() {
            let ended = line.cut && !std::mem::replace(&mut line.told, line.cut);
            return Ok(if ended {
                ReadOutcome::End
            } else {
                ReadOutcome::Nothing
            });
        }
        let n = line.said.len().min(into.len());
        for (to, byte) in into.iter_mut().zip(line.said.drain(..n)) {
            *to = byte;
        }
        Ok(ReadOutcome::Bytes {
            n,
            more: n == into.len(),
            stamp: None,
        })
    }

    fn write(&mut self, line: &mut Self::Socket, bytes: &[u8]) -> io::Result<usize> {
        let still = self.stands_still();
        let line = &mut *line.borrow_mut();
        if line.cut {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = self.world.socket.saturating_sub(line.unread.len());
        let bytes = &bytes[..bytes.len().min(room)];
        if bytes.is_empty() {
            line.full = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        match still {
            true => line.unread.extend(bytes),
            false => line.server.receive(&self.world, line.seat, self.t, bytes),
        }
        Ok(bytes.len())
    }

    fn low_water(&mut self, _: &Self::Socket, _: usize) -> bool {
        false
    }

    fn stamp(&mut self, _: &mut Self::Socket) -> bool {
        false
    }

    fn wait(
        &mut self,
        until: Option<Instant>,
        _: Instant,
        ready: &mut Vec<ReadySocket>,
    ) -> io::Result<bool> {
        if let Some(until) = until {
            self.t = self.next(until.as_nanos() - ORIGIN);
        }
        while let Some(&(at, level)) = self.world.by_hand.get(self.pressed)
            && at <= self.t
        {
            self.pressed += 1;
            let at = Instant::from_nanos(ORIGIN + at);
            self.control.change_at(at, Did::Offered, level);
        }
        let stopped = self.world.stopped.is_some_and(|at| self.t >= at);
        if stopped {
            self.control.stop();
        }
        self.look(ready);
        Ok(!self.mail.is_empty())
    }

    fn submit(&mut self, task: SlowTask) {
        match task {
            SlowTask::Job(seat, job) => self.mail.push(Mail::Job(seat, job.run())),
            SlowTask::Reopen(seat, _) => self.reopen.push(seat),
        }
    }

    fn mail(&mut self) -> Option<Mail<Self::Socket>> {
        self.mail.pop()
    }
}
