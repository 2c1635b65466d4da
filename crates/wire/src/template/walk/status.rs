//! Arrays of statuses: what Write responses (Part 4, 5.11.4.2) are made of, and acknowledgements.

use super::cursor::{Cursor, WalkError};
use super::head::ResponseHead;
use super::type_id;
use super::value::skip_diagnostic_infos;
use crate::types::StatusCode;

/// Results counted by their statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusTally {
    /// Results.
    pub results: usize,
    /// Results whose status is bad.
    pub bad: usize,
    /// Results whose status is uncertain.
    pub uncertain: usize,
    /// Index and status of the first bad one.
    pub first_bad: Option<(usize, StatusCode)>,
}

impl StatusTally {
    /// Counts the next result.
    #[inline]
    pub(super) fn note(&mut self, status: StatusCode) {
        if status.bits() >> 30 != 0 {
            self.note_not_good(status);
        }
        self.results += 1;
    }

    #[cold]
    fn note_not_good(&mut self, status: StatusCode) {
        if status.bits() >> 31 == 0 {
            self.uncertain += 1;
        } else {
            self.bad += 1;
            self.first_bad.get_or_insert((self.results, status));
        }
    }
}

/// StatusCodes one after another.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statuses<'a> {
    raw: &'a [[u8; 4]],
}

impl<'a> Statuses<'a> {
    #[inline]
    pub(super) fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError> {
        let n = c.count(4)?;
        let (raw, _) = c.take(n * 4)?.as_chunks();
        Ok(Self { raw })
    }

    /// Counts them.
    pub fn tally(self) -> StatusTally {
        let mut tally = StatusTally::default();
        for status in self {
            tally.note(status);
        }
        tally
    }
}

impl Iterator for Statuses<'_> {
    type Item = StatusCode;

    #[inline]
    fn next(&mut self) -> Option<StatusCode> {
        let (first, rest) = self.raw.split_first()?;
        self.raw = rest;
        Some(StatusCode::from(u32::from_le_bytes(*first)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.raw.len(), Some(self.raw.len()))
    }
}

impl ExactSizeIterator for Statuses<'_> {}

/// The statuses of a Write response.
pub fn write_results(body: &[u8]) -> Result<Statuses<'_>, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::WRITE_RESPONSE)?;
    let results = Statuses::read(&mut c)?;
    skip_diagnostic_infos(&mut c)?;
    c.finish()?;
    Ok(results)
}

/// Counts results and statuses of a Write response to `expected` values, to its last byte.
pub fn check_write(body: &[u8], expected: usize) -> Result<StatusTally, WalkError> {
    let results = write_results(body)?;
    if results.len() != expected {
        return Err(WalkError::WrongCount {
            expected,
            found: results.len(),
        });
    }
    Ok(results.tally())
}
