//! ServerDiagnostics (Part 5, 6.3.3 to 6.3.5): what it says is what was done.

use plant::Config;
use wire::types::{
    Array, DeleteMonitoredItemsRequest, ExtensionObject, MonitoringMode, NodeId, PublishRequest,
    ReadRequest, RepublishRequest, ServerDiagnosticsSummaryDataType, ServiceCounterDataType,
    SessionDiagnosticsDataType, SessionSecurityDiagnosticsDataType, SetMonitoringModeRequest,
    SetPublishingModeRequest, StatusCode, SubscriptionDiagnosticsDataType, TimestampsToReturn,
    VariableId, Variant,
};

use crate::client::Client;
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
