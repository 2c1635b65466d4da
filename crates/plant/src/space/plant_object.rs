//! The Plant object: what a client can ask of this server beside OPC UA.

use wire::types::{
    Argument, DataTypeId, ExtensionObject, LocalizedText, NodeId, ObjectId, ObjectTypeId,
    ReferenceTypeId, UAString, Variant,
};

use super::build::Builder;
use super::node::{Body, Method};

/// The namespace of what plants have in common, whatever their application URI.
pub const NAMESPACE: &str = "urn:uaperf:plant";

/// An argument: its name and type.
type Named = (&'static str, DataTypeId);

const JSON: Named = ("Json", DataTypeId::String);
const FAULT: Named = ("Fault", DataTypeId::String);
const ID: Named = ("Id", DataTypeId::UInt32);
const COUNT: Named = ("Count", DataTypeId::UInt32);

/// Methods by name, with their arguments: input, output.
const METHODS: &[(&str, Method, Option<Named>, Option<Named>)] = &[
    ("GroundTruth", Method::GroundTruth, None, Some(JSON)),
    ("AddFault", Method::AddFault, Some(FAULT), Some(ID)),
    ("ClearFault", Method::ClearFault, Some(ID), None),
    ("ClearFaults", Method::ClearFaults, None, Some(COUNT)),
    ("ListFaults", Method::ListFaults, None, Some(JSON)),
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
        };
        builder.named(&method_id, name, body);
        builder.link(&plant, ReferenceTypeId::HasComponent, &method_id);
        for (property, argument) in [("InputArguments", input), ("OutputArguments", output)] {
            if let Some(argument) = argument {
                let at = id(format!("Plant.{name}.{property}"));
                let value = arguments(*argument);
                builder.property(&method_id, at, property, DataTypeId::Argument, value);
            }
        }
    }
}

/// One argument.
fn arguments((name, data_type): Named) -> Variant {
    let argument = Argument {
        name: name.into(),
        data_type: data_type.into(),
        value_rank: -1,
        array_dimensions: None,
        description: LocalizedText::null(),
    };
    Variant::from(vec![ExtensionObject::from_message(argument)])
}
