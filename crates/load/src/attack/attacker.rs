//! Who attacks: one of each kind, made for a thread, that makes one attack after another.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use plan::Random;
use wire::service::Request;
use wire::time::Instant as Mono;
use wire::types::{GetEndpointsRequest, NodeId, StatusCode};

use super::raw::{self, End, Reply};
use super::{legal, whose};
use crate::access::{Access, AccessError, Opening, Session};
use crate::transport::{CallError, Link, LinkError, Own, Steps, Stream, connect};

/// What became of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttackOutcome {
    /// Which of the kind.
    pub variant: &'static str,
    /// A status code, or what else the server did.
    pub told: String,
    /// Whether it was refused.
    pub refused: bool,
    /// Whether nobody listens there any more.
    pub nobody: bool,
    /// Why it was not made at all, where that is this machine's doing.
    pub lack: Option<&'static str>,
}

impl AttackOutcome {
    fn good(variant: &'static str, told: impl Into<String>) -> Self {
        Self {
            variant,
            told: told.into(),
            refused: false,
            nobody: false,
            lack: None,
        }
    }

    fn refused(variant: &'static str, told: impl Into<String>) -> Self {
        Self {
            refused: true,
            ..Self::good(variant, told)
        }
    }

    fn status(variant: &'static str, status: StatusCode) -> Self {
        let told = status.sub_code().to_string();
        match status.is_bad() {
            true => Self::refused(variant, told),
            false => Self::good(variant, told),
        }
    }

    fn end(variant: &'static str, end: End) -> Self {
        match end {
            End::Error(status) => Self::refused(variant, status.sub_code().to_string()),
            End::Closed => Self::refused(variant, CLOSED),
            End::Silent => Self::good(variant, "no answer"),
        }
    }

    fn link(variant: &'static str, error: &LinkError) -> Self {
        if let Some(lack) = whose::lack(error) {
            return Self {
                lack: Some(lack),
                ..Self::good(variant, "not made")
            };
        }
        match error {
            LinkError::Refused(_) => Self {
                nobody: true,
                ..Self::refused(variant, "connection refused")
            },
            LinkError::Channel(error) => Self::status(variant, error.status()),
            LinkError::NotRead { .. } => Self::good(variant, NOT_READ),
            LinkError::ClosedAt(_) | LinkError::Io(_) => Self::refused(variant, CLOSED),
            _ => Self::refused(variant, "no answer"),
        }
    }

    /// What could not be written on a connection that was there.
    fn unsent(variant: &'static str, error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::good(variant, NOT_READ),
            _ => Self::refused(variant, CLOSED),
        }
    }

    fn access(variant: &'static str, error: &AccessError) -> Self {
        match error {
            AccessError::Link(error)
            | AccessError::Call {
                error: CallError::Link(error),
                ..
            } => Self::link(variant, error),
            other => Self::status(variant, other.status()),
        }
    }

    fn call(variant: &'static str, error: &CallError) -> Self {
        match error {
            CallError::Link(error) => Self::link(variant, error),
            CallError::TimedOut(_) => Self::refused(variant, "no answer"),
            other => Self::status(variant, other.status()),
        }
    }
}

const NOT_READ: &str = "not read";
const CLOSED: &str = "closed without an Error message";

/// Who makes attacks of one kind; each thread has one of its own.
pub(super) trait Attacker: Send {
    /// Makes the attack of this number.
    fn attack(&mut self, n: u64) -> AttackOutcome;
}

/// What is left open; of too many the oldest make room.
struct Open<T> {
    there: VecDeque<T>,
    most: usize,
}

impl<T> Open<T> {
    fn new(most: usize) -> Self {
        Self {
            there: VecDeque::new(),
            most,
        }
    }

    fn leave(&mut self, it: T) {
        self.there.push_back(it);
        if self.there.len() > self.most {
            self.there.pop_front();
        }
    }
}

/// One of several, in turn.
fn in_turn<T>(all: &[T], n: u64) -> Option<&T> {
    all.get((n % all.len().max(1) as u64) as usize)
}

/// Comes with certificates that should not be accepted.
pub(super) struct Forger<'a> {
    pub access: &'a Access,
    pub openings: &'a [(&'static str, Opening)],
}

impl Attacker for Forger<'_> {
    fn attack(&mut self, n: u64) -> AttackOutcome {
        let Some((variant, opening)) = in_turn(self.openings, n) else {
            return AttackOutcome::good("", "nothing to show");
        };
        came_in(variant, self.access, opening)
    }
}

/// Logs in, and leaves where that was let be.
fn came_in(variant: &'static str, access: &Access, opening: &Opening) -> AttackOutcome {
    match access.open(opening, &mut Steps::new()) {
        Ok(session) => {
            session.leave();
            AttackOutcome::good(variant, "a session was activated")
        }
        Err(error) => AttackOutcome::access(variant, &error),
    }
}

/// Comes as a user that there is not.
pub(super) struct Guesser<'a> {
    pub access: &'a Access,
    pub opening: &'a Opening,
}

impl Attacker for Guesser<'_> {
    fn attack(&mut self, _: u64) -> AttackOutcome {
        came_in("", self.access, self.opening)
    }
}

/// Where the server is, for who needs a socket only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach<'a> {
    pub address: SocketAddr,
    pub hello: &'a [u8],
    pub timeout: Duration,
}

impl Reach<'_> {
    /// A connection that has said nothing; a read waits so long.
    fn knock(&self, patience: Duration) -> Result<TcpStream, LinkError> {
        let (socket, _) = connect(&[self.address], Own::default(), self.timeout)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(self.timeout))?;
        Ok(socket)
    }
}

/// What a connection is left open as.
#[expect(dead_code, reason = "they are held, so that they stay open")]
enum Held {
    Socket(TcpStream),
    Link(Box<Link>),
    Stream(Box<Stream>),
}

/// Where connections are left open, and where they lead.
pub(super) struct OpenConnections<'a> {
    reach: Reach<'a>,
    access: &'a Access,
    opening: &'a Opening,
    open: Open<Held>,
}

impl<'a> OpenConnections<'a> {
    pub fn new(reach: Reach<'a>, access: &'a Access, opening: &'a Opening, most: usize) -> Self {
        Self {
            reach,
            access,
            opening,
            open: Open::new(most),
        }
    }

    /// A connection that has said hello; else what came of an attack of this name.
    fn greeted(&self, name: &'static str) -> Result<TcpStream, AttackOutcome> {
        let socket = self.reach.knock(self.reach.timeout);
        let mut socket = socket.map_err(|error| AttackOutcome::link(name, &error))?;
        match raw::greet(&mut socket, self.reach.hello) {
            Ok(()) => Ok(socket),
            Err(end) => Err(AttackOutcome::end(name, end)),
        }
    }
}

/// Says hello, or opens a channel, and leaves it at that.
pub(super) struct IdleConnections<'a>(pub OpenConnections<'a>);

impl Attacker for IdleConnections<'_> {
    fn attack(&mut self, n: u64) -> AttackOutcome {
        let Self(it) = self;
        if n.is_multiple_of(2) {
            const HELLO: &str = "hello only";
            return match it.greeted(HELLO) {
                Ok(socket) => {
                    it.open.leave(Held::Socket(socket));
                    AttackOutcome::good(HELLO, "acknowledged")
                }
                Err(told) => told,
            };
        }
        const CHANNEL: &str = "channel only";
        match it.access.connect(it.opening, &mut Steps::new()) {
            Ok(link) => {
                it.open.leave(Held::Link(Box::new(link)));
                AttackOutcome::good(CHANNEL, "opened")
            }
            Err(error) => AttackOutcome::access(CHANNEL, &error),
        }
    }
}

/// Begins messages, and does not end them.
pub(super) struct UnfinishedMessages<'a>(pub OpenConnections<'a>);

/// A message that is not ended has so many bytes.
const LONG: usize = 200_000;
/// The end of what has a deadline of its own, or none.
const NEVER: Mono = Mono::from_nanos(u64::MAX);
/// Whoever refuses what it was sent says so soon.
const SOON: Duration = Duration::from_millis(20);

impl UnfinishedMessages<'_> {
    fn half(&mut self) -> AttackOutcome {
        const HALF: &str = "half a chunk";
        let mut socket = match self.0.greeted(HALF) {
            Ok(socket) => socket,
            Err(told) => return told,
        };
        let sent = socket.write_all(&raw::half_a_chunk());
        if let Err(error) = sent.and(socket.set_read_timeout(Some(SOON))) {
            return AttackOutcome::unsent(HALF, &error);
        }
        let told = AttackOutcome::end(HALF, raw::listen(&mut socket, 1).end);
        if !told.refused {
            self.0.open.leave(Held::Socket(socket));
        }
        told
    }

    fn headless(&mut self) -> AttackOutcome {
        const OPEN: &str = "no last chunk";
        let link = match self.0.access.connect(self.0.opening, &mut Steps::new()) {
            Ok(link) => link,
            Err(error) => return AttackOutcome::access(OPEN, &error),
        };
        let (mut stream, mut connection, _) = link.take_apart();
        // As long as the server takes: some take no message of several chunks.
        let most = match connection.limits().send_message {
            0 => LONG,
            most => LONG.min(most as usize),
        };
        let sent = connection.send(NEVER, |out, _| out.resize(out.len() + most * 9 / 10, 0));
        if let Err(error) = sent {
            return AttackOutcome::good(OPEN, format!("not sent: {error}"));
        }
        let begun = raw::without_the_last(connection.pending());
        let sent = stream.write_all(begun);
        if let Err(error) = sent.and(stream.set_read_timeout(Some(SOON))) {
            return AttackOutcome::unsent(OPEN, &error);
        }
        let told = AttackOutcome::end(OPEN, raw::listen(&mut stream, 1).end);
        if !told.refused {
            self.0.open.leave(Held::Stream(Box::new(stream)));
        }
        told
    }
}

impl Attacker for UnfinishedMessages<'_> {
    fn attack(&mut self, n: u64) -> AttackOutcome {
        match n.is_multiple_of(2) {
            true => self.half(),
            false => self.headless(),
        }
    }
}

/// Sends the same message twice.
pub(super) struct Replayer<'a> {
    pub access: &'a Access,
    pub opening: &'a Opening,
}

impl Attacker for Replayer<'_> {
    fn attack(&mut self, _: u64) -> AttackOutcome {
        let link = match self.access.connect(self.opening, &mut Steps::new()) {
            Ok(link) => link,
            Err(error) => return AttackOutcome::access("", &error),
        };
        let (mut stream, mut connection, _) = link.take_apart();
        let mut request = Request::from(GetEndpointsRequest {
            endpoint_url: self.access.url.to_string().as_str().into(),
            ..Default::default()
        });
        let sent = connection.send(NEVER, |out, handle| {
            request.header_mut().request_handle = handle;
            // What does not encode is not sent.
            let _ = request.encode(out);
        });
        if let Err(error) = sent {
            return AttackOutcome::good("", format!("not sent: {error}"));
        }
        let twice = [connection.pending(), connection.pending()].concat();
        let sent = stream.write_all(&twice);
        if let Err(error) = sent.and(stream.set_read_timeout(Some(self.access.timeout))) {
            return AttackOutcome::unsent("", &error);
        }
        match raw::listen(&mut stream, 2) {
            Reply { messages: 2, .. } => AttackOutcome::good("", "answered twice"),
            said => AttackOutcome::end("", said.end),
        }
    }
}

/// Sends wrong bytes.
pub(super) struct WrongBytes<'a> {
    pub reach: Reach<'a>,
}

impl Attacker for WrongBytes<'_> {
    fn attack(&mut self, n: u64) -> AttackOutcome {
        // Whoever makes it: the attack of a number has the same bytes in each run.
        let mut random = Random::stream(n, &[]);
        match self.reach.knock(SOON) {
            Ok(mut socket) => {
                let said = raw::malformed(&mut socket, self.reach.hello, &mut random);
                AttackOutcome::end("", said.end)
            }
            Err(error) => AttackOutcome::link("", &error),
        }
    }
}

/// What a session is asked for.
#[derive(Debug)]
pub(super) enum SessionRequest {
    /// A new token of its channel.
    Renewal,
    /// All references, so many nodes in a request.
    Everything { at_once: usize },
    /// A year of these histories.
    Year { nodes: Vec<NodeId> },
    /// Items of these nodes, so many in a request.
    Items { nodes: Vec<NodeId>, at_once: usize },
}

/// Items that come and go.
const ITEMS: usize = 10_000;

/// Has a session, and asks for much.
pub(super) struct ManyItems<'a> {
    access: &'a Access,
    opening: &'a Opening,
    wish: &'a SessionRequest,
    goes_on: &'a (dyn Fn() -> bool + Sync),
    session: Option<Session>,
}

impl<'a> ManyItems<'a> {
    pub fn new(
        access: &'a Access,
        opening: &'a Opening,
        wish: &'a SessionRequest,
        goes_on: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self {
            access,
            opening,
            wish,
            goes_on,
            session: None,
        }
    }

    fn ask(&self, session: &mut Session) -> Result<StatusCode, CallError> {
        match self.wish {
            SessionRequest::Renewal => {
                session.renew()?;
                Ok(StatusCode::Good)
            }
            SessionRequest::Everything { at_once } => {
                legal::everything(session, *at_once, self.goes_on)
            }
            SessionRequest::Year { nodes } => {
                let results = session.call(legal::year(nodes.iter().cloned()))?.results;
                let results = results.iter().flatten();
                Ok(legal::first_bad(results.map(|it| it.status_code)))
            }
            SessionRequest::Items { nodes, at_once } => {
                legal::come_and_go(session, nodes, ITEMS, *at_once, self.goes_on)
            }
        }
    }
}

impl Attacker for ManyItems<'_> {
    fn attack(&mut self, _: u64) -> AttackOutcome {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => match self.access.open(self.opening, &mut Steps::new()) {
                Ok(session) => session,
                Err(error) => return AttackOutcome::access("session", &error),
            },
        };
        match self.ask(&mut session) {
            Ok(status) => {
                self.session = Some(session);
                AttackOutcome::status("", status)
            }
            Err(error) => {
                // A connection that ended, or on which an answer is still to come, is of no use.
                if !matches!(error, CallError::Link(_) | CallError::TimedOut(_)) {
                    self.session = Some(session);
                }
                AttackOutcome::call("", &error)
            }
        }
    }
}

impl Drop for ManyItems<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            session.leave();
        }
    }
}
