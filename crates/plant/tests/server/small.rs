//! Clients that take short messages only, and what is kept for clients is held to a size.

use plant::Config;
use wire::channel::Protection;
use wire::frame::Limits;
use wire::session::token::Credentials;
use wire::types::{
    ApplicationDescription, AttributeId, BrowseDescription, BrowseRequest, CloseSessionRequest,
    CreateSessionRequest, DataChangeNotification, NodeId, ObjectId, PublishRequest,
    PublishResponse, RepublishRequest, StatusCode, SubscriptionAcknowledgement, Variant,
    WriteRequest, WriteValue,
};

use crate::client::Client;
use crate::subscribing::{header, item, publish, subscribe, watch};
use crate::{bench, start};

/// Bytes that these clients take.
const MOST: u32 = 8192;

/// What came of all items: handle and value or status; and in how many messages.
fn hear(client: &mut Client, id: u32, items: usize) -> (Vec<(u32, Option<Variant>)>, Vec<u32>) {
    let (mut came, mut messages) = (Vec::new(), Vec::new());
    while came.len() < items {
        let response: PublishResponse = client.call(publish(None)).unwrap();
        assert_eq!(response.subscription_id, id);
        let message = response.notification_message;
        assert_eq!(message.sequence_number as usize, messages.len() + 1);
        messages.push(message.sequence_number);
        let before = came.len();
        for data in message.notification_data.iter().flatten() {
            let change = data.inner_as::<DataChangeNotification>().unwrap();
            for item in change.monitored_items.iter().flatten() {
                if item.value.value.is_none() {
                    let status = Some(StatusCode::BadEncodingLimitsExceeded);
                    assert_eq!(item.value.status, status);
                }
                came.push((item.client_handle, item.value.value.clone()));
            }
        }
        assert!(came.len() > before, "a message with nothing in it");
        assert_eq!(response.more_notifications, came.len() < items);
    }
    (came, messages)
}

/// 500 numbers, arrays of 512 Int16 that fit into a message, and one of 20,000 Byte that does not.
fn nothing_is_lost(client: &mut Client) {
    let id = subscribe(client, 2000.0).subscription_id;
    let mut nodes: Vec<NodeId> = (1000..1500).map(bench).collect();
    nodes.extend(vec![bench(3020); 20]);
    nodes.insert(250, bench(3012));
    let handles = 0..nodes.len() as u32;
    let items = nodes.iter().cloned().zip(handles);
    let items: Vec<_> = items
        .map(|(node, handle)| item(node, handle, -1.0))
        .collect();
    // What answers a request that makes them has to be short, too.
    for some in items.chunks(100) {
        let made = watch(client, id, some.to_vec());
        assert!(made.iter().all(|it| it.status_code == StatusCode::Good));
    }
    let (mut came, messages) = hear(client, id, nodes.len());
    assert!(messages.len() > 4, "{messages:?}");
    came.sort_by_key(|(handle, _)| *handle);
    let handles: Vec<u32> = came.iter().map(|(handle, _)| *handle).collect();
    assert!(
        handles.iter().copied().eq(0..nodes.len() as u32),
        "{handles:?}"
    );
    for (handle, value) in came {
        assert_eq!(value.is_none(), handle == 250, "{handle}: {value:?}");
    }
    for sequence in messages {
        let request = RepublishRequest {
            request_header: header(),
            subscription_id: id,
            retransmit_sequence_number: sequence,
        };
        let again = client.call(request).unwrap().notification_message;
        assert_eq!(again.sequence_number, sequence);
    }
}

#[test]
fn values_that_do_not_fit_into_a_message_come_in_several() {
    let server = start(Config::default());
    let limits = Limits {
        receive_message: MOST,
        ..Limits::default()
    };
    nothing_is_lost(&mut Client::taking(server.url(), limits));
    let limits = Limits {
        receive_buffer: MOST,
        receive_chunks: 1,
        ..Limits::default()
    };
    nothing_is_lost(&mut Client::taking(server.url(), limits));
}

#[test]
fn a_session_that_takes_short_responses_gets_no_longer_ones() {
    let server = start(Config::default());
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut session = client.create_taking(MOST).unwrap();
    client
        .activate(&mut session, &Credentials::Anonymous)
        .unwrap();
    nothing_is_lost(&mut client);
    let many: Vec<NodeId> = vec![bench(3011); 1];
    let refused = |client: &mut Client, nodes: &[NodeId]| {
        let nodes = nodes.iter().cloned();
        let read = nodes.map(|it| crate::client::read_value(it, AttributeId::Value, ""));
        let neither = wire::types::TimestampsToReturn::Neither;
        client.read_any(read.collect(), neither).err()
    };
    let too_large = Some(StatusCode::BadResponseTooLarge);
    assert_eq!(refused(&mut client, &many), too_large);
    // One that would be made in pieces.
    assert_eq!(refused(&mut client, &vec![bench(3014); 4]), too_large);
    assert_eq!(refused(&mut client, &[bench(1000)]), None);
    let browse = BrowseRequest {
        nodes_to_browse: Some(vec![
            BrowseDescription {
                node_id: ObjectId::Server.into(),
                result_mask: 63,
                ..BrowseDescription::default()
            };
            10
        ]),
        ..BrowseRequest::default()
    };
    assert_eq!(client.call(browse).err(), too_large);
    // Another session on the same connection may take more.
    let close = CloseSessionRequest {
        request_header: header(),
        delete_subscriptions: true,
    };
    client.call(close).unwrap();
    client.log_in(&Credentials::Anonymous).unwrap();
    assert_eq!(refused(&mut client, &many), None);
}

#[test]
fn what_an_unknown_client_says_of_itself_is_held_to_a_size() {
    let server = start(Config::default());
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let ask = |name: usize, url: usize, addresses: usize| CreateSessionRequest {
        session_name: "n".repeat(name).into(),
        endpoint_url: "u".repeat(url).into(),
        client_description: ApplicationDescription {
            application_uri: "urn:test".into(),
            discovery_urls: Some(vec!["opc.tcp://h".into(); addresses]),
            ..ApplicationDescription::default()
        },
        ..CreateSessionRequest::default()
    };
    let too_long = Some(StatusCode::BadEncodingLimitsExceeded);
    assert_eq!(client.call(ask(15_000_000, 10, 0)).err(), too_long);
    assert_eq!(client.call(ask(10, 4097, 0)).err(), too_long);
    assert_eq!(client.call(ask(10, 10, 33)).err(), too_long);
    assert_eq!(client.call(ask(4096, 4096, 32)).err(), None);
    assert_eq!(server.counted().sessions, 1);
}

#[test]
fn acknowledgements_in_a_request_are_limited() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 50.0).subscription_id;
    let ask = |count| PublishRequest {
        request_header: header(),
        subscription_acknowledgements: Some(vec![
            SubscriptionAcknowledgement {
                subscription_id: id,
                sequence_number: 7,
            };
            count
        ]),
    };
    let refused = client.call(ask(10_001)).err();
    assert_eq!(refused, Some(StatusCode::BadTooManyOperations));
    let results = client.call(ask(10_000)).unwrap().results.unwrap();
    assert_eq!(results, vec![StatusCode::BadSequenceNumberUnknown; 10_000]);
}

#[test]
fn messages_that_are_not_acknowledged_are_kept_up_to_a_number_of_bytes() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 10.0).subscription_id;
    // 102,400 bytes in each message, a hundred of them.
    watch(&mut client, id, vec![item(bench(3014), 1, 0.0)]);
    let mut available = Vec::new();
    for n in 0..100u8 {
        let response: PublishResponse = client.call(publish(None)).unwrap();
        available = response.available_sequence_numbers.unwrap();
        let value = Variant::from(vec![n; 102_400]);
        let write = WriteRequest {
            nodes_to_write: Some(vec![WriteValue {
                node_id: bench(3014),
                attribute_id: AttributeId::Value as u32,
                value: value.into(),
                ..WriteValue::default()
            }]),
            ..WriteRequest::default()
        };
        let written = client.call(write).unwrap().results.unwrap();
        assert_eq!(written, [StatusCode::Good]);
    }
    // 4 MiB of them, and the newest.
    assert_eq!(available.len(), 41, "{available:?}");
    assert_eq!(available.last(), Some(&100));
    let again = |sequence| RepublishRequest {
        request_header: header(),
        subscription_id: id,
        retransmit_sequence_number: sequence,
    };
    for sequence in available {
        assert!(client.call(again(sequence)).is_ok(), "{sequence}");
    }
    let gone = client.call(again(1)).err();
    assert_eq!(gone, Some(StatusCode::BadMessageNotAvailable));
}
