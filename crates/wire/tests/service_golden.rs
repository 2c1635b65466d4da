//! Messages as another stack encodes them: `golden/*.hex`, made with asyncua 2.1.0 from the
//! values that are checked here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use wire::service::{Limits, Request, Response};
use wire::types::*;

/// 2024-02-29T12:34:56.789Z
const TIME: i64 = 133_536_836_967_890_000;

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let digits: String = text.lines().filter(|line| !line.starts_with('#')).collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// Decodes it, and checks that it is encoded to the same bytes and has the usual header.
fn request<T>(name: &str, take: fn(Request) -> Option<T>) -> T {
    let bytes = golden(name);
    let request = Request::decode(&bytes, &Limits::default()).unwrap();
    let mut out = Vec::new();
    request.encode(&mut out).unwrap();
    assert_eq!(out, bytes, "{name}");
    let header = request.header();
    assert_eq!(header.authentication_token, NodeId::new(1, 4242));
    assert_eq!(header.timestamp.checked_ticks(), TIME);
    assert_eq!(header.request_handle, 77);
    assert_eq!(header.audit_entry_id.as_ref(), "audit");
    assert_eq!(header.timeout_hint, 10_000);
    take(request).unwrap()
}

fn response<T>(name: &str, take: fn(Response) -> Option<T>) -> T {
    let bytes = golden(name);
    let response = Response::decode(&bytes, &Limits::default()).unwrap();
    let mut out = Vec::new();
    response.encode(&mut out).unwrap();
    assert_eq!(out, bytes, "{name}");
    let header = response.header();
    assert_eq!(header.timestamp.checked_ticks(), TIME);
    assert_eq!(header.request_handle, 77);
    assert_eq!(header.string_table, Some(vec!["one".into(), "two".into()]));
    take(response).unwrap()
}

macro_rules! request {
    ($name:literal, $service:ident) => {
        request($name, |message| match message {
            Request::$service(request) => Some(request),
            _ => None,
        })
    };
}

macro_rules! response {
    ($name:literal, $service:ident) => {
        response($name, |message| match message {
            Response::$service(response) => Some(response),
            _ => None,
        })
    };
}

#[test]
fn read() {
    let read = request!("read_request", Read);
    assert_eq!(read.max_age, 500.0);
    assert_eq!(read.timestamps_to_return, TimestampsToReturn::Both);
    let nodes = read.nodes_to_read.unwrap();
    assert_eq!(nodes[0].node_id, NodeId::new(0, 2258));
    assert_eq!(nodes[1].node_id, NodeId::new(2, "Speed001"));
    assert_eq!(nodes[1].index_range, NumericRange::Range(1, 3));
    assert_eq!(
        nodes[1].data_encoding,
        QualifiedName::new(0, "Default Binary")
    );

    let read = response!("read_response", Read);
    let results = read.results.unwrap();
    assert_eq!(results[0].value, Some(Variant::Double(21.5)));
    assert_eq!(results[0].source_timestamp.unwrap().checked_ticks(), TIME);
    let Some(Variant::Array(matrix)) = &results[1].value else {
        panic!("no array");
    };
    assert_eq!(matrix.dimensions, Some(vec![2, 3]));
    assert_eq!(matrix.values[5], Variant::Int16(6));
    let Some(Variant::Array(texts)) = &results[2].value else {
        panic!("no array");
    };
    assert_eq!(texts.values[1], Variant::from("ä"));
    let Some(Variant::ExtensionObject(unit)) = &results[3].value else {
        panic!("no structure");
    };
    assert_eq!(unit.inner_as::<EUInformation>().unwrap().unit_id, 4_408_652);
    assert_eq!(results[4].status, Some(StatusCode::BadNodeIdUnknown));
}

#[test]
fn write() {
    let write = request!("write_request", Write);
    let value = &write.nodes_to_write.unwrap()[0];
    assert_eq!(value.node_id, NodeId::new(2, 1000));
    assert_eq!(value.value.value, Some(Variant::Double(3.25)));
}

#[test]
fn browse() {
    let browse = request!("browse_request", Browse);
    assert_eq!(browse.requested_max_references_per_node, 100);
    let node = &browse.nodes_to_browse.unwrap()[0];
    assert_eq!(node.node_id, NodeId::new(0, 85));
    assert_eq!(node.browse_direction, BrowseDirection::Forward);
    assert_eq!(node.result_mask, 63);

    let browse = response!("browse_response", Browse);
    let result = &browse.results.unwrap()[0];
    assert_eq!(result.continuation_point, ByteString::from(b"more"));
    let reference = &result.references.as_ref().unwrap()[0];
    assert_eq!(reference.browse_name, QualifiedName::new(0, "Server"));
    assert_eq!(reference.node_class, NodeClass::Object);
    assert_eq!(reference.type_definition.node_id, NodeId::new(0, 2004));
}

#[test]
fn publish() {
    let publish = request!("publish_request", Publish);
    let acknowledged = &publish.subscription_acknowledgements.unwrap()[0];
    assert_eq!(
        (acknowledged.subscription_id, acknowledged.sequence_number),
        (9, 5)
    );

    let publish = response!("publish_response", Publish);
    assert_eq!(publish.available_sequence_numbers, Some(vec![5, 6]));
    assert!(publish.more_notifications);
    let data = publish.notification_message.notification_data.unwrap();
    let items = data[0].inner_as::<DataChangeNotification>().unwrap();
    let items = items.monitored_items.as_ref().unwrap();
    assert_eq!((items[0].client_handle, items[1].client_handle), (201, 202));
    assert_eq!(items[0].value.value, Some(Variant::UInt32(7)));
    // Overflow, InfoType DataValue
    assert_eq!(items[1].value.status.unwrap().bits(), 0x480);
    let events = data[1].inner_as::<EventNotificationList>().unwrap();
    let fields = events.events.as_ref().unwrap()[0]
        .event_fields
        .as_ref()
        .unwrap();
    assert_eq!(fields[1], Variant::UInt16(500));
}

#[test]
fn session() {
    let session = response!("create_session_response", CreateSession);
    assert_eq!(session.revised_session_timeout, 60_000.0);
    assert_eq!(session.server_nonce.as_ref().len(), 32);
    assert_eq!(session.max_request_message_size, 65_536);
    let endpoint = &session.server_endpoints.unwrap()[0];
    assert_eq!(endpoint.security_mode, MessageSecurityMode::SignAndEncrypt);
    let tokens = endpoint.user_identity_tokens.as_ref().unwrap();
    assert_eq!(tokens[1].token_type, UserTokenType::UserName);

    let activate = request!("activate_session_request", ActivateSession);
    assert_eq!(activate.locale_ids, Some(vec!["en".into(), "de".into()]));
    let token = activate
        .user_identity_token
        .inner_as::<UserNameIdentityToken>()
        .unwrap();
    assert_eq!(token.user_name.as_ref(), "bench");
    assert_eq!(token.password.as_ref(), b"secret");

    let fault = response!("service_fault", Fault);
    assert_eq!(
        fault.response_header.service_result,
        StatusCode::BadSessionIdInvalid
    );
}

#[test]
fn monitored_items() {
    let create = request!("create_monitored_items_request", CreateMonitoredItems);
    let items = create.items_to_create.unwrap();
    let filter = &items[0].requested_parameters.filter;
    let filter = filter.inner_as::<DataChangeFilter>().unwrap();
    assert_eq!(filter.deadband_value, 0.5);
    let filter = &items[1].requested_parameters.filter;
    let filter = filter.inner_as::<EventFilter>().unwrap();
    let element = &filter.where_clause.elements.as_ref().unwrap()[0];
    assert_eq!(element.filter_operator, FilterOperator::GreaterThan);
    let operands = element.filter_operands.as_ref().unwrap();
    let literal = operands[1].inner_as::<LiteralOperand>().unwrap();
    assert_eq!(literal.value, Variant::UInt16(100));
}

#[test]
fn call_and_history() {
    let call = response!("call_response", Call);
    let result = &call.results.unwrap()[0];
    assert_eq!(result.output_arguments, Some(vec![Variant::from("echo")]));

    let history = request!("history_read_request", HistoryRead);
    let details = history.history_read_details;
    let details = details.inner_as::<ReadRawModifiedDetails>().unwrap();
    assert_eq!(details.num_values_per_node, 100);
    assert!(details.return_bounds);
}
