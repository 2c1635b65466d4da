use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plant::event::EventId;
use plant::{Config, Server};
use wire::types::{
    AttributeId, ByteString, CallMethodRequest, CallMethodResult, CallRequest, ContentFilter,
    ContentFilterElement, ElementOperand, EventFilter, EventFilterResult, EventNotificationList,
    ExtensionObject, FilterOperator, LiteralOperand, LocalizedText, MethodId,
    MonitoredItemCreateRequest, MonitoredItemCreateResult, NodeId, ObjectId, ObjectTypeId,
    PublishResponse, QualifiedName, SimpleAttributeOperand, StatusCode, Variant,
};

use crate::client::Client;
use crate::start_plant;
use crate::subscribing::{header, item, publish, subscribe, watch};

const PLANT: &str = r#"
[[namespace]]
uri = "urn:test:events"

[[namespace.events]]
folder = "Flood"
name = "Flood{n:02}"
count = 50
type = "SystemEventType"
rate = "5000/s"
severity = [100, 900]

[[namespace.events]]
folder = "Hall/Tanks"
name = "Level{n}"
count = 2
type = "ExclusiveLevelAlarmType"
rate = "20/s"
limits = { high = 90, low = 10 }

[[namespace.events]]
folder = "Hall"
name = "Bursts"
burst = "40/200ms"
message = "number {n}"
"#;

fn served(text: &str) -> Server {
    start_plant(text, Config::default())
}

pub fn field(of: ObjectTypeId, path: &[&str]) -> SimpleAttributeOperand {
    let path = path.iter().map(|name| QualifiedName::new(0, *name));
    SimpleAttributeOperand {
        type_definition_id: of.into(),
        browse_path: Some(path.collect()),
        attribute_id: AttributeId::Value as u32,
        ..Default::default()
    }
}

pub fn base(name: &str) -> SimpleAttributeOperand {
    field(ObjectTypeId::BaseEventType, &[name])
}

fn literal(value: impl Into<Variant>) -> ExtensionObject {
    ExtensionObject::from_message(LiteralOperand {
        value: value.into(),
    })
}

fn element(operator: FilterOperator, operands: Vec<ExtensionObject>) -> ContentFilterElement {
    ContentFilterElement {
        filter_operator: operator,
        filter_operands: Some(operands),
    }
}

pub fn of_type(of: ObjectTypeId) -> ContentFilterElement {
    let id: NodeId = of.into();
    element(FilterOperator::OfType, vec![literal(id)])
}

pub fn listen(
    node: impl Into<NodeId>,
    queue: u32,
    select: Vec<SimpleAttributeOperand>,
    wanted: Vec<ContentFilterElement>,
) -> MonitoredItemCreateRequest {
    let mut asked = item(node.into(), 9, 0.0);
    asked.item_to_monitor.attribute_id = AttributeId::EventNotifier as u32;
    asked.requested_parameters.queue_size = queue;
    asked.requested_parameters.filter = ExtensionObject::from_message(EventFilter {
        select_clauses: Some(select),
        where_clause: ContentFilter {
            elements: (!wanted.is_empty()).then_some(wanted),
        },
    });
    asked
}

fn area(path: &str) -> NodeId {
    NodeId::new(2, path)
}

/// The fields of events as they come, until there are so many.
pub fn heard(client: &mut Client, count: usize) -> Vec<Vec<Variant>> {
    let mut heard = Vec::new();
    let mut last = None;
    while heard.len() < count {
        let response: PublishResponse = client.call(publish(last)).unwrap();
        let message = response.notification_message;
        last = Some((response.subscription_id, message.sequence_number));
        for data in message.notification_data.iter().flatten() {
            let list = data.inner_as::<EventNotificationList>().unwrap();
            for event in list.events.iter().flatten() {
                assert_eq!(event.client_handle, 9);
                heard.push(event.event_fields.clone().unwrap());
            }
        }
    }
    heard
}

fn id(field: &Variant) -> EventId {
    let Variant::ByteString(bytes) = field else {
        panic!("{field:?}");
    };
    EventId::from_bytes(bytes.as_ref()).unwrap()
}

fn text(field: &Variant) -> &str {
    match field {
        Variant::LocalizedText(text) => text.text.as_ref(),
        Variant::String(text) => text.as_ref(),
        other => panic!("{other:?}"),
    }
}

fn good(results: &[MonitoredItemCreateResult]) {
    for result in results {
        assert_eq!(result.status_code, StatusCode::Good);
    }
}

#[test]
fn five_thousand_events_a_second_are_told_and_none_is_missing() {
    let server = served(PLANT);
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 50.0).subscription_id;
    let select = vec![
        base("EventId"),
        base("SourceName"),
        base("Severity"),
        base("Time"),
    ];
    let asked = listen(area("Flood"), 0, select, Vec::new());
    let results = watch(&mut client, subscription, vec![asked]);
    good(&results);
    assert_eq!(results[0].revised_queue_size, 10_000);
    let events = heard(&mut client, 5_000);
    // Of each source one number after the other, in order of time.
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    let mut time = None;
    for event in &events {
        let id = id(&event[0]);
        if let Some(before) = last.insert(id.source, id.n) {
            assert_eq!(id.n, before + 1);
        }
        assert_eq!(text(&event[1]), format!("Flood{:02}", id.source));
        let Variant::UInt16(severity) = event[2] else {
            panic!();
        };
        assert!((100..=900).contains(&severity));
        let Variant::DateTime(at) = &event[3] else {
            panic!();
        };
        assert!(time.is_none_or(|before| before <= at.ticks()));
        time = Some(at.ticks());
    }
    assert_eq!(last.len(), 50);
    let ledger = server.ground_truth();
    let tally = ledger.subscriptions.total.event;
    assert!(tally.balances() && tally.overflowed == 0, "{tally:?}");
    assert!(tally.reported >= 5_000);
    assert!(ledger.updates.event >= 5_000);
}

#[test]
fn who_listens_at_an_area_hears_of_what_is_below_it() {
    let server = served(PLANT);
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 100.0).subscription_id;
    let select = || vec![base("SourceName"), base("Message"), base("EventType")];
    let asked = listen(area("Hall/Tanks"), 0, select(), Vec::new());
    good(&watch(&mut client, subscription, vec![asked]));
    for event in heard(&mut client, 10) {
        assert!(text(&event[0]).starts_with("Level"));
        assert_eq!(
            event[2],
            Variant::from(NodeId::from(ObjectTypeId::ExclusiveLevelAlarmType))
        );
    }
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 100.0).subscription_id;
    let asked = listen(area("Bursts"), 0, select(), Vec::new());
    good(&watch(&mut client, subscription, vec![asked]));
    let events = heard(&mut client, 80);
    assert!(text(&events[0][1]).starts_with("number "));
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 100.0).subscription_id;
    let asked = listen(ObjectId::Server, 0, select(), Vec::new());
    good(&watch(&mut client, subscription, vec![asked]));
    let events = heard(&mut client, 2_000);
    let mut kinds: Vec<&str> = events.iter().map(|event| &text(&event[0])[..5]).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["Burst", "Flood", "Level"]);
}

#[test]
fn a_where_clause_lets_through_what_it_says() {
    let server = served(PLANT);
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 50.0).subscription_id;
    let operand = ExtensionObject::from_message;
    let wanted = vec![
        element(
            FilterOperator::And,
            vec![
                operand(ElementOperand { index: 1 }),
                operand(ElementOperand { index: 2 }),
            ],
        ),
        element(
            FilterOperator::GreaterThan,
            vec![
                ExtensionObject::from_message(base("Severity")),
                literal(700i64),
            ],
        ),
        element(
            FilterOperator::Like,
            vec![
                ExtensionObject::from_message(base("SourceName")),
                literal("Flood0%"),
            ],
        ),
    ];
    let select = vec![base("Severity"), base("SourceName")];
    let asked = listen(ObjectId::Server, 0, select, wanted);
    good(&watch(&mut client, subscription, vec![asked]));
    for event in heard(&mut client, 100) {
        let Variant::UInt16(severity) = event[0] else {
            panic!();
        };
        assert!(severity > 700);
        assert!(text(&event[1]).starts_with("Flood0"));
    }
    let tally = server.tally().event;
    assert!(tally.filtered > 0 && tally.balances());
}

#[test]
fn what_is_wrong_with_a_filter_is_told_clause_by_clause() {
    let server = served(PLANT);
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 100.0).subscription_id;
    let select = vec![
        base("Message"),
        base("Colour"),
        field(ObjectTypeId::FolderType, &["Message"]),
        SimpleAttributeOperand {
            attribute_id: AttributeId::DataType as u32,
            ..base("Message")
        },
        field(ObjectTypeId::BaseEventType, &[""]),
        SimpleAttributeOperand {
            index_range: "1:2".parse().unwrap(),
            ..base("Severity")
        },
    ];
    let bad_where = vec![
        element(
            FilterOperator::And,
            vec![
                ExtensionObject::from_message(ElementOperand { index: 0 }),
                literal(true),
            ],
        ),
        element(FilterOperator::InView, vec![literal(NodeId::null())]),
        element(FilterOperator::Not, Vec::new()),
    ];
    let results = watch(
        &mut client,
        subscription,
        vec![
            listen(ObjectId::Server, 0, select, Vec::new()),
            listen(ObjectId::Server, 0, vec![base("Message")], bad_where),
            listen(ObjectId::Server, 0, Vec::new(), Vec::new()),
            listen(
                ObjectId::ObjectsFolder,
                0,
                vec![base("Message")],
                Vec::new(),
            ),
        ],
    );
    let filter = |at: usize| {
        let result = &results[at].filter_result;
        result.inner_as::<EventFilterResult>().unwrap()
    };
    // Part 4, 7.22.3: the item is there, and the fields that are wrong will be null.
    assert_eq!(results[0].status_code, StatusCode::Good);
    assert_eq!(
        filter(0).select_clause_results.as_deref().unwrap(),
        [
            StatusCode::Good,
            StatusCode::BadNodeIdUnknown,
            StatusCode::BadTypeDefinitionInvalid,
            StatusCode::BadAttributeIdInvalid,
            StatusCode::BadBrowseNameInvalid,
            StatusCode::BadTypeMismatch,
        ]
    );
    assert_eq!(results[1].status_code, StatusCode::BadEventFilterInvalid);
    let elements = filter(1).where_clause_result.element_results.as_ref();
    let elements: Vec<_> = elements
        .unwrap()
        .iter()
        .map(|element| element.status_code)
        .collect();
    assert_eq!(
        elements,
        [
            StatusCode::BadFilterOperandInvalid,
            StatusCode::BadFilterOperatorUnsupported,
            StatusCode::BadFilterOperandCountMismatch,
        ]
    );
    assert_eq!(results[2].status_code, StatusCode::BadEventFilterInvalid);
    assert_eq!(results[3].status_code, StatusCode::BadNotSupported);
    let events = heard(&mut client, 1);
    assert_eq!(events[0][1..], vec![Variant::Empty; 5]);
}

#[test]
fn a_full_queue_says_so_with_an_event_of_its_own() {
    let server = served(PLANT);
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 200.0).subscription_id;
    let select = vec![base("EventType"), base("EventId")];
    let asked = listen(area("Flood"), 10, select, Vec::new());
    good(&watch(&mut client, subscription, vec![asked]));
    let events = heard(&mut client, 11);
    // Part 4, 5.13.1.5: the oldest were dropped, so it stands in front of those that are left.
    let overflow = NodeId::from(ObjectTypeId::EventQueueOverflowEventType);
    assert_eq!(events[0][0], Variant::from(overflow));
    assert_eq!(events.len(), 11);
    let own = events[1..].iter().map(|event| id(&event[1]).source);
    assert!(own.clone().all(|source| source < 50), "{own:?}");
    let tally = server.tally().event;
    assert!(tally.overflowed > 0 && tally.balances(), "{tally:?}");
}

#[test]
fn what_happens_is_heard_in_time_even_if_nobody_asks() {
    let server = served(PLANT);
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 50.0).subscription_id;
    let asked = listen(area("Flood"), 10, vec![base("EventId")], Vec::new());
    good(&watch(&mut client, subscription, vec![asked]));
    let start = Instant::now();
    let mut heard = vec![server.tally().event.queued];
    // One that rests would hear once in ten seconds.
    while heard.len() < 5 {
        assert!(start.elapsed() < Duration::from_secs(5), "{heard:?}");
        std::thread::sleep(Duration::from_millis(20));
        heard.push(server.tally().event.queued);
        heard.dedup();
    }
}

fn call(
    client: &mut Client,
    object: NodeId,
    method: MethodId,
    with: Vec<Variant>,
) -> CallMethodResult {
    let request = CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: object,
            method_id: method.into(),
            input_arguments: Some(with),
        }]),
    };
    client.call(request).unwrap().results.unwrap().remove(0)
}

const ALARM: &str = r#"
[[namespace]]
uri = "urn:test:alarm"

[[namespace.events]]
folder = "Tanks"
name = "Level"
type = "NonExclusiveLevelAlarmType"
rate = "20/m"
limits = { high_high = 95, high = 90 }

[[namespace.events]]
folder = "Tanks"
name = "Never"
type = "TripAlarmType"
rate = "1/h"
"#;

#[test]
fn an_alarm_is_acknowledged_confirmed_and_refreshed() {
    let server = served(ALARM);
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 50.0).subscription_id;
    let alarm = ObjectTypeId::AlarmConditionType;
    let condition = SimpleAttributeOperand {
        type_definition_id: ObjectTypeId::ConditionType.into(),
        browse_path: None,
        attribute_id: AttributeId::NodeId as u32,
        ..Default::default()
    };
    let select = vec![
        base("EventId"),
        condition,
        field(alarm, &["ActiveState", "Id"]),
        field(alarm, &["AckedState", "Id"]),
        field(alarm, &["ConfirmedState", "Id"]),
        field(alarm, &["Retain"]),
        field(alarm, &["Comment"]),
        base("EventType"),
        field(
            ObjectTypeId::NonExclusiveLimitAlarmType,
            &["HighState", "Id"],
        ),
    ];
    let wanted = vec![of_type(alarm)];
    let asked = listen(ObjectId::Server, 0, select, wanted);
    let results = watch(&mut client, subscription, vec![asked]);
    good(&results);
    let yes = Variant::Boolean(true);
    let no = Variant::Boolean(false);
    let first = heard(&mut client, 1).remove(0);
    let event = first[0].clone();
    let node = NodeId::new(2, "Level.Alarm");
    assert_eq!(first[1], Variant::from(node.clone()));
    assert_eq!(
        first[2..6],
        [yes.clone(), no.clone(), no.clone(), yes.clone()]
    );
    assert_eq!(first[8], yes);

    let comment = || Variant::from(LocalizedText::new("en", "seen"));
    let acknowledge = MethodId::AcknowledgeableConditionType_Acknowledge;
    let wrong = Variant::from(ByteString::from(vec![1, 2, 3]));
    let told = call(
        &mut client,
        node.clone(),
        acknowledge,
        vec![wrong, comment()],
    );
    assert_eq!(told.status_code, StatusCode::BadEventIdUnknown);
    let with = vec![event.clone(), comment()];
    let told = call(&mut client, node.clone(), acknowledge, with.clone());
    assert_eq!(told.status_code, StatusCode::Good);
    let told = call(&mut client, node.clone(), acknowledge, with.clone());
    assert_eq!(told.status_code, StatusCode::BadConditionBranchAlreadyAcked);
    // The alarm goes on by itself; what was done is among what is told.
    let done = loop {
        let event = heard(&mut client, 1).remove(0);
        if text(&event[6]) == "seen" && id(&event[0]).source == u32::MAX {
            break event;
        }
    };
    assert_eq!(done[3], yes);
    let confirm = MethodId::AcknowledgeableConditionType_Confirm;
    let told = call(&mut client, node.clone(), confirm, with);
    assert_eq!(told.status_code, StatusCode::Good);

    let refresh = MethodId::ConditionType_ConditionRefresh;
    let of: NodeId = ObjectTypeId::ConditionType.into();
    let told = call(&mut client, of.clone(), refresh, vec![99u32.into()]);
    assert_eq!(told.status_code, StatusCode::BadSubscriptionIdInvalid);
    let told = call(&mut client, of.clone(), refresh, vec![subscription.into()]);
    assert_eq!(told.status_code, StatusCode::Good);
    let item = results[0].monitored_item_id;
    let again = MethodId::ConditionType_ConditionRefresh2;
    let wrong = vec![subscription.into(), 77u32.into()];
    let told = call(&mut client, of.clone(), again, wrong);
    assert_eq!(told.status_code, StatusCode::BadMonitoredItemIdInvalid);
    let told = call(
        &mut client,
        of,
        again,
        vec![subscription.into(), item.into()],
    );
    assert_eq!(told.status_code, StatusCode::Good);
    let kinds = [
        ObjectTypeId::RefreshStartEventType,
        ObjectTypeId::RefreshEndEventType,
    ];
    let kinds = kinds.map(|kind| Variant::from(NodeId::from(kind)));
    let mut marks = Vec::new();
    while marks.len() < 4 {
        for event in heard(&mut client, 1) {
            marks.extend(kinds.iter().position(|kind| *kind == event[7]));
        }
    }
    assert_eq!(marks, [0, 1, 0, 1]);

    let never = NodeId::new(2, "Never.Alarm");
    let disable = MethodId::ConditionType_Disable;
    let told = call(&mut client, never.clone(), disable, Vec::new());
    assert_eq!(told.status_code, StatusCode::Good);
    let told = call(&mut client, never.clone(), disable, Vec::new());
    assert_eq!(told.status_code, StatusCode::BadConditionAlreadyDisabled);
    // The condition's own nodes show the same.
    let shown = client.read(&[
        NodeId::new(2, "Never.Alarm.EnabledState.Id"),
        NodeId::new(2, "Level.Alarm.Comment"),
    ]);
    assert_eq!(shown[0].value, Some(no));
    assert_eq!(shown[1].value, Some(comment()));
}

/// Part 9, 5.5.4 and 5.5.5.
#[test]
fn a_disabled_condition_is_silent_until_it_is_enabled_again() {
    let server = served(
        r#"
[[namespace]]
uri = "urn:test:alarm"

[[namespace.events]]
folder = "Tanks"
name = "Level{n}"
count = 2
type = "TripAlarmType"
rate = "40/s"
"#,
    );
    let mut client = Client::plain(server.url());
    let subscription = subscribe(&mut client, 50.0).subscription_id;
    let condition = SimpleAttributeOperand {
        type_definition_id: ObjectTypeId::ConditionType.into(),
        browse_path: None,
        attribute_id: AttributeId::NodeId as u32,
        ..Default::default()
    };
    let of = ObjectTypeId::ConditionType;
    let select = vec![
        condition,
        field(of, &["EnabledState", "Id"]),
        field(of, &["Retain"]),
        base("EventType"),
        base("EventId"),
    ];
    let asked = listen(ObjectId::Server, 0, select, Vec::new());
    good(&watch(&mut client, subscription, vec![asked]));
    let (one, other) = (
        NodeId::new(2, "Level0.Alarm"),
        NodeId::new(2, "Level1.Alarm"),
    );
    let no = Variant::Boolean(false);
    let is = |event: &[Variant], node: &NodeId| event[0] == Variant::from(node.clone());
    let last = loop {
        let events = heard(&mut client, 1);
        if let Some(event) = events.iter().find(|event| is(event, &one)) {
            break event[4].clone();
        }
    };
    let disable = MethodId::ConditionType_Disable;
    let told = call(&mut client, one.clone(), disable, Vec::new());
    assert_eq!(told.status_code, StatusCode::Good);
    // The last that is heard of it is that it is disabled.
    let mut is_disabled = false;
    while !is_disabled {
        for event in heard(&mut client, 1) {
            if is(&event, &one) {
                assert!(!is_disabled, "{event:?}");
                is_disabled = event[1] == no;
                assert!(!is_disabled || event[2] == no, "{event:?}");
            }
        }
    }
    let acknowledge = MethodId::AcknowledgeableConditionType_Acknowledge;
    let comment = LocalizedText::new("en", "seen").into();
    let told = call(&mut client, one.clone(), acknowledge, vec![last, comment]);
    assert_eq!(told.status_code, StatusCode::BadConditionDisabled);
    let refresh = MethodId::ConditionType_ConditionRefresh;
    let told = call(&mut client, of.into(), refresh, vec![subscription.into()]);
    assert_eq!(told.status_code, StatusCode::Good);
    let (mut others, mut refreshed) = (0, false);
    let end = Variant::from(NodeId::from(ObjectTypeId::RefreshEndEventType));
    while others < 20 || !refreshed {
        for event in heard(&mut client, 1) {
            assert!(!is(&event, &one), "{event:?}");
            others += usize::from(is(&event, &other));
            refreshed |= event[3] == end;
        }
    }
    let enable = MethodId::ConditionType_Enable;
    let told = call(&mut client, one.clone(), enable, Vec::new());
    assert_eq!(told.status_code, StatusCode::Good);
    let told = call(&mut client, one.clone(), enable, Vec::new());
    assert_eq!(told.status_code, StatusCode::BadConditionAlreadyEnabled);
    let mut again = 0;
    while again < 3 {
        for event in heard(&mut client, 1).iter().filter(|event| is(event, &one)) {
            assert_eq!(event[1], Variant::Boolean(true), "{event:?}");
            again += 1;
        }
    }
}
