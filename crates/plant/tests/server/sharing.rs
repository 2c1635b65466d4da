//! Several sessions on one connection, whichever loops they were made in.

use plant::{Config, Server, Transfer};
use wire::channel::Protection;
use wire::policy::{Mode, Policy};
use wire::session::client::Session;
use wire::session::token::Credentials;
use wire::types::{
    ActivateSessionRequest, AttributeId, CloseSessionRequest, ExtensionObject, PublishRequest,
    PublishResponse, RepublishRequest, RequestHeader, StatusChangeNotification, StatusCode,
    TimestampsToReturn, TransferSubscriptionsRequest, UserNameIdentityToken, Variant,
};

use crate::client::{Client, identity, read_value, session_of};
use crate::subscribing::{header, item, publish, subscribe, values, watch};
use crate::{bench, start, until};

/// A connection and its session: each in another loop than the one before.
fn come(server: &Server) -> (Client, Session) {
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let session = client.log_in(&Credentials::Anonymous).unwrap();
    (client, session)
}

fn change_over(client: &mut Client, session: &mut Session) -> Result<(), StatusCode> {
    session.move_to(client.channel()).unwrap();
    client.activate(session, &Credentials::Anonymous)
}

fn reads(client: &mut Client, session: &Session, number: u32) {
    client.token = session.authentication_token();
    let value = client.read(&[bench(number)]).remove(0).value;
    assert_eq!(value, Some(Variant::Double(f64::from(number))));
}

fn status(response: PublishResponse) -> StatusCode {
    let data = response.notification_message.notification_data.unwrap();
    let change = data[0].inner_as::<StatusChangeNotification>();
    change.expect("a status change").status
}

#[test]
fn sessions_of_every_loop_are_served_over_one_connection() {
    for threads in [1, 2, 3] {
        let server = start(Config {
            threads,
            ..Config::default()
        });
        let (mut shared, first) = come(&server);
        let mut sessions = vec![first];
        for _ in 0..4 {
            let (client, mut session) = come(&server);
            change_over(&mut shared, &mut session).unwrap();
            // The connection that it left ends, or not: nobody is asked.
            drop(client);
            sessions.push(session);
            // And one that is made here.
            sessions.push(shared.log_in(&Credentials::Anonymous).unwrap());
        }
        for (n, session) in sessions.iter().enumerate() {
            reads(&mut shared, session, 1000 + n as u32);
        }
        // To another connection and back again, through the acceptor each time.
        for _ in 0..3 {
            let mut other = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
            change_over(&mut other, &mut sessions[1]).unwrap();
            reads(&mut other, &sessions[1], 1001);
            change_over(&mut shared, &mut sessions[1]).unwrap();
            other.token = sessions[1].authentication_token();
            let lost = other.send(publish(None));
            let refused = other.failed(lost);
            assert!(
                matches!(
                    refused,
                    StatusCode::BadSecureChannelIdInvalid | StatusCode::BadSessionIdInvalid
                ),
                "{refused}"
            );
            reads(&mut shared, &sessions[1], 1001);
        }
        let all = sessions.len() as u64;
        assert_eq!(server.counted().sessions, all, "{threads} loops");
        for session in &sessions {
            shared.token = session.authentication_token();
            let request = CloseSessionRequest {
                request_header: header(),
                delete_subscriptions: true,
            };
            shared.call(request).unwrap();
        }
        until(&server, "all are gone", |server| {
            server.counted().sessions == 0
        });
    }
}

#[test]
fn a_session_changes_over_with_all_that_waits_for_it() {
    for threads in [1, 2] {
        let server = start(Config {
            threads,
            transfer: Transfer::Anyone,
            ..Config::default()
        });
        let (mut shared, stays) = come(&server);
        let (mut old, mut goes) = come(&server);
        let (mut third, _) = come(&server);
        // A message that is kept, and one subscription that another session takes over unnoticed.
        let kept = subscribe(&mut old, 50.0).subscription_id;
        watch(&mut old, kept, vec![item(bench(1000), 7, 50.0)]);
        let message = old.call::<PublishRequest>(publish(None)).unwrap();
        let sequence = message.notification_message.sequence_number;
        let taken = subscribe(&mut old, 50.0).subscription_id;
        let transfer = TransferSubscriptionsRequest {
            request_header: header(),
            subscription_ids: Some(vec![taken]),
            send_initial_values: false,
        };
        let results = third.call(transfer).unwrap().results.unwrap();
        assert_eq!(results[0].status_code, StatusCode::Good);

        // The one that stays waits for something, too: it is not disturbed.
        let slow = subscribe(&mut shared, 50.0).subscription_id;
        let waits = shared.send(publish(None));
        watch(&mut shared, slow, vec![item(bench(1001), 8, 50.0)]);
        let first = shared.answer(waits).unwrap().try_into();
        let first: PublishResponse = first.unwrap();
        assert_eq!(values(&first.notification_message).len(), 1);
        let waits = shared.send(publish(Some((slow, 1))));
        let told = old.call::<PublishRequest>(publish(None)).unwrap();
        assert_eq!(status(told), StatusCode::GoodSubscriptionTransferred);
        let left = [(); 3].map(|()| old.send(publish(None)));

        change_over(&mut shared, &mut goes).unwrap();
        for id in left {
            // Nobody serves them any more, and who sent them is told.
            assert_eq!(old.failed(id), StatusCode::BadSecureChannelIdInvalid);
        }
        let republished = shared.call(RepublishRequest {
            request_header: header(),
            subscription_id: kept,
            retransmit_sequence_number: sequence,
        });
        let republished = republished.unwrap().notification_message;
        assert_eq!(values(&republished), [(7, Variant::Double(1000.0))]);
        // What comes next comes here, and its acknowledgement is heard.
        watch(&mut shared, kept, vec![item(bench(1002), 9, 50.0)]);
        let next = shared
            .call::<PublishRequest>(publish(Some((kept, sequence))))
            .unwrap();
        assert_eq!(next.results, Some(vec![StatusCode::Good]));
        assert_eq!(
            values(&next.notification_message),
            [(9, Variant::Double(1002.0))]
        );
        assert_eq!(next.notification_message.sequence_number, sequence + 1);

        // The Publish request of the other session still waits: a new value answers it.
        assert!(!shared.has(waits), "answered for nothing");
        shared.token = stays.authentication_token();
        watch(&mut shared, slow, vec![item(bench(1003), 10, 50.0)]);
        let late: PublishResponse = shared.answer(waits).unwrap().try_into().unwrap();
        assert_eq!(
            values(&late.notification_message),
            [(10, Variant::Double(1003.0))]
        );
    }
}

#[test]
fn what_a_session_was_to_be_told_it_is_told_where_it_went() {
    for threads in [1, 2] {
        let server = start(Config {
            threads,
            transfer: Transfer::Anyone,
            ..Config::default()
        });
        let (mut shared, _) = come(&server);
        let (mut old, mut goes) = come(&server);
        let (mut third, _) = come(&server);
        let taken = subscribe(&mut old, 50.0).subscription_id;
        let transfer = TransferSubscriptionsRequest {
            request_header: header(),
            subscription_ids: Some(vec![taken]),
            send_initial_values: false,
        };
        let results = third.call(transfer).unwrap().results.unwrap();
        assert_eq!(results[0].status_code, StatusCode::Good);
        change_over(&mut shared, &mut goes).unwrap();
        let told = shared.call::<PublishRequest>(publish(None)).unwrap();
        assert_eq!(told.subscription_id, taken);
        assert_eq!(status(told), StatusCode::GoodSubscriptionTransferred);
    }
}

#[test]
fn the_size_of_responses_that_one_session_takes_outlives_another_on_its_connection() {
    let server = start(Config::default());
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut small = client.create_taking(8192).unwrap();
    client
        .activate(&mut small, &Credentials::Anonymous)
        .unwrap();
    let other = client.log_in(&Credentials::Anonymous).unwrap();
    client.token = other.authentication_token();
    let request = CloseSessionRequest {
        request_header: header(),
        delete_subscriptions: true,
    };
    client.call(request).unwrap();
    client.token = small.authentication_token();
    let many = (0..2000).map(|n| read_value(bench(1000 + n % 100), AttributeId::Value, ""));
    let refused = client.read_any(many.collect(), TimestampsToReturn::Both);
    assert_eq!(
        refused.map(|values| values.len()),
        Err(StatusCode::BadResponseTooLarge)
    );
}

#[test]
fn who_cannot_activate_a_session_does_not_move_it() {
    let server = start(Config {
        threads: 2,
        ..Config::default()
    });
    let (mut other, _) = come(&server);
    let (mut client, mut session) = come(&server);
    let wrong = Credentials::UserName {
        name: "nobody".into(),
        password: "x".to_owned().into(),
    };
    // Not offered: a request as another client would send it.
    let now = plant::Clock::start().now();
    let before = session.authentication_token();
    assert!(session.activate(&wrong, None, now).is_err());
    let id = other.send(ActivateSessionRequest {
        request_header: RequestHeader {
            authentication_token: before.clone(),
            ..header()
        },
        user_identity_token: ExtensionObject::from_message(UserNameIdentityToken {
            policy_id: "username".into(),
            user_name: "nobody".into(),
            ..Default::default()
        }),
        ..Default::default()
    });
    let refused = other.failed(id);
    assert_eq!(refused, StatusCode::BadIdentityTokenRejected);
    client.token = before;
    let value = client.read(&[bench(1000)]).remove(0).value;
    assert_eq!(value, Some(Variant::Double(1000.0)));
}

#[test]
fn sessions_that_are_asked_for_together_all_come_while_a_channel_gets_new_keys() {
    let (own, mine) = (identity("urn:test:server"), identity("urn:test:client"));
    let server = start(Config {
        threads: 2,
        identity: Some(own.clone()),
        ..Config::default()
    });
    let protection = Protection {
        policy: Policy::Basic256Sha256,
        mode: Mode::Sign,
    };
    let mut client = Client::connect(server.url(), protection, Some(&mine), Some(&own)).unwrap();
    client.begin_renewal();
    let asked = [(); 3].map(|()| client.put(session_of(&mine)));
    client.flush();
    for id in asked {
        client.answer(id).unwrap();
    }
    assert_eq!(server.counted().sessions, 3);
}
