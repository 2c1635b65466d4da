//! What the fields of messages are, and how a cycle's values come into them.

use pubsub::json::JsonTemplate;
use pubsub::raw::RawType;
use pubsub::template::{NoField, Template};
use wire::template::walk::BuiltInType;
use wire::types::Variant;

/// The type of all signals. Each value is the number of its cycle, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the specification's own types")]
pub enum Signal {
    Byte,
    UInt16,
    Int32,
    UInt32,
    Int64,
    Float,
    Double,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Byte,
        Self::UInt16,
        Self::Int32,
        Self::UInt32,
        Self::Int64,
        Self::Float,
        Self::Double,
    ];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::UInt16 => "uint16",
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// As RawData has it.
    pub fn raw(self) -> RawType {
        RawType::scalar(self.kind())
    }

    const fn kind(self) -> BuiltInType {
        match self {
            Self::Byte => BuiltInType::Byte,
            Self::UInt16 => BuiltInType::UInt16,
            Self::Int32 => BuiltInType::Int32,
            Self::UInt32 => BuiltInType::UInt32,
            Self::Int64 => BuiltInType::Int64,
            Self::Float => BuiltInType::Float,
            Self::Double => BuiltInType::Double,
        }
    }

    /// The value of a cycle, as its little-endian bytes.
    fn bits(self, cycle: u64) -> u64 {
        match self {
            Self::Byte => cycle & 0xff,
            Self::UInt16 => cycle & 0xffff,
            Self::Int32 | Self::UInt32 => cycle & 0xffff_ffff,
            Self::Int64 => cycle,
            Self::Float => ((cycle % (1 << 24)) as f32).to_bits().into(),
            Self::Double => (cycle as f64).to_bits(),
        }
    }

    /// Integers wrap around; a Float counts to 16,777,216 and begins again.
    fn set(self, template: &mut Template, set: usize, cycle: u64) -> Result<(), NoField> {
        let [a, b, c, d, ..] = cycle.to_le_bytes();
        match self {
            Self::Byte => template.set_all(set, |_| [a]),
            Self::UInt16 => template.set_all(set, |_| [a, b]),
            Self::Int32 | Self::UInt32 => template.set_all(set, |_| [a, b, c, d]),
            Self::Int64 => template.set_all(set, |_| cycle.to_le_bytes()),
            Self::Float => {
                let value = (cycle % (1 << 24)) as f32;
                template.set_all(set, |_| value.to_le_bytes())
            }
            Self::Double => template.set_all(set, |_| (cycle as f64).to_le_bytes()),
        }
    }
}

/// Values that are somewhere, such as those of a server.
pub trait Source: Send {
    /// Their types, of a fixed size each.
    fn kinds(&self) -> Vec<BuiltInType>;

    /// Their names, if they have some.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Those of this moment: which field, and its little-endian bytes, the rest zero.
    fn read(&mut self, visit: &mut dyn FnMut(usize, u64));
}

/// What the fields of a DataSetMessage are.
pub enum Values {
    /// So many of one type, each the number of its cycle.
    Count(Signal, u16),
    /// Those of somebody else; all DataSetMessages have the same.
    From(Box<dyn Source>),
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(signal, n) => f.debug_tuple("Count").field(signal).field(n).finish(),
            Self::From(source) => f.debug_tuple("From").field(&source.kinds().len()).finish(),
        }
    }
}

impl Values {
    pub(super) fn kinds(&self) -> Vec<BuiltInType> {
        match self {
            Self::Count(signal, n) => vec![signal.kind(); usize::from(*n)],
            Self::From(source) => source.kinds(),
        }
    }

    /// The names of fields that have some.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Count(..) => Vec::new(),
            Self::From(source) => source.names(),
        }
    }

    pub(super) fn set(
        &mut self,
        kinds: &[BuiltInType],
        form: &mut Form,
        set: usize,
        cycle: u64,
    ) -> Result<(), NoField> {
        let template = match form {
            Form::Uadp(template) => template,
            Form::Json(template, _) => return self.set_text(template, set, cycle),
        };
        let source = match self {
            Self::Count(signal, _) => return signal.set(template, set, cycle),
            Self::From(source) => source,
        };
        let mut done = Ok(());
        source.read(&mut |field, bits| {
            // A field of a kind without a size has no place in the template, which says so.
            let size = kinds.get(field).and_then(|it| it.size()).unwrap_or(0);
            let bytes = bits.to_le_bytes();
            let value = bytes.get(..size).unwrap_or_default();
            let one = template.set(set, field, value);
            if done.is_ok() {
                done = one;
            }
        });
        done
    }
}

impl Values {
    fn set_text(
        &mut self,
        template: &mut JsonTemplate,
        set: usize,
        cycle: u64,
    ) -> Result<(), NoField> {
        match self {
            Self::Count(signal, n) => {
                let bits = signal.bits(cycle);
                (0..usize::from(*n)).try_for_each(|field| template.set(set, field, bits))
            }
            Self::From(source) => {
                let mut done = Ok(());
                source.read(&mut |field, bits| {
                    let one = template.set(set, field, bits);
                    if done.is_ok() {
                        done = one;
                    }
                });
                done
            }
        }
    }
}

/// A message of a group, ready to be sent again and again.
pub(super) enum Form {
    Uadp(Template),
    /// With room for its text.
    Json(JsonTemplate, String),
}

/// A Boolean or a number, whichever.
pub(super) fn zero(kind: BuiltInType) -> Option<Variant> {
    use BuiltInType as T;
    Some(match kind {
        T::Boolean => Variant::Boolean(false),
        T::SByte => Variant::SByte(0),
        T::Byte => Variant::Byte(0),
        T::Int16 => Variant::Int16(0),
        T::UInt16 => Variant::UInt16(0),
        T::Int32 => Variant::Int32(0),
        T::UInt32 => Variant::UInt32(0),
        T::Int64 => Variant::Int64(0),
        T::UInt64 => Variant::UInt64(0),
        T::Float => Variant::Float(0.0),
        T::Double => Variant::Double(0.0),
        _ => return None,
    })
}
