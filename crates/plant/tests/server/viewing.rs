use plant::{Config, Limits};
use wire::types::{
    BrowseDescription, BrowseDirection, BrowseNextRequest, BrowsePath, BrowseRequest, BrowseResult,
    NodeClass, NodeId, ObjectId, QualifiedName, ReferenceTypeId, RegisterNodesRequest,
    RelativePath, RelativePathElement, RequestHeader, StatusCode,
    TranslateBrowsePathsToNodeIdsRequest, UAString, UnregisterNodesRequest, Variant,
    ViewDescription,
};

use crate::client::Client;
use crate::{bench, start};

fn all_of(node_id: NodeId) -> BrowseDescription {
    BrowseDescription {
        node_id,
        browse_direction: BrowseDirection::Forward,
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: 63,
    }
}

fn browse(client: &mut Client, what: BrowseDescription, most: u32) -> BrowseResult {
    let response = client.call(BrowseRequest {
        request_header: RequestHeader::default(),
        view: ViewDescription::default(),
        requested_max_references_per_node: most,
        nodes_to_browse: Some(vec![what]),
    });
    response.unwrap().results.unwrap().remove(0)
}

fn names(result: &BrowseResult) -> Vec<String> {
    let references = result.references.as_deref().unwrap_or_default();
    let names = references.iter().map(|r| r.browse_name.name.as_ref());
    names.map(str::to_owned).collect()
}

#[test]
fn browsing_from_the_root_reaches_the_bench_and_the_server() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let root = browse(&mut client, all_of(ObjectId::RootFolder.into()), 0);
    assert_eq!(names(&root), ["Objects", "Types", "Views"]);
    let objects = browse(&mut client, all_of(ObjectId::ObjectsFolder.into()), 0);
    for name in ["Server", "Doubles", "Int32s", "Arrays", "Counters", "Demo"] {
        assert!(names(&objects).contains(&name.to_owned()), "{objects:?}");
    }
    let doubles = browse(&mut client, all_of(bench(1)), 0);
    let references = doubles.references.unwrap();
    assert_eq!(references.len(), 500);
    let first = &references[0];
    assert_eq!(first.node_id.node_id, bench(1000));
    assert_eq!(first.node_class, NodeClass::Variable);
    assert_eq!(first.type_definition.node_id, NodeId::new(0, 63));
    assert_eq!(
        first.reference_type_id,
        NodeId::from(ReferenceTypeId::Organizes)
    );
    assert!(first.is_forward);
}

#[test]
fn a_long_browse_goes_on_where_it_stopped_until_nothing_is_left() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let mut other = Client::plain(server.url());
    let mut result = browse(&mut other, all_of(bench(1)), 150);
    let elsewhere = BrowseNextRequest {
        request_header: RequestHeader::default(),
        release_continuation_points: false,
        continuation_points: Some(vec![result.continuation_point.clone()]),
    };
    let refused = client.call(elsewhere).unwrap().results.unwrap();
    let invalid = StatusCode::BadContinuationPointInvalid;
    assert_eq!(refused[0].status_code, invalid);

    let mut seen = names(&result);
    let mut answers = 1;
    while !result.continuation_point.is_null() {
        let request = BrowseNextRequest {
            request_header: RequestHeader::default(),
            release_continuation_points: false,
            continuation_points: Some(vec![result.continuation_point.clone()]),
        };
        result = other.call(request).unwrap().results.unwrap().remove(0);
        seen.extend(names(&result));
        answers += 1;
    }
    assert_eq!((seen.len(), answers), (500, 4));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 500);
}

#[test]
fn continuation_points_are_limited_and_can_be_given_back() {
    let server = start(Config {
        limits: Limits {
            continuation_points: 2,
            ..Limits::default()
        },
        ..Config::default()
    });
    let mut client = Client::plain(server.url());
    let first = browse(&mut client, all_of(bench(1)), 1);
    browse(&mut client, all_of(bench(1)), 1);
    let third = browse(&mut client, all_of(bench(1)), 1);
    assert_eq!(third.status_code, StatusCode::BadNoContinuationPoints);
    let release = BrowseNextRequest {
        request_header: RequestHeader::default(),
        release_continuation_points: true,
        continuation_points: Some(vec![first.continuation_point]),
    };
    let released = client.call(release).unwrap().results.unwrap().remove(0);
    assert_eq!(
        (released.status_code, released.references),
        (StatusCode::Good, None)
    );
    let again = browse(&mut client, all_of(bench(1)), 1);
    assert_eq!(again.status_code, StatusCode::Good);
}

#[test]
fn a_browse_that_makes_no_sense_is_refused() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let mut unknown_type = all_of(bench(1));
    unknown_type.reference_type_id = bench(1);
    let status = |client: &mut Client, what| browse(client, what, 0).status_code;
    assert_eq!(
        status(&mut client, unknown_type),
        StatusCode::BadReferenceTypeIdInvalid
    );
    assert_eq!(
        status(&mut client, all_of(bench(77))),
        StatusCode::BadNodeIdUnknown
    );
    let mut variables = all_of(ObjectId::ObjectsFolder.into());
    variables.node_class_mask = NodeClass::Variable as u32;
    assert_eq!(names(&browse(&mut client, variables, 0)).len(), 0);
    let mut inverse = all_of(bench(1000));
    inverse.browse_direction = BrowseDirection::Inverse;
    assert_eq!(names(&browse(&mut client, inverse, 0)), ["Doubles"]);
    let mut exact = all_of(ObjectId::RootFolder.into());
    exact.include_subtypes = false;
    assert_eq!(names(&browse(&mut client, exact, 0)).len(), 0);
}

#[test]
fn browse_paths_lead_to_their_nodes() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let element = |namespace, name: &str| RelativePathElement {
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        is_inverse: false,
        include_subtypes: true,
        target_name: QualifiedName::new(namespace, name),
    };
    let path = |elements| BrowsePath {
        starting_node: ObjectId::ObjectsFolder.into(),
        relative_path: RelativePath {
            elements: Some(elements),
        },
    };
    let response = client.call(TranslateBrowsePathsToNodeIdsRequest {
        request_header: RequestHeader::default(),
        browse_paths: Some(vec![
            path(vec![element(0, "Server"), element(0, "ServerStatus")]),
            path(vec![element(2, "Doubles"), element(2, "Double1234")]),
            path(vec![element(2, "Doubles"), element(2, "Int321500")]),
            path(vec![]),
        ]),
    });
    let results = response.unwrap().results.unwrap();
    let targets = |n: usize| results[n].targets.clone().unwrap_or_default();
    assert_eq!(targets(0)[0].target_id.node_id, NodeId::new(0, 2256));
    assert_eq!(targets(0)[0].remaining_path_index, u32::MAX);
    assert_eq!(targets(1)[0].target_id.node_id, bench(1234));
    assert_eq!(results[2].status_code, StatusCode::BadNoMatch);
    assert_eq!(results[3].status_code, StatusCode::BadNothingToDo);
}

#[test]
fn a_registered_node_is_read_by_its_number() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let name = NodeId::new(3, UAString::from("Running"));
    let unknown = NodeId::new(3, UAString::from("nothing"));
    let response = client.call(RegisterNodesRequest {
        request_header: RequestHeader::default(),
        nodes_to_register: Some(vec![name.clone(), bench(1000), unknown.clone()]),
    });
    let registered = response.unwrap().registered_node_ids.unwrap();
    assert!(registered[0].as_u32().is_some() && registered[0] != name);
    assert_eq!(registered[1..], [bench(1000), unknown]);
    let value = client.read(&registered[..1]).remove(0).value;
    assert!(matches!(value, Some(Variant::Boolean(_))), "{value:?}");
    let unregister = UnregisterNodesRequest {
        request_header: RequestHeader::default(),
        nodes_to_unregister: Some(registered),
    };
    client.call(unregister).unwrap();
}
