//! HistoryRead and HistoryUpdate (Part 4, 5.11.3 and 5.11.5; Part 11, 6.5).

use wire::template::walk::RawVariant;
use wire::types::{
    ByteString, DataValue, DateTime, ExtensionObject, HistoryData, HistoryReadRequest,
    HistoryReadResponse, HistoryReadResult, HistoryReadValueId, HistoryUpdateRequest,
    HistoryUpdateResponse, HistoryUpdateResult, NumericRange, ReadAtTimeDetails, ReadEventDetails,
    ReadProcessedDetails, ReadRawModifiedDetails, StatusCode, TimestampsToReturn,
};

use super::{Desk, operations};
use crate::history::{History, Span};
use crate::space::{NodeIndex, access, attribute, encode, range};

/// Reads of a history that are not finished (Part 4, 7.9).
#[derive(Debug, Default)]
pub struct HistoryPoints {
    points: Vec<(u32, NodeIndex, Span)>,
    last: u32,
}

/// Continuation points of this service begin with it, those of Browse do not.
const MARK: u8 = b'H';

impl HistoryPoints {
    fn keep(&mut self, node: NodeIndex, span: Span, limit: usize) -> Option<ByteString> {
        if self.points.len() >= limit {
            return None;
        }
        self.last = self.last.wrapping_add(1);
        self.points.push((self.last, node, span));
        let mut bytes = vec![MARK];
        bytes.extend_from_slice(&self.last.to_le_bytes());
        Some(ByteString::from(bytes))
    }

    fn take(&mut self, point: &ByteString) -> Option<(NodeIndex, Span)> {
        let (mark, number) = point.as_ref().split_first()?;
        let number = u32::from_le_bytes(number.try_into().ok()?);
        let found = self.points.iter().position(|(own, ..)| *own == number);
        let at = found.filter(|_| *mark == MARK)?;
        let (_, node, span) = self.points.remove(at);
        Some((node, span))
    }
}

/// What is wanted of each node.
enum Wanted<'a> {
    Raw(&'a ReadRawModifiedDetails),
    AtTime(&'a ReadAtTimeDetails),
    /// Something that is not there, and why.
    Refused(StatusCode),
}

impl Desk<'_> {
    pub(super) fn history_read(
        &mut self,
        request: HistoryReadRequest,
    ) -> Result<HistoryReadResponse, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_read;
        let stamps = request.timestamps_to_return;
        let nodes = operations(request.nodes_to_read, limit)?;
        if request.release_continuation_points {
            // Part 4, 5.11.3.2: nothing else is done then.
            let results = nodes.iter().map(|node| HistoryReadResult {
                status_code: match self.session.history.take(&node.continuation_point) {
                    Some(_) => StatusCode::Good,
                    None => StatusCode::BadContinuationPointInvalid,
                },
                ..Default::default()
            });
            return Ok(HistoryReadResponse {
                results: Some(results.collect()),
                ..Default::default()
            });
        }
        // Part 11, 6.5.3.2: values without any time are no history.
        if !matches!(
            stamps,
            TimestampsToReturn::Source | TimestampsToReturn::Server | TimestampsToReturn::Both
        ) {
            return Err(StatusCode::BadTimestampsToReturnInvalid);
        }
        let details = &request.history_read_details;
        let wanted = if let Some(raw) = details.inner_as::<ReadRawModifiedDetails>() {
            match raw.is_read_modified {
                // Values are never modified here, and no list is kept of it.
                true => Wanted::Refused(StatusCode::BadHistoryOperationUnsupported),
                false => Wanted::Raw(raw),
            }
        } else if let Some(at) = details.inner_as::<ReadAtTimeDetails>() {
            Wanted::AtTime(at)
        } else if details.inner_is::<ReadProcessedDetails>() {
            Wanted::Refused(StatusCode::BadAggregateNotSupported)
        } else if details.inner_is::<ReadEventDetails>() {
            Wanted::Refused(StatusCode::BadHistoryOperationUnsupported)
        } else {
            return Err(StatusCode::BadHistoryOperationInvalid);
        };
        let results = nodes.iter().map(|node| {
            let read = self.history_of(node, &wanted, stamps);
            read.unwrap_or_else(|status_code| HistoryReadResult {
                status_code,
                ..Default::default()
            })
        });
        Ok(HistoryReadResponse {
            results: Some(results.collect()),
            ..Default::default()
        })
    }

    fn history_of(
        &mut self,
        node: &HistoryReadValueId,
        wanted: &Wanted<'_>,
        stamps: TimestampsToReturn,
    ) -> Result<HistoryReadResult, StatusCode> {
        let (at, kept) = match self.session.history.take(&node.continuation_point) {
            Some((at, span)) => (at, Some(span)),
            None if !node.continuation_point.is_null_or_empty() => {
                return Err(StatusCode::BadContinuationPointInvalid);
            }
            None => (self.historical(node)?, None),
        };
        let space = &self.shared.space;
        let history = space.history(at);
        let history = history.ok_or(StatusCode::BadHistoryOperationUnsupported)?;
        let limits = &self.shared.config.limits;
        let most = limits.history_values.max(1);
        let (values, rest) = match wanted {
            Wanted::Refused(status) => return Err(*status),
            Wanted::AtTime(asked) => (self.at_times(history, asked)?, None),
            Wanted::Raw(asked) => {
                let span = match kept {
                    Some(span) => span,
                    None => span(asked)?,
                };
                let most = match asked.num_values_per_node as usize {
                    0 => most,
                    asked => asked.min(most),
                };
                let page = history.page(&span, most, self.now.mono.as_nanos(), space.anchor());
                (page.values, page.rest)
            }
        };
        self.shared.counters.reads.add(values.len() as u64);
        let mut result = HistoryReadResult {
            status_code: match values.is_empty() {
                true => StatusCode::GoodNoData,
                false => StatusCode::Good,
            },
            ..Default::default()
        };
        if let Some(rest) = rest {
            let kept = self
                .session
                .history
                .keep(at, rest, limits.continuation_points);
            result.continuation_point = kept.ok_or(StatusCode::BadNoContinuationPoints)?;
        }
        let values = values.into_iter();
        let values = values.map(|value| shown(value, &node.index_range, stamps));
        result.history_data = ExtensionObject::from_message(HistoryData {
            data_values: Some(values.collect()),
        });
        Ok(result)
    }

    /// The variable that has a history which this user may read.
    fn historical(&self, node: &HistoryReadValueId) -> Result<NodeIndex, StatusCode> {
        let space = &self.shared.space;
        let unknown = StatusCode::BadNodeIdUnknown;
        let at = space.find_id(&node.node_id).ok_or(unknown)?;
        let found = space.node(at).ok_or(unknown)?;
        let unsupported = StatusCode::BadHistoryOperationUnsupported;
        let variable = found.variable().ok_or(unsupported)?;
        if variable.access_level & access::HISTORY_READ == 0 {
            return Err(unsupported);
        }
        let name = &node.data_encoding.name;
        if !name.is_null() && !name.is_empty() && name.as_ref() != "Default Binary" {
            return Err(StatusCode::BadDataEncodingInvalid);
        }
        let user = attribute::user_access(&found, variable, self.session.rights);
        match user & access::HISTORY_READ {
            0 => Err(StatusCode::BadUserAccessDenied),
            _ => Ok(at),
        }
    }

    fn at_times(
        &self,
        history: &History,
        asked: &ReadAtTimeDetails,
    ) -> Result<Vec<DataValue>, StatusCode> {
        let times = asked.req_times.as_deref().unwrap_or_default();
        if times.is_empty() {
            return Err(StatusCode::BadInvalidTimestampArgument);
        }
        if times.len() > self.shared.config.limits.history_values {
            return Err(StatusCode::BadTooManyOperations);
        }
        let (now, anchor) = (self.now, self.shared.space.anchor());
        let at = |time: &DateTime| history.at(time.ticks(), now.utc, now.mono.as_nanos(), anchor);
        Ok(times.iter().map(at).collect())
    }

    /// Histories are not for clients to change: each of the details is refused.
    pub(super) fn history_update(
        &mut self,
        request: HistoryUpdateRequest,
    ) -> Result<HistoryUpdateResponse, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_write;
        let details = operations(request.history_update_details, limit)?;
        let results = details.iter().map(|_| HistoryUpdateResult {
            status_code: StatusCode::BadHistoryOperationUnsupported,
            ..Default::default()
        });
        Ok(HistoryUpdateResponse {
            results: Some(results.collect()),
            ..Default::default()
        })
    }
}

/// Part 11, 6.5.3.2: of start, end and number two have to be told.
fn span(asked: &ReadRawModifiedDetails) -> Result<Span, StatusCode> {
    let told = |time: &DateTime| (time.ticks() > 0).then(|| time.ticks());
    let (start, end) = (told(&asked.start_time), told(&asked.end_time));
    let count = asked.num_values_per_node as usize;
    let count = match (start, end, count) {
        (Some(_), Some(_), _) => None,
        (None, None, _) | (_, _, 0) => return Err(StatusCode::BadHistoryOperationInvalid),
        (_, _, count) => Some(count),
    };
    Ok(Span {
        start,
        end,
        count,
        bounds: asked.return_bounds,
        after: None,
    })
}

/// The part of a value and the times that were asked for.
fn shown(mut value: DataValue, range: &NumericRange, stamps: TimestampsToReturn) -> DataValue {
    if range.has_range()
        && let Some(whole) = &value.value
        && !whole.is_empty()
    {
        let whole = encode::variant(whole.clone());
        let part = RawVariant::parse(&whole).ok();
        let part = part.and_then(|whole| range::part(&whole, range).ok());
        match part.and_then(|part| encode::decoded(&part)) {
            Some(part) => value.value = Some(part),
            None => {
                value.value = None;
                value.status = Some(StatusCode::BadIndexRangeNoData);
            }
        }
    }
    if stamps == TimestampsToReturn::Server {
        value.source_timestamp = None;
    }
    if stamps == TimestampsToReturn::Source {
        value.server_timestamp = None;
    }
    value
}
