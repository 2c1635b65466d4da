//! From chunks to HTTP: a message of one chunk says how long it is, one of several goes in pieces.

use std::collections::VecDeque;

use super::chunk::{self, BEGIN, HEAD};
use super::head::{POLICY_NONE, TYPES};
use super::{Http, HttpError};
use crate::Role;
use crate::upgrade::refused;

/// The codes with which a server ends a connection, and what HTTP has for them (Part 6, 7.1.5).
const TOO_LARGE: u32 = 0x8080_0000;
const TIMEOUT: u32 = 0x800A_0000;
/// Bad_TcpServerTooBusy, Bad_Shutdown, Bad_TcpNotEnoughResources, Bad_OutOfMemory.
const BUSY: [u32; 4] = [0x807D_0000, 0x800C_0000, 0x8081_0000, 0x8003_0000];

/// Where the bytes of a response go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// To the peer: it is its turn.
    Out,
    /// It waits for those before it.
    Early,
    /// Nobody waits for it.
    Nowhere,
}

/// A message of which some chunks have come.
#[derive(Debug, Clone, Copy)]
struct Message {
    place: Place,
    /// It goes in pieces: how long it will be was not known when it began.
    pieces: bool,
}

/// What the chunk under way is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Of a message.
    Body { last: bool, empty: bool },
    /// An ERR message.
    Error,
    /// Something that HTTP has no place for.
    Other,
}

/// What goes.
#[derive(Debug)]
pub struct Outward {
    role: Role,
    /// The head of the chunk under way, or all of an ERR message.
    head: Vec<u8>,
    /// What it is, once its head is there; and so many more bytes of it.
    part: Option<(Part, usize)>,
    message: Option<Message>,
    /// Messages that wait for those before them.
    early: Vec<(u32, Vec<u8>)>,
}

/// What messages go out with.
pub struct Terms<'a> {
    pub about: &'a Http,
    /// Nothing follows the message that is owed last.
    pub closes: bool,
    pub waiting: &'a mut VecDeque<u32>,
    pub out: &'a mut Vec<u8>,
}

impl Outward {
    pub fn new(role: Role) -> Self {
        Self {
            role,
            head: Vec::new(),
            part: None,
            message: None,
            early: Vec::new(),
        }
    }

    pub fn held(&self) -> usize {
        self.early.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Whether a message that goes out has begun and not ended.
    pub fn is_in_message(&self) -> bool {
        let message = self.message.as_ref();
        message.is_some_and(|message| message.place == Place::Out)
    }

    /// Takes bytes of chunks. Whether the connection cannot go on.
    pub fn take(&mut self, mut bytes: &[u8], terms: &mut Terms<'_>) -> Result<bool, HttpError> {
        let mut broken = false;
        loop {
            if let Some((part, left)) = self.part {
                let (now, later) = bytes.split_at(bytes.len().min(left));
                bytes = later;
                match part {
                    Part::Body { .. } => self.put(now, terms),
                    Part::Error => self.head.extend_from_slice(now),
                    Part::Other => {}
                }
                self.part = Some((part, left - now.len()));
                if left == now.len() {
                    self.part = None;
                    broken |= self.end(part, terms);
                } else {
                    return Ok(broken);
                }
            }
            // Behind half a response nothing would be taken for what it is.
            if broken || bytes.is_empty() {
                return Ok(broken);
            }
            let wanted = match self.head.get(..3) {
                Some(b"ERR") => BEGIN,
                Some(_) => HEAD,
                None => 3,
            };
            let more = wanted.saturating_sub(self.head.len()).min(bytes.len());
            let (now, later) = bytes.split_at(more);
            self.head.extend_from_slice(now);
            bytes = later;
            if wanted > 3 && self.head.len() == wanted {
                broken |= self.begin(terms)?;
            }
        }
    }

    /// The head of a chunk is there.
    fn begin(&mut self, terms: &mut Terms<'_>) -> Result<bool, HttpError> {
        let size = chunk::number(&self.head, 4) as usize;
        let left = size.checked_sub(self.head.len());
        let left = left.ok_or(HttpError::Chunks)?;
        let request = chunk::number(&self.head, 20);
        let letters = self.head.first_chunk().copied().unwrap_or_default();
        self.head.clear();
        let last = match &letters {
            b"MSGC" => false,
            b"MSGF" => true,
            b"ERRF" => {
                self.part = Some((Part::Error, left));
                return Ok(false);
            }
            b"MSGA" | b"CLOF" => {
                self.part = Some((Part::Other, left));
                return Ok(&letters == b"MSGA" && self.abort(request, terms));
            }
            _ => return Err(HttpError::Chunks),
        };
        let empty = left == 0;
        self.part = Some((Part::Body { last, empty }, left));
        let mut text = String::new();
        let pieces = match &self.message {
            Some(message) => message.pieces,
            None => {
                let place = self.place(request, terms);
                self.message = Some(Message {
                    place,
                    pieces: !last,
                });
                text = self.first(terms, request, last.then_some(left));
                !last
            }
        };
        // A piece of no bytes would be the last one.
        if pieces && !empty {
            text += &format!("{left:x}\r\n");
        }
        self.put(text.as_bytes(), terms);
        Ok(false)
    }

    /// Where a message goes that begins.
    fn place(&mut self, request: u32, terms: &mut Terms<'_>) -> Place {
        let waiting = &mut *terms.waiting;
        match self.role {
            Role::Client => {
                waiting.push_back(request);
                Place::Out
            }
            Role::Server if waiting.front() == Some(&request) => Place::Out,
            // A response that a fault repeats has nobody who waits for it.
            Role::Server if self.early.iter().any(|(id, _)| *id == request) => Place::Nowhere,
            Role::Server if waiting.contains(&request) => {
                self.early.push((request, Vec::new()));
                Place::Early
            }
            Role::Server => Place::Nowhere,
        }
    }

    /// The head of HTTP for a message, of so many bytes if that is known.
    fn first(&self, terms: &Terms<'_>, request: u32, length: Option<usize>) -> String {
        let [kind, _] = TYPES;
        let mut text = match self.role {
            Role::Client => {
                let Http { host, path, .. } = terms.about;
                let path = if path.is_empty() { "/" } else { path };
                format!(
                    "POST {path} HTTP/1.1\r\nHost: {host}\r\nOPCUA-SecurityPolicy: {POLICY_NONE}\r\n"
                )
            }
            // The answer behind which nothing follows says so.
            Role::Server if terms.closes && terms.waiting.back() == Some(&request) => {
                "HTTP/1.1 200 OK\r\nConnection: close\r\n".to_owned()
            }
            Role::Server => "HTTP/1.1 200 OK\r\n".to_owned(),
        };
        text += &match length {
            Some(length) => format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"),
            None => format!("Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"),
        };
        text
    }

    fn put(&mut self, bytes: &[u8], terms: &mut Terms<'_>) {
        match self.message.as_ref().map(|message| message.place) {
            Some(Place::Out) => terms.out.extend_from_slice(bytes),
            Some(Place::Early) => {
                if let Some((_, early)) = self.early.last_mut() {
                    early.extend_from_slice(bytes);
                }
            }
            Some(Place::Nowhere) | None => {}
        }
    }

    /// All of a chunk is there.
    fn end(&mut self, part: Part, terms: &mut Terms<'_>) -> bool {
        let (last, empty) = match part {
            Part::Body { last, empty } => (last, empty),
            Part::Error => return self.error(terms),
            Part::Other => return false,
        };
        let Some(message) = self.message else {
            return false;
        };
        if message.pieces {
            let behind: &[u8] = if empty { b"" } else { b"\r\n" };
            self.put(behind, terms);
            let end: &[u8] = if last { b"0\r\n\r\n" } else { b"" };
            self.put(end, terms);
        }
        if last {
            self.message = None;
            if message.place == Place::Out && self.role == Role::Server {
                self.follow(terms);
            }
        }
        false
    }

    /// A response is out: those follow that waited for it.
    fn follow(&mut self, terms: &mut Terms<'_>) {
        terms.waiting.pop_front();
        while let Some(next) = terms.waiting.front()
            && let Some(at) = self.early.iter().position(|(id, _)| id == next)
        {
            let (_, bytes) = self.early.remove(at);
            terms.out.extend_from_slice(&bytes);
            terms.waiting.pop_front();
        }
    }

    /// There will be no (more of a) response: HTTP says so by the end of the connection.
    fn abort(&mut self, request: u32, terms: &mut Terms<'_>) -> bool {
        let begun = self.message.take();
        let owed = terms.waiting.contains(&request);
        if begun.is_none() && terms.waiting.front() == Some(&request) {
            let text = refused(500, "Internal Server Error").text("POST");
            terms.out.extend_from_slice(text.as_bytes());
        }
        owed
    }

    /// The server ends the connection, with a code of OPC UA.
    fn error(&mut self, terms: &mut Terms<'_>) -> bool {
        let message = std::mem::take(&mut self.head);
        let refused = match chunk::number(&message, 0) {
            TOO_LARGE => refused(413, "Content Too Large"),
            TIMEOUT => refused(408, "Request Timeout"),
            code if BUSY.contains(&code) => refused(503, "Service Unavailable"),
            _ => refused(400, "Bad Request"),
        };
        // In front of an answer that is owed, or where nobody asked, it would be taken for something else.
        if self.role == Role::Server && self.message.is_none() && terms.waiting.len() == 1 {
            let text = refused.text("POST");
            terms.out.extend_from_slice(text.as_bytes());
        }
        true
    }
}
