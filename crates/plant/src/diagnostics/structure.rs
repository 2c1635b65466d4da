//! Records as the structures of Part 5, made when somebody reads them.

use std::collections::{BTreeSet, HashMap};

use wire::policy::Mode;
use wire::types::{
    ByteString, DateTime, ExtensionObject, MessageSecurityMode, NodeId, ServiceCounterDataType,
    SessionDiagnosticsDataType, SessionSecurityDiagnosticsDataType,
    SubscriptionDiagnosticsDataType, UAString, Variant,
};

use super::{Register, Service, SessionRecord, SubscriptionRecord, session_node};

/// SessionDiagnosticsArray (Part 5, 6.3.4).
pub fn session_array(register: &Register) -> Variant {
    // Subscriptions and items of each session by its number.
    let mut own: HashMap<u32, (u32, u32)> = HashMap::new();
    for subscription in register.subscriptions() {
        let (subscriptions, items) = own.entry(subscription.session.get()).or_default();
        *subscriptions += 1;
        *items += subscription.items.get();
    }
    let sessions = register.sessions();
    let structures = sessions.iter().map(|record| {
        let own = own.get(&record.number).copied().unwrap_or_default();
        ExtensionObject::from_message(session(record, own))
    });
    structures.collect::<Vec<_>>().into()
}

/// SessionDiagnostics of one session (Part 5, 6.3.5).
pub fn one_session(register: &Register, record: &SessionRecord) -> SessionDiagnosticsDataType {
    let own = register.subscriptions();
    let own = own
        .iter()
        .filter(|subscription| subscription.session.get() == record.number);
    let own = own.fold((0, 0), |(subscriptions, items), subscription| {
        (subscriptions + 1, items + subscription.items.get())
    });
    session(record, own)
}

/// SubscriptionDiagnosticsArray of one session (Part 5, 6.3.5).
pub fn own_subscriptions(register: &Register, record: &SessionRecord) -> Variant {
    let all = register.subscriptions();
    let own = all
        .iter()
        .filter(|subscription| subscription.session.get() == record.number);
    own.map(|record| ExtensionObject::from_message(subscription(record)))
        .collect::<Vec<_>>()
        .into()
}

/// SessionSecurityDiagnosticsArray (Part 5, 6.3.4).
pub fn security_array(register: &Register) -> Variant {
    let sessions = register.sessions();
    let structures = sessions
        .iter()
        .map(|record| ExtensionObject::from_message(security(record)));
    structures.collect::<Vec<_>>().into()
}

/// SubscriptionDiagnosticsArray (Part 5, 6.3.3).
pub fn subscription_array(register: &Register) -> Variant {
    let subscriptions = register.subscriptions();
    let structures = subscriptions
        .iter()
        .map(|record| ExtensionObject::from_message(subscription(record)));
    structures.collect::<Vec<_>>().into()
}

/// How many different publishing intervals there are.
pub fn publishing_intervals(register: &Register) -> u32 {
    let subscriptions = register.subscriptions();
    let intervals = subscriptions
        .iter()
        .map(|record| record.interval().to_bits());
    intervals.collect::<BTreeSet<_>>().len() as u32
}

fn texts(texts: &[String]) -> Option<Vec<UAString>> {
    Some(texts.iter().map(|text| text.as_str().into()).collect())
}

/// A count less what it was.
trait Since {
    fn since(&self, before: &Self) -> Self;
}

impl Since for u32 {
    fn since(&self, before: &Self) -> Self {
        self.wrapping_sub(*before)
    }
}

impl Since for ServiceCounterDataType {
    fn since(&self, before: &Self) -> Self {
        Self {
            total_count: self.total_count.since(&before.total_count),
            error_count: self.error_count.since(&before.error_count),
        }
    }
}

macro_rules! since {
    ($now:ident, $before:ident: $($field:ident,)*) => {
        $($now.$field = $now.$field.since(&$before.$field);)*
    };
}

/// From now on a session counts from 0.
pub fn begin_session(record: &SessionRecord) {
    let now = session_ever(record, (0, 0));
    *record.before() = Some(Box::new(now));
}

/// From now on a subscription counts from 0.
pub fn begin_subscription(record: &SubscriptionRecord) {
    let now = subscription_ever(record);
    *record.before() = Some(Box::new(now));
}

/// What a session did since diagnostics were enabled; it has so many subscriptions and items.
fn session(record: &SessionRecord, own: (u32, u32)) -> SessionDiagnosticsDataType {
    let mut now = session_ever(record, own);
    if let Some(before) = &*record.before() {
        since!(now, before:
            total_request_count,
            unauthorized_request_count,
            read_count,
            history_read_count,
            write_count,
            history_update_count,
            call_count,
            create_monitored_items_count,
            modify_monitored_items_count,
            set_monitoring_mode_count,
            set_triggering_count,
            delete_monitored_items_count,
            create_subscription_count,
            modify_subscription_count,
            set_publishing_mode_count,
            publish_count,
            republish_count,
            transfer_subscriptions_count,
            delete_subscriptions_count,
            add_nodes_count,
            add_references_count,
            delete_nodes_count,
            delete_references_count,
            browse_count,
            browse_next_count,
            translate_browse_paths_to_node_ids_count,
            query_first_count,
            query_next_count,
            register_nodes_count,
            unregister_nodes_count,
        );
    }
    now
}

fn session_ever(
    record: &SessionRecord,
    (subscriptions, items): (u32, u32),
) -> SessionDiagnosticsDataType {
    use Service as S;
    let calls = |service| {
        let (total_count, error_count) = record.calls(service);
        ServiceCounterDataType {
            total_count,
            error_count,
        }
    };
    SessionDiagnosticsDataType {
        session_id: session_node(record.number),
        session_name: record.name.as_str().into(),
        client_description: record.client.clone(),
        server_uri: record.server_uri.as_str().into(),
        endpoint_url: record.endpoint_url.as_str().into(),
        locale_ids: texts(&record.activated().locales),
        actual_session_timeout: record.timeout,
        max_response_message_size: record.max_response,
        client_connection_time: DateTime::from(record.connected),
        client_last_contact_time: DateTime::from(record.last_contact()),
        current_subscriptions_count: subscriptions,
        current_monitored_items_count: items,
        current_publish_requests_in_queue: record.publishing.get(),
        total_request_count: ServiceCounterDataType {
            total_count: record.all.total.get(),
            error_count: record.all.errors.get(),
        },
        unauthorized_request_count: record.unauthorized.get(),
        read_count: calls(S::Read),
        history_read_count: calls(S::HistoryRead),
        write_count: calls(S::Write),
        history_update_count: calls(S::HistoryUpdate),
        call_count: calls(S::Call),
        create_monitored_items_count: calls(S::CreateMonitoredItems),
        modify_monitored_items_count: calls(S::ModifyMonitoredItems),
        set_monitoring_mode_count: calls(S::SetMonitoringMode),
        set_triggering_count: calls(S::SetTriggering),
        delete_monitored_items_count: calls(S::DeleteMonitoredItems),
        create_subscription_count: calls(S::CreateSubscription),
        modify_subscription_count: calls(S::ModifySubscription),
        set_publishing_mode_count: calls(S::SetPublishingMode),
        publish_count: calls(S::Publish),
        republish_count: calls(S::Republish),
        transfer_subscriptions_count: calls(S::TransferSubscriptions),
        delete_subscriptions_count: calls(S::DeleteSubscriptions),
        add_nodes_count: calls(S::AddNodes),
        add_references_count: calls(S::AddReferences),
        delete_nodes_count: calls(S::DeleteNodes),
        delete_references_count: calls(S::DeleteReferences),
        browse_count: calls(S::Browse),
        browse_next_count: calls(S::BrowseNext),
        translate_browse_paths_to_node_ids_count: calls(S::TranslateBrowsePathsToNodeIds),
        query_first_count: calls(S::QueryFirst),
        query_next_count: calls(S::QueryNext),
        register_nodes_count: calls(S::RegisterNodes),
        unregister_nodes_count: calls(S::UnregisterNodes),
    }
}

/// SessionSecurityDiagnostics of one session (Part 5, 6.3.5).
pub fn security(record: &SessionRecord) -> SessionSecurityDiagnosticsDataType {
    let activated = record.activated();
    let protection = activated.protection;
    SessionSecurityDiagnosticsDataType {
        session_id: session_node(record.number),
        client_user_id_of_session: activated.user.as_str().into(),
        client_user_id_history: texts(&activated.history),
        authentication_mechanism: activated.mechanism.into(),
        encoding: "UA Binary".into(),
        transport_protocol: "opc.tcp".into(),
        security_mode: match protection.mode {
            Mode::None => MessageSecurityMode::None,
            Mode::Sign => MessageSecurityMode::Sign,
            Mode::SignAndEncrypt => MessageSecurityMode::SignAndEncrypt,
        },
        security_policy_uri: protection.policy.uri().into(),
        client_certificate: match activated.certificate.as_slice() {
            [] => ByteString::null(),
            bytes => ByteString::from(bytes),
        },
    }
}

/// What a subscription did since diagnostics were enabled.
fn subscription(record: &SubscriptionRecord) -> SubscriptionDiagnosticsDataType {
    let mut now = subscription_ever(record);
    if let Some(before) = &*record.before() {
        since!(now, before:
            modify_count,
            enable_count,
            disable_count,
            republish_request_count,
            republish_message_request_count,
            republish_message_count,
            transfer_request_count,
            transferred_to_alt_client_count,
            transferred_to_same_client_count,
            publish_request_count,
            data_change_notifications_count,
            event_notifications_count,
            notifications_count,
            late_publish_request_count,
            discarded_message_count,
            monitoring_queue_overflow_count,
            event_queue_overflow_count,
        );
    }
    now
}

fn subscription_ever(record: &SubscriptionRecord) -> SubscriptionDiagnosticsDataType {
    SubscriptionDiagnosticsDataType {
        session_id: match record.session.get() {
            0 => NodeId::null(),
            number => session_node(number),
        },
        subscription_id: record.id,
        priority: record.priority.get() as u8,
        publishing_interval: record.interval(),
        max_keep_alive_count: record.max_keep_alive.get(),
        max_lifetime_count: record.max_lifetime.get(),
        max_notifications_per_publish: record.max_notifications.get(),
        publishing_enabled: record.enabled.get() != 0,
        modify_count: record.modified.get(),
        enable_count: record.enables.get(),
        disable_count: record.disables.get(),
        republish_request_count: record.republish_requests.get(),
        republish_message_request_count: record.republish_requests.get(),
        republish_message_count: record.republished.get(),
        transfer_request_count: record.transfer_requests.get(),
        transferred_to_alt_client_count: record.transferred_elsewhere.get(),
        transferred_to_same_client_count: record.transferred_same_client.get(),
        publish_request_count: record.publish_requests.get(),
        data_change_notifications_count: record.data_changes.get(),
        event_notifications_count: record.events.get(),
        notifications_count: record.notifications.get(),
        late_publish_request_count: record.late.get(),
        current_keep_alive_count: record.keep_alive.get(),
        current_lifetime_count: record.lifetime.get(),
        unacknowledged_message_count: record.unacknowledged.get(),
        discarded_message_count: record.discarded.get(),
        monitored_item_count: record.items.get(),
        disabled_monitored_item_count: record.disabled_items.get(),
        monitoring_queue_overflow_count: record.overflows.get(),
        next_sequence_number: record.next_sequence.get(),
        event_queue_overflow_count: record.event_overflows.get(),
    }
}
