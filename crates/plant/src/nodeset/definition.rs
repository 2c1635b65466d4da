//! Definitions of data types (Part 6, F.12), as the attribute DataTypeDefinition has them.

use wire::types::{
    DataTypeId, EnumField, LocalizedText, StructureDefinition, StructureField, StructureType,
};

use super::ids::Ids;
use super::is_true;
use super::leaf::{Wrong, localized};
use super::xml::Element;

/// What a data type is made of.
#[derive(Debug)]
pub enum Definition {
    /// With the fields that it adds to those of its base; neither base nor encoding is known yet.
    Structure(StructureDefinition),
    /// An enumeration, or an option set.
    Enumeration(Vec<EnumField>),
}

/// The element Definition of a data type.
pub fn definition(element: &Element, ids: &Ids<'_>) -> Result<Definition, Wrong> {
    let fields = || element.children.iter().filter(|it| it.name == "Field");
    let has_values = fields().any(|field| field.attribute("Value").is_some());
    if is_true(element, "IsOptionSet") || has_values {
        let fields: Result<_, Wrong> = fields().map(value).collect();
        return Ok(Definition::Enumeration(fields?));
    }
    let any = |name: &str| fields().any(|field| is_true(field, name));
    let structure_type = match (is_true(element, "IsUnion"), any("AllowSubTypes")) {
        (true, true) => StructureType::UnionWithSubtypedValues,
        (true, false) => StructureType::Union,
        (false, true) => StructureType::StructureWithSubtypedValues,
        (false, false) if any("IsOptional") => StructureType::StructureWithOptionalFields,
        (false, false) => StructureType::Structure,
    };
    let subtyped = matches!(
        structure_type,
        StructureType::StructureWithSubtypedValues | StructureType::UnionWithSubtypedValues
    );
    // Part 3, 8.51: IsOptional says of these that subtypes are allowed.
    let is_optional = if subtyped {
        "AllowSubTypes"
    } else {
        "IsOptional"
    };
    let fields: Result<_, Wrong> = fields().map(|it| field(it, is_optional, ids)).collect();
    Ok(Definition::Structure(StructureDefinition {
        structure_type,
        fields: Some(fields?),
        ..StructureDefinition::default()
    }))
}

fn text_of(element: &Element, name: &str) -> LocalizedText {
    element.child(name).map(localized).unwrap_or_default()
}

/// Each field has one, says the schema.
fn name_of(element: &Element) -> Result<&str, Wrong> {
    let name = element.attribute("Name");
    name.ok_or_else(|| (element.line, "a Field without a Name".to_owned()))
}

fn value(element: &Element) -> Result<EnumField, Wrong> {
    let name = name_of(element)?;
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

fn field(element: &Element, is_optional: &str, ids: &Ids<'_>) -> Result<StructureField, Wrong> {
    let rank = element.attribute("ValueRank").unwrap_or("-1");
    Ok(StructureField {
        name: name_of(element)?.into(),
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
            Some(most) => most
                .parse()
                .map_err(|_| (element.line, format!("{most:?} is no MaxStringLength")))?,
            None => 0,
        },
        is_optional: is_true(element, is_optional),
    })
}
