//! HistoryRead and HistoryUpdate (Part 4, 5.11.3 and 5.11.5; Part 11, 6.5).

use wire::budget::Budget;
use wire::service::shape::Kind;
use wire::template::walk::RawVariant;
use wire::types::{
    ByteString, DataValue, DateTime, HistoryReadRequest, HistoryReadResult, HistoryReadValueId,
    HistoryUpdateRequest, HistoryUpdateResponse, HistoryUpdateResult, NumericRange,
    ReadAtTimeDetails, ReadEventDetails, ReadProcessedDetails, ReadRawModifiedDetails, StatusCode,
    TimestampsToReturn,
};

use super::points::{HeldMemory, Points};
use super::steps::{Making, Steps, Work};
use super::{ServiceContext, count, operations, write_len};
use crate::space::aggregate::{Aggregate, Configuration, Processed};
use crate::space::history::Span;
use crate::space::{NodeIndex, access, attribute, encode, range};

/// Reads of a history that are not finished: the node, and what of it is left.
pub type HistoryPoints = Points<(NodeIndex, Rest)>;

/// What is left of a read.
#[derive(Debug, Clone)]
pub enum Rest {
    /// Values as they were.
    Raw(Span),
    /// Intervals.
    Processed(Box<Processed>),
}

impl HeldMemory for (NodeIndex, Rest) {
    fn behind(&self) -> usize {
        match self.1 {
            Rest::Raw(_) => 0,
            Rest::Processed(_) => size_of::<Processed>(),
        }
    }
}

/// Continuation points of this service begin with it, those of Browse do not.
const MARK: u8 = b'H';

fn point(number: u32) -> ByteString {
    let mut bytes = vec![MARK];
    bytes.extend_from_slice(&number.to_le_bytes());
    ByteString::from(bytes)
}

/// What a point stands for.
fn take(
    points: &mut HistoryPoints,
    point: &ByteString,
    budget: &Budget,
) -> Option<(NodeIndex, Rest)> {
    let (mark, number) = point.as_ref().split_first()?;
    let number = u32::from_le_bytes(number.try_into().ok()?);
    let known = *mark == MARK;
    known.then(|| points.take(number, budget))?
}

/// What is wanted of each node.
enum Wanted {
    Raw(ReadRawModifiedDetails),
    AtTime(ReadAtTimeDetails),
    Processed(ReadProcessedDetails),
    /// Something that is not there, and why.
    Refused(StatusCode),
}

/// Values that are computed in one go: so many, or about so many bytes of them. The first few say how long they are.
const VALUES_IN_A_ROW: usize = 256;
const BYTES_IN_A_ROW: usize = 64 * 1024;
const FIRST_VALUES: usize = 4;

/// Work of a value.
const VALUE: usize = 4;
/// Work of an interval: it looks for its bounds.
const INTERVAL: usize = 32;
/// For each value that a result may have, so many are folded: results of few intervals take as long to make then as
/// those of many values. What is left goes on from a continuation point (Part 11, 6.5.4.2).
const FOLDED: usize = 10;

/// A node whose history is read, and what was read of it.
struct Reading {
    node: HistoryReadValueId,
    /// Which of the nodes it is.
    number: usize,
    begun: Option<Begun>,
}

/// Where a read of a history stands.
struct Begun {
    at: NodeIndex,
    left: Left,
    count: usize,
    /// Encoded values.
    values: Vec<u8>,
    held: Making,
}

/// What is still to be read.
enum Left {
    /// Of a span, so many values.
    Span(Span, usize),
    /// Intervals, so many of them, made of so many values.
    Intervals {
        processed: Box<Processed>,
        most: usize,
        values: usize,
    },
    /// The values at the times from this one on.
    Times(usize),
}

impl ServiceContext<'_> {
    pub(super) fn history_read(
        &mut self,
        request: &mut HistoryReadRequest,
    ) -> Result<Steps, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_read;
        let stamps = request.timestamps_to_return;
        let nodes = operations(&mut request.nodes_to_read, limit)?;
        let (response, result) = (Kind::HistoryReadResponse, Kind::HistoryReadResult);
        if request.release_continuation_points {
            // Part 4, 5.11.3.2: nothing else is done then.
            return Ok(Steps::whole(response, result, nodes, |context, node| {
                let session = &mut *context.session;
                let point = &node.continuation_point;
                HistoryReadResult {
                    status_code: match take(&mut session.history, point, &session.budget) {
                        Some(_) => StatusCode::Good,
                        None => StatusCode::BadContinuationPointInvalid,
                    },
                    ..Default::default()
                }
            }));
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
                false => Wanted::Raw(raw.clone()),
            }
        } else if let Some(at) = details.inner_as::<ReadAtTimeDetails>() {
            Wanted::AtTime(at.clone())
        } else if let Some(processed) = details.inner_as::<ReadProcessedDetails>() {
            // Part 11, 6.5.4.2: an aggregate for each node.
            if processed.aggregate_type.as_ref().map_or(0, Vec::len) != nodes.len() {
                return Err(StatusCode::BadAggregateListMismatch);
            }
            Wanted::Processed(processed.clone())
        } else if details.inner_is::<ReadEventDetails>() {
            Wanted::Refused(StatusCode::BadHistoryOperationUnsupported)
        } else {
            return Err(StatusCode::BadHistoryOperationInvalid);
        };
        let nodes = nodes.into_iter().enumerate();
        let nodes = nodes.map(|(number, node)| Reading {
            node,
            number,
            begun: None,
        });
        let nodes = nodes.collect();
        Ok(Steps::each(
            response,
            nodes,
            move |context, mut reading: Reading, work, out| {
                let read = context.history_of(&mut reading, &wanted, stamps, work);
                let (status, point) = match read {
                    Ok(None) => return Some(reading),
                    Ok(Some(read)) => read,
                    Err(status_code) => {
                        let refused = HistoryReadResult {
                            status_code,
                            ..Default::default()
                        };
                        work.put(result, &refused, out);
                        return None;
                    }
                };
                // A HistoryReadResult (Part 4, 5.11.3.2) with its HistoryData as it is.
                let (count, values) = match reading.begun {
                    Some(begun) => (begun.count, begun.values),
                    None => (0, Vec::new()),
                };
                work.put(Kind::StatusCode, &status, out);
                work.put(Kind::ByteString, &point, out);
                let [low, high, ..] = Kind::HistoryData.encoding_id().to_le_bytes();
                out.extend_from_slice(&[1, 0, low, high, 1]);
                write_len(out, 4 + values.len());
                write_len(out, count);
                out.extend_from_slice(&values);
                None
            },
        ))
    }

    /// Reads more of a history. When that was all, the status of it, and where to go on.
    fn history_of(
        &mut self,
        reading: &mut Reading,
        wanted: &Wanted,
        stamps: TimestampsToReturn,
        work: &mut Work,
    ) -> Result<Option<(StatusCode, ByteString)>, StatusCode> {
        let node = &reading.node;
        let begun = match &mut reading.begun {
            Some(begun) => begun,
            begun => begun.insert(self.begin_history(node, reading.number, wanted)?),
        };
        let space = &self.shared.space;
        let history = space.history(begun.at);
        let history = history.ok_or(StatusCode::BadHistoryOperationUnsupported)?;
        let (now, anchor) = (self.now, space.anchor());
        let in_a_row = match begun.values.len().checked_div(begun.count) {
            None => FIRST_VALUES,
            Some(each) => (BYTES_IN_A_ROW / each.max(1)).clamp(1, VALUES_IN_A_ROW),
        };
        let mut rest = None;
        let (values, more) = match (&mut begun.left, wanted) {
            (Left::Span(span, most), _) => {
                let some = in_a_row.min(*most);
                let page = history.page(span, some, now.mono.as_nanos(), anchor);
                *most = most.saturating_sub(page.values.len());
                let more = page.rest.is_some() && *most > 0 && !page.values.is_empty();
                match page.rest {
                    Some(left) if more => *span = left,
                    left => rest = left.map(Rest::Raw),
                }
                (page.values, more)
            }
            (
                Left::Intervals {
                    processed,
                    most,
                    values,
                },
                _,
            ) => {
                let mut some = Vec::new();
                let folded = loop {
                    if processed.is_over() {
                        break false;
                    }
                    if *most == 0 || *values == 0 {
                        rest = Some(Rest::Processed(processed.clone()));
                        break false;
                    }
                    if some.len() >= in_a_row || work.is_over() {
                        break true;
                    }
                    let looks = VALUES_IN_A_ROW.min(*values);
                    let step = processed.step(history, looks, now.mono.as_nanos(), anchor);
                    *values -= step.looked.min(*values);
                    work.spend(INTERVAL + step.read * VALUE);
                    if let Some(outcome) = step.outcome {
                        *most -= 1;
                        some.push(outcome.value());
                    }
                };
                (some, folded)
            }
            (Left::Times(next), Wanted::AtTime(asked)) => {
                let times = asked.req_times.as_deref().unwrap_or_default();
                let times = times.get(*next..).unwrap_or_default();
                let some = times.len().min(in_a_row);
                let at = |time: &DateTime| {
                    history.at(time.ticks(), now.utc, now.mono.as_nanos(), anchor)
                };
                *next += some;
                (
                    times.iter().take(some).map(at).collect(),
                    some < times.len(),
                )
            }
            _ => (Vec::new(), false),
        };
        self.shared.counters.reads.add(values.len() as u64);
        work.spend(values.len() * VALUE);
        begun.count += values.len();
        let before = begun.values.len();
        for value in values {
            let value = shown(value, &node.index_range, stamps);
            work.put(Kind::DataValue, &value, &mut begun.values);
        }
        // Values are decoded and encoded again.
        work.spend((begun.values.len() - before) / 16);
        let session = &mut *self.session;
        begun.held.is(begun.values.capacity(), &session.budget)?;
        if more {
            return Ok(None);
        }
        let status = match begun.count {
            0 if rest.is_none() => StatusCode::GoodNoData,
            _ => StatusCode::Good,
        };
        let mut point = ByteString::null();
        if let Some(rest) = rest {
            let limit = self.shared.config.limits.continuation_points;
            let left = (begun.at, rest);
            point = self::point(session.history.keep(left, limit, &session.budget)?);
        }
        Ok(Some((status, point)))
    }

    fn begin_history(
        &mut self,
        node: &HistoryReadValueId,
        number: usize,
        wanted: &Wanted,
    ) -> Result<Begun, StatusCode> {
        let session = &mut *self.session;
        let point = &node.continuation_point;
        let (at, kept) = match take(&mut session.history, point, &session.budget) {
            Some((at, rest)) => (at, Some(rest)),
            None if !node.continuation_point.is_null_or_empty() => {
                return Err(StatusCode::BadContinuationPointInvalid);
            }
            None => (self.historical(node)?, None),
        };
        if self.shared.space.history(at).is_none() {
            return Err(StatusCode::BadHistoryOperationUnsupported);
        }
        let most = self.shared.config.limits.history_values.max(1);
        let left = match wanted {
            Wanted::Refused(status) => return Err(*status),
            Wanted::AtTime(asked) => match asked.req_times.as_ref().map_or(0, Vec::len) {
                0 => return Err(StatusCode::BadInvalidTimestampArgument),
                times if times > most => return Err(StatusCode::BadTooManyOperations),
                _ => Left::Times(0),
            },
            Wanted::Raw(asked) => {
                let span = match kept {
                    Some(Rest::Raw(span)) => span,
                    Some(_) => return Err(StatusCode::BadContinuationPointInvalid),
                    None => span(asked)?,
                };
                let most = match asked.num_values_per_node as usize {
                    0 => most,
                    asked => asked.min(most),
                };
                Left::Span(span, most)
            }
            Wanted::Processed(asked) => {
                let processed = match kept {
                    Some(Rest::Processed(processed)) => processed,
                    Some(_) => return Err(StatusCode::BadContinuationPointInvalid),
                    None => Box::new(self.intervals(at, number, asked)?),
                };
                Left::Intervals {
                    processed,
                    most,
                    values: most.saturating_mul(FOLDED),
                }
            }
        };
        Ok(Begun {
            at,
            left,
            count: 0,
            values: Vec::new(),
            held: Making::default(),
        })
    }

    /// What is asked of a node, as far as it can be told (Part 11, 6.5.4.2).
    fn intervals(
        &self,
        at: NodeIndex,
        number: usize,
        asked: &ReadProcessedDetails,
    ) -> Result<Processed, StatusCode> {
        let (start, end) = (asked.start_time.ticks(), asked.end_time.ticks());
        let length = asked.processing_interval;
        // Milliseconds, in ticks of 100 ns; NaN is none either.
        if start <= 0 || end <= 0 || start == end || length.is_nan() || length < 0.0 {
            return Err(StatusCode::BadInvalidArgument);
        }
        let length = match length {
            0.0 => 0,
            length => ((length * 10_000.0) as i64).max(1),
        };
        let aggregates = asked.aggregate_type.as_deref().unwrap_or_default();
        let aggregate = aggregates.get(number).and_then(Aggregate::by_node);
        let aggregate = aggregate.ok_or(StatusCode::BadAggregateNotSupported)?;
        let space = &self.shared.space;
        let node = space.node(at);
        let variable = node.as_deref().and_then(|node| node.variable());
        // Of Booleans and numbers only.
        let number = variable.and_then(|it| it.source.bits(self.now, space.anchor()));
        if number.is_none() {
            return Err(StatusCode::BadAggregateNotSupported);
        }
        let configuration = Configuration::asked(&asked.aggregate_configuration)?;
        Ok(Processed::new(
            aggregate,
            configuration,
            (start, end),
            length,
        ))
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

    /// Histories are not for clients to change: each of the details is refused.
    pub(super) fn history_update(
        &mut self,
        request: &HistoryUpdateRequest,
    ) -> Result<HistoryUpdateResponse, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_write;
        let details = request.history_update_details.as_ref().map_or(0, Vec::len);
        count(details, limit)?;
        let result = HistoryUpdateResult {
            status_code: StatusCode::BadHistoryOperationUnsupported,
            ..Default::default()
        };
        Ok(HistoryUpdateResponse {
            results: Some(vec![result; details]),
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
