//! What both roles share whatever their channel is doing: buffers, limits, and the way of a message through them.

use std::ops::Range;

use opcua_types::StatusCode;
use tracing::{Level, enabled, trace};

use super::ChannelError;
use super::assembly::Assembly;
use super::established::Established;
use super::sequence::Outgoing;
use super::symmetric::{BODY_AT, ChunkHead, Guard, names};
use super::tokens::Tokens;
use crate::frame::{ChunkKind, ErrorMessage, Gap, Header, Inbox, Limits, MessageType, Outbox};
use crate::log::Named;
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
    pub fn new(limits: Limits) -> Self {
        Self {
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            limits,
            assembly: Assembly::default(),
        }
    }

    /// How long chunks are and how many, nobody agreed on: what counts is the length of a message.
    pub fn share(&mut self) {
        self.limits.receive_buffer = self.limits.receive_buffer.max(64 * 1024);
        self.limits.receive_chunks = 0;
    }

    /// Puts a sealed OPN chunk into the place that was kept free for it.
    pub fn place(&mut self, gap: Gap, chunk: &[u8]) -> Result<(), ChannelError> {
        match self.outbox.fill(gap, chunk) {
            true => Ok(()),
            false => Err(ChannelError::Security(
                "an OPN chunk of another length than foreseen".into(),
            )),
        }
    }

    /// The way out.
    #[inline]
    pub fn outward<'a>(&'a mut self, channel: &'a mut Established) -> Outward<'a> {
        Outward::new(&mut self.outbox, &self.limits, channel)
    }

    /// A message that arrived, and the way out for what answers it while it is read.
    #[inline]
    pub fn split<'a>(
        &'a mut self,
        body: Body,
        channel: &'a mut Established,
    ) -> (&'a [u8], Outward<'a>) {
        let bytes = match body {
            Body::Chunk(range) => self.inbox.chunk(range),
            Body::Assembled => self.assembly.whole(),
        };
        (bytes, Outward::new(&mut self.outbox, &self.limits, channel))
    }

    /// Opens a MSG or CLO chunk.
    pub fn receive(
        &mut self,
        channel: &mut Established,
        header: Header,
        range: Range<usize>,
        now: Instant,
    ) -> Result<Arrival, ChannelError> {
        let chunk = self.inbox.chunk_mut(range.clone());
        let (channel_id, token_id) = names(chunk)?;
        if channel_id != channel.id {
            return Err(ChannelError::ChannelId {
                want: channel.id,
                got: channel_id,
            });
        }
        let token = channel
            .tokens
            .receiving(token_id, now)
            .ok_or(ChannelError::Token(token_id))?;
        let last = channel.numbers.last();
        let (sequence, request_id, body) = token.receiving.open(chunk, last)?;
        channel.numbers.accept(sequence)?;
        channel.tokens.used(token_id);
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
                    trace!(
                        channel = channel_id,
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
    #[inline]
    fn new(outbox: &'a mut Outbox, limits: &'a Limits, channel: &'a mut Established) -> Self {
        let (channel_id, tokens, outgoing) = channel.sending();
        Self {
            outbox,
            tokens,
            outgoing,
            limits,
            channel_id,
        }
    }

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
    /// Then nothing is sealed yet, and it goes on with [`send_more`](Self::send_more).
    #[inline]
    pub fn begin(
        &mut self,
        message: MessageType,
        request_id: u32,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<Option<Unfinished>, SendError> {
        let sealing = self.sealing(message, request_id)?;
        let out = self.outbox.tail();
        let start = Guard::begin(out);
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
    pub fn send_more(
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
        let start = Guard::begin(out);
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
            let start = Guard::begin(out);
            out.extend_from_slice(part);
            sealing.finish(out, start, chunk, self.outgoing);
            sealed += part.len();
        }
        sealed
    }

    #[inline]
    fn sealing(&self, message: MessageType, request_id: u32) -> Result<Sealing<'a>, SendError> {
        let token = self.tokens.sending().ok_or(SendError::NotOpen)?;
        let guard = &token.sending;
        Ok(Sealing {
            max_body: guard.max_body(self.limits).max(1),
            guard,
            message,
            channel_id: self.channel_id,
            token_id: token.id,
            request_id,
        })
    }
}

/// How the chunks of a message are sealed.
struct Sealing<'a> {
    guard: &'a Guard,
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
        self.guard.finish(out, start, head);
    }
}
