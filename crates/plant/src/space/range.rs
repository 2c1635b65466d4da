//! Parts of values by index range (Part 4, 7.27), cut out and replaced where they lie encoded.
//!
//! Values are as large as the plant made them or a client was allowed to write, so that nothing here has
//! a limit of its own.

use std::ops::Range;

use wire::template::walk::{BuiltInType, RawVariant};
use wire::types::{NumericRange, StatusCode};

const ARRAY: u8 = 0x80;
const DIMENSIONS: u8 = 0x40;

/// The text of a NumericRange in a request.
pub fn parse(text: &[u8]) -> Result<NumericRange, StatusCode> {
    let text = str::from_utf8(text).map_err(|_| StatusCode::BadIndexRangeInvalid)?;
    text.parse().map_err(|_| StatusCode::BadIndexRangeInvalid)
}

/// Replaces the Variant at `at` by the part of it that a range names.
pub(crate) fn cut(out: &mut Vec<u8>, at: usize, range: &NumericRange) -> Result<(), StatusCode> {
    let whole = out.get(at..).unwrap_or_default();
    let whole = RawVariant::parse(whole).map_err(|_| StatusCode::BadInternalError)?;
    let part = part(&whole, range)?;
    out.truncate(at);
    out.extend_from_slice(&part);
    Ok(())
}

/// The part of a value that a range names, as an encoded Variant.
pub(crate) fn part(whole: &RawVariant<'_>, range: &NumericRange) -> Result<Vec<u8>, StatusCode> {
    let no_data = StatusCode::BadIndexRangeNoData;
    let asked = ElementSelection::new(whole, range).ok_or(no_data)?;
    let mut out = vec![whole.kind() as u8];
    let Some(shape) = asked.shape else {
        let content = whole.as_octets().ok_or(no_data)?;
        let found = asked
            .text
            .as_ref()
            .and_then(|asked| asked.within(whole, content));
        octets(&mut out, content.get(found.ok_or(no_data)?));
        return Ok(out);
    };
    // Part 4, 7.27: what is beyond the upper end is left out; where nothing is left there is no data.
    let extents = shape.shortened().ok_or(no_data)?;
    let elements = Elements::of(whole);
    let lengths: Vec<usize> = extents.iter().map(Range::len).collect();
    let count: usize = lengths.iter().product();
    out[0] |= ARRAY | if lengths.len() > 1 { DIMENSIONS } else { 0 };
    out.extend_from_slice(&length(count));
    let mut any = asked.text.is_none();
    for run in runs(&shape.dimensions, &extents) {
        let Some(text) = &asked.text else {
            out.extend_from_slice(elements.run(run));
            continue;
        };
        for element in run {
            let content = content(elements.run(element..element + 1));
            let found = content.and_then(|it| it.get(text.within(whole, it)?));
            any |= found.is_some();
            octets(&mut out, found);
        }
    }
    if lengths.len() > 1 {
        out.extend_from_slice(&length(lengths.len()));
        for each in &lengths {
            out.extend_from_slice(&length(*each));
        }
    }
    any.then_some(out).ok_or(no_data)
}

/// A value with the part that a range names replaced, as an encoded Variant.
///
/// All that the range names has to be there, and what is written has to be as long
/// (Part 4, 5.11.4.4: Bad_IndexRangeDataMismatch).
pub(crate) fn replaced(
    whole: &RawVariant<'_>,
    range: &NumericRange,
    value: &RawVariant<'_>,
) -> Result<Vec<u8>, StatusCode> {
    let (no_data, mismatch) = (
        StatusCode::BadIndexRangeNoData,
        StatusCode::BadIndexRangeDataMismatch,
    );
    if value.kind() != whole.kind() {
        return Err(StatusCode::BadTypeMismatch);
    }
    let asked = ElementSelection::new(whole, range).ok_or(no_data)?;
    let Some(shape) = asked.shape else {
        let content = whole.as_octets().ok_or(no_data)?;
        let text = asked.text.ok_or(no_data)?;
        let new = value.as_octets().ok_or(mismatch)?;
        let mut out = vec![whole.kind() as u8];
        octets(&mut out, Some(&text.replaced(whole, content, new)?));
        return Ok(out);
    };
    let inside = |(extent, dimension): (&Range<usize>, &usize)| extent.end <= *dimension;
    let mut all = shape.extents.iter().zip(&shape.dimensions);
    if !all.all(inside) {
        return Err(no_data);
    }
    let lengths: Vec<usize> = shape.extents.iter().map(Range::len).collect();
    let mut dimensions = value.dimensions().map(|it| it as usize);
    if value.array_len() != Some(lengths.iter().product())
        || dimensions.len() > 0 && !dimensions.by_ref().eq(lengths)
    {
        return Err(mismatch);
    }
    let (elements, new) = (Elements::of(whole), Elements::of(value));
    let payload_at = whole.encoded().len() - whole.payload().len() - dimensions_len(whole);
    let mut out = whole
        .encoded()
        .get(..payload_at)
        .unwrap_or_default()
        .to_vec();
    let (mut done, mut taken) = (0, 0);
    for run in runs(&shape.dimensions, &shape.extents) {
        out.extend_from_slice(elements.run(done..run.start));
        done = run.end;
        let from = taken..taken + run.len();
        taken = from.end;
        let Some(text) = &asked.text else {
            out.extend_from_slice(new.run(from));
            continue;
        };
        for (old, new_at) in run.zip(from) {
            let old = content(elements.run(old..old + 1)).ok_or(no_data)?;
            let new = content(new.run(new_at..new_at + 1)).ok_or(mismatch)?;
            octets(&mut out, Some(&text.replaced(whole, old, new)?));
        }
    }
    out.extend_from_slice(elements.run(done..whole.array_len().unwrap_or(0)));
    let end = whole.encoded().len() - dimensions_len(whole);
    out.extend_from_slice(whole.encoded().get(end..).unwrap_or_default());
    Ok(out)
}

/// Bytes of the dimensions at the end of an encoded Variant.
fn dimensions_len(value: &RawVariant<'_>) -> usize {
    match value.encoded().first() {
        Some(first) if first & DIMENSIONS != 0 => 4 + 4 * value.dimensions().len(),
        _ => 0,
    }
}

/// What a range means for a value.
struct ElementSelection {
    /// Elements of an array.
    shape: Option<Shape>,
    /// Characters of each String or bytes of each ByteString.
    text: Option<Text>,
}

struct Shape {
    dimensions: Vec<usize>,
    /// One for each dimension.
    extents: Vec<Range<usize>>,
}

impl ElementSelection {
    /// None where the range has more or fewer dimensions than the value.
    fn new(whole: &RawVariant<'_>, range: &NumericRange) -> Option<Self> {
        let mut extents = match range {
            NumericRange::None => return None,
            NumericRange::MultipleRanges(each) => each.iter().map(extent).collect(),
            one => vec![extent(one)],
        };
        let dimensions = match whole.array_len() {
            None => Vec::new(),
            Some(len) => {
                let several: Vec<usize> = whole.dimensions().map(|it| it as usize).collect();
                if several.len() > 1 {
                    several
                } else {
                    vec![len]
                }
            }
        };
        // Part 4, 7.27: the last range may be one of characters or bytes in each element.
        let is_text = matches!(whole.kind(), BuiltInType::String | BuiltInType::ByteString);
        let text = match is_text && extents.len() == dimensions.len() + 1 {
            true => extents.pop().map(Text),
            false => None,
        };
        if extents.len() != dimensions.len() {
            return None;
        }
        Some(Self {
            shape: (!dimensions.is_empty()).then_some(Shape {
                dimensions,
                extents,
            }),
            text,
        })
    }
}

impl Shape {
    fn shortened(&self) -> Option<Vec<Range<usize>>> {
        let both = self.extents.iter().zip(&self.dimensions);
        both.map(|(extent, dimension)| {
            (extent.start < *dimension).then(|| extent.start..extent.end.min(*dimension))
        })
        .collect()
    }
}

fn extent(range: &NumericRange) -> Range<usize> {
    let (first, last) = match range {
        NumericRange::Index(at) => (*at, *at),
        NumericRange::Range(first, last) => (*first, *last),
        // Neither stands inside of several ranges.
        NumericRange::None | NumericRange::MultipleRanges(_) => (u32::MAX, u32::MAX),
    };
    first as usize..last as usize + 1
}

/// A range of characters or bytes.
#[derive(Clone)]
struct Text(Range<usize>);

impl Text {
    /// Its bytes in a content, as far as that goes.
    fn within(&self, of: &RawVariant<'_>, content: &[u8]) -> Option<Range<usize>> {
        let end = content.len();
        if of.kind() == BuiltInType::ByteString {
            return (self.0.start < end).then(|| self.0.start..self.0.end.min(end));
        }
        // Strings are counted in characters: half of one is no UTF-8.
        let text = str::from_utf8(content).ok()?;
        let at = |n: usize| text.char_indices().nth(n).map(|(at, _)| at);
        Some(at(self.0.start)?..at(self.0.end).unwrap_or(end))
    }

    fn replaced(&self, of: &RawVariant<'_>, old: &[u8], new: &[u8]) -> Result<Vec<u8>, StatusCode> {
        let count = |content: &[u8]| match of.kind() {
            BuiltInType::ByteString => Some(content.len()),
            _ => str::from_utf8(content).ok().map(|it| it.chars().count()),
        };
        let found = self
            .within(of, old)
            .ok_or(StatusCode::BadIndexRangeNoData)?;
        let place = old.get(found.clone()).unwrap_or_default();
        if count(place) != Some(self.0.len()) {
            return Err(StatusCode::BadIndexRangeNoData);
        }
        if count(new) != Some(self.0.len()) {
            return Err(StatusCode::BadIndexRangeDataMismatch);
        }
        let before = old.get(..found.start).unwrap_or_default();
        let behind = old.get(found.end..).unwrap_or_default();
        Ok([before, new, behind].concat())
    }
}

/// The elements of an array where they lie.
struct Elements<'a> {
    payload: &'a [u8],
    at: At,
}

enum At {
    Every(usize),
    /// Where each begins, and the end.
    Each(Vec<usize>),
}

impl<'a> Elements<'a> {
    fn of(array: &RawVariant<'a>) -> Self {
        let at = match array.kind().size() {
            Some(size) => At::Every(size),
            None => At::Each(array.element_starts()),
        };
        Self {
            payload: array.payload(),
            at,
        }
    }

    /// The bytes of several that stand side by side.
    fn run(&self, run: Range<usize>) -> &'a [u8] {
        let at = |n: usize| match &self.at {
            At::Every(size) => n * size,
            At::Each(starts) => starts.get(n).copied().unwrap_or(self.payload.len()),
        };
        self.payload
            .get(at(run.start)..at(run.end))
            .unwrap_or_default()
    }
}

/// The elements that lie in all extents, in order, in runs side by side (the last dimension is the fastest).
fn runs(dimensions: &[usize], extents: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    let last = extents.last().cloned().unwrap_or(0..0);
    let outer = extents
        .split_last()
        .map_or(&[][..], |(_, outer)| outer)
        .to_vec();
    let dimensions = dimensions.to_vec();
    let count: usize = outer.iter().map(Range::len).product();
    (0..count).map(move |n| {
        // The place of run n in the outer dimensions, from the fastest to the slowest.
        let (mut left, mut at, mut stride) = (n, 0, dimensions.last().copied().unwrap_or(0));
        for (extent, dimension) in outer.iter().zip(&dimensions).rev() {
            at += (extent.start + left % extent.len()) * stride;
            left /= extent.len();
            stride *= dimension;
        }
        at + last.start..at + last.end
    })
}

fn length(n: usize) -> [u8; 4] {
    // Values come from a message or a file, whose lengths are Int32.
    i32::try_from(n).unwrap_or(i32::MAX).to_le_bytes()
}

fn octets(out: &mut Vec<u8>, content: Option<&[u8]>) {
    match content {
        None => out.extend_from_slice(&(-1i32).to_le_bytes()),
        Some(content) => {
            out.extend_from_slice(&length(content.len()));
            out.extend_from_slice(content);
        }
    }
}

/// What is in an encoded String or ByteString; none if that is null.
fn content(encoded: &[u8]) -> Option<&[u8]> {
    let (length, content) = encoded.split_first_chunk()?;
    (i32::from_le_bytes(*length) >= 0).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::encode;
    use wire::types::{Array, Variant, VariantScalarTypeId};

    fn read(value: impl Into<Variant>, range: &str) -> Result<Variant, StatusCode> {
        let whole = encode::variant(value);
        let range = range.parse().unwrap();
        let part = part(&RawVariant::parse(&whole).unwrap(), &range)?;
        Ok(encode::decoded(&part).unwrap())
    }

    fn write(
        value: impl Into<Variant>,
        range: &str,
        new: impl Into<Variant>,
    ) -> Result<Variant, StatusCode> {
        let (whole, new) = (encode::variant(value), encode::variant(new));
        let range = range.parse().unwrap();
        let of = |bytes| RawVariant::parse(bytes).unwrap();
        let whole = replaced(&of(&whole), &range, &of(&new))?;
        Ok(encode::decoded(&whole).unwrap())
    }

    fn matrix(values: impl Iterator<Item = i32>, dimensions: &[u32]) -> Variant {
        let values: Vec<Variant> = values.map(Variant::from).collect();
        let kind = VariantScalarTypeId::Int32;
        Array::new_multi(kind, values, dimensions.to_vec())
            .unwrap()
            .into()
    }

    #[test]
    fn a_block_of_a_matrix_is_read_and_written() {
        let whole = || matrix(0..24, &[2, 3, 4]);
        let block = matrix([13, 14, 17, 18].into_iter(), &[1, 2, 2]);
        assert_eq!(read(whole(), "1,0:1,1:2"), Ok(block));
        // Beyond the end there is nothing; that is left out.
        let corner = matrix([23].into_iter(), &[1, 1, 1]);
        assert_eq!(read(whole(), "1:7,2:9,3:5"), Ok(corner));
        for other in ["1", "0,0", "0,0,0,0", "2,0,0"] {
            let no_data = Err(StatusCode::BadIndexRangeNoData);
            assert_eq!(read(whole(), other), no_data, "{other}");
        }
        let new = matrix([-1, -2, -3, -4].into_iter(), &[1, 2, 2]);
        let mut wanted: Vec<i32> = (0..24).collect();
        (wanted[13], wanted[14], wanted[17], wanted[18]) = (-1, -2, -3, -4);
        let wanted = matrix(wanted.into_iter(), &[2, 3, 4]);
        assert_eq!(write(whole(), "1,0:1,1:2", new.clone()), Ok(wanted));
        let mismatch = Err(StatusCode::BadIndexRangeDataMismatch);
        assert_eq!(write(whole(), "1,0,1:2", new), mismatch);
    }

    #[test]
    fn a_part_of_a_text_is_counted_in_characters() {
        assert_eq!(read("Größe", "2:3"), Ok("öß".into()));
        assert_eq!(read("Größe", "4:9"), Ok("e".into()));
        assert_eq!(read("Größe", "5"), Err(StatusCode::BadIndexRangeNoData));
        assert_eq!(write("Größe", "2:3", "oe"), Ok("Groee".into()));
        let mismatch = Err(StatusCode::BadIndexRangeDataMismatch);
        assert_eq!(write("Größe", "2:3", "o"), mismatch);
        assert_eq!(
            write("Größe", "4:9", "abcdef"),
            Err(StatusCode::BadIndexRangeNoData)
        );
    }

    #[test]
    fn texts_in_an_array_may_have_parts_of_their_own() {
        let texts = || vec!["alpha".to_owned(), "be".to_owned(), "gamma".to_owned()];
        let part = read(texts(), "1:2").unwrap();
        assert_eq!(part, vec!["be".to_owned(), "gamma".to_owned()].into());
        let part = read(texts(), "0:2,1:2").unwrap();
        assert_eq!(
            part,
            vec!["lp".to_owned(), "e".to_owned(), "am".to_owned()].into()
        );
        let new = vec!["XY".to_owned()];
        let wanted = vec!["alpha".to_owned(), "be".to_owned(), "gXYma".to_owned()];
        assert_eq!(write(texts(), "2,1:2", new), Ok(wanted.into()));
    }
}
