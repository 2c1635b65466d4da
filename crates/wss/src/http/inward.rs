//! From HTTP to chunks: a body goes on as it comes, and only heads are kept until they are whole.

use super::chunk::{self, BODY, Kind};
use super::head::Body;
use super::media::{self, Media, PartialText};
use super::{HttpError, Sink};
use crate::Role;
use crate::upgrade::{MOST_HEAD, refused};

/// The line before a piece: its length, and extensions that nobody needs.
const MOST_LINE: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InwardState {
    /// A head is awaited.
    Head,
    /// A body of so many more bytes.
    Length(usize),
    /// The line before a piece.
    Line,
    /// So many more bytes of a piece.
    Piece(usize),
    /// The end of a piece's line.
    Behind,
    /// Fields behind the last piece.
    Trailer,
}

/// What comes.
#[derive(Debug)]
pub struct Inward {
    role: Role,
    longest: usize,
    longest_text: usize,
    state: InwardState,
    /// Of a head, a line or a trailer.
    text: Vec<u8>,
    /// Bytes of the chunk under way that are to come.
    left: usize,
    /// The request that the message is, or answers.
    request: u32,
    sequence: u32,
    /// Bytes of the message so far.
    total: usize,
    ended: bool,
    /// Messages that have ended.
    count: u64,
    /// A body in JSON, which is a message only when all of it is there.
    json: Option<PartialText>,
    /// The handle of the last request that came so.
    handle: Option<u32>,
}

impl Inward {
    pub fn new(role: Role, longest: usize, longest_text: usize) -> Self {
        Self {
            role,
            longest,
            longest_text: longest.min(longest_text),
            state: InwardState::Head,
            text: Vec::new(),
            left: 0,
            request: 0,
            sequence: 0,
            total: 0,
            ended: false,
            count: 0,
            json: None,
            handle: None,
        }
    }

    pub fn held(&self) -> usize {
        self.text.len() + self.json.as_ref().map_or(0, PartialText::held)
    }

    /// The number of the message that came in part, if one did.
    pub fn partial(&self) -> Option<u64> {
        let is_partial = self.state != InwardState::Head || !self.text.is_empty();
        is_partial.then_some(self.count)
    }

    /// Whether a message has begun and not ended.
    pub fn is_in_message(&self) -> bool {
        self.state != InwardState::Head
    }

    /// Whether a message has ended since this was asked last.
    pub fn has_ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }

    /// The handle of the request that ended last, if that came in JSON.
    pub fn handle(&self) -> Option<u32> {
        self.handle
    }

    /// The number of the next request that comes.
    pub fn next(&self) -> u32 {
        self.request.checked_add(1).unwrap_or(1)
    }

    /// The body of a message begins, that is this request or answers it.
    pub fn begin(
        &mut self,
        (body, media): (Body, Media),
        request: u32,
        sink: &mut impl Sink,
    ) -> Result<(), HttpError> {
        self.request = request;
        self.total = 0;
        self.json = media.is_json().then(PartialText::default);
        match body {
            Body::Length(length) => {
                self.state = InwardState::Length(length);
                self.check(length)?;
                self.announce(length, Kind::Final, sink);
                if length == 0 {
                    self.end(sink)?;
                }
            }
            Body::Pieces => self.state = InwardState::Line,
        }
        Ok(())
    }

    /// The next chunk of a body that has so many more bytes, and whose last chunk is of this kind.
    fn announce(&mut self, rest: usize, last: Kind, sink: &mut impl Sink) {
        if self.json.is_some() {
            self.left = rest;
            return;
        }
        self.left = rest.min(BODY);
        let kind = if rest > BODY { Kind::More } else { last };
        self.sequence = chunk::next(self.sequence);
        sink.put(&chunk::head(kind, self.request, self.sequence, self.left));
    }

    fn end(&mut self, sink: &mut impl Sink) -> Result<(), HttpError> {
        self.handle = None;
        if let Some(mut body) = self.json.take() {
            let message = media::read(&body.take(), self.longest_text, self.role)?;
            self.handle = media::handle(&message);
            let mut rest = message.as_slice();
            self.left = 0;
            // Of nothing there is a chunk, too.
            loop {
                let left = rest.len();
                self.body(&mut rest, left, Kind::Final, sink);
                if rest.is_empty() {
                    break;
                }
            }
        }
        self.state = InwardState::Head;
        self.ended = true;
        self.count += 1;
        Ok(())
    }

    /// Takes some of these bytes, at least one; gives a head that is whole.
    pub fn take(
        &mut self,
        bytes: &mut &[u8],
        sink: &mut impl Sink,
    ) -> Result<Option<Vec<u8>>, HttpError> {
        match self.state {
            InwardState::Head => return self.head(bytes),
            InwardState::Length(rest) => {
                let rest = rest - self.body(bytes, rest, Kind::Final, sink);
                self.state = InwardState::Length(rest);
                if rest == 0 {
                    self.end(sink)?;
                }
            }
            InwardState::Piece(rest) => {
                let rest = rest - self.body(bytes, rest, Kind::More, sink);
                self.state = if rest == 0 {
                    InwardState::Behind
                } else {
                    InwardState::Piece(rest)
                };
            }
            InwardState::Line => {
                if let Some(line) = self.line(bytes, MOST_LINE)? {
                    self.piece(&line, sink)?;
                }
            }
            InwardState::Behind => {
                if let Some(line) = self.line(bytes, 2)? {
                    if !line.is_empty() {
                        return Err(self.wrong("a piece longer than it says"));
                    }
                    self.state = InwardState::Line;
                }
            }
            InwardState::Trailer => {
                if let Some(line) = self.line(bytes, MOST_HEAD)? {
                    self.total += line.len() + 2;
                    if line.is_empty() {
                        self.end(sink)?;
                    } else if self.total > MOST_HEAD {
                        return Err(self.wrong("fields without end behind a body"));
                    }
                }
            }
        }
        Ok(None)
    }

    fn head(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, HttpError> {
        // An empty line before a request is nothing (RFC 9112, 2.2).
        while self.text.is_empty()
            && let Some((b'\r' | b'\n', rest)) = bytes.split_first()
        {
            *bytes = rest;
        }
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.text.push(*byte);
            // A line may end without a carriage return, each by itself (RFC 9112, 2.2).
            if self.text.ends_with(b"\n\r\n") || self.text.ends_with(b"\n\n") {
                return Ok(Some(std::mem::take(&mut self.text)));
            }
            if self.text.len() >= MOST_HEAD {
                return Err(match self.role {
                    Role::Server => {
                        HttpError::Refused(refused(431, "Request Header Fields Too Large"))
                    }
                    Role::Client => HttpError::Wrong("its head has no end"),
                });
            }
        }
        // What is no HTTP at all is not waited for until it is long.
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\r' | b'\n' | b' '..=b'~' | 0x80..);
        match self.text.iter().take(16).all(is_text) {
            true => Ok(None),
            false => Err(self.wrong("bytes that are no text")),
        }
    }

    /// Gives bytes of a body on, and says how many.
    fn body(&mut self, bytes: &mut &[u8], rest: usize, last: Kind, sink: &mut impl Sink) -> usize {
        if self.left == 0 {
            self.announce(rest, last, sink);
        }
        let count = bytes.len().min(self.left);
        let (now, later) = bytes.split_at(count);
        match &mut self.json {
            Some(json) => json.push(now),
            None => sink.put(now),
        }
        *bytes = later;
        self.left -= count;
        count
    }

    /// A line without its end, once it is whole.
    fn line(&mut self, bytes: &mut &[u8], most: usize) -> Result<Option<Vec<u8>>, HttpError> {
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.text.push(*byte);
            if *byte == b'\n' {
                let mut line = std::mem::take(&mut self.text);
                line.truncate(line.len() - 1);
                if line.pop_if(|byte| *byte == b'\r').is_none() {
                    return Err(self.wrong("a line that ends without a carriage return"));
                }
                return Ok(Some(line));
            }
            if self.text.len() >= most {
                return Err(self.wrong("a line between pieces without an end"));
            }
        }
        Ok(None)
    }

    /// A piece begins, or the last one is over.
    fn piece(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), HttpError> {
        let digits = line
            .split(|byte| matches!(byte, b';' | b' ' | b'\t'))
            .next();
        let digits = digits.unwrap_or_default();
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_number);
        let length = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(length) = length else {
            return Err(self.wrong("a piece whose length is no number"));
        };
        self.total = self.total.saturating_add(length);
        self.check(self.total)?;
        if length == 0 {
            self.announce(0, Kind::Final, sink);
            self.state = InwardState::Trailer;
            self.total = 0;
        } else {
            self.left = 0;
            self.state = InwardState::Piece(length);
        }
        Ok(())
    }

    /// Whether a body may have so many bytes.
    fn check(&self, bytes: usize) -> Result<(), HttpError> {
        let longest = match self.json {
            None => self.longest,
            Some(_) => self.longest_text,
        };
        match (bytes > longest, self.role) {
            (false, _) => Ok(()),
            (true, Role::Server) => Err(HttpError::Refused(refused(413, "Content Too Large"))),
            (true, Role::Client) => Err(HttpError::Wrong("it is longer than this side takes")),
        }
    }

    fn wrong(&self, reason: &'static str) -> HttpError {
        match self.role {
            Role::Server => HttpError::Refused(refused(400, "Bad Request")),
            Role::Client => HttpError::Wrong(reason),
        }
    }
}
