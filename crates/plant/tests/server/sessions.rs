use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use plant::{Config, Limits, PasswordHash, TrustPolicy, Users};
use wire::certificate::Certificate;
use wire::channel::{ChannelError, Protection, all_protections};
use wire::policy::{Mode, Policy, PrivateKey};
use wire::session::token::Credentials;
use wire::types::{
    CloseSessionRequest, FindServersRequest, GetEndpointsRequest, NodeId, QueryFirstRequest,
    RequestHeader, StatusCode, UAString, Variant,
};

use crate::client::{Client, PATIENCE, identity};
use crate::{bench, start, until};

fn user(name: &str, password: &str) -> Credentials {
    Credentials::UserName {
        name: name.into(),
        password: password.to_owned().into(),
    }
}

fn x509(own: &pki::Identity) -> Credentials {
    Credentials::X509 {
        certificate: Certificate::from_der(own.certificate.der()).unwrap(),
        key: PrivateKey::from_der(own.key.pkcs8()).unwrap(),
    }
}

pub fn users() -> Users {
    let hash = PasswordHash::new(b"bench", [3; 16], NonZeroU32::MIN);
    Users {
        anonymous: true,
        passwords: vec![("bench".into(), hash)],
        certificates: Some(TrustPolicy::All),
        ..Users::default()
    }
}

#[test]
fn every_policy_and_mode_lets_every_kind_of_user_in() {
    let own = identity("urn:test:server");
    let client_identity = identity("urn:test:client");
    let server = start(Config {
        identity: Some(own.clone()),
        users: users(),
        ..Config::default()
    });
    let credentials = [
        Credentials::Anonymous,
        user("bench", "bench"),
        x509(&client_identity),
    ];
    for protection in all_protections().filter(|p| p.policy.curve().is_none()) {
        let mut client =
            Client::connect(server.url(), protection, Some(&client_identity), Some(&own))
                .unwrap_or_else(|error| panic!("{protection}: {error}"));
        for user in &credentials {
            client
                .log_in(user)
                .unwrap_or_else(|status| panic!("{protection} {user:?}: {status}"));
            let value = client.read(&[bench(1234)]).remove(0).value;
            assert_eq!(value, Some(Variant::Double(1234.0)), "{protection}");
        }
        let refused = client.log_in(&user("bench", "guess")).unwrap_err();
        assert_eq!(refused, StatusCode::BadUserAccessDenied, "{protection}");
    }
    let counted = server.counted();
    assert_eq!(counted.channels, 11);
    assert_eq!(counted.cumulated_sessions, 11 * 4);
}

#[test]
fn a_stranger_is_turned_away_until_an_administrator_trusts_him() {
    let folder = tempfile::tempdir().unwrap();
    let store = pki::Store::new(folder.path());
    let own = identity("urn:test:server");
    let other = identity("urn:test:client");
    let server = start(Config {
        identity: Some(own.clone()),
        trust: TrustPolicy::from(store.clone()),
        ..Config::default()
    });
    let protection = Protection {
        policy: Policy::Basic256Sha256,
        mode: Mode::SignAndEncrypt,
    };
    let connect = || Client::connect(server.url(), protection, Some(&other), Some(&own));
    let refused = connect().err().unwrap();
    let ChannelError::Peer(message) = refused else {
        panic!("{refused}");
    };
    assert_eq!(message.status, StatusCode::BadSecurityChecksFailed);
    let rejected = store.certificates(pki::store::Place::Rejected);
    assert_eq!(std::fs::read_dir(rejected).unwrap().count(), 1);

    store.trust_certificate(&other.certificate).unwrap();
    let mut client = connect().unwrap();
    client.log_in(&Credentials::Anonymous).unwrap();
}

const SECURED: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::SignAndEncrypt,
};

fn security_checks_failed(refused: Option<ChannelError>) {
    let Some(ChannelError::Peer(message)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(message.status, StatusCode::BadSecurityChecksFailed);
}

#[test]
fn whoever_is_refused_takes_nothing_out_of_the_trust_list() {
    let folder = tempfile::tempdir().unwrap();
    let store = pki::Store::new(folder.path());
    let own = identity("urn:test:server");
    let now = std::time::SystemTime::now().into();
    let key = pki::Key::generate(2048).unwrap();
    let root =
        pki::make::Authority::root(pki::make::Request::authority("plant"), key, now).unwrap();
    let key = pki::Key::generate(2048).unwrap();
    let request = pki::make::Request::application("urn:test:client").days(30);
    let client = pki::Identity::new(root.sign(&request, &key, now).unwrap(), key);
    // Trusted itself, but the authority above it is not known: its chain is incomplete.
    store.trust_certificate(&client.certificate).unwrap();
    let server = start(Config {
        identity: Some(own.clone()),
        trust: TrustPolicy::from(store.clone()),
        ..Config::default()
    });
    let connect = || Client::connect(server.url(), SECURED, Some(&client), Some(&own));
    security_checks_failed(connect().err());
    let trusted = store.trust().unwrap().0.trusted;
    assert_eq!(trusted, std::slice::from_ref(&client.certificate));

    // With its authority and a list of that it comes in, because it is still trusted.
    store.know_issuer(root.certificate()).unwrap();
    store
        .add_revocations(&root.revoke(&[], now, 30).unwrap())
        .unwrap();
    connect().unwrap().log_in(&Credentials::Anonymous).unwrap();
}

#[test]
fn a_certificate_signed_with_sha1_is_refused_where_the_policy_wants_better() {
    let folder = tempfile::tempdir().unwrap();
    let store = pki::Store::new(folder.path());
    let own = identity("urn:test:server");
    let old = pki::testing::signed_with_sha1().unwrap();
    store.trust_certificate(&old.certificate).unwrap();
    for trust in [TrustPolicy::from(store), TrustPolicy::All] {
        let server = start(Config {
            identity: Some(own.clone()),
            trust,
            ..Config::default()
        });
        let refused = Client::connect(server.url(), SECURED, Some(&old), Some(&own));
        security_checks_failed(refused.err());
        until(&server, "a line of the log", |server| {
            !server.watch().refused(0).0.is_empty()
        });
        let (told, _) = server.watch().refused(0);
        assert_eq!(told[0].status, StatusCode::BadCertificatePolicyCheckFailed);
    }
}

#[test]
fn who_is_distrusted_or_revoked_meanwhile_gets_no_new_keys() {
    let folder = tempfile::tempdir().unwrap();
    let store = pki::Store::new(folder.path());
    let own = identity("urn:test:server");
    let now = std::time::SystemTime::now().into();
    let key = pki::Key::generate(2048).unwrap();
    let root =
        pki::make::Authority::root(pki::make::Request::authority("plant"), key, now).unwrap();
    let key = pki::Key::generate(2048).unwrap();
    let request = pki::make::Request::application("urn:test:revoked").days(30);
    let revoked = pki::Identity::new(root.sign(&request, &key, now).unwrap(), key);
    let distrusted = identity("urn:test:distrusted");
    store.trust_certificate(root.certificate()).unwrap();
    store.trust_certificate(&distrusted.certificate).unwrap();
    store
        .add_revocations(&root.revoke(&[], now, 30).unwrap())
        .unwrap();
    let trust = TrustPolicy::from(store.clone());
    let server = start(Config {
        identity: Some(own.clone()),
        trust: trust.clone(),
        ..Config::default()
    });
    let mut clients = [&revoked, &distrusted].map(|client| {
        let mut client = Client::connect(server.url(), SECURED, Some(client), Some(&own)).unwrap();
        client.log_in(&Credentials::Anonymous).unwrap();
        client.renew();
        assert_eq!(client.closed, None);
        client
    });
    assert_eq!(trust.readings(), 1, "read once for four handshakes");
    store.distrust(&distrusted.certificate).unwrap();
    let list = root.revoke(&[&revoked.certificate], now, 30).unwrap();
    store.add_revocations(&list).unwrap();
    for client in &mut clients {
        security_checks_failed(client.refused_renewal());
    }
}

#[test]
fn a_user_certificate_that_nobody_trusts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let own = identity("urn:test:server");
    let somebody = identity("urn:test:client");
    let server = start(Config {
        identity: Some(own.clone()),
        users: Users {
            certificates: Some(TrustPolicy::from(pki::Store::new(folder.path()))),
            ..users()
        },
        ..Config::default()
    });
    let mut client =
        Client::connect(server.url(), Protection::NONE, Some(&somebody), Some(&own)).unwrap();
    let refused = client.log_in(&x509(&somebody)).unwrap_err();
    assert_eq!(refused, StatusCode::BadIdentityTokenRejected);
    let (told, known) = server.watch().refused(0);
    let [one] = told.as_slice() else {
        panic!("{told:?}");
    };
    let name = somebody.certificate.subject().common_name();
    let who = format!("certificate of user {:?}", name.unwrap_or_default());
    assert_eq!((one.who.as_str(), one.untold, known), (&*who, 0, 1));
    assert_eq!(one.status, StatusCode::BadIdentityTokenRejected);
    assert!(one.address.unwrap().ip().is_loopback());
}

#[test]
fn a_user_certificate_is_held_to_the_policy_that_its_signature_is_made_under() {
    let folder = tempfile::tempdir().unwrap();
    let store = pki::Store::new(folder.path());
    let own = identity("urn:test:server");
    let old = pki::testing::signed_with_sha1().unwrap();
    store.trust_certificate(&old.certificate).unwrap();
    let server = start(Config {
        identity: Some(own.clone()),
        users: Users {
            certificates: Some(TrustPolicy::from(store)),
            ..users()
        },
        ..Config::default()
    });
    let mine = identity("urn:test:client");
    // On an open channel user tokens are protected under Basic256Sha256.
    for protection in [Protection::NONE, SECURED] {
        let mut client =
            Client::connect(server.url(), protection, Some(&mine), Some(&own)).unwrap();
        let refused = client.log_in(&x509(&old)).unwrap_err();
        assert_eq!(
            refused,
            StatusCode::BadIdentityTokenRejected,
            "{protection}"
        );
    }
    let weak = Protection {
        policy: Policy::Basic256,
        mode: Mode::SignAndEncrypt,
    };
    let mut client = Client::connect(server.url(), weak, Some(&mine), Some(&own)).unwrap();
    client.log_in(&x509(&old)).unwrap();
}

#[test]
fn a_server_that_offers_no_plain_endpoint_gives_no_plain_session() {
    let own = identity("urn:test:server");
    let protection = Protection {
        policy: Policy::Aes256Sha256RsaPss,
        mode: Mode::Sign,
    };
    let server = start(Config {
        identity: Some(own.clone()),
        protections: vec![protection],
        ..Config::default()
    });
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let endpoints = client.call(GetEndpointsRequest {
        request_header: RequestHeader::default(),
        endpoint_url: server.url().into(),
        locale_ids: None,
        profile_uris: None,
    });
    let endpoints = endpoints.unwrap().endpoints.unwrap();
    assert_eq!(endpoints.len(), 1);
    assert_eq!(
        endpoints[0].security_policy_uri.as_ref(),
        protection.policy.uri()
    );
    assert_eq!(
        endpoints[0].server_certificate.as_ref(),
        own.certificate.der()
    );
    assert_eq!(
        endpoints[0].server.application_uri.as_ref(),
        "urn:test:server"
    );
    let refused = client.create().unwrap_err();
    assert_eq!(refused, StatusCode::BadSecurityPolicyRejected);
}

#[test]
fn a_session_survives_a_lost_connection() {
    let server = start(Config::default());
    let mut first = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut session = first.log_in(&Credentials::Anonymous).unwrap();
    drop(first);
    let mut second = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    second.token = session.authentication_token();
    let id = second.send(bare_read());
    assert_eq!(
        second.answer(id).unwrap_err(),
        StatusCode::BadSecureChannelIdInvalid
    );
    session.move_to(second.channel()).unwrap();
    second
        .activate(&mut session, &Credentials::Anonymous)
        .unwrap();
    assert_eq!(
        second.read(&[bench(1000)])[0].value,
        Some(Variant::Double(1000.0))
    );
    assert_eq!(server.counted().cumulated_sessions, 1);
}

#[test]
fn a_channel_is_renewed_while_its_client_sends_nothing_else() {
    let own = identity("urn:test:server");
    let client_identity = identity("urn:test:client");
    let server = start(Config {
        identity: Some(own.clone()),
        ..Config::default()
    });
    for mode in [Mode::Sign, Mode::SignAndEncrypt] {
        let protection = Protection {
            policy: Policy::Basic256Sha256,
            mode,
        };
        let (mine, theirs) = (Some(&client_identity), Some(&own));
        let mut client = Client::connect(server.url(), protection, mine, theirs).unwrap();
        client.log_in(&Credentials::Anonymous).unwrap();
        for _ in 0..2 {
            client.renew();
            client.read(&[NodeId::new(0, 2259u32)]);
        }
    }
    let mut client = Client::plain(server.url());
    client.renew();
    client.read(&[NodeId::new(0, 2259u32)]);
}

#[test]
fn a_session_is_reached_from_every_loop_of_the_server() {
    let own = identity("urn:test:server");
    let client_identity = identity("urn:test:client");
    let protection = Protection {
        policy: Policy::Basic256Sha256,
        mode: Mode::SignAndEncrypt,
    };
    let server = start(Config {
        threads: 3,
        identity: Some(own.clone()),
        ..Config::default()
    });
    let connect = || {
        let (own, server_own) = (Some(&client_identity), Some(&own));
        Client::connect(server.url(), protection, own, server_own).unwrap()
    };
    let mut first = connect();
    let mut session = first.log_in(&Credentials::Anonymous).unwrap();
    drop(first);
    for _ in 0..7 {
        let mut next = connect();
        session.move_to(next.channel()).unwrap();
        next.activate(&mut session, &Credentials::Anonymous)
            .unwrap();
        let value = next.read(&[bench(1007)]).remove(0).value;
        assert_eq!(value, Some(Variant::Double(1007.0)));
    }
    assert_eq!(server.counted().cumulated_sessions, 1);
}

fn bare_read() -> wire::types::ReadRequest {
    wire::types::ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: wire::types::TimestampsToReturn::Neither,
        nodes_to_read: None,
    }
}

#[test]
fn a_session_dies_when_nobody_uses_it() {
    let short = Duration::from_secs(2);
    let server = start(Config {
        limits: Limits {
            session_timeout: short..=short,
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut client = Client::plain(server.url());
    // Used now and then, it lives longer than that.
    for _ in 0..6 {
        std::thread::sleep(short / 5);
        client.read(&[bench(1000)]);
    }
    let until = Instant::now() + PATIENCE;
    while server.counted().sessions > 0 {
        assert!(Instant::now() < until, "the session lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = client.send(bare_read());
    assert_eq!(
        client.answer(id).unwrap_err(),
        StatusCode::BadSessionIdInvalid
    );
    assert_eq!(server.counted().session_timeouts, 1);
}

#[test]
fn requests_without_a_good_session_are_refused_each_with_its_code() {
    let server = start(Config::default());
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let id = client.send(bare_read());
    assert_eq!(
        client.answer(id).unwrap_err(),
        StatusCode::BadSessionIdInvalid
    );
    let session = client.create().unwrap();
    client.token = session.authentication_token();
    for expected in [
        StatusCode::BadSessionNotActivated,
        StatusCode::BadSessionIdInvalid,
    ] {
        // Part 4, 5.7.3.1: the first request ends the session.
        let id = client.send(bare_read());
        assert_eq!(client.answer(id).unwrap_err(), expected);
    }
    let mut client = Client::plain(server.url());
    let id = client.send(QueryFirstRequest::default());
    assert_eq!(
        client.answer(id).unwrap_err(),
        StatusCode::BadServiceUnsupported
    );
    let close = || CloseSessionRequest {
        request_header: RequestHeader::default(),
        delete_subscriptions: true,
    };
    client.call(close()).unwrap();
    assert_eq!(
        client.call(close()).unwrap_err(),
        StatusCode::BadSessionIdInvalid
    );
    let id = client.send_raw(&[1, 0, 0x77, 0x02, 0xff]);
    let id = client.answer_raw(id);
    assert_eq!(id, StatusCode::BadDecodingError);
}

/// Part 4, 5.7.2.1.
#[test]
fn sessions_that_nobody_activates_make_room_for_others() {
    let server = start(Config {
        limits: Limits {
            sessions: 2,
            ..Limits::default()
        },
        threads: 1,
        ..Config::default()
    });
    let connect = || Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut first = connect();
    first.log_in(&Credentials::Anonymous).unwrap();
    let mut waiting = connect();
    let mut session = waiting.create().unwrap();
    // While its client is there it has a moment to go on.
    let mut next = connect();
    let end = Instant::now() + PATIENCE;
    while next.log_in(&Credentials::Anonymous).is_err() {
        assert!(Instant::now() < end, "{:?}", server.counted());
        std::thread::sleep(Duration::from_millis(100));
    }
    let late = waiting.activate(&mut session, &Credentials::Anonymous);
    assert_eq!(late.unwrap_err(), StatusCode::BadSessionIdInvalid);
    // What is activated stays.
    assert_eq!(
        waiting.create().unwrap_err(),
        StatusCode::BadTooManySessions
    );
    assert_eq!(first.read(&[bench(1234)]).len(), 1);
}

#[test]
fn no_more_sessions_and_connections_than_declared() {
    let server = start(Config {
        limits: Limits {
            sessions: 2,
            connections: 3,
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut clients: Vec<Client> = (0..2).map(|_| Client::plain(server.url())).collect();
    let mut third = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    assert_eq!(third.create().unwrap_err(), StatusCode::BadTooManySessions);
    // Part 6, 7.1.5: a connection too many is told so.
    let fourth = Client::connect(server.url(), Protection::NONE, None, None);
    let Some(ChannelError::Peer(message)) = fourth.err() else {
        panic!("a connection too many");
    };
    assert_eq!(message.status, StatusCode::BadTcpServerTooBusy);
    assert_eq!(server.counted().connections, 3);
    let close = CloseSessionRequest {
        request_header: RequestHeader::default(),
        delete_subscriptions: true,
    };
    clients[0].call(close).unwrap();
    third.log_in(&Credentials::Anonymous).unwrap();
}

#[test]
fn servers_are_found_by_their_uri() {
    let server = start(Config::default());
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let mut find = |uris: Option<Vec<UAString>>| {
        let request = FindServersRequest {
            request_header: RequestHeader::default(),
            endpoint_url: server.url().into(),
            locale_ids: None,
            server_uris: uris,
        };
        client.call(request).unwrap().servers.unwrap()
    };
    assert_eq!(find(None)[0].application_uri.as_ref(), "urn:uaperf:plant");
    assert_eq!(find(Some(vec!["urn:another".into()])).len(), 0);
}

#[test]
fn a_server_that_stops_says_so() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let url = server.url().to_owned();
    server.stop();
    let deadline = Instant::now() + PATIENCE;
    while client.closed.is_none() {
        client.step(deadline);
    }
    let Some(ChannelError::Peer(message)) = client.closed else {
        panic!("{:?}", client.closed);
    };
    assert_eq!(message.status, StatusCode::BadShutdown);
    let address = url.strip_prefix("opc.tcp://").unwrap();
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn many_requests_in_flight_are_all_answered() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    for _ in 0..20 {
        let ids: Vec<_> = (0..64)
            .map(|_| {
                let mut request = bare_read();
                request.nodes_to_read = Some(vec![crate::client::read_value(
                    bench(3013),
                    wire::types::AttributeId::Value,
                    "",
                )]);
                client.send(request)
            })
            .collect();
        for id in ids {
            client.answer(id).unwrap();
        }
    }
}

#[test]
fn the_oldest_connections_without_a_session_make_room_for_new_ones() {
    let server = start(Config {
        limits: Limits {
            connections: 4,
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut good = Client::plain(server.url());
    // One that logged in and out again is in another loop than those that did not, and as idle as they are.
    let mut left = Client::plain(server.url());
    let close = CloseSessionRequest {
        request_header: RequestHeader::default(),
        delete_subscriptions: true,
    };
    left.call(close).unwrap();
    let idle = || Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    let (mut older, _younger) = (idle(), idle());
    // Who has only come keeps his place.
    assert!(Client::connect(server.url(), Protection::NONE, None, None).is_err());
    std::thread::sleep(Duration::from_millis(1100));
    let mut newcomers = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while newcomers.len() < 3 {
        assert!(Instant::now() < deadline, "{} came in", newcomers.len());
        match Client::connect(server.url(), Protection::NONE, None, None) {
            Ok(mut client) => {
                client.log_in(&Credentials::Anonymous).unwrap();
                newcomers.push(client);
            }
            // The room is made by another loop, for who comes next.
            Err(_) => std::thread::sleep(Duration::from_millis(30)),
        }
    }
    for ended in [&mut older, &mut left] {
        while ended.closed.is_none() {
            ended.step(deadline);
        }
        let Some(ChannelError::Peer(message)) = &ended.closed else {
            panic!("{:?}", ended.closed);
        };
        assert_eq!(message.status, StatusCode::BadTcpServerTooBusy);
    }
    // All have a session now: nobody has to go.
    std::thread::sleep(Duration::from_millis(1100));
    assert!(Client::connect(server.url(), Protection::NONE, None, None).is_err());
    for client in newcomers.iter_mut().chain([&mut good]) {
        assert_eq!(client.read(&[bench(1234)]).len(), 1);
    }
}

#[test]
fn who_sends_hundreds_of_passwords_at_once_is_in_nobody_s_way() {
    // Some milliseconds each.
    let hash = PasswordHash::new(b"bench", [3; 16], NonZeroU32::new(20_000).unwrap());
    let own = identity("urn:test:server");
    let client_identity = identity("urn:test:client");
    let server = start(Config {
        identity: Some(own.clone()),
        users: Users {
            passwords: vec![("bench".into(), hash)],
            ..Users::default()
        },
        ..Config::default()
    });
    let secured = Protection {
        policy: Policy::Basic256Sha256,
        mode: Mode::SignAndEncrypt,
    };
    let connect = || {
        let (theirs, own) = (Some(&client_identity), Some(&own));
        Client::connect(server.url(), secured, theirs, own).unwrap()
    };
    let mut crowd = connect();
    let mut session = crowd.create().unwrap();
    let request = crowd.activation(&mut session, &user("bench", "wrong"));
    let asked: Vec<_> = (0..300).map(|_| crowd.put(request.clone())).collect();
    crowd.flush();
    let mut good = connect();
    good.log_in(&user("bench", "bench")).unwrap();
    let refused = server.counted().rejected_sessions;
    assert!(refused < 100, "{refused} were looked at before");
    for id in &asked[..20] {
        let answer = crowd.answer(*id).unwrap_err();
        assert_eq!(answer, StatusCode::BadUserAccessDenied);
    }
}
