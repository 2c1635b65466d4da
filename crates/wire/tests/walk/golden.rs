//! Messages as another stack encodes them, walked: what is asserted is what asyncua 2.1.0 was
//! given to encode (`tests/golden`).

use wire::template::walk::{self, Notification, RawNodeId, ResponseHead};
use wire::types::StatusCode;

use crate::messages;
use crate::responses::{assert_publish_is_walked, assert_read_is_walked};

/// 2024-02-29T12:34:56.789Z
const TIME: i64 = 133_536_836_967_890_000;

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let digits: String = text.lines().filter(|l| !l.starts_with('#')).collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn values_of_another_stack_are_walked() {
    let body = golden("read_response");
    assert_read_is_walked(&body, &messages::decode(&body));

    // This one has a string table, so it is not of the usual shape.
    let head = ResponseHead::parse(&body).unwrap();
    assert_eq!((head.timestamp, head.request_handle), (TIME, 77));
    let values: Vec<_> = walk::read_values(&body)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(values[0].value.unwrap().as_f64(), Some(21.5));
    assert_eq!(values[0].source_timestamp(), Some(TIME));
    let matrix = values[1].value.unwrap();
    assert_eq!(matrix.array_len(), Some(6));
    assert_eq!(matrix.dimensions().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(matrix.payload(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    assert_eq!(values[4].status(), StatusCode::BadNodeIdUnknown);

    let seen = walk::check_read(&body, 5).unwrap();
    assert_eq!(seen.bad, 1);
    assert_eq!(seen.first_bad, Some((4, StatusCode::BadNodeIdUnknown)));
}

#[test]
fn notifications_of_another_stack_are_walked() {
    let body = golden("publish_response");
    assert_publish_is_walked(&body, &messages::decode(&body));
    let response = walk::PublishResponse::parse(&body).unwrap();
    assert_eq!(
        response.available_sequence_numbers.collect::<Vec<_>>(),
        [5, 6]
    );
    assert!(response.more_notifications);
    assert!(!response.is_keep_alive());
    let mut notifications = response.notifications().map(Result::unwrap);
    let Some(Notification::DataChange(items)) = notifications.next() else {
        panic!("no data change");
    };
    let items: Vec<_> = items.map(Result::unwrap).collect();
    assert_eq!((items[0].client_handle, items[1].client_handle), (201, 202));
    assert_eq!(items[0].value.value.unwrap().as_i64(), Some(7));
    assert_eq!(items[0].value.status(), StatusCode::Good);
    assert!(!items[0].value.overflowed());
    assert!(items[1].value.overflowed());
    let events = notifications.next();
    let Some(Notification::Events(mut events)) = events else {
        panic!("no events: {events:?}");
    };
    let event = events.next().unwrap().unwrap();
    assert!(event.fields.count() > 0);
}

#[test]
fn a_call_and_a_fault_of_another_stack_are_walked() {
    let body = golden("call_response");
    let results: Vec<_> = walk::call_results(&body)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    walk::check_call(&body, results.len()).unwrap();
    assert!(results.iter().any(|r| r.output_arguments.len() > 0));

    let body = golden("service_fault");
    let fault = ResponseHead::parse(&body).unwrap();
    assert_eq!(fault.type_id, walk::type_id::SERVICE_FAULT);
    let error = walk::WalkError::Fault(fault.service_result);
    assert_eq!(walk::check_call(&body, 1), Err(error));
    assert_eq!(fault.service_result, StatusCode::BadSessionIdInvalid);
}

#[test]
fn requests_of_another_stack_are_walked() {
    let body = golden("read_request");
    let read = walk::ReadRequest::parse(&body).unwrap();
    let token = RawNodeId::Numeric {
        namespace: 1,
        id: 4242,
    };
    assert_eq!(read.head.authentication_token, token);
    assert_eq!((read.head.timestamp, read.head.request_handle), (TIME, 77));
    assert_eq!(read.head.timeout_hint, 10_000);
    assert_eq!(read.max_age, 500.0);
    let nodes: Vec<_> = read.nodes.map(Result::unwrap).collect();
    let first = RawNodeId::Numeric {
        namespace: 0,
        id: 2258,
    };
    let second = RawNodeId::String {
        namespace: 2,
        id: b"Speed001",
    };
    assert_eq!(nodes[0].node_id, first);
    assert_eq!(nodes[1].node_id, second);
    assert_eq!(nodes[1].index_range, b"1:3");
    assert_eq!(nodes[1].data_encoding, (0, &b"Default Binary"[..]));

    let body = golden("write_request");
    let mut nodes = walk::WriteRequest::parse(&body).unwrap().nodes;
    let node = nodes.next().unwrap().unwrap();
    assert_eq!(node.value.value.unwrap().as_f64(), Some(3.25));
    assert!(nodes.all(|node| node.is_ok()));

    let body = golden("publish_request");
    let publish = walk::PublishRequest::parse(&body).unwrap();
    assert_eq!(publish.acknowledgements.collect::<Vec<_>>()[0], (9, 5));
}
