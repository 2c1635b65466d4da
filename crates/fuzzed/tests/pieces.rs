//! Every service with many operations answers in pieces: with faults and without, another client is answered in each turn.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::time::Duration;

use fuzzed::plant::caller::Caller;
use fuzzed::plant::served::Served;
use plant::in_memory::InMemory;
use plant::{Config, Limits, Plant};
use wire::service::{Request, Response};
use wire::types::{
    AddNodesItem, AddNodesRequest, BrowseDescription, BrowseDirection, BrowseNextRequest,
    BrowsePath, BrowseRequest, ByteString, CallMethodRequest, CallRequest,
    CreateMonitoredItemsRequest, CreateSubscriptionRequest, DataChangeNotification, DateTime,
    DeleteMonitoredItemsRequest, DeleteNodesItem, DeleteNodesRequest, DeleteSubscriptionsRequest,
    ExtensionObject, HistoryReadRequest, HistoryReadValueId, ModifyMonitoredItemsRequest,
    MonitoredItemCreateRequest, MonitoredItemModifyRequest, MonitoringMode, MonitoringParameters,
    NodeClass, NodeId, NumericRange, ObjectAttributes, PublishRequest, PublishResponse,
    QualifiedName, ReadRawModifiedDetails, ReadRequest, ReadValueId, RegisterNodesRequest,
    RelativePath, RelativePathElement, SetMonitoringModeRequest, SetTriggeringRequest, StatusCode,
    TimestampsToReturn, TranslateBrowsePathsToNodeIdsRequest, Variant, WriteRequest, WriteValue,
};

/// The pipe to a client, and the longest answer that it takes.
const ROOM: usize = 1 << 20;
const LONGEST: u32 = 64 << 20;
/// Turns of an answer that does not come to its end.
const ENDLESS: usize = 20_000;

const TEXT: &str = r#"
[[namespace]]
uri = "urn:test:pieces"

[[namespace.signals]]
ids = "i=1..500"
type = "Double"
access = "read-write"

[[namespace.signals]]
ids = "i=1001"
type = "Byte"
dimensions = [100_000]
access = "read-write"

[[namespace.signals]]
ids = "i=2001..2040"
type = "UInt32"
pattern = "counter"
update = "10ms"
history = true
"#;

/// A plant with a client who has a session and asks for one value at a time, and one who asks for much.
struct Two {
    server: Served,
    good: Caller,
    greedy: Caller,
}

impl Two {
    fn with(faults: &[&str]) -> Self {
        let plant = Plant::parse(TEXT, "pieces", Path::new("")).unwrap();
        let config = plant.config(Config {
            profiles: Vec::new(),
            ..Config::default()
        });
        let mut server = Served(
            InMemory::new(Config {
                limits: Limits {
                    items_per_call: 30_000,
                    added_nodes: 10_000,
                    methods_per_call: 10_000,
                    session_timeout: Duration::from_secs(3600)..=Duration::from_secs(3600),
                    ..Limits::default()
                },
                faults: faults.iter().map(|text| text.parse().unwrap()).collect(),
                ..config
            })
            .unwrap(),
        );
        let mut come = || {
            let mut caller = Caller::connect(&mut server, ROOM, LONGEST);
            caller.log_in(&mut server, true).unwrap();
            caller
        };
        let (good, greedy) = (come(), come());
        Self {
            server,
            good,
            greedy,
        }
    }

    /// The answer to a request, and in how many turns it came; the other client was answered in each of them.
    fn ask(&mut self, request: impl Into<Request>) -> (Response, usize) {
        let mut request = request.into();
        let asked = self.greedy.ask(self.server.now(), &mut request).unwrap();
        for turns in 0..ENDLESS {
            self.greedy.exchange(self.server.now());
            let mut answers = self.greedy.answers();
            if let Some((_, answer)) = answers.find(|(id, _)| *id == asked) {
                return (answer, turns);
            }
            self.good.is_answered(&mut self.server);
            // What a fault holds back comes when time has passed.
            self.server.pass(Duration::from_millis(1));
        }
        panic!("no answer in {ENDLESS} turns");
    }

    fn answer(&mut self, request: impl Into<Request>) -> Response {
        self.ask(request).0
    }

    fn subscribe(&mut self) -> u32 {
        let request = CreateSubscriptionRequest {
            requested_publishing_interval: 3_600_000.0,
            requested_lifetime_count: 1_000,
            requested_max_keep_alive_count: 100,
            publishing_enabled: true,
            ..Default::default()
        };
        match self.answer(request) {
            Response::CreateSubscription(it) => it.subscription_id,
            other => panic!("{other:?}"),
        }
    }

    /// A subscription with so many items.
    fn watch(&mut self, items: usize) -> (u32, Vec<u32>) {
        let subscription = self.subscribe();
        let Response::CreateMonitoredItems(made) = self.answer(create(subscription, items)) else {
            panic!();
        };
        let made = made.results.unwrap();
        (
            subscription,
            made.iter().map(|it| it.monitored_item_id).collect(),
        )
    }
}

fn node(number: u32) -> NodeId {
    NodeId::new(2, number)
}

fn browse(times: usize, most: u32) -> BrowseRequest {
    let what = BrowseDescription {
        node_id: NodeId::new(0, 85),
        browse_direction: BrowseDirection::Forward,
        reference_type_id: NodeId::new(0, 33),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: 63,
    };
    BrowseRequest {
        requested_max_references_per_node: most,
        nodes_to_browse: Some(vec![what; times]),
        ..Default::default()
    }
}

fn create(subscription_id: u32, items: usize) -> CreateMonitoredItemsRequest {
    let item = |n: usize| MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId {
            node_id: node(1 + n as u32 % 500),
            attribute_id: 13,
            ..Default::default()
        },
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: parameters(),
    };
    CreateMonitoredItemsRequest {
        subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some((0..items).map(item).collect()),
        ..Default::default()
    }
}

fn parameters() -> MonitoringParameters {
    MonitoringParameters {
        sampling_interval: 3_600_000.0,
        queue_size: 1,
        ..Default::default()
    }
}

/// What is asked for after what has to be there for it, and how many results are good then.
type Case = (&'static str, fn(&mut Two) -> Request, usize);

/// How many results of an answer are good.
fn good(response: &Response) -> usize {
    fn of<T>(results: &Option<Vec<T>>, status: impl Fn(&T) -> StatusCode) -> usize {
        let results = results.iter().flatten();
        results.filter(|one| status(one).is_good()).count()
    }
    match response {
        Response::Read(it) => of(&it.results, |it| it.status.unwrap_or(StatusCode::Good)),
        Response::Write(it) => of(&it.results, |it| *it),
        Response::Browse(it) => of(&it.results, |it| it.status_code),
        Response::BrowseNext(it) => of(&it.results, |it| it.status_code),
        Response::TranslateBrowsePathsToNodeIds(it) => of(&it.results, |it| it.status_code),
        Response::HistoryRead(it) => of(&it.results, |it| it.status_code),
        Response::Call(it) => of(&it.results, |it| it.status_code),
        Response::CreateMonitoredItems(it) => of(&it.results, |it| it.status_code),
        Response::ModifyMonitoredItems(it) => of(&it.results, |it| it.status_code),
        Response::SetMonitoringMode(it) => of(&it.results, |it| *it),
        Response::DeleteMonitoredItems(it) => of(&it.results, |it| *it),
        Response::AddNodes(it) => of(&it.results, |it| it.status_code),
        Response::DeleteNodes(it) => of(&it.results, |it| *it),
        Response::RegisterNodes(it) => it.registered_node_ids.iter().flatten().count(),
        other => panic!("{other:?}"),
    }
}

/// Each service with the name that faults have for it.
const CASES: [Case; 16] = [
    (
        "read",
        |_| {
            // Ten characters each, of values that are there whole.
            let what = ReadValueId {
                node_id: node(1001),
                attribute_id: 13,
                index_range: NumericRange::Range(99_990, 99_999),
                ..Default::default()
            };
            ReadRequest {
                timestamps_to_return: TimestampsToReturn::Neither,
                nodes_to_read: Some(vec![what; 500]),
                ..Default::default()
            }
            .into()
        },
        500,
    ),
    (
        "write",
        |_| {
            let what = WriteValue {
                node_id: node(1001),
                attribute_id: 13,
                index_range: NumericRange::Range(0, 1),
                value: Variant::from(vec![1_u8, 2]).into(),
            };
            write(vec![what; 200])
        },
        200,
    ),
    (
        "write",
        |_| {
            let what = |n: u32| WriteValue {
                node_id: node(1 + n % 500),
                attribute_id: 13,
                index_range: NumericRange::None,
                value: Variant::Double(f64::from(n)).into(),
            };
            write((0..10_000).map(what).collect())
        },
        10_000,
    ),
    ("browse", |_| browse(300, 0).into(), 300),
    (
        "browsenext",
        |two| {
            let Response::Browse(found) = two.answer(browse(100, 250)) else {
                panic!();
            };
            let points = found.results.into_iter().flatten();
            let points: Vec<ByteString> = points.map(|it| it.continuation_point).collect();
            BrowseNextRequest {
                continuation_points: Some(points),
                ..Default::default()
            }
            .into()
        },
        100,
    ),
    (
        "translatebrowsepathstonodeids",
        |_| {
            let any = RelativePathElement {
                reference_type_id: NodeId::null(),
                is_inverse: false,
                include_subtypes: true,
                target_name: QualifiedName::new(0, "Server"),
            };
            let path = BrowsePath {
                starting_node: NodeId::new(0, 85),
                relative_path: RelativePath {
                    elements: Some(vec![any]),
                },
            };
            TranslateBrowsePathsToNodeIdsRequest {
                browse_paths: Some(vec![path; 500]),
                ..Default::default()
            }
            .into()
        },
        500,
    ),
    (
        "historyread",
        |two| {
            two.server.pass(Duration::from_secs(30));
            let nodes = (2001..=2040).map(|id| HistoryReadValueId {
                node_id: node(id),
                ..Default::default()
            });
            HistoryReadRequest {
                history_read_details: ExtensionObject::from_message(ReadRawModifiedDetails {
                    is_read_modified: false,
                    start_time: DateTime::from(134_116_000_000_000_000),
                    end_time: DateTime::from(134_200_000_000_000_000),
                    num_values_per_node: 0,
                    return_bounds: false,
                }),
                timestamps_to_return: TimestampsToReturn::Both,
                nodes_to_read: Some(nodes.collect()),
                ..Default::default()
            }
            .into()
        },
        40,
    ),
    (
        "call",
        |two| {
            let (subscription, _) = two.watch(500);
            // Which items there are: some kilobytes.
            let what = CallMethodRequest {
                object_id: NodeId::new(0, 2253),
                method_id: NodeId::new(0, 11_492),
                input_arguments: Some(vec![Variant::UInt32(subscription)]),
            };
            CallRequest {
                methods_to_call: Some(vec![what; 400]),
                ..Default::default()
            }
            .into()
        },
        400,
    ),
    (
        "createmonitoreditems",
        |two| create(two.subscribe(), 10_000).into(),
        10_000,
    ),
    (
        "modifymonitoreditems",
        |two| {
            let (subscription_id, items) = two.watch(10_000);
            let one = |id| MonitoredItemModifyRequest {
                monitored_item_id: id,
                requested_parameters: parameters(),
            };
            ModifyMonitoredItemsRequest {
                subscription_id,
                timestamps_to_return: TimestampsToReturn::Both,
                items_to_modify: Some(items.into_iter().map(one).collect()),
                ..Default::default()
            }
            .into()
        },
        10_000,
    ),
    (
        "setmonitoringmode",
        |two| {
            let (subscription_id, items) = two.watch(10_000);
            SetMonitoringModeRequest {
                subscription_id,
                monitoring_mode: MonitoringMode::Disabled,
                monitored_item_ids: Some(items),
                ..Default::default()
            }
            .into()
        },
        10_000,
    ),
    (
        "deletemonitoreditems",
        |two| {
            let (subscription_id, items) = two.watch(10_000);
            DeleteMonitoredItemsRequest {
                subscription_id,
                monitored_item_ids: Some(items),
                ..Default::default()
            }
            .into()
        },
        10_000,
    ),
    ("addnodes", |_| added(0).into(), 2_000),
    (
        "addnodes",
        |two| {
            // Names below the parent are compared.
            two.answer(added(0));
            added(2_000).into()
        },
        2_000,
    ),
    (
        "deletenodes",
        |two| {
            two.answer(added(0));
            let one = |n: u32| DeleteNodesItem {
                node_id: NodeId::new(2, 10_000 + n),
                delete_target_references: true,
            };
            DeleteNodesRequest {
                nodes_to_delete: Some((0..2_000).map(one).collect()),
                ..Default::default()
            }
            .into()
        },
        2_000,
    ),
    (
        "registernodes",
        |_| {
            RegisterNodesRequest {
                nodes_to_register: Some(vec![node(1); 10_000]),
                ..Default::default()
            }
            .into()
        },
        10_000,
    ),
];

fn write(nodes_to_write: Vec<WriteValue>) -> Request {
    WriteRequest {
        nodes_to_write: Some(nodes_to_write),
        ..Default::default()
    }
    .into()
}

/// Two thousand objects in the folder Objects.
fn added(first: u32) -> AddNodesRequest {
    let one = |n: u32| AddNodesItem {
        parent_node_id: NodeId::new(0, 85).into(),
        reference_type_id: NodeId::new(0, 35),
        requested_new_node_id: NodeId::new(2, 10_000 + n).into(),
        browse_name: QualifiedName::new(2, format!("added {n}")),
        node_class: NodeClass::Object,
        node_attributes: ExtensionObject::from_message(ObjectAttributes::default()),
        type_definition: NodeId::new(0, 61).into(),
    };
    AddNodesRequest {
        nodes_to_add: Some((first..first + 2_000).map(one).collect()),
        ..Default::default()
    }
}

/// Turns that each of them takes at least.
const TURNS: usize = 3;

fn come_in_pieces(faults: impl Fn(&str) -> Vec<String>) {
    for (service, request, results) in CASES {
        let faults = faults(service);
        let mut two = Two::with(&faults.iter().map(String::as_str).collect::<Vec<_>>());
        let request = request(&mut two);
        let (answer, turns) = two.ask(request);
        assert_eq!(good(&answer), results, "{service}");
        assert!(turns >= TURNS, "{service} in {turns} turns with {faults:?}");
    }
}

#[test]
fn every_service_with_many_operations_answers_in_pieces() {
    come_in_pieces(|_| Vec::new());
}

/// Requests are taken another way when there are faults at all.
#[test]
fn they_do_with_a_fault_rule_that_hits_nothing() {
    come_in_pieces(|_| vec!["repeat,on=read,every=1000000".into()]);
}

/// An answer that comes twice is made in pieces, and kept until it is whole.
#[test]
fn they_do_when_a_fault_has_its_way_with_the_answer() {
    come_in_pieces(|service| vec![format!("repeat,on={service},every=1,times=1")]);
}

#[test]
fn items_of_a_subscription_that_ends_are_forgotten_in_pieces() {
    let mut two = Two::with(&[]);
    let (subscription, _) = two.watch(30_000);
    two.watch(100);
    while two.server.turn() {}
    let before = two.server.has();
    let (_, turns) = two.ask(DeleteSubscriptionsRequest {
        subscription_ids: Some(vec![subscription]),
        ..Default::default()
    });
    // The answer does not wait for it, and nobody else does.
    assert!(turns <= 1, "{turns}");
    two.good.is_answered(&mut two.server);
    let mut turns = 0;
    while two.server.turn() {
        turns += 1;
    }
    assert!(turns >= 3, "{turns}");
    let after = two.server.has();
    assert_eq!(after.subscriptions, before.subscriptions - 1);
    assert!(after.bytes < before.bytes, "{after:?} {before:?}");
}

/// What would be ten thousand times ten thousand comparisons.
#[test]
fn links_are_made_and_removed_in_one_go_through_them() {
    let mut two = Two::with(&[]);
    let (subscription, items) = two.watch(10_000);
    let [triggering, ref linked @ ..] = items[..] else {
        panic!();
    };
    let mut set = |add: Vec<u32>, remove: Vec<u32>| {
        let answer = two.answer(SetTriggeringRequest {
            subscription_id: subscription,
            triggering_item_id: triggering,
            links_to_add: Some(add),
            links_to_remove: Some(remove),
            ..Default::default()
        });
        match answer {
            Response::SetTriggering(it) => {
                let added = it.add_results.unwrap_or_default();
                let removed = it.remove_results.unwrap_or_default();
                let good = |all: &[StatusCode]| all.iter().filter(|it| it.is_good()).count();
                Ok((good(&added), good(&removed)))
            }
            Response::Fault(it) => Err(it.response_header.service_result),
            other => panic!("{other:?}"),
        }
    };
    let all = linked.to_vec();
    assert_eq!(set(all.clone(), Vec::new()), Ok((9_999, 0)));
    // Those that are there are not there twice; who is removed twice was there once.
    assert_eq!(set(vec![linked[0], 77_777], Vec::new()), Ok((1, 0)));
    let twice = vec![linked[0], linked[0], linked[1]];
    assert_eq!(set(Vec::new(), twice), Ok((0, 2)));
    // Removed first, then added (Part 4, 5.13.5.2).
    assert_eq!(set(vec![linked[2]], vec![linked[2]]), Ok((1, 1)));
    assert_eq!(set(Vec::new(), all), Ok((0, 9_997)));
}

/// What is seen of many items is told after all of them were looked at, and others have their turn before.
#[test]
fn a_subscription_looks_at_its_items_in_pieces() {
    const ITEMS: usize = 25_000;
    let mut two = Two::with(&[]);
    let Response::CreateSubscription(subscription) = two.answer(CreateSubscriptionRequest {
        requested_publishing_interval: 1_000.0,
        requested_lifetime_count: 1_000,
        requested_max_keep_alive_count: 100,
        publishing_enabled: true,
        ..Default::default()
    }) else {
        panic!();
    };
    let mut items = create(subscription.subscription_id, ITEMS);
    for (n, item) in items.items_to_create.iter_mut().flatten().enumerate() {
        item.item_to_monitor.node_id = node(2_001 + n as u32 % 40);
        item.requested_parameters.sampling_interval = 500.0;
    }
    assert_eq!(good(&two.answer(items)), ITEMS);
    let publish = |two: &mut Two| match two.ask(PublishRequest::default()) {
        (Response::Publish(it), turns) => (told(&it), it.more_notifications, turns),
        other => panic!("{other:?}"),
    };
    // The first values of all, then those of the second since; and of a minute in which nobody asked.
    for time in [1_000, 1_000, 60_000] {
        two.server.pass(Duration::from_millis(time));
        let (mut values, mut more, turns) = publish(&mut two);
        assert!(turns >= ITEMS / 5_000, "{turns} turns after {time} ms");
        while more {
            let (next, goes_on, _) = publish(&mut two);
            (values, more) = (values + next, goes_on);
        }
        assert_eq!(values, ITEMS, "after {time} ms");
    }
}

/// How many values a message tells.
fn told(response: &PublishResponse) -> usize {
    let data = response.notification_message.notification_data.iter();
    let changes = data
        .flatten()
        .map(|data| data.inner_as::<DataChangeNotification>().unwrap());
    changes
        .map(|change| change.monitored_items.iter().flatten().count())
        .sum()
}
