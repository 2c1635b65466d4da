//! Values as bytes: written down in the file, or made from a number.
//!
//! Every type has a value for every number, so that an array can be filled and a counter can
//! count whatever it is made of, and a client can tell what it should have received.

use toml::Value;
use wire::template::walk::BuiltInType as T;
use wire::types::{
    ByteString, DataValue, DateTime, DiagnosticInfo, ExpandedNodeId, ExtensionObject, Guid,
    LocalizedText, NodeId, QualifiedName, Range, StatusCode, UAString, Variant, XmlElement,
};

use super::kind::{Enumeration, Field, Kind, Structure, index};
use crate::space::encode;

/// Bits of a Variant's encoding byte (Part 6, 5.2.2.16).
const IS_ARRAY: u8 = 0x80;
const HAS_DIMENSIONS: u8 = 0x40;

/// What a value is made from.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// What stands in the file.
    Literal(&'a Value),
    /// A number; elements and fields go on counting from it.
    Number(i64),
}

/// Appends a value as an encoded Variant. `dimensions` are none for a scalar.
pub fn variant(
    kind: &Kind,
    dimensions: &[u32],
    content: Content<'_>,
    namespaces: &[u16],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let wire = kind.wire();
    let [first, rest @ ..] = dimensions else {
        // A Variant is its own encoding; one inside another has to be an element of an array.
        if wire != T::Variant {
            out.push(wire as u8);
        }
        return element(kind, content, namespaces, out);
    };
    let matrix = if rest.is_empty() { 0 } else { HAS_DIMENSIONS };
    match content {
        Content::Literal(literal) => {
            out.push(wire as u8 | IS_ARRAY | matrix);
            put_len(dimensions.iter().product::<u32>(), out);
            elements(kind, (*first, rest), literal, namespaces, out)?;
            put_dimensions(dimensions, out);
        }
        Content::Number(first) => array(wire, dimensions, out, |k, out| {
            number(kind, first.wrapping_add_unsigned(k), namespaces, out);
        }),
    }
    Ok(())
}

/// Appends an array or a matrix, whose elements are appended one after the other.
pub fn array(
    kind: T,
    dimensions: &[u32],
    out: &mut Vec<u8>,
    mut put: impl FnMut(u64, &mut Vec<u8>),
) {
    let matrix = if dimensions.len() > 1 {
        HAS_DIMENSIONS
    } else {
        0
    };
    let len = dimensions.iter().product::<u32>();
    out.push(kind as u8 | IS_ARRAY | matrix);
    put_len(len, out);
    for k in 0..u64::from(len) {
        put(k, out);
    }
    put_dimensions(dimensions, out);
}

fn put_dimensions(dimensions: &[u32], out: &mut Vec<u8>) {
    if dimensions.len() > 1 {
        put_len(dimensions.len() as u32, out);
        for dimension in dimensions {
            put_len(*dimension, out);
        }
    }
}

/// Lengths are Int32 on the wire; those of a plant are far below that.
fn put_len(len: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&len.to_le_bytes());
}

fn elements(
    kind: &Kind,
    (first, rest): (u32, &[u32]),
    literal: &Value,
    namespaces: &[u16],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let items = literal.as_array();
    let items = items.ok_or_else(|| format!("want an array of {first}"))?;
    if items.len() != first as usize {
        let there = items.len();
        return Err(format!(
            "has {there} elements where there should be {first}"
        ));
    }
    for item in items {
        match rest {
            [] => element(kind, Content::Literal(item), namespaces, out)?,
            [next, rest @ ..] => elements(kind, (*next, rest), item, namespaces, out)?,
        }
    }
    Ok(())
}

/// Appends a value without its type.
fn element(
    kind: &Kind,
    content: Content<'_>,
    namespaces: &[u16],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    match (content, kind) {
        (Content::Number(k), _) => {
            number(kind, k, namespaces, out);
            Ok(())
        }
        (Content::Literal(literal), Kind::Structure(of)) => {
            let table = table(of, literal)?;
            extension_object(of, namespaces, out, |n, field, out| {
                written_field(table, n, field, namespaces, out)
            })
        }
        (Content::Literal(literal), Kind::Enumeration(of)) => {
            out.extend_from_slice(&enumerated(of, literal)?.to_le_bytes());
            Ok(())
        }
        (Content::Literal(literal), Kind::BuiltIn(built_in)) => {
            untyped(*built_in, &literally(*built_in, literal)?, out);
            Ok(())
        }
    }
}

/// A structure as it is written down: a table with some of its fields.
fn table<'a>(of: &Structure, literal: &'a Value) -> Result<&'a toml::Table, String> {
    let known = || {
        let known: Vec<_> = of.fields.iter().map(|field| &*field.name).collect();
        known.join(", ")
    };
    let table = literal.as_table();
    let table = table.ok_or_else(|| {
        let there = shown(literal);
        format!("{there} is no {} (want a table with {})", of.name, known())
    })?;
    let is_field = |name: &String| of.fields.iter().any(|field| field.name == *name);
    match table.keys().find(|name| !is_field(name)) {
        Some(name) => Err(format!(
            "{} has no field {name} (want {})",
            of.name,
            known()
        )),
        None => Ok(table),
    }
}

/// A field as it is written down; one that is left out has its number.
fn written_field(
    table: &toml::Table,
    n: i64,
    field: &Field,
    namespaces: &[u16],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let content = table.get(&field.name).map(Content::Literal);
    put_field(
        field,
        content.unwrap_or(Content::Number(n)),
        namespaces,
        out,
    )
    .map_err(|what| format!("field {}: {what}", field.name))
}

fn enumerated(of: &Enumeration, literal: &Value) -> Result<i32, String> {
    let found = of.values.iter().find(|(name, value)| match literal {
        Value::String(text) => text == name,
        Value::Integer(number) => *number == i64::from(*value),
        _ => false,
    });
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> = of.values.iter().map(|(name, _)| &**name).collect();
        format!("{literal:?} is no {} (want {})", of.name, known.join(", "))
    })
}

/// Appends the value that belongs to a number, without its type.
pub fn number(kind: &Kind, k: i64, namespaces: &[u16], out: &mut Vec<u8>) {
    match kind {
        Kind::Structure(of) => {
            // Numbers fit into every type.
            let _ = extension_object(of, namespaces, out, |n, field, out| {
                put_field(field, Content::Number(k.wrapping_add(n)), namespaces, out)
            });
        }
        Kind::Enumeration(of) => {
            let at = k.rem_euclid((of.values.len() as i64).max(1)) as usize;
            let value = of.values.get(at).map_or(0, |(_, value)| *value);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Kind::BuiltIn(kind @ (T::Float | T::Double)) => {
            untyped_bits(*kind, float_bits(*kind, k as f64), out);
        }
        Kind::BuiltIn(T::Boolean) => out.push((k & 1) as u8),
        Kind::BuiltIn(kind) if (*kind as u8) < T::Float as u8 => {
            untyped_bits(*kind, k as u64, out);
        }
        Kind::BuiltIn(kind) => untyped(*kind, &numbered(*kind, k), out),
    }
}

fn float_bits(kind: T, value: f64) -> u64 {
    match kind {
        T::Float => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

/// Appends the low bytes of a number.
pub fn untyped_bits(kind: T, bits: u64, out: &mut Vec<u8>) {
    let len = kind.size().unwrap_or(0).min(8);
    let bytes = bits.to_le_bytes();
    out.extend_from_slice(bytes.get(..len).unwrap_or_default());
}

/// Appends what stands behind the type of an encoded Variant; all of it where the Variant itself
/// is the value.
fn untyped(kind: T, value: &Variant, out: &mut Vec<u8>) {
    let encoded = encode::encoded(value);
    let skip = usize::from(kind != T::Variant);
    out.extend_from_slice(encoded.get(skip..).unwrap_or_default());
}

/// Appends a structure with its encoding's id and its length (Part 6, 5.2.2.15).
fn extension_object(
    of: &Structure,
    namespaces: &[u16],
    out: &mut Vec<u8>,
    mut put: impl FnMut(i64, &Field, &mut Vec<u8>) -> Result<(), String>,
) -> Result<(), String> {
    let id = of.encoding.in_namespace(index(namespaces, of.namespace));
    encode::encode(&id, out);
    // The body is a ByteString.
    out.push(1);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    fields(of, out, &mut put)?;
    let len = (out.len() - at - 4) as u32;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&len.to_le_bytes());
    }
    Ok(())
}

fn fields(
    of: &Structure,
    out: &mut Vec<u8>,
    put: &mut impl FnMut(i64, &Field, &mut Vec<u8>) -> Result<(), String>,
) -> Result<(), String> {
    for (n, field) in of.fields.iter().enumerate() {
        put(n as i64, field, out)?;
    }
    Ok(())
}

/// A field of a structure has no type in front of it, and a structure in it neither id nor
/// length (Part 6, 5.2.6).
fn put_field(
    field: &Field,
    content: Content<'_>,
    namespaces: &[u16],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let plain = |content: Content<'_>, out: &mut Vec<u8>| match (&field.kind, content) {
        (Kind::Structure(of), Content::Number(k)) => fields(of, out, &mut |n, field, out| {
            put_field(field, Content::Number(k.wrapping_add(n)), namespaces, out)
        }),
        (Kind::Structure(of), Content::Literal(literal)) => {
            let table = table(of, literal)?;
            fields(of, out, &mut |n, field, out| {
                written_field(table, n, field, namespaces, out)
            })
        }
        _ => element(&field.kind, content, namespaces, out),
    };
    let Some(len) = field.len else {
        return plain(content, out);
    };
    put_len(len, out);
    match content {
        Content::Number(k) => {
            for n in 0..i64::from(len) {
                plain(Content::Number(k.wrapping_add(n)), out)?;
            }
        }
        Content::Literal(literal) => {
            let items = literal
                .as_array()
                .filter(|items| items.len() == len as usize);
            for item in items.ok_or_else(|| format!("want an array of {len}"))? {
                plain(Content::Literal(item), out)?;
            }
        }
    }
    Ok(())
}

/// A value of the file. Its type says what is allowed.
fn literally(kind: T, literal: &Value) -> Result<Variant, String> {
    let fits = |what: &str| format!("{} is no {kind:?} (want {what})", shown(literal));
    let integer = |low: i64, high: i64| {
        let number = literal.as_integer().filter(|n| (low..=high).contains(n));
        number.ok_or_else(|| fits(&format!("a whole number from {low} to {high}")))
    };
    let float = || match literal {
        Value::Float(value) => Ok(*value),
        Value::Integer(value) => Ok(*value as f64),
        _ => Err(fits("a number")),
    };
    let text = |what: &str| literal.as_str().ok_or_else(|| fits(what));
    Ok(match kind {
        T::Boolean => literal
            .as_bool()
            .ok_or_else(|| fits("true or false"))?
            .into(),
        T::SByte => (integer(i8::MIN.into(), i8::MAX.into())? as i8).into(),
        T::Byte => (integer(0, u8::MAX.into())? as u8).into(),
        T::Int16 => (integer(i16::MIN.into(), i16::MAX.into())? as i16).into(),
        T::UInt16 => (integer(0, u16::MAX.into())? as u16).into(),
        T::Int32 => (integer(i32::MIN.into(), i32::MAX.into())? as i32).into(),
        T::UInt32 => (integer(0, u32::MAX.into())? as u32).into(),
        T::Int64 => integer(i64::MIN, i64::MAX)?.into(),
        T::UInt64 => (integer(0, i64::MAX)? as u64).into(),
        T::Float => (float()? as f32).into(),
        T::Double => float()?.into(),
        T::String => UAString::from(text("text")?).into(),
        T::XmlElement => Variant::XmlElement(XmlElement::from(text("text")?)),
        T::DateTime => {
            let time = match literal {
                Value::Datetime(time) => time.to_string(),
                other => other.as_str().unwrap_or_default().to_owned(),
            };
            let time = DateTime::parse_from_rfc3339(&time);
            time.map_err(|_| fits("a time with its zone, as 2026-01-31T12:00:00Z"))?
                .into()
        }
        T::Guid => {
            let want = "text as \"72962b91-fa75-4ae6-8d28-b404dc7daf63\"";
            let guid: Guid = text(want)?.parse().map_err(|_| fits(want))?;
            guid.into()
        }
        T::ByteString => {
            let want = "Base64 text, as \"AAEC\"";
            let bytes = ByteString::from_base64(text(want)?);
            bytes.ok_or_else(|| fits(want))?.into()
        }
        T::NodeId => {
            let want = "text as \"ns=2;s=Name\"";
            let id: NodeId = text(want)?.parse().map_err(|_| fits(want))?;
            id.into()
        }
        T::ExpandedNodeId => {
            let want = "text as \"ns=2;s=Name\"";
            let id: NodeId = text(want)?.parse().map_err(|_| fits(want))?;
            ExpandedNodeId::from(id).into()
        }
        T::StatusCode => match literal {
            Value::Integer(_) => {
                let bits = integer(0, u32::MAX.into())? as u32;
                StatusCode::from(bits).into()
            }
            _ => return Err(fits("a whole number from 0 to 4294967295, as 0x800A_0000")),
        },
        T::QualifiedName => {
            let text = text("text, with a namespace in front as in \"2:Name\" or without")?;
            let prefixed = text.split_once(':');
            let prefixed =
                prefixed.and_then(|(namespace, name)| Some((namespace.parse().ok()?, name)));
            let (namespace, name) = prefixed.unwrap_or((0, text));
            QualifiedName::new(namespace, name).into()
        }
        T::LocalizedText => LocalizedText::new("en", text("text")?).into(),
        T::Variant => loose(literal).ok_or_else(|| fits("a truth value, a number or text"))?,
        T::DataValue => {
            let value = loose(literal).ok_or_else(|| fits("a truth value, a number or text"))?;
            Variant::DataValue(Box::new(DataValue::value_only(value)))
        }
        T::DiagnosticInfo | T::ExtensionObject | T::Null => {
            return Err(format!(
                "values of {kind:?} cannot be written in a file (leave it out)"
            ));
        }
    })
}

fn shown(literal: &Value) -> String {
    match literal {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Datetime(time) => time.to_string(),
        Value::Array(_) => "an array".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// A value whose type follows from how it is written.
fn loose(literal: &Value) -> Option<Variant> {
    Some(match literal {
        Value::Boolean(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::String(text) => UAString::from(text.as_str()).into(),
        _ => return None,
    })
}

/// Seconds from 1601-01-01 to 2000-01-01, in ticks of 100 ns.
const YEAR_2000: i64 = 125_911_584_000_000_000;
const SECOND: i64 = 10_000_000;

/// The value of a built-in type that belongs to a number.
fn numbered(kind: T, k: i64) -> Variant {
    let text = || UAString::from(k.to_string());
    let id = || NodeId::new(1, k as u32);
    match kind {
        T::String => text().into(),
        T::DateTime => {
            // A little more than 3000 years: beyond them it begins again.
            let seconds = k.rem_euclid(100_000_000_000);
            DateTime::from(YEAR_2000 + seconds * SECOND).into()
        }
        T::Guid => {
            let mut bytes = [0; 16];
            bytes[8..].copy_from_slice(&k.to_be_bytes());
            Guid::from_bytes(bytes).into()
        }
        T::ByteString => ByteString::from(k.to_be_bytes().to_vec()).into(),
        T::XmlElement => Variant::XmlElement(XmlElement::from(format!("<n>{k}</n>").as_str())),
        T::NodeId => id().into(),
        T::ExpandedNodeId => ExpandedNodeId::from(id()).into(),
        T::StatusCode => match k.rem_euclid(3) {
            0 => StatusCode::Good,
            1 => StatusCode::Uncertain,
            _ => StatusCode::Bad,
        }
        .into(),
        T::QualifiedName => QualifiedName::new(1, text()).into(),
        T::LocalizedText => LocalizedText::new("en", &k.to_string()).into(),
        // Some structure that everybody knows.
        T::ExtensionObject => Variant::ExtensionObject(ExtensionObject::from_message(Range {
            low: 0.0,
            high: k as f64,
        })),
        T::DataValue => Variant::DataValue(Box::new(DataValue::value_only(k as f64))),
        T::DiagnosticInfo => Variant::DiagnosticInfo(Box::new(DiagnosticInfo {
            symbolic_id: Some(k as i32),
            ..DiagnosticInfo::default()
        })),
        _ => k.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in(name: &str) -> Kind {
        Kind::built_in(name).unwrap()
    }

    #[test]
    fn every_built_in_type_has_scalars_arrays_and_matrices_that_decode() {
        for name in Kind::built_in_names() {
            for dimensions in [&[][..], &[3], &[2, 3], &[2, 1, 2]] {
                let mut bytes = Vec::new();
                let kind = built_in(name);
                variant(&kind, dimensions, Content::Number(7), &[2], &mut bytes).unwrap();
                let decoded = encode::decoded(&bytes).unwrap();
                assert_eq!(encode::encoded(&decoded), bytes, "{name} {dimensions:?}");
                if let Variant::Array(array) = decoded {
                    let len: u32 = dimensions.iter().product();
                    assert_eq!(array.values.len(), len as usize);
                } else {
                    assert!(dimensions.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_value_of_the_file_has_to_fit_its_type() {
        let encoded = |kind: &str, literal: &str| {
            let table: toml::Table = format!("v = {literal}").parse().unwrap();
            let mut bytes = Vec::new();
            let content = Content::Literal(&table["v"]);
            variant(&built_in(kind), &[], content, &[2], &mut bytes)
                .map(|()| encode::decoded(&bytes).unwrap())
        };
        assert_eq!(encoded("Byte", "255"), Ok(Variant::Byte(255)));
        assert_eq!(encoded("Double", "3"), Ok(Variant::Double(3.0)));
        assert_eq!(encoded("String", "\"x\""), Ok(Variant::from("x")));
        let time = encoded("DateTime", "2026-01-31T12:00:00Z").unwrap();
        assert_eq!(time.to_string(), "2026-01-31T12:00:00+00:00");
        for (kind, wrong, want) in [
            (
                "Byte",
                "256",
                "256 is no Byte (want a whole number from 0 to 255)",
            ),
            ("Boolean", "1", "1 is no Boolean (want true or false)"),
            (
                "Int32",
                "1.5",
                "1.5 is no Int32 (want a whole number from -2147483648 to 2147483647)",
            ),
            ("String", "[]", "an array is no String (want text)"),
        ] {
            assert_eq!(encoded(kind, wrong), Err(want.to_owned()));
        }
    }
}
