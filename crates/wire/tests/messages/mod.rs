//! Messages for tests, and for the program whose instructions are counted.

#![allow(dead_code, reason = "each test uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use wire::types::{
    AttributeId, BinaryDecodable, BinaryEncodable, CallMethodResult, CallResponse, ContextOwned,
    DataChangeNotification, DataValue, DateTime, DecodingOptions, DiagnosticInfo, ExtensionObject,
    MessageInfo, MonitoredItemNotification, NamespaceMap, NodeId, NotificationMessage,
    NumericRange, PublishResponse, QualifiedName, ReadRequest, ReadResponse, ReadValueId,
    RequestHeader, ResponseHeader, StatusCode, TimestampsToReturn, Variant, WriteRequest,
    WriteResponse, WriteValue,
};

/// 2024-05-01 12:00:00 UTC.
pub const TICKS: i64 = 133_590_384_000_000_000;

pub fn context() -> ContextOwned {
    ContextOwned::new_default(NamespaceMap::new(), DecodingOptions::default())
}

/// A message body: the encoding's id and the message.
pub fn encode<T: BinaryEncodable + MessageInfo>(message: &T) -> Vec<u8> {
    let owned = context();
    let context = owned.context();
    let mut body = Vec::new();
    let type_id = NodeId::from(message.type_id());
    type_id.encode(&mut body, &context).expect("an id encodes");
    message
        .encode(&mut body, &context)
        .expect("a message encodes");
    body
}

/// The full decoder's view of a body.
pub fn decode<T: BinaryDecodable>(body: &[u8]) -> T {
    let owned = context();
    let context = owned.context();
    let mut stream = body;
    NodeId::decode(&mut stream, &context).expect("an id");
    let message = T::decode(&mut stream, &context).expect("a message");
    assert!(stream.is_empty(), "the full decoder left bytes");
    message
}

pub fn request_header() -> RequestHeader {
    let token = NodeId::new(1, wire::types::ByteString::from(vec![7; 32]));
    RequestHeader {
        timeout_hint: 5000,
        ..RequestHeader::new(&token, &DateTime::from(TICKS), 1)
    }
}

pub fn response_header() -> ResponseHeader {
    ResponseHeader::new_timestamped_service_result(DateTime::from(TICKS), 77, StatusCode::Good)
}

pub fn read_request(nodes: u32) -> ReadRequest {
    ReadRequest {
        request_header: request_header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(
            (0..nodes)
                .map(|i| ReadValueId {
                    node_id: NodeId::new(2, 1000 + i),
                    attribute_id: AttributeId::Value as u32,
                    index_range: NumericRange::None,
                    data_encoding: QualifiedName::null(),
                })
                .collect(),
        ),
    }
}

pub fn write_request(values: &[Variant]) -> WriteRequest {
    WriteRequest {
        request_header: request_header(),
        nodes_to_write: Some(
            values
                .iter()
                .zip(1000..)
                .map(|(value, id)| WriteValue {
                    node_id: NodeId::new(2, id),
                    attribute_id: AttributeId::Value as u32,
                    index_range: NumericRange::None,
                    value: DataValue::value_only(value.clone()),
                })
                .collect(),
        ),
    }
}

pub fn doubles(n: u32, timestamps: bool) -> Vec<DataValue> {
    let at = timestamps.then(|| DateTime::from(TICKS));
    (0..n)
        .map(|i| DataValue {
            value: Some(Variant::Double(f64::from(i))),
            status: None,
            source_timestamp: at,
            source_picoseconds: None,
            server_timestamp: at,
            server_picoseconds: None,
        })
        .collect()
}

pub fn read_response(results: Vec<DataValue>) -> ReadResponse {
    ReadResponse {
        response_header: response_header(),
        results: Some(results),
        diagnostic_infos: None,
    }
}

pub fn write_response(n: usize) -> WriteResponse {
    WriteResponse {
        response_header: response_header(),
        results: Some(vec![StatusCode::Good; n]),
        diagnostic_infos: None,
    }
}

pub fn call_response(n: usize) -> CallResponse {
    CallResponse {
        response_header: response_header(),
        results: Some(vec![
            CallMethodResult {
                status_code: StatusCode::Good,
                input_argument_results: None,
                input_argument_diagnostic_infos: None,
                output_arguments: Some(vec![Variant::from("echo"), Variant::Int32(4)]),
            };
            n
        ]),
        diagnostic_infos: None,
    }
}

pub fn data_change(items: Vec<MonitoredItemNotification>) -> ExtensionObject {
    ExtensionObject::from_message(DataChangeNotification {
        monitored_items: Some(items),
        diagnostic_infos: Some(vec![DiagnosticInfo::null()]),
    })
}

pub fn publish_response(items: u32) -> PublishResponse {
    let items = doubles(items, true)
        .into_iter()
        .zip(0..)
        .map(|(value, client_handle)| MonitoredItemNotification {
            client_handle,
            value,
        })
        .collect();
    published(vec![data_change(items)])
}

pub fn published(notifications: Vec<ExtensionObject>) -> PublishResponse {
    PublishResponse {
        response_header: response_header(),
        subscription_id: 5,
        available_sequence_numbers: Some(vec![8, 9]),
        more_notifications: true,
        notification_message: NotificationMessage {
            sequence_number: 9,
            publish_time: DateTime::from(TICKS),
            notification_data: Some(notifications),
        },
        results: Some(vec![StatusCode::Good, StatusCode::BadSequenceNumberUnknown]),
        diagnostic_infos: None,
    }
}
