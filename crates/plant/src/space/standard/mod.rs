//! The standard address space of Part 5, as the NodeSet file of the specification has it.

mod table;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use wire::types::{ExtensionObject, MethodId, ReferenceTypeId, StructureDefinition, Variant};

use super::build::{Base, Builder};
use super::node::{Body, Method};
use super::{encode, structures};
use crate::space::event::ConditionAction;
use table::{Entry, entries};

/// The methods of it that do something here.
const METHODS: &[(MethodId, Method)] = &[
    (
        MethodId::Server_GetMonitoredItems,
        Method::GetMonitoredItems,
    ),
    (MethodId::Server_ResendData, Method::ResendData),
    (
        MethodId::PublishSubscribe_GetSecurityKeys,
        Method::GetSecurityKeys,
    ),
    (
        MethodId::PublishSubscribe_GetSecurityGroup,
        Method::GetSecurityGroup,
    ),
    (
        MethodId::PublishSubscribe_SetSecurityKeys,
        Method::SetSecurityKeys,
    ),
    (
        MethodId::ConditionType_ConditionRefresh,
        Method::ConditionRefresh,
    ),
    (
        MethodId::ConditionType_ConditionRefresh2,
        Method::ConditionRefresh2,
    ),
    (
        MethodId::ConditionType_Enable,
        Method::Condition(ConditionAction::Enable),
    ),
    (
        MethodId::ConditionType_Disable,
        Method::Condition(ConditionAction::Disable),
    ),
    (
        MethodId::ConditionType_AddComment,
        Method::Condition(ConditionAction::Comment),
    ),
    (
        MethodId::AcknowledgeableConditionType_Acknowledge,
        Method::Condition(ConditionAction::Acknowledge),
    ),
    (
        MethodId::AcknowledgeableConditionType_Confirm,
        Method::Condition(ConditionAction::Confirm),
    ),
];

/// Read once in a process: its servers share it.
static SHARED: LazyLock<Arc<Base>> = LazyLock::new(|| {
    let now = crate::clock::ticks(std::time::SystemTime::now());
    let mut builder = Builder::new("", now);
    read(&mut builder);
    Arc::new(builder.into_base())
});

/// Adds all its nodes.
pub fn load(builder: &mut Builder) {
    if !builder.stand_on(&SHARED) {
        read(builder);
    }
}

fn read(builder: &mut Builder) {
    let (mut own, mut above) = (HashMap::new(), HashMap::new());
    for Entry { node, references } in entries(builder.anchor()) {
        let id = node.id.clone();
        if let Some(of) = structure(&node.body) {
            own.insert(id.clone(), of);
        }
        for reference in references {
            let (source, target) = if reference.forward {
                (&id, &reference.other)
            } else {
                (&reference.other, &id)
            };
            if reference.kind == ReferenceTypeId::HasSubtype {
                above.insert(target.clone(), source.clone());
            }
            builder.link(source, reference.kind, target);
        }
        builder.insert(node);
    }
    // The table has for each structure only the fields that it adds.
    let mut complete = HashMap::new();
    structures::complete(&own, &above, &mut complete);
    for (id, of) in complete {
        if let Some(node) = builder.node_mut(&id)
            && let Body::DataType { definition, .. } = &mut node.body
        {
            let object = ExtensionObject::from_message(of);
            *definition = Some(encode::variant(object));
        }
    }
    for (id, method) in METHODS {
        if let Some(node) = builder.node_mut(&(*id).into()) {
            node.body = Body::Method {
                executable: true,
                method: Some(method.clone()),
                zone: 0,
            };
        }
    }
}

/// The definition of a data type that is a structure.
fn structure(body: &Body) -> Option<StructureDefinition> {
    let Body::DataType {
        definition: Some(definition),
        ..
    } = body
    else {
        return None;
    };
    let Some(Variant::ExtensionObject(object)) = encode::decoded(definition) else {
        return None;
    };
    object.into_inner_as::<StructureDefinition>().map(|it| *it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::types::{DataTypeId, NodeId, ObjectId, VariableId};

    #[test]
    fn the_standard_address_space_is_all_there_and_connected() {
        let mut builder = Builder::new("urn:test", 0);
        load(&mut builder);
        let space = builder.finish();
        assert!(space.len() > 5000, "{}", space.len());

        let root = space.find_id(&ObjectId::RootFolder.into()).unwrap();
        let organizes = space.reference_type(ReferenceTypeId::Organizes).unwrap();
        let below: Vec<_> = space
            .links(root)
            .iter()
            .filter(|link| link.forward && link.kind == organizes)
            .map(|link| space.node(link.target).unwrap().browse_name())
            .collect();
        let below: Vec<_> = below.iter().map(|name| name.name.as_ref()).collect();
        assert_eq!(below, ["Objects", "Types", "Views"]);

        let hierarchical = ReferenceTypeId::HierarchicalReferences;
        let hierarchical = space.reference_type(hierarchical).unwrap();
        assert!(space.is_subtype(organizes, hierarchical));
        assert!(!space.is_subtype(hierarchical, organizes));

        let time = VariableId::Server_ServerStatus_CurrentTime.into();
        let time = space.node(space.find_id(&time).unwrap()).unwrap();
        assert_eq!(time.browse_name().name.as_ref(), "CurrentTime");
    }

    // Part 3, 8.48: the fields of the base come first.
    #[test]
    fn structures_of_the_specification_name_what_they_have_from_their_base() {
        let mut builder = Builder::new("urn:test", 0);
        load(&mut builder);
        let id = NodeId::from(DataTypeId::UserNameIdentityToken);
        let (_, _, definition) = builder.data_types().find(|(it, ..)| **it == id).unwrap();
        let decoded = encode::decoded(definition.unwrap());
        let Some(Variant::ExtensionObject(object)) = decoded else {
            panic!("no definition");
        };
        let of = object.inner_as::<StructureDefinition>().unwrap();
        let fields: Vec<_> = of
            .fields
            .iter()
            .flatten()
            .map(|it| it.name.as_ref())
            .collect();
        assert_eq!(
            fields,
            ["PolicyId", "UserName", "Password", "EncryptionAlgorithm"]
        );
        assert_eq!(of.base_data_type, DataTypeId::UserIdentityToken);
    }
}
