//! Browse, BrowseNext, TranslateBrowsePathsToNodeIds, RegisterNodes, UnregisterNodes
//! (Part 4, 5.9).

use wire::types::{
    BrowseDescription, BrowseDirection, BrowseNextRequest, BrowseNextResponse, BrowsePath,
    BrowsePathResult, BrowsePathTarget, BrowseRequest, BrowseResponse, BrowseResult, ByteString,
    ExpandedNodeId, LocalizedText, NodeClass, NodeId, QualifiedName, ReferenceDescription,
    RegisterNodesRequest, RegisterNodesResponse, RelativePathElement, StatusCode,
    TranslateBrowsePathsToNodeIdsRequest, TranslateBrowsePathsToNodeIdsResponse,
    UnregisterNodesRequest, UnregisterNodesResponse,
};

use super::{Desk, operations};
use crate::space::{Body, Link, NodeIndex, Space};

/// Bits of the BrowseResultMask (Part 4, 7.6).
mod result {
    pub const REFERENCE_TYPE: u32 = 1;
    pub const IS_FORWARD: u32 = 2;
    pub const NODE_CLASS: u32 = 4;
    pub const BROWSE_NAME: u32 = 8;
    pub const DISPLAY_NAME: u32 = 16;
    pub const TYPE_DEFINITION: u32 = 32;
}

/// A browse of one node, and how far it has come.
#[derive(Debug, Clone)]
struct Browsing {
    node: NodeIndex,
    direction: BrowseDirection,
    /// The type of references wanted, and whether its subtypes are.
    kind: Option<(NodeIndex, bool)>,
    classes: u32,
    mask: u32,
    /// The most references of one answer.
    most: usize,
    /// Links looked at so far.
    next: usize,
}

/// Browses of a session that are not finished (Part 4, 7.9).
#[derive(Debug, Default)]
pub struct ContinuationPoints {
    points: Vec<(u32, Browsing)>,
    last: u32,
}

impl ContinuationPoints {
    fn keep(&mut self, browsing: Browsing, limit: usize) -> Result<ByteString, StatusCode> {
        if self.points.len() >= limit {
            return Err(StatusCode::BadNoContinuationPoints);
        }
        self.last = self.last.wrapping_add(1);
        self.points.push((self.last, browsing));
        Ok(ByteString::from(self.last.to_le_bytes().to_vec()))
    }

    fn take(&mut self, point: &ByteString) -> Option<Browsing> {
        let number = u32::from_le_bytes(point.as_ref().try_into().ok()?);
        let at = self.points.iter().position(|(n, _)| *n == number)?;
        Some(self.points.remove(at).1)
    }
}

impl Desk<'_> {
    pub(super) fn browse(&mut self, request: BrowseRequest) -> Result<BrowseResponse, StatusCode> {
        let limits = &self.shared.config.limits;
        let nodes = operations(request.nodes_to_browse, limits.nodes_per_browse)?;
        // There are no views: a null id is the whole address space.
        if !request.view.view_id.is_null() {
            return Err(StatusCode::BadViewIdUnknown);
        }
        let most = match request.requested_max_references_per_node as usize {
            0 => limits.references_per_node,
            asked => asked.min(limits.references_per_node),
        };
        let results = nodes.iter().map(|what| {
            let begun = begin(&self.shared.space, what, most);
            self.go_on(begun)
        });
        Ok(BrowseResponse {
            results: Some(results.collect()),
            ..Default::default()
        })
    }

    pub(super) fn browse_next(
        &mut self,
        request: BrowseNextRequest,
    ) -> Result<BrowseNextResponse, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_browse;
        let points = operations(request.continuation_points, limit)?;
        let results = points.iter().map(|point| {
            let kept = self.session.points.take(point);
            let kept = kept.ok_or(StatusCode::BadContinuationPointInvalid);
            match (kept, request.release_continuation_points) {
                // Released: an answer without references.
                (Ok(_), true) => BrowseResult::default(),
                (kept, _) => self.go_on(kept),
            }
        });
        Ok(BrowseNextResponse {
            results: Some(results.collect()),
            ..Default::default()
        })
    }

    fn go_on(&mut self, browsing: Result<Browsing, StatusCode>) -> BrowseResult {
        let refused = |status_code| BrowseResult {
            status_code,
            ..Default::default()
        };
        let mut browsing = match browsing {
            Ok(browsing) => browsing,
            Err(status) => return refused(status),
        };
        let (references, finished) = collect(&self.shared.space, &mut browsing);
        let mut result = BrowseResult {
            references: Some(references),
            ..Default::default()
        };
        if !finished {
            let limit = self.shared.config.limits.continuation_points;
            match self.session.points.keep(browsing, limit) {
                Ok(point) => result.continuation_point = point,
                Err(status) => return refused(status),
            }
        }
        result
    }

    pub(super) fn translate(
        &mut self,
        request: TranslateBrowsePathsToNodeIdsRequest,
    ) -> Result<TranslateBrowsePathsToNodeIdsResponse, StatusCode> {
        let limit = self.shared.config.limits.paths_per_translate;
        let paths = operations(request.browse_paths, limit)?;
        let results = paths.iter().map(|path| {
            let found = follow(&self.shared.space, path);
            match found {
                Ok(targets) => BrowsePathResult {
                    targets: Some(targets),
                    ..Default::default()
                },
                Err(status_code) => BrowsePathResult {
                    status_code,
                    ..Default::default()
                },
            }
        });
        Ok(TranslateBrowsePathsToNodeIdsResponse {
            results: Some(results.collect()),
            ..Default::default()
        })
    }

    /// Every node has a numeric alias, so that what was registered is found by an array access.
    /// Part 4, 5.9.5.1 lets a server leave an id as it is, as is done for numbers and for nodes
    /// that are not there.
    pub(super) fn register(
        &mut self,
        request: RegisterNodesRequest,
    ) -> Result<RegisterNodesResponse, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_register;
        let nodes = operations(request.nodes_to_register, limit)?;
        let space = &self.shared.space;
        let registered = nodes.into_iter().map(|id| match id.as_u32() {
            Some(_) => id,
            None => space.find_id(&id).map_or(id, |at| space.alias(at)),
        });
        Ok(RegisterNodesResponse {
            registered_node_ids: Some(registered.collect()),
            ..Default::default()
        })
    }

    pub(super) fn unregister(
        &mut self,
        request: &UnregisterNodesRequest,
    ) -> Result<UnregisterNodesResponse, StatusCode> {
        let nodes = request.nodes_to_unregister.as_deref().unwrap_or_default();
        super::count(nodes.len(), self.shared.config.limits.nodes_per_register)?;
        Ok(UnregisterNodesResponse::default())
    }
}

fn begin(space: &Space, what: &BrowseDescription, most: usize) -> Result<Browsing, StatusCode> {
    let node = space
        .find_id(&what.node_id)
        .ok_or(StatusCode::BadNodeIdUnknown)?;
    if what.browse_direction == BrowseDirection::Invalid {
        return Err(StatusCode::BadBrowseDirectionInvalid);
    }
    let kind = match what.reference_type_id.is_null() {
        true => None,
        false => Some((
            reference_type(space, &what.reference_type_id)?,
            what.include_subtypes,
        )),
    };
    Ok(Browsing {
        node,
        direction: what.browse_direction,
        kind,
        classes: what.node_class_mask,
        mask: what.result_mask,
        most,
        next: 0,
    })
}

fn reference_type(space: &Space, id: &NodeId) -> Result<NodeIndex, StatusCode> {
    let at = space.find_id(id);
    at.filter(|at| {
        let node = space.lasting(*at);
        matches!(
            node.map(|node| &node.body),
            Some(Body::ReferenceType { .. })
        )
    })
    .ok_or(StatusCode::BadReferenceTypeIdInvalid)
}

/// The next references, and whether these were the last.
fn collect(space: &Space, browsing: &mut Browsing) -> (Vec<ReferenceDescription>, bool) {
    let links = space.links(browsing.node);
    let mut references = Vec::new();
    while let Some(link) = links.get(browsing.next) {
        if wanted(space, browsing, link) {
            if references.len() == browsing.most {
                return (references, false);
            }
            references.extend(describe(space, link, browsing.mask));
        }
        browsing.next += 1;
    }
    (references, true)
}

fn wanted(space: &Space, browsing: &Browsing, link: &Link) -> bool {
    let direction = match browsing.direction {
        BrowseDirection::Forward => link.forward,
        BrowseDirection::Inverse => !link.forward,
        _ => true,
    };
    let class = || {
        let class = space
            .node(link.target)
            .map_or(0, |node| node.class() as u32);
        browsing.classes == 0 || browsing.classes & class != 0
    };
    direction && is_of(space, link, browsing.kind) && class()
}

fn is_of(space: &Space, link: &Link, kind: Option<(NodeIndex, bool)>) -> bool {
    match kind {
        None => true,
        Some((kind, false)) => link.kind == kind,
        Some((kind, true)) => space.is_subtype(link.kind, kind),
    }
}

fn describe(space: &Space, link: &Link, mask: u32) -> Option<ReferenceDescription> {
    let node = space.node(link.target)?;
    let has = |bit| mask & bit != 0;
    let mut reference = ReferenceDescription {
        reference_type_id: NodeId::null(),
        is_forward: has(result::IS_FORWARD) && link.forward,
        node_id: ExpandedNodeId::from(node.id.clone()),
        browse_name: QualifiedName::null(),
        display_name: LocalizedText::null(),
        node_class: NodeClass::Unspecified,
        type_definition: ExpandedNodeId::null(),
    };
    if has(result::REFERENCE_TYPE) {
        reference.reference_type_id = space.node(link.kind)?.id.clone();
    }
    if has(result::NODE_CLASS) {
        reference.node_class = node.class();
    }
    if has(result::BROWSE_NAME) {
        reference.browse_name = node.browse_name();
    }
    if has(result::DISPLAY_NAME) {
        reference.display_name = node.display_name();
    }
    // Part 4, 7.30: only objects and variables have one.
    if has(result::TYPE_DEFINITION)
        && matches!(node.body, Body::Object { .. } | Body::Variable(_))
        && let Some(of) = space.type_definition(link.target)
    {
        reference.type_definition = ExpandedNodeId::from(of.id.clone());
    }
    Some(reference)
}

/// The nodes at the end of a path.
fn follow(space: &Space, path: &BrowsePath) -> Result<Vec<BrowsePathTarget>, StatusCode> {
    let start = space
        .find_id(&path.starting_node)
        .ok_or(StatusCode::BadNodeIdUnknown)?;
    let elements = path.relative_path.elements.as_deref().unwrap_or_default();
    let Some((last, before)) = elements.split_last() else {
        return Err(StatusCode::BadNothingToDo);
    };
    // Part 4, 7.31: only the last element may go without a name.
    if before.iter().any(|element| element.target_name.is_null()) {
        return Err(StatusCode::BadBrowseNameInvalid);
    }
    let mut here = vec![start];
    for element in before.iter().chain([last]) {
        here = step(space, &here, element)?;
    }
    if here.is_empty() {
        return Err(StatusCode::BadNoMatch);
    }
    let target = |at: NodeIndex| {
        Some(BrowsePathTarget {
            target_id: ExpandedNodeId::from(space.node(at)?.id.clone()),
            // Nothing remains: no path leads to another server.
            remaining_path_index: u32::MAX,
        })
    };
    Ok(here.into_iter().filter_map(target).collect())
}

fn step(
    space: &Space,
    from: &[NodeIndex],
    element: &RelativePathElement,
) -> Result<Vec<NodeIndex>, StatusCode> {
    let kind = match element.reference_type_id.is_null() {
        true => None,
        false => Some((
            reference_type(space, &element.reference_type_id)
                .map_err(|_| StatusCode::BadNoMatch)?,
            element.include_subtypes,
        )),
    };
    let mut found = Vec::new();
    for at in from {
        for link in space.links(*at).iter() {
            let fits = link.forward != element.is_inverse
                && is_of(space, link, kind)
                && space.node(link.target).is_some_and(|node| {
                    element.target_name.is_null() || node.is_called(&element.target_name)
                });
            if fits && !found.contains(&link.target) {
                found.push(link.target);
            }
        }
    }
    Ok(found)
}
