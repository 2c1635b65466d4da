//! The standard address space of Part 5, as the NodeSet file of the specification has it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use opcua_core_namespace::CoreNamespace;
use opcua_nodes::{NodeBase, NodeSetImport, NodeSetNamespaceMapper, NodeType};
use wire::types::{
    DataEncoding, DataTypeDefinition, ExtensionObject, MethodId, NamespaceMap, NodeId,
    NumericRange, ReferenceTypeId, TimestampsToReturn, Variant,
};

use super::build::{Base, Builder};
use super::node::{Body, FullNames, Method, Names, Node, Shape, Variable, VariableType, access};
use super::value::Source;
use super::{encode, structures};
use crate::event::Deed;

/// The methods of it that do something here.
const METHODS: &[(MethodId, Method)] = &[
    (
        MethodId::Server_GetMonitoredItems,
        Method::GetMonitoredItems,
    ),
    (MethodId::Server_ResendData, Method::ResendData),
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
        Method::Condition(Deed::Enable),
    ),
    (
        MethodId::ConditionType_Disable,
        Method::Condition(Deed::Disable),
    ),
    (
        MethodId::ConditionType_AddComment,
        Method::Condition(Deed::Comment),
    ),
    (
        MethodId::AcknowledgeableConditionType_Acknowledge,
        Method::Condition(Deed::Acknowledge),
    ),
    (
        MethodId::AcknowledgeableConditionType_Confirm,
        Method::Condition(Deed::Confirm),
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
    let mut namespaces = NamespaceMap::new();
    let mut mapper = NodeSetNamespaceMapper::new(&mut namespaces);
    CoreNamespace.register_namespaces(&mut mapper);
    let since = builder.anchor();
    let (mut own, mut above) = (HashMap::new(), HashMap::new());
    for item in CoreNamespace.load(&mapper) {
        let id = item_id(&item.node);
        if let NodeType::DataType(of) = &item.node
            && let Some(DataTypeDefinition::Structure(of)) = of.data_type_definition()
        {
            own.insert(id.clone(), of.clone());
        }
        for reference in item.references {
            let (source, target) = if reference.is_forward {
                (&id, &reference.target_id)
            } else {
                (&reference.target_id, &id)
            };
            if reference.type_id == ReferenceTypeId::HasSubtype {
                above.insert(target.clone(), source.clone());
            }
            builder.link(source, reference.type_id, target);
        }
        builder.insert(converted(item.node, since));
    }
    // The file has for each structure only the fields that it adds.
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

fn item_id(node: &NodeType) -> NodeId {
    use opcua_nodes::HasNodeId;
    node.node_id().clone()
}

fn converted(node: NodeType, since: i64) -> Node {
    let base: &dyn NodeBase = node.as_node();
    Node {
        id: base.node_id().clone(),
        names: Names::Full(Box::new(FullNames {
            browse_name: base.browse_name().clone(),
            display_name: base.display_name().clone(),
            description: base.description().cloned(),
        })),
        body: body(node, since),
    }
}

fn body(node: NodeType, since: i64) -> Body {
    match node {
        NodeType::Object(object) => Body::Object {
            event_notifier: object.event_notifier().bits(),
        },
        NodeType::Variable(variable) => {
            let value = variable.value(
                TimestampsToReturn::Neither,
                &NumericRange::None,
                &DataEncoding::Binary,
                0.0,
            );
            let source = Source::Constant {
                encoded: encode::variant(value.value.unwrap_or_default()),
                since,
            };
            let shape = Shape {
                data_type: variable.data_type(),
                value_rank: variable.value_rank(),
                array_dimensions: variable.array_dimensions(),
                // What the server says of itself is not for others to write.
                access_level: access::READ,
                minimum_sampling_interval: variable.minimum_sampling_interval().unwrap_or(0.0),
                range: None,
                zone: 0,
            };
            Body::Variable(Box::new(Variable::new(source, shape)))
        }
        NodeType::Method(_) => Body::Method {
            executable: false,
            method: None,
            zone: 0,
        },
        NodeType::ObjectType(of) => Body::ObjectType {
            is_abstract: of.is_abstract(),
        },
        NodeType::VariableType(of) => Body::VariableType(Box::new(VariableType {
            data_type: of.data_type().clone(),
            value_rank: of.value_rank(),
            array_dimensions: of.array_dimensions(),
            is_abstract: of.is_abstract(),
            value: of
                .value()
                .and_then(|value| value.value.clone())
                .filter(|value| !matches!(value, Variant::Empty))
                .map(encode::variant),
        })),
        NodeType::ReferenceType(of) => Body::ReferenceType {
            is_abstract: of.is_abstract(),
            symmetric: of.symmetric(),
            inverse_name: of.inverse_name().map(Box::new),
        },
        NodeType::DataType(of) => Body::DataType {
            is_abstract: of.is_abstract(),
            definition: of.data_type_definition().map(|definition| {
                let object = match definition.clone() {
                    DataTypeDefinition::Structure(of) => ExtensionObject::from_message(of),
                    DataTypeDefinition::Enum(of) => ExtensionObject::from_message(of),
                };
                encode::variant(Variant::ExtensionObject(object))
            }),
        },
        NodeType::View(_) => Body::View {
            event_notifier: 0,
            contains_no_loops: true,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::types::{DataTypeId, ObjectId, StructureDefinition, VariableId};

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
