//! Who is let in is led to a loop when they want a session.

use std::time::Duration;

use plant::{Config, Limits};
use wire::channel::Protection;
use wire::policy::{Mode, Policy};
use wire::service::{Request, Response};
use wire::session::token::Credentials;
use wire::types::{
    CloseSessionRequest, CreateSessionRequest, CreateSessionResponse, DeleteSubscriptionsRequest,
    FindServersRequest, GetEndpointsRequest, GetEndpointsResponse, Identifier, NodeId, StatusCode,
};

use crate::client::{Client, identity, session_of};
use crate::subscribing::header;
use crate::{is_served, start, until};

/// The loop that a session lives in, which its token says first.
fn home(token: &NodeId) -> u8 {
    match &token.identifier {
        Identifier::ByteString(token) => token.as_ref()[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn sessions_go_to_one_loop_after_the_other_and_none_stays_at_the_door() {
    let server = start(Config {
        threads: 3,
        ..Config::default()
    });
    let clients: Vec<_> = (0..6).map(|_| Client::plain(server.url())).collect();
    let homes: Vec<_> = clients.iter().map(|client| home(&client.token)).collect();
    let mut each = homes[..3].to_vec();
    each.sort_unstable();
    assert_eq!(each, [0, 1, 2]);
    assert_eq!(homes[3..], homes[..3]);
}

#[test]
fn a_session_is_made_in_a_loop_however_its_request_spells_its_type() {
    let server = start(Config {
        threads: 1,
        ..Config::default()
    });
    let url = server.url();
    let mut client = Client::connect(url, Protection::NONE, None, None).unwrap();
    let mut request: Request = CreateSessionRequest {
        endpoint_url: url.into(),
        client_nonce: [7; 32].as_slice().into(),
        ..Default::default()
    }
    .into();
    *request.header_mut() = header();
    let mut body = Vec::new();
    request.encode(&mut body).unwrap();
    // An ExpandedNodeId with a server index, where Part 6, 5.2.7 wants a NodeId.
    assert_eq!(body[..4], [1, 0, 0xcd, 1]);
    body.splice(..4, [0x41, 0, 0xcd, 1, 0, 0, 0, 0]);
    let asked = client.send_raw(&body);
    let answer = client.raw_answer(asked);
    let response = Response::decode(&answer, &wire::service::Limits::default()).unwrap();
    let response: CreateSessionResponse = response.try_into().unwrap();
    assert_eq!(home(&response.authentication_token), 0);
}

/// What the acceptor has of a connection goes along when it is led to a loop: nothing of it is lost, or comes twice.
#[test]
fn a_connection_is_led_to_its_loop_with_all_that_is_on_it() {
    let (own, mine) = (identity("urn:test:server"), identity("urn:test:client"));
    let server = start(Config {
        threads: 2,
        identity: Some(own.clone()),
        faults: vec!["delay=500ms,on=get_endpoints".parse().unwrap()],
        ..Config::default()
    });
    let protection = Protection {
        policy: Policy::Basic256Sha256,
        mode: Mode::SignAndEncrypt,
    };
    let mut client = Client::connect(server.url(), protection, Some(&mine), Some(&own)).unwrap();
    let create = || session_of(&mine);
    // An answer that a fault holds back.
    let held = client.put(GetEndpointsRequest::default());
    // A step of its channel, at which a helper is.
    client.begin_renewal();
    // What leads it away, and what came with that.
    let sessions = [(); 2].map(|()| client.put(create()));
    let behind = client.put(FindServersRequest::default());
    // The first bytes of one more.
    let part = client.put(create());
    client.flush_all_but(100);
    let mut homes = Vec::new();
    let mut created = |response: Response| {
        let response: CreateSessionResponse = response.try_into().unwrap();
        homes.push(home(&response.authentication_token));
    };
    for id in sessions {
        created(client.answer(id).unwrap());
    }
    client.answer(behind).unwrap();
    client.flush();
    created(client.answer(part).unwrap());
    let told: GetEndpointsResponse = client.answer(held).unwrap().try_into().unwrap();
    assert!(told.endpoints.is_some_and(|all| !all.is_empty()));
    assert!(homes.iter().all(|home| *home == homes[0] && *home < 2));
    assert_eq!((client.renewals, client.late), (1, 0));
    assert_eq!(
        (server.counted().connections, server.counted().sessions),
        (1, 3)
    );
    // It is served there, and its new keys are.
    client.log_in(&Credentials::Anonymous).unwrap();
    is_served(&mut client);
    client.renew();
    is_served(&mut client);
}

#[test]
fn who_names_a_session_at_the_door_hears_what_its_loop_has_to_say() {
    let server = start(Config {
        threads: 1,
        ..Config::default()
    });
    let client = Client::plain(server.url());
    let none = Protection::NONE;
    let mut other = Client::connect(server.url(), none, None, None).unwrap();
    other.token = client.token.clone();
    // The session is there, but over another channel (Part 4, 5.7.3.1).
    let refused = other.call(DeleteSubscriptionsRequest {
        request_header: header(),
        subscription_ids: Some(vec![1]),
    });
    assert_eq!(
        refused.map(|_| ()),
        Err(StatusCode::BadSecureChannelIdInvalid)
    );
}

#[test]
fn a_session_among_thousands_that_were_closed_ends_when_its_time_is_up() {
    let short = Duration::from_secs(2);
    let server = start(Config {
        threads: 1,
        limits: Limits {
            session_timeout: short..=short,
            ..Limits::default()
        },
        ..Config::default()
    });
    let _idle = Client::plain(server.url());
    let mut busy = Client::plain(server.url());
    // Each leaves a moment at which it would have ended.
    for _ in 0..1_500 {
        let session = busy.create().unwrap();
        busy.token = session.authentication_token();
        busy.call(CloseSessionRequest {
            request_header: header(),
            delete_subscriptions: true,
        })
        .unwrap();
    }
    until(&server, "both have ended", |server| {
        server.counted().session_timeouts == 2
    });
    assert_eq!(server.counted().sessions, 0);
}
