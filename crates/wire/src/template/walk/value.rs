//! Values walked from their first byte to their last: a Variant can hold DataValues, and a DataValue holds a Variant
//! (Part 6, 5.2.2.16 and 5.2.2.17).

use super::cursor::{Cursor, WalkError};
use super::data_value::{RawDataValue, mask, trailer_len};
use super::node_id::{skip_expanded_node_id, skip_node_id};
use super::variant::{
    ARRAY, BuiltInType, DIMENSIONS, RawVariant, SCALAR, TYPES, fixed_scalar_size,
};

use BuiltInType as T;

/// How deep values may nest. Part 6, 5.1.11 asks for at least 100 levels to be supported.
pub(super) const MAX_DEPTH: u8 = 100;

impl<'a> RawVariant<'a> {
    /// Reads a Variant that is all there is in `encoded`.
    pub fn parse(encoded: &'a [u8]) -> Result<Self, WalkError> {
        let mut c = Cursor::new(encoded);
        let value = variant(&mut c, 0)?;
        c.finish()?;
        Ok(value)
    }

    /// Reads the Variant at the beginning of `bytes`; what follows it is the second half.
    ///
    /// # Errors
    /// No Variant begins there, with the offset where that showed.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WalkError> {
        let mut c = Cursor::new(bytes);
        let value = variant(&mut c, 0)?;
        Ok((value, c.rest()))
    }

    /// Where each element of an array begins in [`payload`](Self::payload), for types whose elements vary in size.
    pub fn element_starts(&self) -> Vec<usize> {
        let payload = self.payload();
        let mut c = Cursor::new(payload);
        let elements = 0..self.array_len().unwrap_or(0);
        // All of it was walked before, so that no element ends early.
        elements
            .map_while(|_| {
                let at = c.offset();
                skip(&mut c, self.kind, 0).ok().map(|()| at)
            })
            .collect()
    }
}

impl<'a> RawDataValue<'a> {
    /// Reads the DataValue at the beginning of `bytes`; what follows it is the second half.
    ///
    /// # Errors
    /// No DataValue begins there, with the offset where that showed.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WalkError> {
        let mut c = Cursor::new(bytes);
        let value = data_value(&mut c, 0)?;
        Ok((value, c.rest()))
    }
}

/// The Variant at the cursor.
#[inline]
pub(super) fn variant<'a>(c: &mut Cursor<'a>, depth: u8) -> Result<RawVariant<'a>, WalkError> {
    match c.step(fixed_scalar) {
        Some(value) => Ok(value),
        None => varying(c, depth),
    }
}

/// The scalar of fixed size at the start, if one is there, and what follows it.
#[inline]
pub(super) fn fixed_scalar(bytes: &[u8]) -> Option<(RawVariant<'_>, &[u8])> {
    let &encoding = bytes.first()?;
    let size = fixed_scalar_size(encoding)?;
    let (encoded, rest) = bytes.split_at_checked(1 + size)?;
    let value = RawVariant {
        encoded,
        kind: TYPES[usize::from(encoding & 31)],
        len: SCALAR,
        dimensions: 0,
    };
    Some((value, rest))
}

#[inline(never)]
fn varying<'a>(c: &mut Cursor<'a>, depth: u8) -> Result<RawVariant<'a>, WalkError> {
    let start = *c;
    let encoding = c.u8()?;
    if encoding & 0x3f > 31 {
        return Err(start.malformed("a Variant of an unknown type"));
    }
    let kind = TYPES[usize::from(encoding & 31)];
    let mut dimensions = 0;
    let mut len = SCALAR;
    if encoding & ARRAY == 0 {
        if encoding & DIMENSIONS != 0 {
            return Err(start.malformed("array dimensions on a scalar"));
        }
        skip(c, kind, depth)?;
    } else {
        if kind == T::Null {
            return Err(start.malformed("an array of nulls"));
        }
        let n = c.count(kind.size().unwrap_or(1))?;
        match kind.size() {
            Some(size) => {
                c.take(n * size)?;
            }
            None => {
                for _ in 0..n {
                    skip(c, kind, depth)?;
                }
            }
        }
        if encoding & DIMENSIONS != 0 {
            dimensions = array_dimensions(c, n)?;
        }
        // Lossless: lengths on the wire are Int32.
        len = n as u32;
    }
    Ok(RawVariant {
        encoded: c.since(&start),
        kind,
        len,
        dimensions,
    })
}

/// Part 6, 5.2.2.16: dimensions that do not multiply to the array's length end the decoding.
fn array_dimensions(c: &mut Cursor<'_>, len: usize) -> Result<u32, WalkError> {
    let before = *c;
    let n = c.count(4)?;
    let (each, _) = c.take(n * 4)?.as_chunks();
    let product = each.iter().try_fold(1usize, |product, d| {
        product.checked_mul(usize::try_from(i32::from_le_bytes(*d)).ok()?)
    });
    // An empty array says nothing about its dimensions.
    if len > 0 && product != Some(len) {
        return Err(before.malformed("array dimensions that do not fit the array's length"));
    }
    u32::try_from(4 + n * 4).map_err(|_| before.malformed("too many array dimensions"))
}

/// Steps over one value of a type, without a Variant's encoding byte before it.
pub(super) fn skip(c: &mut Cursor<'_>, kind: BuiltInType, depth: u8) -> Result<(), WalkError> {
    if let Some(size) = kind.size() {
        return c.take(size).map(drop);
    }
    match kind {
        T::NodeId => skip_node_id(c),
        T::ExpandedNodeId => skip_expanded_node_id(c),
        T::QualifiedName => {
            c.u16()?;
            c.octets().map(drop)
        }
        T::LocalizedText => skip_localized_text(c),
        T::ExtensionObject => skip_extension_object(c),
        T::DataValue => data_value(c, deeper(c, depth)?).map(drop),
        T::Variant => variant(c, deeper(c, depth)?).map(drop),
        T::DiagnosticInfo => skip_diagnostic_info(c),
        // String, ByteString, XmlElement: all that is left of the types that vary in size.
        _ => c.octets().map(drop),
    }
}

/// Too deep is malformed and not merely unusual: a decoder that recurses must not be sent there.
fn deeper(c: &Cursor<'_>, depth: u8) -> Result<u8, WalkError> {
    if depth >= MAX_DEPTH {
        Err(c.malformed("values nested too deep"))
    } else {
        Ok(depth + 1)
    }
}

/// Part 6, 5.2.2.14.
fn skip_localized_text(c: &mut Cursor<'_>) -> Result<(), WalkError> {
    let mask = c.u8()?;
    if mask & !0x03 != 0 {
        return Err(c.unusual("unknown bits in the mask of a LocalizedText"));
    }
    for _ in 0..mask.count_ones() {
        c.octets()?;
    }
    Ok(())
}

/// Part 6, 5.2.2.15: a type, the kind of encoding, and a body that tells its own length.
pub(super) fn skip_extension_object(c: &mut Cursor<'_>) -> Result<(), WalkError> {
    skip_node_id(c)?;
    match c.u8()? {
        0 => Ok(()),
        1 | 2 => c.octets().map(drop),
        _ => Err(c.malformed("an ExtensionObject of an unknown encoding")),
    }
}

/// Part 6, 5.2.2.12. The inner one comes last, so nesting is a loop here; it is bounded all the
/// same, for the sake of decoders that recurse.
pub(super) fn skip_diagnostic_info(c: &mut Cursor<'_>) -> Result<(), WalkError> {
    for _ in 0..=MAX_DEPTH {
        let mask = c.u8()?;
        if mask & 0x80 != 0 {
            return Err(c.unusual("unknown bits in the mask of a DiagnosticInfo"));
        }
        // SymbolicId, NamespaceUri, Locale, LocalizedText: indexes of the string table.
        for _ in 0..(mask & 0x0f).count_ones() {
            c.i32()?;
        }
        if mask & 0x10 != 0 {
            c.octets()?;
        }
        if mask & 0x20 != 0 {
            c.u32()?;
        }
        if mask & 0x40 == 0 {
            return Ok(());
        }
    }
    Err(c.malformed("DiagnosticInfos nested too deep"))
}

/// The diagnosticInfos that end most responses.
#[inline]
pub(super) fn skip_diagnostic_infos(c: &mut Cursor<'_>) -> Result<(), WalkError> {
    for _ in 0..c.count(1)? {
        skip_diagnostic_info(c)?;
    }
    Ok(())
}

/// The DataValue at the cursor.
#[inline]
pub(super) fn data_value<'a>(c: &mut Cursor<'a>, depth: u8) -> Result<RawDataValue<'a>, WalkError> {
    match c.step(one_of_fixed_size) {
        Some(value) => Ok(value),
        None => any(c, depth),
    }
}

/// What most are, in one step: one value of a fixed size, at the start; and what follows it.
#[inline]
pub(super) fn one_of_fixed_size(bytes: &[u8]) -> Option<(RawDataValue<'_>, &[u8])> {
    let (&mask, after) = bytes.split_first()?;
    if mask & mask::VALUE == 0 {
        return None;
    }
    let trailer_len = trailer_len(mask)?;
    let (value, after) = fixed_scalar(after)?;
    let (trailer, rest) = after.split_at_checked(trailer_len)?;
    let value = RawDataValue {
        value: Some(value),
        mask,
        trailer,
    };
    Some((value, rest))
}

#[inline(never)]
fn any<'a>(c: &mut Cursor<'a>, depth: u8) -> Result<RawDataValue<'a>, WalkError> {
    let mask = c.u8()?;
    let Some(trailer_len) = trailer_len(mask) else {
        return Err(c.unusual("unknown bits in the mask of a DataValue"));
    };
    let value = if mask & mask::VALUE == 0 {
        None
    } else {
        Some(variant(c, depth)?)
    };
    Ok(RawDataValue {
        value,
        mask,
        trailer: c.take(trailer_len)?,
    })
}

/// DataValues one after another. Ends after the first error.
#[derive(Debug, Clone)]
pub struct DataValues<'a> {
    cursor: Cursor<'a>,
    left: usize,
}

impl<'a> DataValues<'a> {
    pub(super) fn new(cursor: Cursor<'a>, left: usize) -> Self {
        Self { cursor, left }
    }
}

impl<'a> Iterator for DataValues<'a> {
    type Item = Result<RawDataValue<'a>, WalkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = data_value(&mut self.cursor, 0);
        if value.is_err() {
            self.left = 0;
        }
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}
