//! The walk over the bytes of a structure.

use super::{Edit, Field, Form, Kind, Limits, Otherwise, Problem, ProblemAt, Rewrite};
use crate::types::{Array, NumericRange, Variant};

/// The most dimensions that an index range may have for `opcua_types`.
const MAX_INDEX_RANGE_PARTS: usize = 10;

/// What `opcua_types` allocates for each dimension: the part of the text, the range, and
/// what its regular expression captures.
const INDEX_RANGE_PART_COST: usize = size_of::<&str>() + size_of::<NumericRange>() + 192;

/// The dimensions that an Argument may leave out: `opcua_types` fills them up to the
/// value rank, which is any Int32.
const MAX_MISSING_DIMENSIONS: usize = 64;

/// The types a Variant may have: the first kinds of the table, by their numbers (Part 6,
/// table 1).
const VARIANT_TYPES: usize = Kind::DiagnosticInfo as usize + 1;

/// What one note of an edit costs at most, the growth of their list included.
const EDIT_COST: usize = 4 * size_of::<Edit>();

/// What the box around an opaque body takes, besides the body.
const OPAQUE_COST: usize = 128;

/// What a walk has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Measure {
    /// The bytes of the structure.
    pub len: usize,
    /// At most so much memory is allocated to decode it, without the bodies of
    /// ExtensionObjects of known types: those are kept as bytes here.
    pub memory: usize,
    /// How many ExtensionObjects in it have a body.
    pub bodies: usize,
    /// How deep the deepest of them lies.
    pub body_depth: usize,
    /// What must be put in other words before `opcua_types` reads it.
    pub edits: Vec<Edit>,
}

/// Walks over a value of `kind` at the beginning of `bytes`, however much memory it would
/// take. More bytes may follow it.
///
/// # Errors
/// The first problem, with its offset.
pub fn walk(kind: Kind, bytes: &[u8]) -> Result<Measure, ProblemAt> {
    let limits = Limits {
        memory: usize::MAX,
        depth: Limits::DEPTH,
    };
    walk_at(kind, bytes, 0, limits)
}

/// Walks over a value of `kind` at the offset `at` of `bytes`, within a limits.
///
/// The steps taken are bounded by the number of bytes; nothing is allocated but the list
/// of edits.
///
/// # Errors
/// The first problem, with its offset.
pub fn walk_at(kind: Kind, bytes: &[u8], at: usize, limits: Limits) -> Result<Measure, ProblemAt> {
    let mut walk = Walk::new(bytes, at, limits);
    match walk.value(kind, 0) {
        Ok(()) => {
            walk.found.len = walk.at - at;
            Ok(walk.found)
        }
        Err(problem) => Err((walk.at, problem)),
    }
}

/// Finds the ExtensionObjects that say a wrong length before a right body, in bytes that
/// hold nothing but a structure of `kind`; none if that is not all that is wrong.
///
/// `opcua_types` reckons four bytes too many for each part of an index range of several
/// dimensions, and so writes the wrong length before each body with one in it.
pub(crate) fn true_body_lengths(kind: Kind, bytes: &[u8]) -> Option<Vec<Edit>> {
    let limits = Limits {
        memory: usize::MAX,
        depth: Limits::DEPTH,
    };
    let mut walk = Walk::new(bytes, 0, limits);
    walk.enter_bodies = true;
    walk.value(kind, 0).ok()?;
    let mut edits = walk.found.edits;
    edits.sort_by_key(|edit| edit.at);
    (walk.at == bytes.len()).then_some(edits)
}

type Result<T, E = Problem> = std::result::Result<T, E>;

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    limits: Limits,
    /// Whether bodies of known types are measured by their type and not by their length.
    enter_bodies: bool,
    /// The parts of all index ranges that have more than one.
    range_parts: usize,
    found: Measure,
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8], at: usize, limits: Limits) -> Self {
        Self {
            bytes,
            at,
            limits,
            enter_bodies: false,
            range_parts: 0,
            found: Measure::default(),
        }
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// The next `len` bytes, which belong to a value of `kind`.
    fn take(&mut self, kind: Kind, len: usize) -> Result<&'a [u8]> {
        let end = self.at.saturating_add(len);
        let Some(taken) = self.bytes.get(self.at..end) else {
            return Err(Problem::Short {
                kind,
                wanted: len,
                left: self.left(),
            });
        };
        self.at = end;
        Ok(taken)
    }

    /// One was asked for, and one is there.
    fn byte(&mut self, kind: Kind) -> Result<u8> {
        Ok(self.take(kind, 1)?.first().copied().unwrap_or_default())
    }

    fn int32(&mut self, kind: Kind) -> Result<i32> {
        let bytes = self.take(kind, 4)?;
        Ok(bytes.try_into().map_or(0, i32::from_le_bytes))
    }

    /// A length or count: none for -1, an error below that.
    fn length(&mut self, kind: Kind) -> Result<Option<usize>> {
        let length = self.int32(kind)?;
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if length == -1 => Ok(None),
            Err(_) => Err(Problem::Length { kind, length }),
        }
    }

    /// The count of an array of `kind`, believed only if its elements can be there.
    fn count(&mut self, kind: Kind) -> Result<usize> {
        let count = self.length(kind)?.unwrap_or(0);
        let left = self.left();
        match count.checked_mul(kind.min_len()) {
            Some(len) if len <= left => Ok(count),
            _ => Err(Problem::Count { kind, count, left }),
        }
    }

    fn charge(&mut self, memory: usize) -> Result<()> {
        self.found.memory = self.found.memory.saturating_add(memory);
        if self.found.memory > self.limits.memory {
            return Err(Problem::Memory {
                limit: self.limits.memory,
            });
        }
        Ok(())
    }

    fn edit(&mut self, at: usize, rewrite: Rewrite) -> Result<()> {
        // the first one makes a copy of everything necessary
        let copy = if self.found.edits.is_empty() {
            self.bytes.len()
        } else {
            0
        };
        self.charge(copy + rewrite.growth() + EDIT_COST)?;
        self.found.edits.push(Edit { at, rewrite });
        Ok(())
    }

    fn descend(&self, depth: usize) -> Result<usize> {
        if depth >= self.limits.depth {
            return Err(Problem::Depth {
                limit: self.limits.depth,
            });
        }
        Ok(depth + 1)
    }

    fn value(&mut self, kind: Kind, depth: usize) -> Result<()> {
        let shape = kind.shape();
        match shape.form {
            Form::Enumeration(values, otherwise) => self.enumeration(kind, values, otherwise),
            Form::Structure(_) if kind == Kind::Argument => self.argument(),
            Form::Structure(fields) => {
                for field in fields {
                    match *field {
                        Field::One(kind) => self.value(kind, depth)?,
                        Field::Many(kind) => {
                            let count = self.count(kind)?;
                            self.charge(count * kind.shape().size)?;
                            self.elements(kind, count, depth)?;
                        }
                    }
                }
                Ok(())
            }
            Form::BuiltIn => self.built_in(kind, depth),
        }
    }

    fn elements(&mut self, kind: Kind, count: usize, depth: usize) -> Result<()> {
        if let Some(len) = fixed_len(kind) {
            return self.take(kind, count.saturating_mul(len)).map(|_| ());
        }
        for _ in 0..count {
            self.value(kind, depth)?;
        }
        Ok(())
    }

    fn built_in(&mut self, kind: Kind, depth: usize) -> Result<()> {
        if let Some(len) = fixed_len(kind) {
            return self.take(kind, len).map(|_| ());
        }
        match kind {
            Kind::Boolean => {
                let at = self.at;
                match self.byte(kind)? {
                    0 | 1 => Ok(()),
                    _ => self.edit(at, Rewrite::Byte(1)),
                }
            }
            Kind::NumericRange => self.index_range(),
            Kind::NodeId | Kind::ExpandedNodeId => self.node_id(kind).map(|_| ()),
            Kind::QualifiedName => {
                self.take(kind, 2)?;
                self.string(kind).map(|_| ())
            }
            Kind::LocalizedText => {
                let mask = self.byte(kind)?;
                for flag in [0x01, 0x02] {
                    if mask & flag != 0 {
                        self.string(kind)?;
                    }
                }
                Ok(())
            }
            Kind::ExtensionObject => self.extension_object(depth),
            Kind::DataValue => self.data_value(depth),
            Kind::Variant => self.variant(depth),
            Kind::DiagnosticInfo => self.diagnostic_info(depth),
            // String, ByteString, XmlElement
            _ => self.string(kind).map(|_| ()),
        }
    }

    fn enumeration(&mut self, kind: Kind, values: &[i32], otherwise: Otherwise) -> Result<()> {
        let at = self.at;
        let value = self.int32(kind)?;
        if values.contains(&value) {
            return Ok(());
        }
        match otherwise {
            Otherwise::Use(value) => self.edit(at, Rewrite::Int32(value)),
            Otherwise::Refuse(status) => {
                self.at = at;
                Err(Problem::Enumeration {
                    kind,
                    value,
                    status,
                })
            }
        }
    }

    /// A length and as many bytes, which will be copied.
    fn string(&mut self, kind: Kind) -> Result<&'a [u8]> {
        let Some(len) = self.length(kind)? else {
            return Ok(&[]);
        };
        let bytes = self.take(kind, len)?;
        self.charge(len)?;
        Ok(bytes)
    }

    fn index_range(&mut self) -> Result<()> {
        let at = self.at;
        let bytes = self.string(Kind::NumericRange)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let parts = index_range_parts(bytes);
        // what is written instead of a wrong one is parsed as well
        self.charge((4 + parts.unwrap_or(1)) * INDEX_RANGE_PART_COST)?;
        match parts {
            Some(1) => Ok(()),
            Some(parts) => {
                self.range_parts += parts;
                Ok(())
            }
            None => self.edit(at, Rewrite::IndexRange(self.at - at)),
        }
    }

    /// Part 6, 5.2.2.9 and 5.2.2.10. Returns the id if it is numeric and of namespace 0.
    fn node_id(&mut self, kind: Kind) -> Result<Option<u32>> {
        let byte = self.byte(kind)?;
        let flags = byte & 0xc0;
        if flags != 0 && kind == Kind::NodeId {
            self.at -= 1;
            return Err(Problem::NodeId { kind, byte });
        }
        let mut id = None;
        match byte & 0x3f {
            0 => id = Some(u32::from(self.byte(kind)?)),
            1 => {
                if let [0, low, high] = *self.take(kind, 3)? {
                    id = Some(u32::from(u16::from_le_bytes([low, high])));
                }
            }
            2 => {
                if let [0, 0, a, b, c, d] = *self.take(kind, 6)? {
                    id = Some(u32::from_le_bytes([a, b, c, d]));
                }
            }
            3 | 5 => {
                self.take(kind, 2)?;
                self.string(kind)?;
            }
            4 => {
                self.take(kind, 18)?;
            }
            _ => {
                self.at -= 1;
                return Err(Problem::NodeId { kind, byte });
            }
        }
        if flags & 0x80 != 0 {
            self.string(kind)?;
            id = None;
        }
        if flags & 0x40 != 0 {
            self.take(kind, 4)?;
            id = None;
        }
        Ok(id)
    }

    /// Part 6, 5.2.2.15.
    fn extension_object(&mut self, depth: usize) -> Result<()> {
        let kind = Kind::ExtensionObject;
        let depth = self.descend(depth)?;
        let at = self.at;
        let id = self.node_id(Kind::NodeId)?;
        let id_len = self.at - at;
        match self.byte(kind)? {
            0 => Ok(()),
            1 if self.enter_bodies
                && let Some(kind) = id.and_then(Kind::from_encoding_id) =>
            {
                self.body_of(kind, depth)
            }
            1 | 2 => {
                let len = self.string(kind)?.len();
                if len > 0 {
                    // the copy is what is decoded, or what is kept with a copy of its id
                    self.charge(OPAQUE_COST + id_len)?;
                    self.found.bodies += 1;
                    self.found.body_depth = self.found.body_depth.max(depth);
                }
                Ok(())
            }
            encoding => {
                self.at -= 1;
                Err(Problem::Encoding { encoding })
            }
        }
    }

    /// The body of an ExtensionObject of a known type. It is as long as its type and not as
    /// it says, if the difference is what the index ranges in it explain.
    fn body_of(&mut self, kind: Kind, depth: usize) -> Result<()> {
        let (at, edits, ranges) = (self.at, self.found.edits.len(), self.range_parts);
        let claimed = self.length(kind)?.unwrap_or(0);
        let is_kind = self.value(kind, depth).is_ok();
        let len = self.at - at - 4;
        let excess = 4 * (self.range_parts - ranges);
        if is_kind && claimed == len + excess {
            return match i32::try_from(len) {
                Ok(len) if excess > 0 => self.edit(at, Rewrite::Int32(len)),
                _ => Ok(()),
            };
        }
        // another body than the type id says, kept as bytes
        (self.at, self.range_parts) = (at, ranges);
        self.found.edits.truncate(edits);
        self.string(kind).map(|_| ())
    }

    /// Part 6, 5.2.2.17.
    fn data_value(&mut self, depth: usize) -> Result<()> {
        let mask = self.byte(Kind::DataValue)?;
        if mask & 0x01 != 0 {
            self.variant(depth)?;
        }
        let mut rest = 0;
        for (flag, len) in [(0x02, 4), (0x04, 8), (0x08, 8), (0x10, 2), (0x20, 2)] {
            if mask & flag != 0 {
                rest += len;
            }
        }
        self.take(Kind::DataValue, rest).map(|_| ())
    }

    /// Part 6, 5.2.2.12.
    fn diagnostic_info(&mut self, mut depth: usize) -> Result<()> {
        let kind = Kind::DiagnosticInfo;
        loop {
            let mask = self.byte(kind)?;
            for flag in [0x01, 0x02, 0x04, 0x08] {
                if mask & flag != 0 {
                    self.take(kind, 4)?;
                }
            }
            if mask & 0x10 != 0 {
                self.string(kind)?;
            }
            if mask & 0x20 != 0 {
                self.take(kind, 4)?;
            }
            if mask & 0x40 == 0 {
                return Ok(());
            }
            depth = self.descend(depth)?;
            self.charge(kind.shape().size)?;
        }
    }

    /// Part 6, 5.2.2.16.
    fn variant(&mut self, depth: usize) -> Result<()> {
        const ARRAY: u8 = 0x80;
        const DIMENSIONS: u8 = 0x40;
        let at = self.at;
        let mask = self.byte(Kind::Variant)?;
        let depth = self.descend(depth)?;
        let wrong = |walk: &mut Self| {
            walk.at = at;
            Err(Problem::Variant { mask })
        };
        let number = usize::from(mask & 0x3f);
        if number > VARIANT_TYPES {
            return wrong(self);
        }
        // 0 is the null Variant, of which there are no arrays
        let kind = number.checked_sub(1).and_then(|index| Kind::ALL.get(index));
        let Some(&kind) = kind else {
            return if mask == 0 { Ok(()) } else { wrong(self) };
        };
        if mask & ARRAY == 0 {
            if mask & DIMENSIONS != 0 {
                return wrong(self);
            }
            self.charge(kind.shape().size)?;
            return self.value(kind, depth);
        }
        let count = self.count(kind)?;
        // each element is a Variant of its own, and boxed in it where it is large
        let mut element = size_of::<Variant>();
        if kind.shape().size > size_of::<u64>() || kind == Kind::DateTime {
            element += kind.shape().size;
        }
        self.charge(count.saturating_mul(element) + size_of::<Array>())?;
        self.elements(kind, count, depth)?;
        if mask & DIMENSIONS != 0 {
            self.dimensions(at, mask & !DIMENSIONS, count)?;
        }
        Ok(())
    }

    fn dimensions(&mut self, mask_at: usize, mask: u8, length: usize) -> Result<()> {
        let at = self.at;
        let count = self.count(Kind::Int32)?;
        if length == 0 {
            self.take(Kind::Int32, count * 4)?;
            self.edit(mask_at, Rewrite::Byte(mask))?;
            return self.edit(at, Rewrite::Cut(self.at - at));
        }
        self.charge(count * 4)?;
        let mut product = 1_usize;
        for _ in 0..count {
            let dimension = usize::try_from(self.int32(Kind::Int32)?).unwrap_or(0);
            product = product.saturating_mul(dimension);
        }
        if count == 0 || product != length {
            self.at = at;
            return Err(Problem::Dimensions { length });
        }
        Ok(())
    }

    /// The one structure whose value decides about memory that is not on the wire.
    fn argument(&mut self) -> Result<()> {
        self.string(Kind::String)?;
        self.node_id(Kind::NodeId)?;
        let at = self.at;
        let rank = self.int32(Kind::Argument)?;
        let dimensions_at = self.at;
        let is_null = self.bytes.get(self.at..self.at + 4) == Some(&[0xff; 4]);
        let count = self.count(Kind::UInt32)?;
        let missing = usize::try_from(rank).unwrap_or(0).saturating_sub(count);
        if missing > MAX_MISSING_DIMENSIONS {
            self.at = at;
            return Err(Problem::Rank { rank, count });
        }
        self.charge((count + missing.min(MAX_MISSING_DIMENSIONS)) * 2 * size_of::<u32>())?;
        self.elements(Kind::UInt32, count, 0)?;
        // Part 3, 8.6: dimensions belong to a rank above 0, and 0 is one of unknown length.
        // Others could be decoded, but not encoded again.
        if rank > 0 && is_null {
            self.edit(dimensions_at, Rewrite::Int32(0))?;
        } else if rank <= 0 && count > 0 {
            self.edit(dimensions_at, Rewrite::Int32(0))?;
            self.edit(dimensions_at + 4, Rewrite::Cut(count * 4))?;
        }
        self.built_in(Kind::LocalizedText, 0)
    }
}

/// How many dimensions an index range has (Part 4, 7.27), if it can be parsed.
fn index_range_parts(text: &[u8]) -> Option<usize> {
    let number = |digits: &[u8]| {
        if !(1..=10).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let value = digits
            .iter()
            .fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        (value <= u64::from(u32::MAX)).then_some(value)
    };
    let mut parts = 0;
    for part in text.split(|&byte| byte == b',') {
        parts += 1;
        let mut ends = part.splitn(2, |&byte| byte == b':');
        let first = number(ends.next()?)?;
        if let Some(last) = ends.next()
            && first >= number(last)?
        {
            return None;
        }
    }
    (parts <= MAX_INDEX_RANGE_PARTS).then_some(parts)
}

/// The length of built-in types whose every value is right and as long as all others.
const fn fixed_len(kind: Kind) -> Option<usize> {
    match kind {
        Kind::SByte | Kind::Byte => Some(1),
        Kind::Int16 | Kind::UInt16 => Some(2),
        Kind::Int32 | Kind::UInt32 | Kind::Float | Kind::StatusCode => Some(4),
        Kind::Int64 | Kind::UInt64 | Kind::Double | Kind::DateTime => Some(8),
        Kind::Guid => Some(16),
        _ => None,
    }
}
