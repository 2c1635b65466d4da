//! The types that values of a plant have: built-in ones, and those that it declares itself.

use std::sync::Arc;

use wire::template::walk::BuiltInType;
use wire::types::{DataTypeId, NodeId};

use crate::terms::Id;

/// The type of a value, or of an element of an array.
#[derive(Debug, Clone)]
pub enum Kind {
    /// One of the specification.
    BuiltIn(BuiltInType),
    /// A structure of the plant.
    Structure(Arc<Structure>),
    /// An enumeration of the plant; on the wire an Int32.
    Enumeration(Arc<Enumeration>),
}

/// A structure.
#[derive(Debug)]
pub struct Structure {
    /// Its name.
    pub name: String,
    /// The namespace of the plant it is in.
    pub namespace: usize,
    /// The id of its data type.
    pub id: Id,
    /// The id of its binary encoding.
    pub encoding: Id,
    /// What it is made of, in this order.
    pub fields: Vec<Field>,
}

/// A field of a structure, or an argument of a method.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// None for a scalar; the length of an array.
    pub len: Option<u32>,
}

/// An enumeration.
#[derive(Debug)]
pub struct Enumeration {
    /// Its name.
    pub name: String,
    /// The namespace of the plant it is in.
    pub namespace: usize,
    /// The id of its data type.
    pub id: Id,
    /// Names and numbers, ascending.
    pub values: Vec<(String, i32)>,
}

/// The names of the built-in types, as Part 6, 5.1.2 has them; ids from 1 on.
const BUILT_IN: &[(&str, BuiltInType)] = {
    use BuiltInType as T;
    &[
        ("Boolean", T::Boolean),
        ("SByte", T::SByte),
        ("Byte", T::Byte),
        ("Int16", T::Int16),
        ("UInt16", T::UInt16),
        ("Int32", T::Int32),
        ("UInt32", T::UInt32),
        ("Int64", T::Int64),
        ("UInt64", T::UInt64),
        ("Float", T::Float),
        ("Double", T::Double),
        ("String", T::String),
        ("DateTime", T::DateTime),
        ("Guid", T::Guid),
        ("ByteString", T::ByteString),
        ("XmlElement", T::XmlElement),
        ("NodeId", T::NodeId),
        ("ExpandedNodeId", T::ExpandedNodeId),
        ("StatusCode", T::StatusCode),
        ("QualifiedName", T::QualifiedName),
        ("LocalizedText", T::LocalizedText),
        ("ExtensionObject", T::ExtensionObject),
        ("DataValue", T::DataValue),
        ("Variant", T::Variant),
        ("DiagnosticInfo", T::DiagnosticInfo),
    ]
};

impl Kind {
    /// A built-in type by its name.
    pub fn built_in(name: &str) -> Option<Self> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| Self::BuiltIn(*kind))
    }

    /// The names of all built-in types.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn(kind) => BUILT_IN
                .iter()
                .find(|(_, known)| known == kind)
                .map_or("", |(name, _)| name),
            Self::Structure(of) => &of.name,
            Self::Enumeration(of) => &of.name,
        }
    }

    /// The type on the wire.
    pub fn wire(&self) -> BuiltInType {
        match self {
            Self::BuiltIn(kind) => *kind,
            Self::Structure(_) => BuiltInType::ExtensionObject,
            Self::Enumeration(_) => BuiltInType::Int32,
        }
    }

    /// A Boolean or a number: what patterns can be computed for.
    pub fn number(&self) -> Option<BuiltInType> {
        match self {
            Self::BuiltIn(kind) => (BuiltInType::Boolean as u8..=BuiltInType::Double as u8)
                .contains(&(*kind as u8))
                .then_some(*kind),
            Self::Enumeration(_) => Some(BuiltInType::Int32),
            Self::Structure(_) => None,
        }
    }

    /// The id of the data type. `namespaces` are the indices of the plant's namespaces.
    pub fn data_type(&self, namespaces: &[u16]) -> NodeId {
        match self {
            // Part 6, 5.1.2: the ids of the data types are those of the built-in types, but that
            // of a Variant's is BaseDataType, which is the same number.
            Self::BuiltIn(kind) => NodeId::new(0, u32::from(*kind as u8)),
            Self::Structure(of) => of.id.in_namespace(index(namespaces, of.namespace)),
            Self::Enumeration(of) => of.id.in_namespace(index(namespaces, of.namespace)),
        }
    }
}

/// The index of a namespace of the plant, all of which have one; 0 without indices, where a file is only looked through.
pub fn index(namespaces: &[u16], at: usize) -> u16 {
    let index = namespaces.get(at).copied();
    debug_assert!(index.is_some() || namespaces.is_empty());
    index.unwrap_or_default()
}

/// The data type of what has no other: a Structure.
pub const STRUCTURE: DataTypeId = DataTypeId::Structure;
