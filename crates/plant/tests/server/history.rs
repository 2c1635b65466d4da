use std::time::{Duration, Instant};

use plant::{Config, Server};
use wire::types::{
    AttributeId, ByteString, DataValue, DateTime, DeleteRawModifiedDetails, ExtensionObject,
    HistoryData, HistoryReadRequest, HistoryReadResult, HistoryReadValueId, HistoryUpdateRequest,
    NodeId, ReadAtTimeDetails, ReadRawModifiedDetails, StatusCode, TimestampsToReturn, Variant,
    WriteRequest, WriteValue,
};

use crate::client::{Client, PATIENCE, read_value};
use crate::start_plant;
use crate::subscribing::header;

/// An hour in ticks: no test takes as long.
const FAR: i64 = 3_600 * 10_000_000;

const PLANT: &str = r#"
[limits]
history_values = 50

[[namespace]]
uri = "urn:test:history"

[[namespace.signals]]
ids = "i=1"
type = "UInt32"
pattern = "counter"
update = "2ms"
history = true

[[namespace.signals]]
ids = "i=2"
type = "Double"
pattern = { ramp = { low = 0, high = 100, period = "1s" } }
update = "5ms"
stored = true
history = 20

[[namespace.signals]]
ids = "i=3"
type = "Int32"
dimensions = [4]
access = "read-write"
history = true

[[namespace.signals]]
ids = "i=4"
type = "UInt32"
pattern = "counter"
update = "2ms"
"#;

fn served() -> Server {
    start_plant(PLANT, Config::default())
}

pub fn ask(
    client: &mut Client,
    details: ExtensionObject,
    nodes: Vec<HistoryReadValueId>,
    release: bool,
) -> Result<Vec<HistoryReadResult>, StatusCode> {
    let request = HistoryReadRequest {
        request_header: header(),
        history_read_details: details,
        timestamps_to_return: TimestampsToReturn::Both,
        release_continuation_points: release,
        nodes_to_read: Some(nodes),
    };
    Ok(client.call(request)?.results.unwrap())
}

pub fn node(number: u32, point: ByteString) -> HistoryReadValueId {
    HistoryReadValueId {
        node_id: NodeId::new(2, number),
        continuation_point: point,
        ..Default::default()
    }
}

pub fn raw(start: i64, end: i64, count: u32, bounds: bool) -> ExtensionObject {
    ExtensionObject::from_message(ReadRawModifiedDetails {
        is_read_modified: false,
        start_time: DateTime::from(start),
        end_time: DateTime::from(end),
        num_values_per_node: count,
        return_bounds: bounds,
    })
}

pub fn data(result: &HistoryReadResult) -> Vec<DataValue> {
    let data = result.history_data.inner_as::<HistoryData>();
    data.and_then(|data| data.data_values.clone())
        .unwrap_or_default()
}

pub fn counted(values: &[DataValue]) -> Vec<(u32, i64)> {
    let one = |value: &DataValue| match value.value {
        Some(Variant::UInt32(n)) => (n, value.source_timestamp.unwrap().ticks()),
        ref other => panic!("{other:?}"),
    };
    values.iter().map(one).collect()
}

/// The value now: its number and its time in ticks.
pub fn now(client: &mut Client, number: u32) -> (u32, i64) {
    let asked = read_value(NodeId::new(2, number), AttributeId::Value, "");
    let values = client
        .read_any(vec![asked], TimestampsToReturn::Both)
        .unwrap();
    counted(&values)[0]
}

#[test]
fn a_computed_history_is_read_page_by_page_in_both_directions() {
    let server = served();
    let mut client = Client::plain(server.url());
    std::thread::sleep(Duration::from_millis(300));
    let (n, at) = now(&mut client, 1);
    let step = 20_000;
    let first = at - i64::from(n) * step;
    for (start, end) in [(first, at), (at, first)] {
        let mut all = Vec::new();
        let mut point = ByteString::null();
        loop {
            let results = ask(
                &mut client,
                raw(start, end, 0, true),
                vec![node(1, point)],
                false,
            );
            let result = results.unwrap().remove(0);
            assert_eq!(result.status_code, StatusCode::Good);
            let values = data(&result);
            assert!(values.len() <= 50);
            all.extend(counted(&values));
            point = result.continuation_point;
            if point.is_null_or_empty() {
                break;
            }
        }
        let mut wanted: Vec<_> = (0..=n).map(|k| (k, first + i64::from(k) * step)).collect();
        if start > end {
            wanted.reverse();
        }
        assert_eq!(all, wanted);
    }
    // So many back from now.
    let results = ask(
        &mut client,
        raw(0, at, 3, false),
        vec![node(1, ByteString::null())],
        false,
    );
    let values = counted(&data(&results.unwrap()[0]));
    assert_eq!(
        values,
        [(n, at), (n - 1, at - step), (n - 2, at - 2 * step)]
    );
}

#[test]
fn what_an_update_loop_wrote_is_kept_to_its_depth() {
    let server = served();
    let mut client = Client::plain(server.url());
    let far = DateTime::now().ticks() + FAR;
    let mut kept = || {
        let none = ByteString::null();
        let results = ask(
            &mut client,
            raw(1, far, 0, false),
            vec![node(2, none)],
            false,
        );
        data(&results.unwrap()[0])
    };
    // The loop writes more than are kept.
    let until = Instant::now() + PATIENCE;
    while server.ground_truth().updates.stored < 50 {
        assert!(
            Instant::now() < until,
            "{:?}",
            server.ground_truth().updates
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let values = kept();
    assert_eq!(values.len(), 20);
    let times: Vec<_> = values
        .iter()
        .map(|v| v.source_timestamp.unwrap().ticks())
        .collect();
    assert!(times.is_sorted());
    let flags = client
        .read_any(
            vec![
                read_value(NodeId::new(2, 2u32), AttributeId::Historizing, ""),
                read_value(NodeId::new(2, 2u32), AttributeId::AccessLevel, ""),
                read_value(NodeId::new(2, 4u32), AttributeId::Historizing, ""),
            ],
            TimestampsToReturn::Neither,
        )
        .unwrap();
    let flags: Vec<_> = flags.into_iter().map(|flag| flag.value.unwrap()).collect();
    assert_eq!(flags, [true.into(), 5u8.into(), false.into()]);
}

#[test]
fn what_clients_wrote_is_had_again_and_at_any_time() {
    let server = served();
    let mut client = Client::plain(server.url());
    let begin = DateTime::now().ticks();
    for (k, at) in [(1, begin + 100), (2, begin + 300), (3, begin + 200)] {
        let value = DataValue {
            value: Some(vec![k; 4].into()),
            source_timestamp: Some(DateTime::from(at)),
            ..Default::default()
        };
        let request = WriteRequest {
            request_header: header(),
            nodes_to_write: Some(vec![WriteValue {
                node_id: NodeId::new(2, 3u32),
                attribute_id: AttributeId::Value as u32,
                index_range: Default::default(),
                value,
            }]),
        };
        let results = client.call(request).unwrap().results.unwrap();
        assert_eq!(results, [StatusCode::Good]);
    }
    let mut part = node(3, ByteString::null());
    part.index_range = "0".parse().unwrap();
    let results = ask(
        &mut client,
        raw(begin, begin + 1000, 0, true),
        vec![part],
        false,
    )
    .unwrap();
    let values = data(&results[0]);
    let first = |value: &DataValue| value.value.clone().unwrap();
    let seen: Vec<_> = values.iter().map(first).collect();
    // What was there when the server started, three in order of their times, and no end.
    assert_eq!(
        seen,
        [
            vec![0].into(),
            vec![1].into(),
            vec![3].into(),
            vec![2].into(),
            Variant::Empty
        ]
    );
    assert_eq!(values[4].status, Some(StatusCode::BadBoundNotFound));

    let times = [begin + 100, begin + 250, begin + FAR].map(DateTime::from);
    let at_time = ExtensionObject::from_message(ReadAtTimeDetails {
        req_times: Some(times.to_vec()),
        use_simple_bounds: true,
    });
    let results = ask(
        &mut client,
        at_time,
        vec![node(3, ByteString::null())],
        false,
    )
    .unwrap();
    let values = data(&results[0]);
    assert_eq!(values[0].value, Some(vec![1; 4].into()));
    assert_eq!(values[0].status.unwrap_or_default(), StatusCode::Good);
    assert_eq!(values[1].value, Some(vec![3; 4].into()));
    assert_eq!(values[1].status.unwrap().bits(), 0x0402);
    assert_eq!(values[2].status, Some(StatusCode::BadNoData));
}

#[test]
fn what_is_no_history_is_refused_with_its_reason() {
    let server = served();
    let mut client = Client::plain(server.url());
    std::thread::sleep(Duration::from_millis(250));
    let none = ByteString::null;
    let end = DateTime::now().ticks();
    let mut asked = |details, number, point, release| {
        let results = ask(&mut client, details, vec![node(number, point)], release);
        results.map(|mut results| {
            let result = results.remove(0);
            (result.status_code, result.continuation_point)
        })
    };
    let mut status =
        |details, number| asked(details, number, none(), false).map(|(status, _)| status);
    assert_eq!(
        status(raw(1, end, 0, false), 9),
        Ok(StatusCode::BadNodeIdUnknown)
    );
    let unsupported = Ok(StatusCode::BadHistoryOperationUnsupported);
    assert_eq!(status(raw(1, end, 0, false), 4), unsupported);
    let invalid = Ok(StatusCode::BadHistoryOperationInvalid);
    assert_eq!(status(raw(0, 0, 5, false), 1), invalid);
    assert_eq!(status(raw(0, end, 0, false), 1), invalid);
    let modified = ExtensionObject::from_message(ReadRawModifiedDetails {
        is_read_modified: true,
        ..Default::default()
    });
    assert_eq!(status(modified, 1), unsupported);
    assert_eq!(
        status(ExtensionObject::null(), 1),
        Err(StatusCode::BadHistoryOperationInvalid)
    );
    assert_eq!(
        status(raw(end + FAR, end + 2 * FAR, 0, false), 1),
        Ok(StatusCode::GoodNoData)
    );

    // A point that was released is none any more.
    let (good, point) = asked(raw(1, end, 0, false), 1, none(), false).unwrap();
    assert_eq!(good, StatusCode::Good);
    assert!(!point.is_null_or_empty());
    let released = asked(raw(1, end, 0, false), 1, point.clone(), true).unwrap();
    assert_eq!(released.0, StatusCode::Good);
    let gone = asked(raw(1, end, 0, false), 1, point, false).unwrap();
    assert_eq!(gone.0, StatusCode::BadContinuationPointInvalid);

    let update = HistoryUpdateRequest {
        request_header: header(),
        history_update_details: Some(vec![ExtensionObject::from_message(
            DeleteRawModifiedDetails::default(),
        )]),
    };
    let results = client.call(update).unwrap().results.unwrap();
    assert_eq!(
        results[0].status_code,
        StatusCode::BadHistoryOperationUnsupported
    );
}
