//! The Plant object: what a client can ask of this server beside OPC UA.

use wire::types::{
    Argument, DataTypeId, ExtensionObject, LocalizedText, NodeId, ObjectId, ObjectTypeId,
    ReferenceTypeId, UAString, Variant,
};

use super::build::Builder;
use super::node::{Body, Method};

/// The namespace of what plants have in common, whatever their application URI.
pub const NAMESPACE: &str = "urn:uaperf:plant";

/// An argument: its name, its type and whether it is a list.
type Named = (&'static str, DataTypeId, bool);

const JSON: Named = ("Json", DataTypeId::String, false);
const FAULT: Named = ("Fault", DataTypeId::String, false);
const ID: Named = ("Id", DataTypeId::UInt32, false);
const COUNT: Named = ("Count", DataTypeId::UInt32, false);
const NODES: Named = ("Nodes", DataTypeId::NodeId, true);
const SIGNALS: &[Named] = &[
    ("Anchor", DataTypeId::UtcTime, false),
    ("Patterns", DataTypeId::Byte, true),
    ("Stored", DataTypeId::Boolean, true),
    ("Intervals", DataTypeId::UInt64, true),
    ("Starts", DataTypeId::Int64, true),
    ("Moduli", DataTypeId::UInt64, true),
];

/// Methods by name, with their arguments: input, output.
const METHODS: &[(&str, Method, &[Named], &[Named])] = &[
    ("GroundTruth", Method::GroundTruth, &[], &[JSON]),
    (
        "DescribeSignals",
        Method::DescribeSignals,
        &[NODES],
        SIGNALS,
    ),
    ("AddFault", Method::AddFault, &[FAULT], &[ID]),
    ("ClearFault", Method::ClearFault, &[ID], &[]),
    ("ClearFaults", Method::ClearFaults, &[], &[COUNT]),
    ("ListFaults", Method::ListFaults, &[], &[JSON]),
];

/// Adds it below Objects, as `s=Plant` with methods `s=Plant.NAME`.
pub fn describe(builder: &mut Builder) {
    let namespace = builder.namespace(NAMESPACE);
    let id = |name: String| NodeId::new(namespace, UAString::from(name));
    let objects: NodeId = ObjectId::ObjectsFolder.into();
    let plant = id("Plant".into());
    let plant = builder.object(&objects, plant, "Plant", ObjectTypeId::BaseObjectType);
    for (name, method, input, output) in METHODS {
        let method_id = id(format!("Plant.{name}"));
        let body = Body::Method {
            executable: true,
            method: Some(method.clone()),
            zone: 0,
        };
        builder.named(&method_id, name, body);
        builder.link(&plant, ReferenceTypeId::HasComponent, &method_id);
        for (property, argument) in [("InputArguments", *input), ("OutputArguments", *output)] {
            if !argument.is_empty() {
                let at = id(format!("Plant.{name}.{property}"));
                let value = Variant::from(argument.iter().map(described).collect::<Vec<_>>());
                builder.property(&method_id, at, property, DataTypeId::Argument, value);
            }
        }
    }
}

fn described(&(name, data_type, list): &Named) -> ExtensionObject {
    ExtensionObject::from_message(Argument {
        name: name.into(),
        data_type: data_type.into(),
        value_rank: if list { 1 } else { -1 },
        array_dimensions: list.then(|| vec![0]),
        description: LocalizedText::null(),
    })
}
