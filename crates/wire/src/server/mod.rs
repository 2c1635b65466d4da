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
use crate::channel::asymmetric::Parties;
use crate::channel::established::{Established, Numbers};
use crate::channel::secure::{Closed, SecureChannel};
use crate::channel::stream::{Arrival, Body, Outward, Stream};
use crate::channel::tokens::Role;
use crate::channel::{ChannelError, Protection, SendError};
use crate::frame::{ErrorMessage, HEADER_LEN, Hello, Limits, MessageType, ReverseHello};
use crate::job::Job;
use crate::time::{Instant, Now};
use opening::{Exchange, Opening, Request};

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

/// How far the connection is. What comes before a channel has ended with it, whatever it was.
#[derive(Debug)]
enum ConnectionState {
    AwaitHello { deadline: Instant },
    Channel(SecureChannel<Opening, Exchange>),
}

impl ConnectionState {
    /// The channel, if requests and responses go.
    #[inline]
    fn established_mut(&mut self) -> Option<&mut Established> {
        match self {
            Self::Channel(channel) => channel.established_mut(),
            Self::AwaitHello { .. } => None,
        }
    }

    /// What the channel is protected with; None until it is open.
    fn protection(&self) -> Protection {
        match self {
            Self::Channel(channel) => channel.protection(),
            Self::AwaitHello { .. } => Protection::NONE,
        }
    }

    /// The client's certificate, once it is trusted.
    fn peer(&self) -> Option<&Certificate> {
        let Self::Channel(channel) = self else {
            return None;
        };
        match channel {
            SecureChannel::Opening(_, opening) => match &opening.request {
                Request::Decrypting(parties) => parties.as_ref().map(Parties::peer),
                Request::Awaited | Request::Trust(_) => None,
            },
            SecureChannel::Open(established)
            | SecureChannel::Renewing(established, _)
            | SecureChannel::Shared(established) => established.parties().map(Parties::peer),
            SecureChannel::Closing(closed) => closed.peer.as_ref(),
        }
    }
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
    /// with the rest; see [`Connection::send_more`].
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
    state: ConnectionState,
    stream: Stream,
    /// Work to be fetched.
    job: Option<Job<Done>>,
    /// When a chunk began to come that is not here yet.
    begun: Option<Instant>,
    /// Which message began to come that the transport does not show whole, and when.
    begun_below: Option<(u64, Instant)>,
    /// To be told before anything else.
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
            stream: Stream::new(config.limits),
            state: ConnectionState::AwaitHello {
                deadline: now.mono + config.timeout,
            },
            job: None,
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
            let shared = SecureChannel::shared(Role::Server, channel_id, now.mono);
            connection.state = ConnectionState::Channel(shared);
            connection.stream.share();
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
    #[inline]
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
    #[inline]
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
    #[inline]
    pub fn poll_job(&mut self) -> Option<Job<Done>> {
        self.job.take()
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::Channel(SecureChannel::Closing(_))
        )
    }

    /// What the client chose; None until the channel is open.
    pub fn protection(&self) -> Protection {
        self.state.protection()
    }

    /// The client's certificate: trusted, and proven by its signature once the channel is open.
    pub fn peer(&self) -> Option<&Certificate> {
        self.state.peer()
    }

    /// The sizes agreed on, once the client said hello.
    pub fn limits(&self) -> &Limits {
        &self.stream.limits
    }

    /// The longest body of a response that the client takes.
    pub fn most(&mut self) -> usize {
        match self.state.established_mut() {
            Some(channel) => self.stream.outward(channel).most(),
            None => usize::MAX,
        }
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
    #[inline]
    pub fn channel_id(&self) -> u32 {
        self.config.channel_id
    }

    /// Sends a response. `write` appends its encoded body.
    pub fn respond(
        &mut self,
        id: RequestId,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        self.outward()?.send(MessageType::Message, id.0, write)
    }

    /// Sends a response, or begins to, as [`Reply::begin`] does.
    pub fn begin(
        &mut self,
        id: RequestId,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<Option<Unfinished>, SendError> {
        self.outward()?.begin(MessageType::Message, id.0, write)
    }

    /// Sends more of a response that was [begun](Reply::begin). `write` appends it, and says whether there is more to
    /// come; so does the answer. Only the caller can see to it that nothing else is sent in between.
    ///
    /// A response that grows larger than the client takes is an error, and there is no more of it to send. It is aborted,
    /// unless nothing of it [is on its way](Unfinished::has_begun): then it is for the caller to say so with another one.
    pub fn send_more(
        &mut self,
        unfinished: &mut Unfinished,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<bool, SendError> {
        self.outward()?.send_more(unfinished, write)
    }

    /// Says with an abort chunk that there will be no response.
    pub fn abort(&mut self, id: RequestId, status: StatusCode) -> Result<(), SendError> {
        let error = ErrorMessage {
            status,
            reason: String::new(),
        };
        self.outward()?.abort(id.0, &error)
    }

    #[inline]
    fn outward(&mut self) -> Result<Outward<'_>, SendError> {
        let channel = self.state.established_mut().ok_or(SendError::NotOpen)?;
        Ok(self.stream.outward(channel))
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
            self.job = None;
            self.stream.outbox.abandon();
            self.state = ConnectionState::Channel(SecureChannel::Closing(Closed {
                reason: Some(reason),
                id: self.config.channel_id,
                protection: self.state.protection(),
                peer: self.state.peer().cloned(),
            }));
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
        if self.is_closed() {
            return None;
        }
        [self.channel_deadline(), self.message_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn channel_deadline(&self) -> Option<Instant> {
        match &self.state {
            ConnectionState::AwaitHello { deadline } => Some(*deadline),
            ConnectionState::Channel(channel) => match channel {
                SecureChannel::Opening(_, opening) => Some(opening.deadline),
                SecureChannel::Open(established) | SecureChannel::Renewing(established, _) => {
                    Some(established.tokens.ends_at())
                }
                SecureChannel::Shared(_) | SecureChannel::Closing(_) => None,
            },
        }
    }

    /// Ends what took too long, and the use of keys that have expired.
    pub fn handle_timeout(&mut self, now: Now) {
        if let Some(channel) = self.state.established_mut() {
            channel.tokens.expire(now.mono);
        }
        if self.channel_deadline().is_some_and(|at| now.mono >= at) {
            let error = match self.state.established_mut() {
                Some(channel) => ChannelError::Token(channel.tokens.newest().id),
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
                // A request came over a channel, which has not ended in the meantime.
                let channel = self.state.established_mut()?;
                let (body, outward) = self.stream.split(body, channel);
                let reply = Reply { outward, id };
                Some(Polled::Request { id, body, reply })
            }
            Happened::Other(event) => Some(Polled::Other(event)),
        }
    }

    fn advance(&mut self, now: Now) -> Option<Happened> {
        loop {
            // Looked at first: to take it is to move it, even where there is none.
            if self.event.is_some() {
                return self.event.take().map(Happened::Other);
            }
            match &mut self.state {
                ConnectionState::Channel(SecureChannel::Closing(closed)) => {
                    return closed.reason.take().map(Event::Closed).map(Happened::Other);
                }
                ConnectionState::Channel(SecureChannel::Opening(_, it)) if it.request.blocks() => {
                    return None;
                }
                ConnectionState::Channel(SecureChannel::Renewing(_, it)) if it.blocks() => {
                    return None;
                }
                _ => {}
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
        let event = match (&mut self.state, header.message) {
            (_, MessageType::Error) => return Err(self.stream.error(range)),
            (ConnectionState::AwaitHello { deadline }, MessageType::Hello) => {
                let deadline = *deadline;
                Some(self.hello(range, deadline)?)
            }
            (ConnectionState::Channel(_), MessageType::Open) => self.open_request(range, now)?,
            (ConnectionState::Channel(channel), MessageType::Message | MessageType::Close) => {
                let arrival = channel.receive(&mut self.stream, header, range, now.mono)?;
                return Ok(Some(request(arrival)?));
            }
            (_, message) => {
                let what = format!("{message:?} from the client at this point");
                return Err(ChannelError::Unexpected(what.into()));
            }
        };
        Ok(Some(event.map(Happened::Other)))
    }

    /// Until the deadline of the hello the channel has to be open, too.
    fn hello(
        &mut self,
        range: Range<usize>,
        deadline: Instant,
    ) -> Result<Event<'static>, ChannelError> {
        let chunk = self.stream.inbox.chunk(range);
        let hello = Hello::parse(chunk.get(HEADER_LEN..).unwrap_or_default())?;
        let (limits, answer) = self.config.limits.accept(&hello)?;
        let endpoint_url = hello.endpoint_url.to_owned();
        self.span
            .in_scope(|| debug!(url = %endpoint_url, ?limits, "hello"));
        self.stream.limits = limits;
        answer.write(self.stream.outbox.tail());
        let opening = Opening {
            deadline,
            request: Request::Awaited,
        };
        let numbers = Numbers::of(Protection::NONE);
        self.state = ConnectionState::Channel(SecureChannel::Opening(numbers, opening));
        Ok(Event::Hello { endpoint_url })
    }
}

fn request(arrival: Arrival) -> Result<Option<Happened>, ChannelError> {
    match arrival {
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
