//! Laws of sessions over a link, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use simulate::protocol::{
    Client, Costs, Envelope, ProtocolStep, Reads, Scene, Server, SessionCourse, Side,
};
use wire::certificate::Certificate;
use wire::channel::{Identity, Protection};
use wire::policy::{Mode, Policy, PrivateKey};
use wire::session::token::Credentials;
use wire::types::{
    ApplicationDescription, DataValue, EndpointDescription, NodeId, TimestampsToReturn,
    UserTokenPolicy, UserTokenType, Variant,
};

const MS: u64 = 1_000_000;

const SECURED: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::SignAndEncrypt,
};

/// One for both ends: nobody looks who they are.
fn identity() -> Identity {
    let certificate = include_bytes!("../../wire/tests/keys/cert2048.der");
    let key = include_bytes!("../../wire/tests/keys/rsa2048.der");
    Identity {
        certificate: Certificate::from_der(certificate).unwrap(),
        key: PrivateKey::from_der(key).unwrap(),
    }
}

fn scene(link: &str, protection: Protection) -> Scene {
    let own = identity();
    let endpoint = EndpointDescription {
        endpoint_url: "opc.tcp://there:4840".into(),
        server_certificate: own.certificate.as_bytes().into(),
        security_mode: protection.mode.into(),
        security_policy_uri: protection.policy.uri().into(),
        user_identity_tokens: Some(vec![UserTokenPolicy {
            policy_id: "anonymous".into(),
            token_type: UserTokenType::Anonymous,
            ..Default::default()
        }]),
        ..Default::default()
    };
    let uri = own.certificate.application_uri().unwrap_or_default();
    Scene {
        link: link.parse().unwrap(),
        seed: 1,
        client: Arc::new(Client {
            url: "opc.tcp://there:4840".to_owned(),
            application: ApplicationDescription {
                application_uri: uri.into(),
                ..Default::default()
            },
            session_name: "one".to_owned(),
            protection,
            identity: Some(own.clone()),
            user: Credentials::Anonymous,
            discovers: false,
            reads: Reads {
                count: 0,
                nodes: vec![NodeId::new(1, 1000)],
                timestamps: TimestampsToReturn::Neither,
                value: DataValue::new_now(Variant::from(0i32)),
            },
            timeout: Duration::from_secs(10),
        }),
        server: Arc::new(Server {
            session: Arc::new(wire::session::server::Config::new(
                Some(own),
                vec![endpoint],
            )),
            protections: vec![protection],
            cores: 1,
        }),
        client_costs: Costs::default(),
        server_costs: Costs::default(),
        envelope: Envelope::default(),
        tls: None,
    }
}

fn good(course: SessionCourse) -> SessionCourse {
    assert_eq!(course.failed, None);
    course
}

fn step(course: &SessionCourse, wanted: ProtocolStep) -> u64 {
    course.steps.iter().find(|it| it.0 == wanted).unwrap().2
}

#[test]
fn a_session_is_activated_after_five_round_trips() {
    for protection in [Protection::NONE, SECURED] {
        let course = good(scene("delay=50ms", protection).session(0));
        assert_eq!(course.activation(), Some(500 * MS), "{protection}");
        for it in [
            ProtocolStep::Connect,
            ProtocolStep::Hello,
            ProtocolStep::OpenChannel,
            ProtocolStep::CreateSession,
            ProtocolStep::ActivateSession,
        ] {
            assert_eq!(step(&course, it), 100 * MS, "{protection}: {}", it.name());
        }
    }
}

#[test]
fn a_secured_session_takes_eight_operations_with_private_keys() {
    let mut it = scene("delay=0", SECURED);
    it.client_costs = Costs {
        sign: 1e6,
        decrypt: 1e3,
        ..Costs::default()
    };
    it.server_costs = Costs {
        sign: 10e6,
        decrypt: 100e6,
        check: 10.0,
        ..Costs::default()
    };
    let course = good(it.session(0));
    // Each signs its OPN and in the session, and decrypts an OPN of two blocks.
    let client = 2 * MS + 2 * 1_000;
    let server = 2 * 10 * MS + 2 * 100 * MS + 10;
    assert_eq!(course.activation(), Some(client + server));
}

#[test]
fn a_check_is_a_step_of_its_own_and_waits_for_an_authority_without_work() {
    let mut it = scene("delay=1ms", SECURED);
    it.client_costs.check = 7e6;
    it.client_costs.ask = 50e6;
    let course = good(it.session(0));
    assert_eq!(step(&course, ProtocolStep::CheckCertificate), 57 * MS);
    assert_eq!(step(&course, ProtocolStep::OpenChannel), 2 * MS);
    assert_eq!(course.activation(), Some(67 * MS));
}

#[test]
fn the_same_seed_is_the_same_session_and_another_one_is_not() {
    let mut it = scene("2Mbit/s,delay=10ms,jitter=5ms,loss=3%", Protection::NONE);
    let all = |it: &Scene| -> Vec<u64> { (0..50).map(|n| it.session(n).ended).collect() };
    let first = all(&it);
    assert_eq!(first, all(&it));
    it.seed = 2;
    assert_ne!(first, all(&it));
}

#[test]
fn what_is_lost_shows_as_steps_of_a_timeout() {
    let it = scene("2Mbit/s,delay=20ms,loss=2%", Protection::NONE);
    let clean = scene("2Mbit/s,delay=20ms", Protection::NONE).session(0);
    let clean = clean.activation().unwrap();
    let (mut by_fifth, mut by_second) = (0, 0);
    for n in 0..400 {
        let course = good(it.session(n));
        let late = course.activation().unwrap() - clean;
        match late / MS {
            // One segment: 200 ms and a round trip of 40 ms.
            230..=260 => by_fifth += 1,
            // The first of all.
            995..=1010 => by_second += 1,
            _ => {}
        }
    }
    assert!(by_fifth > 20, "{by_fifth}");
    assert!(by_second > 4, "{by_second}");
}

#[test]
fn sessions_at_once_wait_for_the_servers_core() {
    let mut it = scene("delay=1ms", SECURED);
    it.server_costs.sign = 10e6;
    let alone = good(it.session(0)).activation().unwrap();
    assert_eq!(alone, 10 * MS + 2 * 10 * MS);
    let all = it.together(100, 0, |_| ControlFlow::Continue(()));
    let last = all.iter().map(|it| it.activation().unwrap()).max().unwrap();
    // Two signatures for each of them, one after the other.
    assert!((2000..2020).contains(&(last / MS)), "{last}");
    let mut two = it.clone();
    two.server = Arc::new(Server {
        cores: 2,
        ..(*it.server).clone()
    });
    let all = two.together(100, 0, |_| ControlFlow::Continue(()));
    let last = all.iter().map(|it| it.activation().unwrap()).max().unwrap();
    assert!((1000..1020).contains(&(last / MS)), "{last}");
}

#[test]
fn who_is_not_answered_gives_up_after_its_timeout_and_says_at_which_step() {
    let course = scene("delay=1ms,loss=100%", Protection::NONE).session(0);
    assert_eq!(
        course.failed.as_deref(),
        Some("TCP connect: no answer in time")
    );
    assert_eq!(course.ended, 10_000 * MS);
    // Nothing comes back from the server within the time.
    let mut slow = scene("delay=1ms", SECURED);
    slow.server_costs.sign = 30e9;
    let course = slow.session(0);
    let failed = course.failed.unwrap();
    assert!(failed.starts_with("open channel: timed out"), "{failed}");
}

#[test]
fn requests_take_what_their_bytes_take() {
    let mut it = scene("1Mbit/s,delay=10ms", Protection::NONE);
    it.client = Arc::new(Client {
        reads: Reads {
            count: 3,
            ..it.client.reads.clone()
        },
        ..(*it.client).clone()
    });
    let course = good(it.session(0));
    let reads: Vec<u64> = course
        .steps
        .iter()
        .filter(|it| it.0 == ProtocolStep::Read)
        .map(|it| it.2)
        .collect();
    let bytes: usize = {
        let of_read = course
            .messages
            .iter()
            .filter(|it| it.step == ProtocolStep::Read);
        of_read.take(2).map(|it| it.bytes + 66).sum()
    };
    assert_eq!(reads, [20 * MS + bytes as u64 * 8_000; 3]);
    let sides: Vec<Side> = course.messages.iter().map(|it| it.from).collect();
    assert_eq!(sides.len(), 17);
}

#[test]
fn a_thousand_sessions_are_a_hundred_events_each() {
    let it = scene("cavalieri-2mbps", Protection::NONE);
    let course = good(it.session(0));
    // What real time they take follows from it: an event is some microseconds.
    assert!((40..120).contains(&course.events), "{}", course.events);
}
