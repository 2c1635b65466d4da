//! Security groups below PublishSubscribe (Part 14, 8.4): who shares keys, without the keys.

use wire::types::{
    DataTypeId, NodeId, ObjectId, ObjectTypeId, ReferenceTypeId, UAString, VariableId, Variant,
};

use crate::security_group::SecurityGroup;
use crate::space::Builder;
use crate::space::node::Body;
use crate::space::plant_object::NAMESPACE;
use crate::space::standing::constant;

/// The node of a group in a server with these namespaces.
pub fn node(namespaces: &[String], id: &str) -> Option<NodeId> {
    let at = namespaces.iter().position(|uri| uri == NAMESPACE)?;
    Some(named(u16::try_from(at).ok()?, id))
}

fn named(namespace: u16, id: &str) -> NodeId {
    NodeId::new(namespace, UAString::from(format!("SecurityGroup.{id}")))
}

/// Adds all groups, and says whether there is a key service.
pub fn describe(builder: &mut Builder, groups: &[SecurityGroup]) {
    use VariableId as V;
    let any = !groups.is_empty();
    constant(
        builder,
        V::PublishSubscribe_PubSubCapablities_SupportSecurityKeyServer,
        any,
    );
    constant(
        builder,
        V::PublishSubscribe_PubSubCapablities_SupportSecurityKeyPush,
        groups.iter().any(|it| !it.may_set.is_empty()),
    );
    let count = u32::try_from(groups.len()).unwrap_or(u32::MAX);
    constant(
        builder,
        V::PublishSubscribe_PubSubCapablities_MaxSecurityGroups,
        count,
    );
    let namespace = builder.namespace(NAMESPACE);
    let folder: NodeId = ObjectId::PublishSubscribe_SecurityGroups.into();
    for group in groups {
        let id = named(namespace, &group.id);
        builder.named(&id, &group.id, Body::Object { event_notifier: 0 });
        builder.link(&folder, ReferenceTypeId::HasComponent, &id);
        let of = ObjectTypeId::SecurityGroupType;
        builder.link(&id, ReferenceTypeId::HasTypeDefinition, &of.into());
        let properties: [(&str, DataTypeId, Variant); 5] = [
            (
                "SecurityGroupId",
                DataTypeId::String,
                group.id.as_str().into(),
            ),
            (
                "KeyLifetime",
                DataTypeId::Duration,
                (group.lifetime.as_secs_f64() * 1000.0).into(),
            ),
            (
                "SecurityPolicyUri",
                DataTypeId::String,
                group.policy.uri().into(),
            ),
            (
                "MaxFutureKeyCount",
                DataTypeId::UInt32,
                u32::from(group.future).into(),
            ),
            (
                "MaxPastKeyCount",
                DataTypeId::UInt32,
                u32::from(group.past).into(),
            ),
        ];
        for (name, data_type, value) in properties {
            let at = UAString::from(format!("SecurityGroup.{}.{name}", group.id));
            let at = NodeId::new(namespace, at);
            builder.property(&id, at, name, data_type, value);
        }
    }
}
