//! What the bytes of a message must look like, known before anything is decoded.
//!
//! The decoders of `opcua_types` trust what they read: they reserve memory for as many
//! elements as a count claims, follow some nestings without end, and drop a whole message
//! for one value of an enumeration they do not know. So every message is walked first:
//! [`walk`] runs over the bytes with the table of all structures ([`Kind`]), allocates nothing
//! for what it meets, and says how long the structure is, how much memory it will take
//! once decoded, and which few bytes have to be put in other words before `opcua_types`
//! may read them.
//!
//! The bodies of ExtensionObjects are measured, not entered: each is walked when its turn
//! to be decoded comes, with what is left of the same limits.

mod edit;
mod limits;
mod line;
mod problem;
mod table;
mod walk;

pub use edit::{Edit, INVALID_INDEX_RANGE, Rewrite};
pub(crate) use edit::{offset_before, rewritten};
pub use limits::Limits;
pub use problem::{Problem, ProblemAt};
pub use table::Kind;
pub(crate) use walk::true_body_lengths;
pub use walk::{Measure, walk, walk_at};

use crate::types::StatusCode;

/// One field of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A value.
    One(Kind),
    /// An array: an Int32 count, -1 for a null array, and the elements.
    Many(Kind),
}

/// What is done with a value that an enumeration does not have.
///
/// A value of a later version of the specification, or a wrong one, should spoil one
/// operation and not the connection. Where the enumeration has a value that says
/// "invalid" or "unknown", that one is decoded; where it has none, the message is refused
/// with the status code that Part 4 names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Decoded as this value.
    Use(i32),
    /// Refused with this status code.
    Refuse(StatusCode),
}

/// How a kind of value is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A built-in type of Part 6, 5.2.2.
    BuiltIn,
    /// An enumeration: an Int32 with the values it may have.
    Enumeration(&'static [i32], Otherwise),
    /// A structure: its fields, one after another.
    Structure(&'static [Field]),
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The name in the specification.
    pub name: &'static str,
    /// The numeric NodeId of the Default Binary encoding in namespace 0; 0 if there is none.
    pub encoding_id: u32,
    /// How it is built.
    pub form: Form,
    /// The size of the decoded value, without what it points to.
    pub size: usize,
}

/// What JSON has of a structure and the bytes have not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names {
    /// The numeric NodeId of the DataType, in namespace 0.
    pub data_type: u32,
    /// The names of its fields, in the order of the bytes.
    pub fields: &'static [&'static str],
}

impl Kind {
    /// The name in the specification.
    pub fn name(self) -> &'static str {
        self.shape().name
    }

    /// The numeric NodeId of the Default Binary encoding in namespace 0; 0 if there is none.
    pub const fn encoding_id(self) -> u32 {
        self.shape().encoding_id
    }

    /// The fewest bytes a value takes on the wire.
    ///
    /// A count of elements is believed only when this many bytes for each are there.
    pub const fn min_len(self) -> usize {
        table::MIN_LEN[self as usize]
    }

    /// Whether `value` is one that this enumeration has; false for other kinds.
    pub fn has_value(self, value: i32) -> bool {
        matches!(self.shape().form, Form::Enumeration(values, _) if values.contains(&value))
    }
}
