//! JSON to built-in types (Part 6, 5.4.2), as it is written since 1.05.04 and as it was before.

use std::borrow::Cow;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::read::{Reader, Result, wrong};
use super::scan::{Kind as Is, Value};
use super::write_value::{ARRAY, DIMENSIONS, GUID};
use crate::service::Kind;
use crate::types::DateTime;

/// Where the members of a Variant stand, by the names of either version; those of a DataValue follow.
const VARIANT: [&str; 3] = ["UaType", "Value", "Dimensions"];
const DATA_VALUE: [&str; 8] = [
    "UaType",
    "Value",
    "Dimensions",
    "Status",
    "SourceTimestamp",
    "SourcePicoseconds",
    "ServerTimestamp",
    "ServerPicoseconds",
];

pub(super) fn text<'a>(kind: Kind, value: Value<'a>) -> Result<Cow<'a, str>> {
    let text = value.text().ok_or_else(|| wrong(kind, value))?;
    Ok(text.read())
}

/// An integer: a number, or a string as those of 64 bits are.
pub(super) fn integer<T: FromStr>(kind: Kind, value: Value<'_>) -> Result<T> {
    let number = match value.number() {
        Some(it) => Some(it),
        None => text(kind, value)?.parse().ok(),
    };
    number.ok_or_else(|| wrong(kind, value))
}

fn float<T: FromStr + From<f32>>(kind: Kind, value: Value<'_>) -> Result<T> {
    if let Some(it) = value.number() {
        return Ok(it);
    }
    match &*text(kind, value)? {
        "NaN" => Ok(T::from(f32::NAN)),
        "Infinity" => Ok(T::from(f32::INFINITY)),
        "-Infinity" => Ok(T::from(f32::NEG_INFINITY)),
        _ => Err(wrong(kind, value)),
    }
}

pub(super) fn base64(kind: Kind, value: Value<'_>, text: &str, out: &mut Vec<u8>) -> Result<()> {
    let decoded = STANDARD.decode_vec(text, out);
    decoded.map_err(|_| wrong(kind, value))
}

/// The bytes of a Guid.
pub(super) fn guid(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let parts = text.split('-').map(str::len);
    if !parts.eq([8, 4, 4, 4, 12]) {
        return None;
    }
    let mut digits = text.chars().filter(|it| *it != '-');
    for place in GUID {
        let high = digits.next()?.to_digit(16)?;
        let low = digits.next()?.to_digit(16)?;
        *bytes.get_mut(place)? = u8::try_from(high * 16 + low).ok()?;
    }
    Some(bytes)
}

impl<'a> Reader<'a> {
    pub(super) fn built_in(&mut self, kind: Kind, value: Value<'a>) -> Result<()> {
        match kind {
            Kind::Boolean => match value.kind() {
                Is::Boolean(it) => self.put(&[u8::from(it)]),
                _ => return Err(wrong(kind, value)),
            },
            Kind::SByte => self.put(&integer::<i8>(kind, value)?.to_le_bytes()),
            Kind::Byte => self.put(&integer::<u8>(kind, value)?.to_le_bytes()),
            Kind::Int16 => self.put(&integer::<i16>(kind, value)?.to_le_bytes()),
            Kind::UInt16 => self.put(&integer::<u16>(kind, value)?.to_le_bytes()),
            Kind::Int32 => self.put(&integer::<i32>(kind, value)?.to_le_bytes()),
            Kind::UInt32 => self.put(&integer::<u32>(kind, value)?.to_le_bytes()),
            Kind::Int64 => self.put(&integer::<i64>(kind, value)?.to_le_bytes()),
            Kind::UInt64 => self.put(&integer::<u64>(kind, value)?.to_le_bytes()),
            Kind::Float => self.put(&float::<f32>(kind, value)?.to_le_bytes()),
            Kind::Double => self.put(&float::<f64>(kind, value)?.to_le_bytes()),
            Kind::DateTime => {
                let time = DateTime::parse_from_rfc3339(&text(kind, value)?);
                let ticks = time.map(|it| it.checked_ticks());
                let ticks = ticks.map_err(|_| wrong(kind, value))?;
                self.put(&ticks.to_le_bytes());
            }
            Kind::Guid => {
                let bytes = guid(&text(kind, value)?).ok_or_else(|| wrong(kind, value))?;
                self.put(&bytes);
            }
            Kind::ByteString => {
                let text = text(kind, value)?;
                self.sized(|reader| base64(kind, value, &text, &mut reader.out))?;
            }
            Kind::NodeId | Kind::ExpandedNodeId => self.node_id(kind, value)?,
            Kind::StatusCode => {
                // A number, as it was before 1.05.04.
                let code = match value.kind() {
                    Is::Object => value.get("Code"),
                    _ => Some(value),
                };
                self.value(Kind::UInt32, code)?;
            }
            Kind::QualifiedName => self.qualified_name(value)?,
            Kind::LocalizedText => self.localized_text(value)?,
            Kind::ExtensionObject => self.deeper(|reader| reader.extension_object(value))?,
            Kind::DataValue => self.data_value(value)?,
            Kind::Variant => self.variant(value)?,
            Kind::DiagnosticInfo => self.diagnostic_info(value)?,
            // String, XmlElement, and NumericRange, which is one
            _ => self.string(&text(kind, value)?)?,
        }
        Ok(())
    }

    /// Appends something with its length before it.
    pub(super) fn sized(&mut self, inside: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let place = self.open();
        inside(self)?;
        self.close(place, self.out.len() - place - 4)
    }

    pub(super) fn string(&mut self, text: &str) -> Result<()> {
        self.sized(|reader| {
            reader.put(text.as_bytes());
            Ok(())
        })
    }

    /// Part 6, 5.4.2.15; the text alone, where it was not to be reversed.
    fn localized_text(&mut self, value: Value<'a>) -> Result<()> {
        const KIND: Kind = Kind::LocalizedText;
        let (locale, says) = match value.kind() {
            Is::Object => (value.get("Locale"), value.get("Text")),
            Is::String => (None, Some(value)),
            _ => return Err(wrong(KIND, value)),
        };
        let there = |it: Option<Value<'a>>| it.filter(|it| it.kind() != Is::Null);
        let (locale, says) = (there(locale), there(says));
        self.put(&[u8::from(locale.is_some()) | u8::from(says.is_some()) << 1]);
        for it in [locale, says].into_iter().flatten() {
            self.string(&text(KIND, it)?)?;
        }
        Ok(())
    }

    /// Part 6, 5.4.2.16.
    fn extension_object(&mut self, value: Value<'a>) -> Result<()> {
        const KIND: Kind = Kind::ExtensionObject;
        if value.kind() != Is::Object {
            return Err(wrong(KIND, value));
        }
        // The older names may be those of fields where the newer ones are.
        let is_old = value.get("UaTypeId").is_none();
        let of = |new, old| value.get(if is_old { old } else { new });
        let Some(id) = of("UaTypeId", "TypeId") else {
            if value.members().next().is_some() {
                return Err(wrong(KIND, value));
            }
            self.put(&[0, 0, 0]);
            return Ok(());
        };
        let kind = self.known(id)?;
        match kind {
            Some(kind) => self.numeric(0, 0, kind.encoding_id()),
            None => self.node_id(Kind::NodeId, id)?,
        }
        let encoding = match of("UaEncoding", "Encoding") {
            Some(it) => integer::<u8>(KIND, it)?,
            None => 0,
        };
        let body = of("UaBody", "Body").filter(|it| it.kind() == Is::String);
        match (encoding, kind) {
            (1 | 2, _) => {
                self.put(&[encoding]);
                self.value(Kind::ByteString, body)
            }
            (0, Some(kind)) => {
                self.put(&[1]);
                self.sized(|reader| reader.value(kind, Some(Self::inner(value))))
            }
            // Which fields it has, and in which order, nobody here knows.
            (0, None) if value.members().count() > 1 => Err(wrong(KIND, value)),
            (0, None) => {
                self.put(&[0]);
                Ok(())
            }
            _ => Err(wrong(KIND, value)),
        }
    }

    /// Part 6, 5.4.2.17.
    fn variant(&mut self, value: Value<'a>) -> Result<()> {
        if value.kind() != Is::Object {
            return Err(wrong(Kind::Variant, value));
        }
        let found = self.members(
            value,
            &VARIANT,
            Some(|name| {
                [("Type", 0), ("Body", 1)]
                    .into_iter()
                    .find(|it| name.is(it.0))
                    .map(|it| it.1)
            }),
        )?;
        let of = |n: usize| found.get(n).copied().flatten();
        match of(0) {
            Some(kind) => self.deeper(|reader| reader.typed(kind, of(1), of(2))),
            // A null Variant may be an object without anything.
            None if of(1).is_none() => {
                self.put(&[0]);
                Ok(())
            }
            None => Err(wrong(Kind::Variant, value)),
        }
    }

    fn typed(
        &mut self,
        kind: Value<'a>,
        value: Option<Value<'a>>,
        dimensions: Option<Value<'a>>,
    ) -> Result<()> {
        let number = integer::<u8>(Kind::Variant, kind)?;
        let index = usize::from(number).checked_sub(1);
        let of = index.and_then(|index| Kind::ALL.get(index));
        let of = match of {
            None if number == 0 => {
                self.put(&[0]);
                return Ok(());
            }
            Some(&of) if number <= Kind::DiagnosticInfo as u8 + 1 => of,
            _ => return Err(wrong(Kind::Variant, kind)),
        };
        let Some(array) = value.filter(|it| it.kind() == Is::Array) else {
            self.put(&[number]);
            return self.value(of, value);
        };
        let dimensions = dimensions.filter(|it| it.kind() != Is::Null);
        match dimensions {
            None => self.put(&[number | ARRAY]),
            Some(_) => self.put(&[number | ARRAY | DIMENSIONS]),
        }
        self.elements(of, array)?;
        if let Some(dimensions) = dimensions {
            self.elements(Kind::Int32, dimensions)?;
        }
        Ok(())
    }

    /// Part 6, 5.4.2.18; its value as a Variant of its own, as before 1.05.04.
    fn data_value(&mut self, value: Value<'a>) -> Result<()> {
        const KIND: Kind = Kind::DataValue;
        if value.kind() != Is::Object {
            return Err(wrong(KIND, value));
        }
        let found = self.members(
            value,
            &DATA_VALUE,
            Some(|name| {
                [
                    ("StatusCode", 3),
                    ("SourcePicoSeconds", 5),
                    ("ServerPicoSeconds", 7),
                ]
                .into_iter()
                .find(|it| name.is(it.0))
                .map(|it| it.1)
            }),
        )?;
        let there = |n: usize| {
            found
                .get(n)
                .copied()
                .flatten()
                .filter(|it| it.kind() != Is::Null)
        };
        let has_value = there(0).is_some() || there(1).is_some();
        let mut mask = u8::from(has_value);
        // In the order of the bytes (Part 6, 5.2.2.17).
        let rest = [
            (3, 0x02, Kind::StatusCode),
            (4, 0x04, Kind::DateTime),
            (5, 0x10, Kind::UInt16),
            (6, 0x08, Kind::DateTime),
            (7, 0x20, Kind::UInt16),
        ];
        for (n, flag, _) in rest {
            mask |= if there(n).is_some() { flag } else { 0 };
        }
        self.put(&[mask]);
        match (there(0), there(1)) {
            (Some(kind), _) => self.deeper(|reader| reader.typed(kind, there(1), there(2)))?,
            (None, Some(variant)) => self.variant(variant)?,
            (None, None) => {}
        }
        for (n, _, kind) in rest {
            if let Some(it) = there(n) {
                self.value(kind, Some(it))?;
            }
        }
        Ok(())
    }

    /// Part 6, 5.4.2.13.
    fn diagnostic_info(&mut self, value: Value<'a>) -> Result<()> {
        const KIND: Kind = Kind::DiagnosticInfo;
        // In the order of the bytes (Part 6, 5.2.2.12).
        const FIELDS: [(&str, u8, Kind); 6] = [
            ("SymbolicId", 0x01, Kind::Int32),
            ("NamespaceUri", 0x02, Kind::Int32),
            ("Locale", 0x08, Kind::Int32),
            ("LocalizedText", 0x04, Kind::Int32),
            ("AdditionalInfo", 0x10, Kind::String),
            ("InnerStatusCode", 0x20, Kind::StatusCode),
        ];
        if value.kind() != Is::Object {
            return Err(wrong(KIND, value));
        }
        let there = |name: &str| value.get(name).filter(|it| it.kind() != Is::Null);
        let inner = there("InnerDiagnosticInfo");
        let mut mask = if inner.is_some() { 0x40 } else { 0 };
        for (name, flag, _) in FIELDS {
            mask |= if there(name).is_some() { flag } else { 0 };
        }
        self.put(&[mask]);
        for (name, _, kind) in FIELDS {
            if let Some(it) = there(name) {
                self.value(kind, Some(it))?;
            }
        }
        match inner {
            Some(inner) => self.deeper(|reader| reader.value(KIND, Some(inner))),
            None => Ok(()),
        }
    }
}
