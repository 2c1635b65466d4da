//! TransferSubscriptions (Part 4, 5.14.7), between sessions of one loop and of two.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use plant::{Config, Limits, PasswordHash, Server, Transfer, Users};
use wire::channel::Protection;
use wire::policy::{Mode, Policy};
use wire::session::token::Credentials;
use wire::types::{
    CallMethodRequest, CallMethodResult, CallRequest, DeleteSubscriptionsRequest, MethodId,
    ObjectId, PublishRequest, PublishResponse, RepublishRequest, StatusChangeNotification,
    StatusCode, TransferResult, TransferSubscriptionsRequest, Variant,
};

use crate::client::{Client, PATIENCE, identity};
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::{bench, start};

/// Clients come to one loop after the other.
fn threads(threads: usize, own: &pki::Identity) -> Server {
    serve(threads, own, Transfer::Anyone)
}

fn serve(threads: usize, own: &pki::Identity, transfer: Transfer) -> Server {
    let hash = PasswordHash::new(b"bench", [3; 16], NonZeroU32::MIN);
    start(Config {
        threads,
        identity: Some(own.clone()),
        transfer,
        users: Users {
            passwords: vec![("bench".into(), hash)],
            ..Users::default()
        },
        ..Config::default()
    })
}

fn transfer(client: &mut Client, ids: &[u32], initial: bool) -> Vec<TransferResult> {
    let request = TransferSubscriptionsRequest {
        request_header: header(),
        subscription_ids: Some(ids.to_vec()),
        send_initial_values: initial,
    };
    client.call(request).unwrap().results.unwrap()
}

fn method(client: &mut Client, method: MethodId, id: u32) -> CallMethodResult {
    let request = CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: ObjectId::Server.into(),
            method_id: method.into(),
            input_arguments: Some(vec![Variant::UInt32(id)]),
        }]),
    };
    client.call(request).unwrap().results.unwrap().remove(0)
}

fn status(response: PublishResponse) -> StatusCode {
    let data = response.notification_message.notification_data.unwrap();
    let change = data[0].inner_as::<StatusChangeNotification>();
    change.expect("a status change").status
}

#[test]
fn the_old_session_is_told_at_once_by_a_loop_that_has_nothing_else_to_do() {
    let server = start(Config {
        transfer: Transfer::Anyone,
        ..Config::default()
    });
    let mut old = Client::plain(server.url());
    // Publishing would wake the loop: it is longer until then than anybody waits here.
    let made = subscribe(&mut old, 10.0 * PATIENCE.as_secs_f64() * 1e3);
    assert!(made.revised_publishing_interval > 2.0 * PATIENCE.as_secs_f64() * 1e3);
    let waiting = old.send(publish(None));
    old.read(&[bench(1000)]);
    let mut new = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut session = new.create().unwrap();
    let now = plant::Clock::start().now();
    let activate = session.activate(&Credentials::Anonymous, None, now);
    // Nobody is logged in on this connection yet when it is looked at for both.
    new.put(activate.unwrap().run().unwrap());
    new.token = session.authentication_token();
    new.send(TransferSubscriptionsRequest {
        request_header: header(),
        subscription_ids: Some(vec![made.subscription_id]),
        send_initial_values: false,
    });
    let told = old.answer(waiting).unwrap();
    assert_eq!(
        status(told.try_into().unwrap()),
        StatusCode::GoodSubscriptionTransferred
    );
}

#[test]
fn a_subscription_goes_over_with_all_that_belongs_to_it_within_a_loop_and_between_two() {
    let own = identity("urn:test:server");
    for n in [1, 2] {
        let server = threads(n, &own);
        let mut old = Client::plain(server.url());
        let mut new = Client::plain(server.url());
        let ids = [(); 2].map(|()| subscribe(&mut old, 50.0).subscription_id);
        for id in ids {
            let items = vec![item(bench(1000), id, 50.0), item(bench(1001), 9, 50.0)];
            watch(&mut old, id, items);
        }
        let first = [(); 2].map(|()| old.call::<PublishRequest>(publish(None)).unwrap());
        let waiting = old.send(publish(None));
        let results = transfer(&mut new, &[ids[0], 99, ids[1]], true);
        let statuses: Vec<_> = results.iter().map(|result| result.status_code).collect();
        let unknown = StatusCode::BadSubscriptionIdInvalid;
        assert_eq!(statuses, [StatusCode::Good, unknown, StatusCode::Good]);
        for result in [&results[0], &results[2]] {
            assert_eq!(result.available_sequence_numbers, Some(vec![1]));
        }
        // Part 4, 5.14.7.1: the old session is told, of each.
        let told = old.answer(waiting).unwrap();
        assert_eq!(
            status(told.try_into().unwrap()),
            StatusCode::GoodSubscriptionTransferred
        );
        let told = old.call::<PublishRequest>(publish(None)).unwrap();
        assert_eq!(status(told), StatusCode::GoodSubscriptionTransferred);
        let refused = old.call::<PublishRequest>(publish(None)).unwrap_err();
        assert_eq!(refused, StatusCode::BadNoSubscription);

        // The values once more, though they have not changed.
        let mut seen = Vec::new();
        while seen.len() < 4 {
            let response = new.call::<PublishRequest>(publish(None)).unwrap();
            assert_eq!(response.notification_message.sequence_number, 2);
            seen.extend(values(&response.notification_message));
        }
        seen.sort_by_key(|(handle, _)| *handle);
        seen.dedup();
        let double = Variant::Double;
        let mut expected = vec![(ids[0], double(1000.0)), (ids[1], double(1000.0))];
        expected.push((9, double(1001.0)));
        expected.sort_by_key(|(handle, _)| *handle);
        assert_eq!(seen, expected);

        // What was sent before is had again here, and there no more.
        let again = |id| RepublishRequest {
            request_header: header(),
            subscription_id: id,
            retransmit_sequence_number: 1,
        };
        let id = first[0].subscription_id;
        let republished = new.call(again(id)).unwrap().notification_message;
        assert_eq!(republished, first[0].notification_message);
        assert_eq!(old.call(again(id)).unwrap_err(), unknown);

        // Part 5, 9.1 and 9.2: only in the session that has the subscription.
        for asked in [
            MethodId::Server_GetMonitoredItems,
            MethodId::Server_ResendData,
        ] {
            assert_eq!(method(&mut new, asked, id).status_code, StatusCode::Good);
            let denied = method(&mut old, asked, id).status_code;
            assert_eq!(denied, StatusCode::BadUserAccessDenied);
            assert_eq!(method(&mut new, asked, 99).status_code, unknown);
        }
        let response = new.call::<PublishRequest>(publish(None)).unwrap();
        assert_eq!(values(&response.notification_message).len(), 2);

        let gone = |client: &mut Client| {
            let request = DeleteSubscriptionsRequest {
                request_header: header(),
                subscription_ids: Some(ids.to_vec()),
            };
            client.call(request).unwrap().results.unwrap()
        };
        assert_eq!(gone(&mut old), [unknown; 2]);
        assert_eq!(gone(&mut new), [StatusCode::Good; 2]);
        assert_eq!(
            (server.counted().subscriptions, server.counted().items),
            (0, 0)
        );
    }
}

#[test]
fn a_subscription_that_went_over_goes_over_again_and_back() {
    let server = threads(2, &identity("urn:test:server"));
    let mut clients = [(); 4].map(|()| Client::plain(server.url()));
    let id = subscribe(&mut clients[0], 20.0).subscription_id;
    watch(&mut clients[0], id, vec![item(bench(3030), 7, 20.0)]);
    let mut last = None;
    for turn in [1, 2, 3, 0, 1, 0] {
        let client = &mut clients[turn];
        let results = transfer(client, &[id], false);
        assert_eq!(results[0].status_code, StatusCode::Good, "turn {turn}");
        // The counter loses nothing on the way; that the last turn ended is told in between.
        let mut seen = Vec::new();
        while seen.is_empty() {
            let response = client.call::<PublishRequest>(publish(None)).unwrap();
            seen = values(&response.notification_message);
        }
        for (_, value) in seen {
            let Variant::UInt32(value) = value else {
                panic!("{value:?}");
            };
            assert!(
                last.is_none_or(|last| value == last + 1),
                "{last:?} {value}"
            );
            last = Some(value);
        }
    }
}

const SIGNED: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::Sign,
};

#[test]
fn only_the_same_user_may_have_it_and_nobody_in_particular_only_in_the_same_application() {
    for n in [1, 2] {
        let own = identity("urn:test:server");
        let server = serve(n, &own, Transfer::SameUser);
        let bench_user = Credentials::UserName {
            name: "bench".into(),
            password: "bench".to_owned().into(),
        };
        let (mine, other) = (identity("urn:test"), identity("urn:another"));
        let connect = |protection, uri: &pki::Identity, user: &Credentials| {
            let url = server.url();
            let mut client = Client::connect(url, protection, Some(uri), Some(&own)).unwrap();
            client.log_in(user).unwrap();
            client
        };
        let anonymous = &Credentials::Anonymous;
        let mut first = connect(SIGNED, &mine, anonymous);
        let id = subscribe(&mut first, 1000.0).subscription_id;
        for (protection, uri, user) in [
            (SIGNED, &other, anonymous),
            // It says that it is the same, and nothing proves it.
            (Protection::NONE, &mine, anonymous),
            (SIGNED, &mine, &bench_user),
        ] {
            let mut other = connect(protection, uri, user);
            let denied = transfer(&mut other, &[id], false).remove(0);
            assert_eq!(denied.status_code, StatusCode::BadUserAccessDenied);
        }
        // It has stayed where it was.
        let mut same = connect(SIGNED, &mine, anonymous);
        let moved = transfer(&mut same, &[id], false).remove(0);
        assert_eq!(moved.status_code, StatusCode::Good);

        // Whoever says on an open channel what it is has nothing that is known to be of its kind.
        let mut open = connect(Protection::NONE, &mine, anonymous);
        let id = subscribe(&mut open, 1000.0).subscription_id;
        let denied = transfer(&mut same, &[id], false).remove(0);
        assert_eq!(denied.status_code, StatusCode::BadUserAccessDenied);

        // A user with a name is the same wherever it comes from.
        let mut named = connect(Protection::NONE, &mine, &bench_user);
        let id = subscribe(&mut named, 1000.0).subscription_id;
        let mut again = connect(Protection::NONE, &other, &bench_user);
        let moved = transfer(&mut again, &[id], false).remove(0);
        assert_eq!(moved.status_code, StatusCode::Good);
    }
}

#[test]
fn a_server_may_let_anyone_have_it_or_nobody() {
    for n in [1, 2] {
        let own = identity("urn:test:server");
        let other = identity("urn:another");
        let come = |server: &Server, uri: Option<&pki::Identity>| {
            let mut client =
                Client::connect(server.url(), Protection::NONE, uri, Some(&own)).unwrap();
            client.log_in(&Credentials::Anonymous).unwrap();
            client
        };
        let server = serve(n, &own, Transfer::Anyone);
        let id = subscribe(&mut come(&server, None), 1000.0).subscription_id;
        let moved = transfer(&mut come(&server, Some(&other)), &[id], false).remove(0);
        assert_eq!(moved.status_code, StatusCode::Good);

        let server = serve(n, &own, Transfer::Never);
        let mut first = come(&server, None);
        let id = subscribe(&mut first, 1000.0).subscription_id;
        let request = TransferSubscriptionsRequest {
            request_header: header(),
            subscription_ids: Some(vec![id]),
            send_initial_values: false,
        };
        let refused = come(&server, None).call(request).unwrap_err();
        assert_eq!(refused, StatusCode::BadServiceUnsupported);
    }
}

#[test]
fn subscriptions_of_a_session_that_timed_out_wait_for_their_client() {
    let short = Duration::from_secs(2);
    let server = start(Config {
        threads: 2,
        transfer: Transfer::Anyone,
        limits: Limits {
            session_timeout: short..=short,
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut old = Client::plain(server.url());
    let id = subscribe(&mut old, 100.0).subscription_id;
    watch(&mut old, id, vec![item(bench(1000), 7, 50.0)]);
    let until = Instant::now() + PATIENCE;
    while server.counted().sessions > 0 {
        assert!(Instant::now() < until, "the session lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut new = Client::plain(server.url());
    let moved = transfer(&mut new, &[id], false).remove(0);
    assert_eq!(moved.status_code, StatusCode::Good);
    let response = new.call::<PublishRequest>(publish(None)).unwrap();
    assert_eq!(values(&response.notification_message).len(), 1);
}

#[test]
fn whoever_asks_for_a_subscription_that_is_on_its_way_is_not_told_that_there_is_none() {
    let own = identity("urn:test:server");
    let server = threads(3, &own);
    let mut first = Client::plain(server.url());
    let id = subscribe(&mut first, 1000.0).subscription_id;
    let url = server.url();
    let ask = |client: &mut Client| {
        for _ in 0..300 {
            let result = transfer(client, &[id], false).remove(0);
            assert_eq!(result.status_code, StatusCode::Good);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| ask(&mut Client::plain(url)));
        }
        ask(&mut first);
    });
    // It is at one place, and whole.
    transfer(&mut first, &[id], true);
    let made = watch(&mut first, id, vec![item(bench(1001), 2, 1000.0)]);
    assert_eq!(made[0].status_code, StatusCode::Good);
}
