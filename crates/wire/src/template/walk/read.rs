//! Read responses (Part 4, 5.11.2.2).

use super::cursor::{Cursor, WalkError};
use super::data_value::{DataValues, data_value, mask};
use super::head::ResponseHead;
use super::type_id;
use super::variant::{fixed_scalar, skip_diagnostic_infos};
use crate::types::StatusCode;

/// What a Read response holds, without any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadTally {
    /// Results.
    pub values: usize,
    /// Results whose status is bad.
    pub bad: usize,
    /// Results whose status is uncertain.
    pub uncertain: usize,
    /// Index and status of the first bad one.
    pub first_bad: Option<(usize, StatusCode)>,
    /// Bytes of the values themselves: no masks, types, lengths of arrays, statuses, timestamps.
    pub bytes: usize,
}

impl ReadTally {
    #[inline]
    fn note(&mut self, status: StatusCode) {
        let bits = status.bits();
        if bits >> 30 != 0 {
            self.note_not_good(status);
        }
    }

    #[cold]
    fn note_not_good(&mut self, status: StatusCode) {
        if status.bits() >> 31 == 0 {
            self.uncertain += 1;
        } else {
            self.bad += 1;
            self.first_bad.get_or_insert((self.values, status));
        }
    }
}

/// The values of a Read response, one after another. What follows them is not looked at;
/// [`check_read`] does that.
pub fn read_values(body: &[u8]) -> Result<DataValues<'_>, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::READ_RESPONSE)?;
    let count = c.count(1)?;
    Ok(DataValues::new(c, count))
}

/// Counts results and statuses of a Read response to `expected` nodes, to its last byte.
///
/// Costs, as `tests/instructions.rs` keeps them: see there; under 15 instructions for each of
/// many Doubles, with or without timestamps.
pub fn check_read(body: &[u8], expected: usize) -> Result<ReadTally, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::READ_RESPONSE)?;
    let found = c.count(1)?;
    if found != expected {
        return Err(WalkError::WrongCount { expected, found });
    }
    let mut tally = ReadTally::default();
    while tally.values < found {
        run(&mut c, found, &mut tally);
        if tally.values < found {
            let value = data_value(&mut c, 0)?;
            tally.note(value.status);
            tally.bytes += value.value.map_or(0, |v| v.payload.len());
            tally.values += 1;
        }
    }
    skip_diagnostic_infos(&mut c)?;
    c.finish()?;
    Ok(tally)
}

/// Bytes after the value, by the mask without its lowest bit.
const TRAILER: [u8; 64] = {
    let mut sizes = [0; 64];
    let mut bits = 0u8;
    while bits < 64 {
        let mut n = 0;
        if bits & mask::STATUS != 0 {
            n += 4;
        }
        if bits & mask::SOURCE_TIMESTAMP != 0 {
            n += 8;
        }
        if bits & mask::SERVER_TIMESTAMP != 0 {
            n += 8;
        }
        if bits & mask::SOURCE_PICOSECONDS != 0 {
            n += 2;
        }
        if bits & mask::SERVER_PICOSECONDS != 0 {
            n += 2;
        }
        sizes[bits as usize] = n;
        bits += 1;
    }
    sizes
};

/// Steps over as many scalars as have the same mask and type as the first: their size is the
/// same, so a step costs a comparison of two bytes and, if there is one, of the status. Leaves
/// the cursor where it was when the first is of another kind, or cut off.
#[inline]
fn run(c: &mut Cursor<'_>, found: usize, tally: &mut ReadTally) {
    let Some(&first) = c.rest().first_chunk::<2>() else {
        return;
    };
    let [bits, encoding] = first;
    let (Some(&trailer), Some(size)) = (TRAILER.get(usize::from(bits)), fixed_scalar(encoding))
    else {
        return;
    };
    if bits & mask::VALUE == 0 {
        return;
    }
    let before = tally.values;
    let stride = 2 + size + usize::from(trailer);
    let mut rest = c.rest();
    if bits & mask::STATUS == 0 {
        while tally.values < found
            && let Some((value, after)) = rest.split_at_checked(stride)
            && value.first_chunk() == Some(&first)
        {
            rest = after;
            tally.values += 1;
        }
    } else {
        while tally.values < found
            && let Some((value, after)) = rest.split_at_checked(stride)
            && value.first_chunk() == Some(&first)
            && let Some(status) = value.get(2 + size..).and_then(<[u8]>::first_chunk)
        {
            tally.note(StatusCode::from(u32::from_le_bytes(*status)));
            rest = after;
            tally.values += 1;
        }
    }
    let steps = tally.values - before;
    tally.bytes += steps * size;
    c.skip_to(rest);
}
