//! FindServers and GetEndpoints (Part 4, 5.5): the only services without a session.

use wire::types::{
    FindServersRequest, FindServersResponse, GetEndpointsRequest, GetEndpointsResponse,
};

use crate::endpoints::application;
use crate::shared::Shared;

/// This server, unless others are asked for.
pub fn find_servers(shared: &Shared, request: &FindServersRequest) -> FindServersResponse {
    let server = application(&shared.config, &shared.url);
    let wanted = request.server_uris.as_deref().unwrap_or_default();
    let ours = wanted.is_empty() || wanted.contains(&server.application_uri);
    let mut response = FindServersResponse::default();
    response.response_header.request_handle = request.request_header.request_handle;
    response.servers = Some(ours.then_some(server).into_iter().collect());
    response
}

/// All endpoints, or those of the transports asked for.
pub fn get_endpoints(shared: &Shared, request: &GetEndpointsRequest) -> GetEndpointsResponse {
    let wanted = request.profile_uris.as_deref().unwrap_or_default();
    let endpoints = shared.endpoints().iter();
    let endpoints = endpoints
        .filter(|endpoint| wanted.is_empty() || wanted.contains(&endpoint.transport_profile_uri));
    let mut response = GetEndpointsResponse::default();
    response.response_header.request_handle = request.request_header.request_handle;
    response.endpoints = Some(endpoints.cloned().collect());
    response
}
