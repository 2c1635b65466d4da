//! Browse: all nodes of the bench address space, found from Objects.

use std::collections::BTreeSet;

use peers::bench::{BYTE_ARRAYS, COUNTERS, DOUBLES, ECHO_METHOD, ECHO_OBJECT, INT16_ARRAY, INT32S};
use wire::types::{
    BrowseDescription, BrowseDirection, BrowseNextRequest, BrowseRequest, BrowseResult, ByteString,
    Identifier, NodeClass, NodeClassMask, NodeId, ObjectId, ReferenceDescription, ReferenceTypeId,
    ViewDescription,
};

use super::{Target, WorkError, during, good, only};

/// Few enough that a folder of the bench address space takes several BrowseNext.
const REFERENCES: u32 = 200;

pub(super) fn everything(target: &mut Target) -> Result<(), WorkError> {
    let namespace = target.namespace()?;
    let mut found = BTreeSet::new();
    let mut entered = BTreeSet::new();
    let mut to_enter = vec![NodeId::from(ObjectId::ObjectsFolder)];
    while let Some(node) = to_enter.pop() {
        for reference in references(target, &node)? {
            let node = reference.node_id.node_id;
            if node.namespace != namespace {
                continue;
            }
            if let Identifier::Numeric(id) = node.identifier {
                found.insert(id);
            }
            if reference.node_class == NodeClass::Object && entered.insert(node.to_string()) {
                to_enter.push(node);
            }
        }
    }
    match expected().find(|id| !found.contains(id)) {
        None => Ok(()),
        Some(id) => Err(WorkError::value(
            format!("i={id}"),
            format!("not among the {} nodes that were found", found.len()),
            "all of them to be found from Objects",
        )),
    }
}

fn expected() -> impl Iterator<Item = u32> {
    let arrays = BYTE_ARRAYS.iter().map(|(id, _)| *id).chain([INT16_ARRAY.0]);
    let counters = COUNTERS.iter().map(|(id, _)| *id);
    let echo = [ECHO_METHOD, ECHO_OBJECT];
    DOUBLES
        .chain(INT32S)
        .chain(arrays)
        .chain(counters)
        .chain(echo)
}

/// Forward hierarchical references of a node, all of them.
fn references(target: &mut Target, node: &NodeId) -> Result<Vec<ReferenceDescription>, WorkError> {
    let request = BrowseRequest {
        request_header: Default::default(),
        view: ViewDescription::default(),
        requested_max_references_per_node: REFERENCES,
        nodes_to_browse: Some(vec![BrowseDescription {
            node_id: node.clone(),
            browse_direction: BrowseDirection::Forward,
            reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
            include_subtypes: true,
            node_class_mask: NodeClassMask::empty().bits(),
            // Part 4, 5.8.2.2: all six fields
            result_mask: 0x3f,
        }]),
    };
    let response = target.session.call(request).map_err(during("Browse"))?;
    let mut result: BrowseResult = only("Browse", response.results)?;
    let mut all = Vec::new();
    loop {
        good(format!("the browsing of {node}"), result.status_code)?;
        all.append(&mut result.references.unwrap_or_default());
        if result.continuation_point.is_null_or_empty() {
            return Ok(all);
        }
        result = next(target, result.continuation_point)?;
    }
}

fn next(target: &mut Target, point: ByteString) -> Result<BrowseResult, WorkError> {
    let request = BrowseNextRequest {
        request_header: Default::default(),
        release_continuation_points: false,
        continuation_points: Some(vec![point]),
    };
    let response = target.session.call(request).map_err(during("BrowseNext"))?;
    only("BrowseNext", response.results)
}
