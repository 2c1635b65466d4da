//! What a node is, whatever its place among the others.

use wire::types::{LocalizedText, NodeClass, NodeId, QualifiedName};

use super::value::Source;

/// A node's place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub(super) u32);

impl NodeIndex {
    pub(super) fn get(self) -> usize {
        self.0 as usize
    }
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// Its name for programs.
    pub browse_name: QualifiedName,
    /// Its name for people.
    pub display_name: LocalizedText,
    /// What it is for.
    pub description: Option<LocalizedText>,
    /// What its class adds.
    pub body: Body,
}

/// What a node class adds to the attributes of all nodes (Part 3, 5).
#[derive(Debug)]
#[allow(missing_docs, reason = "the attributes' own names")]
pub enum Body {
    Object {
        event_notifier: u8,
    },
    Variable(Box<Variable>),
    Method {
        executable: bool,
        method: Option<Method>,
    },
    ObjectType {
        is_abstract: bool,
    },
    VariableType(Box<VariableType>),
    ReferenceType {
        is_abstract: bool,
        symmetric: bool,
        inverse_name: Option<LocalizedText>,
    },
    DataType {
        is_abstract: bool,
        /// The definition as an encoded Variant.
        definition: Option<Box<[u8]>>,
    },
    View {
        event_notifier: u8,
        contains_no_loops: bool,
    },
}

/// A variable.
#[derive(Debug)]
#[allow(missing_docs, reason = "the attributes' own names")]
pub struct Variable {
    pub source: Source,
    pub data_type: NodeId,
    pub value_rank: i32,
    pub array_dimensions: Option<Vec<u32>>,
    pub access_level: u8,
    /// Milliseconds; 0 when the server can notice each change.
    pub minimum_sampling_interval: f64,
    /// The bounds of an AnalogItem's EURange, which percent deadbands need.
    pub range: Option<(f64, f64)>,
}

/// The type of a variable.
#[derive(Debug)]
#[allow(missing_docs, reason = "the attributes' own names")]
pub struct VariableType {
    pub data_type: NodeId,
    pub value_rank: i32,
    pub array_dimensions: Option<Vec<u32>>,
    pub is_abstract: bool,
    /// The default value as an encoded Variant.
    pub value: Option<Box<[u8]>>,
}

/// What a method does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Gives its one argument, a Double, back.
    Echo,
    /// Part 5, 9.1: the items of a subscription by their handles.
    GetMonitoredItems,
    /// Part 5, 9.2: reports the last value of all items of a subscription again.
    ResendData,
}

/// Bits of the AccessLevel attribute (Part 3, 8.57).
pub mod access {
    /// The value can be read.
    pub const READ: u8 = 1;
    /// The value can be written.
    pub const WRITE: u8 = 2;
    /// A status can be written along.
    pub const STATUS_WRITE: u8 = 32;
    /// A timestamp can be written along.
    pub const TIMESTAMP_WRITE: u8 = 64;
}

impl Node {
    /// Its class.
    pub fn class(&self) -> NodeClass {
        match self.body {
            Body::Object { .. } => NodeClass::Object,
            Body::Variable(_) => NodeClass::Variable,
            Body::Method { .. } => NodeClass::Method,
            Body::ObjectType { .. } => NodeClass::ObjectType,
            Body::VariableType(_) => NodeClass::VariableType,
            Body::ReferenceType { .. } => NodeClass::ReferenceType,
            Body::DataType { .. } => NodeClass::DataType,
            Body::View { .. } => NodeClass::View,
        }
    }

    /// The variable, if it is one.
    pub fn variable(&self) -> Option<&Variable> {
        match &self.body {
            Body::Variable(variable) => Some(variable),
            _ => None,
        }
    }
}
