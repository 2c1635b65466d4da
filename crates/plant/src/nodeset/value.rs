//! Values in XML (Part 6, 5.3) as Variants.

use std::str::FromStr;

use wire::types::{
    Argument, Array, ByteString, ByteStringBody, DateTime, EUInformation, EnumValueType,
    ExpandedNodeId, ExtensionObject, Guid, LocalizedText, NodeId, QualifiedName, Range, StatusCode,
    UAString, Variant, VariantScalarTypeId, XmlElement,
};

use super::ids::Ids;
use super::xml::Element;

/// A place and what is wrong there.
pub type Wrong = (usize, String);

/// What stands in a Value; structures that nothing is known of are left out, and counted.
pub fn variant(element: &Element, ids: &Ids<'_>, left_out: &mut usize) -> Result<Variant, Wrong> {
    if let Some(of) = element.name.strip_prefix("ListOf") {
        let Some(kind) = kind(of) else {
            *left_out += 1;
            return Ok(Variant::Empty);
        };
        let mut values = Vec::with_capacity(element.children.len());
        for child in &element.children {
            match kind {
                VariantScalarTypeId::Variant => {
                    let value = inner(child, ids, left_out)?;
                    values.push(Variant::Variant(Box::new(value)));
                }
                _ => values.push(scalar(of, child, ids, left_out)?),
            }
        }
        let array = Array::new(kind, values);
        return array
            .map(Variant::from)
            .map_err(|error| (element.line, format!("{}: {error}", element.name)));
    }
    if element.name == "Variant" {
        return inner(element, ids, left_out);
    }
    scalar(&element.name, element, ids, left_out)
}

/// `<Variant><Value><Int32>5</Int32></Value></Variant>`.
fn inner(element: &Element, ids: &Ids<'_>, left_out: &mut usize) -> Result<Variant, Wrong> {
    let value = element.child("Value").and_then(|it| it.children.first());
    match value {
        Some(value) => variant(value, ids, left_out),
        None => Ok(Variant::Empty),
    }
}

fn kind(name: &str) -> Option<VariantScalarTypeId> {
    use VariantScalarTypeId as T;
    Some(match name {
        "Boolean" => T::Boolean,
        "SByte" => T::SByte,
        "Byte" => T::Byte,
        "Int16" => T::Int16,
        "UInt16" => T::UInt16,
        "Int32" => T::Int32,
        "UInt32" => T::UInt32,
        "Int64" => T::Int64,
        "UInt64" => T::UInt64,
        "Float" => T::Float,
        "Double" => T::Double,
        "String" => T::String,
        "DateTime" => T::DateTime,
        "Guid" => T::Guid,
        "ByteString" => T::ByteString,
        "XmlElement" => T::XmlElement,
        "NodeId" => T::NodeId,
        "ExpandedNodeId" => T::ExpandedNodeId,
        "StatusCode" => T::StatusCode,
        "QualifiedName" => T::QualifiedName,
        "LocalizedText" => T::LocalizedText,
        "ExtensionObject" => T::ExtensionObject,
        "Variant" => T::Variant,
        _ => return None,
    })
}

fn scalar(
    name: &str,
    element: &Element,
    ids: &Ids<'_>,
    left_out: &mut usize,
) -> Result<Variant, Wrong> {
    fn number<T: FromStr>(element: &Element, name: &str) -> Result<T, Wrong> {
        let text = element.text.trim();
        text.parse()
            .map_err(|_| (element.line, format!("{text:?} is no {name}")))
    }
    Ok(match name {
        "Boolean" => match element.text.as_str() {
            "true" | "1" => true.into(),
            "false" | "0" => false.into(),
            other => {
                let what = format!("{other:?} is no Boolean (want true or false)");
                return Err((element.line, what));
            }
        },
        "SByte" => number::<i8>(element, name)?.into(),
        "Byte" => number::<u8>(element, name)?.into(),
        "Int16" => number::<i16>(element, name)?.into(),
        "UInt16" => number::<u16>(element, name)?.into(),
        "Int32" => number::<i32>(element, name)?.into(),
        "UInt32" => number::<u32>(element, name)?.into(),
        "Int64" => number::<i64>(element, name)?.into(),
        "UInt64" => number::<u64>(element, name)?.into(),
        "Float" => (real(element, name)? as f32).into(),
        "Double" => real(element, name)?.into(),
        "String" => UAString::from(element.text.as_str()).into(),
        "DateTime" => time(element)?.into(),
        "Guid" => {
            let text = match element.child("String") {
                Some(child) => child.text.as_str(),
                None => element.text.as_str(),
            };
            let guid = Guid::from_str(text);
            guid.map_err(|_| (element.line, format!("{text:?} is no Guid")))?
                .into()
        }
        "ByteString" => bytes(element)?.into(),
        "XmlElement" => Variant::XmlElement(XmlElement::from(element.text.as_str())),
        "NodeId" => ids.of(identifier(element), element.line)?.into(),
        "ExpandedNodeId" => ExpandedNodeId::from(ids.of(identifier(element), element.line)?).into(),
        "StatusCode" => {
            let code = element.child("Code").unwrap_or(element);
            StatusCode::from(number::<u32>(code, "status code")?).into()
        }
        "QualifiedName" => {
            let index = match element.child("NamespaceIndex") {
                Some(index) => ids.namespace(number(index, "namespace index")?, index.line)?,
                None => 0,
            };
            QualifiedName::new(index, element.text_of("Name")).into()
        }
        "LocalizedText" => localized(element).into(),
        "ExtensionObject" => match extension(element, ids)? {
            Some(object) => object.into(),
            None => {
                *left_out += 1;
                ExtensionObject::null().into()
            }
        },
        // A structure or enumeration by its own name, or what nobody knows.
        _ => {
            *left_out += 1;
            Variant::Empty
        }
    })
}

fn real(element: &Element, name: &str) -> Result<f64, Wrong> {
    match element.text.as_str() {
        "INF" => Ok(f64::INFINITY),
        "-INF" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        text => text
            .parse()
            .map_err(|_| (element.line, format!("{text:?} is no {name}"))),
    }
}

fn time(element: &Element) -> Result<DateTime, Wrong> {
    let text = element.text.as_str();
    // XML has times without a zone; those of OPC UA are in UTC (Part 6, 5.3.1.6).
    let zoned = format!("{text}Z");
    let read = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc3339(&zoned));
    read.map_err(|_| {
        let what = format!("{text:?} is no DateTime (want 2026-11-22T10:00:00Z)");
        (element.line, what)
    })
}

fn bytes(element: &Element) -> Result<ByteString, Wrong> {
    let text = element.text.clone();
    ByteString::from_base64_ignore_whitespace(text)
        .ok_or_else(|| (element.line, "no Base64".to_owned()))
}

fn identifier(element: &Element) -> &str {
    match element.child("Identifier") {
        Some(identifier) => &identifier.text,
        None => &element.text,
    }
}

/// `<DisplayName Locale="en">Text</DisplayName>`, or with elements for both.
pub fn localized(element: &Element) -> LocalizedText {
    match element.child("Text") {
        Some(text) => LocalizedText::new(element.text_of("Locale"), &text.text),
        None => {
            let locale = element.attribute("Locale").unwrap_or_default();
            LocalizedText::new(locale, &element.text)
        }
    }
}

/// Structures that the specification has for properties of nodes, and bodies that are bytes.
fn extension(element: &Element, ids: &Ids<'_>) -> Result<Option<ExtensionObject>, Wrong> {
    let id = match element.child("TypeId") {
        Some(id) => ids.of(identifier(id), id.line)?,
        None => NodeId::null(),
    };
    let Some(body) = element.child("Body").and_then(|body| body.children.first()) else {
        return Ok(Some(ExtensionObject::null()));
    };
    fn number<T: FromStr>(of: &Element, name: &str, usual: T) -> Result<T, Wrong> {
        match of.child(name) {
            None => Ok(usual),
            Some(child) => child
                .text
                .parse()
                .map_err(|_| (child.line, format!("{:?} is no {name}", child.text))),
        }
    }
    let text = |name: &str| UAString::from(body.text_of(name));
    let named = |name: &str| body.child(name).map(localized).unwrap_or_default();
    Ok(Some(match body.name.as_str() {
        "Argument" => ExtensionObject::from_message(Argument {
            name: text("Name"),
            data_type: match body.child("DataType") {
                Some(of) => ids.of(identifier(of), of.line)?,
                None => NodeId::null(),
            },
            value_rank: number(body, "ValueRank", -1)?,
            array_dimensions: match body.child("ArrayDimensions") {
                Some(of) if !of.children.is_empty() => Some(
                    of.children
                        .iter()
                        .map(|it| it.text.parse().unwrap_or(0))
                        .collect(),
                ),
                _ => None,
            },
            description: named("Description"),
        }),
        "EnumValueType" => ExtensionObject::from_message(EnumValueType {
            value: number(body, "Value", 0)?,
            display_name: named("DisplayName"),
            description: named("Description"),
        }),
        "EUInformation" => ExtensionObject::from_message(EUInformation {
            namespace_uri: text("NamespaceUri"),
            unit_id: number(body, "UnitId", -1)?,
            display_name: named("DisplayName"),
            description: named("Description"),
        }),
        "Range" => ExtensionObject::from_message(Range {
            low: number(body, "Low", 0.0)?,
            high: number(body, "High", 0.0)?,
        }),
        "ByteString" => {
            let body = ByteStringBody::new(bytes(body)?, id);
            ExtensionObject::new(body)
        }
        _ => return Ok(None),
    }))
}
