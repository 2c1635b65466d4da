//! From chunks to HTTP: a message of one chunk says how long it is, one of several goes in pieces.

use std::collections::VecDeque;

use wire::types::StatusCode;

use super::chunk::{self, BEGIN, HEAD};
use super::head::POLICY_NONE;
use super::media::{self, Media};
use super::{Http, HttpError, Waiting};
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
    request: u32,
    media: Media,
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
    /// There will be no (more of a) response to this request.
    Abort(u32),
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
    /// A message that is JSON when all of it is there.
    whole: Vec<u8>,
}

/// What messages go out with.
pub struct Terms<'a> {
    pub about: &'a Http,
    /// Nothing follows the message that is owed last.
    pub closes: bool,
    /// The longest answer in JSON that the client takes; 0 is any.
    pub most: usize,
    pub waiting: &'a mut VecDeque<Waiting>,
    pub out: &'a mut Vec<u8>,
}

impl Terms<'_> {
    /// The handle of a request that came in JSON.
    fn handle_of(&self, request: u32) -> Option<u32> {
        let asked = self.waiting.iter().find(|it| it.request == request);
        asked.and_then(|it| it.handle)
    }
}

impl Outward {
    pub fn new(role: Role) -> Self {
        Self {
            role,
            head: Vec::new(),
            part: None,
            message: None,
            early: Vec::new(),
            whole: Vec::new(),
        }
    }

    pub fn held(&self) -> usize {
        let early = self.early.iter().map(|(_, bytes)| bytes.len());
        early.sum::<usize>() + self.whole.len()
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
                    Part::Body { .. } => self.body(now, terms),
                    Part::Error | Part::Abort(_) => self.head.extend_from_slice(now),
                    Part::Other => {}
                }
                self.part = Some((part, left - now.len()));
                if left == now.len() {
                    self.part = None;
                    broken |= self.end(part, terms)?;
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
            b"MSGA" => {
                self.part = Some((Part::Abort(request), left));
                return Ok(false);
            }
            b"CLOF" => {
                self.part = Some((Part::Other, left));
                return Ok(false);
            }
            _ => return Err(HttpError::Chunks),
        };
        let empty = left == 0;
        self.part = Some((Part::Body { last, empty }, left));
        let mut text = String::new();
        let pieces = match &self.message {
            Some(message) => message.pieces,
            None => {
                let (place, media) = self.place(request, terms);
                // JSON is made when all of the message is there, and has its length then.
                let pieces = !last && !media.is_json();
                self.message = Some(Message {
                    place,
                    request,
                    media,
                    pieces,
                });
                if !media.is_json() {
                    text = self.first(terms, (request, media), last.then_some(left));
                }
                pieces
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
    fn place(&mut self, request: u32, terms: &mut Terms<'_>) -> (Place, Media) {
        let waiting = &mut *terms.waiting;
        if self.role == Role::Client {
            let media = terms.about.media;
            waiting.push_back(Waiting {
                request,
                media,
                handle: None,
            });
            return (Place::Out, media);
        }
        let Some(at) = waiting.iter().position(|it| it.request == request) else {
            return (Place::Nowhere, Media::Binary);
        };
        let media = waiting.get(at).map_or(Media::Binary, |it| it.media);
        if at == 0 {
            return (Place::Out, media);
        }
        // A response that a fault repeats has nobody who waits for it.
        if self.early.iter().any(|(id, _)| *id == request) {
            return (Place::Nowhere, media);
        }
        self.early.push((request, Vec::new()));
        (Place::Early, media)
    }

    /// The head of HTTP for a message, of so many bytes if that is known.
    fn first(
        &self,
        terms: &Terms<'_>,
        (request, media): (u32, Media),
        length: Option<usize>,
    ) -> String {
        let kind = media.name();
        let mut text = match self.role {
            Role::Client => {
                let Http { host, path, .. } = terms.about;
                let path = if path.is_empty() { "/" } else { path };
                format!(
                    "POST {path} HTTP/1.1\r\nHost: {host}\r\nOPCUA-SecurityPolicy: {POLICY_NONE}\r\n"
                )
            }
            // The answer behind which nothing follows says so.
            Role::Server
                if terms.closes && terms.waiting.back().is_some_and(|it| it.request == request) =>
            {
                "HTTP/1.1 200 OK\r\nConnection: close\r\n".to_owned()
            }
            Role::Server => "HTTP/1.1 200 OK\r\n".to_owned(),
        };
        if let (Role::Server, Some(origin)) = (self.role, &terms.about.origin) {
            text += &format!("Access-Control-Allow-Origin: {origin}\r\n");
        }
        text += &match length {
            Some(length) => format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"),
            None => format!("Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"),
        };
        text
    }

    /// Bytes of a message.
    fn body(&mut self, bytes: &[u8], terms: &mut Terms<'_>) {
        match &self.message {
            Some(message) if message.media.is_json() => {
                if message.place != Place::Nowhere {
                    self.whole.extend_from_slice(bytes);
                }
            }
            _ => self.put(bytes, terms),
        }
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
    fn end(&mut self, part: Part, terms: &mut Terms<'_>) -> Result<bool, HttpError> {
        let (last, empty) = match part {
            Part::Body { last, empty } => (last, empty),
            Part::Error => return Ok(self.error(terms)),
            Part::Abort(request) => return Ok(self.abort(request, terms)),
            Part::Other => return Ok(false),
        };
        let Some(message) = self.message else {
            return Ok(false);
        };
        if last && message.media.is_json() && message.place != Place::Nowhere {
            let whole = std::mem::take(&mut self.whole);
            let body = match self.role {
                Role::Client => Some(media::write(&whole).map_err(HttpError::Json)?),
                Role::Server => {
                    let handle = terms.handle_of(message.request);
                    media::answer(&whole, handle, terms.most)
                }
            };
            let Some(body) = body else {
                return Ok(self.give_up(message.request, terms));
            };
            self.text(message, &body, terms);
        }
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
        Ok(false)
    }

    /// A response is out: those follow that waited for it.
    fn follow(&mut self, terms: &mut Terms<'_>) {
        terms.waiting.pop_front();
        while let Some(next) = terms.waiting.front()
            && let Some(at) = self.early.iter().position(|it| it.0 == next.request)
        {
            let (_, bytes) = self.early.remove(at);
            terms.out.extend_from_slice(&bytes);
            terms.waiting.pop_front();
        }
    }

    /// A message in JSON, whole.
    fn text(&mut self, message: Message, body: &str, terms: &mut Terms<'_>) {
        let about = (message.request, message.media);
        let head = self.first(terms, about, Some(body.len()));
        self.put(head.as_bytes(), terms);
        self.put(body.as_bytes(), terms);
    }

    /// There will be no (more of a) response. In JSON nothing of it was said yet, so that a ServiceFault says why.
    fn abort(&mut self, request: u32, terms: &mut Terms<'_>) -> bool {
        let status = StatusCode::from(chunk::number(&std::mem::take(&mut self.head), 0));
        let waiting = terms.waiting.iter().find(|it| it.request == request);
        let media = waiting.map_or(Media::Binary, |it| it.media);
        if self.role == Role::Client || !media.is_json() {
            return self.give_up(request, terms);
        }
        let whole = std::mem::take(&mut self.whole);
        let Some(body) = media::fault(&whole, terms.handle_of(request), status) else {
            return self.give_up(request, terms);
        };
        let message = self.message.unwrap_or_else(|| Message {
            place: self.place(request, terms).0,
            request,
            media,
            pieces: false,
        });
        self.message = Some(message);
        self.text(message, &body, terms);
        self.message = None;
        if message.place == Place::Out {
            self.follow(terms);
        }
        false
    }

    /// HTTP says by the end of the connection that there is no (more of a) response.
    fn give_up(&mut self, request: u32, terms: &mut Terms<'_>) -> bool {
        let begun = self.message.take();
        self.whole = Vec::new();
        let owed = terms.waiting.iter().any(|it| it.request == request);
        let said = begun.is_some_and(|it| !it.media.is_json());
        if !said
            && terms
                .waiting
                .front()
                .is_some_and(|it| it.request == request)
        {
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
