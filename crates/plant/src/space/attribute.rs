//! Attributes as they are read: a DataValue appended to a response.

use wire::template::walk::{BuiltInType, ReadNode};
use wire::time::Now;
use wire::types::{DataTypeId, NodeId, StatusCode, VariableId, Variant};

use super::node::{Body, Node, Variable, access};
use super::value::Stamp;
use super::{NodeRef, Space, encode, range};
use crate::space::rights::{OWNERS, Rights};

/// Numbers of the attributes (Part 6, A.1).
#[allow(missing_docs, reason = "the specification's own names")]
pub mod id {
    pub const NODE_ID: u32 = 1;
    pub const NODE_CLASS: u32 = 2;
    pub const BROWSE_NAME: u32 = 3;
    pub const DISPLAY_NAME: u32 = 4;
    pub const DESCRIPTION: u32 = 5;
    pub const WRITE_MASK: u32 = 6;
    pub const USER_WRITE_MASK: u32 = 7;
    pub const IS_ABSTRACT: u32 = 8;
    pub const SYMMETRIC: u32 = 9;
    pub const INVERSE_NAME: u32 = 10;
    pub const CONTAINS_NO_LOOPS: u32 = 11;
    pub const EVENT_NOTIFIER: u32 = 12;
    pub const VALUE: u32 = 13;
    pub const DATA_TYPE: u32 = 14;
    pub const VALUE_RANK: u32 = 15;
    pub const ARRAY_DIMENSIONS: u32 = 16;
    pub const ACCESS_LEVEL: u32 = 17;
    pub const USER_ACCESS_LEVEL: u32 = 18;
    pub const MINIMUM_SAMPLING_INTERVAL: u32 = 19;
    pub const HISTORIZING: u32 = 20;
    pub const EXECUTABLE: u32 = 21;
    pub const USER_EXECUTABLE: u32 = 22;
    pub const DATA_TYPE_DEFINITION: u32 = 23;
    pub const ROLE_PERMISSIONS: u32 = 24;
    pub const ACCESS_RESTRICTIONS: u32 = 26;
    pub const ACCESS_LEVEL_EX: u32 = 27;
}

/// Which timestamps go with a value (Part 4, 7.40).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// The source's.
    pub source: bool,
    /// The server's.
    pub server: bool,
}

impl Timestamps {
    /// From the enumeration TimestampsToReturn. None for a value it does not have.
    pub fn from_wire(value: i32) -> Option<Self> {
        let (source, server) = match value {
            0 => (true, false),
            1 => (false, true),
            2 => (true, true),
            3 => (false, false),
            _ => return None,
        };
        Some(Self { source, server })
    }
}

/// Bits of a DataValue's mask (Part 6, 5.2.2.17).
pub(crate) mod mask {
    pub const VALUE: u8 = 0x01;
    pub const STATUS: u8 = 0x02;
    pub const SOURCE: u8 = 0x04;
    pub const SERVER: u8 = 0x08;
}

const SECURITY_DIAGNOSTICS: VariableId =
    VariableId::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray;

/// For whom, with which times and when something is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The times asked for.
    pub stamps: Timestamps,
    /// What the reader may do.
    pub rights: Rights,
    /// When.
    pub now: Now,
}

/// The access level that a user has of a variable. The standard nodes are for everybody.
#[inline]
pub(crate) fn user_access(node: &Node, variable: &Variable, rights: Rights) -> u8 {
    match node.id.namespace {
        // Part 5, 6.3.4: who else is there is not for everybody.
        0 if rights != Rights::ALL && node.id == SECURITY_DIAGNOSTICS => 0,
        _ if variable.zone == OWNERS && rights != Rights::ALL => 0,
        _ if variable.zone >= OWNERS => variable.access_level,
        // All may look; what can be changed there can be by those who may write.
        0 if variable.access_level & access::WRITE == 0 || rights.write => variable.access_level,
        0 => variable.access_level & !access::WRITE,
        _ => variable.access_level & rights.within(variable.zone).access(),
    }
}

/// Whether a user may call a method. Those of the Server object are for everybody.
pub(crate) fn may_call(node: &Node, rights: Rights) -> bool {
    let zone = match node.body {
        Body::Method { zone, .. } => zone,
        _ => 0,
    };
    node.id.namespace == 0 || rights.within(zone).call
}

/// Appends what reading one attribute of one node gives. Returns how many bytes were looked at beside those appended: an
/// index range takes a part of a value that has to be there whole.
#[inline]
pub fn read(space: &Space, what: &ReadNode<'_>, reading: Reading, out: &mut Vec<u8>) -> usize {
    let Reading {
        stamps,
        rights,
        now,
    } = reading;
    if what.attribute_id == id::VALUE
        && what.index_range.is_empty()
        && what.data_encoding.1.is_empty()
        && let Some(at) = space.find(what.node_id)
        // Nodes that may go any time take the way of all that is not asked for a million times.
        && let Some(node) = space.lasting(at)
        && let Body::Variable(variable) = &node.body
        && user_access(node, variable, rights) & access::READ != 0
    {
        match variable.source.bits(now, space.anchor()) {
            Some((kind, bits, stamp)) => put_scalar(out, kind, bits, stamp, stamps, now),
            None => {
                let start = out.len();
                out.push(0);
                let stamp = variable.source.write(now, space.anchor(), out);
                finish(out, start, stamp, stamps, now);
            }
        }
        return 0;
    }
    let (start, mut whole) = (out.len(), 0);
    if let Err(status) = read_any(space, what, reading, &mut whole, out) {
        out.truncate(start);
        refuse(out, status, stamps, now);
    }
    whole
}

/// The longest DataValue of a scalar: mask, Variant, status and two times.
const LONGEST: usize = 1 + 9 + 4 + 8 + 8;

/// Appends the DataValue of a scalar, put together where the processor has it at hand and
/// appended in one piece of constant length.
#[inline]
fn put_scalar(
    out: &mut Vec<u8>,
    kind: BuiltInType,
    bits: u64,
    stamp: Stamp,
    stamps: Timestamps,
    now: Now,
) {
    let mut value = [0; LONGEST];
    value[0] = mask::VALUE;
    value[1] = kind as u8;
    value[2..10].copy_from_slice(&bits.to_le_bytes());
    let mut len = 2 + kind.size().unwrap_or(0).min(8);
    let mut put = |len: &mut usize, bit, bytes: &[u8]| {
        value[0] |= bit;
        if let Some(place) = value.get_mut(*len..*len + bytes.len()) {
            place.copy_from_slice(bytes);
            *len += bytes.len();
        }
    };
    if stamp.status != StatusCode::Good {
        put(&mut len, mask::STATUS, &stamp.status.bits().to_le_bytes());
    }
    if stamps.source {
        put(&mut len, mask::SOURCE, &stamp.source.to_le_bytes());
    }
    if stamps.server {
        put(&mut len, mask::SERVER, &now.utc.to_le_bytes());
    }
    let start = out.len();
    out.extend_from_slice(&value);
    out.truncate(start + len);
}

/// Sets the mask in front of a value and appends what stands behind it.
#[inline]
pub(crate) fn finish(out: &mut Vec<u8>, start: usize, stamp: Stamp, stamps: Timestamps, now: Now) {
    let mut bits = mask::VALUE;
    if stamp.status != StatusCode::Good {
        bits |= mask::STATUS;
        out.extend_from_slice(&stamp.status.bits().to_le_bytes());
    }
    if stamps.source {
        bits |= mask::SOURCE;
        out.extend_from_slice(&stamp.source.to_le_bytes());
    }
    if stamps.server {
        bits |= mask::SERVER;
        out.extend_from_slice(&now.utc.to_le_bytes());
    }
    if let Some(mask) = out.get_mut(start) {
        *mask = bits;
    }
}

/// Appends a DataValue that is nothing but a status.
pub(crate) fn refuse(out: &mut Vec<u8>, status: StatusCode, stamps: Timestamps, now: Now) {
    out.push(mask::STATUS | if stamps.server { mask::SERVER } else { 0 });
    out.extend_from_slice(&status.bits().to_le_bytes());
    if stamps.server {
        out.extend_from_slice(&now.utc.to_le_bytes());
    }
}

#[cold]
fn read_any(
    space: &Space,
    what: &ReadNode<'_>,
    reading: Reading,
    whole: &mut usize,
    out: &mut Vec<u8>,
) -> Result<(), StatusCode> {
    let Reading {
        stamps,
        rights,
        now,
    } = reading;
    let node = find(space, what)?;
    let range = range::parse(what.index_range)?;
    let start = out.len();
    out.push(0);
    let stamp = match (&node.body, what.attribute_id) {
        (Body::Variable(variable), id::VALUE) => {
            readable(&node, variable, rights)?;
            known_encoding(space, variable, what.data_encoding)?;
            let stamp = variable.source.write(now, space.anchor(), out);
            if range.has_range() {
                *whole = out.len() - start;
                range::cut(out, start + 1, &range)?;
            }
            stamp
        }
        _ => {
            if range.has_range() {
                return Err(StatusCode::BadIndexRangeNoData);
            }
            // Part 4, 5.11.2: an encoding can only be asked for of the Value.
            if !what.data_encoding.1.is_empty() {
                return Err(StatusCode::BadDataEncodingInvalid);
            }
            other(&node, what.attribute_id, rights, out)?;
            Stamp {
                status: StatusCode::Good,
                source: 0,
            }
        }
    };
    // Only values come from a source.
    let source = stamps.source && what.attribute_id == id::VALUE;
    finish(out, start, stamp, Timestamps { source, ..stamps }, now);
    Ok(())
}

fn find<'a>(space: &'a Space, what: &ReadNode<'_>) -> Result<NodeRef<'a>, StatusCode> {
    let at = space.find(what.node_id);
    at.and_then(|at| space.node(at))
        .ok_or(StatusCode::BadNodeIdUnknown)
}

/// Part 4, 5.11.2.4: a value that nobody can read, and one that this user must not.
pub(crate) fn readable(node: &Node, variable: &Variable, rights: Rights) -> Result<(), StatusCode> {
    if variable.access_level & access::READ == 0 {
        return Err(StatusCode::BadNotReadable);
    }
    match user_access(node, variable, rights) & access::READ {
        0 => Err(StatusCode::BadUserAccessDenied),
        _ => Ok(()),
    }
}

/// Part 4, 5.11.2.2: encodings are for structures; here they have the default one.
fn known_encoding(
    space: &Space,
    variable: &Variable,
    (namespace, name): (u16, &[u8]),
) -> Result<(), StatusCode> {
    if name.is_empty() {
        return Ok(());
    }
    if !is_structure(space, &variable.data_type) {
        return Err(StatusCode::BadDataEncodingInvalid);
    }
    match (namespace, name) {
        (0, b"Default Binary") => Ok(()),
        (0, b"Default XML" | b"Default JSON") => Err(StatusCode::BadDataEncodingUnsupported),
        _ => Err(StatusCode::BadDataEncodingInvalid),
    }
}

fn is_structure(space: &Space, data_type: &NodeId) -> bool {
    let structure = space.find_id(&DataTypeId::Structure.into());
    match (space.find_id(data_type), structure) {
        (Some(kind), Some(structure)) => space.is_subtype(kind, structure),
        _ => false,
    }
}

/// Whether a node has an attribute.
pub fn has(node: &Node, attribute: u32) -> bool {
    attribute == id::VALUE && matches!(node.body, Body::Variable(_))
        || other(node, attribute, Rights::ALL, &mut Vec::new()).is_ok()
}

/// Appends any attribute but the value of a variable.
pub(crate) fn other(
    node: &Node,
    attribute: u32,
    rights: Rights,
    out: &mut Vec<u8>,
) -> Result<(), StatusCode> {
    let invalid = Err(StatusCode::BadAttributeIdInvalid);
    let value: Variant = match attribute {
        id::NODE_ID => node.id.clone().into(),
        id::NODE_CLASS => (node.class() as i32).into(),
        id::BROWSE_NAME => node.browse_name().into(),
        id::DISPLAY_NAME => node.display_name().into(),
        id::DESCRIPTION => match node.description() {
            Some(description) => description.clone().into(),
            None => return invalid,
        },
        // No attribute but the value can be written.
        id::WRITE_MASK | id::USER_WRITE_MASK => 0u32.into(),
        // Optional, and not kept here.
        id::ROLE_PERMISSIONS..=id::ACCESS_RESTRICTIONS => return invalid,
        id::USER_ACCESS_LEVEL if let Some(variable) = node.variable() => {
            user_access(node, variable, rights).into()
        }
        id::USER_EXECUTABLE if let Body::Method { executable, .. } = node.body => {
            (executable && may_call(node, rights)).into()
        }
        _ => match of_class(&node.body, attribute, out)? {
            Some(value) => value,
            None => return Ok(()),
        },
    };
    encode::encode(&value, out);
    Ok(())
}

/// An attribute that only some classes have; nothing if it was appended already.
fn of_class(body: &Body, attribute: u32, out: &mut Vec<u8>) -> Result<Option<Variant>, StatusCode> {
    let value: Variant = match (body, attribute) {
        (
            Body::Object { event_notifier } | Body::View { event_notifier, .. },
            id::EVENT_NOTIFIER,
        ) => (*event_notifier).into(),
        (
            Body::View {
                contains_no_loops, ..
            },
            id::CONTAINS_NO_LOOPS,
        ) => (*contains_no_loops).into(),
        (Body::Variable(variable), _) => of_variable(variable, attribute)?,
        (Body::Method { executable, .. }, id::EXECUTABLE) => (*executable).into(),
        (
            Body::ObjectType { is_abstract }
            | Body::ReferenceType { is_abstract, .. }
            | Body::DataType { is_abstract, .. },
            id::IS_ABSTRACT,
        ) => (*is_abstract).into(),
        (Body::ReferenceType { symmetric, .. }, id::SYMMETRIC) => (*symmetric).into(),
        (
            Body::ReferenceType {
                inverse_name: Some(name),
                ..
            },
            id::INVERSE_NAME,
        ) => (**name).clone().into(),
        (
            Body::DataType {
                definition: Some(definition),
                ..
            },
            id::DATA_TYPE_DEFINITION,
        ) => {
            out.extend_from_slice(definition);
            return Ok(None);
        }
        (Body::VariableType(of), id::VALUE) => match &of.value {
            Some(value) => {
                out.extend_from_slice(value);
                return Ok(None);
            }
            None => return Err(StatusCode::BadAttributeIdInvalid),
        },
        (Body::VariableType(of), id::DATA_TYPE) => of.data_type.clone().into(),
        (Body::VariableType(of), id::VALUE_RANK) => of.value_rank.into(),
        (Body::VariableType(of), id::IS_ABSTRACT) => of.is_abstract.into(),
        (Body::VariableType(of), id::ARRAY_DIMENSIONS) => {
            dimensions(of.array_dimensions.as_deref(), of.value_rank)?
        }
        _ => return Err(StatusCode::BadAttributeIdInvalid),
    };
    Ok(Some(value))
}

fn of_variable(variable: &Variable, attribute: u32) -> Result<Variant, StatusCode> {
    Ok(match attribute {
        id::DATA_TYPE => variable.data_type.clone().into(),
        id::VALUE_RANK => variable.value_rank.into(),
        id::ARRAY_DIMENSIONS => {
            dimensions(variable.array_dimensions.as_deref(), variable.value_rank)?
        }
        id::ACCESS_LEVEL => variable.access_level.into(),
        id::ACCESS_LEVEL_EX => u32::from(variable.access_level).into(),
        id::MINIMUM_SAMPLING_INTERVAL => variable.minimum_sampling_interval.into(),
        id::HISTORIZING => (variable.access_level & access::HISTORY_READ != 0).into(),
        _ => return Err(StatusCode::BadAttributeIdInvalid),
    })
}

/// Part 3, 5.6.2: as many as the rank says, 0 where the length varies.
fn dimensions(known: Option<&[u32]>, rank: i32) -> Result<Variant, StatusCode> {
    match (known, usize::try_from(rank)) {
        (Some(known), _) => Ok(known.to_vec().into()),
        (None, Ok(rank)) if rank > 0 => Ok(vec![0u32; rank].into()),
        _ => Err(StatusCode::BadAttributeIdInvalid),
    }
}
