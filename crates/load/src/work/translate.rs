//! TranslateBrowsePathsToNodeIds.

use std::sync::Arc;

use plan::{BrowsePath as Path, PathStep};
use wire::types::{
    BrowsePath, NodeId, QualifiedName, ReferenceTypeId, RelativePath, RelativePathElement,
    RequestHeader, TranslateBrowsePathsToNodeIdsRequest,
};

use super::operations::Selection;
use super::{Asker, Operations, Service, WorkError};

/// Paths from a node.
pub fn translate(start: &NodeId, paths: &[Path]) -> Result<Operations, WorkError> {
    Operations::new(paths.iter().map(|path| BrowsePath {
        starting_node: start.clone(),
        relative_path: RelativePath {
            elements: Some(path.steps().iter().filter_map(element).collect()),
        },
    }))
}

/// A plan has no stars in the paths that are translated.
fn element(step: &PathStep) -> Option<RelativePathElement> {
    let PathStep::Name { namespace, name } = step else {
        return None;
    };
    Some(RelativePathElement {
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        is_inverse: false,
        include_subtypes: true,
        target_name: QualifiedName::new(namespace.unwrap_or(0), name.as_str()),
    })
}

impl Asker {
    /// TranslateBrowsePathsToNodeIds requests of a session.
    pub fn translate(
        header: RequestHeader,
        operations: Arc<Operations>,
        selection: Selection,
    ) -> Result<Self, WorkError> {
        let empty = TranslateBrowsePathsToNodeIdsRequest {
            request_header: header,
            browse_paths: Some(Vec::new()),
        };
        Self::new(Service::Translate, &empty, operations, selection)
    }
}
