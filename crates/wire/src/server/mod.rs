//! The server's end of a connection: hello, SecureChannel, requests and their responses.
//!
//! Driven as the client's is (see [`crate::client`]), with one question more: whether the
//! certificate of a client is trusted is the caller's to [`decide`](Connection::decide), before
//! anything is decrypted.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use opcua_types::StatusCode;

use crate::certificate::Certificate;
use crate::channel::asymmetric::{self, OpenHead, Opened, Unsealed, check_key};
use crate::channel::exchange::{OpenRequest, OpenResponse};
use crate::channel::stream::{Arrival, Body, Stream};
use crate::channel::tokens::{Role, Token};
use crate::channel::{ChannelError, Identity, Protection, Random, SendError};
use crate::frame::{
    ErrorMessage, Gap, HEADER_LEN, Header, Hello, Limits, MessageType, ReverseHello,
};
use crate::job::Job;
use crate::policy::Policy;
use crate::time::{Instant, Now};

/// What a server offers on a connection.
pub struct Config {
    /// What this side takes and will send at most.
    pub limits: Limits,
    /// The policies and modes on offer. None is always taken, because discovery needs it: what
    /// a client may do with it is for the services to say.
    pub protections: Vec<Protection>,
    /// Certificate and key, for any policy but None.
    pub identity: Option<Identity>,
    /// The number of the channel, unique within the server.
    pub channel_id: u32,
    /// The lifetimes that are granted.
    pub lifetime: RangeInclusive<Duration>,
    /// How long a client may take until its channel is open.
    pub timeout: Duration,
    /// Dial out: ServerUri and EndpointUrl for a ReverseHello.
    pub reverse: Option<(String, String)>,
    /// Where nonces come from.
    pub random: Random,
}

impl Config {
    /// An unprotected endpoint with the usual sizes and times.
    pub fn new(channel_id: u32, random: Random) -> Self {
        Self {
            limits: Limits::default(),
            protections: vec![Protection::NONE],
            identity: None,
            channel_id,
            lifetime: Duration::from_secs(10)..=Duration::from_secs(3600),
            timeout: Duration::from_secs(10),
            reverse: None,
            random,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("channel_id", &self.channel_id)
            .field("protections", &self.protections)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A request as this connection knows it: to be given back with its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u32);

impl RequestId {
    /// The number on the wire.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// What happened.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A client said hello and was answered.
    Hello {
        /// The endpoint it wants.
        endpoint_url: String,
    },
    /// A client wants to open a secured channel. Nothing goes on until the caller has said with
    /// [`Connection::decide`] whether it trusts the certificate.
    Certificate(Certificate),
    /// The channel is open, or has new keys.
    Opened {
        /// What the client chose.
        protection: Protection,
        /// The lifetime granted.
        lifetime: Duration,
        /// Whether this was a renewal.
        renewed: bool,
    },
    /// A request; its body is encoded, type first, and lies in the receive buffer.
    Request {
        /// To respond to it.
        id: RequestId,
        /// The body.
        body: &'a [u8],
    },
    /// The client gave up sending a request.
    Aborted {
        /// Why.
        error: ErrorMessage,
    },
    /// The connection has ended; what is pending may still be written.
    Closed(ChannelError),
}

#[derive(Debug)]
enum State {
    AwaitHello,
    Channel,
    Ended(Option<ChannelError>),
}

/// An OPN request on its way through trust, decryption and the signing of its response.
#[derive(Debug)]
enum Exchange {
    /// The caller has been asked.
    Trust {
        head: OpenHead,
        chunk: Vec<u8>,
        peer: Certificate,
    },
    /// It is being decrypted: nothing behind it is read before.
    Opening,
    /// The response is being signed, and its place kept free.
    Sealing(Gap),
}

/// The result of a job of a server's connection.
#[derive(Debug)]
pub struct Done(Outcome);

#[derive(Debug)]
enum Outcome {
    Opened(OpenHead, Result<Opened, ChannelError>),
    Sealed(Result<Vec<u8>, ChannelError>),
}

enum Happened {
    Request(RequestId, Body),
    Other(Event<'static>),
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
    open_deadline: Instant,
    next_token: u32,
    event: Option<Event<'static>>,
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
            open_deadline: now.mono + config.timeout,
            next_token: 1,
            event: None,
            config,
        };
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

    /// Says with an abort chunk that there will be no response.
    pub fn abort(&mut self, id: RequestId, status: StatusCode) -> Result<(), SendError> {
        let error = ErrorMessage {
            status,
            reason: String::new(),
        };
        match self.state {
            State::Channel => self.stream.send_abort(id.0, &error),
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
            _ => Some(match self.stream.tokens.newest() {
                Some(token) => token.dies_at(),
                None => self.open_deadline,
            }),
        }
    }

    /// Ends what took too long.
    pub fn handle_timeout(&mut self, now: Now) {
        if self.poll_timeout().is_some_and(|at| now.mono >= at) {
            let error = match self.stream.tokens.newest() {
                Some(token) => ChannelError::Token(token.id),
                None => ChannelError::Timeout("waiting for the client to open a secure channel"),
            };
            self.fail(error);
        }
    }

    /// The caller's word on a client's certificate. An error code is kept here; the client is
    /// told no more than that security checks failed.
    pub fn decide(&mut self, trusted: Result<(), StatusCode>, now: Now) {
        let Some(Exchange::Trust { head, chunk, peer }) = self.exchange.take() else {
            return;
        };
        match trusted {
            Ok(()) => {
                self.peer = Some(peer);
                self.open(head, chunk, now);
            }
            Err(status) => self.fail(ChannelError::Certificate(status)),
        }
    }

    fn open(&mut self, head: OpenHead, chunk: Vec<u8>, now: Now) {
        self.exchange = Some(Exchange::Opening);
        let own = self.config.identity.clone();
        let peer = self.peer.clone();
        let policy = head.policy;
        let job = Job::new(move || {
            let opened = asymmetric::open(&head, &chunk, own.as_ref(), peer.as_ref());
            Done(Outcome::Opened(head, opened))
        });
        self.dispatch(policy, job, now);
    }

    /// Work that costs nothing is done at once.
    fn dispatch(&mut self, policy: Policy, job: Job<Done>, now: Now) {
        if policy == Policy::None {
            self.complete(job.run(), now);
        } else {
            self.job = Some(job);
        }
    }

    /// Takes the result of a job.
    pub fn complete(&mut self, done: Done, now: Now) {
        let result = match (self.exchange.take(), done.0) {
            (Some(Exchange::Opening), Outcome::Opened(head, opened)) => {
                opened.and_then(|opened| self.answer(&head, opened, now))
            }
            (Some(Exchange::Sealing(gap)), Outcome::Sealed(sealed)) => {
                sealed.and_then(|chunk| match self.stream.outbox.fill(gap, &chunk) {
                    true => Ok(()),
                    false => Err(ChannelError::Security(
                        "an OPN chunk of another length than foreseen".into(),
                    )),
                })
            }
            // The connection has ended meanwhile.
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.fail(error);
        }
    }

    /// Grants what an OPN request asks for, or not.
    fn answer(&mut self, head: &OpenHead, opened: Opened, now: Now) -> Result<(), ChannelError> {
        let request = OpenRequest::decode(&opened.body)?;
        let policy = head.policy;
        let protection = Protection {
            policy,
            mode: request.mode,
        };
        let renewed = self.stream.channel_id != 0;
        if request.renew != renewed {
            return Err(ChannelError::Refused(StatusCode::BadRequestTypeInvalid));
        }
        if !protection.is_consistent() || !self.offers(protection) {
            return Err(ChannelError::Mode(protection.to_string()));
        }
        if !renewed {
            self.stream.protect(protection);
        } else if protection != self.stream.protection() {
            return Err(ChannelError::Mode(protection.to_string()));
        }
        self.stream.accept(&opened)?;
        if request.nonce.len() < policy.nonce_len() {
            let (want, got) = (policy.nonce_len(), request.nonce.len());
            return Err(ChannelError::Nonce { want, got });
        }
        let mut nonce = vec![0; policy.nonce_len()];
        (self.config.random)(&mut nonce);
        let lifetime = self.revise(request.lifetime);
        let token_id = self.next_token;
        self.next_token = self.next_token.checked_add(1).unwrap_or(1);
        self.stream.channel_id = self.config.channel_id;
        let response = OpenResponse {
            handle: request.handle,
            sent: now.utc,
            channel_id: self.config.channel_id,
            token_id,
            lifetime,
            nonce,
        };
        let secured = policy != Policy::None;
        let mut unsealed = Unsealed {
            channel_id: self.config.channel_id,
            policy,
            sequence: 0,
            request_id: opened.request_id,
            body: response.encode(),
            own: self.config.identity.clone().filter(|_| secured),
            peer: self.peer.clone().filter(|_| secured),
        };
        let gap = self.stream.reserve(|sequence| {
            unsealed.sequence = sequence;
            unsealed.sealed_len()
        });
        self.exchange = Some(Exchange::Sealing(gap));
        let token = Token::derive(
            Role::Server,
            policy,
            (&request.nonce, &response.nonce),
            token_id,
            now.mono,
            lifetime,
        );
        self.stream.tokens.add(token, Role::Server);
        self.event = Some(Event::Opened {
            protection,
            lifetime,
            renewed,
        });
        let job = Job::new(move || Done(Outcome::Sealed(unsealed.seal())));
        self.dispatch(policy, job, now);
        Ok(())
    }

    fn offers(&self, protection: Protection) -> bool {
        protection == Protection::NONE || self.config.protections.contains(&protection)
    }

    /// Part 4, 5.5.2.2: a requested lifetime of 0 leaves the choice to the server.
    fn revise(&self, requested: Duration) -> Duration {
        let (least, most) = (*self.config.lifetime.start(), *self.config.lifetime.end());
        if requested.is_zero() {
            most
        } else {
            requested.max(least).min(most)
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
            return Ok(None);
        };
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
        self.stream.limits = limits;
        answer.write(self.stream.outbox.tail());
        self.state = State::Channel;
        Ok(Event::Hello { endpoint_url })
    }

    /// Everything that can be said before a key is touched.
    fn open_request(
        &mut self,
        range: Range<usize>,
        now: Now,
    ) -> Result<Option<Event<'static>>, ChannelError> {
        let chunk = self.stream.inbox.chunk(range).to_vec();
        if self.exchange.is_some() {
            let what = "an OPN request while another one is being answered";
            return Err(ChannelError::Unexpected(what.into()));
        }
        let head = OpenHead::parse(&chunk)?;
        if head.channel_id != self.stream.channel_id {
            return Err(ChannelError::ChannelId {
                want: self.stream.channel_id,
                got: head.channel_id,
            });
        }
        let renews = self.stream.channel_id != 0;
        if renews && head.policy != self.stream.protection().policy {
            return Err(ChannelError::Policy(head.policy.to_string()));
        }
        let Some(sender) = &head.sender else {
            self.open(head, chunk, now);
            return Ok(None);
        };
        let offered = |offer: &Protection| offer.policy == head.policy;
        if !self.config.protections.iter().any(offered) {
            return Err(ChannelError::Policy(head.policy.to_string()));
        }
        let own = self.config.identity.as_ref();
        let own = own.map(|identity| identity.certificate.thumbprint());
        if head.receiver != own {
            let what = "the chunk is encrypted for another certificate than ours";
            return Err(ChannelError::Security(what.into()));
        }
        let peer = Certificate::from_der(sender)
            .map_err(|_| ChannelError::Certificate(StatusCode::BadCertificateInvalid))?;
        check_key(head.policy, &peer)?;
        if renews {
            if self.peer.as_ref().map(Certificate::leaf) != Some(peer.leaf()) {
                let what = "a renewal with another certificate";
                return Err(ChannelError::Security(what.into()));
            }
            self.open(head, chunk, now);
            return Ok(None);
        }
        let asked = Event::Certificate(peer.clone());
        self.exchange = Some(Exchange::Trust { head, chunk, peer });
        Ok(Some(asked))
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
