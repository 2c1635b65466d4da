//! Bytes that are right by Part 6, or tolerable, and that `opcua_types` reads wrongly: the
//! walk notes them, and the decoder gets a copy in which they are said in other words.

use crate::types::NumericRange;

/// How an index range that cannot be parsed is decoded, so that one wrong operation does
/// not refuse the whole request: no array has this element, and a server answers it with
/// Bad_IndexRangeInvalid (Part 4, 7.27).
pub const INVALID_INDEX_RANGE: NumericRange = NumericRange::Index(u32::MAX);

/// [`INVALID_INDEX_RANGE`] as a String on the wire.
const INVALID_INDEX_RANGE_BYTES: [u8; 14] = *b"\x0a\0\0\x004294967295";

/// One change, at an offset of the bytes as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    /// Where it begins.
    pub at: usize,
    /// What is written instead.
    pub rewrite: Rewrite,
}

/// What is written instead of the bytes at an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// A byte: a Boolean that is true but not 1 (Part 6, 5.2.2.1), or the encoding mask of
    /// an empty array without its dimensions.
    Byte(u8),
    /// An Int32: the stand-in for an unknown value of an enumeration, or the count of an
    /// Argument's dimensions.
    Int32(i32),
    /// Nothing instead of so many bytes: the dimensions of an empty array, which
    /// `opcua_types` leaves unread, or those of an Argument that has no rank.
    Cut(usize),
    /// [`INVALID_INDEX_RANGE`] instead of a String of so many bytes in all.
    IndexRange(usize),
}

impl Rewrite {
    /// How many bytes it takes the place of, and how many it puts there.
    const fn lens(self) -> (usize, usize) {
        match self {
            Rewrite::Byte(_) => (1, 1),
            Rewrite::Int32(_) => (4, 4),
            Rewrite::Cut(len) => (len, 0),
            Rewrite::IndexRange(len) => (len, INVALID_INDEX_RANGE_BYTES.len()),
        }
    }

    /// How many bytes more it writes than it takes away.
    pub(super) const fn growth(self) -> usize {
        let (old, new) = self.lens();
        new.saturating_sub(old)
    }
}

/// A copy of `bytes` with the edits of its walk carried out.
pub(crate) fn rewritten(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let growth: usize = edits.iter().map(|edit| edit.rewrite.growth()).sum();
    let mut out = Vec::with_capacity(bytes.len() + growth);
    let mut done = 0;
    for edit in edits {
        out.extend_from_slice(bytes.get(done..edit.at).unwrap_or_default());
        match edit.rewrite {
            Rewrite::Byte(byte) => out.push(byte),
            Rewrite::Int32(value) => out.extend_from_slice(&value.to_le_bytes()),
            Rewrite::Cut(_) => {}
            Rewrite::IndexRange(_) => out.extend_from_slice(&INVALID_INDEX_RANGE_BYTES),
        }
        done = edit.at + edit.rewrite.lens().0;
    }
    out.extend_from_slice(bytes.get(done..).unwrap_or_default());
    out
}

/// Where the byte at `offset` of the rewritten copy was before.
pub(crate) fn offset_before(edits: &[Edit], offset: usize) -> usize {
    let mut before = offset;
    for edit in edits {
        if edit.at >= before {
            break;
        }
        let (old, new) = edit.rewrite.lens();
        before = (before + old).saturating_sub(new);
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_for_a_wrong_index_range_is_that_range_on_the_wire() {
        let (len, text) = INVALID_INDEX_RANGE_BYTES.split_at(4);
        assert_eq!(len, 10_i32.to_le_bytes());
        let text = std::str::from_utf8(text).unwrap();
        assert_eq!(text.parse::<NumericRange>().unwrap(), INVALID_INDEX_RANGE);
    }

    #[test]
    fn edits_change_only_their_own_bytes_and_offsets_can_be_traced_back() {
        let edits = [
            Edit {
                at: 1,
                rewrite: Rewrite::Byte(1),
            },
            Edit {
                at: 3,
                rewrite: Rewrite::Cut(2),
            },
            Edit {
                at: 6,
                rewrite: Rewrite::Int32(-1),
            },
        ];
        let out = rewritten(&[0, 9, 2, 3, 4, 5, 6, 7, 8, 9, 10], &edits);
        assert_eq!(out, [0, 1, 2, 5, 0xff, 0xff, 0xff, 0xff, 10]);
        assert_eq!(offset_before(&edits, 2), 2);
        assert_eq!(offset_before(&edits, 8), 10);
    }
}
