#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use wire::types::{DataValue, ExtensionObject, ServiceCounterDataType};

use super::*;

/// Of a server that is no plant.
const SESSIONS: DiagnosticsRequest = DiagnosticsRequest::Sessions(Plant(None));

fn session(number: u32, reads: u32, errors: u32) -> SessionDiagnosticsDataType {
    SessionDiagnosticsDataType {
        session_id: NodeId::new(1, number),
        read_count: ServiceCounterDataType {
            total_count: reads,
            error_count: errors,
        },
        ..Default::default()
    }
}

fn list<T: DynEncodable>(all: Vec<T>) -> Variant {
    let objects = all.into_iter().map(ExtensionObject::from_message);
    objects.collect::<Vec<_>>().into()
}

fn answer(values: Vec<Option<Variant>>) -> Result<ReadResponse, StatusCode> {
    let results = values.into_iter().map(|value| match value {
        Some(value) => DataValue::from(value),
        None => DataValue {
            status: Some(StatusCode::BadNodeIdUnknown),
            ..DataValue::null()
        },
    });
    Ok(ReadResponse {
        results: Some(results.collect()),
        ..Default::default()
    })
}

fn look(rejected: u32, sessions: Vec<SessionDiagnosticsDataType>) -> Look {
    let summary = ServerDiagnosticsSummaryDataType {
        rejected_requests_count: rejected,
        ..Default::default()
    };
    let summary = ExtensionObject::from_message(summary);
    let values = vec![
        Some(true.into()),
        Some(summary.into()),
        Some(list(sessions)),
    ];
    Look::of(SESSIONS, answer(values)).unwrap()
}

fn ours(numbers: &[u32]) -> HashSet<NodeId> {
    numbers.iter().map(|&n| NodeId::new(1, n)).collect()
}

#[test]
fn what_was_added_to_our_sessions_is_told_and_nothing_of_others() {
    let before = look(
        3,
        vec![session(1, 100, 0), session(2, 5, 5), session(9, 70, 0)],
    );
    let after = look(
        4,
        vec![session(1, 150, 2), session(2, 6, 5), session(9, 99, 0)],
    );
    let told = after.since(&before, &ours(&[1, 2]), 1);
    let sessions = told.sessions.known().unwrap();
    assert_eq!((sessions.found, sessions.lost), (2, 0));
    assert_eq!(sessions.requests["readCount"], 51);
    assert_eq!(sessions.errors["readCount"], 2);
    assert_eq!(told.summary["rejectedRequestsCount"], 1);
}

#[test]
fn a_counter_that_began_anew_after_its_largest_number_goes_on() {
    let before = look(u32::MAX, vec![session(1, u32::MAX - 9, 0)]);
    let after = look(0, vec![session(1, 10, 0)]);
    let told = after.since(&before, &ours(&[1]), 1);
    assert_eq!(told.sessions.known().unwrap().requests["readCount"], 20);
    assert_eq!(told.summary["rejectedRequestsCount"], 1);
}

#[test]
fn a_session_that_is_gone_is_counted_as_lost_and_a_new_one_from_its_beginning() {
    let before = look(0, vec![session(1, 100, 0), session(2, 100, 0)]);
    let after = look(0, vec![session(1, 110, 0), session(3, 7, 0)]);
    let told = after.since(&before, &ours(&[1, 2, 3]), 1);
    let sessions = told.sessions.known().unwrap();
    assert_eq!((sessions.found, sessions.lost), (2, 1));
    assert_eq!(sessions.requests["readCount"], 17);
}

#[test]
fn a_server_without_diagnostics_says_so_in_one_sentence() {
    let without = Look::of(SESSIONS, answer(vec![None, None, None]));
    assert_eq!(without.unwrap_err(), "the server has no diagnostics");
    let off = Look::of(SESSIONS, answer(vec![Some(false.into()), None, None]));
    assert_eq!(
        off.unwrap_err(),
        "the server's diagnostics are switched off"
    );
    // A server that has the nodes, and keeps nothing in them.
    let empty = Look::of(
        SESSIONS,
        answer(vec![Some(true.into()), None, Some(Variant::Empty)]),
    );
    assert_eq!(empty.unwrap_err(), "the server has no diagnostics");
    let silent = Look::of(SESSIONS, Err(StatusCode::BadTimeout));
    assert!(silent.unwrap_err().contains("BadTimeout"));
}

#[test]
fn a_list_that_may_not_be_read_leaves_the_summary() {
    let summary = ExtensionObject::from_message(ServerDiagnosticsSummaryDataType::default());
    let values = || {
        vec![
            Some(true.into()),
            Some(Variant::from(summary.clone())),
            None,
        ]
    };
    let look = || Look::of(SESSIONS, answer(values())).unwrap();
    let told = look().since(&look(), &ours(&[1]), 1);
    assert_eq!(told.summary["sessionAbortCount"], 0);
    let Figure::Missing { not_available } = told.sessions else {
        panic!("nobody told of sessions");
    };
    assert!(
        not_available.contains("BadNodeIdUnknown"),
        "{not_available}"
    );
}

#[test]
fn subscriptions_of_our_sessions_are_added_up() {
    let subscription = |session: u32, next, values| SubscriptionDiagnosticsDataType {
        session_id: NodeId::new(1, session),
        next_sequence_number: next,
        data_change_notifications_count: values,
        ..Default::default()
    };
    let all = vec![
        subscription(1, 11, 100),
        subscription(2, 1, 0),
        subscription(7, 500, 9999),
    ];
    let told = subscriptions(answer(vec![Some(list(all))]), &ours(&[1, 2])).unwrap();
    assert_eq!(told.found, 2);
    // The next message is number 11: ten were sent.
    assert_eq!(told.counts["nextSequenceNumber"], 10);
    assert_eq!(told.counts["dataChangeNotificationsCount"], 100);
    let others = vec![subscription(7, 2, 1)];
    let none = subscriptions(answer(vec![Some(list(others))]), &ours(&[1]));
    assert!(
        none.unwrap_err()
            .contains("no subscriptions of our sessions")
    );
}

#[test]
fn what_a_plant_says_of_its_own_work_is_asked_for_in_the_same_request_and_subtracted() {
    let plant = Plant::of(&["http://opcfoundation.org/UA/".to_owned(), PLANT.to_owned()]);
    let about = DiagnosticsRequest::Server(plant);
    let nodes = request(about, RequestHeader::default()).nodes_to_read;
    let nodes = nodes.unwrap();
    assert_eq!(nodes.len(), 3);
    assert_eq!(nodes[2].node_id.to_string(), "ns=1;s=Plant.Internals");
    let summary = ExtensionObject::from_message(ServerDiagnosticsSummaryDataType::default());
    let look = |own: Option<Variant>| {
        let values = vec![Some(true.into()), Some(Variant::from(summary.clone())), own];
        Look::of(about, answer(values)).unwrap()
    };
    let told = |elapsed: u64| {
        let told = Internals {
            elapsed_ns: elapsed,
            processors: 2,
            ..Internals::default()
        };
        look(Some(text(&told)))
    };
    let since = told(500).since(&told(200), &ours(&[]), 1);
    assert_eq!(since.internals.unwrap().elapsed_ns, 300);
    // One that began anew, and an older one.
    assert_eq!(told(200).since(&told(500), &ours(&[]), 1).internals, None);
    let older = look(None);
    assert!(older.sessions.is_err());
    assert_eq!(told(1).since(&older, &ours(&[]), 1).internals, None);
}

fn text(told: &Internals) -> Variant {
    Variant::from(wire::types::UAString::from(told.to_json()))
}
