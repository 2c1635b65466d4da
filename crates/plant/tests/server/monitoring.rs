//! The MonitoredItem and Subscription services (Part 4, 5.13 and 5.14), clause by clause.

use std::time::{Duration, Instant};

use plant::Config;
use wire::types::{
    AttributeId, CreateSubscriptionRequest, DataChangeFilter, DataChangeTrigger, DeadbandType,
    ExtensionObject, ModifyMonitoredItemsRequest, ModifySubscriptionRequest,
    MonitoredItemCreateRequest, MonitoredItemModifyRequest, MonitoringMode, MonitoringParameters,
    PublishRequest, SetMonitoringModeRequest, SetTriggeringRequest, StatusCode,
    SubscriptionAcknowledgement, TimestampsToReturn, Variant,
};

use crate::client::{Client, PATIENCE, read_value};
use crate::diagnostics::subscriptions;
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::{bench, start};

fn with_priority(client: &mut Client, priority: u8) -> u32 {
    let request = CreateSubscriptionRequest {
        request_header: header(),
        requested_publishing_interval: 20.0,
        requested_lifetime_count: 10_000,
        requested_max_keep_alive_count: 1_000,
        max_notifications_per_publish: 1,
        publishing_enabled: true,
        priority,
    };
    client.call(request).unwrap().subscription_id
}

// Part 4, 5.14.2.2: the higher number is served first when several wait; those of one priority
// take turns.
#[test]
fn subscriptions_that_wait_are_served_by_priority_and_then_in_turns() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let [low, high, other] = [1, 200, 1].map(|priority| with_priority(&mut client, priority));
    for id in [low, high, other] {
        let items = [1000, 1001].map(|number| item(bench(number), number, 20.0));
        watch(&mut client, id, items.into());
    }
    std::thread::sleep(Duration::from_millis(200));
    // Each has looked for a Publish request, and found none.
    let until = Instant::now() + PATIENCE;
    while subscriptions(&mut client)
        .iter()
        .any(|it| it.late_publish_request_count == 0)
    {
        assert!(Instant::now() < until, "they do not wait");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut served = Vec::new();
    for _ in 0..6 {
        let response = client.call::<PublishRequest>(publish(None)).unwrap();
        assert_eq!(values(&response.notification_message).len(), 1);
        served.push((response.subscription_id, response.more_notifications));
    }
    assert_eq!(served[..2], [(high, true), (high, false)]);
    let (first, second) = match served[2].0 == low {
        true => (low, other),
        false => (other, low),
    };
    let turns = [
        (first, true),
        (second, true),
        (first, false),
        (second, false),
    ];
    assert_eq!(served[2..], turns);
}

// Part 4, 5.13.1.2: -1 stands for the publishing interval, 0 for as fast as can be; what is
// granted is told.
#[test]
fn sampling_intervals_and_queues_are_revised_to_what_is_done() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 250.0).subscription_id;
    let asked = |number: u32, sampling: f64, queue: u32| {
        let mut item = item(bench(number), number, sampling);
        item.requested_parameters.queue_size = queue;
        item
    };
    let results = watch(
        &mut client,
        id,
        vec![
            asked(1000, -1.0, 0),
            asked(1000, 0.0, 1),
            asked(3030, 0.0, 5),
            asked(1000, 0.25, 4_000_000_000),
            asked(1000, 37.5, 7),
        ],
    );
    let revised: Vec<_> = results
        .iter()
        .map(|result| (result.revised_sampling_interval, result.revised_queue_size))
        .collect();
    let expected = [(250.0, 1), (250.0, 1), (100.0, 5), (1.0, 10_000), (37.5, 7)];
    assert_eq!(revised, expected);
    let modify = |id: u32, sampling: f64, queue_size: u32| MonitoredItemModifyRequest {
        monitored_item_id: id,
        requested_parameters: MonitoringParameters {
            sampling_interval: sampling,
            queue_size,
            ..Default::default()
        },
    };
    let response = client.call(ModifyMonitoredItemsRequest {
        request_header: header(),
        subscription_id: id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_modify: Some(vec![
            modify(results[0].monitored_item_id, 50.0, 3),
            modify(99, 50.0, 3),
        ]),
    });
    let changed = response.unwrap().results.unwrap();
    let first = &changed[0];
    assert_eq!(
        (first.revised_sampling_interval, first.revised_queue_size),
        (50.0, 3)
    );
    assert_eq!(
        changed[1].status_code,
        StatusCode::BadMonitoredItemIdInvalid
    );
}

// Part 4, 5.14.2.2 and 5.14.3: a lifetime of at least three keep-alives; 0 leaves it to the server.
#[test]
fn a_subscription_is_granted_what_makes_sense() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 100.0).subscription_id;
    let mut modify = |interval: f64, lifetime: u32, keep_alive: u32| {
        let response = client.call(ModifySubscriptionRequest {
            request_header: header(),
            subscription_id: id,
            requested_publishing_interval: interval,
            requested_lifetime_count: lifetime,
            requested_max_keep_alive_count: keep_alive,
            max_notifications_per_publish: 0,
            priority: 0,
        });
        let granted = response.unwrap();
        (
            granted.revised_publishing_interval,
            granted.revised_lifetime_count,
            granted.revised_max_keep_alive_count,
        )
    };
    assert_eq!(modify(0.0, 0, 0), (1.0, 30, 10));
    assert_eq!(modify(-5.0, 10, 9), (1.0, 27, 9));
    assert_eq!(modify(f64::NAN, 100, 1), (1.0, 100, 1));
    // Nobody is waited for without end: for an hour, or three intervals.
    assert_eq!(modify(1000.0, u32::MAX, u32::MAX), (1000.0, 3600, 1200));
    assert_eq!(modify(1e12, u32::MAX, u32::MAX), (3_600_000.0, 3, 1));
}

// Part 4, 5.13.5: links are added and removed one by one; what is not there is named.
#[test]
fn triggering_links_are_set_and_taken_away() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 30.0).subscription_id;
    let results = watch(
        &mut client,
        id,
        vec![item(bench(3030), 1, 30.0), item(bench(1000), 2, 30.0)],
    );
    let [loud, quiet] = [0, 1].map(|at| results[at].monitored_item_id);
    client
        .call(SetMonitoringModeRequest {
            request_header: header(),
            subscription_id: id,
            monitoring_mode: MonitoringMode::Sampling,
            monitored_item_ids: Some(vec![quiet]),
        })
        .unwrap();
    let mut set = |trigger: u32, add: Vec<u32>, remove: Vec<u32>| {
        let response = client.call(SetTriggeringRequest {
            request_header: header(),
            subscription_id: id,
            triggering_item_id: trigger,
            links_to_add: Some(add),
            links_to_remove: Some(remove),
        });
        response.map(|response| (response.add_results, response.remove_results))
    };
    let unknown = StatusCode::BadMonitoredItemIdInvalid;
    let good = StatusCode::Good;
    assert_eq!(set(loud, vec![], vec![]), Err(StatusCode::BadNothingToDo));
    assert_eq!(set(99, vec![quiet], vec![]), Err(unknown));
    let added = set(loud, vec![quiet, 99], vec![quiet]);
    assert_eq!(added, Ok((Some(vec![good, unknown]), Some(vec![unknown]))));
    // What the quiet one had seen before goes with the next value of the other.
    let mut seen = Vec::new();
    while !seen.contains(&2) {
        let response = client.call::<PublishRequest>(publish(None)).unwrap();
        let values = values(&response.notification_message);
        let handles: Vec<u32> = values.iter().map(|(handle, _)| *handle).collect();
        assert!(handles.contains(&1) || handles.is_empty(), "{handles:?}");
        seen.extend(handles);
    }
    let mut set = |remove: Vec<u32>| {
        let response = client.call(SetTriggeringRequest {
            request_header: header(),
            subscription_id: id,
            triggering_item_id: loud,
            links_to_add: None,
            links_to_remove: Some(remove),
        });
        response.unwrap().remove_results
    };
    assert_eq!(set(vec![quiet]), Some(vec![good]));
    assert_eq!(set(vec![quiet]), Some(vec![unknown]));
}

// Part 4, 7.22.2 and Part 8, 7.2: a percent deadband needs a range, a deadband a number.
#[test]
fn filters_that_a_variable_cannot_have_are_refused() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 1000.0).subscription_id;
    let filtered = |number: u32, kind: DeadbandType, value: f64| -> MonitoredItemCreateRequest {
        let mut item = item(bench(number), 1, 1000.0);
        item.requested_parameters.filter = ExtensionObject::from_message(DataChangeFilter {
            trigger: DataChangeTrigger::StatusValue,
            deadband_type: kind as u32,
            deadband_value: value,
        });
        item
    };
    let mut browse_name = filtered(1000, DeadbandType::Absolute, 1.0);
    browse_name.item_to_monitor.attribute_id = AttributeId::BrowseName as u32;
    let results = watch(
        &mut client,
        id,
        vec![
            filtered(1000, DeadbandType::Absolute, 1.0),
            filtered(1000, DeadbandType::Percent, 10.0),
            filtered(1000, DeadbandType::Absolute, -1.0),
            browse_name,
        ],
    );
    let statuses: Vec<_> = results.iter().map(|result| result.status_code).collect();
    assert_eq!(
        statuses,
        [
            StatusCode::Good,
            StatusCode::BadMonitoredItemFilterUnsupported,
            StatusCode::BadDeadbandFilterInvalid,
            StatusCode::BadFilterNotAllowed,
        ]
    );
}

// Part 4, 5.13.2.2: an item may watch a part of an array.
#[test]
fn a_part_of_an_array_is_watched_by_its_range() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 30.0).subscription_id;
    let part = |range: &str, handle: u32| {
        let mut part = item(bench(3010), handle, 30.0);
        part.item_to_monitor = read_value(bench(3010), AttributeId::Value, range);
        part
    };
    let results = watch(&mut client, id, vec![part("2:4", 1), part("50:60", 2)]);
    assert!(results.iter().all(|result| result.status_code.is_good()));
    let response = client.call::<PublishRequest>(publish(None)).unwrap();
    let data = response.notification_message.notification_data.unwrap();
    let change: &wire::types::DataChangeNotification = data[0].inner_as().unwrap();
    let items = change.monitored_items.clone().unwrap();
    assert_eq!(items[0].value.value, Some(Variant::from(vec![2u8, 3, 4])));
    // Nothing is there, which is told as a status and not as an error of the call.
    let none = Some(StatusCode::BadIndexRangeNoData);
    assert_eq!(
        (items[1].value.value.clone(), items[1].value.status),
        (None, none)
    );
}

// Part 4, 5.14.5.2: a result for each acknowledgement, in their order.
#[test]
fn each_acknowledgement_has_a_result_of_its_own() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 30.0).subscription_id;
    watch(&mut client, id, vec![item(bench(3030), 1, 30.0)]);
    client.call::<PublishRequest>(publish(None)).unwrap();
    let acknowledge = |(subscription_id, sequence_number)| SubscriptionAcknowledgement {
        subscription_id,
        sequence_number,
    };
    let all = [(id, 1), (99, 1), (id, 77), (id, 1)].map(acknowledge);
    let response = client.call(PublishRequest {
        request_header: header(),
        subscription_acknowledgements: Some(all.into()),
    });
    let unknown = StatusCode::BadSequenceNumberUnknown;
    assert_eq!(
        response.unwrap().results,
        Some(vec![
            StatusCode::Good,
            StatusCode::BadSubscriptionIdInvalid,
            unknown,
            unknown
        ])
    );
}
