//! What sessions keep in the server is counted, refused when there is no more memory, and given back.

use std::time::Duration;

use plant::{Config, Limits, Server};
use wire::budget::Budget;
use wire::types::{
    AddNodesItem, AddNodesRequest, AttributeId, BrowseDescription, BrowseDirection,
    BrowseNextRequest, BrowseRequest, BrowseResult, ByteString, DataValue, DateTime,
    DeleteNodesItem, DeleteNodesRequest, DeleteSubscriptionsRequest, EventFilter, ExtensionObject,
    HistoryReadRequest, HistoryReadValueId, MonitoredItemCreateRequest, NodeClass, NodeId,
    ObjectId, ObjectTypeId, PublishResponse, QualifiedName, ReadRawModifiedDetails,
    ReferenceTypeId, SimpleAttributeOperand, StatusCode, TimestampsToReturn, VariableAttributes,
    VariableTypeId, Variant, WriteRequest, WriteValue,
};

use crate::client::{Client, read_value};
use crate::subscribing::{header, item, publish, subscribe, watch};
use crate::{bench, start, start_plant, until};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
const NO_MEMORY: StatusCode = StatusCode::BadOutOfMemory;

fn with(memory: &Budget, limits: Limits) -> Server {
    start(Config {
        memory: memory.clone(),
        limits,
        ..Config::default()
    })
}

fn is_served(server: &Server) {
    let value = Client::plain(server.url()).read(&[bench(1007)]).remove(0);
    assert_eq!(value.value, Some(Variant::Double(1007.0)));
}

fn write(client: &mut Client, node: &NodeId, value: Variant) -> StatusCode {
    let request = WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: node.clone(),
            attribute_id: AttributeId::Value as u32,
            value: DataValue::value_only(value),
            ..Default::default()
        }]),
    };
    client.call(request).unwrap().results.unwrap()[0]
}

fn delete_subscription(client: &mut Client, id: u32) {
    let request = DeleteSubscriptionsRequest {
        request_header: header(),
        subscription_ids: Some(vec![id]),
    };
    let deleted = client.call(request).unwrap().results.unwrap();
    assert_eq!(deleted, [StatusCode::Good]);
}

#[test]
fn items_are_refused_when_there_is_no_memory_for_more() {
    let memory = Budget::of(MIB);
    let server = with(&memory, Limits::default());
    let mut client = Client::plain(server.url());
    let mut made = 0;
    for _ in 0..2 {
        let id = subscribe(&mut client, 1000.0).subscription_id;
        let mut refused = 0;
        made = 0;
        for _ in 0..10 {
            let items = (0..1_000).map(|n| item(bench(1000 + n % 500), n, 1000.0));
            for result in watch(&mut client, id, items.collect()) {
                match result.status_code {
                    StatusCode::Good => made += 1,
                    status => {
                        assert_eq!(status, NO_MEMORY);
                        refused += 1;
                    }
                }
            }
        }
        // Half of all memory is for one session.
        assert!((1_000..6_000).contains(&made), "{made} of 10,000");
        assert_eq!(refused, 10_000 - made);
        assert!(memory.held() <= MIB / 2, "{}", memory.held());
        is_served(&server);
        // What goes gives it back: the second time there are as many.
        delete_subscription(&mut client, id);
        until(&server, "given back", |_| memory.held() == 0);
    }
    assert_eq!(server.counted().items, 0, "after {made}");
}

#[test]
fn a_queue_of_large_values_holds_what_there_is_memory_for() {
    let memory = Budget::of(8 * MIB);
    let server = with(&memory, Limits::default());
    let mut writer = Client::plain(server.url());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 60_000.0).subscription_id;
    let mut deep = item(bench(3014), 7, 5.0);
    deep.requested_parameters.queue_size = 10_000;
    watch(&mut client, id, vec![deep]);
    for n in 0..100u8 {
        let written = write(&mut writer, &bench(3014), vec![n; 102_400].into());
        assert_eq!(written, StatusCode::Good);
        std::thread::sleep(Duration::from_millis(15));
    }
    // Ten megabytes were seen. A session has half of eight.
    let held = memory.held();
    assert!((3 * MIB..5 * MIB).contains(&held), "{held}");
    is_served(&server);
    delete_subscription(&mut client, id);
    until(&server, "given back", |_| memory.held() <= 102_400);
}

#[test]
fn whoever_comes_back_is_told_of_values_for_which_there_was_no_memory() {
    let memory = Budget::of(8 * MIB);
    let limits = Limits {
        session_memory: MIB / 2,
        ..Limits::default()
    };
    let server = with(&memory, limits);
    let mut writer = Client::plain(server.url());
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 50.0).subscription_id;
    watch(&mut client, id, vec![item(bench(3014), 7, 5.0)]);
    for n in 0..20u8 {
        write(&mut writer, &bench(3014), vec![n; 102_400].into());
        std::thread::sleep(Duration::from_millis(15));
    }
    let mut seen = Vec::new();
    let mut acknowledge = None;
    while seen.len() < 20 && seen.last() != Some(&Some(StatusCode::BadOutOfMemory)) {
        let response: PublishResponse = client.call(publish(acknowledge)).unwrap();
        let message = response.notification_message;
        acknowledge = Some((id, message.sequence_number));
        for data in message.notification_data.iter().flatten() {
            let change = data.inner_as::<wire::types::DataChangeNotification>();
            let items = change.and_then(|change| change.monitored_items.as_deref());
            seen.extend(items.unwrap_or_default().iter().map(|it| it.value.status));
        }
    }
    assert!(seen.len() > 2, "{seen:?}");
    // Now that there is room again, values are values.
    write(&mut writer, &bench(3014), vec![99; 102_400].into());
    let response: PublishResponse = client.call(publish(acknowledge)).unwrap();
    let values = crate::subscribing::values(&response.notification_message);
    assert!(!values.is_empty(), "after {seen:?}");
}

/// Whoever counts what clients take.
fn counting(memory: &Budget) -> Config {
    Config {
        memory: memory.clone(),
        ..Config::default()
    }
}

const EVENTS: &str = r#"
[[namespace]]
uri = "urn:test:counted"

[[namespace.events]]
folder = "Flood"
name = "Flood{n:02}"
count = 50
type = "SystemEventType"
rate = "5000/s"
"#;

#[test]
fn events_that_wait_are_counted() {
    let memory = Budget::of(MIB);
    let server = start_plant(EVENTS, counting(&memory));
    let mut client = Client::plain(server.url());
    let id = subscribe(&mut client, 50.0).subscription_id;
    let fields = ["EventId", "Message", "SourceName"].map(|name| SimpleAttributeOperand {
        type_definition_id: ObjectTypeId::BaseEventType.into(),
        browse_path: Some(vec![QualifiedName::new(0, name)]),
        attribute_id: AttributeId::Value as u32,
        ..Default::default()
    });
    let mut request: MonitoredItemCreateRequest = item(ObjectId::Server.into(), 1, 0.0);
    request.item_to_monitor = read_value(ObjectId::Server.into(), AttributeId::EventNotifier, "");
    request.requested_parameters.queue_size = 10_000;
    request.requested_parameters.filter = ExtensionObject::from_message(EventFilter {
        select_clauses: Some(fields.to_vec()),
        where_clause: Default::default(),
    });
    let items = vec![request; 4];
    let made = watch(&mut client, id, items);
    assert!(made.iter().all(|made| made.status_code.is_good()));
    until(&server, "half a megabyte of events", |_| {
        memory.held() > MIB / 2 - 64 * KIB
    });
    std::thread::sleep(Duration::from_millis(500));
    assert!(memory.held() <= MIB / 2, "{}", memory.held());
    client.read(&[ObjectId::Server.into()]);
    delete_subscription(&mut client, id);
    until(&server, "given back", |_| memory.held() == 0);
}

fn added(n: u32, value: Variant) -> AddNodesItem {
    AddNodesItem {
        parent_node_id: NodeId::from(ObjectId::ObjectsFolder).into(),
        reference_type_id: ReferenceTypeId::Organizes.into(),
        requested_new_node_id: NodeId::new(1, format!("added {n}")).into(),
        browse_name: QualifiedName::new(1, format!("added {n}")),
        node_class: NodeClass::Variable,
        node_attributes: ExtensionObject::from_message(VariableAttributes {
            // AccessLevel and Value.
            specified_attributes: 1 | 1 << 21,
            value,
            access_level: 3,
            ..Default::default()
        }),
        type_definition: NodeId::from(VariableTypeId::BaseDataVariableType).into(),
    }
}

fn add(client: &mut Client, items: Vec<AddNodesItem>) -> Vec<(StatusCode, NodeId)> {
    let request = AddNodesRequest {
        request_header: header(),
        nodes_to_add: Some(items),
    };
    let results = client.call(request).unwrap().results.unwrap();
    let results = results.into_iter();
    results
        .map(|result| (result.status_code, result.added_node_id))
        .collect()
}

#[test]
fn nodes_that_clients_add_and_what_they_write_is_counted() {
    let memory = Budget::of(8 * MIB);
    let limits = Limits {
        added_nodes: 100_000,
        ..Limits::default()
    };
    let server = with(&memory, limits);
    let mut client = Client::plain(server.url());
    let text = |bytes: usize| Variant::from("x".repeat(bytes));
    let (mut there, mut refused) = (Vec::new(), 0);
    for n in 0..20 {
        let items = (0..10).map(|m| added(10 * n + m, text(100_000)));
        for (status, id) in add(&mut client, items.collect()) {
            match status {
                StatusCode::Good => there.push(id),
                status => {
                    assert_eq!(status, NO_MEMORY);
                    refused += 1;
                }
            }
        }
    }
    assert!((40..84).contains(&there.len()), "{} nodes", there.len());
    assert_eq!(refused, 200 - there.len());
    assert!(memory.held() <= 8 * MIB);
    is_served(&server);
    let delete = |client: &mut Client, ids: &[NodeId]| {
        let item = |id: &NodeId| DeleteNodesItem {
            node_id: id.clone(),
            delete_target_references: true,
        };
        let request = DeleteNodesRequest {
            request_header: header(),
            nodes_to_delete: Some(ids.iter().map(item).collect()),
        };
        let deleted = client.call(request).unwrap().results.unwrap();
        assert!(deleted.iter().all(|status| status.is_good()));
    };
    delete(&mut client, &there);
    until(&server, "given back", |_| memory.held() == 0);

    // Short ones that grow.
    let items = (0..100).map(|n| added(n, text(10)));
    let small: Vec<_> = add(&mut client, items.collect());
    let small: Vec<_> = small.into_iter().map(|(_, id)| id).collect();
    let written = small.iter().map(|id| write(&mut client, id, text(200_000)));
    let written: Vec<_> = written.collect();
    let good = written.iter().filter(|status| status.is_good()).count();
    let refused = written.iter().filter(|status| **status == NO_MEMORY);
    assert!((30..42).contains(&good), "{good}");
    assert_eq!(refused.count(), 100 - good);
    let kept = client.read(&small[99..]).remove(0).value;
    assert_eq!(kept, Some(text(10)), "what was refused is not written");
    is_served(&server);
    delete(&mut client, &small);
    until(&server, "given back", |_| memory.held() == 0);
}

fn browse(times: usize) -> BrowseRequest {
    let what = BrowseDescription {
        node_id: bench(1),
        browse_direction: BrowseDirection::Forward,
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: 0,
    };
    BrowseRequest {
        request_header: header(),
        view: Default::default(),
        requested_max_references_per_node: 1,
        nodes_to_browse: Some(vec![what; times]),
    }
}

#[test]
fn continuation_points_of_browses_are_counted() {
    let memory = Budget::of(MIB);
    let limits = Limits {
        continuation_points: 1_000_000,
        ..Limits::default()
    };
    let server = with(&memory, limits);
    let mut client = Client::plain(server.url());
    let (mut points, mut refused) = (Vec::new(), 0);
    for _ in 0..40 {
        let results: Vec<BrowseResult> = client.call(browse(500)).unwrap().results.unwrap();
        for result in results {
            match result.status_code {
                StatusCode::Good => points.push(result.continuation_point),
                status => {
                    assert_eq!(status, NO_MEMORY);
                    refused += 1;
                }
            }
        }
    }
    assert!((4_000..19_000).contains(&points.len()), "{}", points.len());
    assert_eq!(refused, 20_000 - points.len());
    is_served(&server);
    for points in points.chunks(500) {
        let request = BrowseNextRequest {
            request_header: header(),
            release_continuation_points: true,
            continuation_points: Some(points.to_vec()),
        };
        client.call(request).unwrap();
    }
    until(&server, "given back", |_| memory.held() == 0);
}

#[test]
fn a_request_that_is_larger_than_the_memory_there_is_for_it_is_refused_as_a_whole() {
    let memory = Budget::of(8 * MIB);
    let limits = Limits {
        session_memory: MIB / 2,
        ..Limits::default()
    };
    let server = with(&memory, limits);
    let mut client = Client::plain(server.url());
    let mut large = browse(10_000);
    large.requested_max_references_per_node = 0;
    for browse in large.nodes_to_browse.iter_mut().flatten() {
        browse.node_id = NodeId::new(2, "x".repeat(50));
    }
    // Its bytes alone are 0.9 MB.
    assert_eq!(client.call(large).unwrap_err(), NO_MEMORY);
    assert_eq!(
        client.call(browse(100)).unwrap().results.unwrap().len(),
        100
    );
    // A connection keeps so much for the next one.
    until(&server, "given back", |_| memory.held() <= 64 * KIB);
}

const HISTORY: &str = r#"
[limits]
continuation_points = 1_000_000

[[namespace]]
uri = "urn:test:counted"

[[namespace.signals]]
ids = "i=1"
type = "UInt32"
pattern = "counter"
update = "1ms"
history = true
"#;

#[test]
fn continuation_points_of_histories_are_counted() {
    let memory = Budget::of(MIB);
    let server = start_plant(HISTORY, counting(&memory));
    let mut client = Client::plain(server.url());
    std::thread::sleep(Duration::from_millis(100));
    let read = |points: Vec<ByteString>, release| HistoryReadRequest {
        request_header: header(),
        history_read_details: ExtensionObject::from_message(ReadRawModifiedDetails {
            is_read_modified: false,
            start_time: DateTime::from(1),
            end_time: DateTime::from(i64::MAX / 2),
            num_values_per_node: 2,
            return_bounds: false,
        }),
        timestamps_to_return: TimestampsToReturn::Both,
        release_continuation_points: release,
        nodes_to_read: Some(
            points
                .into_iter()
                .map(|continuation_point| HistoryReadValueId {
                    node_id: NodeId::new(2, 1u32),
                    continuation_point,
                    ..Default::default()
                })
                .collect(),
        ),
    };
    let (mut points, mut refused) = (Vec::new(), 0);
    for _ in 0..40 {
        let request = read(vec![ByteString::null(); 500], false);
        for result in client.call(request).unwrap().results.unwrap() {
            match result.status_code {
                StatusCode::Good => points.push(result.continuation_point),
                status => {
                    assert_eq!(status, NO_MEMORY);
                    refused += 1;
                }
            }
        }
    }
    assert!((2_000..15_000).contains(&points.len()), "{}", points.len());
    assert_eq!(refused, 20_000 - points.len());
    client.read(&[NodeId::new(2, 1u32)]);
    for points in points.chunks(500) {
        client.call(read(points.to_vec(), true)).unwrap();
    }
    until(&server, "given back", |_| memory.held() == 0);
}
