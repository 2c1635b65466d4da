//! Definitions of data types (Part 6, F.12), as the attribute DataTypeDefinition has them.

use std::collections::{HashMap, HashSet};

use wire::types::{
    DataTypeId, EnumDefinition, EnumField, ExtensionObject, LocalizedText, NodeId,
    StructureDefinition, StructureField, StructureType,
};

use super::ids::Ids;
use super::value::{Wrong, localized};
use super::xml::Element;

/// What is known of the data types of all files up to now.
#[derive(Debug, Default)]
pub struct Known {
    /// Fields of structures, those of what they are made from among them.
    pub fields: HashMap<NodeId, Vec<StructureField>>,
    /// The ids of the Default Binary encodings.
    pub encodings: HashMap<NodeId, NodeId>,
    /// References: many files tell of one at both of its ends.
    pub references: HashSet<(NodeId, NodeId, NodeId)>,
}

/// The definition of a data type below another one.
pub fn definition(
    element: &Element,
    id: &NodeId,
    above: Option<&NodeId>,
    ids: &Ids<'_>,
    known: &mut Known,
) -> Result<ExtensionObject, Wrong> {
    let fields = || element.children.iter().filter(|it| it.name == "Field");
    let is_set = |name: &str| element.attribute(name) == Some("true");
    if is_set("IsOptionSet") || fields().any(|field| field.attribute("Value").is_some()) {
        let fields: Result<Vec<_>, Wrong> = fields().map(value).collect();
        return Ok(ExtensionObject::from_message(EnumDefinition {
            fields: Some(fields?),
        }));
    }
    let mut all = above
        .and_then(|above| known.fields.get(above).cloned())
        .unwrap_or_default();
    for it in fields() {
        all.push(field(it, ids)?);
    }
    known.fields.insert(id.clone(), all.clone());
    let optional = all.iter().any(|field| field.is_optional);
    Ok(ExtensionObject::from_message(StructureDefinition {
        default_encoding_id: known.encodings.get(id).cloned().unwrap_or_default(),
        base_data_type: above
            .cloned()
            .unwrap_or_else(|| DataTypeId::Structure.into()),
        structure_type: match (is_set("IsUnion"), optional) {
            (true, _) => StructureType::Union,
            (false, true) => StructureType::StructureWithOptionalFields,
            (false, false) => StructureType::Structure,
        },
        fields: Some(all),
    }))
}

fn text_of(element: &Element, name: &str) -> LocalizedText {
    element.child(name).map(localized).unwrap_or_default()
}

fn value(element: &Element) -> Result<EnumField, Wrong> {
    let name = element.attribute("Name").unwrap_or_default();
    let value = element.attribute("Value").unwrap_or("-1");
    let shown = text_of(element, "DisplayName");
    Ok(EnumField {
        value: value
            .parse()
            .map_err(|_| (element.line, format!("{value:?} is no value of a field")))?,
        display_name: match shown.text.is_empty() {
            true => LocalizedText::new("", name),
            false => shown,
        },
        description: text_of(element, "Description"),
        name: name.into(),
    })
}

fn field(element: &Element, ids: &Ids<'_>) -> Result<StructureField, Wrong> {
    let rank = element.attribute("ValueRank").unwrap_or("-1");
    Ok(StructureField {
        name: element.attribute("Name").unwrap_or_default().into(),
        description: text_of(element, "Description"),
        data_type: match element.attribute("DataType") {
            Some(of) => ids.of(of, element.line)?,
            None => DataTypeId::BaseDataType.into(),
        },
        value_rank: rank
            .parse()
            .map_err(|_| (element.line, format!("{rank:?} is no ValueRank")))?,
        array_dimensions: super::dimensions(element)?,
        max_string_length: match element.attribute("MaxStringLength") {
            Some(most) => most.parse().unwrap_or(0),
            None => 0,
        },
        is_optional: element.attribute("IsOptional") == Some("true"),
    })
}
