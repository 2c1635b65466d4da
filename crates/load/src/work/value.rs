//! Values as typed, made into what a node or an argument takes.

use std::str::FromStr;

use wire::types::{ByteString, DateTime, Guid, Variant, VariantScalarTypeId as Type};

/// Reads a scalar of a type.
pub fn scalar(text: &str, kind: Type) -> Option<Variant> {
    fn parsed<T: FromStr>(text: &str, variant: impl Fn(T) -> Variant) -> Option<Variant> {
        text.trim().parse().ok().map(variant)
    }
    match kind {
        Type::Boolean => match text.trim() {
            "true" | "1" => Some(Variant::Boolean(true)),
            "false" | "0" => Some(Variant::Boolean(false)),
            _ => None,
        },
        Type::SByte => parsed(text, Variant::SByte),
        Type::Byte => parsed(text, Variant::Byte),
        Type::Int16 => parsed(text, Variant::Int16),
        Type::UInt16 => parsed(text, Variant::UInt16),
        Type::Int32 => parsed(text, Variant::Int32),
        Type::UInt32 => parsed(text, Variant::UInt32),
        Type::Int64 => parsed(text, Variant::Int64),
        Type::UInt64 => parsed(text, Variant::UInt64),
        Type::Float => parsed(text, Variant::Float),
        Type::Double => parsed(text, Variant::Double),
        Type::String => Some(Variant::String(text.into())),
        Type::DateTime => DateTime::parse_from_rfc3339(text.trim())
            .ok()
            .map(|at| Variant::DateTime(Box::new(at))),
        Type::Guid => Guid::from_str(text.trim())
            .ok()
            .map(|guid| Variant::Guid(Box::new(guid))),
        Type::ByteString => ByteString::from_base64(text.trim()).map(Variant::ByteString),
        _ => None,
    }
}
