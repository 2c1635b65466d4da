//! Groups of users with rights of their own in parts of a plant, known by password or certificate.

use std::path::Path;

use pki::Store;
use plant::{Config, Plant, Server};
use wire::certificate::Certificate;
use wire::channel::Protection;
use wire::policy::{Mode, Policy, PrivateKey};
use wire::session::token::Credentials;
use wire::types::{
    AttributeId, CallMethodRequest, CallRequest, MethodId, NodeId, ObjectId, RequestHeader,
    StatusCode, TimestampsToReturn, Variant, WriteRequest, WriteValue,
};

use crate::client::{Client, identity, read_value};

const PLANT: &str = r#"
anonymous_group = "guests"
user_certificates = "users"

[[group]]
name = "guests"
may = ["read"]
on = [{ path = "Secret", may = [] }]

[[group]]
name = "fitters"
may = ["read"]
on = [
  { path = "Drives", may = ["read", "write", "call"] },
  { path = "Drives/Locked", may = ["read"] },
]

[[user]]
name = "anna"
certificate = true
group = "fitters"

[[namespace]]
uri = "urn:test:groups"

[[namespace.signals]]
ids = "i=1"
type = "Int32"
access = "read-write"
folder = "Drives"

[[namespace.signals]]
ids = "i=2"
type = "Int32"
access = "read-write"
folder = "Drives/Locked"

[[namespace.signals]]
ids = "i=3"
type = "Int32"
access = "read-write"
folder = "Secret"

[[namespace.signals]]
ids = "i=4"
type = "Int32"
access = "read-write"
folder = "DrivesNot"

[[namespace.method]]
name = "inside"
object = "Drives/Motor"

[[namespace.method]]
name = "outside"
object = "Elsewhere"
"#;

fn served(folder: &Path, own: &pki::Identity) -> Server {
    let plant = Plant::parse(PLANT, "test", folder).unwrap();
    Server::start(plant.config(Config {
        profiles: Vec::new(),
        identity: Some(own.clone()),
        ..Config::default()
    }))
    .unwrap()
}

/// A user's certificate.
fn user(name: &str) -> pki::Identity {
    let key = pki::Key::generate(2048).unwrap();
    let request = pki::make::Request::application("urn:user")
        .common_name(name)
        .days(30);
    let now = std::time::SystemTime::now().into();
    pki::Identity::new(request.self_signed(&key, now).unwrap(), key)
}

fn log_in(server: &Server, own: &pki::Identity, who: &Credentials) -> Result<Client, StatusCode> {
    let mut client = Client::connect(server.url(), Protection::NONE, None, Some(own)).unwrap();
    client.log_in(who)?;
    Ok(client)
}

fn x509(of: &pki::Identity) -> Credentials {
    Credentials::X509 {
        certificate: Certificate::from_der(of.certificate.der()).unwrap(),
        key: PrivateKey::from_der(of.key.pkcs8()).unwrap(),
    }
}

/// What reading, its UserAccessLevel and writing come to.
fn may(client: &mut Client, number: u32) -> (StatusCode, u8, StatusCode) {
    let node = NodeId::new(2, number);
    let asked = [AttributeId::Value, AttributeId::UserAccessLevel];
    let asked = asked.map(|attribute| read_value(node.clone(), attribute, ""));
    let values = client.read_any(asked.to_vec(), TimestampsToReturn::Neither);
    let values = values.unwrap();
    let Some(Variant::Byte(level)) = values[1].value else {
        panic!();
    };
    let request = WriteRequest {
        request_header: RequestHeader::default(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: node,
            attribute_id: AttributeId::Value as u32,
            index_range: Default::default(),
            value: 5i32.into(),
        }]),
    };
    let written = client.call(request).unwrap().results.unwrap()[0];
    (values[0].status.unwrap_or_default(), level & 3, written)
}

fn call(client: &mut Client, object: &str, method: &str) -> StatusCode {
    let request = CallRequest {
        request_header: RequestHeader::default(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: NodeId::new(2, object),
            method_id: NodeId::new(2, method),
            input_arguments: None,
        }]),
    };
    client.call(request).unwrap().results.unwrap()[0].status_code
}

#[test]
fn a_group_may_do_more_in_some_folders_and_less_in_others() {
    let folder = tempfile::tempdir().unwrap();
    let own = identity("urn:uaperf:plant");
    let anna = user("anna");
    let store = Store::new(folder.path().join("users"));
    store.trust_certificate(&anna.certificate).unwrap();
    let server = served(folder.path(), &own);
    let good = StatusCode::Good;
    let denied = StatusCode::BadUserAccessDenied;

    let mut guest = log_in(&server, &own, &Credentials::Anonymous).unwrap();
    assert_eq!(may(&mut guest, 1), (good, 1, denied));
    assert_eq!(may(&mut guest, 3), (denied, 0, denied));
    assert_eq!(call(&mut guest, "Drives/Motor", "inside"), denied);

    let mut anna = log_in(&server, &own, &x509(&anna)).unwrap();
    assert_eq!(may(&mut anna, 1), (good, 3, good));
    assert_eq!(may(&mut anna, 2), (good, 1, denied));
    assert_eq!(may(&mut anna, 3), (good, 1, denied));
    assert_eq!(may(&mut anna, 4), (good, 1, denied));
    assert_eq!(call(&mut anna, "Drives/Motor", "inside"), good);
    assert_eq!(call(&mut anna, "Elsewhere", "outside"), denied);

    // Whose certificate is not trusted does not come in, whatever name it says.
    let refused = log_in(&server, &own, &x509(&user("anna"))).err();
    assert_eq!(refused, Some(StatusCode::BadIdentityTokenRejected));
}

#[test]
fn a_user_comes_in_with_the_token_that_was_issued_to_them_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    // Longer than an RSA block.
    let token = format!("header.{}.signature", "claims".repeat(100));
    std::fs::write(folder.path().join("max.jwt"), format!("{token}\n")).unwrap();
    let text = PLANT.replace(
        "[[namespace]]\nuri",
        "[[user]]\nname = \"max\"\ntoken_file = \"max.jwt\"\ngroup = \"fitters\"\n\n[[namespace]]\nuri",
    );
    let own = identity("urn:uaperf:plant");
    let plant = Plant::parse(&text, "test", folder.path()).unwrap();
    let server = Server::start(plant.config(Config {
        profiles: Vec::new(),
        identity: Some(own.clone()),
        ..Config::default()
    }))
    .unwrap();
    let issued = |token: &str| Credentials::Issued {
        data: token.as_bytes().to_vec().into(),
    };
    let good = StatusCode::Good;
    let mut max = log_in(&server, &own, &issued(&token)).unwrap();
    assert_eq!(may(&mut max, 1), (good, 3, good));
    assert_eq!(may(&mut max, 2), (good, 1, StatusCode::BadUserAccessDenied));
    for other in [&token[1..], ""] {
        let refused = log_in(&server, &own, &issued(other)).err();
        assert_eq!(refused, Some(StatusCode::BadIdentityTokenRejected));
    }

    std::fs::write(folder.path().join("max.jwt"), "\n").unwrap();
    let wrong = Plant::parse(&text, "test", folder.path()).unwrap_err();
    assert!(wrong.to_string().contains("max.jwt is empty"), "{wrong}");
}

#[test]
fn keys_are_for_the_owner_of_a_certificate_that_is_listed_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let own = identity("urn:uaperf:plant");
    let (anna, eve) = (user("anna"), user("eve"));
    let store = Store::new(folder.path().join("users"));
    for it in [&anna, &eve] {
        store.trust_certificate(&it.certificate).unwrap();
    }
    let Credentials::X509 { certificate, .. } = x509(&eve) else {
        panic!();
    };
    let digits = certificate.thumbprint();
    let thumbprint: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
    // A user who is called as the certificate of another.
    let text = format!(
        "user_certificates = 'users'\n\
        [[user]]\nname = 'anna'\ncertificate = true\n\
        [[user]]\nname = '{thumbprint}'\ncertificate = true\n\
        [[security_group]]\nid = 'line4'\nmay_get = ['anna', '{thumbprint}']\n"
    );
    let plant = Plant::parse(&text, "test", folder.path()).unwrap();
    let server = Server::start(plant.config(Config {
        profiles: Vec::new(),
        identity: Some(own.clone()),
        ..Config::default()
    }))
    .unwrap();
    let protection = Protection {
        policy: Policy::Basic256Sha256,
        mode: Mode::SignAndEncrypt,
    };
    let call = |who: &pki::Identity, method: MethodId, arguments: Vec<Variant>| {
        let application = identity("urn:uaperf:test");
        let own = (Some(&application), Some(&own));
        let mut client = Client::connect(server.url(), protection, own.0, own.1).unwrap();
        client.log_in(&x509(who)).unwrap();
        let request = CallRequest {
            request_header: RequestHeader::default(),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: ObjectId::PublishSubscribe.into(),
                method_id: method.into(),
                input_arguments: Some(arguments),
            }]),
        };
        client.call(request).unwrap().results.unwrap()[0].status_code
    };
    let keys = MethodId::PublishSubscribe_GetSecurityKeys;
    let three = |group: &str| vec![group.into(), 0u32.into(), 1u32.into()];
    assert_eq!(call(&anna, keys, three("line4")), StatusCode::Good);
    let denied = StatusCode::BadUserAccessDenied;
    assert_eq!(call(&eve, keys, three("line4")), denied);
    // Part 14, 8.3.2 and 8.3.3.
    assert_eq!(call(&anna, keys, three("line5")), StatusCode::BadNotFound);
    let group = MethodId::PublishSubscribe_GetSecurityGroup;
    assert_eq!(call(&anna, group, vec!["line4".into()]), StatusCode::Good);
    let other = call(&anna, group, vec!["line5".into()]);
    assert_eq!(other, StatusCode::BadNoMatch);
}
