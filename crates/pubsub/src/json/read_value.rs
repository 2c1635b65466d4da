//! Values out of JSON (Part 6, 5.4.2), as 1.05.04 writes them and as older versions did.

use std::borrow::Cow;
use std::str::FromStr;

use wire::service::{Limits, decode_variant, encode_variant};
use wire::types::{
    Array, ByteString, DataValue, DateTime, ExpandedNodeId, Guid, LocalizedText, NodeId,
    QualifiedName, StatusCode, UAString, Variant, VariantScalarTypeId as Type,
};

use super::scan::{Kind, Value};
use crate::error::{Cause, DecodeError};
use crate::view::charge;

/// A time in 100 ns since 1601.
pub(super) fn read_time(value: Value<'_>) -> Result<i64, DecodeError> {
    let text = text(value, "DateTime")?;
    let time = DateTime::parse_from_rfc3339(&text);
    time.map(|it| it.checked_ticks())
        .map_err(|_| not_that(value, "DateTime"))
}

/// A status code: an object, or a number as older versions have it.
pub(super) fn read_status(value: Value<'_>) -> Result<u32, DecodeError> {
    let code = match value.kind() {
        Kind::Object => match value.get("Code") {
            None => return Ok(0),
            Some(code) => code,
        },
        _ => value,
    };
    code.number().ok_or_else(|| not_that(value, "StatusCode"))
}

pub(super) fn not_that(value: Value<'_>, what: &'static str) -> DecodeError {
    let found = value.as_written().chars().take(40).collect();
    DecodeError::new(value.at(), Cause::NotThat { what, found })
}

fn text<'a>(value: Value<'a>, what: &'static str) -> Result<Cow<'a, str>, DecodeError> {
    let text = value.text().ok_or_else(|| not_that(value, what))?;
    Ok(text.read())
}

fn parsed<T: FromStr>(value: Value<'_>, what: &'static str) -> Result<T, DecodeError> {
    let text = text(value, what)?;
    text.parse().map_err(|_| not_that(value, what))
}

/// An integer: a number, or a string as those of 64 bits are.
pub(super) fn integer<T: FromStr>(value: Value<'_>, what: &'static str) -> Result<T, DecodeError> {
    match value.number() {
        Some(it) => Ok(it),
        None => parsed(value, what),
    }
}

fn float<T: FromStr + From<f32>>(value: Value<'_>, what: &'static str) -> Result<T, DecodeError> {
    if let Some(it) = value.number() {
        return Ok(it);
    }
    let text = value.text().ok_or_else(|| not_that(value, what))?;
    for (name, special) in [
        ("NaN", f32::NAN),
        ("Infinity", f32::INFINITY),
        ("-Infinity", f32::NEG_INFINITY),
    ] {
        if text.is(name) {
            return Ok(T::from(special));
        }
    }
    Err(not_that(value, what))
}

/// The value of a type, where it stands without one.
pub(super) fn read_bare(
    kind: Type,
    dimensions: Option<Value<'_>>,
    value: Value<'_>,
    limits: &mut Limits,
) -> Result<Variant, DecodeError> {
    if value.kind() != Kind::Array {
        return read_scalar(kind, value, limits);
    }
    let mut all = Vec::new();
    for it in value.items() {
        all.push(read_scalar(kind, it, limits)?);
    }
    let Some(dimensions) = dimensions else {
        let array = Array::new(kind, all).map_err(|_| not_that(value, "an array of one type"))?;
        return Ok(Variant::from(array));
    };
    let mut sizes = Vec::new();
    let mut product = 1_usize;
    for it in dimensions.items() {
        let size: u32 = integer(it, "Dimensions")?;
        charge(limits, 8, it.at())?;
        product = product.saturating_mul(usize::try_from(size).unwrap_or(usize::MAX));
        sizes.push(size);
    }
    // They are multiplied here, since the constructor's product may overflow.
    let array = match product == all.len() {
        true => Array::new_multi(kind, all, sizes).ok(),
        false => None,
    };
    let array = array.ok_or_else(|| not_that(dimensions, "Dimensions of so many elements"))?;
    Ok(Variant::from(array))
}

fn read_scalar(kind: Type, value: Value<'_>, limits: &mut Limits) -> Result<Variant, DecodeError> {
    charge(limits, 64 + value.as_written().len(), value.at())?;
    let null = value.kind() == Kind::Null;
    let string = |what| match null {
        true => Ok(UAString::null()),
        false => Ok(UAString::from(text(value, what)?.into_owned())),
    };
    Ok(match kind {
        Type::Boolean => match value.kind() {
            Kind::Boolean(it) => Variant::Boolean(it),
            _ => return Err(not_that(value, "Boolean")),
        },
        Type::SByte => Variant::SByte(integer(value, "SByte")?),
        Type::Byte => Variant::Byte(integer(value, "Byte")?),
        Type::Int16 => Variant::Int16(integer(value, "Int16")?),
        Type::UInt16 => Variant::UInt16(integer(value, "UInt16")?),
        Type::Int32 => Variant::Int32(integer(value, "Int32")?),
        Type::UInt32 => Variant::UInt32(integer(value, "UInt32")?),
        Type::Int64 => Variant::Int64(integer(value, "Int64")?),
        Type::UInt64 => Variant::UInt64(integer(value, "UInt64")?),
        Type::Float => Variant::Float(float(value, "Float")?),
        Type::Double => Variant::Double(float(value, "Double")?),
        Type::String => Variant::String(string("String")?),
        Type::XmlElement => Variant::XmlElement(string("XmlElement")?.into()),
        Type::DateTime => Variant::from(DateTime::from(read_time(value)?)),
        Type::Guid => Variant::from(parsed::<Guid>(value, "Guid")?),
        Type::ByteString if null => Variant::ByteString(ByteString::null()),
        Type::ByteString => {
            let bytes = ByteString::from_base64(&text(value, "ByteString")?);
            Variant::ByteString(bytes.ok_or_else(|| not_that(value, "ByteString in Base64"))?)
        }
        Type::NodeId => Variant::from(read_node_id(value)?),
        Type::ExpandedNodeId => Variant::from(match value.kind() {
            Kind::String => {
                let text = text(value, "ExpandedNodeId")?;
                expanded_node_id(&text).ok_or_else(|| not_that(value, "ExpandedNodeId"))?
            }
            _ => ExpandedNodeId::from(read_node_id(value)?),
        }),
        Type::StatusCode => Variant::StatusCode(StatusCode::from(read_status(value)?)),
        Type::QualifiedName => Variant::from(read_qualified_name(value)?),
        Type::LocalizedText => Variant::from(read_localized(value)?),
        Type::ExtensionObject if null => Variant::ExtensionObject(Default::default()),
        Type::ExtensionObject => read_extension(value, limits)?,
        Type::DataValue => Variant::DataValue(Box::new(read_data_value(value, limits)?)),
        Type::Variant => Variant::Variant(Box::new(read_variant(value, limits)?)),
        Type::DiagnosticInfo => return Err(not_that(value, "a type that is read of JSON")),
    })
}

/// `ns=1;s=name` and the like. Names may be empty.
fn node_id(text: &str) -> Option<NodeId> {
    let (space, rest) = match text.strip_prefix("ns=") {
        Some(rest) => rest.split_once(';')?,
        None => ("0", text),
    };
    let space: u16 = space.parse().ok()?;
    let (kind, id) = rest.split_at_checked(2)?;
    Some(match kind {
        "i=" => NodeId::new(space, id.parse::<u32>().ok()?),
        "s=" => NodeId::new(space, UAString::from(id)),
        "g=" => NodeId::new(space, id.parse::<Guid>().ok()?),
        "b=" => NodeId::new(space, ByteString::from_base64(id)?),
        _ => return None,
    })
}

/// The same with a server or a namespace URI before it.
fn expanded_node_id(text: &str) -> Option<ExpandedNodeId> {
    let (server, rest) = match text.strip_prefix("svr=") {
        Some(rest) => rest.split_once(';')?,
        None => ("0", text),
    };
    let (uri, rest) = match rest.strip_prefix("nsu=") {
        Some(rest) => rest.split_once(';').map(|(uri, rest)| (Some(uri), rest))?,
        None => (None, rest),
    };
    let uri = uri.map(|it| it.replace("%3B", ";").replace("%25", "%"));
    Some(ExpandedNodeId {
        node_id: node_id(rest)?,
        namespace_uri: uri.map_or(UAString::null(), UAString::from),
        server_index: server.parse().ok()?,
    })
}

fn read_node_id(value: Value<'_>) -> Result<NodeId, DecodeError> {
    const WHAT: &str = "NodeId";
    if value.kind() == Kind::Null {
        return Ok(NodeId::null());
    }
    if value.kind() != Kind::Object {
        return node_id(&text(value, WHAT)?).ok_or_else(|| not_that(value, WHAT));
    }
    let space = match value.get("Namespace") {
        Some(it) => integer::<u16>(it, "Namespace")?,
        None => 0,
    };
    let id = value.get("Id").ok_or_else(|| not_that(value, WHAT))?;
    // Part 6, 5.4.2.10: without one it is numeric.
    let kind = match value.get("IdType") {
        Some(it) => integer::<u8>(it, "IdType")?,
        None => 0,
    };
    Ok(match kind {
        0 => NodeId::new(space, integer::<u32>(id, WHAT)?),
        1 => NodeId::new(space, UAString::from(text(id, WHAT)?.into_owned())),
        2 => NodeId::new(space, parsed::<Guid>(id, WHAT)?),
        3 => {
            let bytes = ByteString::from_base64(&text(id, WHAT)?);
            NodeId::new(space, bytes.ok_or_else(|| not_that(id, WHAT))?)
        }
        _ => return Err(not_that(value, WHAT)),
    })
}

fn read_qualified_name(value: Value<'_>) -> Result<QualifiedName, DecodeError> {
    const WHAT: &str = "QualifiedName";
    if value.kind() == Kind::Object {
        // A URI has no index here: without a server's list of namespaces it cannot be found.
        let space = match value.get("Uri") {
            Some(it) => integer::<u16>(it, "Uri")?,
            None => 0,
        };
        let name = value.get("Name").ok_or_else(|| not_that(value, WHAT))?;
        return Ok(QualifiedName::new(space, text(name, WHAT)?.into_owned()));
    }
    let text = text(value, WHAT)?;
    let parts = text.split_once(':');
    let space = parts.and_then(|(space, name)| Some((space.parse().ok()?, name)));
    let (space, name) = space.unwrap_or((0, &*text));
    Ok(QualifiedName::new(space, name.to_owned()))
}

fn read_localized(value: Value<'_>) -> Result<LocalizedText, DecodeError> {
    const WHAT: &str = "LocalizedText";
    let of = |name| match value.get(name) {
        Some(it) if it.kind() != Kind::Null => Ok(UAString::from(text(it, WHAT)?.into_owned())),
        _ => Ok(UAString::null()),
    };
    Ok(match value.kind() {
        Kind::Null => LocalizedText::null(),
        Kind::Object => LocalizedText {
            locale: of("Locale")?,
            text: of("Text")?,
        },
        // What was not to be reversed had the text alone.
        _ => LocalizedText {
            locale: UAString::null(),
            text: UAString::from(text(value, WHAT)?.into_owned()),
        },
    })
}

/// One whose body is in OPC UA Binary. Others need a description of their structure.
fn read_extension(value: Value<'_>, limits: &mut Limits) -> Result<Variant, DecodeError> {
    let of = |new, old| value.get(new).or_else(|| value.get(old));
    let encoding = of("UaEncoding", "Encoding").and_then(|it| it.number::<u8>());
    let (Some(id), Some(1), Some(body)) =
        (of("UaTypeId", "TypeId"), encoding, of("UaBody", "Body"))
    else {
        return Err(not_that(value, "a structure whose body is a ByteString"));
    };
    let failed = || not_that(value, "ExtensionObject");
    let id = read_node_id(id)?;
    let body = ByteString::from_base64(&text(body, "Body")?).and_then(|it| it.value);
    let body = body.ok_or_else(failed)?;
    let mut bytes = Vec::new();
    encode_variant(&Variant::from(id), &mut bytes).map_err(|_| failed())?;
    if let Some(kind) = bytes.first_mut() {
        *kind = Type::ExtensionObject as u8;
    }
    bytes.push(1);
    bytes.extend(
        i32::try_from(body.len())
            .map_err(|_| failed())?
            .to_le_bytes(),
    );
    bytes.extend(body);
    charge(limits, 3 * bytes.len(), value.at())?;
    decode_variant(&bytes, limits).map_err(|_| failed())
}

/// The number that says a type, where it says one that Part 6 has.
pub(super) fn named_type(value: Value<'_>) -> Option<Type> {
    Type::try_from(value.number::<u32>()?).ok()
}

/// A Variant: with its type.
pub(super) fn read_variant(value: Value<'_>, limits: &mut Limits) -> Result<Variant, DecodeError> {
    if value.kind() == Kind::Null {
        return Ok(Variant::Empty);
    }
    let typed = Typed::of(value).ok_or_else(|| not_that(value, "a Variant with its type"))?;
    typed.read(limits)
}

/// The members of a Variant, by the names of either version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Typed<'a> {
    pub kind: Type,
    pub body: Option<Value<'a>>,
    pub dimensions: Option<Value<'a>>,
}

impl<'a> Typed<'a> {
    /// None if there is no type that Part 6 has.
    pub fn of(value: Value<'a>) -> Option<Self> {
        let (mut kind, mut body, mut dimensions) = (None, None, None);
        for (name, it) in value.members() {
            if name.is("UaType") || name.is("Type") {
                kind = kind.or(named_type(it));
            } else if name.is("Value") || name.is("Body") {
                body = body.or(Some(it));
            } else if name.is("Dimensions") {
                dimensions = dimensions.or(Some(it));
            }
        }
        Some(Self {
            kind: kind?,
            body: body.filter(|it| it.kind() != Kind::Null),
            dimensions,
        })
    }

    pub fn read(self, limits: &mut Limits) -> Result<Variant, DecodeError> {
        match self.body {
            Some(body) => read_bare(self.kind, self.dimensions, body, limits),
            None => Ok(match self.kind {
                Type::String => Variant::String(UAString::null()),
                Type::ByteString => Variant::ByteString(ByteString::null()),
                _ => Variant::Empty,
            }),
        }
    }
}

/// A DataValue, with the type of its value: beside it, or inside as older versions have it.
pub(super) fn read_data_value(
    value: Value<'_>,
    limits: &mut Limits,
) -> Result<DataValue, DecodeError> {
    charge(limits, 96, value.at())?;
    let inner = match (Typed::of(value), value.get("Value")) {
        (Some(typed), _) => Some(typed.read(limits)?),
        (None, Some(inner)) => Some(read_variant(inner, limits)?),
        (None, None) => None,
    };
    Ok(DataValue {
        value: inner,
        ..read_stamps(value)?
    })
}

/// Status and times of a DataValue.
pub(super) fn read_stamps(value: Value<'_>) -> Result<DataValue, DecodeError> {
    let mut read = DataValue::default();
    for (name, it) in value.members() {
        if name.is("Status") || name.is("StatusCode") {
            read.status = Some(StatusCode::from(read_status(it)?));
        } else if name.is("SourceTimestamp") {
            read.source_timestamp = Some(DateTime::from(read_time(it)?));
        } else if name.is("ServerTimestamp") {
            read.server_timestamp = Some(DateTime::from(read_time(it)?));
        } else if name.is("SourcePicoseconds") || name.is("SourcePicoSeconds") {
            read.source_picoseconds = Some(integer(it, "SourcePicoseconds")?);
        } else if name.is("ServerPicoseconds") || name.is("ServerPicoSeconds") {
            read.server_picoseconds = Some(integer(it, "ServerPicoseconds")?);
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_id_says_of_which_kind_it_is_or_is_refused() {
        let read = |text: &str| read_node_id(Value::parse(text.as_bytes()).unwrap());
        assert_eq!(read(r#"{"Id":10}"#).unwrap(), NodeId::new(0, 10_u32));
        let named = NodeId::new(2, UAString::from("10"));
        let text = r#"{"IdType":1,"Id":"10","Namespace":2}"#;
        assert_eq!(read(text).unwrap(), named);
        for kind in ["4", "300", "-1", "\"String\"", "true"] {
            let text = format!("{{\"IdType\":{kind},\"Id\":\"10\"}}");
            assert!(read(&text).is_err(), "{kind}");
        }
    }

    #[test]
    fn a_namespace_that_has_no_number_is_not_number_0() {
        let read = |text: &str| read_qualified_name(Value::parse(text.as_bytes()).unwrap());
        let plain = read(r#"{"Name":"a"}"#).unwrap();
        assert_eq!(plain, QualifiedName::new(0, "a"));
        let numbered = read(r#"{"Name":"a","Uri":2}"#).unwrap();
        assert_eq!(numbered, QualifiedName::new(2, "a"));
        assert!(read(r#"{"Name":"a","Uri":"urn:a"}"#).is_err());
        assert!(read(r#"{"Name":"a","Uri":70000}"#).is_err());
    }
}
