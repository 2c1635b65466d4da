//! Nodes that are known by where they are.

use std::collections::{HashSet, VecDeque};

use plan::{BrowsePath, NodeError, NodeSpec, Nodes, PathStep};
use wire::types::{
    BrowseDescription, BrowseDescriptionResultMask, BrowseDirection, BrowseRequest, NodeClassMask,
    NodeId, ObjectId, QualifiedName, ReferenceDescription, ReferenceTypeId, RequestHeader,
    ViewDescription,
};

use super::{WorkError, browse};
use crate::access::Session;

/// All nodes of a list; paths are browsed.
pub fn nodes(
    nodes: &Nodes,
    namespaces: &[String],
    session: &mut Session,
) -> Result<Vec<NodeId>, WorkError> {
    nodes.resolve(namespaces, |path| along(path, session))
}

/// The node that is meant.
pub fn node(
    spec: &NodeSpec,
    namespaces: &[String],
    session: &mut Session,
) -> Result<NodeId, WorkError> {
    let found = nodes(&Nodes::from(spec.clone()), namespaces, session)?;
    match <[NodeId; 1]>::try_from(found) {
        Ok([node]) => Ok(node),
        Err(found) => Err(WorkError::NotOne {
            spec: spec.to_string(),
            found: found.len(),
        }),
    }
}

/// What a path leads to: at least one node.
fn along(path: &BrowsePath, session: &mut Session) -> Result<Vec<NodeId>, WorkError> {
    let mut at = vec![NodeId::from(ObjectId::RootFolder)];
    for step in path.steps() {
        let next = match step {
            PathStep::Below => below(&at, session)?,
            PathStep::Any => right_below(&at, |_| true, session)?,
            PathStep::Name { namespace, name } => {
                let named = |it: &QualifiedName| {
                    it.name.as_ref() == name.as_str()
                        && namespace.is_none_or(|index| index == it.namespace_index)
                };
                right_below(&at, named, session)?
            }
        };
        if next.is_empty() {
            return Err(WorkError::NoSuchPath {
                path: path.to_string(),
                step: match step {
                    PathStep::Any | PathStep::Below => "node below it".into(),
                    PathStep::Name { name, .. } => name.clone(),
                },
            });
        }
        at = next;
    }
    Ok(at)
}

/// The children of some nodes whose names are wanted, each once.
fn right_below(
    nodes: &[NodeId],
    wanted: impl Fn(&QualifiedName) -> bool,
    session: &mut Session,
) -> Result<Vec<NodeId>, WorkError> {
    let mut found = Vec::new();
    for node in nodes {
        for child in children(node, session)? {
            if wanted(&child.browse_name) && !found.contains(&child.node_id.node_id) {
                found.push(child.node_id.node_id);
            }
        }
    }
    Ok(found)
}

/// Objects of sessions come and go (Part 5, 6.3.4): what is found there now is gone when it is asked for.
const OF_SESSIONS: ObjectId = ObjectId::Server_ServerDiagnostics_SessionsDiagnosticsSummary;

/// All that is below some nodes, each once, the nearest first; but for what comes and goes.
fn below(nodes: &[NodeId], session: &mut Session) -> Result<Vec<NodeId>, WorkError> {
    let mut seen: HashSet<NodeId> = nodes.iter().cloned().collect();
    let mut all: VecDeque<NodeId> = nodes.iter().cloned().collect();
    let mut found = Vec::new();
    while let Some(node) = all.pop_front() {
        if node == OF_SESSIONS {
            continue;
        }
        let below = match children(&node, session) {
            // Not everybody may browse everything.
            Err(WorkError::Node { .. }) => continue,
            below => below?,
        };
        for child in below.into_iter().map(|it| it.node_id.node_id) {
            if seen.insert(child.clone()) {
                all.push_back(child.clone());
                found.push(child);
            }
        }
    }
    Ok(found)
}

/// All children of a node along hierarchical references.
fn children(node: &NodeId, session: &mut Session) -> Result<Vec<ReferenceDescription>, WorkError> {
    let response = session.call(BrowseRequest {
        request_header: RequestHeader::default(),
        view: ViewDescription::default(),
        requested_max_references_per_node: 0,
        nodes_to_browse: Some(vec![BrowseDescription {
            node_id: node.clone(),
            browse_direction: BrowseDirection::Forward,
            reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
            include_subtypes: true,
            node_class_mask: NodeClassMask::empty().bits(),
            result_mask: BrowseDescriptionResultMask::RESULT_MASK_BROWSE_NAME.bits(),
        }]),
    })?;
    let mut result = response.results.and_then(|mut all| all.pop());
    let mut children = Vec::new();
    while let Some(part) = result.take() {
        if part.status_code.bits() >> 31 != 0 {
            return Err(WorkError::Node {
                node: node.clone(),
                what: "its children cannot be browsed",
                status: part.status_code,
            });
        }
        children.extend(part.references.unwrap_or_default());
        if !part.continuation_point.is_null_or_empty() {
            let header = RequestHeader::default();
            let next = session.call(browse::next(header, vec![part.continuation_point], false))?;
            result = next.results.and_then(|mut all| all.pop());
        }
    }
    Ok(children)
}

impl From<NodeError> for WorkError {
    fn from(error: NodeError) -> Self {
        Self::Spec(error)
    }
}

/// The value of a property of a node, if there is one of this name in namespace 0.
pub fn property(
    node: &NodeId,
    name: &str,
    session: &mut Session,
) -> Result<Option<NodeId>, WorkError> {
    let found = children(node, session).or_else(|error| match error {
        // The node may not be one to browse; whoever uses it will be told.
        WorkError::Node { .. } => Ok(Vec::new()),
        error => Err(error),
    })?;
    let property = found.into_iter().find(|child| {
        child.browse_name.namespace_index == 0 && child.browse_name.name.as_ref() == name
    });
    Ok(property.map(|child| child.node_id.node_id))
}
