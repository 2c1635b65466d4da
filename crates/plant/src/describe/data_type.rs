//! Structures and enumerations as nodes, so that clients that never saw them can read their
//! values (Part 3, 5.8.3 and 8.48 to 8.52).

use wire::types::{
    DataTypeId, EnumDefinition, EnumField, EnumValueType, ExtensionObject, LocalizedText, NodeId,
    ObjectTypeId, QualifiedName, ReferenceTypeId, StructureDefinition, StructureField,
    StructureType, Variant,
};

use crate::space::motion::kind::{Enumeration, Field, Structure, index};
use crate::space::{Body, Builder, FullNames, Names, Node, encode};

/// Adds a structure and its encoding.
pub fn structure(builder: &mut Builder, of: &Structure, namespaces: &[u16]) {
    let namespace = index(namespaces, of.namespace);
    let id = of.id.in_namespace(namespace);
    let encoding = of.encoding.in_namespace(namespace);
    let fields = of.fields.iter().map(|field| StructureField {
        name: field.name.as_str().into(),
        description: LocalizedText::null(),
        data_type: field.kind.data_type(namespaces),
        value_rank: rank(field),
        array_dimensions: field.len.map(|len| vec![len]),
        max_string_length: 0,
        is_optional: false,
    });
    let definition = StructureDefinition {
        default_encoding_id: encoding.clone(),
        base_data_type: DataTypeId::Structure.into(),
        structure_type: StructureType::Structure,
        fields: Some(fields.collect()),
    };
    let definition = ExtensionObject::from_message(definition);
    data_type(builder, &id, &of.name, DataTypeId::Structure, definition);
    // The name is one of the specification (Part 3, 5.8.4).
    builder.insert(Node {
        id: encoding.clone(),
        names: Names::Full(Box::new(FullNames {
            browse_name: QualifiedName::new(0, "Default Binary"),
            display_name: LocalizedText::new("", "Default Binary"),
            description: None,
        })),
        body: Body::Object { event_notifier: 0 },
    });
    let of_type = ObjectTypeId::DataTypeEncodingType.into();
    builder.link(&encoding, ReferenceTypeId::HasTypeDefinition, &of_type);
    builder.link(&id, ReferenceTypeId::HasEncoding, &encoding);
}

/// The ValueRank of a field or an argument.
pub fn rank(field: &Field) -> i32 {
    if field.len.is_some() { 1 } else { -1 }
}

/// Adds an enumeration with its values, in the form of 1.03 and later and in that of before.
pub fn enumeration(builder: &mut Builder, of: &Enumeration, namespaces: &[u16]) {
    let id = of.id.in_namespace(index(namespaces, of.namespace));
    let fields = of.values.iter().map(|(name, value)| EnumField {
        value: i64::from(*value),
        display_name: LocalizedText::new("", name),
        description: LocalizedText::null(),
        name: name.as_str().into(),
    });
    let definition = ExtensionObject::from_message(EnumDefinition {
        fields: Some(fields.collect()),
    });
    data_type(builder, &id, &of.name, DataTypeId::Enumeration, definition);
    // Part 3, 5.8.3: EnumStrings where the values are 0, 1, 2 and so on, else EnumValues.
    let counted = (0i32..).zip(&of.values).all(|(n, (_, value))| n == *value);
    let (name, kind, value) = if counted {
        let names = of
            .values
            .iter()
            .map(|(name, _)| LocalizedText::new("", name));
        let value = Variant::from(names.collect::<Vec<_>>());
        ("EnumStrings", DataTypeId::LocalizedText, value)
    } else {
        let values = of.values.iter().map(|(name, value)| {
            ExtensionObject::from_message(EnumValueType {
                value: i64::from(*value),
                display_name: LocalizedText::new("", name),
                description: LocalizedText::null(),
            })
        });
        let value = Variant::from(values.collect::<Vec<_>>());
        ("EnumValues", DataTypeId::EnumValueType, value)
    };
    let property = NodeId::new(id.namespace, format!("{}.{name}", of.name));
    builder.property(&id, property, name, kind, value);
}

fn data_type(
    builder: &mut Builder,
    id: &NodeId,
    name: &str,
    above: DataTypeId,
    definition: ExtensionObject,
) {
    let body = Body::DataType {
        is_abstract: false,
        definition: Some(encode::variant(Variant::ExtensionObject(definition))),
    };
    builder.named(id, name, body);
    builder.link(&above.into(), ReferenceTypeId::HasSubtype, id);
}
