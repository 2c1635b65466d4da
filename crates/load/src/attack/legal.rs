//! Requests that the protocol allows and that cost a server much.

use std::collections::{HashSet, VecDeque};

use wire::types::{
    AttributeId, BrowseDescription, BrowseDirection, BrowseRequest, BrowseResultMask,
    CreateMonitoredItemsRequest, CreateSubscriptionRequest, DateTime, DeleteSubscriptionsRequest,
    ExtensionObject, HistoryReadRequest, HistoryReadValueId, MonitoredItemCreateRequest,
    MonitoringMode, MonitoringParameters, NodeId, ObjectId, ReadRawModifiedDetails, ReadValueId,
    ReferenceTypeId, StatusCode, TimestampsToReturn,
};

use crate::access::Session;
use crate::transport::CallError;

/// The first operation that went wrong, if one did.
pub fn first_bad(mut operations: impl Iterator<Item = StatusCode>) -> StatusCode {
    operations
        .find(StatusCode::is_bad)
        .unwrap_or(StatusCode::Good)
}

/// Browses all hierarchical references of these nodes.
pub fn browse(nodes: Vec<NodeId>) -> BrowseRequest {
    let what = |node_id| BrowseDescription {
        node_id,
        browse_direction: BrowseDirection::Forward,
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: BrowseResultMask::All as u32,
    };
    BrowseRequest {
        request_header: Default::default(),
        view: Default::default(),
        requested_max_references_per_node: 0,
        nodes_to_browse: Some(nodes.into_iter().map(what).collect()),
    }
}

/// Browses everything there is, so many nodes in a request, as long as it may go on.
pub fn everything(
    session: &mut Session,
    at_once: usize,
    goes_on: impl Fn() -> bool,
) -> Result<StatusCode, CallError> {
    let root = NodeId::from(ObjectId::RootFolder);
    let mut seen = HashSet::from([root.clone()]);
    let mut next = VecDeque::from([root]);
    while !next.is_empty() && goes_on() {
        let nodes = next.drain(..next.len().min(at_once)).collect();
        let results = session.call(browse(nodes))?.results;
        let found = results.into_iter().flatten();
        for reference in found.flat_map(|result| result.references.unwrap_or_default()) {
            let node = reference.node_id.node_id;
            if seen.insert(node.clone()) {
                next.push_back(node);
            }
        }
    }
    Ok(StatusCode::Good)
}

/// Asks for the year that ends now of these histories.
pub fn year(nodes: impl IntoIterator<Item = NodeId>) -> HistoryReadRequest {
    const YEAR: i64 = 365 * 24 * 3_600 * 10_000_000;
    let now = DateTime::now().ticks();
    let nodes = nodes.into_iter().map(|node_id| HistoryReadValueId {
        node_id,
        ..Default::default()
    });
    HistoryReadRequest {
        request_header: Default::default(),
        history_read_details: ExtensionObject::from_message(ReadRawModifiedDetails {
            is_read_modified: false,
            start_time: DateTime::from(now - YEAR),
            end_time: DateTime::from(now),
            num_values_per_node: 0,
            return_bounds: false,
        }),
        timestamps_to_return: TimestampsToReturn::Both,
        release_continuation_points: false,
        nodes_to_read: Some(nodes.collect()),
    }
}

/// A subscription that publishes at this interval, in milliseconds.
pub fn subscription(publishing: f64) -> CreateSubscriptionRequest {
    CreateSubscriptionRequest {
        requested_publishing_interval: publishing,
        requested_lifetime_count: 100,
        requested_max_keep_alive_count: 10,
        publishing_enabled: true,
        ..Default::default()
    }
}

/// So many items on these nodes, in turn, sampled at this interval in milliseconds; none where there are no nodes.
pub fn items(
    subscription_id: u32,
    nodes: &[NodeId],
    count: usize,
    sampling: f64,
) -> CreateMonitoredItemsRequest {
    let item = |(n, node): (usize, &NodeId)| MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId {
            node_id: node.clone(),
            attribute_id: AttributeId::Value as u32,
            ..Default::default()
        },
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle: n as u32,
            sampling_interval: sampling,
            queue_size: 10,
            discard_oldest: true,
            ..Default::default()
        },
    };
    CreateMonitoredItemsRequest {
        subscription_id,
        timestamps_to_return: TimestampsToReturn::Source,
        items_to_create: Some(
            nodes
                .iter()
                .cycle()
                .take(count)
                .enumerate()
                .map(item)
                .collect(),
        ),
        ..Default::default()
    }
}

/// Makes so many items, some of them in each request, as long as it may go on, and deletes them with their subscription.
pub fn come_and_go(
    session: &mut Session,
    nodes: &[NodeId],
    count: usize,
    at_once: usize,
    goes_on: impl Fn() -> bool,
) -> Result<StatusCode, CallError> {
    let id = session.call(subscription(1_000.0))?.subscription_id;
    let (mut left, mut worst) = (count, StatusCode::Good);
    while left > 0 && worst.is_good() && goes_on() {
        let some = left.min(at_once.max(1));
        let results = session.call(items(id, nodes, some, 1_000.0))?.results;
        worst = first_bad(results.iter().flatten().map(|result| result.status_code));
        left -= some;
    }
    session.call(DeleteSubscriptionsRequest {
        request_header: Default::default(),
        subscription_ids: Some(vec![id]),
    })?;
    Ok(worst)
}
