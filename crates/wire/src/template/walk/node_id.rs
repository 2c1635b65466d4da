//! NodeIds where they lie (Part 6, 5.2.2.9).

use super::cursor::{Cursor, WalkError};
use crate::types::{ByteString, Guid, NodeId, UAString};

/// A NodeId where it lies: numbers are read, the rest is left for who needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RawNodeId<'a> {
    /// A numeric id, in whichever of the three encodings.
    Numeric {
        /// Namespace index.
        namespace: u16,
        /// The identifier.
        id: u32,
    },
    /// A string id.
    String {
        /// Namespace index.
        namespace: u16,
        /// The identifier's bytes; a null string is empty.
        id: &'a [u8],
    },
    /// A GUID.
    Guid {
        /// Namespace index.
        namespace: u16,
        /// The identifier as it is on the wire.
        id: [u8; 16],
    },
    /// An opaque id.
    Opaque {
        /// Namespace index.
        namespace: u16,
        /// The identifier's bytes; a null ByteString is empty.
        id: &'a [u8],
    },
}

impl<'a> RawNodeId<'a> {
    #[inline]
    pub(super) fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError> {
        let before = *c;
        let encoding = c.u8()?;
        Self::read_as(c, before, encoding)
    }

    #[inline]
    fn read_as(c: &mut Cursor<'a>, before: Cursor<'a>, encoding: u8) -> Result<Self, WalkError> {
        Ok(match encoding {
            0 => Self::Numeric {
                namespace: 0,
                id: u32::from(c.u8()?),
            },
            1 => Self::Numeric {
                namespace: u16::from(c.u8()?),
                id: u32::from(c.u16()?),
            },
            2 => Self::Numeric {
                namespace: c.u16()?,
                id: c.u32()?,
            },
            3 => Self::String {
                namespace: c.u16()?,
                id: c.octets()?.unwrap_or_default(),
            },
            4 => Self::Guid {
                namespace: c.u16()?,
                id: c.chunk()?,
            },
            5 => Self::Opaque {
                namespace: c.u16()?,
                id: c.octets()?.unwrap_or_default(),
            },
            _ => return Err(before.malformed("a NodeId of an unknown encoding")),
        })
    }

    /// The NodeId in full, for when it must be kept. None when a string id is not UTF-8.
    pub fn to_node_id(self) -> Option<NodeId> {
        Some(match self {
            Self::Numeric { namespace, id } => NodeId::new(namespace, id),
            Self::String { namespace, id } => {
                NodeId::new(namespace, UAString::from(str::from_utf8(id).ok()?))
            }
            Self::Guid { namespace, id } => NodeId::new(namespace, Guid::from_bytes(id)),
            Self::Opaque { namespace, id } => NodeId::new(namespace, ByteString::from(id)),
        })
    }
}

pub(super) fn skip_node_id(c: &mut Cursor<'_>) -> Result<(), WalkError> {
    RawNodeId::read(c).map(drop)
}

/// Part 6, 5.2.2.10: a NodeId with two flags in its encoding byte and what they announce after it.
pub(super) fn skip_expanded_node_id(c: &mut Cursor<'_>) -> Result<(), WalkError> {
    let before = *c;
    let encoding = c.u8()?;
    RawNodeId::read_as(c, before, encoding & 0x3f)?;
    if encoding & 0x80 != 0 {
        c.octets()?;
    }
    if encoding & 0x40 != 0 {
        c.u32()?;
    }
    Ok(())
}
