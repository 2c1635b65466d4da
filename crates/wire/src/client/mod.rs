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

pub use config::{CertificateCheck, Config};
pub use event::Event;
pub use in_flight::{MAX_IN_FLIGHT, RequestId};
pub use opening::Done;

use std::time::Duration;

use opcua_types::StatusCode;
use tracing::{Span, debug, debug_span, field};

use crate::channel::established::Established;
use crate::channel::secure::{Closed, SecureChannel};
use crate::channel::stream::{Arrival, Body, Stream};
use crate::channel::tokens::Role;
use crate::channel::{ChannelError, Protection, SendError};
use crate::frame::{Acknowledge, ErrorMessage, HEADER_LEN, Limits, MessageType, ReverseHello};
use crate::job::Job;
use crate::template::walk::ResponseHead;
use crate::time::{Instant, Now};
use in_flight::InFlight;
use opening::{Exchange, Opening};

/// How far the connection is. What comes before a channel has ended with it, whatever it was.
#[derive(Debug)]
enum ConnectionState {
    AwaitReverse,
    AwaitAcknowledge { deadline: Instant },
    Channel(SecureChannel<Opening, Exchange>),
}

impl ConnectionState {
    /// The channel, if requests and responses go.
    #[inline]
    fn established_mut(&mut self) -> Option<&mut Established> {
        match self {
            Self::Channel(channel) => channel.established_mut(),
            Self::AwaitReverse | Self::AwaitAcknowledge { .. } => None,
        }
    }

    /// What is left to tell, if the connection has ended.
    #[inline]
    fn closed_mut(&mut self) -> Option<&mut Closed> {
        match self {
            Self::Channel(SecureChannel::Closing(closed)) => Some(closed),
            _ => None,
        }
    }
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
    state: ConnectionState,
    stream: Stream,
    in_flight: InFlight,
    /// Work to be fetched.
    job: Option<Job<Done>>,
    /// To be told before anything else.
    event: Option<Event<'static>>,
    /// The number of the newest OPN request.
    opened_as: u16,
    /// What a log says of it belongs together.
    span: Span,
}

impl Connection {
    /// Begins. With policy None nothing but the configuration's URL and limits matters.
    pub fn new(config: Config, now: Now) -> Self {
        let mut connection = Self {
            stream: Stream::new(config.limits),
            state: ConnectionState::AwaitReverse,
            in_flight: InFlight::default(),
            job: None,
            event: None,
            opened_as: 0,
            span: debug_span!("client", url = %config.endpoint_url, channel = field::Empty),
            config,
        };
        match connection.config.shared_channel {
            Some(channel_id) => connection.share(channel_id, now),
            None if connection.config.reverse => {}
            None => connection.hello(now),
        }
        connection
    }

    /// The channel is there without a word.
    fn share(&mut self, channel_id: u32, now: Now) {
        self.state =
            ConnectionState::Channel(SecureChannel::shared(Role::Client, channel_id, now.mono));
        self.stream.share();
        // Nothing says how long a message may be, and none has to be cut.
        self.stream.limits.send_buffer = u32::MAX;
        self.event = Some(Event::Opened {
            channel_id,
            lifetime: Duration::MAX,
            renewed: false,
        });
    }

    fn hello(&mut self, now: Now) {
        self.span.in_scope(|| debug!("hello sent"));
        let hello = self.config.limits.hello(&self.config.endpoint_url);
        hello.write(self.stream.outbox.tail());
        self.state = ConnectionState::AwaitAcknowledge {
            deadline: now.mono + self.config.timeout,
        };
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
        match &self.state {
            ConnectionState::Channel(channel) => channel.established().is_some(),
            ConnectionState::AwaitReverse | ConnectionState::AwaitAcknowledge { .. } => false,
        }
    }

    /// Whether its channel is one that all connections share, and that nobody opens or renews.
    pub fn is_shared(&self) -> bool {
        self.config.shared_channel.is_some()
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::Channel(SecureChannel::Closing(_))
        )
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
        match &self.state {
            ConnectionState::Channel(channel) => channel.id(),
            ConnectionState::AwaitReverse | ConnectionState::AwaitAcknowledge { .. } => 0,
        }
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
        let channel = self.state.established_mut().ok_or(SendError::NotOpen)?;
        let id = self
            .in_flight
            .insert(deadline)
            .ok_or(SendError::TooManyInFlight)?;
        let number = id.number();
        let mut outward = self.stream.outward(channel);
        let sent = outward.send(MessageType::Message, number, |out| write(out, number));
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
        if let Some(channel) = self.state.established_mut() {
            let handle = self.in_flight.insert(now.mono).map_or(1, RequestId::number);
            let body = close_request(handle, now.utc);
            // A failure changes nothing: the connection ends.
            let mut outward = self.stream.outward(channel);
            let _ = outward.send(MessageType::Close, handle, |out| {
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
            self.job = None;
            self.stream.outbox.abandon();
            self.state = ConnectionState::Channel(SecureChannel::Closing(Closed {
                reason: Some(reason),
                id: self.channel_id(),
                protection: self.config.protection,
                peer: None,
            }));
        }
    }

    /// The next moment at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let of_state = match &self.state {
            ConnectionState::AwaitReverse => None,
            ConnectionState::AwaitAcknowledge { deadline } => Some(*deadline),
            ConnectionState::Channel(channel) => match channel {
                SecureChannel::Opening(_, opening) => Some(opening.exchange.deadline),
                SecureChannel::Open(established) => Some(established.tokens.newest().renew_at()),
                SecureChannel::Renewing(_, exchange) => Some(exchange.deadline),
                SecureChannel::Shared(_) => None,
                SecureChannel::Closing(_) => return None,
            },
        };
        [of_state, self.in_flight.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Renews the channel when it is time, and gives up what has taken too long. Requests that
    /// have timed out are told by [`poll_event`](Self::poll_event).
    pub fn handle_timeout(&mut self, now: Now) {
        let (deadline, doing) = match &self.state {
            ConnectionState::AwaitReverse => return,
            ConnectionState::AwaitAcknowledge { deadline } => {
                (*deadline, "waiting for the answer to the hello")
            }
            ConnectionState::Channel(channel) => match channel {
                SecureChannel::Opening(_, opening) => {
                    (opening.exchange.deadline, "opening the secure channel")
                }
                SecureChannel::Open(established) => {
                    if now.mono >= established.tokens.newest().renew_at() {
                        self.renew(now);
                    }
                    return;
                }
                SecureChannel::Renewing(_, exchange) => {
                    (exchange.deadline, "renewing the secure channel")
                }
                SecureChannel::Shared(_) | SecureChannel::Closing(_) => return,
            },
        };
        if now.mono >= deadline {
            self.end(ChannelError::Timeout(doing));
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
            match &self.state {
                ConnectionState::Channel(SecureChannel::Closing(_)) => break,
                ConnectionState::Channel(SecureChannel::Opening(_, it)) if it.exchange.blocks() => {
                    break;
                }
                ConnectionState::Channel(SecureChannel::Renewing(_, it)) if it.blocks() => break,
                _ => {}
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
        // Looked at first: to take it is to move it, even where there is none.
        if self.event.is_some() {
            return self.event.take();
        }
        // The reason is kept until all that wait were told.
        let closed = self.state.closed_mut()?;
        match self.in_flight.drain() {
            Some(id) => Some(Event::Unanswered(id)),
            None => closed.reason.take().map(Event::Closed),
        }
    }

    /// Reads one chunk. `None`: there is no whole one. `Some(None)`: it was nothing to tell.
    fn next_chunk(&mut self, now: Now) -> Result<Option<Option<Happened>>, ChannelError> {
        let limit = self.stream.limits.receive_buffer;
        let Some((header, range)) = self.stream.inbox.next_chunk(limit)? else {
            return Ok(None);
        };
        let happened = match (&mut self.state, header.message) {
            (_, MessageType::Error) => return Err(self.stream.error(range)),
            (ConnectionState::AwaitReverse, MessageType::ReverseHello) => {
                let chunk = self.stream.inbox.chunk(range);
                let reverse = ReverseHello::parse(chunk.get(HEADER_LEN..).unwrap_or_default())?;
                let server_uri = reverse.server_uri.to_owned();
                let endpoint_url = reverse.endpoint_url.to_owned();
                // Part 6, 7.1.2.6: the hello repeats the URL the server gave.
                self.config.endpoint_url.clone_from(&endpoint_url);
                self.hello(now);
                Some(Event::Reversed {
                    server_uri,
                    endpoint_url,
                })
            }
            (ConnectionState::AwaitAcknowledge { .. }, MessageType::Acknowledge) => {
                let chunk = self.stream.inbox.chunk(range);
                let answer = Acknowledge::parse(chunk.get(HEADER_LEN..).unwrap_or_default())?;
                self.stream.limits = self.config.limits.acknowledged(&answer)?;
                self.span
                    .in_scope(|| debug!(limits = ?self.stream.limits, "hello acknowledged"));
                self.open(now);
                Some(Event::Acknowledged(answer))
            }
            (ConnectionState::Channel(_), MessageType::Open) => {
                self.open_response(range, now)?;
                None
            }
            (ConnectionState::Channel(channel), MessageType::Message) => {
                let arrival = channel.receive(&mut self.stream, header, range, now.mono)?;
                return Ok(Some(self.response(arrival)?));
            }
            (_, message) => {
                let what = format!("{message:?} from the server at this point");
                return Err(ChannelError::Unexpected(what.into()));
            }
        };
        Ok(Some(happened.map(Happened::Other)))
    }

    fn response(&mut self, arrival: Arrival) -> Result<Option<Happened>, ChannelError> {
        let event = match arrival {
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
