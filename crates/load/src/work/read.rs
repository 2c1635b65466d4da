//! Read.

use std::sync::Arc;

use plan::Read;
use wire::types::{NodeId, NumericRange, QualifiedName, ReadRequest, ReadValueId, RequestHeader};

use super::operations::Selection;
use super::{Asker, Operations, Service, WorkError};

/// Nodes to be read.
pub fn read(nodes: &[NodeId], read: &Read) -> Result<Operations, WorkError> {
    Operations::new(nodes.iter().map(|node| ReadValueId {
        node_id: node.clone(),
        attribute_id: read.attribute.0 as u32,
        index_range: read.index_range.clone().unwrap_or(NumericRange::None),
        data_encoding: QualifiedName::null(),
    }))
}

impl Asker {
    /// Read requests of a session.
    pub fn read(
        header: RequestHeader,
        read: &Read,
        operations: Arc<Operations>,
        selection: Selection,
    ) -> Result<Self, WorkError> {
        let empty = ReadRequest {
            request_header: header,
            max_age: read.max_age.as_secs_f64() * 1e3,
            timestamps_to_return: read.timestamps.into(),
            nodes_to_read: Some(Vec::new()),
        };
        Self::new(Service::Read, &empty, operations, selection)
    }
}
