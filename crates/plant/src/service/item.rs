//! The MonitoredItem services (Part 4, 5.13).

use std::time::Duration;

use wire::service::shape::Kind;
use wire::time::Now;
use wire::types::{
    AggregateFilter, AggregateFilterResult, CreateMonitoredItemsRequest, DataChangeFilter,
    DeleteMonitoredItemsRequest, EventFilter, ExtensionObject, ModifyMonitoredItemsRequest,
    MonitoredItemCreateRequest, MonitoredItemCreateResult, MonitoredItemModifyRequest,
    MonitoredItemModifyResult, MonitoringParameters, NodeId, SetMonitoringModeRequest,
    SetTriggeringRequest, SetTriggeringResponse, StatusCode, TimestampsToReturn, Variant,
};

use super::steps::{Steps, Work};
use super::{ServiceContext, event, operations};
use crate::shared::Shared;
use crate::space::Rights;
use crate::space::aggregate::{Aggregate, Configuration};
use crate::space::attribute::{self, Timestamps, id};
use crate::space::{Node, Source, Variable};
use crate::subscription::{Filter, Folding, Item, Parameters, WatchedAttribute};

/// Items that are deleted in one go.
const DELETED_TOGETHER: usize = 1_000;

/// What an item gets, as the responses tell it.
struct Revised {
    parameters: Parameters,
    sampling: f64,
    result: ExtensionObject,
}

impl Revised {
    /// Of an item whose samples are folded, what became of its filter (Part 4, 7.22.4).
    fn folding(&mut self, asked: &AggregateFilter, now: Now) -> Result<(), StatusCode> {
        let aggregate = Aggregate::by_node(&asked.aggregate_type);
        let aggregate = aggregate.ok_or(StatusCode::BadAggregateNotSupported)?;
        let configuration = Configuration::asked(&asked.aggregate_configuration)?;
        let asked_length = asked.processing_interval.clamp(0.0, LONGEST) * TICKS;
        // At least a sample in each interval, as far as the longest goes: times and intervals are added up. NaN is as 0.
        let least = self.parameters.sampling.as_nanos() / 100;
        let least = i64::try_from(least).unwrap_or(i64::MAX);
        let length = (asked_length as i64).max(least.clamp(1, (LONGEST * TICKS) as i64));
        // It stays at a boundary; what is past belongs to histories.
        let start = asked.start_time.ticks();
        let start = match start > 0 {
            true if start < now.utc => {
                let late = now.utc - start;
                start + (late / length + i64::from(late % length != 0)) * length
            }
            true => start,
            false => now.utc,
        };
        self.parameters.folding = Some(Folding {
            aggregate,
            configuration,
            start,
            length,
        });
        self.result = ExtensionObject::from_message(AggregateFilterResult {
            revised_start_time: start.into(),
            revised_processing_interval: length as f64 / TICKS,
            revised_aggregate_configuration: configuration.told(),
        });
        Ok(())
    }
}

/// Ticks of a millisecond, and milliseconds of the longest interval, a year.
const TICKS: f64 = 10_000.0;
const LONGEST: f64 = 365.0 * 86_400_000.0;

fn stamps(asked: TimestampsToReturn) -> Result<Timestamps, StatusCode> {
    Timestamps::from_wire(asked as i32).ok_or(StatusCode::BadTimestampsToReturnInvalid)
}

/// Part 4, 7.21: what a client asks for, made into what it gets.
fn revise(
    shared: &Shared,
    variable: Option<&Variable>,
    asked: &MonitoringParameters,
    stamps: Timestamps,
    publishing: Duration,
    now: Now,
) -> Result<Revised, StatusCode> {
    let limits = &shared.config.limits;
    let aggregate = asked.filter.inner_as::<AggregateFilter>();
    let filter = match (asked.filter.is_null(), variable) {
        (true, _) => Filter::default(),
        // Filters are for values (Part 4, 7.22.1).
        (false, None) => return Err(StatusCode::BadFilterNotAllowed),
        (false, Some(variable)) => match asked.filter.inner_as::<DataChangeFilter>() {
            Some(filter) => Filter::new(filter, variable)?,
            // Of Booleans and numbers only.
            None if aggregate.is_some() => {
                let number = variable.source.bits(now, shared.space.anchor());
                number.ok_or(StatusCode::BadAggregateNotSupported)?;
                Filter::default()
            }
            // Part 4, 7.22.1: events have an attribute of their own.
            None if asked.filter.inner_is::<EventFilter>() => {
                return Err(StatusCode::BadFilterNotAllowed);
            }
            None => return Err(StatusCode::BadMonitoredItemFilterUnsupported),
        },
    };
    let fastest = limits.sampling_interval;
    // Part 4, 5.13.1.2: less than 0 stands for the publishing interval; 0 for as fast as can
    // be, which is as fast as the value changes where that is known.
    let sampling = if asked.sampling_interval < 0.0 {
        publishing
    } else {
        Duration::try_from_secs_f64(asked.sampling_interval / 1000.0).unwrap_or(publishing)
    };
    let sampling = match (sampling.is_zero(), variable.map(|v| &v.source)) {
        (true, Some(Source::Signal(signal))) => signal.interval().max(fastest),
        // One that an update loop writes changes as often as that runs.
        (true, Some(_)) if variable.is_some_and(|v| v.minimum_sampling_interval > 0.0) => {
            let millis = variable.map_or(0.0, |v| v.minimum_sampling_interval);
            let interval = Duration::try_from_secs_f64(millis / 1000.0);
            interval.unwrap_or(publishing).max(fastest)
        }
        (true, _) => publishing.max(fastest),
        _ => sampling.max(fastest),
    };
    let mut revised = Revised {
        sampling: sampling.as_secs_f64() * 1000.0,
        result: ExtensionObject::null(),
        parameters: Parameters {
            client_handle: asked.client_handle,
            sampling,
            queue_size: asked.queue_size.clamp(1, limits.queue_size.max(1)),
            discard_oldest: asked.discard_oldest,
            filter,
            folding: None,
            stamps,
        },
    };
    if let Some(aggregate) = aggregate {
        revised.folding(aggregate, now)?;
    }
    Ok(revised)
}

/// The variable whose value is to be watched; none if it is another attribute.
fn watched<'a>(
    node: &'a Node,
    what: &MonitoredItemCreateRequest,
    rights: Rights,
) -> Result<Option<&'a Variable>, StatusCode> {
    let item = &what.item_to_monitor;
    if !attribute::has(node, item.attribute_id) {
        return Err(StatusCode::BadAttributeIdInvalid);
    }
    let variable = node.variable().filter(|_| item.attribute_id == id::VALUE);
    let no_encoding = item.data_encoding.name.is_null() || item.data_encoding.name.is_empty();
    match variable {
        None if item.index_range.has_range() => Err(StatusCode::BadIndexRangeNoData),
        _ if !no_encoding => Err(StatusCode::BadDataEncodingInvalid),
        Some(variable) => attribute::readable(node, variable, rights).map(|()| Some(variable)),
        None => Ok(None),
    }
}

impl ServiceContext<'_> {
    pub(super) fn create_items(
        &mut self,
        request: &mut CreateMonitoredItemsRequest,
    ) -> Result<Steps, StatusCode> {
        let stamps = stamps(request.timestamps_to_return)?;
        let limit = self.shared.config.limits.items_per_call;
        let (id, now) = (request.subscription_id, self.now);
        let subscription = self.subscription(id)?;
        let items = operations(&mut request.items_to_create, limit)?;
        subscription.touch(now);
        let (response, result) = (
            Kind::CreateMonitoredItemsResponse,
            Kind::MonitoredItemCreateResult,
        );
        let steps = Steps::whole(response, result, items, move |context, what| {
            context
                .create_item(id, what, stamps)
                .unwrap_or_else(refused)
        });
        Ok(steps.of_items(id))
    }

    fn create_item(
        &mut self,
        subscription: u32,
        what: &mut MonitoredItemCreateRequest,
        stamps: Timestamps,
    ) -> Result<MonitoredItemCreateResult, StatusCode> {
        let (shared, now, rights) = (self.shared, self.now, self.session.rights);
        let subscription = self.subscription(subscription)?;
        let publishing = subscription.terms.interval;
        if subscription.len() >= shared.config.limits.items_per_subscription {
            return Err(StatusCode::BadTooManyMonitoredItems);
        }
        if what.item_to_monitor.attribute_id == id::EVENT_NOTIFIER {
            return Ok(event::create(shared, subscription, what, rights, now));
        }
        let (node, revised) = prepare(shared, what, stamps, rights, (publishing, now))?;
        let watch = WatchedAttribute {
            node,
            attribute: what.item_to_monitor.attribute_id,
            range: std::mem::take(&mut what.item_to_monitor.index_range),
            mode: what.monitoring_mode,
        };
        let space = &shared.space;
        let make = |id| Item::new(id, watch, &revised.parameters, space);
        let id = subscription.add(make, space, now);
        let id = id.ok_or(StatusCode::BadOutOfMemory)?;
        shared.counters.items.add(1);
        Ok(MonitoredItemCreateResult {
            monitored_item_id: id,
            revised_sampling_interval: revised.sampling,
            revised_queue_size: revised.parameters.queue_size,
            filter_result: revised.result,
            ..Default::default()
        })
    }

    pub(super) fn modify_items(
        &mut self,
        request: &mut ModifyMonitoredItemsRequest,
    ) -> Result<Steps, StatusCode> {
        let stamps = stamps(request.timestamps_to_return)?;
        let limit = self.shared.config.limits.items_per_call;
        let (id, now) = (request.subscription_id, self.now);
        let subscription = self.subscription(id)?;
        let items = operations(&mut request.items_to_modify, limit)?;
        subscription.touch(now);
        let (response, result) = (
            Kind::ModifyMonitoredItemsResponse,
            Kind::MonitoredItemModifyResult,
        );
        let steps = Steps::whole(response, result, items, move |context, what| {
            let modified = context.modify_item(id, what, stamps);
            modified.unwrap_or_else(|status_code| MonitoredItemModifyResult {
                status_code,
                ..Default::default()
            })
        });
        Ok(steps.of_items(id))
    }

    fn modify_item(
        &mut self,
        subscription: u32,
        what: &MonitoredItemModifyRequest,
        stamps: Timestamps,
    ) -> Result<MonitoredItemModifyResult, StatusCode> {
        let (shared, now) = (self.shared, self.now);
        let subscription = self.subscription(subscription)?;
        let publishing = subscription.terms.interval;
        let (id, asked) = (what.monitored_item_id, &what.requested_parameters);
        if subscription.events().get(id).is_some() {
            return Ok(event::modify(shared, subscription, id, asked, now));
        }
        let item = subscription.item(id);
        let item = item.ok_or(StatusCode::BadMonitoredItemIdInvalid)?;
        let node = item.valued(&shared.space);
        let variable = node.as_deref().and_then(Node::variable);
        if item.is_ranged() && asked.filter.inner_is::<AggregateFilter>() {
            return Err(StatusCode::BadAggregateNotSupported);
        }
        let revised = revise(shared, variable, asked, stamps, publishing, now)?;
        let queue_size = revised.parameters.queue_size;
        subscription.set_item(id, &revised.parameters, &shared.space, now);
        Ok(MonitoredItemModifyResult {
            revised_sampling_interval: revised.sampling,
            revised_queue_size: queue_size,
            filter_result: revised.result,
            ..Default::default()
        })
    }

    pub(super) fn set_monitoring_mode(
        &mut self,
        request: &mut SetMonitoringModeRequest,
    ) -> Result<Steps, StatusCode> {
        let limit = self.shared.config.limits.items_per_call;
        let (id, now, mode) = (request.subscription_id, self.now, request.monitoring_mode);
        let subscription = self.subscription(id)?;
        let items = operations(&mut request.monitored_item_ids, limit)?;
        subscription.touch(now);
        let response = Kind::SetMonitoringModeResponse;
        let steps = Steps::whole(response, Kind::StatusCode, items, move |context, item| {
            let (space, now) = (&context.shared.space, context.now);
            match context.subscription(id) {
                Err(status) => status,
                Ok(subscription) => match subscription.set_mode(*item, mode, space, now) {
                    true => StatusCode::Good,
                    false => StatusCode::BadMonitoredItemIdInvalid,
                },
            }
        });
        Ok(steps.of_items(id))
    }

    pub(super) fn set_triggering(
        &mut self,
        request: &mut SetTriggeringRequest,
    ) -> Result<SetTriggeringResponse, StatusCode> {
        let (limit, now) = (self.shared.config.limits.items_per_call, self.now);
        let subscription = self.subscription(request.subscription_id)?;
        let add = request.links_to_add.as_deref().unwrap_or_default();
        let remove = request.links_to_remove.as_deref().unwrap_or_default();
        super::count(add.len() + remove.len(), limit)?;
        subscription.touch(now);
        let there = |id: &u32| subscription.has(*id);
        if !there(&request.triggering_item_id) {
            return Err(StatusCode::BadMonitoredItemIdInvalid);
        }
        let known: Vec<bool> = add.iter().map(there).collect();
        if !subscription.has_room_for_links(add.len()) {
            return Err(StatusCode::BadOutOfMemory);
        }
        let links = subscription.links_mut(request.triggering_item_id);
        let links = links.ok_or(StatusCode::BadMonitoredItemIdInvalid)?;
        let status = |good| match good {
            true => StatusCode::Good,
            false => StatusCode::BadMonitoredItemIdInvalid,
        };
        // Part 4, 5.13.5.2: those to remove first.
        let removed = links.remove(remove).into_iter().map(status);
        let removed: Vec<_> = removed.collect();
        let found = add.iter().zip(&known).filter(|(_, known)| **known);
        links.add(found.map(|(id, _)| *id));
        let added: Vec<_> = known.into_iter().map(status).collect();
        subscription.settle(now);
        self.schedule(request.subscription_id);
        Ok(SetTriggeringResponse {
            add_results: (!added.is_empty()).then_some(added),
            remove_results: (!removed.is_empty()).then_some(removed),
            ..Default::default()
        })
    }

    pub(super) fn delete_items(
        &mut self,
        request: &mut DeleteMonitoredItemsRequest,
    ) -> Result<Steps, StatusCode> {
        let limit = self.shared.config.limits.items_per_call;
        let (id, now) = (request.subscription_id, self.now);
        let subscription = self.subscription(id)?;
        let ids = operations(&mut request.monitored_item_ids, limit)?;
        subscription.touch(now);
        let results = ids.len();
        // All items are looked at for each of these.
        let some: Vec<Vec<u32>> = ids.chunks(DELETED_TOGETHER).map(<[u32]>::to_vec).collect();
        let steps = Steps::each(
            Kind::DeleteMonitoredItemsResponse,
            some,
            move |context, ids: Vec<u32>, work, out| {
                for status in context.delete_some(id, &ids, work) {
                    work.put(Kind::StatusCode, &status, out);
                }
                None
            },
        );
        Ok(steps.with_results(results).of_items(id))
    }

    fn delete_some(&mut self, subscription: u32, ids: &[u32], work: &mut Work) -> Vec<StatusCode> {
        let shared = self.shared;
        let Ok(subscription) = self.subscription(subscription) else {
            return vec![StatusCode::BadSubscriptionIdInvalid; ids.len()];
        };
        let before = subscription.len();
        work.spend(before / 4 + ids.len());
        let there = subscription.remove(ids);
        shared
            .counters
            .items
            .sub((before - subscription.len()) as u64);
        let status = |there| match there {
            true => StatusCode::Good,
            false => StatusCode::BadMonitoredItemIdInvalid,
        };
        there.into_iter().map(status).collect()
    }

    /// The method GetMonitoredItems (Part 5, 9.1): server handles and client handles.
    pub(super) fn get_items(&mut self, subscription: u32) -> Result<Vec<Variant>, StatusCode> {
        let subscription = self.subscription(subscription)?;
        let values = subscription.items().iter();
        let values = values.map(|item| (item.id, item.client_handle()));
        let events = subscription.events().items().iter();
        let events = events.map(|item| (item.id, item.parameters.client_handle));
        let (servers, clients): (Vec<u32>, Vec<u32>) = values.chain(events).unzip();
        Ok(vec![servers.into(), clients.into()])
    }
}

fn refused(status_code: StatusCode) -> MonitoredItemCreateResult {
    MonitoredItemCreateResult {
        status_code,
        ..Default::default()
    }
}

fn prepare(
    shared: &Shared,
    what: &MonitoredItemCreateRequest,
    stamps: Timestamps,
    rights: Rights,
    (publishing, now): (Duration, Now),
) -> Result<(crate::space::NodeIndex, Revised), StatusCode> {
    let id: &NodeId = &what.item_to_monitor.node_id;
    let at = shared.space.find_id(id);
    let at = at.ok_or(StatusCode::BadNodeIdUnknown)?;
    let node = shared.space.node(at).ok_or(StatusCode::BadNodeIdUnknown)?;
    let variable = watched(&node, what, rights)?;
    let asked = &what.requested_parameters;
    let ranged = what.item_to_monitor.index_range.has_range();
    if ranged && asked.filter.inner_is::<AggregateFilter>() {
        return Err(StatusCode::BadAggregateNotSupported);
    }
    let revised = revise(shared, variable, asked, stamps, publishing, now)?;
    Ok((at, revised))
}
