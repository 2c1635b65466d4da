//! Write: values of each node's own type, and the originals to be put back.

use std::sync::Arc;

use plan::Values;
use wire::template::walk::BuiltInType;
use wire::types::{
    AttributeId, DataValue, NodeId, NumericRange, ReadRequest, ReadValueId, RequestHeader,
    StatusCode, TimestampsToReturn, Variant, WriteRequest, WriteValue,
};

use super::operations::{Change, Selection};
use super::{Asker, Operations, Service, WorkError, value};
use crate::access::Session;
use crate::transport::{CallError, one_each};

/// What a node held before.
#[derive(Debug, Clone)]
pub struct Original {
    /// The node.
    pub node: NodeId,
    /// Its value, or the part of it that is written.
    pub value: Variant,
    /// Which part that is.
    pub range: NumericRange,
}

/// How many values are read at a time before the run: within the limits of any server.
const AT_A_TIME: usize = 100;

/// Values to be written to these nodes; what they hold now is read first, for the types and to
/// be put back.
pub fn write(
    nodes: &[NodeId],
    values: &Values,
    seed: u64,
    index_range: &NumericRange,
    session: &mut Session,
) -> Result<(Operations, Vec<Original>), WorkError> {
    let originals = originals(nodes, index_range, session)?;
    let operations = under(nodes, &originals, values, seed)?;
    Ok((operations, originals))
}

/// The same values under other names of the nodes.
pub fn under(
    names: &[NodeId],
    originals: &[Original],
    values: &Values,
    seed: u64,
) -> Result<Operations, WorkError> {
    let mut written = Vec::with_capacity(originals.len());
    for (name, original) in names.iter().zip(originals) {
        let value = match values {
            Values::Fixed(text) => fixed(original, text)?,
            _ => original.value.clone(),
        };
        written.push(write_value(name, value, &original.range));
    }
    let kinds: Vec<_> = written.iter().map(number).collect();
    let mut operations = Operations::new(written)?;
    match values {
        Values::Count => operations.change(kinds, Change::Count),
        Values::Random => operations.change(kinds, Change::Random(seed)),
        Values::Original | Values::Fixed(_) => {}
    }
    Ok(operations)
}

fn write_value(node: &NodeId, value: Variant, index_range: &NumericRange) -> WriteValue {
    WriteValue {
        node_id: node.clone(),
        attribute_id: AttributeId::Value as u32,
        index_range: index_range.clone(),
        // Nothing but the value: many servers refuse statuses and timestamps from outside
        // (Part 4, 5.11.4.2).
        value: DataValue {
            value: Some(value),
            ..DataValue::default()
        },
    }
}

/// What the nodes hold. Of an array that is written in part only that part: what is written has to be as long as
/// its range (Part 4, 5.11.4.4).
fn originals(
    nodes: &[NodeId],
    range: &NumericRange,
    session: &mut Session,
) -> Result<Vec<Original>, WorkError> {
    let asked = |node: &NodeId| ReadValueId {
        index_range: range.clone(),
        ..ReadValueId::from(node.clone())
    };
    let mut originals = Vec::with_capacity(nodes.len());
    for nodes in nodes.chunks(AT_A_TIME) {
        let response = session.call(ReadRequest {
            request_header: RequestHeader::default(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(nodes.iter().map(asked).collect()),
        })?;
        let results = one_each(response.results, nodes.len()).map_err(CallError::from)?;
        for (node, result) in nodes.iter().zip(results) {
            let status = result.status.unwrap_or(StatusCode::Good);
            match result.value {
                Some(value) if !matches!(value, Variant::Empty) => originals.push(Original {
                    node: node.clone(),
                    value,
                    range: range.clone(),
                }),
                _ => {
                    return Err(WorkError::Node {
                        node: node.clone(),
                        what: "its type is not known because it has no value to read",
                        status,
                    });
                }
            }
        }
    }
    Ok(originals)
}

/// The type of a scalar that can count.
fn number(value: &WriteValue) -> Option<BuiltInType> {
    match value.value.value.as_ref()? {
        Variant::Boolean(_) => Some(BuiltInType::Boolean),
        Variant::SByte(_) => Some(BuiltInType::SByte),
        Variant::Byte(_) => Some(BuiltInType::Byte),
        Variant::Int16(_) => Some(BuiltInType::Int16),
        Variant::UInt16(_) => Some(BuiltInType::UInt16),
        Variant::Int32(_) => Some(BuiltInType::Int32),
        Variant::UInt32(_) => Some(BuiltInType::UInt32),
        Variant::Int64(_) => Some(BuiltInType::Int64),
        Variant::UInt64(_) => Some(BuiltInType::UInt64),
        Variant::Float(_) => Some(BuiltInType::Float),
        Variant::Double(_) => Some(BuiltInType::Double),
        _ => None,
    }
}

fn fixed(original: &Original, text: &str) -> Result<Variant, WorkError> {
    let kind = original.value.scalar_type_id();
    kind.and_then(|kind| value::scalar(text, kind))
        .ok_or_else(|| WorkError::Value {
            node: original.node.clone(),
            wanted: kind.map_or_else(|| "an array".into(), |kind| format!("{kind:?}")),
            text: text.to_owned(),
        })
}

/// Puts back what the nodes held before, and tells how many took it.
pub fn restore(originals: &[Original], session: &mut Session) -> Result<usize, WorkError> {
    let mut restored = 0;
    for originals in originals.chunks(AT_A_TIME) {
        let values = originals
            .iter()
            .map(|it| write_value(&it.node, it.value.clone(), &it.range));
        let response = session.call(WriteRequest {
            request_header: RequestHeader::default(),
            nodes_to_write: Some(values.collect()),
        })?;
        let good = |status: &&StatusCode| status.is_good();
        let results = one_each(response.results, originals.len()).map_err(CallError::from)?;
        restored += results.iter().filter(good).count();
    }
    Ok(restored)
}

impl Asker {
    /// Write requests of a session.
    pub fn write(
        header: RequestHeader,
        operations: Arc<Operations>,
        selection: Selection,
    ) -> Result<Self, WorkError> {
        let empty = WriteRequest {
            request_header: header,
            nodes_to_write: Some(Vec::new()),
        };
        Self::new(Service::Write, &empty, operations, selection)
    }
}
