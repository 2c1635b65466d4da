//! What both roles share once a channel is there: buffers, tokens, order, and the way of a
//! message through them.

use std::ops::Range;
use std::time::Duration;

use opcua_types::StatusCode;
use tracing::{Level, enabled, trace};

use super::assembly::Assembly;
use super::asymmetric::Opened;
use super::sequence::{Incoming, Outgoing, SequenceRule};
use super::symmetric::{BODY_AT, ChunkHead, Seal, names};
use super::tokens::{Role, Token, Tokens};
use super::{ChannelError, Protection};
use crate::frame::{ChunkKind, ErrorMessage, Gap, Header, Inbox, Limits, MessageType, Outbox};
use crate::log::Named;
use crate::policy::{Exchanged, Policy};
use crate::time::Instant;

/// The two directions of a connection.
#[derive(Debug)]
pub struct Stream {
    /// Received bytes.
    pub inbox: Inbox,
    /// Bytes to be sent.
    pub outbox: Outbox,
    /// As offered first, as agreed later.
    pub limits: Limits,
    /// 0 until the channel is open.
    pub channel_id: u32,
    /// The keys.
    pub tokens: Tokens,
    role: Role,
    protection: Protection,
    outgoing: Outgoing,
    incoming: Incoming,
    /// Messages of several chunks.
    pub assembly: Assembly,
}

/// Where the body of a message lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// In the inbox: the message was one chunk.
    Chunk(Range<usize>),
    /// In the assembly: it was put together.
    Assembled,
}

/// What a MSG or CLO chunk turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// Part of a longer message.
    More,
    /// A whole message.
    Message {
        /// MSG or CLO.
        message: MessageType,
        /// The request it is, or answers.
        request_id: u32,
        /// Where its body is.
        body: Body,
    },
    /// The sender gave a message up.
    Aborted {
        /// The request.
        request_id: u32,
        /// Why.
        error: ErrorMessage,
    },
}

/// Why a message was not sent; the connection goes on.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The channel is not open (yet, or any more).
    #[error("the secure channel is not open")]
    NotOpen,
    /// All places for requests are taken.
    #[error("too many requests in flight")]
    TooManyInFlight,
    /// The peer said that it does not take messages of this size.
    #[error(
        "a message of {bytes} bytes in {chunks} chunks; the peer takes {max_bytes} bytes in {max_chunks} chunks (0: no limit)"
    )]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The chunks it would take.
        chunks: u32,
        /// The peer's limit.
        max_bytes: u32,
        /// The peer's limit.
        max_chunks: u32,
    },
}

impl Stream {
    /// Nothing sent and nothing received yet.
    pub fn new(role: Role, limits: Limits) -> Self {
        Self {
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            limits,
            channel_id: 0,
            tokens: Tokens::default(),
            role,
            protection: Protection::NONE,
            outgoing: Outgoing::new(SequenceRule::Legacy),
            incoming: Incoming::new(SequenceRule::Legacy),
            assembly: Assembly::default(),
        }
    }

    /// The protection of the channel being opened, which also decides about sequence numbers.
    pub fn protect(&mut self, protection: Protection) {
        self.protection = protection;
        let rule = sequence_rule(protection.policy);
        self.outgoing = Outgoing::new(rule);
        self.incoming = Incoming::new(rule);
    }

    /// Opens a channel that was not asked for: its transport protects messages and keeps them apart. Its token does not
    /// get old while anybody lives.
    pub fn share(&mut self, channel_id: u32, now: Instant) -> Result<(), ChannelError> {
        const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
        self.channel_id = channel_id;
        self.protect(Protection::NONE);
        // How long chunks are and how many nobody agreed on: what counts is the length of a message.
        self.limits.receive_buffer = self.limits.receive_buffer.max(64 * 1024);
        self.limits.receive_chunks = 0;
        let nothing = Exchanged {
            client_nonce: &[],
            server_nonce: &[],
            shared: None,
        };
        let token = Token::derive(self.role, Protection::NONE, &nothing, 1, now, FOR_EVER)?;
        self.tokens.add(token, self.role);
        Ok(())
    }

    /// What the channel is protected with.
    pub fn protection(&self) -> Protection {
        self.protection
    }

    /// The place of an OPN chunk in the stream: its number is given and its bytes kept free.
    pub fn reserve(&mut self, sealed_len: impl FnOnce(u32) -> usize) -> Gap {
        let sequence = self.outgoing.take();
        self.outbox.reserve(sealed_len(sequence))
    }

    /// Checks the number of an OPN chunk that was opened.
    pub fn accept(&mut self, opened: &Opened) -> Result<(), ChannelError> {
        Ok(self.incoming.accept(opened.sequence)?)
    }

    /// Seals a message into the outbox, in as many chunks as it takes.
    #[inline]
    pub fn send(
        &mut self,
        message: MessageType,
        request_id: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        self.split(None).1.send(message, request_id, write)
    }

    /// A message that arrived, and the way out for what answers it while it is read.
    #[inline]
    pub fn split(&mut self, body: Option<Body>) -> (&[u8], Outward<'_>) {
        let bytes = match body {
            None => &[],
            Some(Body::Chunk(range)) => self.inbox.chunk(range),
            Some(Body::Assembled) => self.assembly.whole(),
        };
        let outward = Outward {
            outbox: &mut self.outbox,
            tokens: &self.tokens,
            outgoing: &mut self.outgoing,
            limits: &self.limits,
            channel_id: self.channel_id,
        };
        (bytes, outward)
    }

    /// Opens a MSG or CLO chunk.
    pub fn receive(
        &mut self,
        header: Header,
        range: Range<usize>,
        now: Instant,
    ) -> Result<Arrival, ChannelError> {
        let chunk = self.inbox.chunk_mut(range.clone());
        let (channel_id, token_id) = names(chunk)?;
        if channel_id != self.channel_id {
            return Err(ChannelError::ChannelId {
                want: self.channel_id,
                got: channel_id,
            });
        }
        let token = self
            .tokens
            .receiving(token_id, now)
            .ok_or(ChannelError::Token(token_id))?;
        let seal = token.receiving.seal();
        let (sequence, request_id, body) = seal.open(chunk)?;
        self.incoming.accept(sequence)?;
        self.tokens.used(token_id, self.role);
        let body = range.start + body.start..range.start + body.end;
        let bytes = self.inbox.chunk(body.clone());
        match header.chunk {
            ChunkKind::Intermediate => {
                self.assembly.add(request_id, bytes, &self.limits, now)?;
                Ok(Arrival::More)
            }
            ChunkKind::Abort => {
                let error = ErrorMessage::parse(bytes)?;
                self.assembly.abort(request_id);
                Ok(Arrival::Aborted { request_id, error })
            }
            ChunkKind::Final => {
                let body = if self.assembly.finish(request_id, bytes, &self.limits, now)? {
                    Body::Assembled
                } else {
                    Body::Chunk(body)
                };
                if enabled!(Level::TRACE) {
                    let body = self.body(body.clone());
                    let channel = self.channel_id;
                    trace!(
                        channel,
                        request = request_id,
                        bytes = body.len(),
                        "{} came",
                        Named(body)
                    );
                }
                Ok(Arrival::Message {
                    message: header.message,
                    request_id,
                    body,
                })
            }
        }
    }

    /// The bytes of a message that arrived.
    pub fn body(&self, body: Body) -> &[u8] {
        match body {
            Body::Chunk(range) => self.inbox.chunk(range),
            Body::Assembled => self.assembly.whole(),
        }
    }

    /// Puts an ERR message where the stream ends.
    pub fn send_error(&mut self, error: &ErrorMessage) {
        self.outbox.abandon();
        error.write(self.outbox.tail());
    }

    /// Reads an ERR message.
    pub fn error(&self, range: Range<usize>) -> ChannelError {
        let body = self.inbox.chunk(range);
        let body = body.get(crate::frame::HEADER_LEN..).unwrap_or_default();
        match ErrorMessage::parse(body) {
            Ok(message) => ChannelError::Peer(message),
            Err(_) => ChannelError::Peer(ErrorMessage {
                status: StatusCode::BadDecodingError,
                reason: "an ERR message without a code".into(),
            }),
        }
    }
}

/// A message that is sent bit by bit, as its receiver takes it. No other may be sent before its end: receivers do not
/// expect chunks of two messages among each other.
#[derive(Debug)]
pub struct Unfinished {
    message: MessageType,
    request_id: u32,
    /// Bytes of the body that were sealed.
    bytes: usize,
    /// What follows them.
    written: Vec<u8>,
}

impl Unfinished {
    /// Bytes of the body that are written and not sealed.
    pub fn written(&self) -> usize {
        self.written.len()
    }

    /// Whether a part of it is on its way already: then all that can be said is that the rest will not come.
    pub fn has_begun(&self) -> bool {
        self.bytes > 0
    }
}

/// The way out of a stream, apart from the way in: a message can be answered while it lies in the
/// inbox.
#[derive(Debug)]
pub struct Outward<'a> {
    outbox: &'a mut Outbox,
    tokens: &'a Tokens,
    outgoing: &'a mut Outgoing,
    limits: &'a Limits,
    channel_id: u32,
}

impl<'a> Outward<'a> {
    /// Seals a message into the outbox, in as many chunks as it takes.
    ///
    /// The body is written where it will stand; only a message of several chunks is moved.
    #[inline]
    pub fn send(
        &mut self,
        message: MessageType,
        request_id: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        let whole = |out: &mut Vec<u8>| {
            write(out);
            false
        };
        self.begin(message, request_id, whole).map(drop)
    }

    /// The same for a message that may be too long to be written in one go: `write` says whether there is more of it.
    /// Then nothing is sealed yet, and it goes on with [`go_on`](Self::go_on).
    #[inline]
    pub fn begin(
        &mut self,
        message: MessageType,
        request_id: u32,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<Option<Unfinished>, SendError> {
        let sealing = self.sealing(message, request_id)?;
        let out = self.outbox.tail();
        let start = Seal::begin(out);
        let more = write(out);
        let bytes = out.len() - start - BODY_AT;
        if enabled!(Level::TRACE) {
            let body = out.get(start + BODY_AT..).unwrap_or_default();
            let channel = self.channel_id;
            trace!(
                channel,
                request = request_id,
                bytes,
                more,
                "{} sent",
                Named(body)
            );
        }
        if !more && let Err(error) = sealing.allows(self.limits, bytes) {
            out.truncate(start);
            return Err(error);
        }
        if !more && bytes <= sealing.max_body {
            sealing.finish(out, start, ChunkKind::Final, self.outgoing);
            return Ok(None);
        }
        let written = out.split_off(start + BODY_AT);
        out.truncate(start);
        if more {
            return Ok(Some(Unfinished {
                message,
                request_id,
                bytes: 0,
                written,
            }));
        }
        self.seal(&sealing, &written, false);
        Ok(None)
    }

    /// The longest body of a message that the peer takes.
    pub fn most(&self) -> usize {
        let Ok(sealing) = self.sealing(MessageType::Message, 0) else {
            return usize::MAX;
        };
        let limit = |limit: u32, each: usize| match limit {
            0 => usize::MAX,
            limit => (limit as usize).saturating_mul(each),
        };
        limit(self.limits.send_message, 1).min(limit(self.limits.send_chunks, sealing.max_body))
    }

    /// Seals what there is of a message but for its last bytes, and all of it if `write`, which appends more, says that
    /// this was the end. A message that becomes too large is aborted (Part 6, 7.1.2.3 and 6.7.3), or nothing is sent if
    /// none of it is on its way yet.
    pub fn go_on(
        &mut self,
        unfinished: &mut Unfinished,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<bool, SendError> {
        let sealing = self.sealing(unfinished.message, unfinished.request_id)?;
        let mut written = std::mem::take(&mut unfinished.written);
        let more = write(&mut written);
        if let Err(error) = sealing.allows(self.limits, unfinished.bytes + written.len()) {
            if unfinished.has_begun() {
                let told = ErrorMessage {
                    status: StatusCode::BadResponseTooLarge,
                    reason: String::new(),
                };
                self.abort(unfinished.request_id, &told)?;
            }
            return Err(error);
        }
        let sealed = self.seal(&sealing, &written, more);
        unfinished.bytes += sealed;
        unfinished.written = written.get(sealed..).unwrap_or_default().to_vec();
        Ok(more)
    }

    /// Sends a chunk that says a message will not come after all.
    pub fn abort(&mut self, request_id: u32, error: &ErrorMessage) -> Result<(), SendError> {
        let sealing = self.sealing(MessageType::Message, request_id)?;
        let out = self.outbox.tail();
        let start = Seal::begin(out);
        error.write_body(out);
        sealing.finish(out, start, ChunkKind::Abort, self.outgoing);
        Ok(())
    }

    /// Seals a body into chunks, and says how much of it: if there is more to come its last chunk waits for that.
    fn seal(&mut self, sealing: &Sealing<'_>, body: &[u8], more: bool) -> usize {
        let out = self.outbox.tail();
        let mut sealed = 0;
        let mut parts = body.chunks(sealing.max_body).peekable();
        while let Some(part) = parts.next() {
            let chunk = match parts.peek() {
                Some(_) => ChunkKind::Intermediate,
                None if more => break,
                None => ChunkKind::Final,
            };
            let start = Seal::begin(out);
            out.extend_from_slice(part);
            sealing.finish(out, start, chunk, self.outgoing);
            sealed += part.len();
        }
        sealed
    }

    #[inline]
    fn sealing(&self, message: MessageType, request_id: u32) -> Result<Sealing<'a>, SendError> {
        let token = self.tokens.sending().ok_or(SendError::NotOpen)?;
        let seal = token.sending.seal();
        Ok(Sealing {
            max_body: seal.max_body(self.limits).max(1),
            seal,
            message,
            channel_id: self.channel_id,
            token_id: token.id,
            request_id,
        })
    }
}

/// How the chunks of a message are sealed.
struct Sealing<'a> {
    seal: Seal<'a>,
    /// The longest body of one of them.
    max_body: usize,
    message: MessageType,
    channel_id: u32,
    token_id: u32,
    request_id: u32,
}

impl Sealing<'_> {
    /// Whether the peer takes a body of so many bytes.
    #[inline]
    fn allows(&self, limits: &Limits, bytes: usize) -> Result<(), SendError> {
        let chunks = match bytes <= self.max_body {
            true => 1,
            false => u32::try_from(bytes.div_ceil(self.max_body)).unwrap_or(u32::MAX),
        };
        match limits.allows(bytes, chunks) {
            true => Ok(()),
            false => Err(SendError::TooLarge {
                bytes,
                chunks,
                max_bytes: limits.send_message,
                max_chunks: limits.send_chunks,
            }),
        }
    }

    /// Completes the chunk that begins at `start`.
    #[inline]
    fn finish(&self, out: &mut Vec<u8>, start: usize, chunk: ChunkKind, order: &mut Outgoing) {
        let head = ChunkHead {
            message: self.message,
            chunk,
            channel_id: self.channel_id,
            token_id: self.token_id,
            sequence: order.take(),
            request_id: self.request_id,
        };
        self.seal.finish(out, start, head);
    }
}

fn sequence_rule(policy: Policy) -> SequenceRule {
    if policy.legacy_sequence_numbers() {
        SequenceRule::Legacy
    } else {
        SequenceRule::Strict
    }
}
