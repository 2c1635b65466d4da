//! Requests that mean something to the server, made from a few bytes.

use wire::service::Request;
use wire::types::{
    AddNodesItem, AddNodesRequest, AddReferencesItem, AddReferencesRequest, BrowseDescription,
    BrowseDirection, BrowseNextRequest, BrowsePath, BrowseRequest, ByteString, CallMethodRequest,
    CallRequest, CancelRequest, CloseSessionRequest, CreateMonitoredItemsRequest,
    CreateSubscriptionRequest, DataChangeFilter, DataChangeTrigger, DateTime,
    DeleteMonitoredItemsRequest, DeleteNodesItem, DeleteNodesRequest, DeleteRawModifiedDetails,
    DeleteReferencesItem, DeleteReferencesRequest, DeleteSubscriptionsRequest, ExtensionObject,
    FindServersRequest, GetEndpointsRequest, HistoryReadRequest, HistoryReadValueId,
    HistoryUpdateRequest, ModifyMonitoredItemsRequest, ModifySubscriptionRequest,
    MonitoredItemCreateRequest, MonitoredItemModifyRequest, MonitoringMode, MonitoringParameters,
    NodeClass, NodeId, NumericRange, ObjectAttributes, PublishRequest, QualifiedName,
    ReadAtTimeDetails, ReadRawModifiedDetails, ReadRequest, ReadValueId, RegisterNodesRequest,
    RelativePath, RelativePathElement, RepublishRequest, RequestHeader, SetMonitoringModeRequest,
    SetPublishingModeRequest, SetTriggeringRequest, SubscriptionAcknowledgement,
    TimestampsToReturn, TransferSubscriptionsRequest, TranslateBrowsePathsToNodeIdsRequest,
    UnregisterNodesRequest, Variant, WriteRequest, WriteValue,
};

use crate::script::Script;

/// How many kinds there are.
pub const KINDS: usize = 33;

/// Numbers that requests go on with.
#[derive(Debug, Default)]
pub struct Known {
    pub subscriptions: Vec<u32>,
    pub items: Vec<u32>,
    pub points: Vec<ByteString>,
    pub sequences: Vec<(u32, u32)>,
}

fn header() -> RequestHeader {
    RequestHeader::default()
}

/// Nodes of the plant, of the standard, of those that were added, and of nobody.
fn node(script: &mut Script<'_>) -> NodeId {
    let number = u32::from(script.byte());
    match script.below(8) {
        0 => NodeId::new(0, 84 + number % 8),
        1 => NodeId::new(0, [2253, 2256, 2267, 85, 11_492, 2004][number as usize % 6]),
        2 => NodeId::new(1, number),
        3 => NodeId::new(2, number * 257),
        4 => NodeId::new(2, 100 + number % 3),
        _ => NodeId::new(2, 1 + number % 60),
    }
}

fn count(script: &mut Script<'_>) -> usize {
    [1, 1, 2, 5, 30, 200, 1000, 3000][script.below(8)]
}

/// The same few again and again.
fn several<T: Clone>(script: &mut Script<'_>, one: impl Fn(&mut Script<'_>) -> T) -> Vec<T> {
    let (count, kinds) = (count(script), 1 + script.below(3));
    let kinds: Vec<T> = (0..kinds).map(|_| one(script)).collect();
    kinds.into_iter().cycle().take(count).collect()
}

fn read_value(script: &mut Script<'_>) -> ReadValueId {
    let node_id = node(script);
    let (attribute_id, index_range) = match script.below(4) {
        0 => (u32::from(script.byte()) % 28, NumericRange::None),
        1 => (13, part(script)),
        _ => (13, NumericRange::None),
    };
    ReadValueId {
        node_id,
        attribute_id,
        index_range,
        data_encoding: QualifiedName::null(),
    }
}

/// A part of an array, which has to be there whole for that.
fn part(script: &mut Script<'_>) -> NumericRange {
    let first = u32::from(script.byte()) * 100;
    NumericRange::Range(first, first + 1)
}

/// A path, now and then a long one.
fn elements(script: &mut Script<'_>) -> Vec<RelativePathElement> {
    let element = RelativePathElement {
        reference_type_id: NodeId::new(0, [33, 31][script.below(2)]),
        is_inverse: script.byte() & 1 == 1,
        include_subtypes: true,
        target_name: QualifiedName::new(0, ["Server", "Objects"][script.below(2)]),
    };
    vec![element; [1, 2, 3, 5][script.below(4)]]
}

fn parameters(script: &mut Script<'_>) -> MonitoringParameters {
    let filter = match script.below(4) {
        0 => ExtensionObject::from_message(DataChangeFilter {
            trigger: DataChangeTrigger::StatusValueTimestamp,
            deadband_type: u32::from(script.byte()) % 3,
            deadband_value: f64::from(script.byte()),
        }),
        _ => ExtensionObject::null(),
    };
    MonitoringParameters {
        client_handle: u32::from(script.byte()),
        sampling_interval: [0.0, -1.0, 50.0, 1000.0, f64::NAN, 1e300][script.below(6)],
        filter,
        queue_size: [0, 1, 10, 5000, u32::MAX][script.below(5)],
        discard_oldest: script.byte() & 1 == 0,
    }
}

fn of(known: &[u32], script: &mut Script<'_>) -> u32 {
    let at = script.byte();
    match known.get(usize::from(at) % known.len().max(1)) {
        Some(number) if at < 0xf0 => *number,
        _ => u32::from(at),
    }
}

/// A request of the kind that the script says, and long if it says so.
pub fn request(script: &mut Script<'_>, known: &Known) -> Request {
    let kind = script.below(KINDS);
    match kind {
        0 => ReadRequest {
            request_header: header(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Both,
            nodes_to_read: Some(several(script, read_value)),
        }
        .into(),
        1 => WriteRequest {
            request_header: header(),
            nodes_to_write: Some(several(script, |script| {
                let node_id = node(script);
                let (index_range, value) = match script.below(4) {
                    0 => (NumericRange::None, Variant::Double(1.5)),
                    1 => (NumericRange::None, Variant::UInt32(7)),
                    2 => (part(script), Variant::from(vec![1_u8, 2])),
                    _ => {
                        let text = "text".repeat(script.below(255));
                        (NumericRange::None, Variant::from(text))
                    }
                };
                WriteValue {
                    node_id,
                    attribute_id: 13,
                    index_range,
                    value: value.into(),
                }
            })),
        }
        .into(),
        2 => BrowseRequest {
            request_header: header(),
            view: Default::default(),
            requested_max_references_per_node: u32::from(script.byte()),
            nodes_to_browse: Some(several(script, |script| BrowseDescription {
                node_id: node(script),
                browse_direction: [
                    BrowseDirection::Forward,
                    BrowseDirection::Inverse,
                    BrowseDirection::Both,
                ][script.below(3)],
                reference_type_id: NodeId::new(0, [33, 31, 0, 46][script.below(4)]),
                include_subtypes: true,
                node_class_mask: u32::from(script.byte()),
                result_mask: 63,
            })),
        }
        .into(),
        3 => BrowseNextRequest {
            request_header: header(),
            release_continuation_points: script.byte() & 1 == 1,
            continuation_points: Some(several(script, |script| {
                let at = script.below(known.points.len());
                known.points.get(at).cloned().unwrap_or_default()
            })),
        }
        .into(),
        4 => TranslateBrowsePathsToNodeIdsRequest {
            request_header: header(),
            browse_paths: Some(several(script, |script| BrowsePath {
                starting_node: node(script),
                relative_path: RelativePath {
                    elements: Some(elements(script)),
                },
            })),
        }
        .into(),
        5 => HistoryReadRequest {
            request_header: header(),
            history_read_details: ExtensionObject::from_message(ReadRawModifiedDetails {
                is_read_modified: false,
                start_time: DateTime::from(134_116_000_000_000_000),
                end_time: DateTime::from(134_200_000_000_000_000),
                num_values_per_node: u32::from(script.byte()),
                return_bounds: script.byte() & 1 == 1,
            }),
            timestamps_to_return: TimestampsToReturn::Both,
            release_continuation_points: script.byte() & 1 == 1,
            nodes_to_read: Some(several(script, |script| HistoryReadValueId {
                node_id: node(script),
                ..Default::default()
            })),
        }
        .into(),
        6 => CallRequest {
            request_header: header(),
            methods_to_call: Some(several(script, |script| CallMethodRequest {
                object_id: NodeId::new(0, 2253),
                method_id: NodeId::new(0, [11_492, 12_873, 12_749][script.below(3)]),
                input_arguments: Some(vec![Variant::UInt32(of(&known.subscriptions, script))]),
            })),
        }
        .into(),
        7 | 28 => CreateSubscriptionRequest {
            request_header: header(),
            requested_publishing_interval: [0.0, 50.0, 500.0, f64::INFINITY][script.below(4)],
            requested_lifetime_count: u32::from(script.byte()) << 24,
            requested_max_keep_alive_count: u32::from(script.byte()),
            max_notifications_per_publish: u32::from(script.byte()) % 4,
            publishing_enabled: script.byte() & 3 != 3,
            priority: script.byte(),
        }
        .into(),
        8 => ModifySubscriptionRequest {
            request_header: header(),
            subscription_id: of(&known.subscriptions, script),
            requested_publishing_interval: f64::from(script.byte()),
            requested_lifetime_count: u32::from(script.byte()),
            requested_max_keep_alive_count: u32::from(script.byte()) << 20,
            max_notifications_per_publish: u32::from(script.byte()),
            priority: script.byte(),
        }
        .into(),
        9 => SetPublishingModeRequest {
            request_header: header(),
            publishing_enabled: script.byte() & 1 == 1,
            subscription_ids: Some(several(script, |script| of(&known.subscriptions, script))),
        }
        .into(),
        10 => DeleteSubscriptionsRequest {
            request_header: header(),
            subscription_ids: Some(several(script, |script| of(&known.subscriptions, script))),
        }
        .into(),
        11 | 27 => CreateMonitoredItemsRequest {
            request_header: header(),
            subscription_id: of(&known.subscriptions, script),
            timestamps_to_return: TimestampsToReturn::Both,
            items_to_create: Some(several(script, |script| MonitoredItemCreateRequest {
                item_to_monitor: read_value(script),
                monitoring_mode: mode(script),
                requested_parameters: parameters(script),
            })),
        }
        .into(),
        12 => ModifyMonitoredItemsRequest {
            request_header: header(),
            subscription_id: of(&known.subscriptions, script),
            timestamps_to_return: TimestampsToReturn::Both,
            items_to_modify: Some(several(script, |script| MonitoredItemModifyRequest {
                monitored_item_id: of(&known.items, script),
                requested_parameters: parameters(script),
            })),
        }
        .into(),
        13 => SetMonitoringModeRequest {
            request_header: header(),
            subscription_id: of(&known.subscriptions, script),
            monitoring_mode: mode(script),
            monitored_item_ids: Some(several(script, |script| of(&known.items, script))),
        }
        .into(),
        14 => SetTriggeringRequest {
            request_header: header(),
            subscription_id: of(&known.subscriptions, script),
            triggering_item_id: of(&known.items, script),
            links_to_add: Some(several(script, |script| of(&known.items, script))),
            links_to_remove: Some(several(script, |script| of(&known.items, script))),
        }
        .into(),
        15 => DeleteMonitoredItemsRequest {
            request_header: header(),
            subscription_id: of(&known.subscriptions, script),
            monitored_item_ids: Some(several(script, |script| of(&known.items, script))),
        }
        .into(),
        16 | 26 => PublishRequest {
            request_header: header(),
            subscription_acknowledgements: Some(several(script, |script| {
                let at = script.below(known.sequences.len());
                let (subscription_id, sequence_number) =
                    known.sequences.get(at).copied().unwrap_or_default();
                SubscriptionAcknowledgement {
                    subscription_id,
                    sequence_number,
                }
            })),
        }
        .into(),
        17 => RepublishRequest {
            request_header: header(),
            subscription_id: of(&known.subscriptions, script),
            retransmit_sequence_number: u32::from(script.byte()),
        }
        .into(),
        18 => TransferSubscriptionsRequest {
            request_header: header(),
            subscription_ids: Some(several(script, |script| of(&known.subscriptions, script))),
            send_initial_values: script.byte() & 1 == 1,
        }
        .into(),
        19 => AddNodesRequest {
            request_header: header(),
            nodes_to_add: Some(several(script, |script| AddNodesItem {
                parent_node_id: node(script).into(),
                reference_type_id: NodeId::new(0, 35),
                requested_new_node_id: NodeId::new(1, u32::from(script.byte())).into(),
                browse_name: QualifiedName::new(1, "added"),
                node_class: NodeClass::Object,
                node_attributes: ExtensionObject::from_message(ObjectAttributes::default()),
                type_definition: NodeId::new(0, 61).into(),
            })),
        }
        .into(),
        20 => DeleteNodesRequest {
            request_header: header(),
            nodes_to_delete: Some(several(script, |script| DeleteNodesItem {
                node_id: NodeId::new(1, u32::from(script.byte())),
                delete_target_references: true,
            })),
        }
        .into(),
        21 => RegisterNodesRequest {
            request_header: header(),
            nodes_to_register: Some(several(script, node)),
        }
        .into(),
        22 => UnregisterNodesRequest {
            request_header: header(),
            nodes_to_unregister: Some(several(script, node)),
        }
        .into(),
        23 => CancelRequest {
            request_header: header(),
            request_handle: u32::from(script.byte()),
        }
        .into(),
        24 => CloseSessionRequest {
            request_header: header(),
            delete_subscriptions: script.byte() & 1 == 1,
        }
        .into(),
        29 => AddReferencesRequest {
            request_header: header(),
            references_to_add: Some(several(script, |script| AddReferencesItem {
                source_node_id: node(script),
                reference_type_id: NodeId::new(0, [35, 47, 40, 33][script.below(4)]),
                is_forward: script.byte() & 1 == 0,
                target_server_uri: Default::default(),
                target_node_id: node(script).into(),
                target_node_class: NodeClass::Object,
            })),
        }
        .into(),
        30 => DeleteReferencesRequest {
            request_header: header(),
            references_to_delete: Some(several(script, |script| DeleteReferencesItem {
                source_node_id: node(script),
                reference_type_id: NodeId::new(0, [35, 47, 40, 33][script.below(4)]),
                is_forward: script.byte() & 1 == 0,
                target_node_id: node(script).into(),
                delete_bidirectional: script.byte() & 1 == 0,
            })),
        }
        .into(),
        31 => HistoryReadRequest {
            request_header: header(),
            history_read_details: ExtensionObject::from_message(ReadAtTimeDetails {
                req_times: Some(several(script, |script| {
                    DateTime::from(134_116_992_000_000_000 + i64::from(script.byte()) * 100_000)
                })),
                use_simple_bounds: false,
            }),
            timestamps_to_return: TimestampsToReturn::Both,
            release_continuation_points: false,
            nodes_to_read: Some(several(script, |script| HistoryReadValueId {
                node_id: node(script),
                ..Default::default()
            })),
        }
        .into(),
        32 => HistoryUpdateRequest {
            request_header: header(),
            history_update_details: Some(several(script, |script| {
                ExtensionObject::from_message(DeleteRawModifiedDetails {
                    node_id: node(script),
                    is_delete_modified: false,
                    start_time: DateTime::from(134_116_000_000_000_000),
                    end_time: DateTime::from(134_200_000_000_000_000),
                })
            })),
        }
        .into(),
        _ => match script.below(2) {
            0 => GetEndpointsRequest {
                request_header: header(),
                endpoint_url: "opc.tcp://127.0.0.1:4840".into(),
                locale_ids: None,
                profile_uris: None,
            }
            .into(),
            _ => FindServersRequest {
                request_header: header(),
                endpoint_url: "opc.tcp://127.0.0.1:4840".into(),
                locale_ids: None,
                server_uris: None,
            }
            .into(),
        },
    }
}

fn mode(script: &mut Script<'_>) -> MonitoringMode {
    [
        MonitoringMode::Reporting,
        MonitoringMode::Sampling,
        MonitoringMode::Disabled,
    ][script.below(3)]
}
