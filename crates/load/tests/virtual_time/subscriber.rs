//! One session's subscriptions, against a server whose every answer is written down here.

use std::sync::Arc;
use std::time::Duration;

use load::engine::{Lane, Orders, Recorder, RecoveryPath, SubscriberStep};
use load::work::{Requests, Terms};
use plan::{Offsets, Reconnect, Seat, Subscribe};
use record::notification_ledger::NotificationLedger;
use record::{Ledger, notification_ledger};
use wire::service::{Request, Response};
use wire::types::{
    CreateMonitoredItemsResponse, CreateSubscriptionResponse, DataChangeNotification, DataValue,
    ExtensionObject, MonitoredItemCreateResult, MonitoredItemNotification, NodeId,
    NotificationMessage, PublishResponse, RepublishResponse, RequestHeader, ResponseHeader,
    ServiceFault, StatusCode, SubscriptionAcknowledgement, TransferResult,
    TransferSubscriptionsResponse, Variant,
};
use wire::{client, server};

use crate::bench::{MS, NumberedRequest, answer, asked, idle, joined, now};

/// The server's number of the first subscription.
const FIRST: u32 = 11;
/// As long as this it waits for a message that may be right behind the one that told of it.
const PATIENCE: u64 = 10 * MS;

struct Session {
    lane: Lane,
    server: server::Connection,
    notification_ledger: NotificationLedger,
    ledgers: [Ledger; 1],
    plan: Subscribe,
    t: u64,
}

fn plan(change: impl FnOnce(&mut Subscribe)) -> Subscribe {
    let node: plan::NodeSpec = "ns=2;i=1..3".parse().unwrap();
    let mut plan = Subscribe::new(node.into());
    plan.offsets = Offsets::Aligned;
    plan.publish_requests = Some(2);
    change(&mut plan);
    plan
}

fn requests(plan: &Subscribe) -> Requests {
    let nodes: Vec<NodeId> = (1..4u32).map(|n| NodeId::new(2, n)).collect();
    let terms = Arc::new(Terms::new(&nodes, plan, None, None).unwrap());
    Requests::new(RequestHeader::default(), terms, 0..3).unwrap()
}

fn lane(connection: client::Connection, plan: &Subscribe) -> Lane {
    let seat = Seat {
        target: 0,
        index: 0,
    };
    let orders = Orders {
        seat,
        place: (0, 1),
        seed: 1,
        timeout: Duration::from_secs(10),
        zero: now(0).mono,
        diagnostics: load::engine::DiagnosticsDuty::None,
    };
    Lane::new(connection, idle()).subscribing(load::engine::Subscriber::new(requests(plan), orders))
}

impl Session {
    fn new(plan: Subscribe) -> Self {
        let (connection, server) = joined(0, 0);
        let mut lane = lane(connection, &plan);
        lane.set_up(now(0));
        Self {
            lane,
            server,
            notification_ledger: NotificationLedger::new(now(0).utc),
            ledgers: [Ledger::new()],
            plan,
            t: 0,
        }
    }

    /// One whose subscriptions and items are there, and the Publish requests that wait.
    fn running(plan: Subscribe) -> (Self, Vec<NumberedRequest>) {
        let mut session = Self::new(plan);
        for (n, (id, _)) in (FIRST..).zip(session.asked()) {
            session.answer(id, created(n));
        }
        session
            .lane
            .subscriber()
            .unwrap()
            .allow(SubscriberStep::Items);
        let (items, publish): (Vec<NumberedRequest>, Vec<NumberedRequest>) = session
            .asked()
            .into_iter()
            .partition(|(_, request)| matches!(request, Request::CreateMonitoredItems(_)));
        for (id, _) in items {
            session.answer(id, items_created(3));
        }
        assert_eq!(
            session.lane.subscriptions().unwrap().step(),
            SubscriberStep::Running
        );
        (session, publish)
    }

    fn recorder<'a>(
        ledgers: &'a mut [Ledger],
        notification_ledger: &'a mut NotificationLedger,
    ) -> Recorder<'a> {
        let mut recorder = Recorder::new(ledgers);
        recorder.notification_ledger = Some(notification_ledger);
        recorder
    }

    /// What the session asks now.
    fn asked(&mut self) -> Vec<NumberedRequest> {
        self.t += MS;
        let mut recorder = Self::recorder(&mut self.ledgers, &mut self.notification_ledger);
        self.lane.pump_subscriptions(now(self.t), &mut recorder);
        asked(&mut self.lane, &mut self.server, self.t)
    }

    fn answer(&mut self, id: server::RequestId, response: impl Into<Response>) {
        answer(&mut self.lane, &mut self.server, id, response);
        let mut recorder = Self::recorder(&mut self.ledgers, &mut self.notification_ledger);
        assert!(self.lane.drain(now(self.t), &mut recorder).is_none());
    }

    /// The connection is lost, and there is another one.
    fn comes_back(&mut self, came: RecoveryPath) {
        self.lane.connection().lost("the cable");
        let mut recorder = Self::recorder(&mut self.ledgers, &mut self.notification_ledger);
        assert!(self.lane.drain(now(self.t), &mut recorder).is_some());
        let (connection, server) = joined(0, self.t);
        self.server = server;
        self.lane.reconnect(connection, NodeId::null(), Vec::new());
        let again = requests(&self.plan);
        self.lane.resubscribe(again, came);
    }

    fn publish_requests(&self) -> usize {
        self.lane.subscriptions().unwrap().publish_requests()
    }
}

fn created(id: u32) -> CreateSubscriptionResponse {
    CreateSubscriptionResponse {
        response_header: ResponseHeader::default(),
        subscription_id: id,
        revised_publishing_interval: 500.0,
        revised_lifetime_count: 100,
        revised_max_keep_alive_count: 10,
    }
}

fn items_created(count: u32) -> CreateMonitoredItemsResponse {
    let results = (1..=count).map(|id| MonitoredItemCreateResult {
        status_code: StatusCode::Good,
        monitored_item_id: id,
        revised_sampling_interval: 500.0,
        revised_queue_size: 1,
        filter_result: ExtensionObject::null(),
    });
    CreateMonitoredItemsResponse {
        response_header: ResponseHeader::default(),
        results: Some(results.collect()),
        diagnostic_infos: None,
    }
}

fn message(sequence: u32) -> NotificationMessage {
    let value = MonitoredItemNotification {
        client_handle: 0,
        value: DataValue {
            value: Some(Variant::UInt32(sequence)),
            ..Default::default()
        },
    };
    NotificationMessage {
        sequence_number: sequence,
        publish_time: now(0).utc.into(),
        notification_data: Some(vec![ExtensionObject::from_message(
            DataChangeNotification {
                monitored_items: Some(vec![value]),
                diagnostic_infos: None,
            },
        )]),
    }
}

fn keep_alive(sequence: u32) -> NotificationMessage {
    NotificationMessage {
        notification_data: None,
        ..message(sequence)
    }
}

fn published(notification_message: NotificationMessage) -> PublishResponse {
    PublishResponse {
        response_header: ResponseHeader::default(),
        subscription_id: FIRST,
        available_sequence_numbers: None,
        more_notifications: false,
        notification_message,
        results: None,
        diagnostic_infos: None,
    }
}

fn fault(status: StatusCode) -> Response {
    Response::Fault(ServiceFault {
        response_header: ResponseHeader {
            service_result: status,
            ..Default::default()
        },
    })
}

fn acknowledged(asked: &[NumberedRequest]) -> Vec<(u32, u32)> {
    let of = |request: &Request| match request {
        Request::Publish(publish) => publish.subscription_acknowledgements.clone(),
        _ => None,
    };
    let all = asked.iter().filter_map(|(_, request)| of(request));
    let pair = |it: SubscriptionAcknowledgement| (it.subscription_id, it.sequence_number);
    all.flatten().map(pair).collect()
}

/// What is asked for again: subscription and number.
fn asked_again(asked: &[NumberedRequest]) -> Vec<(u32, u32)> {
    let of = |request: &Request| match request {
        Request::Republish(it) => Some((it.subscription_id, it.retransmit_sequence_number)),
        _ => None,
    };
    asked
        .iter()
        .filter_map(|(_, request)| of(request))
        .collect()
}

fn publishes(asked: &[NumberedRequest]) -> usize {
    let publish = |(_, request): &&NumberedRequest| matches!(request, Request::Publish(_));
    asked.iter().filter(publish).count()
}

#[test]
fn items_are_created_once_all_others_have_their_subscriptions() {
    let mut session = Session::new(plan(|plan| plan.subscriptions = 2));
    let asked = session.asked();
    let creates =
        |(_, request): &NumberedRequest| matches!(request, Request::CreateSubscription(_));
    assert!(asked.len() == 2 && asked.iter().all(creates), "{asked:?}");
    for (n, (id, _)) in (FIRST..).zip(asked) {
        session.answer(id, created(n));
    }
    // Others are not as far: it publishes and waits.
    let asked = session.asked();
    assert_eq!((asked.len(), publishes(&asked)), (2, 2), "{asked:?}");
    session
        .lane
        .subscriber()
        .unwrap()
        .allow(SubscriberStep::Items);
    let items = session.asked();
    let of = |request: &Request| match request {
        Request::CreateMonitoredItems(request) => {
            let items = request.items_to_create.as_deref().unwrap_or_default();
            let handle = |it: &wire::types::MonitoredItemCreateRequest| {
                it.requested_parameters.client_handle
            };
            (request.subscription_id, items.iter().map(handle).collect())
        }
        other => panic!("{other:?}"),
    };
    let handles: Vec<(u32, Vec<u32>)> = items.iter().map(|(_, request)| of(request)).collect();
    let wanted = [(FIRST, vec![0, 1, 2]), (FIRST + 1, vec![3, 4, 5])];
    assert_eq!(handles, wanted);
}

#[test]
fn what_has_come_is_acknowledged_with_the_next_request() {
    let (mut session, publish) = Session::running(plan(|_| ()));
    session.answer(publish[0].0, published(message(1)));
    session.answer(publish[1].0, published(message(2)));
    let asked = session.asked();
    assert_eq!(publishes(&asked), 2);
    assert_eq!(acknowledged(&asked), [(FIRST, 1), (FIRST, 2)]);
}

#[test]
fn what_is_missing_is_asked_for_and_acknowledged() {
    let (mut session, publish) = Session::running(plan(|_| ()));
    session.answer(publish[0].0, published(message(1)));
    session.answer(publish[1].0, published(message(3)));
    let asked = session.asked();
    assert_eq!(asked_again(&asked), [(FIRST, 2)]);
    let again = asked
        .iter()
        .find(|(_, request)| matches!(request, Request::Republish(_)));
    let response = RepublishResponse {
        response_header: ResponseHeader::default(),
        notification_message: message(2),
    };
    session.answer(again.unwrap().0, response);
    let publish = asked
        .iter()
        .find(|it| publishes(std::slice::from_ref(*it)) == 1);
    session.answer(publish.unwrap().0, published(message(4)));
    assert_eq!(acknowledged(&session.asked()), [(FIRST, 2), (FIRST, 4)]);
    let messages = session.notification_ledger.so_far().messages;
    assert_eq!((messages.lost(), messages.republish_answered), (0, 1));
}

#[test]
fn a_keep_alive_tells_the_number_of_the_next_message() {
    let (mut session, publish) = Session::running(plan(|_| ()));
    session.answer(publish[0].0, published(message(1)));
    session.answer(publish[1].0, published(keep_alive(2)));
    let asked = session.asked();
    assert!(asked_again(&asked).is_empty(), "{asked:?}");
    // A keep-alive is not acknowledged (Part 4, 5.14.1.1).
    assert_eq!(acknowledged(&asked), [(FIRST, 1)]);
    // Number 2 went by unseen.
    session.answer(asked[0].0, published(keep_alive(3)));
    session.t += PATIENCE;
    assert_eq!(asked_again(&session.asked()), [(FIRST, 2)]);
}

#[test]
fn a_message_that_comes_right_behind_another_is_not_asked_for() {
    let (mut session, publish) = Session::running(plan(|plan| plan.publish_requests = Some(3)));
    session.answer(publish[0].0, published(message(2)));
    assert!(asked_again(&session.asked()).is_empty());
    session.answer(publish[1].0, published(message(1)));
    session.t += PATIENCE;
    assert!(asked_again(&session.asked()).is_empty());
    let messages = session.notification_ledger.so_far().messages;
    let asked = (messages.republish_asked, messages.disordered);
    assert_eq!((asked, messages.lost()), ((0, 1), 0));
}

#[test]
fn a_message_is_asked_for_once_no_request_is_left_that_could_bring_it() {
    let (mut session, publish) = Session::running(plan(|plan| plan.publish_requests = Some(3)));
    session.answer(publish[0].0, published(message(2)));
    assert!(asked_again(&session.asked()).is_empty());
    session.answer(publish[1].0, published(message(3)));
    assert!(asked_again(&session.asked()).is_empty());
    // These three were waiting when it was missed; requests that were sent since cannot bring it.
    session.answer(publish[2].0, published(message(4)));
    assert_eq!(asked_again(&session.asked()), [(FIRST, 1)]);
}

#[test]
fn what_is_missing_at_the_end_is_fetched_before_its_subscription_is_deleted() {
    let (mut session, publish) = Session::running(plan(|plan| plan.publish_requests = Some(3)));
    session.answer(publish[0].0, published(message(2)));
    session.lane.subscriber().unwrap().end();
    let asked = session.asked();
    assert_eq!(asked_again(&asked), [(FIRST, 1)]);
    assert_eq!(asked.len(), 1, "{asked:?}");
    let response = RepublishResponse {
        response_header: ResponseHeader::default(),
        notification_message: message(1),
    };
    session.answer(asked[0].0, response);
    let asked = session.asked();
    let [(_, Request::DeleteSubscriptions(_))] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(session.notification_ledger.so_far().messages.lost(), 0);
}

#[test]
fn a_server_that_takes_fewer_publish_requests_gets_fewer() {
    let (mut session, publish) = Session::running(plan(|plan| plan.publish_requests = Some(4)));
    assert_eq!((publishes(&publish), session.publish_requests()), (4, 4));
    session.answer(publish[3].0, fault(StatusCode::BadTooManyPublishRequests));
    assert_eq!(session.publish_requests(), 3);
    assert_eq!(publishes(&session.asked()), 0);
    session.answer(publish[0].0, published(message(1)));
    assert_eq!(publishes(&session.asked()), 1);
}

#[test]
fn a_session_that_goes_on_asks_first_for_what_was_sent_meanwhile() {
    let (mut session, publish) = Session::running(plan(|plan| plan.reconnect = Reconnect::Resume));
    session.answer(publish[0].0, published(message(1)));
    session.comes_back(RecoveryPath::Resumed);
    let asked = session.asked();
    assert_eq!(asked_again(&asked), [(FIRST, 2)]);
    assert_eq!(publishes(&asked), 0, "{asked:?}");
    let response = RepublishResponse {
        response_header: ResponseHeader::default(),
        notification_message: message(2),
    };
    session.answer(asked[0].0, response);
    let asked = session.asked();
    assert_eq!(asked_again(&asked), [(FIRST, 3)]);
    session.answer(asked[0].0, fault(StatusCode::BadMessageNotAvailable));
    let asked = session.asked();
    assert_eq!((publishes(&asked), asked.len()), (2, 2), "{asked:?}");
    let messages = session.notification_ledger.so_far().messages;
    assert_eq!((messages.cut, messages.resumed, messages.lost()), (1, 1, 0));
}

#[test]
fn a_new_session_takes_subscriptions_over_or_makes_them_again() {
    for (status, again) in [
        (StatusCode::Good, false),
        (StatusCode::BadSubscriptionIdInvalid, true),
    ] {
        let (mut session, _) = Session::running(plan(|plan| plan.reconnect = Reconnect::Transfer));
        session.comes_back(RecoveryPath::New);
        let asked = session.asked();
        let [(id, Request::TransferSubscriptions(request))] = asked.as_slice() else {
            panic!("{asked:?}");
        };
        assert_eq!(request.subscription_ids.as_deref(), Some(&[FIRST][..]));
        let response = TransferSubscriptionsResponse {
            response_header: ResponseHeader::default(),
            results: Some(vec![TransferResult {
                status_code: status,
                available_sequence_numbers: None,
            }]),
            diagnostic_infos: None,
        };
        session.answer(*id, response);
        let asked = session.asked();
        let creates =
            |(_, request): &NumberedRequest| matches!(request, Request::CreateSubscription(_));
        assert_eq!(asked.iter().any(creates), again, "{asked:?}");
        assert_eq!(asked_again(&asked).is_empty(), again, "{asked:?}");
    }
}

#[test]
fn a_new_session_that_is_told_to_makes_all_of_it_again() {
    let recreate = |plan: &mut Subscribe| plan.reconnect = Reconnect::Recreate;
    let (mut session, _) = Session::running(plan(recreate));
    session.comes_back(RecoveryPath::New);
    let asked = session.asked();
    let [(id, Request::CreateSubscription(_))] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    session.answer(*id, created(FIRST + 5));
    let asked = session.asked();
    let items = |(_, request): &NumberedRequest| match request {
        Request::CreateMonitoredItems(it) => it.subscription_id == FIRST + 5,
        _ => false,
    };
    assert!(asked.iter().any(items), "{asked:?}");
    let messages: notification_ledger::Messages = session.notification_ledger.so_far().messages;
    assert_eq!((messages.cut, messages.recreated), (1, 1));
}
