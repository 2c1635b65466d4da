//! Values as JSON (Part 6, 5.4.2), as 1.05.04 writes them and as older versions did.

use std::fmt::Write as _;

pub use wire::json::text::write_time;
pub(super) use wire::json::text::{write_float, write_text};
use wire::service::encode_variant;
use wire::types::{
    ByteString, DataValue, ExpandedNodeId, Identifier, LocalizedText, NodeId, QualifiedName,
    StatusCode, UAString, Variant,
};

use crate::encode::EncodeError;

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
