use plant::{Config, Limits};
use wire::channel::Protection;
use wire::types::{
    AddNodesItem, AddNodesRequest, AddReferencesItem, AddReferencesRequest, AttributeId,
    DeleteNodesItem, DeleteNodesRequest, DeleteReferencesItem, DeleteReferencesRequest,
    ExpandedNodeId, ExtensionObject, FindServersOnNetworkRequest, NodeClass, NodeId,
    ObjectAttributes, ObjectId, ObjectTypeId, QualifiedName, QueryFirstRequest, QueryNextRequest,
    ReferenceTypeId, RegisterServer2Request, StatusCode, VariableAttributes, VariableTypeId,
    WriteRequest, WriteValue,
};

use crate::client::Client;
use crate::start;
use crate::subscribing::{header, item, publish, subscribe, values, watch};

fn open(most: usize) -> Config {
    Config {
        limits: Limits {
            added_nodes: most,
            ..Limits::default()
        },
        ..Config::default()
    }
}

fn folder(id: &NodeId, name: &str) -> AddNodesItem {
    AddNodesItem {
        parent_node_id: NodeId::from(ObjectId::ObjectsFolder).into(),
        reference_type_id: ReferenceTypeId::Organizes.into(),
        requested_new_node_id: id.clone().into(),
        browse_name: QualifiedName::new(1, name),
        node_class: NodeClass::Object,
        node_attributes: ExtensionObject::from_message(ObjectAttributes::default()),
        type_definition: NodeId::from(ObjectTypeId::FolderType).into(),
    }
}

fn variable(parent: &NodeId, id: &NodeId, name: &str, value: f64) -> AddNodesItem {
    AddNodesItem {
        parent_node_id: parent.clone().into(),
        reference_type_id: ReferenceTypeId::HasComponent.into(),
        requested_new_node_id: id.clone().into(),
        browse_name: QualifiedName::new(1, name),
        node_class: NodeClass::Variable,
        node_attributes: ExtensionObject::from_message(VariableAttributes {
            // AccessLevel and Value.
            specified_attributes: 1 | 1 << 21,
            value: value.into(),
            access_level: 3,
            ..Default::default()
        }),
        type_definition: NodeId::from(VariableTypeId::BaseDataVariableType).into(),
    }
}

fn add(
    client: &mut Client,
    items: Vec<AddNodesItem>,
) -> Result<Vec<(StatusCode, NodeId)>, StatusCode> {
    let request = AddNodesRequest {
        request_header: header(),
        nodes_to_add: Some(items),
    };
    let results = client.call(request)?.results.unwrap();
    Ok(results
        .into_iter()
        .map(|result| (result.status_code, result.added_node_id))
        .collect())
}

fn delete(client: &mut Client, node: &NodeId) -> StatusCode {
    let request = DeleteNodesRequest {
        request_header: header(),
        nodes_to_delete: Some(vec![DeleteNodesItem {
            node_id: node.clone(),
            delete_target_references: true,
        }]),
    };
    client.call(request).unwrap().results.unwrap()[0]
}

fn names(client: &mut Client, node: &NodeId) -> Vec<String> {
    let references = client.below(node).into_iter();
    references
        .map(|reference| reference.browse_name.name.to_string())
        .collect()
}

#[test]
fn nodes_that_are_added_can_be_browsed_read_written_watched_and_deleted() {
    let server = start(open(10));
    let mut client = Client::plain(server.url());
    let (top, value) = (NodeId::new(1, "Top"), NodeId::new(1, "Top.Value"));
    let results = add(
        &mut client,
        vec![folder(&top, "Top"), variable(&top, &value, "Value", 4.5)],
    );
    assert_eq!(
        results.unwrap(),
        [
            (StatusCode::Good, top.clone()),
            (StatusCode::Good, value.clone())
        ]
    );
    let objects = ObjectId::ObjectsFolder.into();
    assert!(names(&mut client, &objects).contains(&"Top".to_owned()));
    assert_eq!(names(&mut client, &top), ["Value"]);
    assert_eq!(
        client.read(std::slice::from_ref(&value))[0].value,
        Some(4.5.into())
    );
    let subscription = subscribe(&mut client, 20.0).subscription_id;
    let results = watch(&mut client, subscription, vec![item(value.clone(), 1, 0.0)]);
    assert_eq!(results[0].status_code, StatusCode::Good);
    let write = WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![WriteValue {
            node_id: value.clone(),
            attribute_id: AttributeId::Value as u32,
            index_range: Default::default(),
            value: 5.5.into(),
        }]),
    };
    assert_eq!(
        client.call(write).unwrap().results.unwrap(),
        [StatusCode::Good]
    );
    let mut seen = Vec::new();
    let mut last = None;
    while seen.last() != Some(&(1, 5.5.into())) {
        let response = client.call(publish(last)).unwrap();
        last = Some((subscription, response.notification_message.sequence_number));
        seen.extend(values(&response.notification_message));
    }
    // The server's own id for one that has none.
    let again = add(
        &mut client,
        vec![variable(&top, &NodeId::null(), "Other", 1.0)],
    )
    .unwrap();
    assert_eq!(again[0].0, StatusCode::Good);
    assert_eq!(again[0].1.namespace, 1);
    for node in [&value, &again[0].1, &top] {
        assert_eq!(delete(&mut client, node), StatusCode::Good);
        assert_eq!(delete(&mut client, node), StatusCode::BadNodeIdUnknown);
    }
    assert!(!names(&mut client, &objects).contains(&"Top".to_owned()));
    let gone = client.read(std::slice::from_ref(&value));
    assert_eq!(gone[0].status, Some(StatusCode::BadNodeIdUnknown));
}

#[test]
fn what_cannot_be_added_or_deleted_is_refused_one_by_one() {
    let server = start(open(1));
    let mut client = Client::plain(server.url());
    let top = NodeId::new(1, "Top");
    let with = |change: fn(&mut AddNodesItem)| {
        let mut item = folder(&NodeId::new(1, "Other"), "Other");
        change(&mut item);
        item
    };
    let results = add(
        &mut client,
        vec![
            folder(&top, "Top"),
            folder(&NodeId::new(1, "Other"), "Top"),
            folder(&top, "Other"),
            with(|item| item.parent_node_id = NodeId::new(1, 99u32).into()),
            with(|item| item.reference_type_id = ObjectId::ObjectsFolder.into()),
            with(|item| item.reference_type_id = ReferenceTypeId::HasTypeDefinition.into()),
            with(|item| item.requested_new_node_id = NodeId::new(0, 9_999_999u32).into()),
            with(|item| item.browse_name = QualifiedName::null()),
            with(|item| item.node_class = NodeClass::Method),
            with(|item| item.type_definition = ExpandedNodeId::null()),
            with(|item| {
                item.node_attributes = ExtensionObject::from_message(VariableAttributes::default())
            }),
            folder(&NodeId::new(1, "Second"), "Second"),
        ],
    );
    let statuses: Vec<_> = results
        .unwrap()
        .into_iter()
        .map(|(status, _)| status)
        .collect();
    assert_eq!(
        statuses,
        [
            StatusCode::Good,
            StatusCode::BadBrowseNameDuplicated,
            StatusCode::BadNodeIdExists,
            StatusCode::BadParentNodeIdInvalid,
            StatusCode::BadReferenceTypeIdInvalid,
            StatusCode::BadReferenceNotAllowed,
            StatusCode::BadNodeIdRejected,
            StatusCode::BadBrowseNameInvalid,
            StatusCode::BadNodeClassInvalid,
            StatusCode::BadTypeDefinitionInvalid,
            StatusCode::BadNodeAttributesInvalid,
            StatusCode::BadResourceUnavailable,
        ]
    );
    let server_node = ObjectId::Server.into();
    assert_eq!(
        delete(&mut client, &server_node),
        StatusCode::BadNoDeleteRights
    );

    let reference = |target: NodeId| AddReferencesItem {
        source_node_id: NodeId::new(1, "Top"),
        reference_type_id: ReferenceTypeId::Organizes.into(),
        is_forward: true,
        target_server_uri: Default::default(),
        target_node_id: target.into(),
        target_node_class: NodeClass::Object,
    };
    let request = AddReferencesRequest {
        request_header: header(),
        references_to_add: Some(vec![
            reference(server_node.clone()),
            reference(server_node.clone()),
            reference(NodeId::new(1, 99u32)),
        ]),
    };
    let results = client.call(request).unwrap().results.unwrap();
    assert_eq!(
        results,
        [
            StatusCode::Good,
            StatusCode::BadDuplicateReferenceNotAllowed,
            StatusCode::BadTargetNodeIdInvalid,
        ]
    );
    assert_eq!(names(&mut client, &top), ["Server"]);
    let gone = |source: &NodeId, target: &NodeId| DeleteReferencesItem {
        source_node_id: source.clone(),
        reference_type_id: ReferenceTypeId::Organizes.into(),
        is_forward: true,
        target_node_id: target.clone().into(),
        delete_bidirectional: true,
    };
    let root: NodeId = ObjectId::RootFolder.into();
    let objects: NodeId = ObjectId::ObjectsFolder.into();
    let request = DeleteReferencesRequest {
        request_header: header(),
        references_to_delete: Some(vec![
            gone(&top, &server_node),
            gone(&top, &server_node),
            gone(&root, &objects),
        ]),
    };
    let results = client.call(request).unwrap().results.unwrap();
    assert_eq!(
        results,
        [
            StatusCode::Good,
            StatusCode::BadNotFound,
            StatusCode::BadNoDeleteRights
        ]
    );
    assert_eq!(names(&mut client, &top), [""; 0]);
}

#[test]
fn without_being_allowed_nobody_manages_nodes() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let refused = add(&mut client, vec![folder(&NodeId::new(1, "Top"), "Top")]);
    assert_eq!(refused, Err(StatusCode::BadServiceUnsupported));
}

#[test]
fn services_that_are_not_there_say_so() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let unsupported = Some(StatusCode::BadServiceUnsupported);
    assert_eq!(client.call(QueryFirstRequest::default()).err(), unsupported);
    assert_eq!(client.call(QueryNextRequest::default()).err(), unsupported);
    // These need no session, and are refused without one just so.
    let mut client = Client::connect(server.url(), Protection::NONE, None, None).unwrap();
    assert_eq!(
        client.call(FindServersOnNetworkRequest::default()).err(),
        unsupported
    );
    assert_eq!(
        client.call(RegisterServer2Request::default()).err(),
        unsupported
    );
}
