//! Values in JSON (Part 6, 5.4.2), as 1.05.04 writes them and as older versions did.

use std::fmt::Write as _;
use std::str::FromStr;

use wire::service::{Limits, decode_variant, encode_variant};
use wire::types::{
    Array, ByteString, DataValue, DateTime, ExpandedNodeId, Guid, Identifier, LocalizedText,
    NodeId, QualifiedName, StatusCode, UAString, Variant, VariantScalarTypeId as Type,
};

use super::scan::{Kind, Value};
use crate::encode::EncodeError;
use crate::error::{Cause, DecodeError};
use crate::view::charge;

/// How values and fields are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// Fields say their types: `{"UaType":10,"Value":1.5}` (CompactEncoding).
    #[default]
    Compact,
    /// Fields are bare values, whose types metadata says, and status codes have their names (VerboseEncoding): what
    /// Part 14, 7.2.5.4.2 recommends.
    Verbose,
    /// As it was before 1.05.04 and most devices still send it: `{"Type":10,"Body":1.5}` (ReversibleEncoding).
    Reversible,
}

impl Style {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Compact, Self::Verbose, Self::Reversible];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Verbose => "verbose",
            Self::Reversible => "reversible",
        }
    }
}

/// Appends a string with its quotes.
pub(super) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for it in text.chars() {
        match it {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                // Writing into a String does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(it));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// The days from 0001-01-01 to 1601-01-01.
const DAYS_BEFORE: i64 = 584_388;
const TICKS_PER_SECOND: i64 = 10_000_000;
/// 9999-12-31T23:59:59Z: a time from there on has no other form (Part 6, 5.4.2.6).
const LAST: i64 = 2_650_467_743_990_000_000;

/// Appends a time in 100 ns since 1601, with its quotes.
pub fn write_time(out: &mut String, ticks: i64) {
    if ticks <= 0 {
        return out.push_str("\"0001-01-01T00:00:00Z\"");
    }
    if ticks >= LAST {
        return out.push_str("\"9999-12-31T23:59:59Z\"");
    }
    let (seconds, fraction) = (ticks / TICKS_PER_SECOND, ticks % TICKS_PER_SECOND);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days + DAYS_BEFORE);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let _ = write!(
        out,
        "\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z\""
    );
}

/// Year, month and day, so many days after 0001-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    // Years that begin in March end with the day that leap years have more. 306 days are from then to 0001-01-01.
    let days = days + 306;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    match month < 10 {
        true => (year, month + 3, day),
        false => (year + 1, month - 9, day),
    }
}

/// A time in 100 ns since 1601.
pub(super) fn read_time(value: Value<'_>) -> Result<i64, DecodeError> {
    let text = text(value, "DateTime")?;
    let time = DateTime::parse_from_rfc3339(&text);
    time.map(|it| it.checked_ticks())
        .map_err(|_| not_that(value, "DateTime"))
}

/// Appends a status code.
pub(super) fn write_status(out: &mut String, status: StatusCode, style: Style) {
    let code = status.bits();
    if style == Style::Reversible {
        let _ = write!(out, "{code}");
        return;
    }
    // Nothing of it is written for Good (Part 6, 5.4.2.12).
    if code == 0 {
        return out.push_str("{}");
    }
    let _ = write!(out, "{{\"Code\":{code}");
    if style == Style::Verbose {
        let _ = write!(out, ",\"Symbol\":\"{}\"", status.sub_code());
    }
    out.push('}');
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

/// Appends the value of a Variant without its type.
pub(super) fn write_bare(
    out: &mut String,
    value: &Variant,
    style: Style,
) -> Result<(), EncodeError> {
    match value {
        Variant::Empty => out.push_str("null"),
        Variant::Boolean(it) => out.push_str(if *it { "true" } else { "false" }),
        Variant::SByte(it) => number(out, it),
        Variant::Byte(it) => number(out, it),
        Variant::Int16(it) => number(out, it),
        Variant::UInt16(it) => number(out, it),
        Variant::Int32(it) => number(out, it),
        Variant::UInt32(it) => number(out, it),
        // What JavaScript would round is a string.
        Variant::Int64(it) => quoted(out, it),
        Variant::UInt64(it) => quoted(out, it),
        Variant::Float(it) => write_float(out, f64::from(*it), it),
        Variant::Double(it) => write_float(out, *it, it),
        Variant::String(it) => nullable_text(out, it),
        Variant::DateTime(it) => write_time(out, it.checked_ticks()),
        Variant::Guid(it) => quoted(out, &**it),
        Variant::StatusCode(it) => write_status(out, *it, style),
        Variant::ByteString(it) if it.is_null() => out.push_str("null"),
        Variant::ByteString(it) => quoted(out, it.as_base64()),
        Variant::XmlElement(it) => write_text(out, &it.to_string()),
        Variant::QualifiedName(it) => write_qualified_name(out, it, style),
        Variant::LocalizedText(it) => write_localized(out, it),
        Variant::NodeId(it) if style == Style::Reversible => old_node_id(out, it),
        Variant::NodeId(it) => write_text(out, &it.to_string()),
        Variant::ExpandedNodeId(it) => write_expanded(out, it),
        Variant::ExtensionObject(_) => return write_extension(out, value, style),
        Variant::Variant(it) => return write_variant(out, it, style),
        Variant::DataValue(it) => return write_data_value(out, it, style, true),
        Variant::DiagnosticInfo(_) => return Err(EncodeError::NotInJson("DiagnosticInfo")),
        Variant::Array(it) => {
            out.push('[');
            for (n, it) in it.values.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write_bare(out, it, style)?;
            }
            out.push(']');
        }
    }
    Ok(())
}

fn number(out: &mut String, it: impl std::fmt::Display) {
    let _ = write!(out, "{it}");
}

fn quoted(out: &mut String, it: impl std::fmt::Display) {
    let _ = write!(out, "\"{it}\"");
}

fn nullable_text(out: &mut String, it: &UAString) {
    match it.value() {
        Some(it) => write_text(out, it),
        None => out.push_str("null"),
    }
}

/// The shortest form that is the same number again.
pub(super) fn write_float(out: &mut String, value: f64, shortest: impl std::fmt::Debug) {
    match value {
        it if it.is_nan() => out.push_str("\"NaN\""),
        f64::INFINITY => out.push_str("\"Infinity\""),
        f64::NEG_INFINITY => out.push_str("\"-Infinity\""),
        _ => {
            let _ = write!(out, "{shortest:?}");
        }
    }
}

fn write_qualified_name(out: &mut String, it: &QualifiedName, style: Style) {
    let name = it.name.as_ref();
    match (style, it.namespace_index) {
        (Style::Reversible, space) => {
            out.push_str("{\"Name\":");
            write_text(out, name);
            if space != 0 {
                let _ = write!(out, ",\"Uri\":{space}");
            }
            out.push('}');
        }
        (_, 0) => write_text(out, name),
        (_, space) => write_text(out, &format!("{space}:{name}")),
    }
}

fn write_localized(out: &mut String, it: &LocalizedText) {
    out.push('{');
    if let Some(locale) = it.locale.value().as_deref().filter(|it| !it.is_empty()) {
        out.push_str("\"Locale\":");
        write_text(out, locale);
        out.push(',');
    }
    out.push_str("\"Text\":");
    write_text(out, it.text.as_ref());
    out.push('}');
}

/// A server or a namespace URI before a NodeId, where there is one (Part 6, 5.1.12).
fn write_expanded(out: &mut String, it: &ExpandedNodeId) {
    let mut text = String::new();
    if it.server_index != 0 {
        let _ = write!(text, "svr={};", it.server_index);
    }
    match it.namespace_uri.value() {
        Some(uri) => {
            let uri = uri.replace('%', "%25").replace(';', "%3B");
            let _ = write!(text, "nsu={uri};{}", it.node_id.identifier);
        }
        None => {
            let _ = write!(text, "{}", it.node_id);
        }
    }
    write_text(out, &text);
}

/// As it was before 1.05.04 (Part 6, H.1).
fn old_node_id(out: &mut String, it: &NodeId) {
    out.push('{');
    match &it.identifier {
        Identifier::Numeric(id) => {
            let _ = write!(out, "\"Id\":{id}");
        }
        Identifier::String(id) => {
            out.push_str("\"IdType\":1,\"Id\":");
            write_text(out, id.as_ref());
        }
        Identifier::Guid(id) => {
            let _ = write!(out, "\"IdType\":2,\"Id\":\"{id}\"");
        }
        Identifier::ByteString(id) => {
            let _ = write!(out, "\"IdType\":3,\"Id\":\"{}\"", id.as_base64());
        }
    }
    if it.namespace != 0 {
        let _ = write!(out, ",\"Namespace\":{}", it.namespace);
    }
    out.push('}');
}

/// As the bytes that it has in OPC UA Binary (Part 6, 5.4.2.16): its structure needs no description then.
fn write_extension(out: &mut String, value: &Variant, style: Style) -> Result<(), EncodeError> {
    let Variant::ExtensionObject(object) = value else {
        return Ok(());
    };
    if object.is_null() {
        out.push_str("null");
        return Ok(());
    }
    let id = object.binary_type_id().node_id;
    let (mut all, mut begin) = (Vec::new(), Vec::new());
    encode_variant(value, &mut all)?;
    encode_variant(&Variant::from(id.clone()), &mut begin)?;
    // After the type and the NodeId stand how the body is encoded, and how long it is.
    let body = all.get(begin.len() + 5..).unwrap_or_default();
    let body = ByteString::from(body.to_vec()).as_base64();
    match style {
        Style::Reversible => {
            out.push_str("{\"TypeId\":");
            old_node_id(out, &id);
            let _ = write!(out, ",\"Encoding\":1,\"Body\":\"{body}\"}}");
        }
        _ => {
            out.push_str("{\"UaTypeId\":");
            write_text(out, &id.to_string());
            let _ = write!(out, ",\"UaEncoding\":1,\"UaBody\":\"{body}\"}}");
        }
    }
    Ok(())
}

/// The number of a Variant's type; 0 if it has no value.
pub(super) fn type_id(value: &Variant) -> u32 {
    match value {
        Variant::Array(it) => it.value_type as u32,
        Variant::Empty => 0,
        other => other.scalar_type_id().map_or(0, |it| it as u32),
    }
}

/// Appends a Variant with its type.
pub(super) fn write_variant(
    out: &mut String,
    value: &Variant,
    style: Style,
) -> Result<(), EncodeError> {
    if matches!(value, Variant::Empty) {
        out.push_str("null");
        return Ok(());
    }
    out.push('{');
    write_typed(out, value, style)?;
    out.push('}');
    Ok(())
}

/// The members that a Variant has.
fn write_typed(out: &mut String, value: &Variant, style: Style) -> Result<(), EncodeError> {
    let (kind, body) = match style {
        Style::Reversible => ("Type", "Body"),
        _ => ("UaType", "Value"),
    };
    let _ = write!(out, "\"{kind}\":{},\"{body}\":", type_id(value));
    write_bare(out, value, style)?;
    let dimensions = match value {
        Variant::Array(it) => it.dimensions.as_deref().filter(|it| it.len() > 1),
        _ => None,
    };
    for (n, it) in dimensions.into_iter().flatten().enumerate() {
        let _ = write!(
            out,
            "{}{it}",
            if n == 0 { ",\"Dimensions\":[" } else { "," }
        );
    }
    if dimensions.is_some() {
        out.push(']');
    }
    Ok(())
}

/// Appends a DataValue; without `typed` its value is bare.
pub(super) fn write_data_value(
    out: &mut String,
    it: &DataValue,
    style: Style,
    typed: bool,
) -> Result<(), EncodeError> {
    out.push('{');
    let start = out.len();
    if let Some(value) = it.value.as_ref().filter(|it| !matches!(it, Variant::Empty)) {
        match (style, typed) {
            (Style::Reversible, true) => {
                out.push_str("\"Value\":");
                write_variant(out, value, style)?;
            }
            (_, true) => write_typed(out, value, style)?,
            (_, false) => {
                out.push_str("\"Value\":");
                write_bare(out, value, style)?;
            }
        }
    }
    let name = |out: &mut String, name: &str| {
        if out.len() > start {
            out.push(',');
        }
        let _ = write!(out, "\"{name}\":");
    };
    if let Some(status) = it.status.filter(|it| it.bits() != 0) {
        name(out, "Status");
        write_status(out, status, style);
    }
    for (what, time, pico, fraction) in [
        (
            "SourceTimestamp",
            it.source_timestamp,
            "SourcePicoseconds",
            it.source_picoseconds,
        ),
        (
            "ServerTimestamp",
            it.server_timestamp,
            "ServerPicoseconds",
            it.server_picoseconds,
        ),
    ] {
        if let Some(time) = time {
            name(out, what);
            write_time(out, time.checked_ticks());
        }
        if let Some(fraction) = fraction.filter(|it| *it != 0) {
            name(out, pico);
            let _ = write!(out, "{fraction}");
        }
    }
    out.push('}');
    Ok(())
}

// ------------------------------------------------------------------------------------------- reading

pub(super) fn not_that(value: Value<'_>, what: &'static str) -> DecodeError {
    let found = value.as_written().chars().take(40).collect();
    DecodeError::new(value.at(), Cause::NotThat { what, found })
}

fn text<'a>(
    value: Value<'a>,
    what: &'static str,
) -> Result<std::borrow::Cow<'a, str>, DecodeError> {
    let text = value.text().ok_or_else(|| not_that(value, what))?;
    Ok(text.read())
}

fn parsed<T: FromStr>(value: Value<'_>, what: &'static str) -> Result<T, DecodeError> {
    let text = text(value, what)?;
    text.parse().map_err(|_| not_that(value, what))
}

/// An integer: a number, or a string as those of 64 bits are.
fn integer<T: FromStr>(value: Value<'_>, what: &'static str) -> Result<T, DecodeError> {
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
    let kind = value.get("IdType").and_then(|it| it.number::<u8>());
    Ok(match kind.unwrap_or_default() {
        0 => NodeId::new(space, integer::<u32>(id, WHAT)?),
        1 => NodeId::new(space, UAString::from(text(id, WHAT)?.into_owned())),
        2 => NodeId::new(space, parsed::<Guid>(id, WHAT)?),
        _ => {
            let bytes = ByteString::from_base64(&text(id, WHAT)?);
            NodeId::new(space, bytes.ok_or_else(|| not_that(id, WHAT))?)
        }
    })
}

fn read_qualified_name(value: Value<'_>) -> Result<QualifiedName, DecodeError> {
    const WHAT: &str = "QualifiedName";
    if value.kind() == Kind::Object {
        let space = value.get("Uri").and_then(|it| it.number()).unwrap_or(0);
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
