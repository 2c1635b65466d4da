//! The server's end of a connection: hello, SecureChannel, requests and their responses.
//!
//! Driven as the client's is (see [`crate::client`]), with one question more: whether the
//! certificate of a client is trusted is the caller's to [`decide`](Connection::decide), before
//! anything is decrypted.

mod config;
mod event;
mod opening;

pub use crate::channel::stream::Unfinished;
pub use config::Config;
pub use event::Event;
pub use opening::Done;

use std::ops::Range;

use opcua_types::StatusCode;
use tracing::{Span, debug, debug_span};

use crate::certificate::Certificate;
use crate::channel::stream::{Arrival, Body, Outward, Stream};
use crate::channel::tokens::Role;
use crate::channel::{ChannelError, Protection, SendError};
use crate::frame::{ErrorMessage, HEADER_LEN, Header, Hello, Limits, MessageType, ReverseHello};
use crate::job::Job;
use crate::time::{Instant, Now};
use opening::Exchange;

/// The memory of a message that came in chunks is kept for the next one up to so many bytes.
const KEEP: usize = 64 * 1024;

/// A request as this connection knows it: to be given back with its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u32);

impl RequestId {
    /// The number on the wire.
    pub fn number(self) -> u32 {
        self.0
    }
}

#[derive(Debug)]
enum State {
    AwaitHello,
    Channel,
    Ended(Option<ChannelError>),
}

enum Happened {
    Request(RequestId, Body),
    Other(Event<'static>),
}

/// What happened, with a way to answer a request while it lies in the receive buffer.
#[derive(Debug)]
pub enum Polled<'a> {
    /// A request.
    Request {
        /// To respond to it later.
        id: RequestId,
        /// Its encoded body, type first.
        body: &'a [u8],
        /// To respond to it now.
        reply: Reply<'a>,
    },
    /// Anything else; never [`Event::Request`].
    Other(Event<'static>),
}

/// The way back for one request.
#[derive(Debug)]
pub struct Reply<'a> {
    outward: Outward<'a>,
    id: RequestId,
}

impl Reply<'_> {
    /// Sends a response. `write` appends its encoded body.
    #[inline]
    pub fn respond(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), SendError> {
        self.outward.send(MessageType::Message, self.id.0, write)
    }

    /// Sends a response, or begins to: `write` says whether there is more of it. What it appended is kept then, and goes
    /// with the rest; see [`Connection::go_on`].
    #[inline]
    pub fn begin(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<Option<Unfinished>, SendError> {
        self.outward.begin(MessageType::Message, self.id.0, write)
    }

    /// Of which request.
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// The longest response that the client takes.
    pub fn most(&self) -> usize {
        self.outward.most()
    }
}

/// One connection from a client.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    state: State,
    stream: Stream,
    exchange: Option<Exchange>,
    job: Option<Job<Done>>,
    /// The client's certificate, once trusted.
    peer: Option<Certificate>,
    /// Its share of the newest keys.
    client_nonce: Vec<u8>,
    open_deadline: Instant,
    next_token: u32,
    /// When a chunk began to come that is not here yet.
    begun: Option<Instant>,
    /// Which message began to come that the transport does not show whole, and when.
    begun_below: Option<(u64, Instant)>,
    event: Option<Event<'static>>,
    /// How long responses may be as agreed in the hello, where a session said that they are to be shorter.
    agreed: Option<u32>,
    /// What a log says of it belongs together.
    span: Span,
}

impl Connection {
    /// Begins by waiting for a hello, or by sending a ReverseHello.
    pub fn new(config: Config, now: Now) -> Self {
        let mut connection = Self {
            stream: Stream::new(Role::Server, config.limits),
            state: State::AwaitHello,
            exchange: None,
            job: None,
            peer: None,
            client_nonce: Vec::new(),
            open_deadline: now.mono + config.timeout,
            next_token: 1,
            begun: None,
            begun_below: None,
            event: None,
            agreed: None,
            span: debug_span!("server", channel = config.channel_id),
            config,
        };
        if let Some(budget) = &connection.config.budget {
            connection.stream.assembly.count(budget.hold());
        }
        if connection.config.shared_channel {
            let channel_id = connection.config.channel_id;
            connection.state = State::Channel;
            if let Err(error) = connection.stream.share(channel_id, now.mono) {
                connection.end(error);
            }
        }
        if let Some((server_uri, endpoint_url)) = &connection.config.reverse {
            let reverse = ReverseHello {
                server_uri,
                endpoint_url,
            };
            reverse.write(connection.stream.outbox.tail());
        }
        connection
    }

    /// Room for bytes from the socket, at least `least` of them.
    pub fn space(&mut self, least: usize) -> &mut [u8] {
        self.stream.inbox.space(least)
    }

    /// Says that `n` bytes of [`space`](Self::space) were filled.
    pub fn filled(&mut self, n: usize) {
        self.stream.inbox.filled(n);
    }

    /// Takes bytes that lie elsewhere.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.stream.inbox.extend(bytes);
    }

    /// What to write to the socket.
    pub fn pending(&self) -> &[u8] {
        self.stream.outbox.pending()
    }

    /// Says that the first `n` bytes of [`pending`](Self::pending) were written.
    pub fn wrote(&mut self, n: usize) {
        self.stream.outbox.wrote(n);
    }

    /// How many bytes wait to be written: a slow reader shows here.
    pub fn backlog(&self) -> usize {
        self.stream.outbox.len()
    }

    /// Lends memory to receive into; its length is the room there is. What had come before is
    /// copied to its beginning. To be had back with [`reclaim_inbox`](Self::reclaim_inbox).
    pub fn lend_inbox(&mut self, memory: Vec<u8>) {
        self.stream.inbox.lend(memory);
    }

    /// Takes the memory back. A message that has not come to its end moves into memory of its
    /// own, so that a connection holds no more than what waits in it.
    pub fn reclaim_inbox(&mut self) -> Vec<u8> {
        self.stream.assembly.shrink(KEEP);
        self.stream.inbox.reclaim()
    }

    /// Bytes that came and were not looked at.
    pub fn unread(&self) -> usize {
        self.stream.inbox.len()
    }

    /// Whether a part of a message came and the rest did not: its time is limited then.
    #[inline]
    pub fn is_unfinished(&self) -> bool {
        let begun = self.begun.is_some() || self.begun_below.is_some();
        begun || self.stream.assembly.since().is_some()
    }

    /// The transport has a part of this message, or of none.
    #[inline]
    pub fn has_begun_below(&mut self, message: Option<u64>, now: Now) {
        let before = self.begun_below;
        self.begun_below = message.map(|message| match before {
            Some((of, since)) if of == message => (of, since),
            _ => (message, now.mono),
        });
    }

    /// What is unfinished has all its time once more: its rest may be here, but nobody read it.
    pub fn wait_anew(&mut self, now: Now) {
        self.begun = self.begun.map(|_| now.mono);
        self.begun_below = self.begun_below.map(|(of, _)| (of, now.mono));
        self.stream.assembly.begin_anew(now.mono);
    }

    /// When a message has to be finished.
    fn message_deadline(&self) -> Option<Instant> {
        let below = self.begun_below.map(|(_, since)| since);
        let since = [self.begun, below, self.stream.assembly.since()];
        let since = since.into_iter().flatten().min();
        since.map(|since| since + self.config.message_timeout)
    }

    /// Lends memory to send from, if there is none. False, and nothing was taken, if there is.
    pub fn lend_outbox(&mut self, memory: &mut Vec<u8>) -> bool {
        self.stream.outbox.lend(memory)
    }

    /// Takes the memory to send from, if all of it was sent.
    pub fn reclaim_outbox(&mut self) -> Option<Vec<u8>> {
        self.stream.outbox.reclaim()
    }

    /// Gives memory back that nothing to be sent is in: for a connection that is not expected to go on soon.
    pub fn shrink_outbox(&mut self) {
        self.stream.outbox.shrink();
    }

    /// Expensive work to be run, on any thread, and handed back with
    /// [`complete`](Self::complete).
    pub fn poll_job(&mut self) -> Option<Job<Done>> {
        self.job.take()
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// What the client chose; None until the channel is open.
    pub fn protection(&self) -> Protection {
        self.stream.protection()
    }

    /// The client's certificate: trusted, and proven by its signature once the channel is open.
    pub fn peer(&self) -> Option<&Certificate> {
        self.peer.as_ref()
    }

    /// The sizes agreed on, once the client said hello.
    pub fn limits(&self) -> &Limits {
        &self.stream.limits
    }

    /// The longest body of a response that the client takes.
    pub fn most(&mut self) -> usize {
        self.stream.split(None).1.most()
    }

    /// Holds responses to a size beside what the client said in its hello; 0 is none (Part 4, 5.6.2:
    /// maxResponseMessageSize).
    pub fn limit_responses(&mut self, bytes: u32) {
        let agreed = *self.agreed.get_or_insert(self.stream.limits.send_message);
        self.stream.limits.send_message = match (agreed, bytes) {
            (0, limit) | (limit, 0) => limit,
            (one, other) => one.min(other),
        };
    }

    /// What a log says of this connection is said inside of it.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// The number of the channel.
    pub fn channel_id(&self) -> u32 {
        self.config.channel_id
    }

    /// Sends a response. `write` appends its encoded body.
    pub fn respond(
        &mut self,
        id: RequestId,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        match self.state {
            State::Channel => self.stream.send(MessageType::Message, id.0, write),
            _ => Err(SendError::NotOpen),
        }
    }

    /// Sends a response, or begins to, as [`Reply::begin`] does.
    pub fn begin(
        &mut self,
        id: RequestId,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<Option<Unfinished>, SendError> {
        match self.state {
            State::Channel => {
                let mut outward = self.stream.split(None).1;
                outward.begin(MessageType::Message, id.0, write)
            }
            _ => Err(SendError::NotOpen),
        }
    }

    /// Sends more of a response that was [begun](Reply::begin). `write` appends it, and says whether there is more to
    /// come; so does the answer. Only the caller can see to it that nothing else is sent in between.
    ///
    /// A response that grows larger than the client takes is an error, and there is no more of it to send. It is aborted,
    /// unless nothing of it [is on its way](Unfinished::has_begun): then it is for the caller to say so with another one.
    pub fn go_on(
        &mut self,
        unfinished: &mut Unfinished,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<bool, SendError> {
        match self.state {
            State::Channel => self.stream.split(None).1.go_on(unfinished, write),
            _ => Err(SendError::NotOpen),
        }
    }

    /// Says with an abort chunk that there will be no response.
    pub fn abort(&mut self, id: RequestId, status: StatusCode) -> Result<(), SendError> {
        let error = ErrorMessage {
            status,
            reason: String::new(),
        };
        match self.state {
            State::Channel => self.stream.split(None).1.abort(id.0, &error),
            _ => Err(SendError::NotOpen),
        }
    }

    /// Ends the connection and tells the client why.
    pub fn shut(&mut self, status: StatusCode, reason: &str) {
        if !self.is_closed() {
            self.stream.send_error(&ErrorMessage {
                status,
                reason: reason.to_owned(),
            });
            self.end(ChannelError::Closed);
        }
    }

    /// Says that the socket has ended.
    pub fn lost(&mut self) {
        self.end(ChannelError::Closed);
    }

    fn end(&mut self, reason: ChannelError) {
        if !self.is_closed() {
            self.span.in_scope(|| debug!(%reason, "connection ended"));
            self.exchange = None;
            self.job = None;
            self.stream.outbox.abandon();
            self.state = State::Ended(Some(reason));
        }
    }

    fn fail(&mut self, error: ChannelError) {
        let answered = matches!(error, ChannelError::Closed | ChannelError::Peer(_));
        if !self.is_closed() && !answered {
            self.stream.send_error(&error.message());
        }
        self.end(error);
    }

    /// The next moment at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Ended(_) => None,
            _ => [self.channel_deadline(), self.message_deadline()]
                .into_iter()
                .flatten()
                .min(),
        }
    }

    fn channel_deadline(&self) -> Option<Instant> {
        match self.state {
            State::Ended(_) => None,
            _ if self.config.shared_channel => None,
            _ => Some(match self.stream.tokens.newest() {
                Some(token) => {
                    let expires = self.stream.tokens.expires_at();
                    expires.map_or(token.dies_at(), |at| at.min(token.dies_at()))
                }
                None => self.open_deadline,
            }),
        }
    }

    /// Ends what took too long, and the use of keys that have expired.
    pub fn handle_timeout(&mut self, now: Now) {
        self.stream.tokens.expire(now.mono);
        if self.channel_deadline().is_some_and(|at| now.mono >= at) {
            let error = match self.stream.tokens.newest() {
                Some(token) => ChannelError::Token(token.id),
                None => ChannelError::Timeout("waiting for the client to open a secure channel"),
            };
            self.fail(error);
        }
        if self.message_deadline().is_some_and(|at| now.mono >= at) {
            self.fail(ChannelError::Timeout("waiting for the rest of a message"));
        }
    }

    /// The next thing that happened. To be called until there is none.
    pub fn poll_event(&mut self, now: Now) -> Option<Event<'_>> {
        match self.advance(now)? {
            Happened::Request(id, body) => Some(Event::Request {
                id,
                body: self.stream.body(body),
            }),
            Happened::Other(event) => Some(event),
        }
    }

    /// The same, for a caller who answers requests where they lie.
    #[inline]
    pub fn poll(&mut self, now: Now) -> Option<Polled<'_>> {
        match self.advance(now)? {
            Happened::Request(id, body) => {
                let (body, outward) = self.stream.split(Some(body));
                let reply = Reply { outward, id };
                Some(Polled::Request { id, body, reply })
            }
            Happened::Other(event) => Some(Polled::Other(event)),
        }
    }

    fn advance(&mut self, now: Now) -> Option<Happened> {
        loop {
            if let Some(event) = self.event.take() {
                return Some(Happened::Other(event));
            }
            if let State::Ended(reason) = &mut self.state {
                return reason.take().map(Event::Closed).map(Happened::Other);
            }
            if let Some(Exchange::Trust { .. } | Exchange::Opening) = self.exchange {
                return None;
            }
            match self.next_chunk(now) {
                Ok(Some(Some(happened))) => return Some(happened),
                Ok(Some(None)) => {}
                Ok(None) => return None,
                Err(error) => self.fail(error),
            }
        }
    }

    /// Reads one chunk. `None`: there is no whole one. `Some(None)`: it was nothing to tell.
    fn next_chunk(&mut self, now: Now) -> Result<Option<Option<Happened>>, ChannelError> {
        let limit = self.stream.limits.receive_buffer;
        let Some((header, range)) = self.stream.inbox.next_chunk(limit)? else {
            if !self.stream.inbox.is_empty() {
                self.begun.get_or_insert(now.mono);
            }
            return Ok(None);
        };
        self.begun = None;
        let event = match (&self.state, header.message) {
            (_, MessageType::Error) => return Err(self.stream.error(range)),
            (State::AwaitHello, MessageType::Hello) => Some(self.hello(range)?),
            (State::Channel, MessageType::Open) => self.open_request(range, now)?,
            (State::Channel, MessageType::Message | MessageType::Close) => {
                return Ok(Some(self.request(header, range, now)?));
            }
            (_, message) => {
                let what = format!("{message:?} from the client at this point");
                return Err(ChannelError::Unexpected(what.into()));
            }
        };
        Ok(Some(event.map(Happened::Other)))
    }

    fn hello(&mut self, range: Range<usize>) -> Result<Event<'static>, ChannelError> {
        let chunk = self.stream.inbox.chunk(range);
        let hello = Hello::parse(chunk.get(HEADER_LEN..).unwrap_or_default())?;
        let (limits, answer) = self.config.limits.accept(&hello)?;
        let endpoint_url = hello.endpoint_url.to_owned();
        self.span
            .in_scope(|| debug!(url = %endpoint_url, ?limits, "hello"));
        self.stream.limits = limits;
        answer.write(self.stream.outbox.tail());
        self.state = State::Channel;
        Ok(Event::Hello { endpoint_url })
    }

    fn request(
        &mut self,
        header: Header,
        range: Range<usize>,
        now: Now,
    ) -> Result<Option<Happened>, ChannelError> {
        match self.stream.receive(header, range, now.mono)? {
            Arrival::More => Ok(None),
            Arrival::Message {
                message: MessageType::Close,
                ..
            } => Err(ChannelError::Closed),
            Arrival::Message {
                request_id, body, ..
            } => Ok(Some(Happened::Request(RequestId(request_id), body))),
            Arrival::Aborted { error, .. } => Ok(Some(Happened::Other(Event::Aborted { error }))),
        }
    }
}
