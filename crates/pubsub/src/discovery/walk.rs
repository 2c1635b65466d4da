//! Types of the specification that messages of discovery are made of, as far as they have to be read or passed over.

use wire::template::walk::RawVariant;

use crate::cursor::Cursor;
use crate::encode::EncodeError;
use crate::error::{Cause, DecodeError};

type Read<T> = Result<T, DecodeError>;

/// The bytes of a String or ByteString; none if it is null.
pub fn octets<'a>(c: &mut Cursor<'a>, what: &'static str) -> Read<Option<&'a [u8]>> {
    let start = *c;
    let length = c.array(what).map(i32::from_le_bytes)?;
    match length {
        -1 => Ok(None),
        _ => {
            let len = usize::try_from(length);
            let len = len.map_err(|_| start.fail(Cause::Length { what, length }))?;
            c.take(len, what).map(Some)
        }
    }
}

/// A String; a null one is empty.
pub fn string(c: &mut Cursor<'_>, what: &'static str) -> Read<String> {
    let start = *c;
    let bytes = octets(c, what)?.unwrap_or_default();
    let text = std::str::from_utf8(bytes).map_err(|_| start.fail(Cause::Utf8(what)))?;
    Ok(text.to_owned())
}

/// How many elements an array has, each of so many bytes at least; a null one has none.
pub fn count(c: &mut Cursor<'_>, least: usize, what: &'static str) -> Read<usize> {
    let start = *c;
    let count = c.array(what).map(i32::from_le_bytes)?;
    let count = usize::try_from(count.max(0)).unwrap_or_default();
    let left = c.rest().len();
    match count <= left / least.max(1) {
        true => Ok(count),
        false => Err(start.fail(Cause::Count { count, left })),
    }
}

/// An array, each element of so many bytes at least.
pub fn array<'a, T>(
    c: &mut Cursor<'a>,
    least: usize,
    what: &'static str,
    mut each: impl FnMut(&mut Cursor<'a>) -> Read<T>,
) -> Read<Vec<T>> {
    (0..count(c, least, what)?).map(|_| each(c)).collect()
}

/// Passes over an array.
pub fn skip_array<'a>(
    c: &mut Cursor<'a>,
    least: usize,
    what: &'static str,
    mut each: impl FnMut(&mut Cursor<'a>) -> Read<()>,
) -> Read<()> {
    (0..count(c, least, what)?).try_for_each(|_| each(c))
}

pub fn skip_octets(c: &mut Cursor<'_>, what: &'static str) -> Read<()> {
    octets(c, what).map(drop)
}

pub fn skip_qualified_name(c: &mut Cursor<'_>) -> Read<()> {
    c.u16("QualifiedName")?;
    skip_octets(c, "QualifiedName")
}

pub fn skip_localized_text(c: &mut Cursor<'_>) -> Read<()> {
    let mask = c.u8("LocalizedText")?;
    for bit in [1, 2] {
        if mask & bit != 0 {
            skip_octets(c, "LocalizedText")?;
        }
    }
    Ok(())
}

pub fn skip_node_id(c: &mut Cursor<'_>) -> Read<()> {
    const WHAT: &str = "NodeId";
    let start = *c;
    let fixed = match c.u8(WHAT)? {
        0 => 1,
        1 => 3,
        2 => 6,
        4 => 18,
        3 | 5 => {
            c.u16(WHAT)?;
            return skip_octets(c, WHAT);
        }
        _ => {
            let what = "a NodeId of no known form";
            return Err(start.fail(Cause::Raw { what }));
        }
    };
    c.take(fixed, WHAT).map(drop)
}

pub fn skip_extension_object(c: &mut Cursor<'_>) -> Read<()> {
    const WHAT: &str = "ExtensionObject";
    skip_node_id(c)?;
    let start = *c;
    match c.u8(WHAT)? {
        0 => Ok(()),
        1 | 2 => skip_octets(c, WHAT),
        _ => {
            let what = "an ExtensionObject of no known form";
            Err(start.fail(Cause::Raw { what }))
        }
    }
}

fn skip_key_value(c: &mut Cursor<'_>) -> Read<()> {
    skip_qualified_name(c)?;
    let at = c.offset();
    let (_, rest) = RawVariant::read(c.rest()).map_err(|error| DecodeError::walked(at, error))?;
    c.skip_to(rest);
    Ok(())
}

/// KeyValuePairs.
pub fn skip_properties(c: &mut Cursor<'_>) -> Read<()> {
    // Namespace, length of the name, and a null Variant.
    skip_array(c, 7, "properties", skip_key_value)
}

pub fn put_string(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    put_count(text.len(), "bytes of a String", out)?;
    out.extend(text.as_bytes());
    Ok(())
}

pub fn put_count(count: usize, what: &'static str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let most = i32::MAX as usize;
    let n = i32::try_from(count).map_err(|_| EncodeError::TooMany { what, count, most })?;
    out.extend(n.to_le_bytes());
    Ok(())
}

/// A null String, ByteString or array.
pub fn put_null(out: &mut Vec<u8>) {
    out.extend((-1i32).to_le_bytes());
}

/// An identifier of namespace 0.
pub fn put_node_id(id: u16, out: &mut Vec<u8>) {
    out.extend([1, 0]);
    out.extend(id.to_le_bytes());
}

/// An ExtensionObject with this type of its binary encoding, and the body.
pub fn put_extension_object(id: u16, body: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    put_node_id(id, out);
    out.push(1);
    put_count(body.len(), "bytes of an ExtensionObject", out)?;
    out.extend(body);
    Ok(())
}

/// None.
pub fn put_no_extension_object(out: &mut Vec<u8>) {
    out.extend([0, 0, 0]);
}
