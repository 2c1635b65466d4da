use std::time::{Duration, Instant};

use plant::{Config, Limits, Transfer};
use wire::channel::Protection;
use wire::session::token::Credentials;
use wire::types::{
    AttributeId, CallMethodRequest, CallRequest, CancelRequest, CloseSessionRequest,
    CreateMonitoredItemsRequest, CreateSubscriptionRequest, CreateSubscriptionResponse,
    DataChangeNotification, DeleteMonitoredItemsRequest, DeleteSubscriptionsRequest, MethodId,
    ModifySubscriptionRequest, MonitoredItemCreateRequest, MonitoredItemCreateResult,
    MonitoringMode, MonitoringParameters, NodeId, NotificationMessage, ObjectId, PublishRequest,
    PublishResponse, RepublishRequest, RequestHeader, SetPublishingModeRequest,
    StatusChangeNotification, StatusCode, SubscriptionAcknowledgement, TimestampsToReturn,
    TransferSubscriptionsRequest, Variant,
};

use crate::client::{Client, PATIENCE, read_value};
use crate::{bench, start, until};

const COUNTER: u32 = 3030;

pub fn header() -> RequestHeader {
    RequestHeader::default()
}

/// Publishings without news until a keep-alive, and without a Publish request until the end. A busy machine
/// may well keep a client from publishing for a while.
pub const KEEP_ALIVE: u32 = 100;
pub const LIFETIME: u32 = 10_000;

pub fn subscribe(client: &mut Client, interval: f64) -> CreateSubscriptionResponse {
    subscribe_for(client, interval, LIFETIME)
}

/// A subscription that ends after so many publishings without a Publish request.
pub fn subscribe_for(
    client: &mut Client,
    interval: f64,
    lifetime: u32,
) -> CreateSubscriptionResponse {
    let request = CreateSubscriptionRequest {
        request_header: header(),
        requested_publishing_interval: interval,
        requested_lifetime_count: lifetime,
        requested_max_keep_alive_count: KEEP_ALIVE.min(lifetime / 3),
        max_notifications_per_publish: 0,
        publishing_enabled: true,
        priority: 0,
    };
    client.call(request).unwrap()
}

pub fn item(node: NodeId, handle: u32, sampling_interval: f64) -> MonitoredItemCreateRequest {
    MonitoredItemCreateRequest {
        item_to_monitor: read_value(node, AttributeId::Value, ""),
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle: handle,
            sampling_interval,
            queue_size: 100,
            discard_oldest: true,
            ..Default::default()
        },
    }
}

pub fn watch(
    client: &mut Client,
    subscription_id: u32,
    items: Vec<MonitoredItemCreateRequest>,
) -> Vec<MonitoredItemCreateResult> {
    let request = CreateMonitoredItemsRequest {
        request_header: header(),
        subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(items),
    };
    client.call(request).unwrap().results.unwrap()
}

pub fn publish(acknowledge: Option<(u32, u32)>) -> PublishRequest {
    let acknowledgement = |(subscription_id, sequence_number)| SubscriptionAcknowledgement {
        subscription_id,
        sequence_number,
    };
    PublishRequest {
        request_header: header(),
        subscription_acknowledgements: acknowledge.map(|one| vec![acknowledgement(one)]),
    }
}

pub fn values(message: &NotificationMessage) -> Vec<(u32, Variant)> {
    let data = message.notification_data.iter().flatten();
    let items = data.flat_map(|data| {
        let change = data.inner_as::<DataChangeNotification>();
        change
            .into_iter()
            .flat_map(|change| change.monitored_items.iter().flatten())
    });
    items
        .map(|item| (item.client_handle, item.value.value.clone().unwrap()))
        .collect()
}

#[test]
fn a_counter_is_told_each_time_it_counts() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 50.0);
    assert_eq!(subscription.revised_publishing_interval, 50.0);
    let id = subscription.subscription_id;
    let results = watch(&mut client, id, vec![item(bench(COUNTER), 7, 0.0)]);
    assert_eq!(results[0].status_code, StatusCode::Good);
    assert_eq!(results[0].revised_sampling_interval, 100.0);
    let (mut seen, mut last) = (Vec::new(), None);
    let mut sequence = 1;
    while seen.len() < 8 {
        let response: PublishResponse = client.call(publish(last)).unwrap();
        assert_eq!(response.subscription_id, id);
        if last.is_some() {
            assert_eq!(response.results, Some(vec![StatusCode::Good]));
        }
        let message = response.notification_message;
        assert_eq!(message.sequence_number, sequence);
        assert_eq!(response.available_sequence_numbers, Some(vec![sequence]));
        last = Some((id, sequence));
        sequence += 1;
        for (handle, value) in values(&message) {
            assert_eq!(handle, 7);
            let Variant::UInt32(value) = value else {
                panic!()
            };
            seen.push(value);
        }
    }
    let expected: Vec<u32> = (seen[0]..).take(seen.len()).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_client_that_was_silent_is_told_what_there_was_at_once_and_then_in_time() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 50.0).subscription_id;
    watch(&mut client, id, vec![item(bench(COUNTER), 7, 0.0)]);
    std::thread::sleep(Duration::from_millis(700));
    let asked = Instant::now();
    let mut seen = Vec::new();
    for told_by_then in [6, 7, 8] {
        let response: PublishResponse = client.call(publish(None)).unwrap();
        for (_, value) in values(&response.notification_message) {
            let Variant::UInt32(value) = value else {
                panic!()
            };
            seen.push(value);
        }
        assert!(seen.len() >= told_by_then, "{seen:?}");
    }
    // Nobody looks for seconds at what nobody asks for; now somebody does.
    assert!(asked.elapsed() < Duration::from_secs(3));
    let expected: Vec<u32> = (seen[0]..).take(seen.len()).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_thousand_written_values_are_told_as_they_were_written() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 50.0).subscription_id;
    let items = (0..1000).map(|n| item(bench(1000 + n), n, 50.0)).collect();
    let results = watch(&mut client, id, items);
    assert!(results.iter().all(|result| result.status_code.is_good()));
    let first: PublishResponse = client.call(publish(None)).unwrap();
    let told = values(&first.notification_message);
    assert_eq!(told.len(), 1000);
    assert_eq!(told[42], (42, Variant::Double(1042.0)));
    assert_eq!(told[999], (999, Variant::Int32(1999)));
    assert_eq!(server.counted().items, 1000);
    let gone = DeleteMonitoredItemsRequest {
        request_header: header(),
        subscription_id: id,
        monitored_item_ids: Some(results.iter().map(|r| r.monitored_item_id).collect()),
    };
    client.call(gone).unwrap();
    assert_eq!(server.counted().items, 0);
}

#[test]
fn publishing_without_a_subscription_or_too_often_is_refused() {
    let server = start(Config {
        limits: Limits {
            publish_requests: 3,
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut client = Client::plain(server.url());
    let refused = client.call::<PublishRequest>(publish(None)).unwrap_err();
    assert_eq!(refused, StatusCode::BadNoSubscription);
    let id = subscribe(&mut client, 10_000.0).subscription_id;
    let ids: Vec<_> = (0..5).map(|_| client.send(publish(None))).collect();
    for id in &ids[..2] {
        let refused = client.answer(*id).unwrap_err();
        assert_eq!(refused, StatusCode::BadTooManyPublishRequests);
    }
    let delete = DeleteSubscriptionsRequest {
        request_header: header(),
        subscription_ids: Some(vec![id, 99]),
    };
    let results = client.call(delete).unwrap().results.unwrap();
    assert_eq!(
        results,
        [StatusCode::Good, StatusCode::BadSubscriptionIdInvalid]
    );
    for id in &ids[2..] {
        let refused = client.answer(*id).unwrap_err();
        assert_eq!(refused, StatusCode::BadNoSubscription);
    }
}

#[test]
fn a_publish_request_that_waited_too_long_or_was_cancelled_says_so() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    // The next publishing is far away, or it would answer both.
    subscribe(&mut client, 2_000.0);
    let mut hurried = publish(None);
    hurried.request_header.timeout_hint = 10;
    let hurried = client.send(hurried);
    let patient = client.send(publish(None));
    assert_eq!(client.answer(hurried).unwrap_err(), StatusCode::BadTimeout);
    client.answer(patient).unwrap();
    let waiting = client.send(publish(None));
    let cancel = CancelRequest {
        request_header: header(),
        request_handle: waiting.number(),
    };
    assert_eq!(client.call(cancel).unwrap().cancel_count, 1);
    let cancelled = client.answer(waiting).unwrap_err();
    assert_eq!(cancelled, StatusCode::BadRequestCancelledByClient);
}

#[test]
fn closing_a_session_answers_what_waits_and_takes_its_subscriptions_along() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    subscribe(&mut client, 10_000.0);
    let waiting = client.send(publish(None));
    let close = CloseSessionRequest {
        request_header: header(),
        delete_subscriptions: true,
    };
    client.call(close).unwrap();
    let refused = client.answer(waiting).unwrap_err();
    assert_eq!(refused, StatusCode::BadSessionClosed);
    assert_eq!(server.counted().subscriptions, 0);
}

#[test]
fn a_lost_message_is_had_again_until_it_is_acknowledged() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 50.0).subscription_id;
    watch(&mut client, id, vec![item(bench(COUNTER), 7, 100.0)]);
    let response: PublishResponse = client.call(publish(None)).unwrap();
    let again = |number| RepublishRequest {
        request_header: header(),
        subscription_id: id,
        retransmit_sequence_number: number,
    };
    let republished = client.call(again(1)).unwrap().notification_message;
    assert_eq!(republished, response.notification_message);
    client
        .call::<PublishRequest>(publish(Some((id, 1))))
        .unwrap();
    let refused = client.call(again(1)).unwrap_err();
    assert_eq!(refused, StatusCode::BadMessageNotAvailable);
    let response: PublishResponse = client.call(publish(Some((id, 1)))).unwrap();
    let unknown = StatusCode::BadSequenceNumberUnknown;
    assert_eq!(response.results, Some(vec![unknown]));
}

#[test]
fn a_subscription_goes_over_to_another_session_and_the_old_one_is_told() {
    let server = start(Config {
        transfer: Transfer::Anyone,
        ..Config::default()
    });
    let mut old = Client::plain(server.url());
    let id = subscribe(&mut old, 50.0).subscription_id;
    watch(&mut old, id, vec![item(bench(1000), 7, 50.0)]);
    old.call::<PublishRequest>(publish(None)).unwrap();
    let waiting = old.send(publish(None));
    let mut new = Client::plain(server.url());
    let transfer = TransferSubscriptionsRequest {
        request_header: header(),
        subscription_ids: Some(vec![id, 99]),
        send_initial_values: true,
    };
    let results = new.call(transfer).unwrap().results.unwrap();
    assert_eq!(results[0].status_code, StatusCode::Good);
    assert_eq!(results[0].available_sequence_numbers, Some(vec![1]));
    assert_eq!(results[1].status_code, StatusCode::BadSubscriptionIdInvalid);

    let response = old.answer(waiting).unwrap();
    let response = PublishResponse::try_from(response).unwrap();
    let data = response.notification_message.notification_data.unwrap();
    let change = data[0].inner_as::<StatusChangeNotification>().unwrap();
    assert_eq!(change.status, StatusCode::GoodSubscriptionTransferred);

    let response: PublishResponse = new.call(publish(None)).unwrap();
    let told = values(&response.notification_message);
    assert_eq!(told, [(7, Variant::Double(1000.0))]);
    let refused = old.call::<PublishRequest>(publish(None)).unwrap_err();
    assert_eq!(refused, StatusCode::BadNoSubscription);
}

#[test]
fn a_subscription_outlives_its_connection() {
    let server = start(Config::default());
    let mut first = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut session = first.log_in(&Credentials::Anonymous).unwrap();
    let id = subscribe(&mut first, 50.0).subscription_id;
    watch(&mut first, id, vec![item(bench(COUNTER), 7, 100.0)]);
    first.send(publish(None));
    drop(first);
    std::thread::sleep(Duration::from_millis(300));
    let mut second = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    session.move_to(second.channel()).unwrap();
    second
        .activate(&mut session, &Credentials::Anonymous)
        .unwrap();
    let response: PublishResponse = second.call(publish(None)).unwrap();
    assert_eq!(response.subscription_id, id);
    assert!(!values(&response.notification_message).is_empty());
}

#[test]
fn a_subscription_that_nobody_asks_dies_and_its_session_is_told() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let request = CreateSubscriptionRequest {
        request_header: header(),
        requested_publishing_interval: 20.0,
        requested_lifetime_count: 0,
        requested_max_keep_alive_count: 2,
        max_notifications_per_publish: 0,
        publishing_enabled: true,
        priority: 0,
    };
    let created = client.call(request).unwrap();
    assert_eq!(created.revised_lifetime_count, 6);
    let until = Instant::now() + PATIENCE;
    while server.counted().subscriptions > 0 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
    let response: PublishResponse = client.call(publish(None)).unwrap();
    let data = response.notification_message.notification_data.unwrap();
    let change = data[0].inner_as::<StatusChangeNotification>().unwrap();
    assert_eq!(change.status, StatusCode::BadTimeout);
}

#[test]
fn items_that_cannot_be_are_refused_one_by_one() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 1000.0).subscription_id;
    let mut attribute = item(bench(1000), 1, 0.0);
    attribute.item_to_monitor.attribute_id = AttributeId::Executable as u32;
    let mut events = item(ObjectId::Server.into(), 1, 0.0);
    events.item_to_monitor.attribute_id = AttributeId::EventNotifier as u32;
    let results = watch(
        &mut client,
        id,
        vec![
            item(bench(77), 1, 0.0),
            attribute,
            item(bench(1), 1, 0.0),
            events,
            item(bench(1000), 1, 0.0),
        ],
    );
    let statuses: Vec<_> = results.iter().map(|result| result.status_code).collect();
    assert_eq!(
        statuses,
        [
            StatusCode::BadNodeIdUnknown,
            StatusCode::BadAttributeIdInvalid,
            StatusCode::BadAttributeIdInvalid,
            // Part 4, 7.22.3: no fields were asked for.
            StatusCode::BadEventFilterInvalid,
            StatusCode::Good,
        ]
    );
    let mode = SetPublishingModeRequest {
        request_header: header(),
        publishing_enabled: false,
        subscription_ids: Some(vec![id, 99]),
    };
    let results = client.call(mode).unwrap().results.unwrap();
    assert_eq!(
        results,
        [StatusCode::Good, StatusCode::BadSubscriptionIdInvalid]
    );
}

#[test]
fn the_server_lists_the_items_of_a_subscription() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 1000.0).subscription_id;
    let items = [5, 6].map(|handle| item(bench(1000), handle, 0.0));
    let results = watch(&mut client, id, items.into());
    let mut ask = |id: u32| {
        let request = CallRequest {
            request_header: header(),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: ObjectId::Server.into(),
                method_id: MethodId::Server_GetMonitoredItems.into(),
                input_arguments: Some(vec![Variant::UInt32(id)]),
            }]),
        };
        client.call(request).unwrap().results.unwrap().remove(0)
    };
    let servers: Vec<u32> = results.iter().map(|r| r.monitored_item_id).collect();
    let expected = vec![servers.into(), vec![5u32, 6].into()];
    assert_eq!(ask(id).output_arguments, Some(expected));
    assert_eq!(ask(99).status_code, StatusCode::BadSubscriptionIdInvalid);
}

#[test]
fn a_subscription_is_left_alone_no_longer_than_the_server_likes_whatever_is_asked_for() {
    let server = start(Config {
        limits: Limits {
            subscription_lifetime: Duration::from_secs(2),
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut client = Client::plain(server.url());
    let made = subscribe_for(&mut client, 100.0, u32::MAX);
    assert_eq!(made.revised_lifetime_count, 20);
    assert!(made.revised_max_keep_alive_count <= 6, "{made:?}");
    let changed = client.call(ModifySubscriptionRequest {
        request_header: header(),
        subscription_id: made.subscription_id,
        requested_publishing_interval: 1e9,
        requested_lifetime_count: u32::MAX,
        requested_max_keep_alive_count: u32::MAX,
        max_notifications_per_publish: 0,
        priority: 0,
    });
    // Three intervals are the least there can be.
    let changed = changed.unwrap();
    assert_eq!(changed.revised_lifetime_count, 3);
    assert_eq!(changed.revised_max_keep_alive_count, 1);
    subscribe_for(&mut client, 100.0, u32::MAX);
    client
        .call(CloseSessionRequest {
            request_header: header(),
            delete_subscriptions: false,
        })
        .unwrap();
    until(
        &server,
        "the end of the one with short intervals",
        |server| server.counted().subscriptions == 1,
    );
}
