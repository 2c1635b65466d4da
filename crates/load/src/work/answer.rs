//! What a response amounts to.

use wire::service::{Limits, Response};
use wire::template::walk::{self, ReadTally, StatusTally, WalkError};
use wire::types::{ByteString, StatusCode};

use super::Service;
use crate::transport::WrongCount;

/// What a response amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The service's own result when it is bad, else that of the first operation that is, else
    /// Good.
    pub status: StatusCode,
    /// Results that are not bad: values, statuses, references.
    pub values: u32,
    /// Operations that failed.
    pub bad: u32,
    /// Operations whose result is uncertain.
    pub uncertain: u32,
    /// Where a Browse or a HistoryRead is to be continued.
    pub more: Vec<Point>,
}

/// Where the result of an operation goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Which operation of the request it was.
    pub operation: u32,
    /// What the server calls it.
    pub bytes: ByteString,
}

impl Answer {
    /// The service failed as a whole.
    pub fn failed(status: StatusCode) -> Self {
        Self {
            status,
            values: 0,
            bad: 0,
            uncertain: 0,
            more: Vec::new(),
        }
    }

    fn new(values: usize, bad: usize, uncertain: usize, first: Option<StatusCode>) -> Self {
        let small = |n| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            status: first.unwrap_or(StatusCode::Good),
            values: small(values),
            bad: small(bad),
            uncertain: small(uncertain),
            more: Vec::new(),
        }
    }

    fn of(statuses: impl IntoIterator<Item = StatusCode>, expected: usize) -> Self {
        let (mut results, mut bad, mut uncertain, mut first) = (0, 0, 0, None);
        for status in statuses {
            results += 1;
            match status.bits() >> 30 {
                0 => {}
                1 => uncertain += 1,
                _ => {
                    bad += 1;
                    first.get_or_insert(status);
                }
            }
        }
        match results == expected {
            true => Self::new(results - bad, bad, uncertain, first),
            false => Self::failed(WrongCount::STATUS),
        }
    }
}

impl From<ReadTally> for Answer {
    fn from(tally: ReadTally) -> Self {
        let first = tally.first_bad.map(|(_, status)| status);
        Self::new(tally.values - tally.bad, tally.bad, tally.uncertain, first)
    }
}

impl From<StatusTally> for Answer {
    fn from(tally: StatusTally) -> Self {
        let first = tally.first_bad.map(|(_, status)| status);
        Self::new(tally.results - tally.bad, tally.bad, tally.uncertain, first)
    }
}

impl Service {
    /// What a response to `expected` operations amounts to.
    #[inline]
    pub fn judge(self, body: &[u8], expected: usize) -> Answer {
        let walked = match self {
            Self::Read => walk::check_read(body, expected).map(Answer::from),
            Self::Write => walk::check_write(body, expected).map(Answer::from),
            Self::Call => walk::check_call(body, expected).map(Answer::from),
            Self::History => return history(body, expected),
            Self::Browse | Self::Translate | Self::Register => {
                return decoded(body, expected);
            }
        };
        match walked {
            Ok(answer) => answer,
            Err(WalkError::Unusual { .. }) => decoded(body, expected),
            Err(error) => refused(&error),
        }
    }
}

/// What a response to HistoryRead amounts to: what counts are the values.
fn history(body: &[u8], expected: usize) -> Answer {
    let (mut values, mut bad, mut more) = (0, 0, Vec::new());
    let walked = walk::check_history(body, expected, |at, part| {
        values += part.values - part.bad;
        bad += part.bad;
        if let Some(point) = part.continuation_point {
            more.push(Point {
                operation: u32::try_from(at).unwrap_or(u32::MAX),
                bytes: point.to_vec().into(),
            });
        }
    });
    match walked {
        Ok(tally) => {
            let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            let mut answer = Answer::from(tally);
            answer.values = small(values);
            answer.bad = answer.bad.saturating_add(small(bad));
            answer.more = more;
            answer
        }
        Err(error) => refused(&error),
    }
}

/// What a response amounts to that is none, or none to what was asked.
pub(super) fn refused(error: &WalkError) -> Answer {
    Answer::failed(match error {
        WalkError::Fault(status) => *status,
        WalkError::WrongCount { .. } => WrongCount::STATUS,
        WalkError::OtherType { .. } => StatusCode::BadUnknownResponse,
        _ => StatusCode::BadDecodingError,
    })
}

impl Service {
    /// Tells the status of each operation that did not go well.
    #[cold]
    pub fn each_failure(self, body: &[u8], mut tell: impl FnMut(StatusCode)) {
        let Ok(response) = Response::decode(body, &Limits::for_message_size(body.len())) else {
            return;
        };
        let mut note = |status: StatusCode| {
            if status.bits() >> 30 != 0 {
                tell(status);
            }
        };
        match response {
            Response::Read(it) => it
                .results
                .iter()
                .flatten()
                // Part 6, 5.2.2.17: a DataValue without a status is Good.
                .for_each(|value| note(value.status.unwrap_or_default())),
            Response::Write(it) => it.results.into_iter().flatten().for_each(note),
            Response::Call(it) => it
                .results
                .iter()
                .flatten()
                .for_each(|r| note(r.status_code)),
            Response::Browse(it) => it
                .results
                .iter()
                .flatten()
                .for_each(|r| note(r.status_code)),
            Response::HistoryRead(it) => {
                it.results
                    .iter()
                    .flatten()
                    .for_each(|r| note(r.status_code));
            }
            Response::BrowseNext(it) => {
                it.results
                    .iter()
                    .flatten()
                    .for_each(|r| note(r.status_code));
            }
            Response::TranslateBrowsePathsToNodeIds(it) => {
                it.results
                    .iter()
                    .flatten()
                    .for_each(|r| note(r.status_code));
            }
            _ => {}
        }
    }
}

/// The same by the full decoder.
fn decoded(body: &[u8], expected: usize) -> Answer {
    // As large as it came: the connection has kept the limits that were agreed on.
    let response = match Response::decode(body, &Limits::for_message_size(body.len())) {
        Ok(response) => response,
        Err(error) => return Answer::failed(error.status()),
    };
    let result = response.header().service_result;
    if result.bits() >> 31 != 0 {
        return Answer::failed(result);
    }
    match response {
        Response::Read(read) => {
            let results = read.results.unwrap_or_default();
            Answer::of(
                results.iter().map(|value| value.status.unwrap_or_default()),
                expected,
            )
        }
        Response::Write(write) => Answer::of(write.results.unwrap_or_default(), expected),
        Response::Call(call) => {
            let results = call.results.unwrap_or_default();
            Answer::of(results.iter().map(|result| result.status_code), expected)
        }
        Response::Browse(browse) => browsed(browse.results.unwrap_or_default(), expected),
        Response::BrowseNext(next) => browsed(next.results.unwrap_or_default(), expected),
        Response::TranslateBrowsePathsToNodeIds(translate) => {
            let results = translate.results.unwrap_or_default();
            Answer::of(results.iter().map(|result| result.status_code), expected)
        }
        Response::RegisterNodes(register) => {
            let nodes = register.registered_node_ids.unwrap_or_default();
            Answer::of(nodes.iter().map(|_| StatusCode::Good), expected)
        }
        _ => Answer::failed(StatusCode::BadUnknownResponse),
    }
}

/// What counts of a Browse are its references.
fn browsed(results: Vec<wire::types::BrowseResult>, expected: usize) -> Answer {
    let mut answer = Answer::of(results.iter().map(|result| result.status_code), expected);
    // Which operation a continuation point belongs to is not known.
    if results.len() != expected {
        return answer;
    }
    let references = results
        .iter()
        .map(|result| result.references.as_ref().map_or(0, Vec::len))
        .sum::<usize>();
    answer.values = u32::try_from(references).unwrap_or(u32::MAX);
    answer.more = results
        .into_iter()
        .enumerate()
        .map(|(at, result)| Point {
            operation: u32::try_from(at).unwrap_or(u32::MAX),
            bytes: result.continuation_point,
        })
        .filter(|point| !point.bytes.is_null_or_empty())
        .collect();
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::types::{BrowseResult, ByteString, ReferenceDescription};

    #[test]
    fn a_browse_with_other_than_one_result_for_each_node_is_not_gone_on_with() {
        let result = || BrowseResult {
            continuation_point: ByteString::from(vec![1]),
            references: Some(vec![ReferenceDescription::default()]),
            ..BrowseResult::default()
        };
        let right = browsed(vec![result(), result()], 2);
        assert_eq!((right.status, right.values), (StatusCode::Good, 2));
        assert_eq!(right.more.len(), 2);
        for (got, asked) in [(2, 1), (1, 2), (1, 0)] {
            let wrong = browsed((0..got).map(|_| result()).collect(), asked);
            assert_eq!(
                (wrong.status, wrong.values),
                (WrongCount::STATUS, 0),
                "{got}"
            );
            assert!(wrong.more.is_empty(), "{got}");
        }
    }
}
