//! HistoryRead responses (Part 4, 5.11.3.2) with raw or processed values.

use super::cursor::{Cursor, WalkError};
use super::head::ResponseHead;
use super::node_id::RawNodeId;
use super::status::StatusTally;
use super::type_id;
use super::value::{data_value, skip_diagnostic_infos};
use crate::types::StatusCode;

/// What was read of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryPart<'a> {
    /// The node's status.
    pub status: StatusCode,
    /// Where its history goes on, if this is not all of it.
    pub continuation_point: Option<&'a [u8]>,
    /// How many values there are.
    pub values: usize,
    /// How many of them are bad.
    pub bad: usize,
}

/// A status, a continuation point, an ExtensionObject without a body.
const LEAST_RESULT: usize = 11;
/// A mask.
const LEAST_VALUE: usize = 1;

/// Walks a HistoryRead response to `expected` nodes to its last byte; tells of each of them, and
/// adds up their statuses.
pub fn check_history<'a>(
    body: &'a [u8],
    expected: usize,
    mut tell: impl FnMut(usize, HistoryPart<'a>),
) -> Result<StatusTally, WalkError> {
    let head = ResponseHead::parse(body)?;
    let mut c = head.fields(body, type_id::HISTORY_READ_RESPONSE)?;
    let found = c.count(LEAST_RESULT)?;
    if found != expected {
        return Err(WalkError::WrongCount { expected, found });
    }
    let mut tally = StatusTally::default();
    for at in 0..found {
        let part = part(&mut c)?;
        tally.note(part.status);
        tell(at, part);
    }
    skip_diagnostic_infos(&mut c)?;
    c.finish()?;
    Ok(tally)
}

fn part<'a>(c: &mut Cursor<'a>) -> Result<HistoryPart<'a>, WalkError> {
    let mut part = HistoryPart {
        status: StatusCode::from(c.u32()?),
        continuation_point: c.octets()?.filter(|point| !point.is_empty()),
        values: 0,
        bad: 0,
    };
    let kind = RawNodeId::read(c)?;
    match c.u8()? {
        // Part 6, 5.2.2.15: no body.
        0 => return Ok(part),
        1 => {}
        _ => return Err(c.unusual("history data that are not binary")),
    }
    let len = usize::try_from(c.i32()?).unwrap_or(0);
    let mut inside = c.part(len)?;
    let data = RawNodeId::Numeric {
        namespace: 0,
        id: type_id::HISTORY_DATA,
    };
    if kind != data {
        return Err(c.unusual("history data of another type"));
    }
    part.values = inside.count(LEAST_VALUE)?;
    for _ in 0..part.values {
        let status = data_value(&mut inside, 0)?.status();
        part.bad += usize::from(status.bits() >> 31 != 0);
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Response;
    use crate::types::{
        ByteString, DataValue, ExtensionObject, HistoryData, HistoryReadResponse,
        HistoryReadResult, Variant,
    };

    fn encoded() -> Vec<u8> {
        let value = |n: u32, status| DataValue {
            value: Some(Variant::UInt32(n)),
            status,
            ..Default::default()
        };
        let values = vec![
            value(1, None),
            value(2, Some(StatusCode::BadNoData)),
            value(3, None),
        ];
        let data = HistoryData {
            data_values: Some(values),
        };
        let response = HistoryReadResponse {
            results: Some(vec![
                HistoryReadResult {
                    history_data: ExtensionObject::from_message(data),
                    continuation_point: ByteString::from(vec![7, 8]),
                    ..Default::default()
                },
                HistoryReadResult {
                    status_code: StatusCode::BadNodeIdUnknown,
                    ..Default::default()
                },
            ]),
            ..Default::default()
        };
        let mut body = Vec::new();
        Response::from(response).encode(&mut body).unwrap();
        body
    }

    #[test]
    fn values_and_where_they_go_on_are_told_node_by_node() {
        let body = encoded();
        let mut parts = Vec::new();
        let tally = check_history(&body, 2, |at, part| parts.push((at, part))).unwrap();
        assert_eq!((tally.results, tally.bad), (2, 1));
        let first = HistoryPart {
            status: StatusCode::Good,
            continuation_point: Some(&[7, 8]),
            values: 3,
            bad: 1,
        };
        let second = HistoryPart {
            status: StatusCode::BadNodeIdUnknown,
            continuation_point: None,
            values: 0,
            bad: 0,
        };
        assert_eq!(parts, [(0, first), (1, second)]);
        let wrong = check_history(&body, 3, |_, _| {});
        assert!(matches!(wrong, Err(WalkError::WrongCount { .. })));
    }

    #[test]
    fn a_body_cut_anywhere_is_an_error() {
        let body = encoded();
        for end in 0..body.len() {
            let cut = body.get(..end).unwrap();
            assert!(check_history(cut, 2, |_, _| {}).is_err(), "{end}");
        }
    }
}
