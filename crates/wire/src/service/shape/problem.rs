//! What can be wrong with the bytes of a structure.

use super::Kind;
use crate::types::StatusCode;

/// Why bytes are not the structure they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end within a value. Often a message was cut, or a length before was wrong.
    #[error("{} needs {wanted} bytes, {left} are left", .kind.name())]
    Short {
        /// What was being read.
        kind: Kind,
        /// The bytes it takes.
        wanted: usize,
        /// The bytes there are.
        left: usize,
    },
    /// A length below -1.
    #[error("{} of length {length}", .kind.name())]
    Length {
        /// What was being read.
        kind: Kind,
        /// The length that it claims.
        length: i32,
    },
    /// An array claims more elements than the bytes could hold.
    #[error("an array of {count} {} in {left} bytes", .kind.name())]
    Count {
        /// What was being read.
        kind: Kind,
        /// The elements claimed.
        count: usize,
        /// The bytes there are.
        left: usize,
    },
    /// Variants, DataValues, DiagnosticInfos or ExtensionObjects within each other.
    #[error("values are nested deeper than {limit} levels")]
    Depth {
        /// The levels allowed.
        limit: usize,
    },
    /// The decoded value would be too large.
    #[error("the decoded message would take more than {limit} bytes of memory")]
    Memory {
        /// The bytes allowed.
        limit: usize,
    },
    /// An unknown value of an enumeration that has no word for it.
    #[error("{} has no value {value}", .kind.name())]
    Enumeration {
        /// The enumeration.
        kind: Kind,
        /// The value that came.
        value: i32,
        /// What Part 4 answers.
        status: StatusCode,
    },
    /// The first byte of a NodeId is none of those of Part 6, 5.2.2.9.
    #[error("{} begins with the byte {byte:#04x}", .kind.name())]
    NodeId {
        /// What was being read.
        kind: Kind,
        /// Its first byte.
        byte: u8,
    },
    /// A Variant of a type that is none, or cannot be in an array (Part 6, 5.2.2.16).
    #[error("a Variant with the encoding mask {mask:#04x}")]
    Variant {
        /// The encoding mask.
        mask: u8,
    },
    /// Dimensions that do not multiply to the length of the array.
    #[error("array dimensions that do not make {length} elements")]
    Dimensions {
        /// The elements of the array.
        length: usize,
    },
    /// An ExtensionObject whose body is neither absent, binary nor XML.
    #[error("an ExtensionObject with the encoding {encoding:#04x}")]
    Encoding {
        /// The encoding byte.
        encoding: u8,
    },
    /// An Argument whose value rank asks for dimensions that are not there.
    #[error("an Argument of rank {rank} with {count} dimensions")]
    Rank {
        /// The value rank.
        rank: i32,
        /// The dimensions there are.
        count: usize,
    },
}

impl Problem {
    /// The status code that tells the peer.
    pub fn status(&self) -> StatusCode {
        match self {
            Problem::Depth { .. } | Problem::Memory { .. } => StatusCode::BadEncodingLimitsExceeded,
            Problem::Enumeration { status, .. } => *status,
            _ => StatusCode::BadDecodingError,
        }
    }
}

/// A [`Problem`] and the offset of the byte where it showed.
pub type ProblemAt = (usize, Problem);
