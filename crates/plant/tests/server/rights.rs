//! What users may do: Part 4, 5.11.2.4 and 5.11.4.4 (BadUserAccessDenied), Part 3, 5.6.2 and 5.7.

use std::num::NonZeroU32;

use plant::{Config, PasswordHash, Rights, Server, Users};
use wire::channel::Protection;
use wire::session::token::Credentials;
use wire::types::{
    AttributeId, CallMethodRequest, CallRequest, CreateMonitoredItemsRequest,
    CreateSubscriptionRequest, DataValue, MonitoredItemCreateRequest, NodeId, NumericRange,
    RequestHeader, StatusCode, TimestampsToReturn, VariableId, Variant, WriteRequest, WriteValue,
};

use crate::client::{Client, identity, read_value};
use crate::{bench, start};

const DENIED: StatusCode = StatusCode::BadUserAccessDenied;

fn server(own: &pki::Identity) -> Server {
    let hash = || PasswordHash::new(b"pw", [3; 16], NonZeroU32::MIN);
    start(Config {
        identity: Some(own.clone()),
        users: Users {
            passwords: vec![("operator".into(), hash()), ("guest".into(), hash())],
            anonymous_rights: Rights::READ_ONLY,
            rights: vec![("guest".into(), Rights::NONE)],
            ..Users::default()
        },
        ..Config::default()
    })
}

fn client(server: &Server, own: &pki::Identity, user: Option<&str>) -> Client {
    let mut client = Client::connect(server.url(), Protection::NONE, None, Some(own)).unwrap();
    let credentials = match user {
        None => Credentials::Anonymous,
        Some(name) => Credentials::UserName {
            name: name.into(),
            password: "pw".to_owned().into(),
        },
    };
    client.log_in(&credentials).unwrap();
    client
}

fn attribute(client: &mut Client, node: NodeId, attribute: AttributeId) -> DataValue {
    let node = read_value(node, attribute, "");
    let values = client.read_any(vec![node], TimestampsToReturn::Neither);
    values.unwrap().remove(0)
}

fn write(client: &mut Client) -> StatusCode {
    let value = WriteValue {
        node_id: bench(1000),
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
        value: Variant::Double(1000.0).into(),
    };
    let response = client.call(WriteRequest {
        request_header: RequestHeader::default(),
        nodes_to_write: Some(vec![value]),
    });
    response.unwrap().results.unwrap().remove(0)
}

fn call(client: &mut Client) -> StatusCode {
    let method = CallMethodRequest {
        object_id: bench(4001),
        method_id: bench(4000),
        input_arguments: Some(vec![Variant::Double(1.0)]),
    };
    let response = client.call(CallRequest {
        request_header: RequestHeader::default(),
        methods_to_call: Some(vec![method]),
    });
    response.unwrap().results.unwrap().remove(0).status_code
}

fn watch(client: &mut Client) -> StatusCode {
    let id = client
        .call(CreateSubscriptionRequest {
            requested_publishing_interval: 1000.0,
            ..Default::default()
        })
        .unwrap()
        .subscription_id;
    let item = MonitoredItemCreateRequest {
        item_to_monitor: read_value(bench(1000), AttributeId::Value, ""),
        ..Default::default()
    };
    let response = client.call(CreateMonitoredItemsRequest {
        request_header: RequestHeader::default(),
        subscription_id: id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(vec![item]),
    });
    response.unwrap().results.unwrap().remove(0).status_code
}

#[test]
fn each_user_may_do_what_their_rights_say_and_the_attributes_tell_the_same() {
    let own = identity("urn:test:server");
    let server = server(&own);
    let good = StatusCode::Good;
    for (user, read, changes, level) in [
        (Some("operator"), good, good, 0x63u8),
        (None, good, DENIED, 0x01),
        (Some("guest"), DENIED, DENIED, 0x00),
    ] {
        let mut client = client(&server, &own, user);
        let value = attribute(&mut client, bench(1000), AttributeId::Value);
        assert_eq!(value.status.unwrap_or(good), read, "{user:?}");
        assert_eq!(watch(&mut client), read, "{user:?}");
        assert_eq!(write(&mut client), changes, "{user:?}");
        assert_eq!(call(&mut client), changes, "{user:?}");

        let mut of = |node, what| attribute(&mut client, node, what).value;
        let all = of(bench(1000), AttributeId::AccessLevel);
        assert_eq!(all, Some(Variant::Byte(0x63)));
        let own = of(bench(1000), AttributeId::UserAccessLevel);
        assert_eq!(own, Some(Variant::Byte(level)), "{user:?}");
        let mask = of(bench(1000), AttributeId::UserWriteMask);
        assert_eq!(mask, Some(Variant::UInt32(0)));
        let executable = of(bench(4000), AttributeId::UserExecutable);
        assert_eq!(executable, Some(Variant::Boolean(changes.is_good())));
        // Part 5, 6.3.4: who is logged in how is for those who may do everything.
        let security = VariableId::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray;
        let seen = of(security.into(), AttributeId::Value).is_some();
        assert_eq!(seen, user == Some("operator"), "{user:?}");
        // The standard nodes are for everybody.
        let namespaces = VariableId::Server_NamespaceArray.into();
        assert!(of(namespaces, AttributeId::Value).is_some(), "{user:?}");
    }
}
