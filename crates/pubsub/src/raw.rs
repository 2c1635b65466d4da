//! Fields without types of their own: RawData, which metadata describes (Part 14, 7.2.4.5.11).
//!
//! Fields stand back to back, as in a Structure. Strings and ByteStrings of a greatest length are
//! filled up with zeros to it, arrays of fixed dimensions to those, so that every field lies always
//! at the same place. An array begins with its length, one of several dimensions with each of them.

use wire::service::encode_variant;
use wire::template::walk::{BuiltInType, RawVariant};
use wire::types::Variant;

use crate::cursor::Cursor;
use crate::encode::EncodeError;
use crate::error::{Cause, DecodeError};

/// What metadata says of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawType {
    /// The built-in type of the value, or of an array's elements.
    pub kind: BuiltInType,
    /// The greatest length of a String or ByteString in bytes; 0 says nothing.
    pub max_string_length: u32,
    /// The dimensions of an array; 0 where one is not fixed. Empty for a scalar.
    pub dimensions: Vec<u32>,
}

impl RawType {
    /// A scalar.
    pub const fn scalar(kind: BuiltInType) -> Self {
        Self {
            kind,
            max_string_length: 0,
            dimensions: Vec::new(),
        }
    }

    /// Whether RawData can have it at all: no NodeId, text with a locale, or value with a type of its own.
    pub const fn is_allowed(&self) -> bool {
        self.kind.size().is_some() && !matches!(self.kind, BuiltInType::Null) || self.is_text()
    }

    const fn is_text(&self) -> bool {
        matches!(
            self.kind,
            BuiltInType::String | BuiltInType::ByteString | BuiltInType::XmlElement
        )
    }

    /// Bytes of one element, where that is fixed.
    fn element_size(&self) -> Option<usize> {
        match (self.kind.size(), self.max_string_length) {
            (Some(size), _) => Some(size),
            (None, 0) => None,
            (None, most) => usize::try_from(most).ok()?.checked_add(4),
        }
    }

    /// Elements that an array of fixed dimensions is filled up to.
    fn elements(&self) -> Option<usize> {
        let mut all = (!self.dimensions.is_empty()).then_some(1usize)?;
        for &dimension in &self.dimensions {
            all = all.checked_mul(usize::try_from(dimension).ok()?)?;
        }
        (all > 0).then_some(all)
    }

    /// Bytes of the field, where that is fixed.
    pub fn size(&self) -> Option<usize> {
        let element = self.element_size()?;
        match self.dimensions.len() {
            0 => Some(element),
            n => element.checked_mul(self.elements()?)?.checked_add(4 * n),
        }
    }
}

/// A field of RawData where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawField<'a> {
    /// The type of the value, or of an array's elements.
    pub kind: BuiltInType,
    /// How many elements an array has; none for a scalar.
    pub array_len: Option<usize>,
    /// The bytes of the value, without lengths of arrays and what they are filled up with.
    pub bytes: &'a [u8],
}

/// Visits the fields of RawData.
///
/// # Errors
/// The bytes end before the fields do, or say lengths that metadata does not allow.
pub fn fields<'a>(
    types: &'a [RawType],
    bytes: &'a [u8],
    at: usize,
) -> impl Iterator<Item = Result<RawField<'a>, DecodeError>> {
    let mut cursor = Cursor::within(bytes, at);
    let mut types = types.iter();
    std::iter::from_fn(move || {
        let field = read(&mut cursor, types.next()?);
        if field.is_err() {
            types = [].iter();
        }
        Some(field)
    })
}

pub(crate) fn read<'a>(c: &mut Cursor<'a>, of: &RawType) -> Result<RawField<'a>, DecodeError> {
    if !of.is_allowed() {
        let what = "a type that only a Variant can hold";
        return Err(c.fail(Cause::Raw { what }));
    }
    if of.dimensions.is_empty() {
        return Ok(RawField {
            kind: of.kind,
            array_len: None,
            bytes: element(c, of)?,
        });
    }
    let start = *c;
    let mut count = 1usize;
    for _ in &of.dimensions {
        let n = c.array("array dimension").map(i32::from_le_bytes)?;
        // A null array has no elements.
        let n = usize::try_from(n.max(0)).unwrap_or_default();
        count = count.saturating_mul(n);
    }
    let left = c.rest().len();
    // What has no fixed size takes its length at least.
    if count > left / of.element_size().unwrap_or(4).max(1) {
        return Err(start.fail(Cause::Count { count, left }));
    }
    let whole = of.elements();
    if whole.is_some_and(|most| count > most) {
        let what = "an array longer than its dimensions";
        return Err(start.fail(Cause::Raw { what }));
    }
    let all = c.rest();
    for _ in 0..count {
        element(c, of)?;
    }
    let bytes = all.get(..all.len() - c.rest().len()).unwrap_or_default();
    if let (Some(whole), Some(size)) = (whole, of.element_size()) {
        c.take((whole - count).saturating_mul(size), "rest of an array")?;
    }
    Ok(RawField {
        kind: of.kind,
        array_len: Some(count),
        bytes,
    })
}

/// One element: of text its length and characters, without what it is filled up with.
fn element<'a>(c: &mut Cursor<'a>, of: &RawType) -> Result<&'a [u8], DecodeError> {
    if let Some(size) = of.kind.size() {
        return c.take(size, "RawData");
    }
    let start = *c;
    let all = c.rest();
    let length = c.array("String").map(i32::from_le_bytes)?;
    let len = match length {
        -1 => 0,
        _ => usize::try_from(length).map_err(|_| {
            let what = "String";
            start.fail(Cause::Length { what, length })
        })?,
    };
    let most = usize::try_from(of.max_string_length).unwrap_or(usize::MAX);
    if most > 0 && len > most {
        let what = "a String longer than its MaxStringLength";
        return Err(start.fail(Cause::Raw { what }));
    }
    c.take(len, "String")?;
    if most > 0 {
        c.take(most - len, "rest of a String")?;
    }
    Ok(all.get(..4 + len).unwrap_or_default())
}

/// Appends the values as RawData, or nothing if there is an error.
///
/// # Errors
/// A value is not of its type, or does not fit the length or dimensions that metadata says.
pub fn encode(types: &[RawType], values: &[Variant], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    if types.len() != values.len() {
        return Err(EncodeError::Raw {
            index: types.len().min(values.len()),
            what: "as many values as types are wanted",
        });
    }
    for (index, (of, value)) in types.iter().zip(values).enumerate() {
        if let Err(refused) = encode_one(of, value, out) {
            out.truncate(start);
            return Err(match refused {
                Refused::Encode(error) => error,
                Refused::What(what) => EncodeError::Raw { index, what },
            });
        }
    }
    Ok(())
}

enum Refused {
    Encode(EncodeError),
    What(&'static str),
}

fn encode_one(of: &RawType, value: &Variant, out: &mut Vec<u8>) -> Result<(), Refused> {
    if !of.is_allowed() {
        return Err(Refused::What("a type that only a Variant can hold"));
    }
    let mut encoded = Vec::new();
    encode_variant(value, &mut encoded).map_err(|it| Refused::Encode(it.into()))?;
    let raw = RawVariant::parse(&encoded)
        .map_err(|_| Refused::What("a value that the walker does not follow"))?;
    if raw.kind() != of.kind {
        return Err(Refused::What("a value of another type than metadata says"));
    }
    let payload = raw.payload();
    let Some(count) = raw.array_len() else {
        if !of.dimensions.is_empty() {
            return Err(Refused::What("a scalar where metadata says an array"));
        }
        return fill_element(of, payload, out);
    };
    match of.dimensions.len() {
        0 => return Err(Refused::What("an array where metadata says a scalar")),
        // Lossless: lengths on the wire are Int32.
        1 => out.extend((count as u32).to_le_bytes()),
        n if raw.dimensions().len() == n => out.extend(raw.dimensions().flat_map(u32::to_le_bytes)),
        _ => {
            return Err(Refused::What(
                "an array of other dimensions than metadata says",
            ));
        }
    }
    let whole = of.elements();
    if whole.is_some_and(|most| count > most) {
        return Err(Refused::What("an array longer than its dimensions"));
    }
    match of.kind.size() {
        Some(_) => out.extend(payload),
        None => {
            let starts = raw.element_starts();
            let ends = starts.iter().skip(1).copied().chain([payload.len()]);
            for (from, to) in starts.iter().zip(ends) {
                fill_element(of, payload.get(*from..to).unwrap_or_default(), out)?;
            }
        }
    }
    if let Some(whole) = whole {
        let Some(size) = of.element_size() else {
            return Err(Refused::What("fixed dimensions need a MaxStringLength"));
        };
        out.resize(out.len() + (whole - count) * size, 0);
    }
    Ok(())
}

fn fill_element(of: &RawType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Refused> {
    out.extend(bytes);
    let Some(size) = of.element_size() else {
        return Ok(());
    };
    match size.checked_sub(bytes.len()) {
        Some(rest) => {
            out.resize(out.len() + rest, 0);
            Ok(())
        }
        None => Err(Refused::What("a String longer than its MaxStringLength")),
    }
}
