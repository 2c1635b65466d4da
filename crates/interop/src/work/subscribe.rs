//! One subscription: the counter of 100 ms counts up.

use wire::types::{
    CreateMonitoredItemsRequest, CreateSubscriptionRequest, DataChangeNotification,
    DeleteSubscriptionsRequest, MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters,
    PublishRequest, PublishResponse, ReadValueId, SubscriptionAcknowledgement, TimestampsToReturn,
    Variant,
};

use super::{Target, WorkError, during, good, only, results};

const COUNTER: u32 = 3030;
/// A handle that no server makes up.
const HANDLE: u32 = 0x5eed;
/// Enough to see it count.
const VALUES: usize = 3;
/// With a publishing interval of 100 ms and a keep-alive each second, it has long counted by then.
const RESPONSES: usize = 30;

pub(super) fn count(target: &mut Target) -> Result<(), WorkError> {
    let id = create(target)?;
    let values = monitor(target, id).and_then(|()| publish(target, id));
    let deleted = delete(target, id);
    let values = values?;
    deleted?;
    match values.is_sorted_by(|a, b| a < b) {
        true => Ok(()),
        false => Err(WorkError::value(
            "the counter",
            format!("{values:?}"),
            "each value greater than the one before",
        )),
    }
}

fn create(target: &mut Target) -> Result<u32, WorkError> {
    let request = CreateSubscriptionRequest {
        request_header: Default::default(),
        requested_publishing_interval: 100.0,
        // Part 4, 5.13.2.2: at least three times the keep-alive count
        requested_lifetime_count: 300,
        requested_max_keep_alive_count: 10,
        max_notifications_per_publish: 0,
        publishing_enabled: true,
        priority: 0,
    };
    let call = target.session.call(request);
    Ok(call.map_err(during("CreateSubscription"))?.subscription_id)
}

fn monitor(target: &mut Target, subscription_id: u32) -> Result<(), WorkError> {
    let request = CreateMonitoredItemsRequest {
        request_header: Default::default(),
        subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(vec![MonitoredItemCreateRequest {
            item_to_monitor: ReadValueId::from(target.node(COUNTER)?),
            monitoring_mode: MonitoringMode::Reporting,
            requested_parameters: MonitoringParameters {
                client_handle: HANDLE,
                sampling_interval: 100.0,
                queue_size: 10,
                discard_oldest: true,
                ..Default::default()
            },
        }]),
    };
    let call = target.session.call(request);
    let response = call.map_err(during("CreateMonitoredItems"))?;
    let result = only("CreateMonitoredItems", response.results)?;
    good("the monitored item", result.status_code)
}

/// Values until there are enough, each message acknowledged with the next request.
fn publish(target: &mut Target, subscription_id: u32) -> Result<Vec<u32>, WorkError> {
    let mut values = Vec::new();
    let mut acknowledged: Option<u32> = None;
    for _ in 0..RESPONSES {
        let acknowledge = |sequence_number| SubscriptionAcknowledgement {
            subscription_id,
            sequence_number,
        };
        let request = PublishRequest {
            request_header: Default::default(),
            subscription_acknowledgements: acknowledged.map(|n| vec![acknowledge(n)]),
        };
        let response = target.session.call(request).map_err(during("Publish"))?;
        // Part 4, 5.13.5.2: one result for each acknowledgement. python-opcua and gopcua give
        // none, and have done what was asked all the same.
        for status in response.results.iter().flatten() {
            good("an acknowledgement", *status)?;
        }
        let new = counts(&response)?;
        // Part 4, 5.13.1.1: a keep-alive has the next number and is not acknowledged.
        acknowledged = (!new.is_empty()).then_some(response.notification_message.sequence_number);
        values.extend(new);
        if values.len() >= VALUES {
            return Ok(values);
        }
    }
    Err(WorkError::value(
        "the number of values",
        format!("{} after {RESPONSES} responses", values.len()),
        format!("{VALUES} or more"),
    ))
}

fn counts(response: &PublishResponse) -> Result<Vec<u32>, WorkError> {
    let message = &response.notification_message;
    let changes = message.notification_data.iter().flatten();
    let changes = changes.filter_map(|data| data.inner_as::<DataChangeNotification>());
    let items = changes.flat_map(|change| change.monitored_items.iter().flatten());
    items
        .map(|item| {
            let value = &item.value;
            good("a notification", value.status.unwrap_or_default())?;
            match (item.client_handle, &value.value) {
                (HANDLE, Some(Variant::UInt32(count))) => Ok(*count),
                (handle, other) => Err(WorkError::value(
                    format!("the value for handle {handle}"),
                    format!("{other:?}"),
                    format!("a UInt32 for handle {HANDLE}"),
                )),
            }
        })
        .collect()
}

fn delete(target: &mut Target, id: u32) -> Result<(), WorkError> {
    let request = DeleteSubscriptionsRequest {
        request_header: Default::default(),
        subscription_ids: Some(vec![id]),
    };
    let call = target.session.call(request);
    let response = call.map_err(during("DeleteSubscriptions"))?;
    let statuses = results("DeleteSubscriptions", response.results, 1)?;
    let mut each = statuses.into_iter();
    each.try_for_each(|status| good("the deletion of the subscription", status))
}
