//! RegisterNodes: an alias for each node, which a server may answer for faster.

use wire::types::{NodeId, RegisterNodesRequest, RequestHeader};

use super::WorkError;
use crate::access::Session;
use crate::transport::{CallError, one_each};

/// Registers nodes for a session, `at_a_time` with one call, and tells their aliases.
pub async fn register(
    nodes: &[NodeId],
    at_a_time: usize,
    session: &mut Session,
) -> Result<Vec<NodeId>, WorkError> {
    let mut aliases = Vec::with_capacity(nodes.len());
    for nodes in nodes.chunks(at_a_time.max(1)) {
        let request = RegisterNodesRequest {
            request_header: RequestHeader::default(),
            nodes_to_register: Some(nodes.to_vec()),
        };
        let response = session.call_in_turn(request).await?;
        let own = one_each(response.registered_node_ids, nodes.len());
        aliases.extend(own.map_err(CallError::from)?);
    }
    Ok(aliases)
}
