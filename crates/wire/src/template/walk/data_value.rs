//! DataValues where they lie (Part 6, 5.2.2.17).

use super::variant::RawVariant;
use crate::types::StatusCode;

/// A DataValue where it lies: its extent is known, its fields are read when asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawDataValue<'a> {
    /// The value, if there is one.
    pub value: Option<RawVariant<'a>>,
    pub(super) mask: u8,
    /// Status, timestamps and picoseconds, as many as the mask announces.
    pub(super) trailer: &'a [u8],
}

pub(super) mod mask {
    pub const VALUE: u8 = 0x01;
    pub const STATUS: u8 = 0x02;
    pub const SOURCE_TIMESTAMP: u8 = 0x04;
    pub const SERVER_TIMESTAMP: u8 = 0x08;
    pub const SOURCE_PICOSECONDS: u8 = 0x10;
    pub const SERVER_PICOSECONDS: u8 = 0x20;
}

/// The fields after the value in their order on the wire, with their sizes.
const FIELDS: [(u8, u8); 5] = [
    (mask::STATUS, 4),
    (mask::SOURCE_TIMESTAMP, 8),
    (mask::SOURCE_PICOSECONDS, 2),
    (mask::SERVER_TIMESTAMP, 8),
    (mask::SERVER_PICOSECONDS, 2),
];

const BEFORE_SOURCE_PICOSECONDS: u8 = mask::STATUS | mask::SOURCE_TIMESTAMP;
const BEFORE_SERVER_TIMESTAMP: u8 = BEFORE_SOURCE_PICOSECONDS | mask::SOURCE_PICOSECONDS;

/// Bytes after the value, by the mask.
const TRAILERS: [u8; 64] = {
    let mut sizes = [0; 64];
    let mut mask = 0;
    while mask < 64 {
        let mut field = 0;
        while field < FIELDS.len() {
            let (bit, size) = FIELDS[field];
            if mask as u8 & bit != 0 {
                sizes[mask] += size;
            }
            field += 1;
        }
        mask += 1;
    }
    sizes
};

/// Bytes after the value; none for a mask with unknown bits.
#[inline]
pub(super) fn trailer_len(mask: u8) -> Option<usize> {
    TRAILERS.get(usize::from(mask)).map(|&n| usize::from(n))
}

impl<'a> RawDataValue<'a> {
    /// The status; Good when none is on the wire.
    #[inline]
    pub fn status(&self) -> StatusCode {
        // The status comes first, whatever else there is.
        match self.trailer.first_chunk() {
            Some(bits) if self.mask & mask::STATUS != 0 => {
                StatusCode::from(u32::from_le_bytes(*bits))
            }
            _ => StatusCode::Good,
        }
    }

    /// When the source says the value changed, in 100 ns since 1601.
    pub fn source_timestamp(&self) -> Option<i64> {
        self.field(mask::SOURCE_TIMESTAMP).map(i64::from_le_bytes)
    }

    /// Units of 10 ps to add to the source's timestamp.
    pub fn source_picoseconds(&self) -> Option<u16> {
        self.field(mask::SOURCE_PICOSECONDS).map(u16::from_le_bytes)
    }

    /// When the server had the value, in 100 ns since 1601.
    pub fn server_timestamp(&self) -> Option<i64> {
        self.field(mask::SERVER_TIMESTAMP).map(i64::from_le_bytes)
    }

    /// Units of 10 ps to add to the server's timestamp.
    pub fn server_picoseconds(&self) -> Option<u16> {
        self.field(mask::SERVER_PICOSECONDS).map(u16::from_le_bytes)
    }

    /// Bytes of the status between the value and the source's timestamp.
    pub fn status_len(&self) -> usize {
        usize::from(self.mask & mask::STATUS != 0) * 4
    }

    #[inline]
    fn field<const N: usize>(&self, wanted: u8) -> Option<[u8; N]> {
        let before = self.starts(wanted)?;
        self.trailer.get(before..)?.first_chunk().copied()
    }

    /// What fields there are.
    #[inline]
    pub(super) fn mask(&self) -> u8 {
        self.mask
    }

    /// Bytes after the value.
    #[inline]
    pub(super) fn trailer_len(&self) -> usize {
        self.trailer.len()
    }

    /// Bytes between the value and a field, if there is one.
    #[inline]
    pub(super) fn starts(&self, wanted: u8) -> Option<usize> {
        // The fields before it are those of lower bits, but that picoseconds follow their timestamp.
        let before = match wanted {
            mask::SERVER_TIMESTAMP => self.mask & BEFORE_SERVER_TIMESTAMP,
            mask::SOURCE_PICOSECONDS => self.mask & BEFORE_SOURCE_PICOSECONDS,
            _ => self.mask & (wanted - 1),
        };
        match self.mask & wanted {
            0 => None,
            _ => trailer_len(before),
        }
    }

    /// The item's queue overflowed before this value: the Overflow bit, which means something
    /// only where the InfoType says DataValue (Part 4, 7.39.1).
    #[inline]
    pub fn overflowed(&self) -> bool {
        self.status().bits() & 0x0c80 == 0x0480
    }
}
