//! What was added to counts between two looks.

use std::collections::{BTreeMap, HashMap, HashSet};

use record::run::{OfSessions, OfSubscriptions};
use wire::types::{
    NodeId, ServerDiagnosticsSummaryDataType as Summary, ServiceCounterDataType,
    SessionDiagnosticsDataType as Session, SubscriptionDiagnosticsDataType as Subscription,
};

/// The name in Part 5 beside the field of the generated type.
macro_rules! fields {
    ($it:ident, $($name:literal $field:ident),* $(,)?) => {
        [$(($name, $it.$field)),*]
    };
    (& $it:ident, $($name:literal $field:ident),* $(,)?) => {
        [$(($name, &$it.$field)),*]
    };
}

fn summary_counts(it: &Summary) -> [(&'static str, u32); 7] {
    fields!(it,
        "cumulatedSessionCount" cumulated_session_count,
        "securityRejectedSessionCount" security_rejected_session_count,
        "rejectedSessionCount" rejected_session_count,
        "sessionTimeoutCount" session_timeout_count,
        "sessionAbortCount" session_abort_count,
        "cumulatedSubscriptionCount" cumulated_subscription_count,
        "rejectedRequestsCount" rejected_requests_count,
    )
}

fn calls(it: &Session) -> [(&'static str, &ServiceCounterDataType); 29] {
    fields!(&it,
        "totalRequestCount" total_request_count,
        "readCount" read_count,
        "historyReadCount" history_read_count,
        "writeCount" write_count,
        "historyUpdateCount" history_update_count,
        "callCount" call_count,
        "createMonitoredItemsCount" create_monitored_items_count,
        "modifyMonitoredItemsCount" modify_monitored_items_count,
        "setMonitoringModeCount" set_monitoring_mode_count,
        "setTriggeringCount" set_triggering_count,
        "deleteMonitoredItemsCount" delete_monitored_items_count,
        "createSubscriptionCount" create_subscription_count,
        "modifySubscriptionCount" modify_subscription_count,
        "setPublishingModeCount" set_publishing_mode_count,
        "publishCount" publish_count,
        "republishCount" republish_count,
        "transferSubscriptionsCount" transfer_subscriptions_count,
        "deleteSubscriptionsCount" delete_subscriptions_count,
        "addNodesCount" add_nodes_count,
        "addReferencesCount" add_references_count,
        "deleteNodesCount" delete_nodes_count,
        "deleteReferencesCount" delete_references_count,
        "browseCount" browse_count,
        "browseNextCount" browse_next_count,
        "translateBrowsePathsToNodeIdsCount" translate_browse_paths_to_node_ids_count,
        "queryFirstCount" query_first_count,
        "queryNextCount" query_next_count,
        "registerNodesCount" register_nodes_count,
        "unregisterNodesCount" unregister_nodes_count,
    )
}

fn counts(it: &Subscription) -> [(&'static str, u32); 14] {
    fields!(it,
        "publishRequestCount" publish_request_count,
        "notificationsCount" notifications_count,
        "dataChangeNotificationsCount" data_change_notifications_count,
        "eventNotificationsCount" event_notifications_count,
        "latePublishRequestCount" late_publish_request_count,
        "republishRequestCount" republish_request_count,
        "republishMessageCount" republish_message_count,
        "transferRequestCount" transfer_request_count,
        "unacknowledgedMessageCount" unacknowledged_message_count,
        "discardedMessageCount" discarded_message_count,
        "monitoredItemCount" monitored_item_count,
        "disabledMonitoredItemCount" disabled_monitored_item_count,
        "monitoringQueueOverflowCount" monitoring_queue_overflow_count,
        "eventQueueOverflowCount" event_queue_overflow_count,
    )
}

/// The server as a whole. Counters are 32 bits wide and begin anew behind them.
pub fn summary(before: &Summary, after: &Summary) -> BTreeMap<String, u64> {
    let each = summary_counts(before)
        .into_iter()
        .zip(summary_counts(after));
    each.map(|((name, a), (_, b))| (name.to_owned(), b.wrapping_sub(a).into()))
        .collect()
}

/// Our sessions; one that was not there before begins with 0.
pub fn sessions(before: &[Session], after: &[Session], ours: &HashSet<NodeId>) -> OfSessions {
    let known: HashMap<&NodeId, &Session> = before.iter().map(|it| (&it.session_id, it)).collect();
    let mut told = OfSessions::default();
    for now in after.iter().filter(|it| ours.contains(&it.session_id)) {
        told.found += 1;
        let then = known.get(&now.session_id).map(|it| calls(it));
        for (n, (name, calls)) in calls(now).into_iter().enumerate() {
            let then = then.as_ref().and_then(|then| then.get(n)).map(|it| it.1);
            // A session that was not there before had no calls.
            let grown =
                |now: u32, then: Option<u32>| u64::from(now.wrapping_sub(then.unwrap_or(0)));
            let total = grown(calls.total_count, then.map(|it| it.total_count));
            let errors = grown(calls.error_count, then.map(|it| it.error_count));
            for (map, n) in [(&mut told.requests, total), (&mut told.errors, errors)] {
                if n > 0 {
                    *map.entry(name.to_owned()).or_default() += n;
                }
            }
        }
    }
    let there: HashSet<&NodeId> = after.iter().map(|it| &it.session_id).collect();
    told.lost = ours
        .iter()
        .filter(|id| known.contains_key(id) && !there.contains(id))
        .count() as u64;
    told
}

/// Subscriptions, which were made after the first look.
pub fn subscriptions<'a>(ours: impl Iterator<Item = &'a Subscription>) -> OfSubscriptions {
    let mut told = OfSubscriptions::default();
    for it in ours {
        told.found += 1;
        for (name, n) in counts(it) {
            *told.counts.entry(name.to_owned()).or_default() += u64::from(n);
        }
        // The next message's number, which begins with 1 (Part 4, 5.14.1.1).
        let sent = u64::from(it.next_sequence_number.saturating_sub(1));
        *told
            .counts
            .entry("nextSequenceNumber".to_owned())
            .or_default() += sent;
    }
    told
}
