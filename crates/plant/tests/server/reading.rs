use std::time::{Duration, Instant};

use plant::Config;
use wire::types::{
    AttributeId, ByteString, CallMethodRequest, CallRequest, DataValue, DateTime, NodeId,
    NumericRange, ReadRequest, RequestHeader, StatusCode, TimestampsToReturn, UAString, VariableId,
    Variant, WriteRequest, WriteValue,
};

use crate::client::{Client, read_value};
use crate::{bench, start};

fn write(node_id: NodeId, value: impl Into<DataValue>) -> WriteValue {
    WriteValue {
        node_id,
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
        value: value.into(),
    }
}

fn written(client: &mut Client, values: Vec<WriteValue>) -> Vec<StatusCode> {
    let response = client.call(WriteRequest {
        request_header: RequestHeader::default(),
        nodes_to_write: Some(values),
    });
    response.unwrap().results.unwrap()
}

#[test]
fn the_bench_address_space_says_what_its_ids_say() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let scalars: Vec<NodeId> = (1000..2000).map(bench).collect();
    let values = client.read(&scalars);
    for (i, value) in (1000..2000).zip(values) {
        let expected = match i {
            ..1500 => Variant::Double(f64::from(i)),
            _ => Variant::Int32(i),
        };
        assert_eq!(value.value, Some(expected));
        assert_eq!((value.status, value.source_timestamp), (None, None));
    }
    let arrays = [
        (3010, 10),
        (3011, 10_000),
        (3012, 20_000),
        (3013, 65_535),
        (3014, 102_400),
    ];
    for (i, len) in arrays {
        let bytes: Vec<u8> = (0..len).map(|k: u32| k as u8).collect();
        assert_eq!(client.read(&[bench(i)])[0].value, Some(bytes.into()));
    }
    let numbers: Vec<i16> = (0..512).collect();
    assert_eq!(client.read(&[bench(3020)])[0].value, Some(numbers.into()));
}

#[test]
fn a_counter_counts_and_its_timestamp_is_the_instant_of_its_update() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let mut read = || {
        let node = read_value(bench(3030), AttributeId::Value, "");
        let values = client
            .read_any(vec![node], TimestampsToReturn::Both)
            .unwrap();
        let Some(Variant::UInt32(count)) = values[0].value else {
            panic!("{values:?}");
        };
        let source = values[0].source_timestamp.unwrap().ticks();
        let server = values[0].server_timestamp.unwrap().ticks();
        (i64::from(count), source, server)
    };
    let begin = Instant::now();
    let first = read();
    std::thread::sleep(Duration::from_millis(350));
    let second = read();
    // One each 100 ms.
    let most = begin.elapsed().as_millis() as i64 / 100 + 1;
    let updates = second.0 - first.0;
    assert!((3..=most).contains(&updates), "{updates}");
    assert_eq!(second.1 - first.1, updates * 1_000_000);
    assert!((0..1_000_000).contains(&(second.2 - second.1)));
}

#[test]
fn what_is_written_is_read_back_with_status_and_time() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let time = DateTime::ymd_hms(2026, 5, 4, 3, 2, 1);
    let value = DataValue {
        value: Some(Variant::Double(0.5)),
        status: Some(StatusCode::UncertainInitialValue),
        source_timestamp: Some(time),
        ..Default::default()
    };
    let writes = vec![
        write(bench(1499), value),
        write(bench(1999), Variant::Int32(-5)),
        write(bench(3010), Variant::from(vec![9u8; 3])),
    ];
    assert_eq!(written(&mut client, writes), [StatusCode::Good; 3]);
    let node = read_value(bench(1499), AttributeId::Value, "");
    let values = client.read_any(vec![node], TimestampsToReturn::Source);
    let value = values.unwrap().remove(0);
    assert_eq!(value.value, Some(Variant::Double(0.5)));
    assert_eq!(value.status, Some(StatusCode::UncertainInitialValue));
    assert_eq!(value.source_timestamp, Some(time));
    let others = client.read(&[bench(1999), bench(3010)]);
    assert_eq!(others[0].value, Some(Variant::Int32(-5)));
    assert_eq!(others[1].value, Some(vec![9u8; 3].into()));
}

#[test]
fn a_write_that_does_not_fit_is_refused_and_changes_nothing() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let mut other_attribute = write(bench(1000), Variant::Double(1.0));
    other_attribute.attribute_id = AttributeId::DisplayName as u32;
    let mut no_attribute = write(bench(1000), Variant::Double(1.0));
    no_attribute.attribute_id = AttributeId::Executable as u32;
    let statuses = written(
        &mut client,
        vec![
            write(bench(1000), Variant::Int32(1)),
            write(bench(1000), Variant::from(vec![1.0f64])),
            write(bench(1000), DataValue::null()),
            write(bench(3010), Variant::Byte(1)),
            write(bench(9), Variant::Byte(1)),
            write(bench(3030), Variant::UInt32(1)),
            other_attribute,
            no_attribute,
        ],
    );
    assert_eq!(
        statuses,
        [
            StatusCode::BadTypeMismatch,
            StatusCode::BadTypeMismatch,
            StatusCode::BadTypeMismatch,
            StatusCode::BadTypeMismatch,
            StatusCode::BadNodeIdUnknown,
            StatusCode::BadNotWritable,
            StatusCode::BadNotWritable,
            StatusCode::BadAttributeIdInvalid,
        ]
    );
    let value = client.read(&[bench(1000)]).remove(0).value;
    assert_eq!(value, Some(Variant::Double(1000.0)));
}

#[test]
fn ranges_of_arrays_are_read_and_written() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let mut read = |range: &str, number| {
        let node = read_value(bench(number), AttributeId::Value, range);
        let values = client.read_any(vec![node], TimestampsToReturn::Neither);
        values.unwrap().remove(0)
    };
    assert_eq!(read("2:4", 3010).value, Some(vec![2u8, 3, 4].into()));
    assert_eq!(read("9:12", 3010).value, Some(vec![9u8].into()));
    let no_data = Some(StatusCode::BadIndexRangeNoData);
    assert_eq!(read("10", 3010).status, no_data);
    assert_eq!(read("1", 1000).status, no_data);
    let mut part = write(bench(3010), Variant::from(vec![7u8, 7]));
    part.index_range = "1:2".parse().unwrap();
    assert_eq!(written(&mut client, vec![part]), [StatusCode::Good]);
    let value = client.read(&[bench(3010)]).remove(0).value;
    assert_eq!(value, Some(vec![0u8, 7, 7, 3, 4, 5, 6, 7, 8, 9].into()));
}

#[test]
fn a_byte_string_may_be_written_to_an_array_of_bytes() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let bytes = Variant::ByteString(ByteString::from(vec![5u8, 6]));
    let statuses = written(&mut client, vec![write(bench(3010), bytes)]);
    assert_eq!(statuses, [StatusCode::Good]);
    let value = client.read(&[bench(3010)]).remove(0).value;
    assert_eq!(value, Some(vec![5u8, 6].into()));
}

#[test]
fn a_read_that_makes_no_sense_is_refused_with_its_own_code() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let ask = |max_age, nodes_to_read| ReadRequest {
        request_header: RequestHeader::default(),
        max_age,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read,
    };
    let one = || vec![read_value(bench(1000), AttributeId::Value, "")];
    let refused = |client: &mut Client, request| client.call::<ReadRequest>(request).unwrap_err();
    assert_eq!(
        refused(&mut client, ask(0.0, None)),
        StatusCode::BadNothingToDo
    );
    assert_eq!(
        refused(&mut client, ask(-1.0, Some(one()))),
        StatusCode::BadMaxAgeInvalid
    );
    let many = vec![one().remove(0); 10_001];
    assert_eq!(
        refused(&mut client, ask(0.0, Some(many))),
        StatusCode::BadTooManyOperations
    );
    let mut encoded = one().remove(0);
    encoded.data_encoding.name = UAString::from("Default Binary");
    let nodes = vec![
        read_value(bench(1000), AttributeId::Executable, ""),
        read_value(bench(1), AttributeId::Value, ""),
        read_value(NodeId::new(77, 1), AttributeId::Value, ""),
        read_value(NodeId::new(BENCH_STRING, "no such"), AttributeId::Value, ""),
        encoded,
    ];
    let values = client.read_any(nodes, TimestampsToReturn::Neither).unwrap();
    let statuses: Vec<_> = values.iter().map(|value| value.status.unwrap()).collect();
    assert_eq!(
        statuses,
        [
            StatusCode::BadAttributeIdInvalid,
            StatusCode::BadAttributeIdInvalid,
            StatusCode::BadNodeIdUnknown,
            StatusCode::BadNodeIdUnknown,
            StatusCode::BadDataEncodingInvalid,
        ]
    );
}

const BENCH_STRING: u16 = 2;

#[test]
fn the_server_object_says_what_is_true() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let nodes = [
        VariableId::Server_NamespaceArray,
        VariableId::Server_ServerStatus_State,
        VariableId::Server_ServerCapabilities_OperationLimits_MaxNodesPerRead,
        VariableId::Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSessionCount,
        VariableId::Server_ServerStatus,
        VariableId::Server_ServerStatus_CurrentTime,
    ];
    let before = DateTime::now().ticks();
    let values: Vec<Variant> = client
        .read(&nodes.map(NodeId::from))
        .into_iter()
        .map(|value| value.value.unwrap())
        .collect();
    let after = DateTime::now().ticks();
    let namespaces: Vec<UAString> = [
        "http://opcfoundation.org/UA/",
        "urn:uaperf:plant",
        "urn:bench",
        "urn:uaperf:demo",
    ]
    .map(UAString::from)
    .into();
    assert_eq!(values[0], namespaces.into());
    assert_eq!(values[1], Variant::Int32(0));
    assert_eq!(values[2], Variant::UInt32(10_000));
    assert_eq!(values[3], Variant::UInt32(1));
    assert!(matches!(values[4], Variant::ExtensionObject(_)));
    let Variant::DateTime(time) = &values[5] else {
        panic!("{:?}", values[5]);
    };
    // The plant's clock was set when it started, and may have drifted a little since.
    const LITTLE: i64 = 1_000_000;
    assert!((before - LITTLE..=after + LITTLE).contains(&time.ticks()));
}

#[test]
fn every_attribute_of_every_node_is_read_without_a_surprise() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let ids: Vec<NodeId> = server.space().nodes().map(|node| node.id.clone()).collect();
    let mut counts = std::collections::HashMap::<_, usize>::new();
    for ids in ids.chunks(300) {
        let nodes: Vec<_> = ids
            .iter()
            .flat_map(|id| {
                (1..=27).map(|attribute| wire::types::ReadValueId {
                    attribute_id: attribute,
                    ..read_value(id.clone(), AttributeId::NodeId, "")
                })
            })
            .collect();
        let asked = nodes.len();
        let values = client.read_any(nodes, TimestampsToReturn::Both).unwrap();
        assert_eq!(values.len(), asked);
        for value in values {
            *counts.entry(value.status).or_default() += 1;
        }
    }
    let statuses: Vec<_> = counts.keys().collect();
    assert!(
        counts
            .keys()
            .all(|status| [None, Some(StatusCode::BadAttributeIdInvalid)].contains(status)),
        "{statuses:?}"
    );
    assert!(counts[&None] > 10 * ids.len());
}

#[test]
fn the_echo_method_gives_its_argument_back_and_says_what_is_wrong_with_others() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let mut call = |object, method, arguments: Vec<Variant>| {
        let request = CallRequest {
            request_header: RequestHeader::default(),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: object,
                method_id: method,
                input_arguments: Some(arguments),
            }]),
        };
        client.call(request).unwrap().results.unwrap().remove(0)
    };
    let (object, echo) = (bench(4001), bench(4000));
    let result = call(object.clone(), echo.clone(), vec![Variant::Double(12.5)]);
    assert_eq!(result.status_code, StatusCode::Good);
    assert_eq!(result.output_arguments, Some(vec![Variant::Double(12.5)]));
    let result = call(object.clone(), echo.clone(), vec![Variant::Int32(1)]);
    assert_eq!(result.status_code, StatusCode::BadInvalidArgument);
    assert_eq!(
        result.input_argument_results,
        Some(vec![StatusCode::BadTypeMismatch])
    );
    let statuses = [
        call(object.clone(), echo.clone(), vec![]),
        call(object.clone(), echo.clone(), vec![Variant::Double(1.0); 2]),
        call(object.clone(), bench(1000), vec![]),
        call(bench(1), echo.clone(), vec![Variant::Double(1.0)]),
        call(bench(77), echo, vec![Variant::Double(1.0)]),
    ]
    .map(|result| result.status_code);
    assert_eq!(
        statuses,
        [
            StatusCode::BadArgumentsMissing,
            StatusCode::BadTooManyArguments,
            StatusCode::BadMethodInvalid,
            StatusCode::BadMethodInvalid,
            StatusCode::BadNodeIdUnknown,
        ]
    );
}
