//! Audit events (Part 4, 6.5; Part 5, 6.4.3 ff.).

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use plant::{Config, PasswordHash, Rights, Server, Users};
use wire::channel::Protection;
use wire::client::RequestId;
use wire::policy::{Mode, Policy};
use wire::service::Response;
use wire::session::token::Credentials;
use wire::types::{
    AttributeId, CancelRequest, NodeId, NumericRange, ObjectId, ObjectTypeId, RequestHeader,
    SimpleAttributeOperand, StatusCode, VariableId, Variant, WriteRequest, WriteValue,
};

use crate::client::{Client, PATIENCE, identity};
use crate::events::{base, field, heard, listen, of_type};
use crate::subscribing::{publish, subscribe, watch};
use crate::{bench, start};

const SECURED: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::SignAndEncrypt,
};

fn served(own: &pki::Identity, audit: bool) -> Server {
    let hash = || PasswordHash::new(b"pw", [3; 16], NonZeroU32::MIN);
    start(Config {
        identity: Some(own.clone()),
        audit,
        users: Users {
            passwords: vec![("anna".into(), hash()), ("bob".into(), hash())],
            rights: vec![("bob".into(), Rights::READ_ONLY)],
            ..Users::default()
        },
        ..Config::default()
    })
}

fn as_user(name: &str, password: &str) -> Credentials {
    Credentials::UserName {
        name: name.into(),
        password: password.to_owned().into(),
    }
}

fn select() -> Vec<SimpleAttributeOperand> {
    let audit = ObjectTypeId::AuditEventType;
    vec![
        base("EventType"),
        base("SourceName"),
        base("SourceNode"),
        field(audit, &["Status"]),
        field(audit, &["ClientUserId"]),
        field(audit, &["ClientAuditEntryId"]),
        field(ObjectTypeId::AuditSecurityEventType, &["StatusCodeId"]),
        field(ObjectTypeId::AuditWriteUpdateEventType, &["NewValue"]),
        field(ObjectTypeId::AuditSessionEventType, &["SessionId"]),
        field(ObjectTypeId::AuditCancelEventType, &["RequestHandle"]),
    ]
}

/// Somebody who listens at the Server object.
fn listener(server: &Server, protection: Protection, own: &pki::Identity) -> Client {
    let mine = identity("urn:test:listener");
    let mut client = Client::connect(server.url(), protection, Some(&mine), Some(own)).unwrap();
    client.log_in(&Credentials::Anonymous).unwrap();
    client
}

fn begin(client: &mut Client) {
    let id = subscribe(client, 20.0).subscription_id;
    // Other sources are heard there as well.
    let only = vec![of_type(ObjectTypeId::AuditEventType)];
    let asked = listen(ObjectId::Server, 1000, select(), only);
    let result = watch(client, id, vec![asked]).remove(0);
    assert_eq!(result.status_code, StatusCode::Good);
}

fn write(client: &mut Client, node: NodeId, entry: &str) -> StatusCode {
    let request = WriteRequest {
        request_header: RequestHeader {
            audit_entry_id: entry.into(),
            ..Default::default()
        },
        nodes_to_write: Some(vec![WriteValue {
            node_id: node,
            attribute_id: AttributeId::Value as u32,
            index_range: NumericRange::None,
            value: Variant::Double(7.5).into(),
        }]),
    };
    client.call(request).unwrap().results.unwrap().remove(0)
}

/// Whatever came by now says only that the subscription lives.
fn hears_nothing(client: &mut Client, ids: [RequestId; 2]) {
    for id in ids {
        if client.has_by_now(id) {
            let Ok(Response::Publish(it)) = client.answer(id) else {
                panic!("no Publish response");
            };
            let data = it.notification_message.notification_data;
            assert!(data.is_none_or(|data| data.is_empty()));
        }
    }
}

fn kind(of: ObjectTypeId) -> Variant {
    NodeId::from(of).into()
}

#[test]
fn what_clients_do_is_told_to_who_may_know() {
    let own = identity("urn:test:server");
    let server = served(&own, true);
    let mut observer = listener(&server, SECURED, &own);
    let auditing = observer.read(&[VariableId::Server_Auditing.into()]);
    assert_eq!(auditing[0].value, Some(true.into()));
    begin(&mut observer);

    let plain = || Client::connect(server.url(), Protection::NONE, None, Some(&own)).unwrap();
    let mut anna = plain();
    anna.log_in(&as_user("anna", "pw")).unwrap();
    assert_eq!(write(&mut anna, bench(1000), "order 7"), StatusCode::Good);
    let unknown = NodeId::new(2, "nowhere");
    assert_eq!(write(&mut anna, unknown, ""), StatusCode::BadNodeIdUnknown);
    anna.call(CancelRequest {
        request_header: RequestHeader::default(),
        request_handle: 4711,
    })
    .unwrap();
    let mut eve = plain();
    let refused = eve.log_in(&as_user("anna", "guessed"));
    assert!(refused.is_err());

    let events = heard(&mut observer, 9);
    let told: Vec<_> = events
        .iter()
        .map(|it| (it[0].clone(), it[3].clone()))
        .collect();
    let (yes, no): (Variant, Variant) = (true.into(), false.into());
    use ObjectTypeId as T;
    let expected = [
        (kind(T::AuditOpenSecureChannelEventType), yes.clone()),
        (kind(T::AuditCreateSessionEventType), yes.clone()),
        (kind(T::AuditActivateSessionEventType), yes.clone()),
        (kind(T::AuditWriteUpdateEventType), yes.clone()),
        (kind(T::AuditWriteUpdateEventType), no.clone()),
        (kind(T::AuditCancelEventType), yes.clone()),
        (kind(T::AuditOpenSecureChannelEventType), yes.clone()),
        (kind(T::AuditCreateSessionEventType), yes.clone()),
        (kind(T::AuditActivateSessionEventType), no),
    ];
    assert_eq!(told[..9], expected, "{events:#?}");
    let written = &events[3];
    assert_eq!(written[1], "Attribute/Write".into());
    assert_eq!(written[2], bench(1000).into());
    assert_eq!(written[4], "anna".into());
    assert_eq!(written[5], "order 7".into());
    assert_eq!(written[7], 7.5.into());
    assert_eq!(events[2][8], events[5][8], "the same session");
    assert_ne!(events[2][8], Variant::Empty);
    assert_eq!(events[5][9], 4711u32.into());
    assert_eq!(events[8][4], "anna".into(), "who eve said she was");
    let status = |it: &Variant| match it {
        Variant::StatusCode(status) => *status,
        other => panic!("{other:?}"),
    };
    assert_eq!(status(&events[8][6]), StatusCode::BadUserAccessDenied);
    assert!(server.tally().event.balances());
}

// Part 4, 6.5: not over a channel that anybody reads, and not to users with fewer rights.
#[test]
fn nobody_else_is_told() {
    let own = identity("urn:test:server");
    let server = served(&own, true);
    let signed = Protection {
        mode: Mode::Sign,
        ..SECURED
    };
    let mut others = vec![
        listener(&server, Protection::NONE, &own),
        listener(&server, signed, &own),
    ];
    let mine = identity("urn:test:bob");
    let mut bob = Client::connect(server.url(), SECURED, Some(&mine), Some(&own)).unwrap();
    bob.log_in(&as_user("bob", "pw")).unwrap();
    others.push(bob);
    let mut waiting = Vec::new();
    for client in &mut others {
        begin(client);
        waiting.push([(); 2].map(|()| client.send(publish(None))));
    }
    let mut observer = listener(&server, SECURED, &own);
    begin(&mut observer);
    let mut anna = Client::connect(server.url(), Protection::NONE, None, Some(&own)).unwrap();
    anna.log_in(&as_user("anna", "pw")).unwrap();
    write(&mut anna, bench(1000), "");
    // She is heard of here, and by then would have been there.
    heard(&mut observer, 4);
    std::thread::sleep(Duration::from_millis(200));
    for (client, ids) in others.iter_mut().zip(waiting) {
        hears_nothing(client, ids);
    }
    // Who listens without audit events hears none either.
    let server = served(&own, false);
    let mut observer = listener(&server, SECURED, &own);
    let auditing = observer.read(&[VariableId::Server_Auditing.into()]);
    assert_eq!(auditing[0].value, Some(false.into()));
    begin(&mut observer);
    let ids = [(); 2].map(|()| observer.send(publish(None)));
    let mut anna = Client::connect(server.url(), Protection::NONE, None, Some(&own)).unwrap();
    anna.log_in(&as_user("anna", "pw")).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    hears_nothing(&mut observer, ids);
}

#[test]
fn a_refused_certificate_is_told_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let own = identity("urn:test:server");
    let mine = identity("urn:test:listener");
    let store = pki::Store::new(folder.path());
    store.trust_certificate(&mine.certificate).unwrap();
    let server = start(Config {
        identity: Some(own.clone()),
        audit: true,
        trust: plant::TrustPolicy::from(store),
        ..Config::default()
    });
    let mut observer = Client::connect(server.url(), SECURED, Some(&mine), Some(&own)).unwrap();
    observer.log_in(&Credentials::Anonymous).unwrap();
    begin(&mut observer);
    let eve = identity("urn:test:eve");
    let refused = Client::connect(server.url(), SECURED, Some(&eve), Some(&own));
    assert!(refused.is_err());
    let until = Instant::now() + PATIENCE;
    let events = heard(&mut observer, 1);
    assert!(Instant::now() < until);
    assert_eq!(
        events[0][0],
        kind(ObjectTypeId::AuditCertificateUntrustedEventType)
    );
    assert_eq!(events[0][3], false.into());
    assert_eq!(events[0][6], StatusCode::BadCertificateUntrusted.into());
}
