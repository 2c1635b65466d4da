//! The address space as our own client sees it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use load::access::{Access, Session};
use load::transport::Steps;
use wire::types::{
    BrowseDescription, BrowseDirection, BrowseNextRequest, BrowseRequest, NodeId, ObjectId,
    ReadRequest, ReadValueId, ReferenceDescription, StatusCode, TimestampsToReturn,
    ViewDescription,
};

use super::dump::{Dump, attribute_entry, reference_entry};

const NODES_AT_ONCE: usize = 100;
const REFERENCES_AT_ONCE: u32 = 100;

/// Everything that can be reached from Root.
pub fn dump(url: &str) -> Dump {
    let mut session = open(url);
    let root = NodeId::from(ObjectId::RootFolder);
    let mut seen = HashSet::from([root.clone()]);
    let mut pending = VecDeque::from([root]);
    let mut dump = BTreeMap::new();
    while !pending.is_empty() {
        let some = pending.len().min(NODES_AT_ONCE);
        let nodes: Vec<NodeId> = pending.drain(..some).collect();
        for (node, references) in nodes.iter().zip(references(&mut session, &nodes)) {
            for reference in references {
                let target = reference.node_id.node_id.clone();
                if reference.node_id.server_index == 0 && seen.insert(target.clone()) {
                    pending.push_back(target);
                }
                dump.extend([reference_entry(node, reference)]);
            }
        }
        dump.extend(attributes(&mut session, &nodes));
    }
    session.close(&mut Steps::new()).unwrap();
    dump
}

fn open(url: &str) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let access = Access {
        security: "None".parse().unwrap(),
        timeout: Duration::from_secs(60),
        ..Access::new(
            url.parse().unwrap(),
            pki::Store::new(folder.path()),
            pki::make::Request::application("urn:uaperf:interop").dns("localhost"),
        )
    };
    let opening = access.discover().unwrap();
    access.open(&opening, &mut Steps::new()).unwrap()
}

fn references(session: &mut Session, nodes: &[NodeId]) -> Vec<Vec<ReferenceDescription>> {
    let descriptions = nodes.iter().map(|node| BrowseDescription {
        node_id: node.clone(),
        browse_direction: BrowseDirection::Both,
        reference_type_id: NodeId::null(),
        include_subtypes: true,
        node_class_mask: 0,
        // Part 4, 5.9.2.2: all six fields
        result_mask: 0x3f,
    });
    let request = BrowseRequest {
        request_header: Default::default(),
        view: ViewDescription::default(),
        requested_max_references_per_node: REFERENCES_AT_ONCE,
        nodes_to_browse: Some(descriptions.collect()),
    };
    let results = session.call(request).unwrap().results.unwrap();
    assert_eq!(results.len(), nodes.len());
    let all = results.into_iter().map(|mut result| {
        let mut found = Vec::new();
        loop {
            assert_eq!(result.status_code, StatusCode::Good);
            found.extend(result.references.unwrap_or_default());
            if result.continuation_point.is_null_or_empty() {
                return found;
            }
            let next = BrowseNextRequest {
                request_header: Default::default(),
                release_continuation_points: false,
                continuation_points: Some(vec![result.continuation_point]),
            };
            let mut results = session.call(next).unwrap().results.unwrap();
            result = results.pop().unwrap();
        }
    });
    all.collect()
}

fn attributes(session: &mut Session, nodes: &[NodeId]) -> Vec<(String, String)> {
    let each = nodes
        .iter()
        .flat_map(|node| (1..=27).map(move |attribute| (node, attribute)));
    let to_read = each.clone().map(|(node, attribute)| ReadValueId {
        node_id: node.clone(),
        attribute_id: attribute,
        ..Default::default()
    });
    let request = ReadRequest {
        request_header: Default::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(to_read.collect()),
    };
    let results = session.call(request).unwrap().results.unwrap();
    assert_eq!(results.len(), nodes.len() * 27);
    let known = each.zip(results).filter_map(|((node, attribute), result)| {
        let status = result.status.unwrap_or_default();
        let there = status != StatusCode::BadAttributeIdInvalid;
        there.then(|| attribute_entry(node, attribute, status, result.value))
    });
    known.collect()
}
