//! Frames of the OPC UA Connection Protocol (Part 6, 7.1): what stands on the wire between
//! two sockets, before any security is looked at.
//!
//! Each chunk begins with eight bytes that say what it is and how long it is. [`Inbox`] cuts
//! the stream into chunks, [`Outbox`] keeps what is to be written, [`Limits`] are what both
//! sides agreed on, and [`Hello`], [`Acknowledge`], [`ErrorMessage`] and [`ReverseHello`] are
//! the messages that exist at this level only.

mod inbox;
mod limits;
mod messages;
mod outbox;
mod reader;

pub use inbox::Inbox;
pub use limits::{Limits, MIN_BUFFER};
pub use messages::{Acknowledge, ErrorMessage, Hello, MAX_TEXT, PROTOCOL_VERSION, ReverseHello};
pub use outbox::{Gap, Outbox};
pub use reader::{Reader, Short};

use opcua_types::StatusCode;
use thiserror::Error;

/// Bytes in front of every chunk: three letters of type, one of kind, four of size.
pub const HEADER_LEN: usize = 8;

/// What a chunk carries (Part 6, 7.1.2.2 and 6.7.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageType {
    /// HEL: the client's buffer sizes and the URL it wants.
    Hello,
    /// ACK: the server's answer to HEL.
    Acknowledge,
    /// ERR: the reason why the connection is about to be closed.
    Error,
    /// RHE: a server that dialled out says who it is.
    ReverseHello,
    /// OPN: opens or renews a SecureChannel.
    Open,
    /// MSG: a service request or response.
    Message,
    /// CLO: closes the SecureChannel.
    Close,
}

impl MessageType {
    /// The three letters on the wire.
    pub const fn letters(self) -> [u8; 3] {
        match self {
            Self::Hello => *b"HEL",
            Self::Acknowledge => *b"ACK",
            Self::Error => *b"ERR",
            Self::ReverseHello => *b"RHE",
            Self::Open => *b"OPN",
            Self::Message => *b"MSG",
            Self::Close => *b"CLO",
        }
    }

    const fn from_letters(letters: [u8; 3]) -> Option<Self> {
        Some(match &letters {
            b"MSG" => Self::Message,
            b"OPN" => Self::Open,
            b"CLO" => Self::Close,
            b"HEL" => Self::Hello,
            b"ACK" => Self::Acknowledge,
            b"ERR" => Self::Error,
            b"RHE" => Self::ReverseHello,
            _ => return None,
        })
    }

    /// Only these belong to a SecureChannel and may come in several chunks.
    const fn may_be_chunked(self) -> bool {
        matches!(self, Self::Message)
    }
}

/// Where in its message a chunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// `F`: the last or only one.
    Final,
    /// `C`: more will follow.
    Intermediate,
    /// `A`: the sender gave up; the body says why.
    Abort,
}

impl ChunkKind {
    /// The letter on the wire.
    pub const fn letter(self) -> u8 {
        match self {
            Self::Final => b'F',
            Self::Intermediate => b'C',
            Self::Abort => b'A',
        }
    }
}

/// The first eight bytes of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub message: MessageType,
    /// Where in its message it stands.
    pub chunk: ChunkKind,
    /// Length of the whole chunk, these eight bytes included.
    pub size: u32,
}

impl Header {
    /// Reads a header and refuses what can never be one.
    #[inline]
    pub fn parse(bytes: [u8; HEADER_LEN]) -> Result<Self, FrameError> {
        let [a, b, c, kind, s0, s1, s2, s3] = bytes;
        // Nearly all are whole messages.
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        if [a, b, c, kind] == *b"MSGF" && size as usize >= HEADER_LEN {
            return Ok(Self {
                message: MessageType::Message,
                chunk: ChunkKind::Final,
                size,
            });
        }
        Self::parse_any(bytes)
    }

    fn parse_any(bytes: [u8; HEADER_LEN]) -> Result<Self, FrameError> {
        let [a, b, c, kind, s0, s1, s2, s3] = bytes;
        let letters = [a, b, c];
        let message = MessageType::from_letters(letters).ok_or(FrameError::UnknownType(letters))?;
        let chunk = match kind {
            b'F' => ChunkKind::Final,
            b'C' if message.may_be_chunked() => ChunkKind::Intermediate,
            b'A' if message.may_be_chunked() => ChunkKind::Abort,
            _ => return Err(FrameError::UnknownKind { message, kind }),
        };
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        if (size as usize) < HEADER_LEN {
            return Err(FrameError::TooShort { message, size });
        }
        Ok(Self {
            message,
            chunk,
            size,
        })
    }

    /// The eight bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c] = self.message.letters();
        let [s0, s1, s2, s3] = self.size.to_le_bytes();
        [a, b, c, self.chunk.letter(), s0, s1, s2, s3]
    }
}

/// Bytes that are not a frame, or not one that may come here.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// Most often something that does not speak OPC UA (HTTP and TLS are the usual ones).
    #[error("{} is no message type of OPC UA", .0.escape_ascii())]
    UnknownType([u8; 3]),
    /// The fourth byte is none of F, C and A, or the type may not be chunked.
    #[error("{message:?} cannot be a chunk of kind {}", char::from(*.kind).escape_default())]
    UnknownKind {
        /// The type in the header.
        message: MessageType,
        /// The byte that was found.
        kind: u8,
    },
    /// The size in the header leaves no room for what has to be in the chunk.
    #[error("a {message:?} chunk of {size} bytes is too short")]
    TooShort {
        /// The type in the header.
        message: MessageType,
        /// The size in the header.
        size: u32,
    },
    /// The size in the header is more than was negotiated.
    #[error("a chunk of {size} bytes is more than the {limit} agreed on")]
    TooLarge {
        /// The size in the header.
        size: u32,
        /// The receive buffer.
        limit: u32,
    },
    /// The fields of a HEL, ACK, ERR or RHE do not fit into it or break its rules.
    #[error("malformed {message:?}: {what}")]
    Malformed {
        /// The message.
        message: MessageType,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A buffer smaller than every implementation must offer (Part 6, 7.1.2.3).
    #[error("a buffer of {0} bytes is below the minimum of {MIN_BUFFER}")]
    BufferTooSmall(u32),
}

impl FrameError {
    /// The code to put into an ERR message (Part 6, 7.1.5).
    pub fn status(&self) -> StatusCode {
        match self {
            Self::UnknownType(_) | Self::UnknownKind { .. } => StatusCode::BadTcpMessageTypeInvalid,
            Self::TooLarge { .. } => StatusCode::BadTcpMessageTooLarge,
            Self::TooShort { .. } | Self::Malformed { .. } => StatusCode::BadDecodingError,
            Self::BufferTooSmall(_) => StatusCode::BadConnectionRejected,
        }
    }
}
