//! The loop of a relay.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use link::{Event, Way};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Registry, Token};
use wire::time::Instant;

use super::account::Carried;
use super::side::{ReadOutcome, Side};
use super::{Account, Settings};
use crate::transport::{Clock, Timer};

const LISTENER: Token = Token(0);
const TIMER: Token = Token(1);
/// Sockets come after these, two of each connection.
const FIRST: usize = 2;

/// How long the loop sleeps at most: so long may it take until it sees that it has to stop.
const NAP: Duration = Duration::from_millis(50);
/// How often the caller is told.
const TOLD: Duration = Duration::from_secs(1);
/// After a lack of sockets, so long is nobody taken.
const BREATHER: Duration = Duration::from_millis(100);
/// How much is read at once: whole segments, as a part of one has headers of its own on the line.
const READ: usize = 11 * link::SEGMENT;

/// A link between sockets.
#[derive(Debug)]
pub struct Relay {
    listener: TcpListener,
    to: Vec<SocketAddr>,
    most: usize,
    poll: Poll,
    timer: Timer,
    clock: Clock,
    link: link::Relay,
    pairs: HashMap<u64, Pair>,
    /// Connections with something to read, by the way that it goes.
    hungry: [VecDeque<u64>; 2],
    next: u64,
    /// Before this time nobody is taken.
    closed_until: Option<Instant>,
    account: Account,
    buffer: Box<[u8]>,
}

/// The two ends of a connection.
#[derive(Debug)]
struct Pair {
    client: Side,
    server: Side,
    /// The client knows that the server took it: what it sends is read.
    open: bool,
    /// The server has not answered yet.
    dialling: bool,
    /// How many of its addresses were tried.
    tried: usize,
    /// What was read and found no room, by its way.
    unsent: [Vec<u8>; 2],
    /// Whether it stands among the hungry, by its way.
    queued: [bool; 2],
    /// Nothing more will be carried this way.
    over: [bool; 2],
}

impl Pair {
    /// The end that sends this way.
    fn from(&mut self, way: Way) -> &mut Side {
        match way {
            Way::Up => &mut self.client,
            Way::Down => &mut self.server,
        }
    }

    /// The end that receives this way.
    fn to(&mut self, way: Way) -> &mut Side {
        self.from(way.back())
    }
}

fn place(way: Way) -> usize {
    match way {
        Way::Up => 0,
        Way::Down => 1,
    }
}

/// The end of a connection that sends this way.
fn token(id: u64, way: Way) -> Token {
    Token(usize::try_from(id).unwrap_or(usize::MAX / 4) * 2 + place(way) + FIRST)
}

fn watched(registry: &Registry, socket: &mut TcpStream, token: Token) -> io::Result<()> {
    socket.set_nodelay(true)?;
    registry.register(socket, token, Interest::READABLE | Interest::WRITABLE)
}

impl Relay {
    /// Listens. Nobody is taken before it runs.
    pub fn bind(settings: &Settings) -> io::Result<Self> {
        Self::with(TcpListener::bind(settings.listen)?, settings)
    }

    /// Takes those who come to a socket that listens already and does not block.
    pub(super) fn with(mut listener: TcpListener, settings: &Settings) -> io::Result<Self> {
        let poll = Poll::new()?;
        let clock = Clock::new();
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            listener,
            to: settings.to.clone(),
            most: settings.connections,
            timer: Timer::new(poll.registry(), TIMER, clock)?,
            poll,
            clock,
            link: link::Relay::new(settings.spec, settings.seed),
            pairs: HashMap::new(),
            hungry: [VecDeque::new(), VecDeque::new()],
            next: 0,
            closed_until: None,
            account: Account::default(),
            buffer: vec![0; READ].into(),
        })
    }

    /// Where clients come to.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Carries until it is to stop, or for so long. `tell` hears every second how things stand.
    pub fn run(
        mut self,
        stop: &dyn Fn() -> bool,
        duration: Option<Duration>,
        tell: &mut dyn FnMut(&Account),
    ) -> io::Result<Account> {
        let mut events = Events::with_capacity(1024);
        let began = self.clock.mono();
        let mut told = began + TOLD;
        // A listener is told of once only, and somebody may have come before.
        self.accept();
        loop {
            let now = self.clock.mono();
            if now >= told {
                tell(&self.account_at(began, now));
                told = now + TOLD;
            }
            if stop() || duration.is_some_and(|it| now.since(began) >= it) {
                return Ok(self.account_at(began, now));
            }
            while let Some(event) = self.link.poll(self.nanos()) {
                self.came(event);
            }
            if self.closed_until.is_some_and(|until| until <= now) {
                self.accept();
            }
            let room_at = [self.feed(Way::Up), self.feed(Way::Down)];
            let due = room_at.into_iter().chain([self.link.deadline()]);
            let now = self.clock.mono();
            let nap = [Some(now + NAP), self.closed_until].into_iter();
            let until = due.map(|at| at.map(Instant::from_nanos)).chain(nap);
            let until = until.flatten().min().unwrap_or(now);
            let timeout = self.timer.until(until, now);
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(),
                    TIMER => {}
                    Token(n) => {
                        let id = ((n - FIRST) / 2) as u64;
                        let way = [Way::Up, Way::Down][(n - FIRST) % 2];
                        if event.is_writable() {
                            self.becomes_writable(id, way);
                        }
                        if event.is_readable() || event.is_error() || event.is_read_closed() {
                            self.becomes_readable(id, way);
                        }
                    }
                }
            }
        }
    }

    fn nanos(&self) -> u64 {
        self.clock.mono().as_nanos()
    }

    fn account_at(&self, began: Instant, now: Instant) -> Account {
        let carried =
            |way| Carried::of(self.link.tally(way), self.link.queued(now.as_nanos(), way));
        Account {
            elapsed_ns: now.nanos_since(began),
            open: self.pairs.len() as u64,
            up: carried(Way::Up),
            down: carried(Way::Down),
            ..self.account
        }
    }

    /// Takes all clients that have come.
    fn accept(&mut self) {
        if self
            .closed_until
            .is_some_and(|until| until > self.clock.mono())
        {
            return;
        }
        self.closed_until = None;
        loop {
            match self.listener.accept() {
                Ok((socket, _)) if self.pairs.len() >= self.most => {
                    self.account.turned_away += 1;
                    Side::new(socket).reset();
                }
                Ok((socket, _)) => self.take(socket),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted
                            | ErrorKind::ConnectionAborted
                            | ErrorKind::ConnectionReset
                    ) => {}
                // No more descriptors, say: they who wait may be taken later.
                Err(_) => {
                    self.closed_until = Some(self.clock.mono() + BREATHER);
                    return;
                }
            }
        }
    }

    fn take(&mut self, mut socket: TcpStream) {
        let id = self.next;
        self.next += 1;
        if watched(self.poll.registry(), &mut socket, token(id, Way::Up)).is_err() {
            self.account.turned_away += 1;
            return;
        }
        self.account.connections += 1;
        let pair = Pair {
            client: Side::new(socket),
            server: Side::default(),
            open: false,
            dialling: false,
            tried: 0,
            unsent: Default::default(),
            queued: [false; 2],
            over: [false; 2],
        };
        self.pairs.insert(id, pair);
        self.account.most_open = self.account.most_open.max(self.pairs.len() as u64);
        self.link.connect(self.nanos(), id);
    }

    /// Something has crossed the link.
    fn came(&mut self, event: Event) {
        match event {
            Event::Connect(id) => self.dial(id),
            Event::Open(id) => {
                if let Some(pair) = self.pairs.get_mut(&id) {
                    pair.open = true;
                    self.is_hungry(id, Way::Up);
                }
            }
            Event::Refused(id) => self.end(id),
            Event::Bytes(id, way, bytes) => {
                if let Some(pair) = self.pairs.get_mut(&id) {
                    pair.to(way).put(bytes);
                    self.write(id, way);
                }
            }
            Event::End(id, way) => {
                if let Some(pair) = self.pairs.get_mut(&id) {
                    pair.to(way).end();
                    self.write(id, way);
                }
            }
            Event::Reset(id, _) => {
                self.account.broken += 1;
                self.end(id);
            }
        }
    }

    /// Connects to the target, at the next of its addresses.
    fn dial(&mut self, id: u64) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        while let Some(&address) = self.to.get(pair.tried) {
            pair.tried += 1;
            let dialled = TcpStream::connect(address).and_then(|mut socket| {
                watched(self.poll.registry(), &mut socket, token(id, Way::Down))?;
                Ok(socket)
            });
            if let Ok(socket) = dialled {
                pair.server = Side::new(socket);
                pair.dialling = true;
                return;
            }
        }
        self.account.refused += 1;
        pair.dialling = false;
        pair.server.reset();
        self.link.refused(self.nanos(), id);
    }

    /// The end that sends this way can be written to, or is connected at last, or not.
    fn becomes_writable(&mut self, id: u64, way: Way) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        if way == Way::Down && pair.dialling {
            let Some(socket) = pair.server.socket() else {
                return;
            };
            match (socket.take_error(), socket.peer_addr()) {
                (Ok(None), Ok(_)) => {
                    pair.dialling = false;
                    self.link.connected(self.nanos(), id);
                    self.is_hungry(id, Way::Down);
                }
                (Ok(None), Err(error)) if error.kind() == ErrorKind::NotConnected => return,
                _ => return self.dial(id),
            }
        }
        self.write(id, way.back());
    }

    fn becomes_readable(&mut self, id: u64, way: Way) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        pair.from(way).becomes_readable();
        // A target that refuses is readable only.
        if way == Way::Down && pair.dialling {
            return self.becomes_writable(id, way);
        }
        self.is_hungry(id, way);
    }

    /// There may be something to carry this way.
    fn is_hungry(&mut self, id: u64, way: Way) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        let may = match way {
            Way::Up => pair.open,
            Way::Down => !pair.dialling,
        };
        let wants = !pair.unsent[place(way)].is_empty() || pair.from(way).is_readable();
        if may && wants && !pair.queued[place(way)] {
            pair.queued[place(way)] = true;
            self.hungry[place(way)].push_back(id);
        }
    }

    /// Writes what has arrived this way.
    fn write(&mut self, id: u64, way: Way) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        match pair.to(way).write() {
            Ok(taken) => {
                self.link.taken(id, way, taken);
                if pair.to(way).is_over() {
                    pair.over[place(way)] = true;
                }
                match pair.over {
                    [true, true] => self.end(id),
                    _ if taken > 0 => self.is_hungry(id, way),
                    _ => {}
                }
            }
            // The receiver has broken off: that goes back to the sender.
            Err(_) => self.breaks(id, way.back()),
        }
    }

    /// The end that sends this way has broken the connection off.
    fn breaks(&mut self, id: u64, way: Way) {
        if let Some(pair) = self.pairs.get_mut(&id) {
            pair.from(way).reset();
            pair.unsent[place(way)].clear();
            self.link.reset(self.nanos(), id, way);
        }
    }

    /// Both ends are done with it.
    fn end(&mut self, id: u64) {
        if let Some(mut pair) = self.pairs.remove(&id) {
            let whole = pair.over == [true, true];
            // An end that was told the end of the stream needs no reset; one that waits for more does.
            if !whole {
                pair.client.reset();
                pair.server.reset();
            }
            self.link.forget(id);
        }
    }

    /// Puts on the line what ends have to send this way, each a piece in turn. Gives when the line has room
    /// again, if it has none now.
    fn feed(&mut self, way: Way) -> Option<u64> {
        while let Some(id) = self.hungry[place(way)].pop_front() {
            let now = self.nanos();
            let Some(pair) = self.pairs.get_mut(&id) else {
                continue;
            };
            pair.queued[place(way)] = false;
            let unsent = &mut pair.unsent[place(way)];
            if !unsent.is_empty() {
                let sent = self.link.send(now, id, way, unsent);
                unsent.drain(..sent);
            }
            if unsent.is_empty() {
                let room = self.link.room(now, id, way).min(READ);
                if room > 0 {
                    let (into, _) = self.buffer.split_at_mut(room);
                    match pair.from(way).read(into) {
                        ReadOutcome::Some(bytes) => {
                            let bytes = into.get(..bytes).unwrap_or_default();
                            let sent = self.link.send(now, id, way, bytes);
                            let rest = bytes.get(sent..).unwrap_or_default();
                            pair.unsent[place(way)].extend_from_slice(rest);
                        }
                        ReadOutcome::Nothing => {}
                        ReadOutcome::End => self.link.end(now, id, way),
                        ReadOutcome::Broken => {
                            self.breaks(id, way);
                            continue;
                        }
                    }
                }
            }
            let full = self.link.room_at(way);
            let without_room = self.link.room(now, id, way) == 0;
            match (without_room, full > now) {
                // The line is full, for everybody.
                (true, true) => {
                    pair.queued[place(way)] = true;
                    self.hungry[place(way)].push_front(id);
                    return Some(full);
                }
                // The receiver is slow: when it has taken something, the sender is asked again.
                (true, false) => {}
                (false, _) => self.is_hungry(id, way),
            }
        }
        None
    }
}
