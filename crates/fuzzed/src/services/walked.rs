//! What the walkers of the hot path see is what the decoder sees.
//!
//! A walker may leave a message to the decoder (`Unusual`), and does not look at everything:
//! text that is not UTF-8 and bodies of ExtensionObjects pass it. It must not see other values,
//! and must not call malformed what the decoder reads.

use wire::service::shape::Problem;
use wire::service::{DecodeCause, DecodeError, Request, Response};
use wire::template::walk::{
    self, Change, DataChange, MonitoredItem, Notification, RawDataValue, RawNodeId, RawVariant,
    WalkError,
};
use wire::types::{
    BinaryDecodable, BinaryEncodable, ByteString, ContextOwned, DataChangeNotification, DataValue,
    DateTime, Identifier, NodeId, StatusChangeNotification, StatusCode, UAString, Variant,
};

use super::structure_len;

/// Whether the walker had a right to this error about a message that the decoder reads.
fn may_refuse(error: WalkError, whole: bool) -> bool {
    match error {
        WalkError::Unusual { .. } => true,
        // The decoder ignores bytes after the end.
        WalkError::Malformed { what, .. } => !whole || what == "values nested too deep",
        _ => false,
    }
}

/// Whether the decoder may refuse what the walker has read to the end.
fn may_be_refused(error: &DecodeError) -> bool {
    match &error.cause {
        DecodeCause::Value { .. } => true,
        DecodeCause::Shape(problem) => matches!(
            problem,
            // ByteStrings by Part 6, 5.1.6, which the decoder does not know.
            Problem::Variant { .. }
                | Problem::Enumeration { .. }
                | Problem::Memory { .. }
                | Problem::Depth { .. }
                // In what the walker steps over.
                | Problem::Rank { .. }
        ),
        _ => false,
    }
}

fn compare<W, D>(
    walked: Result<W, WalkError>,
    decoded: Result<D, &DecodeError>,
    whole: bool,
    same: impl FnOnce(W, D),
) {
    match (walked, decoded) {
        (Ok(walked), Ok(decoded)) => same(walked, decoded),
        (Ok(_), Err(error)) => assert!(may_be_refused(error), "only walked: {error}"),
        (Err(error), Ok(_)) => assert!(may_refuse(error, whole), "only decoded: {error}"),
        (Err(_), Err(_)) => {}
    }
}

fn every<T>(items: impl Iterator<Item = Result<T, WalkError>>) -> Result<Vec<T>, WalkError> {
    items.collect()
}

pub fn requests(message: &[u8], decoded: &Result<Request, DecodeError>) {
    let kind = decoded.as_ref().map(Request::kind).ok();
    let whole = kind.and_then(|kind| structure_len(kind, message)) == Some(message.len());
    if let Ok(head) = walk::RequestHead::parse(message)
        && let Ok(request) = decoded
    {
        let header = request.header();
        assert_eq!(head.type_id, request.type_id());
        assert_eq!(head.request_handle, header.request_handle);
        assert_eq!(head.timeout_hint, header.timeout_hint);
        node_id(head.authentication_token, &header.authentication_token);
    }
    let read = walk::ReadRequest::parse(message).and_then(|read| every(read.nodes));
    let write = walk::WriteRequest::parse(message).and_then(|write| every(write.nodes));
    let publish = walk::PublishRequest::parse(message);
    match decoded {
        Ok(Request::Read(request)) => compare(read, Ok(request), whole, |nodes, request| {
            let wanted = request.nodes_to_read.as_deref().unwrap_or_default();
            assert_eq!(nodes.len(), wanted.len());
            for (node, wanted) in nodes.iter().zip(wanted) {
                node_id(node.node_id, &wanted.node_id);
                assert_eq!(node.attribute_id, wanted.attribute_id);
                let (namespace, name) = node.data_encoding;
                assert_eq!(namespace, wanted.data_encoding.namespace_index);
                assert_eq!(name, wanted.data_encoding.name.as_ref().as_bytes());
            }
        }),
        Ok(Request::Write(request)) => compare(write, Ok(request), whole, |nodes, request| {
            let wanted = request.nodes_to_write.as_deref().unwrap_or_default();
            assert_eq!(nodes.len(), wanted.len());
            for (node, wanted) in nodes.iter().zip(wanted) {
                node_id(node.node_id, &wanted.node_id);
                assert_eq!(node.attribute_id, wanted.attribute_id);
                data_value(&node.value, &wanted.value);
            }
        }),
        Ok(Request::Publish(request)) => compare(publish, Ok(request), whole, |walked, request| {
            let wanted = request
                .subscription_acknowledgements
                .as_deref()
                .unwrap_or_default();
            let wanted = wanted
                .iter()
                .map(|one| (one.subscription_id, one.sequence_number));
            assert!(walked.acknowledgements.eq(wanted));
        }),
        Ok(_) => assert!(read.is_err() && write.is_err() && publish.is_err()),
        Err(error) => {
            compare(read, Err::<(), _>(error), whole, |_, ()| {});
            compare(write, Err::<(), _>(error), whole, |_, ()| {});
            compare(publish, Err::<(), _>(error), whole, |_, ()| {});
        }
    }
}

pub fn responses(message: &[u8], decoded: &Result<Response, DecodeError>) {
    let kind = decoded.as_ref().map(Response::kind).ok();
    let whole = kind.and_then(|kind| structure_len(kind, message)) == Some(message.len());
    if let Ok(head) = walk::ResponseHead::parse(message)
        && let Ok(response) = decoded
    {
        let header = response.header();
        assert_eq!(head.type_id, response.type_id());
        assert_eq!(head.request_handle, header.request_handle);
        assert_eq!(head.service_result, header.service_result);
    }
    let read = walk::read_values(message).and_then(every);
    let count = match (&read, decoded) {
        (Err(_), Ok(Response::Read(response))) => response.results.as_ref().map_or(0, Vec::len),
        (values, _) => values.as_ref().map_or(0, Vec::len),
    };
    let tally = walk::check_read(message, count);
    if let (Ok(values), Ok(tally)) = (&read, &tally) {
        counted(values, tally);
    }
    // The other way round: what was counted to the end can be read.
    assert!(read.is_ok() || tally.is_err());
    let write = walk::write_results(message);
    let calls = walk::call_results(message).and_then(every);
    let methods = match (&calls, decoded) {
        (Err(_), Ok(Response::Call(response))) => response.results.as_ref().map_or(0, Vec::len),
        (calls, _) => calls.as_ref().map_or(0, Vec::len),
    };
    let call_tally = walk::check_call(message, methods);
    assert!(calls.is_ok() || call_tally.is_err());
    let publish = walk::PublishResponse::parse(message);
    let response = match decoded {
        Ok(response) => response,
        Err(error) => {
            compare(tally, Err::<(), _>(error), whole, |_, ()| {});
            compare(write, Err::<(), _>(error), whole, |_, ()| {});
            compare(call_tally, Err::<(), _>(error), whole, |_, ()| {});
            compare(publish, Err::<(), _>(error), whole, |_, ()| {});
            return;
        }
    };
    let result = response.header().service_result;
    if result.is_bad() || matches!(response, Response::Fault(_)) {
        // A service that failed has no results to walk.
        let failed = Some(WalkError::Fault(result));
        let told = [
            read.err(),
            tally.err(),
            write.err(),
            calls.err(),
            call_tally.err(),
            publish.err(),
        ];
        assert!(told.iter().all(Option::is_some));
        let usual = matches!(
            response,
            Response::Read(_) | Response::Write(_) | Response::Call(_) | Response::Publish(_)
        );
        assert!(
            !usual
                || told.contains(&failed)
                || told.iter().flatten().all(|error| {
                    may_refuse(*error, whole) || matches!(error, WalkError::OtherType { .. })
                })
        );
        return;
    }
    match response {
        Response::Read(response) => {
            let results = response.results.as_deref().unwrap_or_default();
            compare(read, Ok(results), true, |values, results| {
                assert_eq!(values.len(), results.len());
                for (value, result) in values.iter().zip(results) {
                    data_value(value, result);
                }
            });
            compare(tally, Ok(results), whole, |_, _| {});
        }
        Response::Write(response) => {
            let results = response.results.clone().unwrap_or_default();
            compare(write, Ok(results), whole, |walked, results| {
                let bad = results.iter().filter(|status| status.is_bad()).count();
                assert_eq!(walked.tally().bad, bad);
                assert!(walked.eq(results));
            });
        }
        Response::Call(response) => {
            let results = response.results.as_deref().unwrap_or_default();
            compare(call_tally, Ok(results), whole, |_, _| {});
            compare(calls, Ok(results), true, |walked, results| {
                assert_eq!(walked.len(), results.len());
                for (walked, result) in walked.iter().zip(results) {
                    assert_eq!(walked.status, result.status_code);
                    let outputs = result.output_arguments.as_deref().unwrap_or_default();
                    assert_eq!(walked.output_arguments.len(), outputs.len());
                    for (raw, value) in walked.output_arguments.clone().zip(outputs) {
                        variant(&raw, value);
                    }
                }
            });
        }
        Response::Publish(response) => compare(publish, Ok(response), whole, |walked, response| {
            published(&walked, response);
        }),
        _ => {
            assert!(read.is_err() && tally.is_err() && write.is_err());
            assert!(calls.is_err() && call_tally.is_err() && publish.is_err());
        }
    }
}

fn counted(values: &[RawDataValue<'_>], tally: &walk::ReadTally) {
    let bad = |value: &&RawDataValue<'_>| value.status().is_bad();
    let first_bad = values.iter().position(|value| value.status().is_bad());
    assert_eq!(tally.values, values.len());
    assert_eq!(tally.bad, values.iter().filter(bad).count());
    assert_eq!(
        tally.first_bad,
        first_bad.map(|at| (at, values[at].status()))
    );
    let bytes = values.iter().filter_map(|value| value.value);
    let bytes: usize = bytes.map(|value| value.payload().len()).sum();
    assert_eq!(tally.bytes, bytes);
}

fn published(walked: &walk::PublishResponse<'_>, response: &wire::types::PublishResponse) {
    let message = &response.notification_message;
    assert_eq!(walked.subscription_id, response.subscription_id);
    assert_eq!(walked.more_notifications, response.more_notifications);
    assert_eq!(walked.sequence_number, message.sequence_number);
    let available = response.available_sequence_numbers.iter().flatten();
    assert!(walked.available_sequence_numbers.eq(available.copied()));
    assert!(
        walked
            .results
            .eq(response.results.iter().flatten().copied())
    );
    let data = message.notification_data.as_deref().unwrap_or_default();
    assert_eq!(walked.is_keep_alive(), data.is_empty());
    for (raw, object) in walked.notifications().zip(data) {
        if let Some(change) = object.inner_as::<DataChangeNotification>() {
            let wanted = change.monitored_items.as_deref().unwrap_or_default();
            let items = match raw {
                Ok(Notification::DataChange(items)) => {
                    as_numbers(items.clone());
                    every(items)
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error),
            };
            compare(
                items,
                Ok(wanted),
                true,
                |items: Vec<MonitoredItem<'_>>, wanted| {
                    assert_eq!(items.len(), wanted.len());
                    for (item, wanted) in items.iter().zip(wanted) {
                        assert_eq!(item.client_handle, wanted.client_handle);
                        data_value(&item.value, &wanted.value);
                    }
                },
            );
        } else if let Some(change) = object.inner_as::<StatusChangeNotification>() {
            let status = match raw {
                Ok(Notification::StatusChange { status, .. }) => Ok(status),
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error),
            };
            compare(status, Ok(change.status), true, |status, wanted| {
                assert_eq!(status, wanted);
            });
        } else if raw.is_err() {
            // The walker ends here, the decoder has kept some bytes.
            return;
        }
    }
}

/// One by one, and each in the shape of the one before it: the same changes up to the same error.
fn as_numbers(items: DataChange<'_>) {
    let mut told = Vec::new();
    let ended = items.clone().each(|change| told.push(change));
    let mut read = Vec::new();
    let mut error = Ok(());
    for item in items {
        match item {
            Ok(item) => read.push(Change::from(&item)),
            Err(found) => error = Err(found),
        }
    }
    assert_eq!((told, ended), (read, error));
}

fn node_id(raw: RawNodeId<'_>, decoded: &NodeId) {
    let mut decoded = decoded.clone();
    // To the walkers a null identifier is an empty one.
    match &mut decoded.identifier {
        Identifier::String(id) if id.is_null() => *id = UAString::from(""),
        Identifier::ByteString(id) if id.is_null() => *id = ByteString::from([].as_slice()),
        _ => {}
    }
    // The decoder has read it, so a String in it is UTF-8.
    assert_eq!(raw.to_node_id(), Some(decoded));
}

fn data_value(raw: &RawDataValue<'_>, decoded: &DataValue) {
    assert_eq!(raw.status(), decoded.status.unwrap_or(StatusCode::Good));
    assert_eq!(raw.value.is_some(), decoded.value.is_some());
    time(raw.source_timestamp(), decoded.source_timestamp);
    time(raw.server_timestamp(), decoded.server_timestamp);
    if let (Some(raw), Some(decoded)) = (&raw.value, &decoded.value) {
        variant(raw, decoded);
    }
}

fn time(raw: Option<i64>, decoded: Option<DateTime>) {
    assert_eq!(raw.is_some(), decoded.is_some());
    // The decoder clips what is out of range.
    let ticks = |time: DateTime| time.ticks();
    assert_eq!(raw.and_then(clipped).map(ticks), decoded.map(ticks));
}

fn clipped(raw: i64) -> Option<DateTime> {
    let context = ContextOwned::default();
    DateTime::decode(&mut raw.to_le_bytes().as_slice(), &context.context()).ok()
}

fn variant(raw: &RawVariant<'_>, decoded: &Variant) {
    assert_eq!(RawVariant::parse(raw.encoded()), Ok(*raw));
    let integer = match decoded {
        Variant::SByte(n) => Some(i64::from(*n)),
        Variant::Byte(n) => Some(i64::from(*n)),
        Variant::Int16(n) => Some(i64::from(*n)),
        Variant::UInt16(n) => Some(i64::from(*n)),
        Variant::Int32(n) => Some(i64::from(*n)),
        Variant::UInt32(n) => Some(i64::from(*n)),
        Variant::Int64(n) => Some(*n),
        Variant::UInt64(n) => i64::try_from(*n).ok(),
        _ => None,
    };
    assert_eq!(raw.as_i64(), integer);
    match decoded {
        Variant::Double(n) => assert_eq!(raw.as_f64().map(f64::to_bits), Some(n.to_bits())),
        Variant::String(text) => {
            assert_eq!(raw.as_octets(), text.value().as_ref().map(String::as_bytes));
        }
        Variant::ByteString(bytes) => assert_eq!(raw.as_octets(), bytes.value.as_deref()),
        Variant::Array(array) => {
            assert_eq!(raw.array_len(), Some(array.values.len()));
            let dimensions = array.dimensions.as_deref().unwrap_or_default();
            if !array.values.is_empty() {
                assert!(raw.dimensions().eq(dimensions.iter().copied()));
            }
        }
        _ => {
            assert_eq!(raw.array_len(), None);
            scalar(raw, decoded);
        }
    }
}

/// A scalar takes as many bytes as its decoded value, unless a body in it was rewritten.
fn scalar(raw: &RawVariant<'_>, decoded: &Variant) {
    let context = ContextOwned::default();
    let fixed = raw.kind().size().is_some();
    if fixed {
        assert_eq!(raw.encoded().len(), decoded.byte_len(&context.context()));
    }
}
