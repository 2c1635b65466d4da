//! Browse, BrowseNext, TranslateBrowsePathsToNodeIds, RegisterNodes, UnregisterNodes
//! (Part 4, 5.9).

use std::mem::take;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use wire::service::shape::Kind;
use wire::types::{
    BrowseDescription, BrowseDirection, BrowseNextRequest, BrowsePath, BrowsePathResult,
    BrowsePathTarget, BrowseRequest, BrowseResult, ByteString, ExpandedNodeId, LocalizedText,
    NodeClass, NodeId, QualifiedName, ReferenceDescription, RegisterNodesRequest,
    RelativePathElement, StatusCode, TranslateBrowsePathsToNodeIdsRequest, UnregisterNodesRequest,
    UnregisterNodesResponse,
};

use super::points::{HeldMemory, Points};
use super::steps::{Making, Steps, Work};
use super::{ServiceContext, operations, write_len};
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
pub struct Browsing {
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

impl HeldMemory for Browsing {}

/// Browses of a session that are not finished.
pub type ContinuationPoints = Points<Browsing>;

/// An operation of Browse or BrowseNext, and what was found so far.
enum Looking {
    /// Not begun.
    Asked(Box<BrowseDescription>),
    /// It goes on, or cannot.
    At(Result<Box<FoundReferences>, StatusCode>),
}

/// References of one answer.
struct FoundReferences {
    browsing: Browsing,
    count: usize,
    /// Encoded: what is described does not go away.
    references: Vec<u8>,
    held: Making,
}

impl Looking {
    fn again(browsing: Browsing) -> Self {
        Self::At(Ok(Box::new(FoundReferences {
            browsing,
            count: 0,
            references: Vec::new(),
            held: Making::default(),
        })))
    }
}

impl ServiceContext<'_> {
    pub(super) fn browse(&mut self, request: &mut BrowseRequest) -> Result<Steps, StatusCode> {
        let limits = &self.shared.config.limits;
        let nodes = operations(&mut request.nodes_to_browse, limits.nodes_per_browse)?;
        // There are no views: a null id is the whole address space.
        if !request.view.view_id.is_null() {
            return Err(StatusCode::BadViewIdUnknown);
        }
        let most = match request.requested_max_references_per_node as usize {
            0 => limits.references_per_node,
            asked => asked.min(limits.references_per_node),
        };
        let asked = |what| Looking::Asked(Box::new(what));
        let nodes = nodes.into_iter().map(asked).collect();
        Ok(Steps::each(
            Kind::BrowseResponse,
            nodes,
            move |context, looking, work, out| {
                let looking = match looking {
                    Looking::Asked(what) => match begin(&context.shared.space, &what, most) {
                        Ok(browsing) => Looking::again(browsing),
                        Err(status) => Looking::At(Err(status)),
                    },
                    begun => begun,
                };
                context.look(looking, work, out)
            },
        ))
    }

    pub(super) fn browse_next(
        &mut self,
        request: &mut BrowseNextRequest,
    ) -> Result<Steps, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_browse;
        let points = operations(&mut request.continuation_points, limit)?;
        let release = request.release_continuation_points;
        // All are taken first: what this answer keeps is not for this request.
        let kept = points.iter().map(|point| {
            let session = &mut *self.session;
            let number = <[u8; 4]>::try_from(point.as_ref()).map(u32::from_le_bytes);
            let kept = number.map(|it| session.points.take(it, &session.budget));
            match kept.ok().flatten() {
                Some(browsing) => Looking::again(browsing),
                None => Looking::At(Err(StatusCode::BadContinuationPointInvalid)),
            }
        });
        let kept = kept.collect();
        Ok(Steps::each(
            Kind::BrowseNextResponse,
            kept,
            move |context, looking, work, out| match (&looking, release) {
                // Released: an answer without references.
                (Looking::At(Ok(_)), true) => {
                    work.put(Kind::BrowseResult, &BrowseResult::default(), out);
                    None
                }
                _ => context.look(looking, work, out),
            },
        ))
    }

    /// Looks at more references of a node; when it is done with them, appends the result.
    fn look(&mut self, looking: Looking, work: &mut Work, out: &mut Vec<u8>) -> Option<Looking> {
        let refuse = |status_code, work: &mut Work, out: &mut Vec<u8>| {
            let result = BrowseResult {
                status_code,
                ..Default::default()
            };
            work.put(Kind::BrowseResult, &result, out);
        };
        let mut found = match looking {
            Looking::At(Ok(found)) => found,
            Looking::At(Err(status)) => {
                refuse(status, work, out);
                return None;
            }
            asked => return Some(asked),
        };
        let looked = collect(&self.shared.space, &mut found, work);
        let session = &mut *self.session;
        let bytes = found.references.capacity();
        if let Err(status) = found.held.is(bytes, &session.budget) {
            refuse(status, work, out);
            return None;
        }
        let finished = match looked {
            Looked::Tired => return Some(Looking::At(Ok(found))),
            Looked::Full => false,
            Looked::Finished => true,
        };
        let FoundReferences {
            browsing,
            count,
            references,
            ..
        } = *found;
        let mut point = ByteString::null();
        if !finished {
            let limit = self.shared.config.limits.continuation_points;
            match session.points.keep(browsing, limit, &session.budget) {
                Ok(kept) => point = ByteString::from(kept.to_le_bytes().to_vec()),
                Err(status) => {
                    refuse(status, work, out);
                    return None;
                }
            }
        }
        // A BrowseResult (Part 4, 7.6) with the references as they are.
        work.put(Kind::StatusCode, &StatusCode::Good, out);
        work.put(Kind::ByteString, &point, out);
        write_len(out, count);
        out.extend_from_slice(&references);
        None
    }

    pub(super) fn translate(
        &mut self,
        request: &mut TranslateBrowsePathsToNodeIdsRequest,
    ) -> Result<Steps, StatusCode> {
        let limit = self.shared.config.limits.paths_per_translate;
        let paths = operations(&mut request.browse_paths, limit)?;
        // Names of a path may be very many: they stay until the end of the steps.
        let (count, paths) = (paths.len(), Arc::new(paths));
        let each = (0..count).map(|index| Following::new(Arc::clone(&paths), index));
        let each = each.collect();
        Ok(Steps::each(
            Kind::TranslateBrowsePathsToNodeIdsResponse,
            each,
            move |context, mut path: Following, work, out| {
                let _kept = &paths;
                let (space, limits) = (&context.shared.space, &context.shared.config.limits);
                let followed = path.follow(space, limits.references_per_node, work);
                let held = path.held.is(path.bytes(), &context.session.budget);
                let result = match held.and(followed) {
                    Ok(None) => return Some(path),
                    Ok(Some(targets)) => BrowsePathResult {
                        targets: Some(targets),
                        ..Default::default()
                    },
                    Err(status_code) => BrowsePathResult {
                        status_code,
                        ..Default::default()
                    },
                };
                work.put(Kind::BrowsePathResult, &result, out);
                None
            },
        ))
    }

    /// Every node has a numeric alias, so that what was registered is found by an array access.
    /// Part 4, 5.9.5.1 lets a server leave an id as it is, as is done for numbers and for nodes
    /// that are not there.
    pub(super) fn register(
        &mut self,
        request: &mut RegisterNodesRequest,
    ) -> Result<Steps, StatusCode> {
        let limit = self.shared.config.limits.nodes_per_register;
        let nodes = operations(&mut request.nodes_to_register, limit)?;
        let response = Kind::RegisterNodesResponse;
        let steps = Steps::whole(response, Kind::NodeId, nodes, |context, id: &mut NodeId| {
            let space = &context.shared.space;
            match id.as_u32() {
                Some(_) => take(id),
                None => match space.find_id(id) {
                    Some(at) => space.alias(at),
                    None => take(id),
                },
            }
        });
        Ok(steps.without_diagnostics())
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

/// How far a look at references came.
enum Looked {
    /// To the last.
    Finished,
    /// There are as many as are wanted at once.
    Full,
    /// Others are to have their turn.
    Tired,
}

/// Work of a reference that is described.
const DESCRIBED: usize = 4;

/// The next references.
fn collect(space: &Space, found: &mut FoundReferences, work: &mut Work) -> Looked {
    let FoundReferences {
        browsing,
        count,
        references,
        ..
    } = found;
    let links = space.links(browsing.node);
    if let std::borrow::Cow::Owned(links) = &links {
        // They were copied.
        work.spend(links.len() / 64);
    }
    while let Some(link) = links.get(browsing.next) {
        if work.is_over() {
            return Looked::Tired;
        }
        work.spend(1);
        if wanted(space, browsing, link) {
            if *count == browsing.most {
                return Looked::Full;
            }
            if let Some(reference) = describe(space, link, browsing.mask) {
                work.spend(DESCRIBED);
                work.put(Kind::ReferenceDescription, &reference, references);
                *count += 1;
            }
        }
        browsing.next += 1;
    }
    Looked::Finished
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

/// A path that is followed, and how far.
struct Following {
    paths: Arc<Vec<BrowsePath>>,
    /// Which of them it is.
    index: usize,
    /// The element that is looked for.
    element: usize,
    /// Where one looks for it, and at which of them one is.
    here: Vec<NodeIndex>,
    at: usize,
    /// References looked at of that one.
    next: usize,
    /// What was found of it, in order and as a set.
    found: Vec<NodeIndex>,
    seen: FxHashSet<NodeIndex>,
    held: Making,
}

impl Following {
    fn new(paths: Arc<Vec<BrowsePath>>, index: usize) -> Self {
        Self {
            paths,
            index,
            element: 0,
            here: Vec::new(),
            at: 0,
            next: 0,
            found: Vec::new(),
            seen: FxHashSet::default(),
            held: Making::default(),
        }
    }

    /// What it found so far takes.
    fn bytes(&self) -> usize {
        let nodes = self.here.capacity() + self.found.capacity() + 2 * self.seen.capacity();
        nodes * size_of::<NodeIndex>()
    }

    fn begin(&mut self, space: &Space) -> Result<(), StatusCode> {
        let path = self.paths.get(self.index);
        let path = path.ok_or(StatusCode::BadNothingToDo)?;
        let start = space.find_id(&path.starting_node);
        let start = start.ok_or(StatusCode::BadNodeIdUnknown)?;
        let elements = path.relative_path.elements.as_deref();
        let Some((_, before)) = elements.unwrap_or_default().split_last() else {
            return Err(StatusCode::BadNothingToDo);
        };
        // Part 4, 7.31: only the last element may go without a name.
        if before.iter().any(|element| element.target_name.is_null()) {
            return Err(StatusCode::BadBrowseNameInvalid);
        }
        self.here = vec![start];
        Ok(())
    }

    /// The nodes at the end of the path; none yet if others are to have their turn.
    fn follow(
        &mut self,
        space: &Space,
        most: usize,
        work: &mut Work,
    ) -> Result<Option<Vec<BrowsePathTarget>>, StatusCode> {
        if self.here.is_empty() {
            self.begin(space)?;
        }
        let paths = Arc::clone(&self.paths);
        let path = paths.get(self.index);
        let elements = path.and_then(|path| path.relative_path.elements.as_deref());
        let elements = elements.unwrap_or_default();
        let mut done = Ok(true);
        while let Some(element) = elements.get(self.element) {
            done = self.step(space, element, work);
            if done != Ok(true) {
                break;
            }
            self.here = take(&mut self.found);
            self.seen.clear();
            self.at = 0;
            self.element += 1;
            if self.here.is_empty() {
                return Err(StatusCode::BadNoMatch);
            }
        }
        if !done? {
            return Ok(None);
        }
        if self.here.len() > most {
            return Err(StatusCode::BadTooManyMatches);
        }
        let target = |at: &NodeIndex| {
            Some(BrowsePathTarget {
                target_id: ExpandedNodeId::from(space.node(*at)?.id.clone()),
                // Nothing remains: no path leads to another server.
                remaining_path_index: u32::MAX,
            })
        };
        Ok(Some(self.here.iter().filter_map(target).collect()))
    }

    /// Looks for an element below all that match those before it. False if others are to have their turn.
    fn step(
        &mut self,
        space: &Space,
        element: &RelativePathElement,
        work: &mut Work,
    ) -> Result<bool, StatusCode> {
        let kind = match element.reference_type_id.is_null() {
            true => None,
            false => Some((
                reference_type(space, &element.reference_type_id)
                    .map_err(|_| StatusCode::BadNoMatch)?,
                element.include_subtypes,
            )),
        };
        while let Some(from) = self.here.get(self.at) {
            let links = space.links(*from);
            if let std::borrow::Cow::Owned(links) = &links {
                work.spend(links.len() / 64);
            }
            while let Some(link) = links.get(self.next) {
                if work.is_over() {
                    return Ok(false);
                }
                work.spend(1);
                let fits = link.forward != element.is_inverse
                    && is_of(space, link, kind)
                    && space.node(link.target).is_some_and(|node| {
                        element.target_name.is_null() || node.is_called(&element.target_name)
                    });
                if fits && self.seen.insert(link.target) {
                    work.spend(DESCRIBED);
                    self.found.push(link.target);
                }
                self.next += 1;
            }
            self.next = 0;
            self.at += 1;
            work.spend(1);
        }
        Ok(true)
    }
}
