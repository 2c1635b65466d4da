//! What a body is, and bodies in JSON as messages.

use wire::json::scan::MARK;
use wire::json::{self, JsonError, Style};
use wire::service::{self, Limits};
use wire::template::walk::{RequestHead, ResponseHead};
use wire::types::StatusCode;

use super::HttpError;
use crate::Role;
use crate::upgrade::refused;

/// What a body is (Part 6, 7.4.2, table 80).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Media {
    /// OPC UA Binary.
    #[default]
    Binary,
    /// JSON, as it is called since 1.05.
    Json,
    /// JSON, as 1.04 called it.
    UaJson,
}

impl Media {
    /// The one that a Content-Type means, whatever its parameters are.
    pub fn of(kind: &str) -> Option<Self> {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let all = [
            ("application/octet-stream", Self::Binary),
            // As 1.04 called it without a session.
            ("application/opcua+uabinary", Self::Binary),
            ("application/json", Self::Json),
            ("application/opcua+uajson", Self::UaJson),
        ];
        let found = all.iter().find(|it| it.0.eq_ignore_ascii_case(kind));
        found.map(|it| it.1)
    }

    /// Its Content-Type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "application/octet-stream",
            Self::Json => "application/json",
            Self::UaJson => "application/opcua+uajson",
        }
    }

    /// Whether it is JSON.
    pub fn is_json(self) -> bool {
        self != Self::Binary
    }
}

/// The message that a body in JSON is. What a server cannot make sense of is given on as far as it was understood: it is
/// refused there with a ServiceFault, as one in binary is.
pub fn read(body: &[u8], longest: usize, role: Role) -> Result<Vec<u8>, HttpError> {
    let unread = match json::read(body, longest.min(Limits::LARGEST_MESSAGE)) {
        Ok(message) => return Ok(message),
        Err(unread) => unread,
    };
    match (role, unread.begun) {
        (Role::Client, _) => Err(HttpError::Json(unread.error)),
        (Role::Server, _) if unread.error.is_too_long() => {
            Err(HttpError::Refused(refused(413, "Content Too Large")))
        }
        (Role::Server, Some(begun)) => Ok(begun),
        (Role::Server, None) => Err(HttpError::Refused(refused(400, "No Message in JSON"))),
    }
}

/// A text that is longer is not written. One byte of a message may be a dozen in JSON, and all of a text is in memory several
/// times until it is sealed.
const LONGEST_TEXT: usize = 4 * Limits::LARGEST_MESSAGE;

/// The body that a message is.
pub fn write(message: &[u8]) -> Result<String, JsonError> {
    json::write(message, Style::Compact, LONGEST_TEXT)
}

/// What a server answers: the message that it made, or a ServiceFault in its place where it would be longer than its client takes,
/// or cannot be written; 0 is any length. None where it is not even known who asked.
pub fn answer(message: &[u8], handle: Option<u32>, most: usize) -> Option<String> {
    let longest = match most {
        0 => LONGEST_TEXT,
        _ => most.min(LONGEST_TEXT),
    };
    let status = match json::write(message, Style::Compact, longest) {
        Ok(text) => return Some(text),
        Err(JsonError::TooLong(_)) => StatusCode::BadResponseTooLarge,
        Err(JsonError::Depth) => StatusCode::BadEncodingLimitsExceeded,
        Err(_) => StatusCode::BadEncodingError,
    };
    fault(message, handle, status)
}

/// A ServiceFault in the place of a message, of which there may be a part.
pub fn fault(message: &[u8], handle: Option<u32>, status: StatusCode) -> Option<String> {
    let head = ResponseHead::parse(message).ok();
    let handle = handle.or(head.map(|it| it.request_handle))?;
    let mut bytes = Vec::new();
    let fault = service::fault(handle, status, head.map_or(0, |it| it.timestamp));
    fault.encode(&mut bytes).ok()?;
    write(&bytes).ok()
}

/// The handle of a request.
pub fn handle(message: &[u8]) -> Option<u32> {
    Some(RequestHead::parse(message).ok()?.request_handle)
}

/// A text that has come in part.
#[derive(Debug, Default)]
pub struct PartialText {
    bytes: Vec<u8>,
    /// Arrays and objects that have begun: reading takes a mark of each.
    nested: usize,
    is_string: bool,
    is_escaped: bool,
}

impl PartialText {
    /// More of it.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        for byte in bytes {
            if std::mem::take(&mut self.is_escaped) {
                continue;
            }
            match (self.is_string, byte) {
                (true, b'\\') => self.is_escaped = true,
                (_, b'"') => self.is_string = !self.is_string,
                (false, b'[' | b'{') => self.nested += 1,
                _ => {}
            }
        }
    }

    /// Bytes of it.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that it keeps, and those that reading it will take beside the message.
    pub fn held(&self) -> usize {
        self.bytes.len() + self.nested * MARK
    }

    /// All of it.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).bytes
    }
}
