//! Variants where they lie (Part 6, 5.2.2), and the types of what can be inside one.

use super::cursor::Cursor;
use super::node_id::RawNodeId;
use crate::types::{BinaryDecodable, Context, EncodingResult, Variant};

/// The built-in types (Part 6, 5.1.2), with the id that stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the specification's own names")]
pub enum BuiltInType {
    Null = 0,
    Boolean = 1,
    SByte = 2,
    Byte = 3,
    Int16 = 4,
    UInt16 = 5,
    Int32 = 6,
    UInt32 = 7,
    Int64 = 8,
    UInt64 = 9,
    Float = 10,
    Double = 11,
    String = 12,
    DateTime = 13,
    Guid = 14,
    ByteString = 15,
    XmlElement = 16,
    NodeId = 17,
    ExpandedNodeId = 18,
    StatusCode = 19,
    QualifiedName = 20,
    LocalizedText = 21,
    ExtensionObject = 22,
    DataValue = 23,
    Variant = 24,
    DiagnosticInfo = 25,
}

use BuiltInType as T;

/// How a number lies on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Bits8,
    Bits16,
    Bits32,
    Bits64,
    Float,
    Double,
}

impl Number {
    /// That of a type; none where it is no number.
    #[inline]
    pub fn of(kind: T) -> Option<Self> {
        Some(match kind {
            T::Boolean | T::SByte | T::Byte => Self::Bits8,
            T::Int16 | T::UInt16 => Self::Bits16,
            T::Int32 | T::UInt32 => Self::Bits32,
            T::Int64 | T::UInt64 => Self::Bits64,
            T::Float => Self::Float,
            T::Double => Self::Double,
            _ => return None,
        })
    }

    /// What stands there counts to: the bits of an integer, or the integer that a Float or Double is.
    #[inline]
    pub fn count(self, at: &[u8]) -> Option<u64> {
        Some(match self {
            Self::Bits8 => (*at.first()?).into(),
            Self::Bits16 => u16::from_le_bytes(*at.first_chunk()?).into(),
            Self::Bits32 => u32::from_le_bytes(*at.first_chunk()?).into(),
            Self::Bits64 => u64::from_le_bytes(*at.first_chunk()?),
            Self::Float => f32::from_le_bytes(*at.first_chunk()?) as i64 as u64,
            Self::Double => f64::from_le_bytes(*at.first_chunk()?) as i64 as u64,
        })
    }
}

/// By the low five bits of a Variant's encoding byte; the low six are the type, and ids above 31
/// do not exist (Part 6, 5.2.2.16).
pub(super) const TYPES: [T; 32] = [
    T::Null,
    T::Boolean,
    T::SByte,
    T::Byte,
    T::Int16,
    T::UInt16,
    T::Int32,
    T::UInt32,
    T::Int64,
    T::UInt64,
    T::Float,
    T::Double,
    T::String,
    T::DateTime,
    T::Guid,
    T::ByteString,
    T::XmlElement,
    T::NodeId,
    T::ExpandedNodeId,
    T::StatusCode,
    T::QualifiedName,
    T::LocalizedText,
    T::ExtensionObject,
    T::DataValue,
    T::Variant,
    T::DiagnosticInfo,
    // Part 6, 5.1.6: decoders take the ids 26 to 31 for ByteStrings.
    T::ByteString,
    T::ByteString,
    T::ByteString,
    T::ByteString,
    T::ByteString,
    T::ByteString,
];

/// Stands in [`SIZES`] for a type whose size is in its bytes.
const VARIES: u8 = u8::MAX;

const SIZES: [u8; 32] = {
    let mut sizes = [VARIES; 32];
    let mut i = 0;
    while i < 26 {
        sizes[i] = match TYPES[i] {
            T::Null => 0,
            T::Boolean | T::SByte | T::Byte => 1,
            T::Int16 | T::UInt16 => 2,
            T::Int32 | T::UInt32 | T::Float | T::StatusCode => 4,
            T::Int64 | T::UInt64 | T::Double | T::DateTime => 8,
            T::Guid => 16,
            _ => VARIES,
        };
        i += 1;
    }
    sizes
};

impl BuiltInType {
    /// The type of this id; none above 25, which no metadata has.
    pub fn of_id(id: u8) -> Option<Self> {
        TYPES.get(usize::from(id)).copied().filter(|_| id <= 25)
    }

    /// Bytes of one value on the wire, for the types where that is always the same.
    #[inline]
    pub const fn size(self) -> Option<usize> {
        match SIZES[(self as u8 & 31) as usize] {
            VARIES => None,
            n => Some(n as usize),
        }
    }
}

/// The payload's size for a Variant that is a scalar of fixed size, by its encoding byte.
#[inline]
pub(super) fn fixed_scalar_size(encoding: u8) -> Option<usize> {
    match SIZES.get(usize::from(encoding)) {
        Some(&VARIES) | None => None,
        Some(&n) => Some(usize::from(n)),
    }
}

pub(super) const ARRAY: u8 = 0x80;
pub(super) const DIMENSIONS: u8 = 0x40;

/// A Variant where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawVariant<'a> {
    /// The whole Variant as it is on the wire.
    pub(super) encoded: &'a [u8],
    pub(super) kind: BuiltInType,
    /// Elements of an array, [`SCALAR`] when it is none.
    pub(super) len: u32,
    /// Bytes of dimensions at the end, with their count.
    pub(super) dimensions: u32,
}

/// Longer than any array can be: lengths are Int32.
pub(super) const SCALAR: u32 = u32::MAX;

impl<'a> RawVariant<'a> {
    /// The type of the value, or of an array's elements.
    #[inline]
    pub fn kind(&self) -> BuiltInType {
        self.kind
    }

    /// The number of elements when this is an array; a null array has none.
    #[inline]
    pub fn array_len(&self) -> Option<usize> {
        if self.len == SCALAR {
            None
        } else {
            usize::try_from(self.len).ok()
        }
    }

    /// The whole Variant as it is on the wire.
    #[inline]
    pub fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// Bytes before the payload: the encoding byte and an array's length.
    #[inline]
    pub(in crate::template) fn payload_at(&self) -> usize {
        if self.len == SCALAR { 1 } else { 5 }
    }

    /// The value's bytes: without the encoding byte, and for arrays without length and dimensions.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        let end = self.encoded.len() - self.dimensions as usize;
        self.encoded.get(self.payload_at()..end).unwrap_or_default()
    }

    /// The dimensions of an array that has more than one, slowest first.
    pub fn dimensions(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        let at = self.encoded.len() - (self.dimensions as usize).saturating_sub(4);
        let raw = self.encoded.get(at..).unwrap_or_default();
        raw.as_chunks().0.iter().map(|d| u32::from_le_bytes(*d))
    }

    fn scalar<const N: usize>(&self, kind: BuiltInType) -> Option<[u8; N]> {
        if self.kind != kind || self.len != SCALAR {
            return None;
        }
        self.payload().try_into().ok()
    }

    /// The value, when it is one Double.
    pub fn as_f64(&self) -> Option<f64> {
        self.scalar(T::Double).map(f64::from_le_bytes)
    }

    /// The value, when it is one integer that fits. Counters of any width come out of this.
    pub fn as_i64(&self) -> Option<i64> {
        match self.kind {
            T::SByte => self.scalar(self.kind).map(i8::from_le_bytes).map(i64::from),
            T::Byte => self.scalar(self.kind).map(u8::from_le_bytes).map(i64::from),
            T::Int16 => self
                .scalar(self.kind)
                .map(i16::from_le_bytes)
                .map(i64::from),
            T::UInt16 => self
                .scalar(self.kind)
                .map(u16::from_le_bytes)
                .map(i64::from),
            T::Int32 => self
                .scalar(self.kind)
                .map(i32::from_le_bytes)
                .map(i64::from),
            T::UInt32 => self
                .scalar(self.kind)
                .map(u32::from_le_bytes)
                .map(i64::from),
            T::Int64 => self.scalar(self.kind).map(i64::from_le_bytes),
            T::UInt64 => self
                .scalar(self.kind)
                .and_then(|b| i64::try_from(u64::from_le_bytes(b)).ok()),
            _ => None,
        }
    }

    /// What the value counts to, when it is one number: the bits of an integer, or the integer that
    /// a Float or Double is.
    #[inline]
    pub fn as_count(&self) -> Option<u64> {
        if self.len != SCALAR {
            return None;
        }
        Number::of(self.kind)?.count(self.encoded.get(1..)?)
    }

    /// The content, when it is one String, ByteString or XmlElement that is not null.
    pub fn as_octets(&self) -> Option<&'a [u8]> {
        match (self.kind, self.array_len()) {
            (T::String | T::ByteString | T::XmlElement, None) => {
                Cursor::new(self.payload()).octets().ok().flatten()
            }
            _ => None,
        }
    }

    /// The ticks of 100 ns since 1601, when it is one DateTime.
    #[inline]
    pub fn as_time(&self) -> Option<i64> {
        self.scalar(T::DateTime).map(i64::from_le_bytes)
    }

    /// The node, when it is one NodeId.
    #[inline]
    pub fn as_node_id(&self) -> Option<RawNodeId<'a>> {
        match (self.kind, self.array_len()) {
            (T::NodeId, None) => RawNodeId::read(&mut Cursor::new(self.payload())).ok(),
            _ => None,
        }
    }

    /// The value in full, for when somebody does look at it.
    pub fn decode(&self, context: &Context<'_>) -> EncodingResult<Variant> {
        Variant::decode(&mut &*self.encoded, context)
    }
}
