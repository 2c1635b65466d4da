//! Messages as JSON (Part 6, 5.4, of 1.05.04 and later), and back.
//!
//! There is no second set of types for it. A message in OPC UA Binary is gone through once by the table of shapes
//! ([`Kind`]), and what is met is written as JSON; the members of a JSON object are put into the order
//! of that table, as bytes. So every service that is known in binary is known in JSON, and what a message may cost, what is
//! wrong with it, and who is told, is decided where it is for binary.
//!
//! ```
//! use wire::json::{self, Style};
//! use wire::service::Request;
//! use wire::types::{DateTime, ReadRequest, RequestHeader};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let request = ReadRequest {
//!     request_header: RequestHeader { request_handle: 7, timestamp: DateTime::null(), ..RequestHeader::dummy() },
//!     max_age: 2.5,
//!     ..ReadRequest::default()
//! };
//! let mut message = Vec::new();
//! Request::from(request).encode(&mut message)?;
//! let text = json::write(&message, Style::Compact, 1000)?;
//! assert_eq!(text, r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":7},"MaxAge":2.5}"#);
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | [`scan`] | JSON where it lies, to a bounded depth |
//! | [`text`] | strings, times and numbers as JSON |
//! | `write`, `write_value` | structures and built-in types to JSON |
//! | `read`, `read_value`, `read_id` | and back |

mod read;
mod read_id;
mod read_value;
pub mod scan;
pub mod text;
mod write;
mod write_value;

use crate::service::{Kind, type_id};
use read::Reader;
use scan::{NotJson, Value};
use write::Writer;

/// How messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// What is default is left out (CompactEncoding): what services have (Part 6, 7.4.2).
    #[default]
    Compact,
    /// Everything is there, and enumerations and status codes have their names (VerboseEncoding).
    Verbose,
}

/// Why there is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// A text that is no JSON.
    #[error(transparent)]
    Text(#[from] NotJson),
    /// A value that is not of the type that its place has.
    #[error("no {}, at byte {at}: {found}", .kind.name())]
    Wrong {
        /// What was being read.
        kind: Kind,
        /// Where it begins.
        at: usize,
        /// What stands there, the beginning of it.
        found: String,
    },
    /// An object has a name twice (Part 6, 5.4.2.16).
    #[error("two fields of one name, at byte {at}")]
    Twice {
        /// Where the second one is.
        at: usize,
    },
    /// The message would be too long.
    #[error("the message is longer than {0} bytes")]
    TooLong(usize),
    /// Values are nested too deeply.
    #[error("values are nested too deeply")]
    Depth,
    /// A message or a structure of a type that is not known.
    #[error("no message of a type that is known")]
    Type,
    /// Bytes in OPC UA Binary that are no message.
    #[error("no message in OPC UA Binary, at byte {at}")]
    Bytes {
        /// Where it showed.
        at: usize,
    },
}

impl JsonError {
    /// Whether it is for its length that there is no message.
    pub fn is_too_long(&self) -> bool {
        matches!(self, JsonError::TooLong(_))
    }
}

/// A text that is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Unread {
    /// What is wrong.
    pub error: JsonError,
    /// The bytes up to there, if it was known which message it would be: whoever reads those finds them cut or of no
    /// service, and can answer with a ServiceFault, as they have the RequestHeader.
    pub begun: Option<Vec<u8>>,
}

/// A message in OPC UA Binary, type id first, as JSON of at most so many bytes.
///
/// # Errors
/// It is none, or would be longer.
pub fn write(message: &[u8], style: Style, longest: usize) -> Result<String, JsonError> {
    let (id, at) = type_id(message).map_err(|error| JsonError::Bytes { at: error.offset })?;
    let kind = id.and_then(Kind::from_encoding_id);
    let kind = kind.ok_or(JsonError::Type)?;
    let mut writer = Writer::new(message, at, style, longest);
    let names = kind.names().ok_or(JsonError::Type)?;
    writer.structure(kind, Some(names.data_type))?;
    writer.finish()
}

/// A message as JSON, in either style, to OPC UA Binary of at most so many bytes.
///
/// Names that no field has are passed over. The forms of before 1.05.04 are read, too, where they differ.
///
/// # Errors
/// It is none, or would be longer.
pub fn read(text: &[u8], longest: usize) -> Result<Vec<u8>, Unread> {
    // No more than it takes: growing would take as much again.
    let nested = text.iter().filter(|it| matches!(it, b'[' | b'{')).count();
    let mut marks = Vec::with_capacity(nested);
    let none = |error| Unread { error, begun: None };
    let whole = Value::parse_marked(text, &mut marks).map_err(|error| none(error.into()))?;
    let mut reader = Reader::new(longest);
    match reader.message(whole) {
        Ok(()) => Ok(reader.finish()),
        Err(error) => {
            let begun = reader.finish();
            Err(Unread {
                error,
                begun: (!begun.is_empty()).then_some(begun),
            })
        }
    }
}
