//! What a node is, whatever its place among the others.

use std::ops::Deref;
use std::sync::Arc;

use wire::template::walk::BuiltInType;
use wire::types::{LocalizedText, NodeClass, NodeId, QualifiedName};

use super::value::Source;
use crate::space::event::ConditionAction;

/// A node's place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub(super) u32);

impl NodeIndex {
    pub(super) fn get(self) -> usize {
        self.0 as usize
    }
}

/// A node. There may be a million of them, so it is kept small.
#[derive(Debug)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// What it is called.
    pub names: Names,
    /// What its class adds.
    pub body: Body,
}

/// What a node is called.
#[derive(Debug)]
pub enum Names {
    /// The same by programs and people: a name in the namespace of its id.
    Plain(Box<str>),
    /// Differently, or with a description.
    Full(Box<FullNames>),
}

/// Names one by one.
#[derive(Debug, Clone)]
pub struct FullNames {
    /// The name for programs.
    pub browse_name: QualifiedName,
    /// The name for people.
    pub display_name: LocalizedText,
    /// What the node is for.
    pub description: Option<LocalizedText>,
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
        /// Where it is, for users whose rights depend on it.
        zone: u8,
    },
    ObjectType {
        is_abstract: bool,
    },
    VariableType(Box<VariableType>),
    ReferenceType {
        is_abstract: bool,
        symmetric: bool,
        inverse_name: Option<Box<LocalizedText>>,
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

/// A variable: where its value comes from, and what it has in common with others.
#[derive(Debug)]
pub struct Variable {
    /// Where its value comes from.
    pub source: Source,
    /// All attributes but the value; one copy for all variables alike.
    pub shape: Arc<Shape>,
}

impl Variable {
    /// A variable of a shape that it shares with others, or has alone.
    pub fn new(source: Source, shape: impl Into<Arc<Shape>>) -> Self {
        Self {
            source,
            shape: shape.into(),
        }
    }
}

impl Deref for Variable {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        &self.shape
    }
}

/// The attributes of a variable but for its value.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the attributes' own names")]
pub struct Shape {
    pub data_type: NodeId,
    pub value_rank: i32,
    pub array_dimensions: Option<Vec<u32>>,
    pub access_level: u8,
    /// Milliseconds; 0 when the server can notice each change.
    pub minimum_sampling_interval: f64,
    /// The bounds of an AnalogItem's EURange, which percent deadbands need.
    pub range: Option<(f64, f64)>,
    /// Where it is, for users whose rights depend on it.
    pub zone: u8,
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

/// The types of a method's arguments, and whether they are arrays.
pub type Signature = Arc<[(BuiltInType, bool)]>;

/// What a method does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Gives its arguments back.
    Echo(Signature),
    /// Adds so many Doubles up.
    Sum(usize),
    /// Takes its arguments and gives nothing.
    Nothing(Signature),
    /// Part 5, 9.1: the items of a subscription by their handles.
    GetMonitoredItems,
    /// Part 5, 9.2: reports the last value of all items of a subscription again.
    ResendData,
    /// Part 9, 5.5.7: reports the states of all conditions of interest.
    ConditionRefresh,
    /// Part 9, 5.5.8: the same to one item.
    ConditionRefresh2,
    /// Something that is done to a condition.
    Condition(ConditionAction),
    /// Part 12, 7.9.11: whether a certificate was revoked.
    CheckRevocationStatus,
    /// Part 14, 8.3.2: the keys of a security group.
    GetSecurityKeys,
    /// Part 14, 8.3.3: its node.
    GetSecurityGroup,
    /// Part 14, 9.1.3.3: the keys of a security group, made elsewhere.
    SetSecurityKeys,
    /// What the server counted, as JSON.
    GroundTruth,
    /// How variables change by themselves.
    DescribeSignals,
    /// Lets something go wrong.
    AddFault,
    /// Ends one fault.
    ClearFault,
    /// Ends all faults.
    ClearFaults,
    /// The faults with their counts, as JSON.
    ListFaults,
}

/// Bits of the AccessLevel attribute (Part 3, 8.57).
pub mod access {
    /// The value can be read.
    pub const READ: u8 = 1;
    /// The value can be written.
    pub const WRITE: u8 = 2;
    /// What it was can be read.
    pub const HISTORY_READ: u8 = 4;
    /// A status can be written along.
    pub const STATUS_WRITE: u8 = 32;
    /// A timestamp can be written along.
    pub const TIMESTAMP_WRITE: u8 = 64;
}

impl Shape {
    /// A scalar that can only be read.
    pub fn scalar(data_type: impl Into<NodeId>) -> Self {
        Self {
            data_type: data_type.into(),
            value_rank: -1,
            array_dimensions: None,
            access_level: access::READ,
            minimum_sampling_interval: 0.0,
            range: None,
            zone: 0,
        }
    }
}

impl Node {
    /// Its name for programs.
    pub fn browse_name(&self) -> QualifiedName {
        match &self.names {
            Names::Plain(name) => QualifiedName::new(self.id.namespace, &**name),
            Names::Full(names) => names.browse_name.clone(),
        }
    }

    /// Whether programs call it so.
    pub fn is_called(&self, browse_name: &QualifiedName) -> bool {
        match &self.names {
            Names::Plain(name) => {
                browse_name.namespace_index == self.id.namespace
                    && browse_name.name.as_ref() == &**name
            }
            Names::Full(names) => names.browse_name == *browse_name,
        }
    }

    /// Its name for people.
    pub fn display_name(&self) -> LocalizedText {
        match &self.names {
            Names::Plain(name) => LocalizedText::new("", name),
            Names::Full(names) => names.display_name.clone(),
        }
    }

    /// The same once more, for a server that wants to change it. Only values that are constant or
    /// computed can be had twice.
    pub(super) fn another(&self) -> Option<Self> {
        let body = match &self.body {
            Body::Variable(variable) => {
                let source = match &variable.source {
                    Source::Constant { encoded, since } => Source::Constant {
                        encoded: encoded.clone(),
                        since: *since,
                    },
                    Source::Signal(signal) => Source::Signal(signal.clone()),
                    Source::Live(live) => Source::Live(Arc::clone(live)),
                    Source::Scalar(_) | Source::Blob(_) => return None,
                };
                let shape = Arc::clone(&variable.shape);
                Body::Variable(Box::new(Variable { source, shape }))
            }
            Body::Object { event_notifier } => Body::Object {
                event_notifier: *event_notifier,
            },
            Body::Method {
                executable,
                method,
                zone,
            } => Body::Method {
                executable: *executable,
                zone: *zone,
                method: method.clone(),
            },
            _ => return None,
        };
        let names = match &self.names {
            Names::Plain(name) => Names::Plain(name.clone()),
            Names::Full(names) => Names::Full(names.clone()),
        };
        Some(Self {
            id: self.id.clone(),
            names,
            body,
        })
    }

    /// What it is for.
    pub fn description(&self) -> Option<&LocalizedText> {
        match &self.names {
            Names::Plain(_) => None,
            Names::Full(names) => names.description.as_ref(),
        }
    }

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
