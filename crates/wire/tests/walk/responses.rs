//! Responses of any shape against the full decoder.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wire::template::walk::{
    self, BuiltInType, Change, Notification, RawDataValue, RawVariant, ResponseHead, StatusTally,
    WalkError,
};
use wire::types::{
    BinaryDecodable, BinaryEncodable, CallMethodResult, CallResponse, CreateMonitoredItemsResponse,
    DataChangeNotification, DataValue, EventFieldList, EventNotificationList, ExtensionObject,
    MonitoredItemCreateResult, MonitoredItemNotification, NotificationMessage, PublishResponse,
    ReadResponse, RepublishResponse, ServiceFault, StatusChangeNotification, StatusCode,
    SubscriptionAcknowledgement, Variant, WriteResponse,
};

use crate::{any, messages};

/// Id on the wire, and the number of elements of an array.
fn shape(value: &Variant) -> (u8, Option<usize>) {
    match value {
        Variant::Empty => (0, None),
        Variant::Array(array) => (array.value_type as u8, Some(array.values.len())),
        scalar => (scalar.scalar_type_id().unwrap() as u8, None),
    }
}

/// By what they look like: a NaN is not equal to itself.
fn assert_alike<T: std::fmt::Debug>(left: &T, right: &T) {
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
}

pub fn assert_same_variant(raw: &RawVariant<'_>, full: &Variant) {
    let owned = messages::context();
    let context = owned.context();
    assert_eq!((raw.kind() as u8, raw.array_len()), shape(full));
    assert_alike(&raw.decode(&context).unwrap(), full);
    match full {
        Variant::Array(array) => {
            let dimensions = array.dimensions.clone().unwrap_or_default();
            assert_eq!(raw.dimensions().collect::<Vec<_>>(), dimensions);
        }
        // Empty arrays inside do not encode to the bytes they came from.
        Variant::DataValue(_) | Variant::Variant(_) => {}
        scalar => {
            let mut payload = Vec::new();
            scalar.encode_value(&mut payload, &context).unwrap();
            assert_eq!(raw.payload(), payload);
        }
    }
    match full {
        Variant::Double(v) => assert_eq!(raw.as_f64().map(f64::to_bits), Some(v.to_bits())),
        Variant::SByte(v) => assert_eq!(raw.as_i64(), Some(i64::from(*v))),
        Variant::Byte(v) => assert_eq!(raw.as_i64(), Some(i64::from(*v))),
        Variant::Int16(v) => assert_eq!(raw.as_i64(), Some(i64::from(*v))),
        Variant::UInt16(v) => assert_eq!(raw.as_i64(), Some(i64::from(*v))),
        Variant::Int32(v) => assert_eq!(raw.as_i64(), Some(i64::from(*v))),
        Variant::UInt32(v) => assert_eq!(raw.as_i64(), Some(i64::from(*v))),
        Variant::Int64(v) => assert_eq!(raw.as_i64(), Some(*v)),
        Variant::UInt64(v) => assert_eq!(raw.as_i64(), i64::try_from(*v).ok()),
        Variant::String(v) => assert_eq!(raw.as_octets(), v.value().as_ref().map(|s| s.as_bytes())),
        Variant::ByteString(v) => assert_eq!(raw.as_octets(), v.value.as_deref()),
        _ => assert_eq!((raw.as_f64(), raw.as_i64()), (None, None)),
    }
}

pub fn assert_same_value(raw: &RawDataValue<'_>, full: &DataValue) {
    match (&raw.value, &full.value) {
        (Some(raw), Some(full)) => assert_same_variant(raw, full),
        (raw, full) => assert_eq!(raw.is_some(), full.is_some()),
    }
    let status = full.status.unwrap_or(StatusCode::Good);
    assert_eq!(raw.status(), status);
    assert_eq!(
        raw.source_timestamp(),
        full.source_timestamp.map(|t| t.ticks())
    );
    assert_eq!(raw.source_picoseconds(), full.source_picoseconds);
    assert_eq!(
        raw.server_timestamp(),
        full.server_timestamp.map(|t| t.ticks())
    );
    assert_eq!(raw.server_picoseconds(), full.server_picoseconds);
    let overflowed = status.overflow() && (status.bits() >> 10) & 0b11 == 0b01;
    assert_eq!(raw.overflowed(), overflowed);
}

/// Count, bad ones, uncertain ones, and the first bad one.
fn tally(statuses: &[StatusCode]) -> (usize, usize, usize, Option<(usize, StatusCode)>) {
    let bad = |s: &&StatusCode| s.is_bad();
    (
        statuses.len(),
        statuses.iter().filter(bad).count(),
        statuses.iter().filter(|s| s.is_uncertain()).count(),
        statuses
            .iter()
            .copied()
            .enumerate()
            .find(|(_, s)| s.is_bad()),
    )
}

fn told(t: &StatusTally) -> (usize, usize, usize, Option<(usize, StatusCode)>) {
    (t.results, t.bad, t.uncertain, t.first_bad)
}

pub fn read_response() -> BoxedStrategy<ReadResponse> {
    (
        any::response_header(),
        option::weighted(0.9, any::data_values()),
        any::diagnostic_infos(),
    )
        .prop_map(
            |(response_header, results, diagnostic_infos)| ReadResponse {
                response_header,
                results,
                diagnostic_infos,
            },
        )
        .boxed()
}

pub fn write_response() -> BoxedStrategy<WriteResponse> {
    (
        any::response_header(),
        option::of(vec(any::status(), 0..8)),
        any::diagnostic_infos(),
    )
        .prop_map(
            |(response_header, results, diagnostic_infos)| WriteResponse {
                response_header,
                results,
                diagnostic_infos,
            },
        )
        .boxed()
}

pub fn call_response() -> BoxedStrategy<CallResponse> {
    let result = (
        any::status(),
        option::of(vec(any::status(), 0..3)),
        any::diagnostic_infos(),
        option::of(vec(any::variant(), 0..3)),
    )
        .prop_map(
            |(status_code, arguments, infos, outputs)| CallMethodResult {
                status_code,
                input_argument_results: arguments,
                input_argument_diagnostic_infos: infos,
                output_arguments: outputs,
            },
        );
    (
        any::response_header(),
        option::of(vec(result, 0..4)),
        any::diagnostic_infos(),
    )
        .prop_map(
            |(response_header, results, diagnostic_infos)| CallResponse {
                response_header,
                results,
                diagnostic_infos,
            },
        )
        .boxed()
}

fn notification() -> BoxedStrategy<ExtensionObject> {
    let items = vec((any::<u32>(), any::data_value()), 0..5).prop_map(|items| {
        let of = |(client_handle, value)| MonitoredItemNotification {
            client_handle,
            value,
        };
        Some(items.into_iter().map(of).collect())
    });
    let events = vec((any::<u32>(), vec(any::variant(), 0..3)), 0..3).prop_map(|events| {
        let of = |(client_handle, fields)| EventFieldList {
            client_handle,
            event_fields: Some(fields),
        };
        EventNotificationList {
            events: Some(events.into_iter().map(of).collect()),
        }
    });
    prop_oneof![
        3 => (items, any::diagnostic_infos()).prop_map(|(monitored_items, diagnostic_infos)| {
            ExtensionObject::from_message(DataChangeNotification {
                monitored_items,
                diagnostic_infos,
            })
        }),
        1 => events.prop_map(ExtensionObject::from_message),
        1 => (any::status(), any::diagnostics()).prop_map(|(status, diagnostic_info)| {
            ExtensionObject::from_message(StatusChangeNotification {
                status,
                diagnostic_info,
            })
        }),
        1 => any::extension_object(),
    ]
    .boxed()
}

pub fn publish_response() -> BoxedStrategy<PublishResponse> {
    let message = (
        any::<u32>(),
        any::time(),
        option::of(vec(notification(), 0..4)),
    )
        .prop_map(
            |(sequence_number, publish_time, notification_data)| NotificationMessage {
                sequence_number,
                publish_time,
                notification_data,
            },
        );
    (
        any::response_header(),
        any::<u32>(),
        option::of(vec(any::<u32>(), 0..4)),
        any::<bool>(),
        message,
        option::of(vec(any::status(), 0..4)),
        any::diagnostic_infos(),
    )
        .prop_map(
            |(response_header, id, available, more, message, results, infos)| PublishResponse {
                response_header,
                subscription_id: id,
                available_sequence_numbers: available,
                more_notifications: more,
                notification_message: message,
                results,
                diagnostic_infos: infos,
            },
        )
        .boxed()
}

pub fn assert_read_is_walked(body: &[u8], full: &ReadResponse) {
    let head = ResponseHead::parse(body).unwrap();
    assert_eq!(head.type_id, walk::type_id::READ_RESPONSE);
    assert_eq!(head.request_handle, full.response_header.request_handle);
    assert_eq!(head.timestamp, full.response_header.timestamp.ticks());
    assert_eq!(head.service_result, full.response_header.service_result);

    let results = full.results.as_deref().unwrap_or_default();
    let raw: Vec<_> = walk::read_values(body)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(raw.len(), results.len());
    for (raw, full) in raw.iter().zip(results) {
        assert_same_value(raw, full);
    }

    let seen = walk::check_read(body, results.len()).unwrap();
    let statuses: Vec<_> = results
        .iter()
        .map(|v| v.status.unwrap_or(StatusCode::Good))
        .collect();
    let counted = (seen.values, seen.bad, seen.uncertain, seen.first_bad);
    assert_eq!(counted, tally(&statuses));
    let bytes: usize = raw
        .iter()
        .filter_map(|v| v.value)
        .map(|v| v.payload().len())
        .sum();
    assert_eq!(seen.bytes, bytes);
}

pub fn assert_publish_is_walked(body: &[u8], full: &PublishResponse) {
    let raw = walk::PublishResponse::parse(body).unwrap();
    let message = &full.notification_message;
    assert_eq!(raw.subscription_id, full.subscription_id);
    assert_eq!(raw.more_notifications, full.more_notifications);
    assert_eq!(raw.sequence_number, message.sequence_number);
    assert_eq!(raw.publish_time, message.publish_time.ticks());
    let available: Vec<_> = raw.available_sequence_numbers.collect();
    assert_eq!(
        available,
        full.available_sequence_numbers.clone().unwrap_or_default()
    );
    let results: Vec<_> = raw.results.collect();
    assert_eq!(results, full.results.clone().unwrap_or_default());

    let notifications = message.notification_data.as_deref().unwrap_or_default();
    assert_eq!(raw.is_keep_alive(), notifications.is_empty());
    assert_eq!(raw.notifications().count(), notifications.len());
    for (raw, full) in raw.notifications().zip(notifications) {
        assert_same_notification(raw.unwrap(), full);
    }
}

pub fn assert_republish_is_walked(body: &[u8], full: &NotificationMessage) {
    let raw = walk::RepublishResponse::parse(body).unwrap();
    assert_eq!(raw.sequence_number, full.sequence_number);
    assert_eq!(raw.publish_time, full.publish_time.ticks());
    let notifications = full.notification_data.as_deref().unwrap_or_default();
    assert_eq!(raw.notifications().count(), notifications.len());
    for (raw, full) in raw.notifications().zip(notifications) {
        assert_same_notification(raw.unwrap(), full);
    }
}

pub fn create_response() -> BoxedStrategy<CreateMonitoredItemsResponse> {
    let result = (
        any::status(),
        any::<u32>(),
        any::<i32>(),
        any::<u32>(),
        notification(),
    )
        .prop_map(
            |(status_code, monitored_item_id, sampling, queue, filter_result)| {
                MonitoredItemCreateResult {
                    status_code,
                    monitored_item_id,
                    revised_sampling_interval: f64::from(sampling) / 10.0,
                    revised_queue_size: queue,
                    filter_result,
                }
            },
        );
    let results = option::of(vec(result, 0..5));
    (any::response_header(), results, any::diagnostic_infos())
        .prop_map(
            |(response_header, results, diagnostic_infos)| CreateMonitoredItemsResponse {
                response_header,
                results,
                diagnostic_infos,
            },
        )
        .boxed()
}

fn assert_same_notification(raw: Notification<'_>, full: &ExtensionObject) {
    let owned = messages::context();
    let context = owned.context();
    match raw {
        Notification::DataChange(items) => {
            let full: &DataChangeNotification = full.inner_as().unwrap();
            let full = full.monitored_items.as_deref().unwrap_or_default();
            assert_eq!(items.items(), full.len());
            let mut told = Vec::new();
            items.clone().each(|change| told.push(change)).unwrap();
            let items: Vec<_> = items.map(Result::unwrap).collect();
            assert_eq!(told, items.iter().map(Change::from).collect::<Vec<_>>());
            assert_eq!(items.len(), full.len());
            for (raw, full) in items.iter().zip(full) {
                assert_eq!(raw.client_handle, full.client_handle);
                assert_same_value(&raw.value, &full.value);
            }
        }
        Notification::Events(list) => {
            let full: &EventNotificationList = full.inner_as().unwrap();
            let mut raw = list.raw();
            let decoded = EventNotificationList::decode(&mut raw, &context).unwrap();
            assert_alike(&decoded, full);
            assert!(raw.is_empty());
            let full = full.events.as_deref().unwrap_or_default();
            assert_eq!(list.events(), full.len());
            let events: Vec<_> = list.map(Result::unwrap).collect();
            assert_eq!(events.len(), full.len());
            for (raw, full) in events.iter().zip(full) {
                assert_eq!(raw.client_handle, full.client_handle);
                let fields = full.event_fields.as_deref().unwrap_or_default();
                let raw: Vec<_> = raw.fields.clone().collect();
                assert_eq!(raw.len(), fields.len());
                for (raw, field) in raw.iter().zip(fields) {
                    assert_alike(&raw.decode(&context).unwrap(), field);
                }
            }
        }
        Notification::StatusChange { status, raw } => {
            let full: &StatusChangeNotification = full.inner_as().unwrap();
            assert_eq!(status, full.status);
            assert_eq!(raw, full.encode_to_vec(&context));
        }
        Notification::Other { raw: None, .. } => assert!(full.is_null()),
        Notification::Other { raw: Some(raw), .. } => {
            if let Some(full) = full.inner_as::<SubscriptionAcknowledgement>() {
                assert_eq!(raw, full.encode_to_vec(&context));
            }
        }
    }
}

proptest! {
    #[test]
    fn a_read_response_is_walked_as_it_is_decoded(response in read_response()) {
        let body = messages::encode(&response);
        assert_read_is_walked(&body, &messages::decode(&body));
    }

    #[test]
    fn a_write_response_is_walked_as_it_is_decoded(response in write_response()) {
        let body = messages::encode(&response);
        let full: WriteResponse = messages::decode(&body);
        let statuses = full.results.unwrap_or_default();
        prop_assert_eq!(&walk::write_results(&body).unwrap().collect::<Vec<_>>(), &statuses);
        let seen = walk::check_write(&body, statuses.len()).unwrap();
        prop_assert_eq!(told(&seen), tally(&statuses));
    }

    #[test]
    fn a_call_response_is_walked_as_it_is_decoded(response in call_response()) {
        let body = messages::encode(&response);
        let full: CallResponse = messages::decode(&body);
        let results = full.results.unwrap_or_default();
        let statuses: Vec<_> = results.iter().map(|r| r.status_code).collect();
        let seen = walk::check_call(&body, results.len()).unwrap();
        prop_assert_eq!(told(&seen), tally(&statuses));
        let walked: Vec<_> = walk::call_results(&body).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(walked.len(), results.len());
        for (raw, full) in walked.into_iter().zip(results) {
            prop_assert_eq!(raw.status, full.status_code);
            let arguments: Vec<_> = raw.input_argument_results.collect();
            prop_assert_eq!(arguments, full.input_argument_results.unwrap_or_default());
            let outputs = full.output_arguments.unwrap_or_default();
            prop_assert_eq!(raw.output_arguments.len(), outputs.len());
            for (raw, full) in raw.output_arguments.zip(&outputs) {
                assert_same_variant(&raw, full);
            }
        }
    }

    #[test]
    fn a_publish_response_is_walked_as_it_is_decoded(response in publish_response()) {
        let body = messages::encode(&response);
        assert_publish_is_walked(&body, &messages::decode(&body));
    }
}

proptest! {
    #[test]
    fn a_republished_message_is_walked_as_it_is_decoded(response in publish_response()) {
        let full = RepublishResponse {
            response_header: response.response_header,
            notification_message: response.notification_message,
        };
        let body = messages::encode(&full);
        let full: RepublishResponse = messages::decode(&body);
        assert_republish_is_walked(&body, &full.notification_message);
    }

    #[test]
    fn created_items_are_walked_as_they_are_decoded(response in create_response()) {
        let body = messages::encode(&response);
        let full = response.results.unwrap_or_default();
        let raw = walk::created_items(&body).unwrap();
        assert_eq!(raw.items(), full.len());
        let raw: Vec<_> = raw.map(Result::unwrap).collect();
        assert_eq!(raw.len(), full.len());
        for (raw, full) in raw.iter().zip(&full) {
            assert_eq!(raw.status, full.status_code);
            assert_eq!(raw.id, full.monitored_item_id);
            assert_eq!(raw.sampling.to_bits(), full.revised_sampling_interval.to_bits());
            assert_eq!(raw.queue, full.revised_queue_size);
        }
    }
}

#[test]
fn a_service_fault_is_told_with_its_status() {
    let mut header = messages::response_header();
    header.service_result = StatusCode::BadSessionIdInvalid;
    let fault = WalkError::Fault(StatusCode::BadSessionIdInvalid);
    let body = messages::encode(&ServiceFault {
        response_header: header.clone(),
    });
    assert_eq!(walk::check_read(&body, 1), Err(fault));
    assert_eq!(walk::check_write(&body, 1), Err(fault));
    assert_eq!(walk::check_call(&body, 1), Err(fault));
    assert_eq!(walk::PublishResponse::parse(&body).unwrap_err(), fault);

    // Some servers answer with the response's own type and a bad result.
    let mut response = messages::write_response(0);
    response.response_header = header;
    assert_eq!(
        walk::check_write(&messages::encode(&response), 1),
        Err(fault)
    );
}

#[test]
fn another_response_is_told_by_its_type() {
    let body = messages::encode(&messages::write_response(1));
    let error = WalkError::OtherType {
        expected: walk::type_id::READ_RESPONSE,
        found: walk::type_id::WRITE_RESPONSE,
    };
    assert_eq!(walk::check_read(&body, 1), Err(error));
}

#[test]
fn results_that_are_not_as_many_as_the_operations_are_told() {
    let body = messages::encode(&messages::read_response(messages::doubles(3, false)));
    let error = WalkError::WrongCount {
        expected: 4,
        found: 3,
    };
    assert_eq!(walk::check_read(&body, 4), Err(error));
    let body = messages::encode(&messages::write_response(3));
    assert_eq!(walk::check_write(&body, 4), Err(error));
    let body = messages::encode(&messages::call_response(3));
    assert_eq!(walk::check_call(&body, 4), Err(error));
}

#[test]
fn the_first_bad_value_of_many_is_found() {
    let mut values = messages::doubles(100, true);
    for at in [40, 60] {
        values[at].value = None;
        values[at].status = Some(StatusCode::BadNodeIdUnknown);
    }
    values[20].status = Some(StatusCode::UncertainInitialValue);
    let body = messages::encode(&messages::read_response(values));
    let seen = walk::check_read(&body, 100).unwrap();
    assert_eq!((seen.values, seen.bad, seen.uncertain), (100, 2, 1));
    assert_eq!(seen.first_bad, Some((40, StatusCode::BadNodeIdUnknown)));
    assert_eq!(seen.bytes, 98 * 8);
}

#[test]
fn an_overflow_bit_counts_only_where_it_means_one() {
    let told = |status: u32| {
        let mut values = messages::doubles(1, false);
        values[0].status = Some(StatusCode::from(status));
        let body = messages::encode(&messages::read_response(values));
        walk::read_values(&body)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .overflowed()
    };
    // Part 4, 7.39.1: bit 7, where bits 10 and 11 are 01.
    assert!(told(0x0000_0480));
    assert!(told(0x8000_0480));
    assert!(!told(0x0000_0080));
    assert!(!told(0x0000_0400));
    assert!(!told(0x0000_0c80));
}

#[test]
fn types_of_one_size_have_that_size() {
    assert_eq!(BuiltInType::Double.size(), Some(8));
    assert_eq!(BuiltInType::Boolean.size(), Some(1));
    assert_eq!(BuiltInType::Guid.size(), Some(16));
    assert_eq!(BuiltInType::String.size(), None);
    assert_eq!(BuiltInType::DataValue.size(), None);
}

#[test]
fn many_values_of_one_type_are_walked_alike_wherever_one_of_another_kind_stands_among_them() {
    let kinds = [
        Variant::Boolean(true),
        Variant::Int16(2),
        Variant::Float(3.0),
        Variant::Double(4.0),
    ];
    let others = [
        DataValue {
            value: Some(Variant::UInt32(9)),
            ..DataValue::default()
        },
        DataValue {
            status: Some(StatusCode::BadNodeIdUnknown),
            ..DataValue::default()
        },
        DataValue {
            value: Some(Variant::from("text")),
            ..DataValue::default()
        },
    ];
    let time = Some(wire::types::DateTime::from(messages::TICKS));
    for kind in kinds {
        for stamps in [(None, None), (time, None), (time, time)] {
            let usual = DataValue {
                value: Some(kind.clone()),
                source_timestamp: stamps.0,
                server_timestamp: stamps.1,
                ..DataValue::default()
            };
            for n in [7, 8, 9, 33] {
                let mut values = vec![usual.clone(); n];
                assert_are_walked(&values);
                for (at, other) in [0, 1, n / 2, n - 1].into_iter().zip(others.iter().cycle()) {
                    values.fill(usual.clone());
                    values[at] = other.clone();
                    assert_are_walked(&values);
                }
            }
        }
    }
}

/// In a Read response, and told by a subscription.
fn assert_are_walked(values: &[DataValue]) {
    let full = messages::read_response(values.to_vec());
    assert_read_is_walked(&messages::encode(&full), &full);
    let items = values.iter().cloned().zip(7..);
    let items = items.map(|(value, client_handle)| MonitoredItemNotification {
        client_handle,
        value,
    });
    let full = messages::published(vec![messages::data_change(items.collect())]);
    assert_publish_is_walked(&messages::encode(&full), &full);
}
