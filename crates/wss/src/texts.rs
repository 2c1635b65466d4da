//! `opcua+uajson`: each message is a WebSocket frame of text (Part 6, 7.5.2).
//!
//! As over `opc.https` there is no channel of its own. Messages are MSG chunks towards whoever speaks UACP, of the one
//! channel that there is. Requests have no number beside their RequestHandle: a server numbers them as they come, and a
//! client finds the number of an answer by the handle that it has.

use std::collections::VecDeque;

use wire::json;
use wire::service::Limits;
use wire::template::walk::ResponseHead;
use wire::types::StatusCode;

use super::Role;
use crate::frame::{Deframer, Framer, Violation};
use crate::http::media::{self, PartialText};
use crate::http::{Sink, chunk};

/// So many requests of a client may be under way.
const MOST_WAITING: usize = 4096;
const TOO_LARGE: u32 = 0x8080_0000;

/// Both directions of a WebSocket whose frames are messages in JSON.
#[derive(Debug)]
pub struct Texts {
    role: Role,
    longest: usize,
    pub deframer: Deframer,
    pub framer: Framer,
    /// The URL that a client asked for.
    pub asked: String,
    /// A message that has come in part.
    came: PartialText,
    sequence: u32,
    /// The last request that came.
    request: u32,
    /// Messages that came.
    count: u64,
    /// Requests without an answer: handles and numbers.
    waiting: VecDeque<(u32, u32)>,
    out: Joined,
    /// The longest answer that the client takes; 0 is any.
    most: usize,
}

/// Chunks that become messages again.
#[derive(Debug, Default)]
struct Joined {
    /// Of the chunk under way.
    chunk: Vec<u8>,
    /// Bodies of the chunks before it.
    message: Vec<u8>,
}

/// What this side says.
enum Outgoing {
    Message(u32, Vec<u8>),
    /// There will be no (more of a) response to this request, of which there is a part; and why.
    Aborted(u32, StatusCode, Vec<u8>),
    /// The end, with a status code of WebSockets.
    End(u16),
}

impl Joined {
    /// Takes some of these bytes, at least one.
    fn take(&mut self, bytes: &mut &[u8]) -> Option<Outgoing> {
        let size = match self.chunk.get(..8) {
            Some(head) => (chunk::number(head, 4) as usize).max(8),
            None => 8,
        };
        let (now, later) = bytes.split_at(bytes.len().min(size - self.chunk.len()));
        self.chunk.extend_from_slice(now);
        *bytes = later;
        let size = match self.chunk.get(..8) {
            Some(head) => (chunk::number(head, 4) as usize).max(8),
            None => return None,
        };
        if self.chunk.len() < size {
            return None;
        }
        let chunk = std::mem::take(&mut self.chunk);
        let body = chunk.get(chunk::HEAD..).unwrap_or_default();
        let request = chunk.get(20..24).map_or(0, |it| chunk::number(it, 0));
        match chunk.first_chunk() {
            Some(b"MSGC") => {
                self.message.extend_from_slice(body);
                None
            }
            Some(b"MSGF") => {
                self.message.extend_from_slice(body);
                Some(Outgoing::Message(
                    request,
                    std::mem::take(&mut self.message),
                ))
            }
            Some(b"ERRF") => match chunk.get(8..12).map(|it| chunk::number(it, 0)) {
                Some(TOO_LARGE) => Some(Outgoing::End(1009)),
                _ => Some(Outgoing::End(1011)),
            },
            Some(b"CLOF") => Some(Outgoing::End(1000)),
            Some(b"MSGA") => {
                let status = body.get(..4).map_or(0, |it| chunk::number(it, 0));
                let part = std::mem::take(&mut self.message);
                Some(Outgoing::Aborted(request, StatusCode::from(status), part))
            }
            // Nothing that there is on an open channel.
            _ => {
                self.message = Vec::new();
                None
            }
        }
    }
}

impl Texts {
    pub fn new(role: Role, asked: String, longest: usize, random: fn(&mut [u8])) -> Self {
        Self {
            role,
            // Few characters may stand for many bytes, so that there is a bound in any case.
            longest: longest.min(Limits::LARGEST_MESSAGE),
            deframer: Deframer::of_text(role),
            framer: Framer::new(role, random),
            asked,
            came: PartialText::default(),
            sequence: 0,
            request: 0,
            count: 0,
            waiting: VecDeque::new(),
            out: Joined::default(),
            most: 0,
        }
    }

    /// Answers have at most so many bytes from now on, or there is a ServiceFault instead; 0 is any length.
    pub fn limit_texts(&mut self, most: usize) {
        self.most = most;
    }

    /// Bytes that it keeps.
    pub fn held(&self) -> usize {
        let waiting = self.waiting.len() * size_of::<(u32, u32)>();
        self.came.held() + self.out.chunk.len() + self.out.message.len() + waiting
    }

    /// The number of the message that came in part, if one did.
    pub fn partial(&self) -> Option<u64> {
        (self.came.len() > 0).then_some(self.count)
    }

    /// Bytes of a message, or all that was missing of it.
    pub fn take(
        &mut self,
        part: &[u8],
        ended: bool,
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        if self.came.len() + part.len() > self.longest {
            return Err(Violation::TooLong);
        }
        self.came.push(part);
        if !ended {
            return Ok(());
        }
        let text = self.came.take();
        self.count += 1;
        let message = match json::read(&text, self.longest) {
            Ok(message) => message,
            Err(unread) if unread.error.is_too_long() => return Err(Violation::TooLong),
            // A server refuses with a ServiceFault what it understood in part, as it does in binary.
            Err(unread) => match (self.role, unread.begun) {
                (Role::Server, Some(begun)) => begun,
                _ => return Err(Violation::NoMessage),
            },
        };
        drop(text);
        self.request = match self.role {
            Role::Server => {
                let number = self.request.checked_add(1).unwrap_or(1);
                if let Some(handle) = media::handle(&message) {
                    self.waits(handle, number);
                }
                number
            }
            Role::Client => self.answered(&message).ok_or(Violation::NoMessage)?,
        };
        let mut rest = message.as_slice();
        loop {
            let (now, later) = rest.split_at(rest.len().min(chunk::BODY));
            let kind = match later.is_empty() {
                true => chunk::Kind::Final,
                false => chunk::Kind::More,
            };
            self.sequence = chunk::next(self.sequence);
            sink.put(&chunk::head(kind, self.request, self.sequence, now.len()));
            sink.put(now);
            rest = later;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Of a request there is no answer yet.
    fn waits(&mut self, handle: u32, number: u32) {
        // Of the oldest nobody remembers that it waits.
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((handle, number));
    }

    /// The number of the request that a response answers.
    fn answered(&mut self, message: &[u8]) -> Option<u32> {
        let handle = ResponseHead::parse(message).ok()?.request_handle;
        let at = self.waiting.iter().position(|it| it.0 == handle)?;
        self.waiting.remove(at).map(|it| it.1)
    }

    /// The handle of the request that is answered.
    fn answers(&mut self, number: u32) -> Option<u32> {
        let at = self.waiting.iter().position(|it| it.1 == number)?;
        self.waiting.remove(at).map(|it| it.0)
    }

    /// Takes bytes of chunks and appends frames. A status code, if this side ends the connection.
    pub fn send(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Option<u16> {
        while !bytes.is_empty() {
            let text = match (self.out.take(&mut bytes), self.role) {
                // What a client does not ask after all needs no answer.
                (None, _) | (Some(Outgoing::Aborted(..)), Role::Client) => continue,
                (Some(Outgoing::End(code)), _) => return Some(code),
                (Some(Outgoing::Message(request, message)), Role::Client) => {
                    if let Some(handle) = media::handle(&message) {
                        self.waits(handle, request);
                    }
                    media::write(&message).ok()
                }
                (Some(Outgoing::Message(request, message)), Role::Server) => {
                    let handle = self.answers(request);
                    media::answer(&message, handle, self.most)
                }
                // Nothing of it was said yet, so that a ServiceFault says why.
                (Some(Outgoing::Aborted(request, status, part)), Role::Server) => {
                    let handle = self.answers(request);
                    media::fault(&part, handle, status)
                }
            };
            // What this side makes is a message.
            let Some(text) = text else {
                return Some(1011);
            };
            self.framer.text(text.as_bytes(), out);
        }
        None
    }
}
