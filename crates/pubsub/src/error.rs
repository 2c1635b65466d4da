//! What can be wrong with the bytes of a NetworkMessage.

use wire::json::scan::NotJson;
use wire::template::walk::WalkError;

/// Bytes that are no NetworkMessage, or one that this reader does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}, at byte {offset} of the message")]
pub struct DecodeError {
    /// Where it showed.
    pub offset: usize,
    /// What was wrong.
    pub cause: Cause,
}

/// Why bytes are no NetworkMessage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The message ends within a value: it was cut, or a length before was wrong.
    #[error("{what} takes {wanted} bytes, {left} are left")]
    Short {
        /// What was being read.
        what: &'static str,
        /// The bytes it takes.
        wanted: usize,
        /// The bytes there are.
        left: usize,
    },
    /// A version of UADP that is not 1: most often no UADP at all.
    #[error("UADP version {0}, want 1: perhaps this is no UADP")]
    Version(u8),
    /// A type of PublisherId that Part 14 does not have.
    #[error("PublisherId of type {0}, which Part 14 does not have")]
    PublisherIdType(u8),
    /// A message type that Part 14 does not have.
    #[error("NetworkMessage of type {0}, which Part 14 does not have")]
    MessageType(u8),
    /// A header of an action, which is not read.
    #[error("NetworkMessage with an ActionHeader, which is not read")]
    Action,
    /// A String that is not UTF-8.
    #[error("{0} is not UTF-8")]
    Utf8(&'static str),
    /// A String of a length below zero where there has to be one.
    #[error("{what} of length {length}")]
    Length {
        /// What was being read.
        what: &'static str,
        /// The length that it claims.
        length: i32,
    },
    /// A nonce that no policy has.
    #[error("MessageNonce of {0} bytes, at most 32 are read")]
    Nonce(u8),
    /// A reserved field encoding.
    #[error("field encoding 3, which is reserved")]
    Encoding,
    /// A DataSetMessage of a type that Part 14 does not have.
    #[error("DataSetMessage of type {0}, which Part 14 does not have")]
    DataSetType(u8),
    /// RawData outside of key frames (Part 14, 7.2.4.5.11).
    #[error("RawData in a frame that is no key frame")]
    RawFrame,
    /// More fields than the bytes could hold.
    #[error("{count} fields in {left} bytes")]
    Count {
        /// The fields claimed.
        count: usize,
        /// The bytes there are.
        left: usize,
    },
    /// A value that is none.
    #[error("{0}")]
    Value(WalkError),
    /// A value that would take too much memory, or is none after all.
    #[error("{0}")]
    Decode(String),
    /// A chunk beyond the end that it gives itself.
    #[error("a chunk of {len} bytes at {at} of a message of {total}")]
    Chunk {
        /// Where it belongs.
        at: u32,
        /// Its bytes.
        len: usize,
        /// The size of the whole message.
        total: u32,
    },
    /// The payload is encrypted, and was not opened.
    #[error("the payload is secured; it has to be opened with its key first")]
    Sealed,
    /// A text that is no JSON.
    #[error("no JSON: {0} was expected")]
    Json(&'static str),
    /// JSON that is no message of Part 14, or a value that is not of its type.
    #[error("{what}: {found}")]
    NotThat {
        /// What was being read.
        what: &'static str,
        /// What stands there, the beginning of it.
        found: String,
    },
    /// A field that metadata does not describe.
    #[error("{what}: RawData cannot have it")]
    Raw {
        /// What metadata says.
        what: &'static str,
    },
}

impl DecodeError {
    pub(crate) fn not_json(error: NotJson) -> Self {
        Self::new(error.offset, Cause::Json(error.wanted))
    }

    pub(crate) fn new(offset: usize, cause: Cause) -> Self {
        Self { offset, cause }
    }

    /// An error of the walker of values, which began at `at`.
    pub(crate) fn walked(at: usize, error: WalkError) -> Self {
        let within = match error {
            WalkError::Malformed { offset, .. } | WalkError::Unusual { offset, .. } => offset,
            _ => 0,
        };
        Self::new(at + within, Cause::Value(error))
    }
}
