//! Read responses (Part 4, 5.11.2.2).

use super::cursor::{Cursor, WalkError};
use super::data_value::{DataValues, data_value, mask, trailer_len};
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
    /// Counts the status of the result that is next. Kept out of the loop's registers: nearly
    /// every status is good.
    #[cold]
    fn note_not_good(&mut self, status: StatusCode, index: usize) {
        if status.bits() >> 31 == 0 {
            self.uncertain += 1;
        } else {
            self.bad += 1;
            self.first_bad.get_or_insert((index, status));
        }
    }
}

#[inline]
fn is_good(status: StatusCode) -> bool {
    status.bits() >> 30 == 0
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
/// Under 15 instructions for each of many Doubles, with or without statuses and timestamps, as
/// `tests/instructions.rs` keeps it.
pub fn check_read(body: &[u8], expected: usize) -> Result<ReadTally, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::READ_RESPONSE)?;
    let found = c.count(1)?;
    if found != expected {
        return Err(WalkError::WrongCount { expected, found });
    }
    let mut tally = ReadTally::default();
    while tally.values < found {
        if run(&mut c, found, &mut tally) == 0 {
            let value = data_value(&mut c, 0)?;
            if !is_good(value.status()) {
                tally.note_not_good(value.status(), tally.values);
            }
            tally.bytes += value.value.map_or(0, |v| v.payload().len());
            tally.values += 1;
        }
    }
    skip_diagnostic_infos(&mut c)?;
    c.finish()?;
    Ok(tally)
}

/// Steps over as many scalars as have the same mask and type as the first, and tells how many:
/// their size is the same, so a step costs a comparison of two bytes and, if there is one, of the
/// status. None when the first is of another kind, or cut off.
#[inline]
fn run(c: &mut Cursor<'_>, found: usize, tally: &mut ReadTally) -> usize {
    let Some(&first) = c.rest().first_chunk::<2>() else {
        return 0;
    };
    let [bits, encoding] = first;
    let (Some(trailer), Some(size)) = (trailer_len(bits), fixed_scalar(encoding)) else {
        return 0;
    };
    if bits & mask::VALUE == 0 {
        return 0;
    }
    let stride = 2 + size + trailer;
    let most = found - tally.values;
    let all = c.rest();
    // As many as may come. The loops below end where this does, and count with their steps.
    let mut rest = all.get(..most.saturating_mul(stride)).unwrap_or(all);
    let mut steps = 0;
    if bits & mask::STATUS == 0 {
        while let Some((value, after)) = rest.split_at_checked(stride)
            && value.first_chunk() == Some(&first)
        {
            rest = after;
            steps += 1;
        }
    } else {
        let status_at = 2 + size;
        while let Some((value, after)) = rest.split_at_checked(stride)
            && value.first_chunk() == Some(&first)
            && let Some(status) = value.get(status_at..).and_then(<[u8]>::first_chunk)
        {
            let status = StatusCode::from(u32::from_le_bytes(*status));
            if !is_good(status) {
                tally.note_not_good(status, tally.values + steps);
            }
            rest = after;
            steps += 1;
        }
    }
    tally.values += steps;
    tally.bytes += steps * size;
    c.skip_to(all.get(steps * stride..).unwrap_or_default());
    steps
}
