//! Browse.

use std::sync::Arc;

use plan::Direction;
use wire::types::{
    BrowseDescription, BrowseDescriptionResultMask, BrowseDirection, BrowseNextRequest,
    BrowseRequest, ByteString, NodeClassMask, NodeId, RequestHeader, ViewDescription,
};

use super::operations::Selection;
use super::{Asker, Operations, Service, WorkError};

/// References of these nodes, with all that is to be known of them; of all types, or of one.
pub fn browse(
    nodes: &[NodeId],
    direction: Direction,
    reference: Option<&NodeId>,
) -> Result<Operations, WorkError> {
    Operations::new(nodes.iter().map(|node| BrowseDescription {
        node_id: node.clone(),
        browse_direction: match direction {
            Direction::Forward => BrowseDirection::Forward,
            Direction::Inverse => BrowseDirection::Inverse,
            Direction::Both => BrowseDirection::Both,
        },
        // Part 4, 5.9.2.2: null stands for all of them.
        reference_type_id: reference.cloned().unwrap_or_default(),
        include_subtypes: true,
        node_class_mask: NodeClassMask::empty().bits(),
        result_mask: BrowseDescriptionResultMask::all().bits(),
    }))
}

/// The rest of a Browse whose results did not fit in one response; or the server may forget it.
pub fn next(header: RequestHeader, points: Vec<ByteString>, release: bool) -> BrowseNextRequest {
    BrowseNextRequest {
        request_header: header,
        release_continuation_points: release,
        continuation_points: Some(points),
    }
}

impl Asker {
    /// Browse requests of a session; `references` at most for each node, 0 for as many as the
    /// server likes.
    pub fn browse(
        header: RequestHeader,
        references: u32,
        operations: Arc<Operations>,
        selection: Selection,
    ) -> Result<Self, WorkError> {
        let empty = BrowseRequest {
            request_header: header,
            view: ViewDescription::default(),
            requested_max_references_per_node: references,
            nodes_to_browse: Some(Vec::new()),
        };
        Self::new(Service::Browse, &empty, operations, selection)
    }
}
