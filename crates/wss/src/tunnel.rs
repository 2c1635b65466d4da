//! All of it together: what a socket carries on one side, chunks of UACP on the other; or TLS alone.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};

use thiserror::Error;

use super::Role;
use crate::frame::{Control, Deframer, Framer, Payload, Violation};
use crate::http::{Exchange, Http, HttpError, Sink};
use crate::tls::{Secured, Tls, TlsClient, TlsError, TlsServer, Turn};
use crate::upgrade::{Refused, Request, UpgradeError, read_answer, read_request};

/// What is sealed at once: two records.
const PIECE: usize = 32 * 1024;
/// With more that waits to be sent a ping is not answered at once.
const MUCH: usize = 4 * 1024;
/// RFC 6455, 7.4.1: the purpose was fulfilled.
const NORMAL: u16 = 1000;

/// How much of what TLS protects is read at once.
const LONGEST_READ: usize = 64 * 1024;

thread_local! {
    /// Bytes are read into it and decrypted there: one for each thread, so that no connection has one.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Why a connection ends.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum TunnelError {
    /// In TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A server would not upgrade.
    #[error(transparent)]
    Upgrade(#[from] UpgradeError),
    /// A client asked for something else.
    #[error("no upgrade to a WebSocket: {0}")]
    Refused(#[from] Refused),
    /// The peer sent frames that it must not.
    #[error("WebSocket: {0}")]
    Frame(#[from] Violation),
    /// In HTTP around messages.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl From<rustls::Error> for TunnelError {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(error.into())
    }
}

impl From<TunnelError> for io::Error {
    fn from(error: TunnelError) -> Self {
        Self::new(ErrorKind::InvalidData, error)
    }
}

/// How far it is.
#[derive(Debug)]
enum Phase {
    /// TLS shakes hands.
    Handshake(Opening),
    /// HTTP is spoken.
    Upgrade(Opening, Vec<u8>),
    /// Chunks go both ways.
    Open,
    /// One side has said that it ends.
    Closed,
}

/// What is done first once TLS is there.
#[derive(Debug)]
enum Opening {
    /// A server waits for a request.
    Wait,
    /// A client sends one.
    Ask(Box<Request>),
    /// A server of HTTP waits until somebody has asked for something.
    Asked,
    /// Nothing: there is only TLS, or a client of HTTP, who asks when there is something to be asked.
    Bare,
}

/// What is inside TLS.
#[derive(Debug)]
enum Inner {
    /// Bytes as they are.
    Bare,
    /// A WebSocket.
    Frames(Box<Frames>),
    /// Requests of HTTP and their answers.
    Http(Box<Exchange>),
}

/// Both directions of a WebSocket.
#[derive(Debug)]
struct Frames {
    deframer: Deframer,
    framer: Framer,
}

impl Frames {
    fn new(role: Role, random: fn(&mut [u8])) -> Self {
        Self {
            deframer: Deframer::new(role),
            framer: Framer::new(role, random),
        }
    }
}

/// A connection over `opc.wss` or `opc.https`, or over TLS alone.
#[derive(Debug)]
pub struct Tunnel {
    tls: Tls,
    phase: Phase,
    inner: Inner,
    /// What came of a record that is not whole.
    came: Vec<u8>,
    /// Chunks that came and were not asked for yet.
    given: Vec<u8>,
    given_at: usize,
    /// What waits to be sent.
    out: Vec<u8>,
    out_at: usize,
    /// What HTTP has to say, that is not sealed yet.
    answer: Vec<u8>,
    /// The last ping that was not answered.
    ping: Option<Payload>,
    /// Of what was to be written, the first byte is sealed already.
    ahead: bool,
    /// There is a WebSocket that has to be closed, with this status code.
    closes: Option<u16>,
    /// TLS was told that nothing more comes.
    said_end: bool,
}

impl Tunnel {
    /// To a server, that is at this host and path. `random` gives nonces and masks.
    ///
    /// # Errors
    /// TLS cannot ask for this host.
    pub fn connect(
        config: &TlsClient,
        (host, port): (&str, u16),
        path: &str,
        random: fn(&mut [u8]),
    ) -> Result<Self, TunnelError> {
        let tls = config.connect(host)?;
        let request = Request::new(&address(host, port), path, random);
        let opening = Opening::Ask(Box::new(request));
        let frames = Frames::new(Role::Client, random);
        let mut tunnel = Self::new(tls, Inner::Frames(Box::new(frames)), opening);
        tunnel.receive(&mut [], &mut [])?;
        Ok(tunnel)
    }

    /// To a server at this host, with TLS alone: bytes go through it as they are, as MQTT wants it.
    ///
    /// # Errors
    /// TLS cannot ask for this host.
    pub fn bare(config: &TlsClient, host: &str) -> Result<Self, TunnelError> {
        let mut tunnel = Self::new(config.connect(host)?, Inner::Bare, Opening::Bare);
        tunnel.receive(&mut [], &mut [])?;
        Ok(tunnel)
    }

    /// To a server of `opc.https` that is at this host and path; answers have at most so many bytes.
    ///
    /// # Errors
    /// TLS cannot ask for this host.
    pub fn post(
        config: &TlsClient,
        (host, port): (&str, u16),
        path: &str,
        longest: usize,
    ) -> Result<Self, TunnelError> {
        let about = Http {
            host: address(host, port),
            path: path.to_owned(),
            longest,
        };
        let http = Inner::Http(Box::new(Exchange::new(Role::Client, about)));
        let mut tunnel = Self::new(config.connect(host)?, http, Opening::Bare);
        tunnel.receive(&mut [], &mut [])?;
        Ok(tunnel)
    }

    /// From a client of `opc.https`, whose requests have at most so many bytes.
    ///
    /// # Errors
    /// TLS cannot begin.
    pub fn accept_posts(config: &TlsServer, longest: usize) -> Result<Self, TunnelError> {
        let about = Http {
            host: String::new(),
            path: String::new(),
            longest,
        };
        let http = Inner::Http(Box::new(Exchange::new(Role::Server, about)));
        Ok(Self::new(config.accept()?, http, Opening::Asked))
    }

    /// From a client.
    ///
    /// # Errors
    /// TLS cannot begin.
    pub fn accept(config: &TlsServer) -> Result<Self, TunnelError> {
        // Servers mask nothing.
        let random: fn(&mut [u8]) = |_| ();
        let frames = Frames::new(Role::Server, random);
        let frames = Inner::Frames(Box::new(frames));
        Ok(Self::new(config.accept()?, frames, Opening::Wait))
    }

    fn new(tls: Tls, inner: Inner, opening: Opening) -> Self {
        Self {
            tls,
            phase: Phase::Handshake(opening),
            inner,
            came: Vec::new(),
            given: Vec::new(),
            given_at: 0,
            out: Vec::new(),
            out_at: 0,
            answer: Vec::new(),
            ping: None,
            ahead: false,
            closes: None,
            said_end: false,
        }
    }

    /// Whether chunks may be sent.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Whether TLS is there, but nothing inside it yet.
    pub fn is_upgrading(&self) -> bool {
        matches!(self.phase, Phase::Upgrade(..))
    }

    /// Whether nothing more comes.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// The URL that a client of `opc.https` asked for first, as it knows it; none over anything else.
    pub fn asked(&self) -> Option<&str> {
        match &self.inner {
            Inner::Http(http) => http.asked(),
            Inner::Bare | Inner::Frames(_) => None,
        }
    }

    /// The number of the message of HTTP that came in part, if one did: its chunks may not show that.
    pub fn partial(&self) -> Option<u64> {
        match &self.inner {
            Inner::Http(http) => http.partial(),
            Inner::Bare | Inner::Frames(_) => None,
        }
    }

    /// What TLS agreed on.
    pub fn secured(&self) -> Option<Secured> {
        self.tls.secured()
    }

    /// Bytes that it keeps.
    pub fn held(&self) -> usize {
        let head = match &self.phase {
            Phase::Upgrade(_, head) => head.len(),
            _ => 0,
        };
        let inner = match &self.inner {
            Inner::Http(http) => http.held(),
            Inner::Bare | Inner::Frames(_) => 0,
        };
        head + inner + self.came.len() + self.given.len() + self.out.len()
    }

    /// What is to be sent.
    pub fn pending(&self) -> &[u8] {
        self.out.get(self.out_at..).unwrap_or_default()
    }

    /// So much of it was.
    pub fn wrote(&mut self, count: usize) {
        self.out_at += count;
        if self.out_at >= self.out.len() {
            // An idle connection keeps no memory.
            self.out = Vec::new();
            self.out_at = 0;
        }
    }

    /// Takes what came from the peer, and writes the chunks in it to `into`; what has no room there waits. How many
    /// bytes were written.
    ///
    /// # Errors
    /// The connection ends; what there is to tell the peer of it is pending.
    pub fn receive(&mut self, came: &mut [u8], into: &mut [u8]) -> Result<usize, TunnelError> {
        if self.said_end {
            return Ok(0);
        }
        let mut into = Into {
            place: into,
            written: 0,
        };
        let result = match self.came.is_empty() {
            true => {
                let (done, result) = self.look(came, &mut into);
                self.came
                    .extend_from_slice(came.get(done..).unwrap_or_default());
                result
            }
            false => {
                let mut all = std::mem::take(&mut self.came);
                all.extend_from_slice(came);
                let (done, result) = self.look(&mut all, &mut into);
                all.drain(..done);
                // An idle connection keeps no memory.
                self.came = if all.is_empty() { Vec::new() } else { all };
                result
            }
        };
        let answered = result.and_then(|()| self.answer());
        answered.inspect_err(|error| self.fail(error))?;
        // Whoever writes the last word ends it.
        if self.pending().is_empty() {
            self.end_http();
        }
        Ok(into.written)
    }

    /// Chunks that came before and had no room.
    pub fn waiting(&mut self, into: &mut [u8]) -> usize {
        let rest = self.given.get(self.given_at..).unwrap_or_default();
        let count = rest.len().min(into.len());
        if let (Some(rest), Some(place)) = (rest.get(..count), into.get_mut(..count)) {
            place.copy_from_slice(rest);
        }
        self.given_at += count;
        if self.given_at == self.given.len() {
            self.given = Vec::new();
            self.given_at = 0;
        }
        count
    }

    /// Whether there are such.
    pub fn has_waiting(&self) -> bool {
        !self.given.is_empty()
    }

    /// Protects bytes of chunks, to be sent; none where the connection is closed.
    ///
    /// # Errors
    /// TLS has no more keys for it.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), TunnelError> {
        self.put(bytes)?;
        self.end_http();
        Ok(())
    }

    /// The same, and the connection stays open whatever HTTP has said.
    fn put(&mut self, bytes: &[u8]) -> Result<(), TunnelError> {
        if self.is_closed() {
            return Ok(());
        }
        let sent = match &mut self.inner {
            Inner::Frames(frames) => {
                let mut framed = Vec::with_capacity(bytes.len() + bytes.len() / 16 + 64);
                frames.framer.put(bytes, &mut framed);
                self.seal(&framed).map_err(TunnelError::from)
            }
            Inner::Http(http) => {
                let mut text = Vec::with_capacity(bytes.len() + 256);
                let made = http.send(bytes, &mut text).map_err(TunnelError::from);
                made.and_then(|()| Ok(self.seal(&text)?))
            }
            Inner::Bare => self.seal(bytes).map_err(TunnelError::from),
        };
        let sent = sent.and_then(|()| self.answer());
        sent.inspect_err(|error| self.fail(error))
    }

    /// Ends a connection over which HTTP has said the last word.
    fn end_http(&mut self) {
        if let Inner::Http(http) = &self.inner
            && http.is_over()
            && !self.is_closed()
        {
            self.close();
        }
    }

    /// Protects frames as they are, to be sent: for tests of what the other end does with them.
    ///
    /// # Errors
    /// TLS has no more keys for it.
    pub fn send_raw(&mut self, frames: &[u8]) -> Result<(), TunnelError> {
        Ok(self.seal(frames)?)
    }

    fn seal(&mut self, plain: &[u8]) -> Result<(), rustls::Error> {
        let (done, sealed) = self.tls.seal(&mut self.came, plain, &mut self.out);
        self.came.drain(..done);
        sealed
    }

    /// Says that nothing more comes.
    pub fn close(&mut self) {
        if let Some(code) = self.closes.take()
            && let Inner::Frames(frames) = &mut self.inner
            && frames.framer.is_between()
        {
            let mut framed = Vec::new();
            frames.framer.close(&Payload::close(code), &mut framed);
            // Where TLS is over, so is everything.
            let _ = self.seal(&framed);
        }
        self.phase = Phase::Closed;
        if !std::mem::replace(&mut self.said_end, true) {
            self.tls.close(&mut self.came, &mut self.out);
        }
    }

    /// Tells the peer what it did.
    fn fail(&mut self, error: &TunnelError) {
        match error {
            // TLS has an alert to send.
            TunnelError::Tls(_) => {
                self.closes = None;
                self.said_end = true;
                // Once: what comes after that is that rustls looks at the same bytes again, for which it is not made.
                let _ = self.tls.advance(&mut self.came, &mut self.out, |_| ());
            }
            TunnelError::Frame(violation) => {
                self.closes = self.closes.map(|_| violation.close_code());
            }
            TunnelError::Refused(refused) => {
                let _ = self.seal(refused.text("GET").as_bytes());
            }
            TunnelError::Http(HttpError::Refused(refused)) => {
                if matches!(&self.inner, Inner::Http(http) if http.may_refuse()) {
                    let _ = self.seal(refused.text("POST").as_bytes());
                }
            }
            TunnelError::Upgrade(_) | TunnelError::Http(_) => {}
        }
        self.close();
    }

    /// Says what HTTP has to say, and answers the last ping: no other needs an answer (RFC 6455, 5.5.3), which goes
    /// between two frames.
    fn answer(&mut self) -> Result<(), TunnelError> {
        if !self.answer.is_empty() {
            let answer = std::mem::take(&mut self.answer);
            self.seal(&answer)?;
        }
        let may = self.is_open() && self.pending().len() < MUCH;
        if let Inner::Http(http) = &mut self.inner {
            let aside = http.aside();
            if !aside.is_empty() {
                self.seal(&aside)?;
            }
        }
        if let Inner::Frames(frames) = &mut self.inner
            && let Some(ping) = self.ping.take_if(|_| may && frames.framer.is_between())
        {
            let mut framed = Vec::new();
            frames.framer.pong(&ping, &mut framed);
            self.seal(&framed)?;
        }
        Ok(())
    }

    /// Looks at whole records; says how many bytes are done with.
    fn look(&mut self, came: &mut [u8], into: &mut Into<'_>) -> (usize, Result<(), TunnelError>) {
        let mut done = 0;
        loop {
            let rest = came.get_mut(done..).unwrap_or_default();
            let mut taken = Ok(());
            let mut inside = Inside {
                phase: &mut self.phase,
                inner: &mut self.inner,
                given: &mut self.given,
                ping: &mut self.ping,
                closes: &mut self.closes,
                answer: &mut self.answer,
            };
            let (count, turn) = self.tls.advance(rest, &mut self.out, |record| {
                if taken.is_ok() {
                    taken = inside.take(record, into);
                }
            });
            done += count;
            if let Err(error) = taken {
                return (done, Err(error));
            }
            match turn {
                Ok(Turn::Again) => {}
                Ok(Turn::Handshake) => return (done, Ok(())),
                Ok(Turn::Ready) => {
                    self.begin();
                    return (done, Ok(()));
                }
                Ok(Turn::Closed) => {
                    self.phase = Phase::Closed;
                    return (done, Ok(()));
                }
                Err(error) => return (done, Err(error.into())),
            }
        }
    }

    /// TLS is there: the upgrade begins, if it did not before and there is to be one.
    fn begin(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Handshake(Opening::Bare) => Phase::Open,
            Phase::Handshake(opening) => {
                if let Opening::Ask(request) = &opening {
                    self.answer.extend_from_slice(&request.text);
                }
                Phase::Upgrade(opening, Vec::new())
            }
            other => other,
        };
    }

    /// Reads once from a socket and gives the chunks that came, as the socket would.
    ///
    /// [`ErrorKind::Interrupted`] says that something came, but no chunks.
    ///
    /// # Errors
    /// Those of the socket; [`ErrorKind::InvalidData`] with a [`TunnelError`] inside.
    pub fn read(&mut self, socket: &mut (impl Read + Write), into: &mut [u8]) -> io::Result<usize> {
        let (_, result) = self.read_by(into, |space| socket.read(space).map(|count| (count, ())));
        // What follows from it, an answer to a ping maybe, goes as far as it goes now.
        match self.flush(socket) {
            Err(error) if error.kind() != ErrorKind::WouldBlock && result.is_ok() => Err(error),
            _ => result,
        }
    }

    /// The same with another way to read from the socket; what that told beside the bytes is given, too, and how many
    /// came. Nothing is written to the socket.
    pub fn read_by<T>(
        &mut self,
        into: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> io::Result<(usize, T)>,
    ) -> (Option<(usize, T)>, io::Result<usize>) {
        if self.has_waiting() {
            return (None, Ok(self.waiting(into)));
        }
        if self.is_closed() {
            return (None, Ok(0));
        }
        SCRATCH.with_borrow_mut(|scratch| {
            // Not much more than there is room for.
            scratch.resize(LONGEST_READ, 0);
            let most = into.len().clamp(1024, LONGEST_READ);
            let space = scratch.get_mut(..most).unwrap_or_default();
            let (count, told) = match read(space) {
                Ok((0, _)) => return (None, Ok(0)),
                Ok(got) => got,
                Err(error) => return (None, Err(error)),
            };
            let came = space.get_mut(..count).unwrap_or_default();
            let result = match self.receive(came, into) {
                Ok(0) if !self.is_closed() => Err(ErrorKind::Interrupted.into()),
                Ok(given) => Ok(given),
                Err(error) => Err(error.into()),
            };
            (Some((count, told)), result)
        })
    }

    /// Writes chunks to a socket, and says how many bytes of them it took, as the socket would: as long as it has not
    /// taken all that was sealed, a byte is left over that is offered again.
    ///
    /// # Errors
    /// Those of the socket; [`ErrorKind::InvalidData`] with a [`TunnelError`] inside.
    pub fn write(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.flush(socket)?;
        let ahead = usize::from(std::mem::take(&mut self.ahead));
        let rest = bytes.get(ahead..).unwrap_or_default();
        let piece = rest.get(..PIECE).unwrap_or(rest);
        if piece.is_empty() {
            self.end_written(socket);
            return Ok(bytes.len());
        }
        self.put(piece)?;
        let count = ahead + piece.len();
        match self.flush(socket) {
            Ok(()) => {
                self.end_written(socket);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.ahead = true;
                match count {
                    1 => Err(error),
                    _ => Ok(count - 1),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Ends a connection over which HTTP has said the last word, once the socket has all of that.
    fn end_written(&mut self, socket: &mut impl Write) {
        self.end_http();
        // As much of the end as it takes now: a body says itself how long it is.
        let _ = self.flush(socket);
    }

    /// Writes what is to be sent.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while !self.pending().is_empty() {
            match socket.write(self.pending()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.wrote(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Where chunks are written.
struct Into<'a> {
    place: &'a mut [u8],
    written: usize,
}

/// What a record of TLS has to do with.
struct Inside<'a> {
    phase: &'a mut Phase,
    inner: &'a mut Inner,
    given: &'a mut Vec<u8>,
    ping: &'a mut Option<Payload>,
    closes: &'a mut Option<u16>,
    answer: &'a mut Vec<u8>,
}

impl Inside<'_> {
    fn take(&mut self, record: &[u8], into: &mut Into<'_>) -> Result<(), TunnelError> {
        let done = match self.phase {
            Phase::Open => return self.open(record, into),
            // Nothing is said before the request, and nothing counts after the end.
            Phase::Handshake(Opening::Ask(_)) | Phase::Closed => return Ok(()),
            Phase::Handshake(Opening::Bare) => {
                *self.phase = Phase::Open;
                return self.open(record, into);
            }
            // A request may come in one piece with the end of the handshake.
            Phase::Handshake(Opening::Wait) => {
                *self.phase = Phase::Upgrade(Opening::Wait, Vec::new());
                return self.take(record, into);
            }
            Phase::Handshake(Opening::Asked) | Phase::Upgrade(Opening::Asked, _) => {
                *self.phase = Phase::Upgrade(Opening::Asked, Vec::new());
                let taken = self.open(record, into);
                if matches!(&*self.inner, Inner::Http(http) if http.asked().is_some()) {
                    *self.phase = Phase::Open;
                }
                return taken;
            }
            Phase::Upgrade(opening, head) => {
                let before = head.len();
                head.extend_from_slice(record);
                let length = match opening {
                    Opening::Ask(request) => read_answer(head, &request.accept)?,
                    Opening::Wait => read_request(head)?.map(|(length, answer)| {
                        self.answer.extend_from_slice(answer.as_bytes());
                        length
                    }),
                    Opening::Asked | Opening::Bare => Some(before),
                };
                match length {
                    Some(length) => length - before,
                    None => return Ok(()),
                }
            }
        };
        *self.phase = Phase::Open;
        *self.closes = Some(NORMAL);
        self.open(record.get(done..).unwrap_or_default(), into)
    }

    /// Bytes inside TLS once all is open.
    fn open(&mut self, bytes: &[u8], into: &mut Into<'_>) -> Result<(), TunnelError> {
        let mut given = Given {
            given: self.given,
            into,
        };
        match self.inner {
            Inner::Bare => given.put(bytes),
            Inner::Http(http) => http.take(bytes, &mut given)?,
            Inner::Frames(_) => return self.frames(bytes, into),
        }
        Ok(())
    }

    fn frames(&mut self, mut bytes: &[u8], into: &mut Into<'_>) -> Result<(), TunnelError> {
        let Inner::Frames(frames) = self.inner else {
            return Ok(());
        };
        let deframer = &mut frames.deframer;
        while !bytes.is_empty() {
            let room = match self.given.is_empty() {
                true => into.place.get_mut(into.written..).unwrap_or_default(),
                false => &mut [],
            };
            let step = if room.is_empty() {
                let begin = self.given.len();
                self.given.resize(begin + bytes.len(), 0);
                let place = self.given.get_mut(begin..).unwrap_or_default();
                let step = deframer.take(bytes, place)?;
                self.given.truncate(begin + step.given);
                step
            } else {
                let step = deframer.take(bytes, room)?;
                into.written += step.given;
                step
            };
            bytes = bytes.get(step.taken..).unwrap_or_default();
            match step.control {
                Some(Control::Ping(payload)) => *self.ping = Some(payload),
                Some(Control::Close(payload)) => {
                    // Answered with the same status (RFC 6455, 5.5.1) by whoever closes the socket.
                    *self.closes = Some(payload.code().unwrap_or(NORMAL));
                    *self.phase = Phase::Closed;
                    return Ok(());
                }
                Some(Control::Pong) | None => {}
            }
        }
        Ok(())
    }
}

/// Where chunks go as long as there is room, and after that.
struct Given<'a, 'b> {
    given: &'a mut Vec<u8>,
    into: &'a mut Into<'b>,
}

impl Sink for Given<'_, '_> {
    fn put(&mut self, bytes: &[u8]) {
        let written = self.into.written;
        let room = match self.given.is_empty() {
            true => self.into.place.get_mut(written..).unwrap_or_default(),
            false => &mut [],
        };
        let (now, later) = bytes.split_at(bytes.len().min(room.len()));
        if let Some(place) = room.get_mut(..now.len()) {
            place.copy_from_slice(now);
        }
        self.into.written += now.len();
        self.given.extend_from_slice(later);
    }
}

/// Host and port as they stand in a URL.
fn address(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests;
