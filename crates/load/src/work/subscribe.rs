//! Subscriptions: items to be created, encoded once for all sessions, and the requests that a
//! session makes of them.

use std::ops::Range;
use std::sync::Arc;

use plan::{Deadband, Mode, Subscribe, Timestamps, Trigger};
use record::notification_ledger::WatchedValue;
use wire::template::{PublishTemplate, Template};
use wire::types::{
    AggregateFilter, AttributeId, BinaryEncodable, ContextOwned, CreateMonitoredItemsRequest,
    CreateSubscriptionRequest, DataChangeFilter, DataChangeTrigger, DateTime, ExtensionObject,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, NumericRange,
    QualifiedName, ReadValueId, RequestHeader, TimestampsToReturn,
};

use super::aggregates;
use super::events::Filter;
use super::{Operations, WorkError};

/// What all sessions with a server subscribe to.
#[derive(Debug)]
pub struct Terms {
    /// As planned.
    pub plan: Subscribe,
    /// Items in a request that creates some.
    pub per_call: usize,
    /// A MonitoredItemCreateRequest for each node, with client handle 0.
    items: Operations,
    /// Where the client handle is, from the end of an item.
    handle_at: usize,
    /// What each is created with, with client handle 0.
    parameters: MonitoringParameters,
    /// Where they wait for events, what of those.
    events: Option<Filter>,
    /// What is known of the nodes: of many that follow each other the same, up to a place.
    watches: Vec<(usize, WatchedValue)>,
}

/// Items in a request when neither user nor server says how many.
const PER_CALL: usize = 1000;

impl Terms {
    /// Encodes an item for each node. `limit` is what the server takes in a request, if it says so.
    pub fn new(
        nodes: &[NodeId],
        plan: &Subscribe,
        events: Option<Filter>,
        limit: Option<usize>,
    ) -> Result<Self, WorkError> {
        let parameters = parameters(plan, events.as_ref());
        let context = ContextOwned::default();
        let handle_at = parameters.byte_len(&context.context());
        let items = nodes.iter().map(|node| MonitoredItemCreateRequest {
            item_to_monitor: ReadValueId {
                node_id: node.clone(),
                attribute_id: match events {
                    Some(_) => AttributeId::EventNotifier as u32,
                    None => AttributeId::Value as u32,
                },
                index_range: NumericRange::None,
                data_encoding: QualifiedName::null(),
            },
            monitoring_mode: mode(plan.mode),
            requested_parameters: parameters.clone(),
        });
        let own = plan.items_per_call.map(|n| n as usize);
        let most = limit.map_or(PER_CALL, |limit| limit.min(PER_CALL));
        Ok(Self {
            items: Operations::new(items)?,
            plan: plan.clone(),
            per_call: own.unwrap_or(most).max(1),
            handle_at,
            parameters,
            events,
            watches: Vec::new(),
        })
    }

    /// Says what is known of the nodes; one for each.
    pub fn watching(mut self, watches: impl IntoIterator<Item = WatchedValue>) -> Self {
        self.watches.clear();
        for (node, watch) in watches.into_iter().enumerate() {
            match self.watches.last_mut() {
                Some((end, last)) if *last == watch => *end = node + 1,
                _ => self.watches.push((node + 1, watch)),
            }
        }
        self
    }

    /// What is known of a node.
    pub fn watch(&self, node: usize) -> WatchedValue {
        let place = self.watches.partition_point(|(end, _)| *end <= node);
        let known = self.watches.get(place).map(|(_, watch)| *watch);
        let known = known.unwrap_or_default();
        if self.holds_back_unknown() {
            return WatchedValue::Unknown;
        }
        match (known, self.plan.change_rate) {
            (WatchedValue::Unknown, Some(rate)) => {
                WatchedValue::Changes((rate.as_f64() * 1e3).round() as u64)
            }
            (known, _) => known,
        }
    }

    /// Whether the filter holds changes back, and nobody can say how many: what has another status or differs
    /// by a share of an EURange only the server knows; what is folded into aggregates.
    fn holds_back_unknown(&self) -> bool {
        self.plan.trigger == Trigger::Status
            || self.plan.aggregate.is_some()
            || matches!(self.plan.deadband, Some(Deadband::Percent(share)) if share > 0.0)
    }

    /// By how many updates of a counter two values differ at least.
    pub fn held_back(&self) -> u32 {
        match self.plan.deadband {
            // Part 4, 7.22.2: told is what differs by more than the deadband.
            Some(Deadband::Absolute(value)) => value as u32,
            _ => 0,
        }
    }

    /// What each item is created with, with client handle 0.
    pub fn parameters(&self) -> MonitoringParameters {
        self.parameters.clone()
    }

    /// Where items wait for events, what of those.
    pub fn events(&self) -> Option<&Filter> {
        self.events.as_ref()
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.items.len()
    }
}

/// What is asked of each item, with client handle 0.
fn parameters(plan: &Subscribe, events: Option<&Filter>) -> MonitoringParameters {
    if let Some(events) = events {
        return MonitoringParameters {
            client_handle: 0,
            // Part 4, 7.21: what waits for events does not sample.
            sampling_interval: 0.0,
            filter: ExtensionObject::from_message(events.filter.clone()),
            queue_size: plan.queue,
            discard_oldest: !plan.discard_newest,
        };
    }
    let usual = plan.deadband.is_none() && plan.trigger == Trigger::Value;
    // Part 4, 7.22.2: without a filter, changes of status and value are told.
    let filter = match (plan.aggregate, usual) {
        (Some(aggregate), _) => ExtensionObject::from_message(AggregateFilter {
            // From now on, whatever clock the server has.
            start_time: DateTime::null(),
            aggregate_type: aggregates::function(aggregate),
            processing_interval: aggregate.interval.as_secs_f64() * 1e3,
            aggregate_configuration: aggregates::configuration(),
        }),
        (None, true) => ExtensionObject::null(),
        (None, false) => ExtensionObject::from_message(filter(plan)),
    };
    MonitoringParameters {
        client_handle: 0,
        sampling_interval: plan.sampling.on_the_wire(),
        filter,
        queue_size: plan.queue,
        discard_oldest: !plan.discard_newest,
    }
}

fn filter(plan: &Subscribe) -> DataChangeFilter {
    // DeadbandType (Part 4, 7.22.2): none, absolute, percent.
    let (deadband_type, deadband_value) = match plan.deadband {
        None => (0, 0.0),
        Some(Deadband::Absolute(value)) => (1, value),
        Some(Deadband::Percent(value)) => (2, value),
    };
    DataChangeFilter {
        trigger: match plan.trigger {
            Trigger::Status => DataChangeTrigger::Status,
            Trigger::Value => DataChangeTrigger::StatusValue,
            Trigger::Timestamp => DataChangeTrigger::StatusValueTimestamp,
        },
        deadband_type,
        deadband_value,
    }
}

/// As it stands in a request.
pub fn mode(mode: Mode) -> MonitoringMode {
    match mode {
        Mode::Reporting => MonitoringMode::Reporting,
        Mode::Sampling => MonitoringMode::Sampling,
        Mode::Disabled => MonitoringMode::Disabled,
    }
}

/// One session's requests.
#[derive(Debug)]
pub struct Requests {
    /// What all sessions subscribe to.
    pub terms: Arc<Terms>,
    /// The nodes of this one.
    pub part: Range<usize>,
    /// For whatever is not sent often.
    header: RequestHeader,
    create: Template,
    /// Publish.
    pub publish: PublishTemplate,
}

/// The subscription id stands before timestampsToReturn and the count of items.
const ID_BEFORE_END: usize = 4 + 4 + 4;
/// The least there is of an item: what a count needs at most.
const COUNT: usize = 4;

impl Requests {
    /// Those of a session with this header, for its part of the nodes.
    pub fn new(
        header: RequestHeader,
        terms: Arc<Terms>,
        part: Range<usize>,
    ) -> Result<Self, WorkError> {
        let context = ContextOwned::default();
        let empty = CreateMonitoredItemsRequest {
            request_header: header.clone(),
            subscription_id: 0,
            timestamps_to_return: timestamps(terms.plan.timestamps),
            items_to_create: Some(Vec::new()),
        };
        // A Publish request waits for as long as nothing happens.
        let publish = RequestHeader {
            timeout_hint: 0,
            ..header.clone()
        };
        Ok(Self {
            create: Template::new(&empty, &context.context())?,
            publish: PublishTemplate::new(publish, &context.context())?,
            header,
            terms,
            part,
        })
    }

    /// A header for a request that is sent now.
    pub fn header(&self, utc: i64) -> RequestHeader {
        RequestHeader {
            timestamp: utc.into(),
            ..self.header.clone()
        }
    }

    /// Items in each subscription.
    pub fn items(&self) -> usize {
        self.terms.plan.items_of(self.part.len())
    }

    /// Items in all subscriptions.
    pub fn all_items(&self) -> u64 {
        self.items() as u64 * u64::from(self.terms.plan.subscriptions)
    }

    /// What an item watches.
    pub fn watch(&self, subscription: u32, item: usize) -> WatchedValue {
        self.terms.watch(self.node_of(subscription, item))
    }

    /// The node that an item watches, by its place among those of the server.
    pub fn node_of(&self, subscription: u32, item: usize) -> usize {
        self.part.start + self.terms.plan.node_of(subscription, item, self.part.len())
    }

    /// A request for a subscription.
    pub fn subscription(&self, utc: i64) -> CreateSubscriptionRequest {
        let plan = &self.terms.plan;
        CreateSubscriptionRequest {
            request_header: self.header(utc),
            requested_publishing_interval: plan.publishing.as_secs_f64() * 1e3,
            requested_lifetime_count: plan.lifetime_count(),
            requested_max_keep_alive_count: plan.keep_alive,
            max_notifications_per_publish: plan.max_notifications,
            publishing_enabled: !plan.publishing_off,
            priority: plan.priority,
        }
    }

    /// Appends a request for `which` items of the server's subscription `id`, the `subscription`th
    /// of the session, whose items have handles from `first_handle` on.
    pub fn create_items(
        &self,
        out: &mut Vec<u8>,
        (request_handle, utc): (u32, i64),
        subscription: u32,
        id: u32,
        first_handle: u32,
        which: Range<usize>,
    ) {
        self.create.append(out, request_handle, utc);
        let end = out.len();
        let put = |out: &mut Vec<u8>, at: usize, value: u32| {
            if let Some(to) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>) {
                *to = value.to_le_bytes();
            }
        };
        put(out, end - COUNT, which.len() as u32);
        put(out, end - ID_BEFORE_END, id);
        for item in which {
            let node = self.node_of(subscription, item);
            self.terms.items.append(node, node + 1, 0, out);
            let at = out.len() - self.terms.handle_at;
            put(out, at, first_handle + item as u32);
        }
    }
}

/// As it stands in a request.
pub fn timestamps(timestamps: Timestamps) -> TimestampsToReturn {
    timestamps.into()
}

#[cfg(test)]
mod tests {
    use wire::service::{Limits, Request};

    use super::*;

    fn requests(plan: &Subscribe, nodes: u32) -> Requests {
        let nodes: Vec<NodeId> = (0..nodes).map(|n| NodeId::new(2, 1000 + n)).collect();
        let terms = Terms::new(&nodes, plan, None, Some(500)).unwrap();
        let part = 1..nodes.len();
        Requests::new(RequestHeader::default(), Arc::new(terms), part).unwrap()
    }

    #[test]
    fn what_is_known_of_nodes_is_told_of_each_of_them() {
        let node: plan::NodeSpec = "i=1".parse().unwrap();
        let plan = Subscribe::new(plan::Nodes::from(node));
        let nodes: Vec<NodeId> = (0..6).map(|n| NodeId::new(2, 1000 + n)).collect();
        let (slow, fast) = (WatchedValue::Changes(1), WatchedValue::Changes(9));
        let known = [slow, slow, fast, slow, slow, slow];
        let terms = Terms::new(&nodes, &plan, None, None)
            .unwrap()
            .watching(known);
        let told: Vec<WatchedValue> = (0..7).map(|node| terms.watch(node)).collect();
        assert_eq!(told[..6], known);
        assert_eq!(told[6], WatchedValue::Unknown);
        assert_eq!(terms.watches.len(), 3);
    }

    #[test]
    fn items_are_created_with_handles_that_follow_each_other() {
        let node: plan::NodeSpec = "i=1".parse().unwrap();
        let mut plan = Subscribe::new(node.into());
        plan.items = Some(3);
        plan.queue = 7;
        plan.discard_newest = true;
        plan.deadband = Some(Deadband::Percent(2.5));
        let requests = requests(&plan, 5);
        assert_eq!(requests.terms.per_call, 500);
        let mut out = Vec::new();
        requests.create_items(&mut out, (77, 1), 2, 4711, 6, 1..3);
        let request = Request::decode(&out, &Limits::for_message_size(out.len())).unwrap();
        let Request::CreateMonitoredItems(request) = request else {
            panic!("another request");
        };
        assert_eq!(request.request_header.request_handle, 77);
        assert_eq!(request.subscription_id, 4711);
        assert_eq!(request.timestamps_to_return, TimestampsToReturn::Both);
        let items = request.items_to_create.unwrap();
        let handles = items
            .iter()
            .map(|item| item.requested_parameters.client_handle);
        assert_eq!(handles.collect::<Vec<_>>(), [7, 8]);
        // Four nodes from 1001 on: the third subscription begins with the seventh item.
        let nodes = items
            .iter()
            .map(|item| item.item_to_monitor.node_id.as_u32());
        assert_eq!(nodes.collect::<Vec<_>>(), [Some(1004), Some(1001)]);
        for item in &items {
            let parameters = &item.requested_parameters;
            assert_eq!(
                (parameters.queue_size, parameters.discard_oldest),
                (7, false)
            );
            assert!((parameters.sampling_interval + 1.0).abs() < 1e-9);
            let filter: &DataChangeFilter = parameters.filter.inner_as().unwrap();
            assert_eq!((filter.deadband_type, filter.deadband_value), (2, 2.5));
        }
    }
}
