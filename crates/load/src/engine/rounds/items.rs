//! Rounds of monitored items: subscriptions and items are created, items modified, and all deleted.

use plan::Items;
use wire::types::{
    AttributeId, CreateMonitoredItemsRequest, CreateSubscriptionRequest,
    DeleteMonitoredItemsRequest, DeleteSubscriptionsRequest, ModifyMonitoredItemsRequest,
    MonitoredItemCreateRequest, MonitoredItemModifyRequest, MonitoringMode, MonitoringParameters,
    NodeId, ReadValueId, StatusCode, TimestampsToReturn,
};

use super::client::Client;
use super::round::Round;
use crate::transport::one_each;

/// Keep-alives that a subscription may miss: rounds send no Publish requests.
const LIFETIME: u32 = 10_000;

/// One round. Gives how many items were there.
pub async fn round(
    client: &mut Client<'_>,
    plan: &Items,
    round: &mut Round<'_>,
) -> Result<u32, StatusCode> {
    client.has_session().await?;
    let mut subscriptions = Vec::new();
    let made = with_subscriptions(client, plan, round, &mut subscriptions).await;
    // Whatever became of the items: nothing is left behind.
    if !subscriptions.is_empty() {
        let count = subscriptions.len();
        round
            .request("delete subscriptions", async {
                let request = DeleteSubscriptionsRequest {
                    subscription_ids: Some(subscriptions),
                    ..Default::default()
                };
                let all = one_each(client.call(request).await?.results, count)?;
                Ok(((), all.into_iter().collect()))
            })
            .await?;
    }
    made
}

async fn with_subscriptions(
    client: &mut Client<'_>,
    plan: &Items,
    round: &mut Round<'_>,
    subscriptions: &mut Vec<u32>,
) -> Result<u32, StatusCode> {
    for _ in 0..plan.subscriptions {
        let request = CreateSubscriptionRequest {
            requested_publishing_interval: plan.publishing.as_secs_f64() * 1e3,
            requested_lifetime_count: LIFETIME,
            requested_max_keep_alive_count: LIFETIME / 10,
            publishing_enabled: false,
            ..Default::default()
        };
        let id = round.step("create subscriptions", async {
            let response = client.call(request).await?;
            Ok(response.subscription_id)
        });
        subscriptions.push(id.await?);
    }
    let mut there = 0;
    for (place, &id) in subscriptions.iter().enumerate() {
        there += with_items(client, plan, round, (place, id)).await?;
    }
    Ok(there)
}

async fn with_items(
    client: &mut Client<'_>,
    plan: &Items,
    round: &mut Round<'_>,
    (place, subscription_id): (usize, u32),
) -> Result<u32, StatusCode> {
    let prepared = client.prepared;
    let (nodes, per_call) = (prepared.nodes(), prepared.per_call());
    let count = plan.items.map_or(nodes.len(), |items| items as usize);
    let wanted: Vec<_> = (0..count)
        // A subscription goes on where the one before it ended.
        .filter_map(|n| Some((n, nodes.get((place * count + n) % nodes.len().max(1))?)))
        .collect();
    let mut ids = Vec::with_capacity(count);
    for some in wanted.chunks(per_call) {
        let items = some.iter().map(|(n, node)| item(plan, *n, node));
        let request = CreateMonitoredItemsRequest {
            subscription_id,
            timestamps_to_return: TimestampsToReturn::Source,
            items_to_create: Some(items.collect()),
            ..Default::default()
        };
        let made = round.request("create items", async {
            let all = one_each(client.call(request).await?.results, some.len())?;
            let results = all.iter().map(|it| it.status_code).collect();
            let good = all.into_iter().filter(|it| !it.status_code.is_bad());
            let made: Vec<_> = good.map(|it| it.monitored_item_id).collect();
            Ok((made, results))
        });
        ids.extend(made.await?);
    }
    let there = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    for some in ids.chunks(per_call) {
        let items = some.iter().enumerate().map(|(n, id)| {
            let mut requested_parameters = parameters(plan, n);
            // Something else than before, of which no server is known to mind.
            requested_parameters.queue_size = plan.queue + 1;
            MonitoredItemModifyRequest {
                monitored_item_id: *id,
                requested_parameters,
            }
        });
        let request = ModifyMonitoredItemsRequest {
            subscription_id,
            timestamps_to_return: TimestampsToReturn::Source,
            items_to_modify: Some(items.collect()),
            ..Default::default()
        };
        round
            .request("modify items", async {
                let all = one_each(client.call(request).await?.results, some.len())?;
                Ok(((), all.iter().map(|it| it.status_code).collect()))
            })
            .await?;
    }
    for some in ids.chunks(per_call) {
        let request = DeleteMonitoredItemsRequest {
            subscription_id,
            monitored_item_ids: Some(some.to_vec()),
            ..Default::default()
        };
        round
            .request("delete items", async {
                let all = one_each(client.call(request).await?.results, some.len())?;
                Ok(((), all.into_iter().collect()))
            })
            .await?;
    }
    Ok(there)
}

fn item(plan: &Items, n: usize, node: &NodeId) -> MonitoredItemCreateRequest {
    MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId {
            node_id: node.clone(),
            attribute_id: AttributeId::Value as u32,
            ..Default::default()
        },
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: parameters(plan, n),
    }
}

fn parameters(plan: &Items, n: usize) -> MonitoringParameters {
    MonitoringParameters {
        client_handle: u32::try_from(n).unwrap_or(u32::MAX),
        sampling_interval: plan.sampling.on_the_wire(),
        queue_size: plan.queue,
        discard_oldest: true,
        ..Default::default()
    }
}
