//! What values in XML (Part 6, 5.3.1) end in: numbers, times, bytes, texts.

use std::str::FromStr;

use wire::types::{ByteString, DateTime, EnumField, LocalizedText, VariantScalarTypeId};

use super::xml::Element;

/// A place and what is wrong there.
pub type Wrong = (usize, String);

pub fn number<T: FromStr>(element: &Element, name: &str) -> Result<T, Wrong> {
    let text = element.text.trim();
    text.parse()
        .map_err(|_| (element.line, format!("{text:?} is no {name}")))
}

/// The built-in type of this name.
pub fn kind(name: &str) -> Option<VariantScalarTypeId> {
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

pub fn real(element: &Element, name: &str) -> Result<f64, Wrong> {
    match element.text.as_str() {
        "INF" => Ok(f64::INFINITY),
        "-INF" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        text => text
            .parse()
            .map_err(|_| (element.line, format!("{text:?} is no {name}"))),
    }
}

pub fn time(element: &Element) -> Result<DateTime, Wrong> {
    let text = element.text.as_str();
    // XML has times without a zone; those of OPC UA are in UTC (Part 6, 5.3.1.6).
    let zoned = format!("{text}Z");
    let read = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc3339(&zoned));
    read.map_err(|_| {
        let what = format!("{text:?} is no DateTime (want 2026-11-22T10:00:00Z)");
        (element.line, what)
    })
}

pub fn bytes(element: &Element) -> Result<ByteString, Wrong> {
    let text = element.text.clone();
    ByteString::from_base64_ignore_whitespace(text)
        .ok_or_else(|| (element.line, "no Base64".to_owned()))
}

pub fn identifier(element: &Element) -> &str {
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

/// A file is never so large that a length would not fit.
pub fn put_len(len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(len).unwrap_or(-1).to_le_bytes());
}

/// `On_4`, or the number alone (Part 6, 5.3.1.2).
pub fn enumerated(of: &[EnumField], element: &Element) -> Result<i32, Wrong> {
    let text = element.text.trim();
    let number = text.rsplit('_').next().unwrap_or(text);
    if let Ok(number) = number.parse() {
        return Ok(number);
    }
    let named = of.iter().find(|field| field.name.as_ref() == text);
    let value = named.and_then(|field| i32::try_from(field.value).ok());
    value.ok_or_else(|| {
        let known = of
            .iter()
            .map(|it| format!("{}_{}", it.name.as_ref(), it.value));
        let known: Vec<_> = known.collect();
        let what = format!("{text:?} is none of its values (want {})", known.join(", "));
        (element.line, what)
    })
}

/// The bytes of a field that is left out: zero, or null.
pub fn nothing(of: VariantScalarTypeId) -> &'static [u8] {
    use VariantScalarTypeId as T;
    match of {
        T::Boolean | T::SByte | T::Byte => &[0],
        T::Int16 | T::UInt16 => &[0; 2],
        T::Int32 | T::UInt32 | T::Float | T::StatusCode => &[0; 4],
        T::Int64 | T::UInt64 | T::Double | T::DateTime => &[0; 8],
        T::String | T::ByteString | T::XmlElement => &[0xff; 4],
        T::Guid => &[0; 16],
        // Two bytes: the form without a namespace, and the identifier.
        T::NodeId | T::ExpandedNodeId => &[0; 2],
        T::QualifiedName => &[0, 0, 0xff, 0xff, 0xff, 0xff],
        // An id, and no body.
        T::ExtensionObject => &[0; 3],
        T::LocalizedText | T::Variant | T::DataValue | T::DiagnosticInfo => &[0],
    }
}
