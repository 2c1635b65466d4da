//! Rounds of nodes: variables are added below a node, with references between them, and all deleted.

use plan::NewNodes;
use wire::types::{
    AddNodesItem, AddNodesRequest, AddReferencesItem, AddReferencesRequest, DataTypeId,
    DeleteNodesItem, DeleteNodesRequest, DeleteReferencesItem, DeleteReferencesRequest,
    ExtensionObject, NodeClass, NodeId, QualifiedName, ReferenceTypeId, StatusCode,
    VariableAttributes, VariableTypeId, Variant,
};

use super::client::Client;
use super::round::Round;
use crate::transport::one_each;

/// Bits of SpecifiedAttributes (Part 4, 7.24.1).
mod specified {
    pub const ACCESS_LEVEL: u32 = 1;
    pub const DATA_TYPE: u32 = 1 << 4;
    pub const DISPLAY_NAME: u32 = 1 << 6;
    pub const VALUE_RANK: u32 = 1 << 19;
    pub const VALUE: u32 = 1 << 21;
}

/// One round. Gives how many nodes were there.
pub async fn round(
    client: &mut Client<'_>,
    plan: &NewNodes,
    round: &mut Round<'_>,
) -> Result<u32, StatusCode> {
    client.has_session().await?;
    let mut there = Vec::new();
    let made = with_nodes(client, plan, round, &mut there).await;
    // Whatever became of the references: nothing is left behind.
    for some in there.chunks(client.prepared.per_call()) {
        let nodes = some.iter().map(|node| DeleteNodesItem {
            node_id: node.clone(),
            delete_target_references: true,
        });
        let request = DeleteNodesRequest {
            nodes_to_delete: Some(nodes.collect()),
            ..Default::default()
        };
        round
            .request("delete nodes", async {
                let statuses = one_each(client.call(request).await?.results, some.len())?;
                Ok(((), statuses.into_iter().collect()))
            })
            .await?;
    }
    made.map(|()| u32::try_from(there.len()).unwrap_or(u32::MAX))
}

async fn with_nodes(
    client: &mut Client<'_>,
    plan: &NewNodes,
    round: &mut Round<'_>,
    there: &mut Vec<NodeId>,
) -> Result<(), StatusCode> {
    let per_call = client.prepared.per_call();
    // Preparing found the one that they are added to.
    let below = client.prepared.nodes().first().cloned().unwrap_or_default();
    let numbers: Vec<u32> = (0..plan.count).collect();
    for some in numbers.chunks(per_call) {
        let seat = client.seat;
        let nodes = some.iter().map(|n| {
            item(
                &below,
                &format!("uaperf {}.{}.{n}", seat.target, seat.index),
            )
        });
        let request = AddNodesRequest {
            nodes_to_add: Some(nodes.collect()),
            ..Default::default()
        };
        let made = round.request("add nodes", async {
            let all = one_each(client.call(request).await?.results, some.len())?;
            let results = all.iter().map(|it| it.status_code).collect();
            let good = all.into_iter().filter(|it| !it.status_code.is_bad());
            let ids: Vec<_> = good.map(|it| it.added_node_id).collect();
            Ok((ids, results))
        });
        there.extend(made.await?);
    }
    if !plan.references {
        return Ok(());
    }
    let pairs: Vec<_> = there.iter().zip(there.iter().skip(1)).collect();
    for some in pairs.chunks(per_call) {
        let references = some.iter().map(|(from, to)| AddReferencesItem {
            source_node_id: (*from).clone(),
            reference_type_id: ReferenceTypeId::HasComponent.into(),
            is_forward: true,
            target_node_id: (*to).clone().into(),
            target_node_class: NodeClass::Variable,
            ..Default::default()
        });
        let request = AddReferencesRequest {
            references_to_add: Some(references.collect()),
            ..Default::default()
        };
        round
            .request("add references", async {
                let statuses = one_each(client.call(request).await?.results, some.len())?;
                Ok(((), statuses.into_iter().collect()))
            })
            .await?;
    }
    for some in pairs.chunks(per_call) {
        let references = some.iter().map(|(from, to)| DeleteReferencesItem {
            source_node_id: (*from).clone(),
            reference_type_id: ReferenceTypeId::HasComponent.into(),
            is_forward: true,
            target_node_id: (*to).clone().into(),
            delete_bidirectional: true,
        });
        let request = DeleteReferencesRequest {
            references_to_delete: Some(references.collect()),
            ..Default::default()
        };
        round
            .request("delete references", async {
                let statuses = one_each(client.call(request).await?.results, some.len())?;
                Ok(((), statuses.into_iter().collect()))
            })
            .await?;
    }
    Ok(())
}

fn item(below: &NodeId, name: &str) -> AddNodesItem {
    let attributes = VariableAttributes {
        specified_attributes: specified::ACCESS_LEVEL
            | specified::DATA_TYPE
            | specified::DISPLAY_NAME
            | specified::VALUE_RANK
            | specified::VALUE,
        display_name: name.into(),
        value: Variant::Double(0.0),
        data_type: DataTypeId::Double.into(),
        // Part 3, 5.6.2: a scalar.
        value_rank: -1,
        // CurrentRead and CurrentWrite.
        access_level: 3,
        ..Default::default()
    };
    AddNodesItem {
        parent_node_id: below.clone().into(),
        reference_type_id: ReferenceTypeId::Organizes.into(),
        // No identifier: the server gives one.
        requested_new_node_id: NodeId::null().into(),
        browse_name: QualifiedName::new(1, name),
        node_class: NodeClass::Variable,
        node_attributes: ExtensionObject::from_message(attributes),
        type_definition: NodeId::from(VariableTypeId::BaseDataVariableType).into(),
    }
}
