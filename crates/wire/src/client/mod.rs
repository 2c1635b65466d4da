//! The client's end of a connection: hello, SecureChannel, requests and their responses.
//!
//! A [`Connection`] is fed and asked in turn:
//!
//! - bytes from the socket go into [`space`](Connection::space) and are told with
//!   [`filled`](Connection::filled);
//! - [`poll_event`](Connection::poll_event) says what they meant, one event after another;
//! - [`poll_job`](Connection::poll_job) gives expensive work to be run and handed back with
//!   [`complete`](Connection::complete);
//! - [`pending`](Connection::pending) is what to write, [`wrote`](Connection::wrote) how much of
//!   it the socket took;
//! - [`poll_timeout`](Connection::poll_timeout) is when to call
//!   [`handle_timeout`](Connection::handle_timeout) if nothing else happens before.

mod config;
mod event;
mod in_flight;
mod opening;

pub use config::{Config, Vouch};
pub use event::Event;
pub use in_flight::{MAX_IN_FLIGHT, RequestId};
pub use opening::Done;

use std::time::Duration;

use opcua_types::StatusCode;
use tracing::{Span, debug, debug_span, field};

use crate::channel::stream::{Arrival, Body, Stream};
use crate::channel::tokens::{Role, Token};
use crate::channel::{ChannelError, Protection, SendError};
use crate::frame::{
    Acknowledge, ErrorMessage, HEADER_LEN, Header, Limits, MessageType, ReverseHello,
};
use crate::job::Job;
use crate::template::walk::ResponseHead;
use crate::time::{Instant, Now};
use in_flight::InFlight;
use opening::Exchange;

#[derive(Debug)]
enum State {
    AwaitReverse,
    AwaitAcknowledge,
    /// From the first OPN on; open once there is a token.
    Channel,
    /// The reason is kept until all that wait were told.
    Ended(Option<ChannelError>),
}

/// A whole event without its bytes, which are looked up at the very end.
enum Happened {
    Response(RequestId, Body),
    Other(Event<'static>),
}

/// One connection to a server. It begins with its hello waiting to be written.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    state: State,
    stream: Stream,
    in_flight: InFlight,
    exchange: Option<Exchange>,
    job: Option<Job<Done>>,
    /// Until the hello is answered.
    hello_deadline: Instant,
    opened: Option<(Duration, bool)>,
    /// The server's share of the newest keys.
    server_nonce: Vec<u8>,
    /// The number of the newest OPN request.
    opened_as: u16,
    /// What a log says of it belongs together.
    span: Span,
}

impl Connection {
    /// Begins. With policy None nothing but the configuration's URL and limits matters.
    pub fn new(config: Config, now: Now) -> Self {
        let mut connection = Self {
            stream: Stream::new(Role::Client, config.limits),
            state: State::AwaitReverse,
            in_flight: InFlight::default(),
            exchange: None,
            job: None,
            hello_deadline: now.mono + config.timeout,
            opened: None,
            server_nonce: Vec::new(),
            opened_as: 0,
            span: debug_span!("client", url = %config.endpoint_url, channel = field::Empty),
            config,
        };
        connection.stream.protect(connection.config.protection);
        match connection.config.shared_channel {
            Some(channel_id) => connection.share(channel_id, now),
            None if connection.config.reverse => {}
            None => connection.hello(),
        }
        connection
    }

    /// The channel is there without a word.
    fn share(&mut self, channel_id: u32, now: Now) {
        self.state = State::Channel;
        // Nothing says how long a message may be, and none has to be cut.
        self.stream.limits.send_buffer = u32::MAX;
        match self.stream.share(channel_id, now.mono) {
            Ok(()) => self.opened = Some((Duration::MAX, false)),
            Err(error) => self.end(error),
        }
    }

    fn hello(&mut self) {
        self.span.in_scope(|| debug!("hello sent"));
        let hello = self.config.limits.hello(&self.config.endpoint_url);
        hello.write(self.stream.outbox.tail());
        self.state = State::AwaitAcknowledge;
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

    /// Gives back the memory of its buffers, as far as nothing waits in it: a connection that will be idle
    /// weighs little.
    pub fn rest(&mut self) {
        drop(self.stream.inbox.reclaim());
        drop(self.stream.outbox.reclaim());
    }

    /// What to write to the socket.
    pub fn pending(&self) -> &[u8] {
        self.stream.outbox.pending()
    }

    /// Says that the first `n` bytes of [`pending`](Self::pending) were written.
    pub fn wrote(&mut self, n: usize) {
        self.stream.outbox.wrote(n);
    }

    /// Expensive work to be run, on any thread, and handed back with
    /// [`complete`](Self::complete).
    pub fn poll_job(&mut self) -> Option<Job<Done>> {
        self.job.take()
    }

    /// Whether requests can be sent.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Channel) && self.stream.tokens.sending().is_some()
    }

    /// Whether its channel is one that all connections share, and that nobody opens or renews.
    pub fn is_shared(&self) -> bool {
        self.config.shared_channel.is_some()
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// The sizes agreed on, once acknowledged.
    pub fn limits(&self) -> &Limits {
        &self.stream.limits
    }

    /// What a log says of this connection is said inside of it.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Policy and mode of the channel.
    pub fn protection(&self) -> Protection {
        self.config.protection
    }

    /// The server's number for the channel, 0 before it is open.
    pub fn channel_id(&self) -> u32 {
        self.stream.channel_id
    }

    /// How many requests wait for their response.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Sends a request. `write` appends its encoded body and is given the request's number to
    /// put into the header as RequestHandle.
    pub fn send(
        &mut self,
        deadline: Instant,
        write: impl FnOnce(&mut Vec<u8>, u32),
    ) -> Result<RequestId, SendError> {
        if !self.is_open() {
            return Err(SendError::NotOpen);
        }
        let id = self
            .in_flight
            .insert(deadline)
            .ok_or(SendError::TooManyInFlight)?;
        let number = id.number();
        let sent = self
            .stream
            .send(MessageType::Message, number, |out| write(out, number));
        if sent.is_err() {
            self.in_flight.remove(id);
        }
        sent.map(|()| id)
    }

    /// Gives a request up: its response, should it come, is [`Event::Late`].
    pub fn forget(&mut self, id: RequestId) {
        self.in_flight.remove(id);
    }

    /// Gives one of the requests that still wait up and tells which, until there is none.
    pub fn give_up(&mut self) -> Option<RequestId> {
        self.in_flight.drain()
    }

    /// Closes the channel in good order: the message waits to be written, then the socket is to
    /// be closed.
    pub fn close(&mut self, now: Now) {
        if self.is_open() {
            let handle = self.in_flight.insert(now.mono).map_or(1, RequestId::number);
            let body = close_request(handle, now.utc);
            // A failure changes nothing: the connection ends.
            let _ = self.stream.send(MessageType::Close, handle, |out| {
                out.extend_from_slice(&body)
            });
            self.in_flight.remove(RequestId(handle));
        }
        self.end(ChannelError::Closed);
    }

    /// Says that the socket has ended, in good order or not.
    pub fn lost(&mut self, what: &'static str) {
        self.end(ChannelError::Peer(ErrorMessage {
            status: StatusCode::BadConnectionClosed,
            reason: what.into(),
        }));
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

    /// The next moment at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let of_state = match self.state {
            State::AwaitReverse => None,
            State::AwaitAcknowledge => Some(self.hello_deadline),
            State::Channel => match &self.exchange {
                Some(exchange) => Some(exchange.deadline),
                None if self.config.shared_channel.is_some() => None,
                None => self.stream.tokens.newest().map(Token::renew_at),
            },
            State::Ended(_) => return None,
        };
        [of_state, self.in_flight.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Renews the channel when it is time, and gives up what has taken too long. Requests that
    /// have timed out are told by [`poll_event`](Self::poll_event).
    pub fn handle_timeout(&mut self, now: Now) {
        match (&self.state, &self.exchange) {
            (State::AwaitAcknowledge, _) if now.mono >= self.hello_deadline => {
                self.end(ChannelError::Timeout("waiting for the answer to the hello"));
            }
            (State::Channel, Some(exchange)) if now.mono >= exchange.deadline => {
                let doing = match exchange.renew {
                    true => "renewing the secure channel",
                    false => "opening the secure channel",
                };
                self.end(ChannelError::Timeout(doing));
            }
            (State::Channel, None) if self.config.shared_channel.is_none() => {
                let newest = self.stream.tokens.newest();
                if newest.is_some_and(|token| now.mono >= token.renew_at()) {
                    self.open(true, now);
                }
            }
            _ => {}
        }
    }

    /// Renews the channel now, whatever its age. Nothing happens if that is under way already.
    pub fn renew(&mut self, now: Now) {
        let is_shared = self.config.shared_channel.is_some();
        if self.is_open() && self.exchange.is_none() && !is_shared {
            self.open(true, now);
        }
    }

    /// The next thing that happened. To be called until there is none.
    pub fn poll_event(&mut self, now: Now) -> Option<Event<'_>> {
        match self.advance(now)? {
            Happened::Response(id, body) => Some(Event::Response {
                id,
                body: self.stream.body(body),
            }),
            Happened::Other(event) => Some(event),
        }
    }

    fn advance(&mut self, now: Now) -> Option<Happened> {
        if let Some(event) = self.own_event() {
            return Some(Happened::Other(event));
        }
        loop {
            let waiting = |exchange: &Exchange| exchange.opening;
            if self.is_closed() || self.exchange.as_ref().is_some_and(waiting) {
                break;
            }
            match self.next_chunk(now) {
                Ok(Some(Some(happened))) => return Some(happened),
                Ok(Some(None)) => {
                    if let Some(event) = self.own_event() {
                        return Some(Happened::Other(event));
                    }
                }
                Ok(None) => break,
                Err(error) => self.end(error),
            }
        }
        // What has come is looked at first: whoever was away finds answers that came in time.
        let last = self.own_event();
        let last = last.or_else(|| self.in_flight.expire(now.mono).map(Event::TimedOut));
        last.map(Happened::Other)
    }

    /// What does not come from the socket directly.
    fn own_event(&mut self) -> Option<Event<'static>> {
        if let Some((lifetime, renewed)) = self.opened.take() {
            let channel_id = self.stream.channel_id;
            return Some(Event::Opened {
                channel_id,
                lifetime,
                renewed,
            });
        }
        if let State::Ended(reason) = &mut self.state {
            if let Some(id) = self.in_flight.drain() {
                return Some(Event::Unanswered(id));
            }
            return reason.take().map(Event::Closed);
        }
        None
    }

    /// Reads one chunk. `None`: there is no whole one. `Some(None)`: it was nothing to tell.
    fn next_chunk(&mut self, now: Now) -> Result<Option<Option<Happened>>, ChannelError> {
        let limit = self.stream.limits.receive_buffer;
        let Some((header, range)) = self.stream.inbox.next_chunk(limit)? else {
            return Ok(None);
        };
        let happened = match (&self.state, header.message) {
            (_, MessageType::Error) => return Err(self.stream.error(range)),
            (State::AwaitReverse, MessageType::ReverseHello) => {
                let chunk = self.stream.inbox.chunk(range);
                let reverse = ReverseHello::parse(chunk.get(HEADER_LEN..).unwrap_or_default())?;
                let server_uri = reverse.server_uri.to_owned();
                let endpoint_url = reverse.endpoint_url.to_owned();
                // Part 6, 7.1.2.6: the hello repeats the URL the server gave.
                self.config.endpoint_url.clone_from(&endpoint_url);
                self.hello_deadline = now.mono + self.config.timeout;
                self.hello();
                Some(Event::Reversed {
                    server_uri,
                    endpoint_url,
                })
            }
            (State::AwaitAcknowledge, MessageType::Acknowledge) => {
                let chunk = self.stream.inbox.chunk(range);
                let answer = Acknowledge::parse(chunk.get(HEADER_LEN..).unwrap_or_default())?;
                self.stream.limits = self.config.limits.acknowledged(&answer)?;
                self.span
                    .in_scope(|| debug!(limits = ?self.stream.limits, "hello acknowledged"));
                self.state = State::Channel;
                self.open(false, now);
                Some(Event::Acknowledged(answer))
            }
            (State::Channel, MessageType::Open) => {
                self.open_response(range, now)?;
                None
            }
            (State::Channel, MessageType::Message) => {
                return Ok(Some(self.response(header, range, now)?));
            }
            (_, message) => {
                let what = format!("{message:?} from the server at this point");
                return Err(ChannelError::Unexpected(what.into()));
            }
        };
        Ok(Some(happened.map(Happened::Other)))
    }

    fn response(
        &mut self,
        header: Header,
        range: std::ops::Range<usize>,
        now: Now,
    ) -> Result<Option<Happened>, ChannelError> {
        let event = match self.stream.receive(header, range, now.mono)? {
            Arrival::More => return Ok(None),
            Arrival::Message {
                request_id, body, ..
            } => {
                let id = RequestId(request_id);
                if self.config.shared_channel.is_some() {
                    answers(self.stream.body(body.clone()), request_id)?;
                }
                if self.in_flight.remove(id) {
                    return Ok(Some(Happened::Response(id, body)));
                }
                Event::Late { number: request_id }
            }
            Arrival::Aborted { request_id, error } => {
                let id = RequestId(request_id);
                if self.in_flight.remove(id) {
                    Event::Aborted { id, error }
                } else {
                    Event::Late { number: request_id }
                }
            }
        };
        Ok(Some(Happened::Other(event)))
    }
}

/// Which request a response answers only its place says where HTTP carries it (RFC 9112, 9.3.2). A server that does not
/// keep to the order would be found out by nobody else.
fn answers(body: &[u8], request: u32) -> Result<(), ChannelError> {
    match ResponseHead::parse(body) {
        Ok(head) if head.request_handle != request && head.request_handle != 0 => {
            let what = format!(
                "the answer to request {} in the place of that to {request}: this server does not answer in order, \
                 so ask it for one thing at a time (--in-flight 1)",
                head.request_handle
            );
            Err(ChannelError::Unexpected(what.into()))
        }
        _ => Ok(()),
    }
}

/// CloseSecureChannelRequest: nothing but a header (Part 4, 5.6.3).
fn close_request(handle: u32, utc: i64) -> Vec<u8> {
    // NodeId i=452, four-byte form; null authentication token.
    let mut body = vec![1, 0, 0xc4, 1, 0, 0];
    body.extend_from_slice(&utc.to_le_bytes());
    body.extend_from_slice(&handle.to_le_bytes());
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(&(-1i32).to_le_bytes());
    // Timeout hint, and a null ExtensionObject.
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(&[0; 3]);
    body
}
