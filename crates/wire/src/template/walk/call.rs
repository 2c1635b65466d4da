//! Call responses (Part 4, 5.12.2.2).

use super::cursor::{Cursor, WalkError};
use super::head::ResponseHead;
use super::status::{StatusTally, Statuses};
use super::type_id;
use super::value::{skip_diagnostic_infos, variant};
use super::variant::RawVariant;
use crate::types::StatusCode;

/// What became of one method.
#[derive(Debug, Clone)]
pub struct CallResult<'a> {
    /// The method's status.
    pub status: StatusCode,
    /// A status for each input argument, or none when all were good.
    pub input_argument_results: Statuses<'a>,
    /// What the method returned.
    pub output_arguments: Arguments<'a>,
}

/// Variants one after another. They were stepped over once before, so none is an error.
#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Arguments<'a> {
    fn read(c: &mut Cursor<'a>) -> Result<Self, WalkError> {
        let left = c.count(1)?;
        let cursor = *c;
        for _ in 0..left {
            variant(c, 0)?;
        }
        Ok(Self { cursor, left })
    }
}

impl<'a> Iterator for Arguments<'a> {
    type Item = RawVariant<'a>;

    fn next(&mut self) -> Option<RawVariant<'a>> {
        self.left = self.left.checked_sub(1)?;
        variant(&mut self.cursor, 0).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Arguments<'_> {}

/// The results of a Call response, one after another. Ends after the first error.
#[derive(Debug, Clone)]
pub struct CallResults<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> Iterator for CallResults<'a> {
    type Item = Result<CallResult<'a>, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let result = call_result(&mut self.cursor);
        if result.is_err() {
            self.left = 0;
        }
        Some(result)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

fn call_result<'a>(c: &mut Cursor<'a>) -> Result<CallResult<'a>, WalkError> {
    let status = StatusCode::from(c.u32()?);
    let input_argument_results = Statuses::read(c)?;
    skip_diagnostic_infos(c)?;
    let output_arguments = Arguments::read(c)?;
    Ok(CallResult {
        status,
        input_argument_results,
        output_arguments,
    })
}

/// A status and three empty arrays.
const LEAST_RESULT: usize = 16;

/// The results of a Call response. What follows them is not looked at; [`check_call`] does that.
pub fn call_results(body: &[u8]) -> Result<CallResults<'_>, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::CALL_RESPONSE)?;
    let left = c.count(LEAST_RESULT)?;
    Ok(CallResults { cursor: c, left })
}

/// Counts results and statuses of a Call response to `expected` methods, to its last byte.
pub fn check_call(body: &[u8], expected: usize) -> Result<StatusTally, WalkError> {
    let CallResults { mut cursor, left } = call_results(body)?;
    if left != expected {
        return Err(WalkError::WrongCount {
            expected,
            found: left,
        });
    }
    let mut tally = StatusTally::default();
    for _ in 0..left {
        tally.note(call_result(&mut cursor)?.status);
    }
    skip_diagnostic_infos(&mut cursor)?;
    cursor.finish()?;
    Ok(tally)
}
