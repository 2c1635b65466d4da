//! Built-in types to JSON (Part 6, 5.4.2).

use std::fmt::{Display, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Style;
use super::text::{write_float, write_inside, write_text, write_time};
use super::write::{FieldValue, Result, Writer};
use crate::service::Kind;
use crate::types::StatusCode;

/// The flags in the mask of a Variant (Part 6, 5.2.2.16).
pub(super) const ARRAY: u8 = 0x80;
pub(super) const DIMENSIONS: u8 = 0x40;

/// Bytes of a Guid as they are shown: the first three parts are numbers, which are turned round.
pub(super) const GUID: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];

impl Writer<'_> {
    pub(super) fn built_in(&mut self, kind: Kind) -> Result<FieldValue> {
        match kind {
            Kind::Boolean => {
                let it = self.byte()? != 0;
                self.out.push_str(if it { "true" } else { "false" });
                Ok(FieldValue::unless(!it))
            }
            Kind::SByte => {
                let it = i8::from_le_bytes(self.number()?);
                Ok(self.plain(it, it == 0))
            }
            Kind::Byte => {
                let it = self.byte()?;
                Ok(self.plain(it, it == 0))
            }
            Kind::Int16 => {
                let it = i16::from_le_bytes(self.number()?);
                Ok(self.plain(it, it == 0))
            }
            Kind::UInt16 => {
                let it = u16::from_le_bytes(self.number()?);
                Ok(self.plain(it, it == 0))
            }
            Kind::Int32 => {
                let it = i32::from_le_bytes(self.number()?);
                Ok(self.plain(it, it == 0))
            }
            Kind::UInt32 => {
                let it = u32::from_le_bytes(self.number()?);
                Ok(self.plain(it, it == 0))
            }
            // What JavaScript would round is a string.
            Kind::Int64 => {
                let it = i64::from_le_bytes(self.number()?);
                Ok(self.quoted(it, it == 0))
            }
            Kind::UInt64 => {
                let it = u64::from_le_bytes(self.number()?);
                Ok(self.quoted(it, it == 0))
            }
            Kind::Float => {
                let it = f32::from_le_bytes(self.number()?);
                write_float(&mut self.out, f64::from(it), it);
                Ok(FieldValue::unless(it.to_bits() == 0))
            }
            Kind::Double => {
                let it = f64::from_le_bytes(self.number()?);
                write_float(&mut self.out, it, it);
                Ok(FieldValue::unless(it.to_bits() == 0))
            }
            Kind::DateTime => {
                let ticks = i64::from_le_bytes(self.number()?);
                if ticks <= 0 {
                    return Ok(self.null());
                }
                write_time(&mut self.out, ticks);
                Ok(FieldValue::Value)
            }
            Kind::Guid => {
                let bytes: [u8; 16] = self.number()?;
                if bytes == [0; 16] {
                    return Ok(self.null());
                }
                self.out.push('"');
                self.guid(&bytes);
                self.out.push('"');
                Ok(FieldValue::Value)
            }
            Kind::ByteString => {
                let Some(bytes) = self.string()? else {
                    return Ok(self.null());
                };
                self.base64(bytes);
                Ok(FieldValue::Value)
            }
            Kind::StatusCode => self.status(),
            Kind::NodeId | Kind::ExpandedNodeId => {
                let begin = self.out.len();
                let id = self.node_id()?;
                if id == Some(0) {
                    self.out.truncate(begin);
                    return Ok(self.null());
                }
                Ok(FieldValue::Value)
            }
            Kind::QualifiedName => self.qualified_name(),
            Kind::LocalizedText => self.localized_text(),
            Kind::ExtensionObject => self.deeper(Self::extension_object),
            Kind::DataValue => self.data_value(),
            Kind::Variant => {
                let begin = self.begin();
                match self.deeper(|writer| writer.typed(begin))? {
                    true => Ok(self.end()),
                    false => Ok(self.nothing(begin)),
                }
            }
            Kind::DiagnosticInfo => self.diagnostic_info(),
            // String, XmlElement, and NumericRange, which is one
            _ => {
                let Some(bytes) = self.string()? else {
                    return Ok(self.null());
                };
                write_text(&mut self.out, &String::from_utf8_lossy(bytes));
                Ok(FieldValue::Value)
            }
        }
    }

    fn null(&mut self) -> FieldValue {
        self.out.push_str("null");
        FieldValue::Null
    }

    fn plain(&mut self, it: impl Display, is_default: bool) -> FieldValue {
        let _ = write!(self.out, "{it}");
        FieldValue::unless(is_default)
    }

    fn quoted(&mut self, it: impl Display, is_default: bool) -> FieldValue {
        let _ = write!(self.out, "\"{it}\"");
        FieldValue::unless(is_default)
    }

    /// An object begins; where its first member will be.
    fn begin(&mut self) -> usize {
        self.out.push('{');
        self.out.len()
    }

    fn end(&mut self) -> FieldValue {
        self.out.push('}');
        FieldValue::Value
    }

    /// An object that was begun there is null.
    fn nothing(&mut self, begin: usize) -> FieldValue {
        self.out.truncate(begin.saturating_sub(1));
        self.null()
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.out.push('"');
        STANDARD.encode_string(bytes, &mut self.out);
        self.out.push('"');
    }

    fn guid(&mut self, bytes: &[u8; 16]) {
        for (n, place) in GUID.iter().enumerate() {
            if matches!(n, 4 | 6 | 8 | 10) {
                self.out.push('-');
            }
            let byte = bytes.get(*place).copied().unwrap_or_default();
            let _ = write!(self.out, "{byte:02x}");
        }
    }

    /// Part 6, 5.4.2.12: nothing of it is written for Good.
    fn status(&mut self) -> Result<FieldValue> {
        let code = u32::from_le_bytes(self.number()?);
        if code == 0 {
            self.out.push_str("{}");
            return Ok(FieldValue::Default);
        }
        let _ = write!(self.out, "{{\"Code\":{code}");
        if self.style == Style::Verbose {
            let symbol = StatusCode::from(code).sub_code().to_string();
            // What the table of codes does not have.
            if symbol != "Invalid" {
                let _ = write!(self.out, ",\"Symbol\":\"{symbol}\"");
            }
        }
        Ok(self.end())
    }

    /// Part 6, 5.1.12, with its quotes. The number of one of namespace 0 that has one.
    fn node_id(&mut self) -> Result<Option<u32>> {
        let form = self.byte()?;
        let (space, id) = match form & 0x3f {
            0 => (0, Some(u32::from(self.byte()?))),
            1 => {
                let space = u16::from(self.byte()?);
                let id = u16::from_le_bytes(self.number()?);
                (space, Some(u32::from(id)))
            }
            2 => {
                let space = u16::from_le_bytes(self.number()?);
                (space, Some(u32::from_le_bytes(self.number()?)))
            }
            3..=5 => (u16::from_le_bytes(self.number()?), None),
            _ => return Err(self.wrong()),
        };
        let guid: Option<[u8; 16]> = match form & 0x3f {
            4 => Some(self.number()?),
            _ => None,
        };
        let text = match form & 0x3f {
            3 | 5 => Some(self.string()?.unwrap_or_default()),
            _ => None,
        };
        let uri = match form & 0x80 {
            0 => None,
            _ => self.string()?,
        };
        let server = match form & 0x40 {
            0 => 0,
            _ => u32::from_le_bytes(self.number()?),
        };
        self.out.push('"');
        if server != 0 {
            let _ = write!(self.out, "svr={server};");
        }
        if let Some(uri) = uri {
            let uri = String::from_utf8_lossy(uri);
            let uri = uri.replace('%', "%25").replace(';', "%3B");
            self.out.push_str("nsu=");
            write_inside(&mut self.out, &uri);
            self.out.push(';');
        } else if space != 0 {
            let _ = write!(self.out, "ns={space};");
        }
        match (id, guid, text) {
            (Some(id), ..) => {
                let _ = write!(self.out, "i={id}");
            }
            (_, Some(guid), _) => {
                self.out.push_str("g=");
                self.guid(&guid);
            }
            (.., Some(bytes)) if form & 0x3f == 5 => {
                self.out.push_str("b=");
                STANDARD.encode_string(bytes, &mut self.out);
            }
            (.., text) => {
                self.out.push_str("s=");
                let text = String::from_utf8_lossy(text.unwrap_or_default());
                write_inside(&mut self.out, &text);
            }
        }
        self.out.push('"');
        Ok(id.filter(|_| space == 0 && server == 0 && uri.is_none()))
    }

    /// Part 6, 5.1.12.
    fn qualified_name(&mut self) -> Result<FieldValue> {
        let space = u16::from_le_bytes(self.number()?);
        let name = self.string()?;
        let Some(name) = name.or((space != 0).then_some(b"")) else {
            return Ok(self.null());
        };
        let name = String::from_utf8_lossy(name);
        self.out.push('"');
        let is_taken_for_another = || {
            let digits = name.split_once(':').map(|(before, _)| before);
            name.starts_with("nsu=") || digits.is_some_and(|it| it.parse::<u16>().is_ok())
        };
        if space != 0 || is_taken_for_another() {
            let _ = write!(self.out, "{space}:");
        }
        write_inside(&mut self.out, &name);
        self.out.push('"');
        Ok(FieldValue::Value)
    }

    /// Part 6, 5.4.2.15.
    fn localized_text(&mut self) -> Result<FieldValue> {
        let mask = self.byte()?;
        if mask & 0x03 == 0 {
            return Ok(self.null());
        }
        let begin = self.begin();
        for (flag, name) in [(0x01, "Locale"), (0x02, "Text")] {
            if mask & flag == 0 {
                continue;
            }
            if let Some(text) = self.string()?.filter(|text| !text.is_empty()) {
                self.name(begin, name);
                write_text(&mut self.out, &String::from_utf8_lossy(text));
            }
        }
        let is_empty = self.out.len() == begin;
        self.end();
        Ok(FieldValue::unless(is_empty))
    }

    /// Part 6, 5.4.2.16: as a structure where it is known, or else as the bytes that it is.
    fn extension_object(&mut self) -> Result<FieldValue> {
        let begin = self.out.len();
        let id = self.node_id()?;
        let encoding = self.byte()?;
        let kind = id.and_then(Kind::from_encoding_id);
        let known = kind.and_then(|kind| Some((kind, kind.names()?.data_type)));
        let body = match encoding {
            0 => None,
            1 | 2 => self.string()?,
            _ => return Err(self.wrong()),
        };
        if body.is_none() && id == Some(0) {
            self.out.truncate(begin);
            return match self.style {
                Style::Compact => Ok(self.null()),
                Style::Verbose => {
                    self.out.push_str("{}");
                    Ok(FieldValue::Default)
                }
            };
        }
        let written = self.out.get(begin..).unwrap_or_default().to_owned();
        self.out.truncate(begin);
        if let (Some((kind, data_type)), Some(body), 1) = (known, body, encoding) {
            self.back(body.len());
            if self.body(kind, data_type, body.len())? {
                return Ok(FieldValue::Value);
            }
            self.take(body.len())?;
        }
        self.out.push_str("{\"UaTypeId\":");
        match known {
            Some((_, data_type)) => {
                let _ = write!(self.out, "\"i={data_type}\"");
            }
            None => self.out.push_str(&written),
        }
        if let Some(body) = body {
            let _ = write!(self.out, ",\"UaEncoding\":{encoding},\"UaBody\":");
            self.base64(body);
        }
        Ok(self.end())
    }

    /// The members of a Variant (Part 6, 5.4.2.17), of an object that began there; whether there are any.
    fn typed(&mut self, begin: usize) -> Result<bool> {
        let mask = self.byte()?;
        let number = usize::from(mask & 0x3f);
        let kind = number.checked_sub(1).and_then(|it| Kind::ALL.get(it));
        let kind = match kind {
            None if mask == 0 => return Ok(false),
            Some(&kind) if number <= Kind::DiagnosticInfo as usize + 1 => kind,
            _ => return Err(self.wrong()),
        };
        self.name(begin, "UaType");
        let _ = write!(self.out, "{number}");
        let before = self.out.len();
        self.name(begin, "Value");
        if mask & ARRAY == 0 {
            if self.value(kind)? == FieldValue::Null {
                self.out.truncate(before);
            }
            return Ok(true);
        }
        let count = i32::from_le_bytes(self.number()?);
        self.elements(kind, usize::try_from(count).unwrap_or(0))?;
        if mask & DIMENSIONS != 0 {
            let before = self.out.len();
            self.name(begin, "Dimensions");
            if self.array(Kind::Int32)? == FieldValue::Null {
                self.out.truncate(before);
            }
        }
        Ok(true)
    }

    /// Part 6, 5.4.2.18.
    fn data_value(&mut self) -> Result<FieldValue> {
        let mask = self.byte()?;
        let begin = self.begin();
        if mask & 0x01 != 0 {
            self.deeper(|writer| writer.typed(begin))?;
        }
        // In the order of the bytes (Part 6, 5.2.2.17).
        for (flag, name, kind) in [
            (0x02, "Status", Kind::StatusCode),
            (0x04, "SourceTimestamp", Kind::DateTime),
            (0x10, "SourcePicoseconds", Kind::UInt16),
            (0x08, "ServerTimestamp", Kind::DateTime),
            (0x20, "ServerPicoseconds", Kind::UInt16),
        ] {
            if mask & flag != 0 {
                self.member(begin, name, kind)?;
            }
        }
        match self.out.len() == begin {
            true => Ok(self.nothing(begin)),
            false => Ok(self.end()),
        }
    }

    /// A member that is left out if it is default, in either style.
    fn member(&mut self, begin: usize, name: &str, kind: Kind) -> Result<()> {
        let before = self.out.len();
        self.name(begin, name);
        if self.value(kind)? != FieldValue::Value {
            self.out.truncate(before);
        }
        Ok(())
    }

    /// Part 6, 5.4.2.13.
    fn diagnostic_info(&mut self) -> Result<FieldValue> {
        let mask = self.byte()?;
        let begin = self.begin();
        for (flag, name) in [
            (0x01, "SymbolicId"),
            (0x02, "NamespaceUri"),
            (0x08, "Locale"),
            (0x04, "LocalizedText"),
        ] {
            if mask & flag == 0 {
                continue;
            }
            let index = i32::from_le_bytes(self.number()?);
            if index != -1 {
                self.name(begin, name);
                let _ = write!(self.out, "{index}");
            }
        }
        for (flag, name, kind) in [
            (0x10, "AdditionalInfo", Kind::String),
            (0x20, "InnerStatusCode", Kind::StatusCode),
        ] {
            if mask & flag != 0 {
                self.member(begin, name, kind)?;
            }
        }
        if mask & 0x40 != 0 {
            self.deeper(|writer| {
                writer.member(begin, "InnerDiagnosticInfo", Kind::DiagnosticInfo)
            })?;
        }
        match self.out.len() == begin {
            true => Ok(self.nothing(begin)),
            false => Ok(self.end()),
        }
    }
}
