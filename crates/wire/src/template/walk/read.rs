//! Read responses (Part 4, 5.11.2.2).

use super::cursor::{Cursor, WalkError};
use super::data_value::{mask, trailer_len};
use super::head::ResponseHead;
use super::type_id;
use super::value::{DataValues, data_value, skip_diagnostic_infos};
use super::variant::fixed_scalar_size;
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
/// `crates/counted` keeps it.
pub fn check_read(body: &[u8], expected: usize) -> Result<ReadTally, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::READ_RESPONSE)?;
    let found = c.count(1)?;
    if found != expected {
        return Err(WalkError::WrongCount { expected, found });
    }
    let mut tally = ReadTally::default();
    if found >= MANY {
        alike(&mut c, found, &mut tally);
    }
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

/// Results from which on it pays to see first whether all are alike.
const MANY: usize = 8;

/// Steps over all results if they are scalars of one type, without a status: what a server usually
/// answers to a Read of many nodes. No branch for each value, and a size that the compiler knows.
#[inline(never)]
fn alike(c: &mut Cursor<'_>, found: usize, tally: &mut ReadTally) {
    let all = c.rest();
    if let Some(&first) = all.first_chunk::<2>()
        && let [bits, encoding] = first
        && bits & (mask::VALUE | mask::STATUS) == mask::VALUE
        && let (Some(trailer), Some(size)) = (trailer_len(bits), fixed_scalar_size(encoding))
        && let stride = 2 + size + trailer
        && let Some((values, after)) = all.split_at_checked(found.saturating_mul(stride))
        && all_begin_with(first, values, stride)
    {
        tally.values = found;
        tally.bytes = found * size;
        c.skip_to(after);
    }
}

/// Whether all values of this size begin with the same mask and type. False for sizes that hardly
/// any server sends.
fn all_begin_with(first: [u8; 2], values: &[u8], stride: usize) -> bool {
    // Scalars of 1, 2, 4 and 8 bytes; without a timestamp, with one, with both.
    match stride {
        3 => all_begin::<3>(first, values),
        4 => all_begin::<4>(first, values),
        6 => all_begin::<6>(first, values),
        10 => all_begin::<10>(first, values),
        11 => all_begin::<11>(first, values),
        12 => all_begin::<12>(first, values),
        14 => all_begin::<14>(first, values),
        18 => all_begin::<18>(first, values),
        19 => all_begin::<19>(first, values),
        20 => all_begin::<20>(first, values),
        22 => all_begin::<22>(first, values),
        26 => all_begin::<26>(first, values),
        _ => false,
    }
}

fn all_begin<const STRIDE: usize>(first: [u8; 2], values: &[u8]) -> bool {
    let first = u16::from_le_bytes(first);
    let (values, _) = values.as_chunks::<STRIDE>();
    let other = values.iter().fold(0, |other, value| {
        let [a, b, ..] = value.as_slice() else {
            return other;
        };
        other | (u16::from_le_bytes([*a, *b]) ^ first)
    });
    other == 0
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
    let (Some(trailer), Some(size)) = (trailer_len(bits), fixed_scalar_size(encoding)) else {
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
