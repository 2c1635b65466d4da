//! Items that watch events (Part 4, 5.13.2, 5.13.3 and 7.22.3).

use std::sync::Arc;

use wire::time::Now;
use wire::types::{
    EventFilter as RequestedFilter, EventFilterResult, ExtensionObject, MonitoredItemCreateRequest,
    MonitoredItemCreateResult, MonitoredItemModifyResult, MonitoringParameters, NodeId, StatusCode,
};

use crate::shared::Shared;
use crate::space::Rights;
use crate::space::attribute::{self, id};
use crate::space::encode;
use crate::space::event::EventFilter;
use crate::space::event::clause::{Judged, tells_of_events};
use crate::subscription::{EventItem, EventParameters, Subscription};

/// Why an item cannot be had, with what is wrong with its filter.
type Refused = (StatusCode, Option<EventFilterResult>);

/// Makes an item of events.
pub fn create(
    shared: &Shared,
    subscription: &mut Subscription,
    what: &MonitoredItemCreateRequest,
    rights: Rights,
    now: Now,
) -> MonitoredItemCreateResult {
    let created = item(shared, subscription, what, rights, now);
    let (status_code, monitored_item_id, queue, filter) = match created {
        Ok((id, queue, filter)) => (StatusCode::Good, id, queue, filter),
        Err((status, filter)) => (status, 0, 0, filter),
    };
    MonitoredItemCreateResult {
        status_code,
        monitored_item_id,
        // Part 4, 7.21: events are not sampled.
        revised_sampling_interval: 0.0,
        revised_queue_size: queue,
        filter_result: told(filter),
    }
}

fn told(filter: Option<EventFilterResult>) -> ExtensionObject {
    filter.map_or_else(ExtensionObject::null, ExtensionObject::from_message)
}

fn item(
    shared: &Shared,
    subscription: &mut Subscription,
    what: &MonitoredItemCreateRequest,
    rights: Rights,
    now: Now,
) -> Result<(u32, u32, Option<EventFilterResult>), Refused> {
    let refuse = |status| (status, None);
    let space = &shared.space;
    let id: &NodeId = &what.item_to_monitor.node_id;
    let unknown = refuse(StatusCode::BadNodeIdUnknown);
    let at = space.find_id(id).ok_or(unknown)?;
    let node = space.node(at).ok_or(refuse(StatusCode::BadNodeIdUnknown))?;
    if !attribute::has(&node, id::EVENT_NOTIFIER) {
        return Err(refuse(StatusCode::BadAttributeIdInvalid));
    }
    // Part 3, 8.59: without the bit SubscribeToEvents nobody can listen here.
    if !tells_of_events(space, at) {
        return Err(refuse(StatusCode::BadNotSupported));
    }
    if !rights.read {
        return Err(refuse(StatusCode::BadUserAccessDenied));
    }
    if what.item_to_monitor.index_range.has_range() {
        return Err(refuse(StatusCode::BadIndexRangeNoData));
    }
    let (parameters, filter) = revise(shared, &what.requested_parameters)?;
    let queue = parameters.queue_size;
    let scope = space.events().scope(&node.id);
    let mode = what.monitoring_mode;
    let make = |id| EventItem::new(id, at, scope, mode, parameters, space, now);
    let id = subscription.add_events(make);
    let id = id.ok_or(refuse(StatusCode::BadOutOfMemory))?;
    shared.counters.items.add(1);
    Ok((id, queue, filter))
}

/// Changes an item of events.
pub fn modify(
    shared: &Shared,
    subscription: &mut Subscription,
    id: u32,
    asked: &MonitoringParameters,
    now: Now,
) -> MonitoredItemModifyResult {
    match revise(shared, asked) {
        Ok((parameters, filter)) => {
            let queue = parameters.queue_size;
            subscription.set_events(id, parameters, &shared.space, now);
            MonitoredItemModifyResult {
                status_code: StatusCode::Good,
                revised_sampling_interval: 0.0,
                revised_queue_size: queue,
                filter_result: told(filter),
            }
        }
        Err((status_code, filter)) => MonitoredItemModifyResult {
            status_code,
            filter_result: told(filter),
            ..Default::default()
        },
    }
}

fn revise(
    shared: &Shared,
    asked: &MonitoringParameters,
) -> Result<(EventParameters, Option<EventFilterResult>), Refused> {
    if asked.filter.is_null() {
        // Part 4, 7.22.3: without fields there is nothing to tell.
        return Err((StatusCode::BadEventFilterInvalid, None));
    }
    let Some(wanted) = asked.filter.inner_as::<RequestedFilter>() else {
        // Part 4, 7.22.1: the other filters are for values.
        return Err((StatusCode::BadFilterNotAllowed, None));
    };
    let judged = EventFilter::judge(wanted, &shared.space).map_err(|status| (status, None))?;
    let (filter, result) = match judged {
        Judged::Good(filter) => (filter, None),
        Judged::Partly(filter, result) => (filter, Some(result)),
        Judged::Bad(result) => return Err((StatusCode::BadEventFilterInvalid, Some(result))),
    };
    let most = shared.config.limits.queue_size.max(1);
    let parameters = EventParameters {
        client_handle: asked.client_handle,
        // Part 4, 7.21: 0 asks for the server's own size, 1 for the least it needs: the same here.
        queue_size: match asked.queue_size {
            0 | 1 => most,
            size => size.min(most),
        },
        discard_oldest: asked.discard_oldest,
        filter: Arc::new(filter),
        filter_len: encode::len(wanted),
    };
    Ok((parameters, result))
}
