//! All of it together: what a socket carries on one side, chunks of UACP on the other; or TLS alone.

mod inside;
mod socket;

use std::io::{self, ErrorKind};

use thiserror::Error;

use super::Role;
use crate::frame::{Deframer, Framer, Payload, Violation};
use crate::http::{Exchange, Http, HttpError, Media};
use crate::texts::Texts;
use crate::tls::{Secured, Tls, TlsClient, TlsError, TlsServer, Turn};
use crate::upgrade::{PROTOCOLS, Refused, Request, TEXT_PROTOCOL, UpgradeError};
use crate::waiting::Waiting;

use inside::{Inside, Into};

/// What is sealed at once: two records.
const PIECE: usize = 32 * 1024;
/// With more that waits to be sent a ping is not answered at once.
const MUCH: usize = 4 * 1024;
/// RFC 6455, 7.4.1: the purpose was fulfilled.
const NORMAL: u16 = 1000;

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
    /// A server waits for a request, and takes messages in JSON of at most so many bytes, if any.
    Wait(Option<usize>),
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
    /// A WebSocket whose frames are messages in JSON.
    Texts(Box<Texts>),
    /// Requests of HTTP and their answers.
    Http(Box<Exchange>),
}

impl Inner {
    /// That of a WebSocket.
    fn framer(&mut self) -> Option<&mut Framer> {
        match self {
            Inner::Frames(frames) => Some(&mut frames.framer),
            Inner::Texts(texts) => Some(&mut texts.framer),
            Inner::Bare | Inner::Http(_) => None,
        }
    }
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
    given: Waiting,
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
        let request = Request::new(&address(host, port), path, &PROTOCOLS, random);
        let opening = Opening::Ask(Box::new(request));
        let frames = Frames::new(Role::Client, random);
        let mut tunnel = Self::new(tls, Inner::Frames(Box::new(frames)), opening);
        tunnel.receive(&mut [], &mut [])?;
        Ok(tunnel)
    }

    /// The same with messages in JSON, of at most so many bytes.
    ///
    /// # Errors
    /// TLS cannot ask for this host.
    pub fn connect_texts(
        config: &TlsClient,
        (host, port): (&str, u16),
        path: &str,
        longest: usize,
        random: fn(&mut [u8]),
    ) -> Result<Self, TunnelError> {
        let tls = config.connect(host)?;
        let request = Request::new(&address(host, port), path, &[TEXT_PROTOCOL], random);
        let opening = Opening::Ask(Box::new(request));
        let texts = Texts::new(Role::Client, String::new(), longest, random);
        let mut tunnel = Self::new(tls, Inner::Texts(Box::new(texts)), opening);
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
        (longest, media): (usize, Media),
    ) -> Result<Self, TunnelError> {
        let about = Http {
            host: address(host, port),
            path: path.to_owned(),
            longest,
            longest_text: longest,
            media,
            origin: None,
        };
        let http = Inner::Http(Box::new(Exchange::new(Role::Client, about)));
        let mut tunnel = Self::new(config.connect(host)?, http, Opening::Bare);
        tunnel.receive(&mut [], &mut [])?;
        Ok(tunnel)
    }

    /// From a client of `opc.https`, whose requests have at most so many bytes, and so many in JSON, and may be those of pages of
    /// this origin.
    ///
    /// # Errors
    /// TLS cannot begin.
    pub fn accept_posts(
        config: &TlsServer,
        (longest, longest_text): (usize, usize),
        origin: Option<&str>,
    ) -> Result<Self, TunnelError> {
        let about = Http {
            host: String::new(),
            path: String::new(),
            longest,
            longest_text,
            media: Media::Binary,
            origin: origin.map(str::to_owned),
        };
        let http = Inner::Http(Box::new(Exchange::new(Role::Server, about)));
        Ok(Self::new(config.accept()?, http, Opening::Asked))
    }

    /// From a client, whose messages may be JSON of at most so many bytes, if at all.
    ///
    /// # Errors
    /// TLS cannot begin.
    pub fn accept(config: &TlsServer, texts: Option<usize>) -> Result<Self, TunnelError> {
        // Servers mask nothing.
        let random: fn(&mut [u8]) = |_| ();
        let frames = Frames::new(Role::Server, random);
        let frames = Inner::Frames(Box::new(frames));
        Ok(Self::new(config.accept()?, frames, Opening::Wait(texts)))
    }

    fn new(tls: Tls, inner: Inner, opening: Opening) -> Self {
        Self {
            tls,
            phase: Phase::Handshake(opening),
            inner,
            came: Vec::new(),
            given: Waiting::default(),
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

    /// The URL that a client asked for first, as it knows it, where there is no channel but the one that all share: over
    /// `opc.https`, and with messages in JSON.
    pub fn asked(&self) -> Option<&str> {
        match &self.inner {
            Inner::Http(http) => http.asked(),
            Inner::Texts(texts) => Some(&texts.asked),
            Inner::Bare | Inner::Frames(_) => None,
        }
    }

    /// The number of the message of HTTP or in JSON that came in part, if one did: its chunks may not show that.
    pub fn partial(&self) -> Option<u64> {
        match &self.inner {
            Inner::Http(http) => http.partial(),
            Inner::Texts(texts) => texts.partial(),
            Inner::Bare | Inner::Frames(_) => None,
        }
    }

    /// Answers in JSON have at most so many bytes from now on, or there is a ServiceFault instead; 0 is any length.
    pub fn limit_texts(&mut self, most: usize) {
        match &mut self.inner {
            Inner::Http(http) => http.limit_texts(most),
            Inner::Texts(texts) => texts.limit_texts(most),
            Inner::Bare | Inner::Frames(_) => {}
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
            Inner::Texts(texts) => texts.held(),
            Inner::Bare | Inner::Frames(_) => 0,
        };
        head + inner + self.came.len() + self.given.bytes.len() + self.out.len()
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
        self.given.take(into)
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
            Inner::Texts(texts) => {
                let mut framed = Vec::with_capacity(2 * bytes.len());
                let ends = texts.send(bytes, &mut framed);
                let sealed = self.seal(&framed).map_err(TunnelError::from);
                if let Some(code) = ends {
                    self.closes = self.closes.map(|_| code);
                    self.close();
                }
                sealed
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
            && let Some(framer) = self.inner.framer()
            && framer.is_between()
        {
            let mut framed = Vec::new();
            framer.close(&Payload::close(code), &mut framed);
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
        if let Some(framer) = self.inner.framer()
            && let Some(ping) = self.ping.take_if(|_| may && framer.is_between())
        {
            let mut framed = Vec::new();
            framer.pong(&ping, &mut framed);
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
                given: &mut self.given.bytes,
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
