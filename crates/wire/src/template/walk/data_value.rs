//! DataValues where they lie (Part 6, 5.2.2.17).

use super::cursor::{Cursor, WalkError};
use super::variant::{RawVariant, variant};
use crate::types::StatusCode;

/// A DataValue where it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawDataValue<'a> {
    /// The value, if there is one.
    pub value: Option<RawVariant<'a>>,
    /// The status; Good when none is on the wire.
    pub status: StatusCode,
    /// When the source says the value changed, in 100 ns since 1601.
    pub source_timestamp: Option<i64>,
    /// Units of 10 ps to add to the source's timestamp.
    pub source_picoseconds: Option<u16>,
    /// When the server had the value, in 100 ns since 1601.
    pub server_timestamp: Option<i64>,
    /// Units of 10 ps to add to the server's timestamp.
    pub server_picoseconds: Option<u16>,
}

pub(super) mod mask {
    pub const VALUE: u8 = 0x01;
    pub const STATUS: u8 = 0x02;
    pub const SOURCE_TIMESTAMP: u8 = 0x04;
    pub const SERVER_TIMESTAMP: u8 = 0x08;
    pub const SOURCE_PICOSECONDS: u8 = 0x10;
    pub const SERVER_PICOSECONDS: u8 = 0x20;
    pub const UNKNOWN: u8 = 0xc0;
}

/// What an item's queue lost: the Overflow bit, which means something only where the InfoType
/// says DataValue (Part 4, 7.39.1).
#[inline]
pub fn overflowed(status: StatusCode) -> bool {
    status.bits() & 0x0c80 == 0x0480
}

/// The DataValue at the cursor.
#[inline]
pub(super) fn data_value<'a>(c: &mut Cursor<'a>, depth: u8) -> Result<RawDataValue<'a>, WalkError> {
    let before = *c;
    let bits = c.u8()?;
    if bits & mask::UNKNOWN != 0 {
        return Err(before.unusual("unknown bits in the mask of a DataValue"));
    }
    let has = |bit| bits & bit != 0;
    Ok(RawDataValue {
        value: if has(mask::VALUE) {
            Some(variant(c, depth)?)
        } else {
            None
        },
        status: if has(mask::STATUS) {
            StatusCode::from(c.u32()?)
        } else {
            StatusCode::Good
        },
        source_timestamp: if has(mask::SOURCE_TIMESTAMP) {
            Some(c.i64()?)
        } else {
            None
        },
        source_picoseconds: if has(mask::SOURCE_PICOSECONDS) {
            Some(c.u16()?)
        } else {
            None
        },
        server_timestamp: if has(mask::SERVER_TIMESTAMP) {
            Some(c.i64()?)
        } else {
            None
        },
        server_picoseconds: if has(mask::SERVER_PICOSECONDS) {
            Some(c.u16()?)
        } else {
            None
        },
    })
}

/// DataValues one after another. Ends after the first error.
#[derive(Debug, Clone)]
pub struct DataValues<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> DataValues<'a> {
    pub(super) fn new(cursor: Cursor<'a>, left: usize) -> Self {
        Self { cursor, left }
    }
}

impl<'a> Iterator for DataValues<'a> {
    type Item = Result<RawDataValue<'a>, WalkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = data_value(&mut self.cursor, 0);
        if value.is_err() {
            self.left = 0;
        }
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}
