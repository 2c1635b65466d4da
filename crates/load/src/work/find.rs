//! Nodes that are known by where they are.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use plan::{BrowsePath, NodeError, NodeSpec, Nodes, PathStep};
use wire::types::{
    AttributeId, BrowseDescription, BrowseDescriptionResultMask, BrowseDirection, BrowseRequest,
    DataValue, NodeClassMask, NodeId, ObjectId, QualifiedName, ReadRequest, ReadValueId,
    ReferenceDescription, ReferenceTypeId, RequestHeader, StatusCode, TimestampsToReturn, Variant,
    ViewDescription,
};

use super::{WorkError, browse};
use crate::access::Session;
use crate::transport::{CallError, one_each};

/// All nodes of a list; paths are browsed.
pub fn nodes(
    nodes: &Nodes,
    namespaces: &[String],
    session: &mut Session,
) -> Result<Vec<NodeId>, WorkError> {
    nodes.resolve(namespaces, |path| along(path, session))
}

/// What a node has to have to be of use.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The attribute that is asked for.
    pub attribute: AttributeId,
    /// Of Values, what AccessLevel has to allow (Part 3, 8.57).
    pub access: u8,
}

impl Wanted {
    /// A Value that can be read.
    pub const VALUE: Self = Self::value(READ);
    /// One that can be written, and was read before.
    pub const WRITABLE: Self = Self::value(READ | WRITE);
    /// One whose history can be read.
    pub const HISTORY: Self = Self::value(HISTORY_READ);

    const fn value(access: u8) -> Self {
        Self {
            attribute: AttributeId::Value,
            access,
        }
    }
}

/// Bits of AccessLevel (Part 3, 8.57).
const READ: u8 = 1;
const WRITE: u8 = 2;
const HISTORY_READ: u8 = 4;

/// Nodes that a path with a wildcard led to, and that were left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    path: String,
    found: usize,
    left_out: usize,
    what: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            found,
            left_out,
            what,
        } = self;
        write!(
            f,
            "{left_out} of the {found} nodes of {path} were left out: they have no {what}"
        )
    }
}

/// All nodes of a list. What a path with a wildcard leads to is of many kinds: what has no such attribute there is
/// left out and counted. A node that was named stays, so that its failure shows.
pub fn with(
    wanted: Wanted,
    nodes: &Nodes,
    namespaces: &[String],
    session: &mut Session,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<NodeId>, WorkError> {
    nodes.resolve(namespaces, |path| {
        let all = along(path, session)?;
        if !path.has_wildcard() {
            return Ok(all);
        }
        let found = all.len();
        let kept = having(wanted, all, session)?;
        if kept.len() < found {
            let out = LeftOut {
                path: format!("browse:{path}"),
                found,
                left_out: found - kept.len(),
                what: wanted.to_string(),
            };
            if kept.is_empty() {
                return Err(WorkError::NoneHas(out));
            }
            left_out.push(out);
        }
        Ok(kept)
    })
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.attribute, self.access) {
            (AttributeId::Value, READ) => f.write_str("Value that can be read"),
            (AttributeId::Value, HISTORY_READ) => f.write_str("history that can be read"),
            (AttributeId::Value, _) => f.write_str("Value that can be written"),
            (attribute, _) => write!(f, "{attribute:?} that can be read"),
        }
    }
}

/// How many attributes are read at a time: within the limits of any server.
pub(crate) const AT_A_TIME: usize = 100;

/// Those of the nodes that have what is wanted.
fn having(
    wanted: Wanted,
    nodes: Vec<NodeId>,
    session: &mut Session,
) -> Result<Vec<NodeId>, WorkError> {
    // Values may be large; whether a variable has one that can be read says its AccessLevel.
    let is_value = wanted.attribute == AttributeId::Value;
    let asked = match is_value {
        true => AttributeId::AccessLevel,
        false => wanted.attribute,
    };
    let mut kept = Vec::new();
    for nodes in nodes.chunks(AT_A_TIME) {
        let levels = attributes(nodes, asked, session)?;
        for (node, level) in nodes.iter().zip(levels) {
            let has = match level.value {
                Some(Variant::Byte(level)) if is_value => level & wanted.access == wanted.access,
                // A VariableType has no AccessLevel and may have a Value; other vendors' servers may keep one
                // to themselves.
                _ if is_value && wanted.access == READ => {
                    let node = std::slice::from_ref(node);
                    let value = attributes(node, AttributeId::Value, session)?;
                    value.first().is_none_or(is_there)
                }
                _ => is_there(&level),
            };
            if has {
                kept.push(node.clone());
            }
        }
    }
    Ok(kept)
}

/// Part 4, table 178: whatever else is wrong shows when it is asked for.
fn is_there(value: &DataValue) -> bool {
    let has_not = [
        StatusCode::BadAttributeIdInvalid,
        StatusCode::BadNotReadable,
    ];
    let status = value.status.unwrap_or(StatusCode::Good).sub_code();
    !has_not.iter().any(|it| it.sub_code() == status)
}

/// An attribute of each of them.
pub(crate) fn attributes(
    nodes: &[NodeId],
    attribute: AttributeId,
    session: &mut Session,
) -> Result<Vec<DataValue>, WorkError> {
    let asked = |node: &NodeId| ReadValueId {
        attribute_id: attribute as u32,
        ..ReadValueId::from(node.clone())
    };
    let response = session.call(ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(nodes.iter().map(asked).collect()),
    })?;
    Ok(one_each(response.results, nodes.len()).map_err(CallError::from)?)
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
            let (step, there) = match step {
                PathStep::Any | PathStep::Below => ("node below it".into(), Vec::new()),
                PathStep::Name { name, .. } => (name.clone(), names_below(&at, session)?),
            };
            return Err(WorkError::NoSuchPath {
                path: path.to_string(),
                step,
                there,
            });
        }
        at = next;
    }
    debug_assert!(!at.is_empty());
    Ok(at)
}

/// What the children of some nodes are called.
fn names_below(nodes: &[NodeId], session: &mut Session) -> Result<Vec<String>, WorkError> {
    let mut names = Vec::new();
    for node in nodes {
        let children = children(node, session)?;
        names.extend(
            children
                .into_iter()
                .map(|it| it.browse_name.name.as_ref().to_owned()),
        );
    }
    Ok(names)
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
    nearest(nodes, usize::MAX, session)
}

/// So many of them at most.
pub(crate) fn nearest(
    nodes: &[NodeId],
    most: usize,
    session: &mut Session,
) -> Result<Vec<NodeId>, WorkError> {
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
                if found.len() == most {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

/// All children of a node along hierarchical references.
fn children(node: &NodeId, session: &mut Session) -> Result<Vec<ReferenceDescription>, WorkError> {
    let by = ReferenceTypeId::HierarchicalReferences;
    references(node, BrowseDirection::Forward, by, usize::MAX, session)
}

/// After so many answers without a reference, one behind the other, no more are asked for.
const EMPTY_PAGES: usize = 100;

/// The references of a node in a direction, of a type and its subtypes; so many of them at most.
pub(crate) fn references(
    node: &NodeId,
    direction: BrowseDirection,
    by: ReferenceTypeId,
    most: usize,
    session: &mut Session,
) -> Result<Vec<ReferenceDescription>, WorkError> {
    let response = session.call(BrowseRequest {
        request_header: RequestHeader::default(),
        view: ViewDescription::default(),
        // 0 for as many as there are, as for more than the field can say.
        requested_max_references_per_node: u32::try_from(most).unwrap_or_default(),
        nodes_to_browse: Some(vec![BrowseDescription {
            node_id: node.clone(),
            browse_direction: direction,
            reference_type_id: by.into(),
            include_subtypes: true,
            node_class_mask: NodeClassMask::empty().bits(),
            result_mask: BrowseDescriptionResultMask::all().bits(),
        }]),
    })?;
    let mut result = response.results.and_then(|mut all| all.pop());
    let mut children = Vec::new();
    let mut empty = 0;
    while let Some(part) = result.take() {
        if part.status_code.bits() >> 31 != 0 {
            return Err(WorkError::Node {
                node: node.clone(),
                what: "its references cannot be browsed",
                status: part.status_code,
            });
        }
        let more = part.references.unwrap_or_default();
        empty = if more.is_empty() { empty + 1 } else { 0 };
        children.extend(more);
        if !part.continuation_point.is_null_or_empty() {
            let header = RequestHeader::default();
            let is_enough = children.len() >= most || empty >= EMPTY_PAGES;
            let points = vec![part.continuation_point];
            let next = session.call(browse::next(header, points, is_enough))?;
            if is_enough {
                break;
            }
            result = next.results.and_then(|mut all| all.pop());
        }
    }
    children.truncate(most);
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
