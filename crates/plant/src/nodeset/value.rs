//! Values in XML (Part 6, 5.3) as Variants.

use std::str::FromStr;

use wire::types::{
    Array, ByteString, ByteStringBody, DateTime, ExpandedNodeId, ExtensionObject, Guid,
    LocalizedText, NodeId, QualifiedName, StatusCode, UAString, Variant, VariantScalarTypeId,
    XmlElement,
};

use super::ids::Ids;
use super::structure;
use super::types::Types;
use super::xml::Element;

/// A place and what is wrong there.
pub type Wrong = (usize, String);

/// Why there is no value.
#[derive(Debug)]
pub enum NoValue {
    /// The file is wrong.
    Wrong(Wrong),
    /// Too little is known to read it; the place and what is missing.
    Unknown(Wrong),
}

impl From<Wrong> for NoValue {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

/// What the names and ids in values mean.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Ids of the file.
    pub ids: &'a Ids<'a>,
    /// Data types of this file and of those before it.
    pub types: &'a Types,
}

/// What stands in a Value.
pub fn variant(element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    if let Some(of) = element.name.strip_prefix("ListOf") {
        let kind = known(of, element)?;
        let values = list(of, kind, &element.children, scope)?;
        let array = Array::new(kind, values);
        let array = array.map_err(|error| (element.line, format!("{}: {error}", element.name)))?;
        return Ok(array.into());
    }
    match element.name.as_str() {
        "Variant" => inner(element, scope),
        "Matrix" => matrix(element, scope),
        name => scalar(name, element, scope),
    }
}

fn list(
    of: &str,
    kind: VariantScalarTypeId,
    elements: &[Element],
    scope: Scope<'_>,
) -> Result<Vec<Variant>, NoValue> {
    let one = |element: &Element| match kind {
        VariantScalarTypeId::Variant => Ok(Variant::Variant(Box::new(inner(element, scope)?))),
        _ => scalar(of, element, scope),
    };
    elements.iter().map(one).collect()
}

/// `<Matrix><Dimensions><Int32>2</Int32>…</Dimensions><Elements><Double>1</Double>…</Elements></Matrix>`.
fn matrix(element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    let (dimensions, elements) = sides(element)?;
    let Some(first) = elements.first() else {
        return Err(NoValue::Wrong((
            element.line,
            "a Matrix without Elements".to_owned(),
        )));
    };
    let kind = known(&first.name, first)?;
    let values = list(&first.name, kind, elements, scope)?;
    let array = Array::new_multi(kind, values, dimensions);
    let array = array.map_err(|error| (element.line, format!("Matrix: {error}")))?;
    Ok(array.into())
}

/// The Dimensions of a matrix and its Elements.
pub fn sides(element: &Element) -> Result<(Vec<u32>, &[Element]), Wrong> {
    let inside = |name: &str| {
        element
            .child(name)
            .map_or(&[][..], |it| it.children.as_slice())
    };
    let dimensions: Result<Vec<u32>, _> = inside("Dimensions")
        .iter()
        .map(|it| number(it, "dimension"))
        .collect();
    let (dimensions, elements) = (dimensions?, inside("Elements"));
    let count = dimensions
        .iter()
        .try_fold(1u32, |count, &one| count.checked_mul(one));
    match count {
        Some(count) if count as usize == elements.len() => Ok((dimensions, elements)),
        _ => {
            let there = elements.len();
            Err((
                element.line,
                format!("a matrix of {dimensions:?} with {there} Elements"),
            ))
        }
    }
}

/// `<Variant><Value><Int32>5</Int32></Value></Variant>`.
pub fn inner(element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    let value = element.child("Value").and_then(|it| it.children.first());
    match value {
        Some(value) => variant(value, scope),
        None => Ok(Variant::Empty),
    }
}

fn known(name: &str, element: &Element) -> Result<VariantScalarTypeId, NoValue> {
    kind(name).ok_or_else(|| unread(name, element))
}

fn unread(name: &str, element: &Element) -> NoValue {
    let what = format!(
        "{name} is none of the types that a Value has (Part 6, 5.3.1: a built-in type, or a structure in an ExtensionObject)"
    );
    NoValue::Unknown((element.line, what))
}

fn number<T: FromStr>(element: &Element, name: &str) -> Result<T, Wrong> {
    let text = element.text.trim();
    text.parse()
        .map_err(|_| (element.line, format!("{text:?} is no {name}")))
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

/// A value of the built-in type of this name.
pub fn scalar(name: &str, element: &Element, scope: Scope<'_>) -> Result<Variant, NoValue> {
    let ids = scope.ids;
    Ok(match name {
        "Boolean" => match element.text.as_str() {
            "true" | "1" => true.into(),
            "false" | "0" => false.into(),
            other => {
                let what = format!("{other:?} is no Boolean (want true or false)");
                return Err((element.line, what).into());
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
        "ExtensionObject" => extension(element, scope)?.into(),
        // A structure or enumeration by its own name, or what nobody knows.
        _ => return Err(unread(name, element)),
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

/// A structure, in bytes already or field by field.
fn extension(element: &Element, scope: Scope<'_>) -> Result<ExtensionObject, NoValue> {
    let Some(body) = element.child("Body").and_then(|body| body.children.first()) else {
        return Ok(ExtensionObject::null());
    };
    let (id, written) = match element.child("TypeId") {
        Some(id) => (scope.ids.of(identifier(id), id.line)?, identifier(id)),
        None => (NodeId::null(), ""),
    };
    if body.name == "ByteString" {
        return Ok(ExtensionObject::new(ByteStringBody::new(bytes(body)?, id)));
    }
    let unknown = |what: String| NoValue::Unknown((body.line, what));
    let Some(of) = scope.types.of_encoding(&id) else {
        let what = format!(
            "{written:?}, the TypeId of {}, is neither a data type nor its encoding",
            body.name
        );
        return Err(unknown(what));
    };
    let Some(binary) = scope.types.binary(of) else {
        let what = format!(
            "the data type of {} has no encoding \"Default Binary\"",
            body.name
        );
        return Err(unknown(what));
    };
    let bytes = structure::bytes(of, body, scope)?;
    let body = ByteStringBody::new(ByteString::from(bytes), binary.clone());
    Ok(ExtensionObject::new(body))
}
