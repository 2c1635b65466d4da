//! `opc.https` around messages (Part 6, 7.4), for both roles: each request is the body of a POST, each response that of its
//! answer, and neither has chunks or a secure channel of its own.
//!
//! Whoever speaks UACP needs not know: towards it messages are MSG chunks of the one channel that there is
//! ([`CHANNEL_ID`], [`TOKEN_ID`]). HTTP/1.1 answers in the order of the requests, so a server's responses wait here for those of
//! requests before, and a client's requests are remembered in their order.

pub(crate) mod chunk;
mod head;
mod inward;
pub(crate) mod media;
mod outward;

use std::collections::VecDeque;

use thiserror::Error;

use crate::Role;
use crate::upgrade::{Refused, refused};
use head::HttpRequest;
use inward::Inward;
pub use media::Media;
use outward::{Outward, Terms};

/// The number of the channel that all of `opc.https` is: a server has one, which its clients share (Part 6, 7.4.1).
pub const CHANNEL_ID: u32 = 1;
/// The number of its token, which is never renewed.
pub const TOKEN_ID: u32 = 1;

/// So many requests may be under way on a connection.
const MOST_WAITING: usize = 4096;

/// Why a connection of HTTP ends.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HttpError {
    /// A client asked for what is not there, or not in the way in which it is asked for.
    #[error("no request of opc.https: {0}")]
    Refused(Refused),
    /// What a server said is not HTTP.
    #[error("the server's answer is no HTTP: {0}")]
    NotHttp(String),
    /// A server answered with another status than 200.
    #[error("the server answers a POST with {status} {reason}")]
    Status {
        /// The status.
        status: u16,
        /// The words after it.
        reason: String,
    },
    /// A server answers in a way that is not understood.
    #[error("the server's answer is wrong: {0}")]
    Wrong(&'static str),
    /// A message that is none in JSON.
    #[error("no message in JSON: {0}")]
    Json(wire::json::JsonError),
    /// Chunks that no message of a channel has.
    #[error("this side made chunks that have no place in HTTP")]
    Chunks,
}

/// What a message may have, and where requests go.
#[derive(Debug, Clone)]
pub struct Http {
    /// Host and port as in a URL, of a client.
    pub host: String,
    /// The path of the URL.
    pub path: String,
    /// Bytes of the longest body that is taken.
    pub longest: usize,
    /// Bytes of the longest one in JSON, as it comes and as a message in binary: it is turned into that in one go.
    pub longest_text: usize,
    /// What a client asks in; a server answers in what it is asked in.
    pub media: Media,
    /// Whose pages a server lets browsers ask it: an origin, or `*`.
    pub origin: Option<String>,
}

/// A request under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    request: u32,
    media: Media,
    /// The handle of a request that came in JSON.
    handle: Option<u32>,
}

/// Both directions.
#[derive(Debug)]
pub struct Exchange {
    about: Http,
    role: Role,
    inward: Inward,
    outward: Outward,
    /// Requests under way, the oldest first.
    waiting: VecDeque<Waiting>,
    /// What HTTP has to say by itself.
    aside: Vec<u8>,
    /// Nothing follows what is under way: one side said so.
    last: bool,
    /// This side cannot say what is owed.
    broken: bool,
    /// The URL of the first request, as its client knows it.
    asked: Option<String>,
    /// The longest answer in JSON that the client takes; 0 is any.
    most: usize,
}

/// Where chunks are put.
pub trait Sink {
    /// Appends bytes of them.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Exchange {
    /// For this end of a connection.
    pub fn new(role: Role, about: Http) -> Self {
        Self {
            inward: Inward::new(role, about.longest, about.longest_text),
            outward: Outward::new(role),
            role,
            about,
            waiting: VecDeque::new(),
            aside: Vec::new(),
            last: false,
            broken: false,
            asked: None,
            most: 0,
        }
    }

    /// Answers in JSON have at most so many bytes from now on, or there is a ServiceFault instead; 0 is any length.
    pub fn limit_texts(&mut self, most: usize) {
        self.most = most;
    }

    /// Whether a client has begun to ask for something that can be had here, and the URL that it knows this by.
    pub fn asked(&self) -> Option<&str> {
        self.asked.as_deref()
    }

    /// The number of the message that came in part, if one did.
    pub fn partial(&self) -> Option<u64> {
        self.inward.partial()
    }

    /// Whether nothing more will be said.
    pub fn is_over(&self) -> bool {
        let owes = match self.role {
            Role::Server => !self.waiting.is_empty() || self.outward.is_in_message(),
            // What is owed after the last answer does not come.
            Role::Client => false,
        };
        self.broken || (self.last && !self.inward.is_in_message() && !owes)
    }

    /// Whether a refusal may be told: where answers are owed it would be taken for one of those.
    pub fn may_refuse(&self) -> bool {
        // A request that is not whole is not answered by anybody else.
        let unasked = usize::from(self.inward.is_in_message());
        let owes = self.waiting.len() > unasked || self.outward.is_in_message();
        self.role == Role::Server && !owes
    }

    /// Bytes that it keeps.
    pub fn held(&self) -> usize {
        self.inward.held() + self.outward.held() + self.waiting.len() * size_of::<Waiting>()
    }

    /// What is to be sent beside messages.
    pub fn aside(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.aside)
    }

    /// Takes bytes of HTTP and puts chunks into `sink`.
    ///
    /// # Errors
    /// The peer says what it must not.
    pub fn take(&mut self, mut bytes: &[u8], sink: &mut impl Sink) -> Result<(), HttpError> {
        while !bytes.is_empty() {
            // Nothing counts behind what was said to be the last.
            if self.last && !self.inward.is_in_message() {
                return Ok(());
            }
            let Some(head) = self.inward.take(&mut bytes, sink)? else {
                self.settle();
                continue;
            };
            match self.role {
                Role::Server => self.request(&head, sink)?,
                Role::Client => self.answer(&head, sink)?,
            }
            self.settle();
        }
        Ok(())
    }

    /// A server has read the head of a request.
    fn request(&mut self, head: &[u8], sink: &mut impl Sink) -> Result<(), HttpError> {
        let asked = head::read_request(head, self.about.longest).map_err(HttpError::Refused)?;
        let request = match asked {
            HttpRequest::Post(request) => request,
            HttpRequest::Preflight => return self.preflight(),
        };
        if self.waiting.len() >= MOST_WAITING {
            return Err(HttpError::Refused(Refused {
                status: 429,
                reason: "Too Many Requests",
            }));
        }
        // Whoever waits for other answers goes on without this one after a while (RFC 9110, 10.1.1).
        if request.expects_continue && self.may_refuse() {
            self.aside
                .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.asked.get_or_insert(request.url);
        self.last = request.closes;
        let media = request.media;
        // It is owed an answer, whatever is wrong with it.
        let request_id = self.inward.next();
        self.waiting.push_back(Waiting {
            request: request_id,
            media,
            handle: None,
        });
        self.inward.begin((request.body, media), request_id, sink)
    }

    /// A browser asks what a page may ask for (CORS). Where no page may ask for anything it is a method like any other.
    fn preflight(&mut self) -> Result<(), HttpError> {
        let Some(origin) = self.about.origin.as_ref().filter(|_| self.may_refuse()) else {
            return Err(HttpError::Refused(refused(405, "Method Not Allowed")));
        };
        let answer = format!(
            "HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: {origin}\r\n\
             Access-Control-Allow-Methods: POST\r\n\
             Access-Control-Allow-Headers: Content-Type, OPCUA-SecurityPolicy\r\n\
             Access-Control-Max-Age: 600\r\n\r\n"
        );
        self.aside.extend_from_slice(answer.as_bytes());
        Ok(())
    }

    /// A client has read the head of an answer.
    fn answer(&mut self, head: &[u8], sink: &mut impl Sink) -> Result<(), HttpError> {
        let Some(answer) = head::read_answer(head, self.about.longest)? else {
            // There will be another one.
            return Ok(());
        };
        let Some(waiting) = self.waiting.front().copied() else {
            return Err(HttpError::Wrong("it answers what nobody asked"));
        };
        self.last = answer.closes;
        self.inward
            .begin((answer.body, answer.media), waiting.request, sink)
    }

    /// A client's answer that is whole is owed no more; of a server's request that is whole the handle is known.
    fn settle(&mut self) {
        if !self.inward.has_ended() {
            return;
        }
        match self.role {
            Role::Client => {
                self.waiting.pop_front();
            }
            Role::Server => {
                if let Some(last) = self.waiting.back_mut() {
                    last.handle = self.inward.handle();
                }
            }
        }
    }

    /// Takes bytes of chunks and appends what they are in HTTP to `out`.
    ///
    /// # Errors
    /// They are no chunks of a channel that is open.
    pub fn send(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), HttpError> {
        if self.broken {
            return Ok(());
        }
        let mut terms = Terms {
            about: &self.about,
            closes: self.last,
            most: self.most,
            waiting: &mut self.waiting,
            out,
        };
        self.broken |= self.outward.take(bytes, &mut terms)?;
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
