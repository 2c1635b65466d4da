//! ServerDiagnostics (Part 5, 6.3.3 to 6.3.5): what it says is what was done.

use plant::{Config, Rights, Users};
use wire::types::{
    Array, AttributeId, BrowseRequest, CloseSessionRequest, DataChangeNotification, DataValue,
    DeleteMonitoredItemsRequest, ExtensionObject, MonitoringMode, NodeClass, NodeId, ObjectId,
    ObjectTypeId, PublishRequest, PublishResponse, ReadRequest, ReferenceDescription,
    RepublishRequest, RequestHeader, ServerDiagnosticsSummaryDataType, ServiceCounterDataType,
    SessionDiagnosticsDataType, SessionSecurityDiagnosticsDataType, SetMonitoringModeRequest,
    SetPublishingModeRequest, StatusCode, SubscriptionDiagnosticsDataType, TimestampsToReturn,
    VariableId, Variant, WriteRequest, WriteValue,
};

use crate::client::{Client, read_value};
use crate::subscribing::{KEEP_ALIVE, LIFETIME, header, item, publish, subscribe, watch};
use crate::{bench, start};

fn structures(client: &mut Client, id: VariableId) -> Vec<ExtensionObject> {
    let value = client.read(&[NodeId::from(id)]).remove(0).value;
    match value {
        Some(Variant::Array(array)) => {
            let Array { values, .. } = *array;
            let objects = values.into_iter().map(|value| match value {
                Variant::ExtensionObject(object) => object,
                other => panic!("{other:?}"),
            });
            objects.collect()
        }
        Some(Variant::ExtensionObject(object)) => vec![object],
        other => panic!("{other:?}"),
    }
}

fn sessions(client: &mut Client) -> Vec<SessionDiagnosticsDataType> {
    let id =
        VariableId::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray;
    let all = structures(client, id);
    let all = all.iter().map(|object| object.inner_as().cloned().unwrap());
    all.collect()
}

pub fn subscriptions(client: &mut Client) -> Vec<SubscriptionDiagnosticsDataType> {
    let id = VariableId::Server_ServerDiagnostics_SubscriptionDiagnosticsArray;
    let all = structures(client, id);
    let all = all.iter().map(|object| object.inner_as().cloned().unwrap());
    all.collect()
}

fn calls(total_count: u32, error_count: u32) -> ServiceCounterDataType {
    ServiceCounterDataType {
        total_count,
        error_count,
    }
}

#[test]
fn a_session_says_what_was_asked_of_it_from_whatever_loop_it_is_read() {
    let server = start(Config {
        threads: 2,
        ..Config::default()
    });
    let mut one = Client::plain(server.url());
    let mut other = Client::plain(server.url());
    for _ in 0..5 {
        one.read(&[bench(1000), bench(1001)]);
    }
    let nothing = ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: None,
    };
    assert_eq!(one.call(nothing).unwrap_err(), StatusCode::BadNothingToDo);
    let id = subscribe(&mut one, 10_000.0).subscription_id;
    watch(
        &mut one,
        id,
        vec![item(bench(1000), 1, 0.0), item(bench(1), 2, 0.0)],
    );
    for _ in 0..3 {
        one.send(publish(None));
    }
    // The answer to this one comes after those were taken.
    one.read(&[bench(1000)]);

    let seen = sessions(&mut other);
    assert_eq!(seen.len(), 2);
    let first = &seen[0];
    assert_eq!(
        first.client_description.application_uri.as_ref(),
        "urn:test"
    );
    assert_eq!(first.endpoint_url.as_ref(), server.url());
    assert_eq!(first.read_count, calls(7, 1));
    assert_eq!(first.write_count, calls(0, 0));
    assert_eq!(first.create_subscription_count, calls(1, 0));
    assert_eq!(first.create_monitored_items_count, calls(1, 0));
    assert_eq!(first.publish_count, calls(3, 0));
    assert_eq!(first.current_publish_requests_in_queue, 3);
    assert_eq!(first.current_subscriptions_count, 1);
    assert_eq!(first.current_monitored_items_count, 1);
    // ActivateSession as well.
    assert_eq!(first.total_request_count, calls(13, 1));
    assert!(first.client_last_contact_time >= first.client_connection_time);
    assert_eq!(seen[1].current_subscriptions_count, 0);
    assert_ne!(seen[1].session_id, first.session_id);

    drop(one);
    let id = VariableId::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray;
    let security = structures(&mut other, id);
    let security: &SessionSecurityDiagnosticsDataType = security[0].inner_as().unwrap();
    assert_eq!(security.authentication_mechanism.as_ref(), "Anonymous");
    assert_eq!(
        security.security_policy_uri.as_ref(),
        "http://opcfoundation.org/UA/SecurityPolicy#None"
    );
}

#[test]
fn a_subscription_says_how_it_stands() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 30.0).subscription_id;
    let nodes = [1000, 1001, 1002].map(|number| item(bench(number), number, 30.0));
    let items = watch(&mut client, id, nodes.into());
    client
        .call(SetMonitoringModeRequest {
            request_header: header(),
            subscription_id: id,
            monitoring_mode: MonitoringMode::Disabled,
            monitored_item_ids: Some(vec![items[2].monitored_item_id]),
        })
        .unwrap();
    client.call::<PublishRequest>(publish(None)).unwrap();
    let again = |number| RepublishRequest {
        request_header: header(),
        subscription_id: id,
        retransmit_sequence_number: number,
    };
    client.call(again(1)).unwrap();
    client.call(again(2)).unwrap_err();
    let off = SetPublishingModeRequest {
        request_header: header(),
        publishing_enabled: false,
        subscription_ids: Some(vec![id]),
    };
    client.call(off).unwrap();
    client
        .call(DeleteMonitoredItemsRequest {
            request_header: header(),
            subscription_id: id,
            monitored_item_ids: Some(vec![items[0].monitored_item_id]),
        })
        .unwrap();
    let all = subscriptions(&mut client);
    assert_eq!(all.len(), 1);
    let seen = &all[0];
    assert_eq!(seen.subscription_id, id);
    assert_eq!(seen.session_id, sessions(&mut client)[0].session_id);
    assert_eq!(seen.publishing_interval, 30.0);
    assert_eq!(
        (seen.max_keep_alive_count, seen.max_lifetime_count),
        (KEEP_ALIVE, LIFETIME)
    );
    assert_eq!(
        (
            seen.monitored_item_count,
            seen.disabled_monitored_item_count
        ),
        (2, 1)
    );
    assert_eq!(
        (seen.publish_request_count, seen.notifications_count),
        (1, 2)
    );
    assert_eq!(seen.data_change_notifications_count, 2);
    assert_eq!(
        (seen.unacknowledged_message_count, seen.next_sequence_number),
        (1, 2)
    );
    assert_eq!(
        (seen.republish_request_count, seen.republish_message_count),
        (2, 1)
    );
    assert!(!seen.publishing_enabled);
    assert_eq!((seen.enable_count, seen.disable_count), (0, 1));

    let id = VariableId::Server_ServerDiagnostics_ServerDiagnosticsSummary;
    let summary = structures(&mut client, id);
    let summary: &ServerDiagnosticsSummaryDataType = summary[0].inner_as().unwrap();
    assert_eq!(
        (
            summary.current_session_count,
            summary.current_subscription_count
        ),
        (1, 1)
    );
    assert_eq!(summary.publishing_interval_count, 1);
    assert_eq!(summary.rejected_requests_count, 1);
}

fn summary() -> NodeId {
    ObjectId::Server_ServerDiagnostics_SessionsDiagnosticsSummary.into()
}

/// The objects of sessions, by their type.
fn objects(client: &mut Client) -> Vec<ReferenceDescription> {
    let mut all = client.below(&summary());
    all.retain(|one| one.type_definition.node_id == ObjectTypeId::SessionDiagnosticsObjectType);
    all
}

fn structure<T: Clone + Send + Sync + 'static>(value: &DataValue) -> T {
    match &value.value {
        Some(Variant::ExtensionObject(object)) => object.inner_as::<T>().cloned().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Part 5, 6.3.5: an object for each session, which is there as long as the session.
#[test]
fn each_session_has_an_object_with_all_that_its_type_declares() {
    let server = start(Config {
        threads: 2,
        ..Config::default()
    });
    let mut one = Client::plain(server.url());
    one.read(&[bench(1000)]);
    let id = subscribe(&mut one, 10_000.0).subscription_id;
    let mut other = Client::plain(server.url());
    let first = sessions(&mut other).remove(0);
    let seen = objects(&mut other);
    assert_eq!(seen.len(), 2);
    let object = seen
        .iter()
        .find(|object| object.node_id.node_id == first.session_id)
        .unwrap();
    assert_eq!(object.browse_name.name, first.session_name);
    assert_eq!(object.node_class, NodeClass::Object);

    // The same names as below the type, but for what is optional: nobody has roles here.
    let of = ObjectTypeId::SessionDiagnosticsObjectType.into();
    let mut declared = names_below(&mut other, &of);
    declared.retain(|name| name != "CurrentRoleIds");
    assert_eq!(names_below(&mut other, &first.session_id), declared);
    assert_eq!(declared.len(), 3 + 43 + 9);
    let parts = other.below(&first.session_id);
    let part = |name: &str| {
        let found = parts
            .iter()
            .find(|part| part.browse_name.name.as_ref() == name);
        found.unwrap().node_id.node_id.clone()
    };
    let whole = part("SessionDiagnostics");
    let fields = other.below(&whole);
    assert_eq!(fields.len(), 43);
    let named = |name: &str| {
        let found = fields
            .iter()
            .find(|part| part.browse_name.name.as_ref() == name);
        found.unwrap().node_id.node_id.clone()
    };
    let values = other.read(&[
        whole,
        named("ReadCount"),
        named("SessionName"),
        named("CurrentSubscriptionsCount"),
        part("SubscriptionDiagnosticsArray"),
        part("SessionSecurityDiagnostics"),
    ]);
    let told: SessionDiagnosticsDataType = structure(&values[0]);
    assert_eq!(told, first);
    assert_eq!(structure::<ServiceCounterDataType>(&values[1]), calls(1, 0));
    assert_eq!(
        values[2].value,
        Some(Variant::from(first.session_name.clone()))
    );
    assert_eq!(values[3].value, Some(1u32.into()));
    let Some(Variant::Array(own)) = &values[4].value else {
        panic!("{:?}", values[4]);
    };
    let [Variant::ExtensionObject(own)] = own.values.as_slice() else {
        panic!("{own:?}");
    };
    let own: &SubscriptionDiagnosticsDataType = own.inner_as().unwrap();
    assert_eq!(own.subscription_id, id);
    let security: SessionSecurityDiagnosticsDataType = structure(&values[5]);
    assert_eq!(security.session_id, first.session_id);
    assert_eq!(other.below(&part("SessionSecurityDiagnostics")).len(), 9);

    // What is watched goes with it.
    let watcher = subscribe(&mut other, 50.0).subscription_id;
    watch(&mut other, watcher, vec![item(named("ReadCount"), 1, 0.0)]);
    let close = CloseSessionRequest {
        request_header: header(),
        delete_subscriptions: true,
    };
    one.call(close).unwrap();
    assert_eq!(objects(&mut other).len(), 1);
    let gone = other.read(&[named("ReadCount"), first.session_id.clone()]);
    assert_eq!(gone[0].status, Some(StatusCode::BadNodeIdUnknown));
    loop {
        let sent = other.send(publish(None));
        let answer: PublishResponse = other.answer(sent).unwrap().try_into().unwrap();
        let data = answer.notification_message.notification_data;
        let changes = data.iter().flatten().filter_map(|data| {
            let change: &DataChangeNotification = data.inner_as()?;
            change.monitored_items.clone()
        });
        let unknown = Some(StatusCode::BadNodeIdUnknown);
        if changes.flatten().any(|item| item.value.status == unknown) {
            break;
        }
    }
}

/// Names of all that stands below a node, with those above each.
fn names_below(client: &mut Client, node: &NodeId) -> Vec<String> {
    let mut names = Vec::new();
    for one in client.below(node) {
        // Other types are no parts of this one.
        if one.node_class != NodeClass::Object && one.node_class != NodeClass::Variable {
            continue;
        }
        let own = one.browse_name.name.to_string();
        for deeper in names_below(client, &one.node_id.node_id) {
            names.push(format!("{own}.{deeper}"));
        }
        names.push(own);
    }
    names.sort();
    names
}

/// Part 5, 6.3.3.
#[test]
fn diagnostics_that_are_disabled_are_not_seen_and_begin_at_nothing_when_enabled() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let flag = NodeId::from(VariableId::Server_ServerDiagnostics_EnabledFlag);
    let array = NodeId::from(
        VariableId::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray,
    );
    let count = NodeId::from(
        VariableId::Server_ServerDiagnostics_ServerDiagnosticsSummary_CumulatedSessionCount,
    );
    let whole = NodeId::from(VariableId::Server_ServerDiagnostics_ServerDiagnosticsSummary);
    let nodes = [flag.clone(), array, count, whole];
    let before = client.read(&nodes);
    assert_eq!(before[0].value, Some(true.into()));
    assert_eq!(before[2].value, Some(1u32.into()));
    for _ in 0..4 {
        client.read(&[bench(1000)]);
    }
    let own = sessions(&mut client).remove(0);
    assert_eq!(own.read_count, calls(6, 0));

    assert_eq!(write_flag(&mut client, &flag, false), StatusCode::Good);
    let off = client.read(&nodes);
    assert_eq!(off[0].value, Some(false.into()));
    for value in &off[1..] {
        assert_eq!(value.status, Some(StatusCode::BadNotReadable), "{value:?}");
    }
    assert!(objects(&mut client).is_empty());
    let gone = client.read(std::slice::from_ref(&own.session_id));
    assert_eq!(gone[0].status, Some(StatusCode::BadNodeIdUnknown));

    assert_eq!(write_flag(&mut client, &flag, true), StatusCode::Good);
    let on = client.read(&nodes);
    assert_eq!(on[2].value, Some(0u32.into()));
    let on = sessions(&mut client).remove(0);
    // The one before and this one.
    assert_eq!(on.read_count, calls(2, 0));
    assert_eq!(on.session_id, own.session_id);
    assert_eq!(objects(&mut client).len(), 1);
}

fn write_flag(client: &mut Client, flag: &NodeId, value: bool) -> StatusCode {
    let request = WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: flag.clone(),
            attribute_id: 13,
            value: DataValue::value_only(value),
            ..Default::default()
        }]),
    };
    client.call(request).unwrap().results.unwrap()[0]
}

#[test]
fn who_may_only_look_switches_no_diagnostics_and_sees_nobody_s_security() {
    let server = start(Config {
        users: Users {
            anonymous_rights: Rights::READ_ONLY,
            ..Users::default()
        },
        ..Config::default()
    });
    let mut client = Client::plain(server.url());
    let flag = NodeId::from(VariableId::Server_ServerDiagnostics_EnabledFlag);
    let denied = StatusCode::BadUserAccessDenied;
    assert_eq!(write_flag(&mut client, &flag, false), denied);
    let own = sessions(&mut client).remove(0);
    let parts = client.below(&own.session_id);
    assert_eq!(parts.len(), 3);
    for part in parts {
        let value = client.read(&[part.node_id.node_id]).remove(0);
        let hidden = part.browse_name.name.as_ref() == "SessionSecurityDiagnostics";
        assert_eq!(value.status == Some(denied), hidden, "{value:?}");
    }
}

/// Every service that is counted for a session, with a request that its server refuses with a ServiceFault.
macro_rules! refused {
    ($client:ident: $($request:ident $count:ident,)*) => {
        [$((
            $client.call(wire::types::$request { request_header: header(), ..Default::default() }).map(drop),
            stringify!($request),
            (|seen: &SessionDiagnosticsDataType| seen.$count.clone()) as fn(&SessionDiagnosticsDataType) -> ServiceCounterDataType,
        ),)*]
    };
}

#[test]
fn a_service_fault_counts_in_its_session_and_in_the_server_whichever_service_it_is() {
    let server = start(Config::default());
    let mut one = Client::plain(server.url());
    let mut other = Client::plain(server.url());
    let before = server.counted().rejected_requests;
    let all = refused! { one:
        ReadRequest read_count,
        HistoryReadRequest history_read_count,
        WriteRequest write_count,
        HistoryUpdateRequest history_update_count,
        CallRequest call_count,
        CreateMonitoredItemsRequest create_monitored_items_count,
        ModifyMonitoredItemsRequest modify_monitored_items_count,
        SetMonitoringModeRequest set_monitoring_mode_count,
        SetTriggeringRequest set_triggering_count,
        DeleteMonitoredItemsRequest delete_monitored_items_count,
        ModifySubscriptionRequest modify_subscription_count,
        SetPublishingModeRequest set_publishing_mode_count,
        PublishRequest publish_count,
        RepublishRequest republish_count,
        TransferSubscriptionsRequest transfer_subscriptions_count,
        DeleteSubscriptionsRequest delete_subscriptions_count,
        AddNodesRequest add_nodes_count,
        AddReferencesRequest add_references_count,
        DeleteNodesRequest delete_nodes_count,
        DeleteReferencesRequest delete_references_count,
        BrowseRequest browse_count,
        BrowseNextRequest browse_next_count,
        TranslateBrowsePathsToNodeIdsRequest translate_browse_paths_to_node_ids_count,
        QueryFirstRequest query_first_count,
        QueryNextRequest query_next_count,
        RegisterNodesRequest register_nodes_count,
        UnregisterNodesRequest unregister_nodes_count,
    };
    let seen = sessions(&mut other).remove(0);
    for (answer, name, count) in &all {
        assert!(answer.is_err(), "{name}: {answer:?}");
        assert_eq!(count(&seen), calls(1, 1), "{name}");
    }
    let many = all.len() as u32;
    // ActivateSession as well, of which it has nothing to complain.
    assert_eq!(seen.total_request_count, calls(many + 1, many));
    let after = server.counted().rejected_requests;
    assert_eq!(after - before, u64::from(many));
}

#[test]
fn a_request_of_another_channel_and_a_response_that_is_too_long_count_as_errors() {
    let server = start(Config::default());
    let mut one = Client::taking(
        server.url(),
        wire::frame::Limits {
            receive_message: 8192,
            ..wire::frame::Limits::default()
        },
    );
    let mut other = Client::plain(server.url());
    let read = |many: usize, request_header| ReadRequest {
        request_header,
        nodes_to_read: Some(vec![read_value(bench(1000), AttributeId::Value, ""); many]),
        ..Default::default()
    };
    let id = one.send(read(2000, header()));
    assert_eq!(one.failed(id), StatusCode::BadResponseTooLarge);
    // Named by a token that is not of its channel: a Read is looked at where it lies, a Browse is decoded.
    let of_another = RequestHeader {
        authentication_token: one.token.clone(),
        ..header()
    };
    let browse = BrowseRequest {
        request_header: of_another.clone(),
        ..Default::default()
    };
    for id in [other.send(read(1, of_another)), other.send(browse)] {
        assert_eq!(other.failed(id), StatusCode::BadSecureChannelIdInvalid);
    }
    let seen = sessions(&mut other).remove(0);
    assert_eq!(seen.read_count, calls(2, 2));
    assert_eq!(seen.browse_count, calls(1, 1));
    assert_eq!(seen.unauthorized_request_count, 2);
}
