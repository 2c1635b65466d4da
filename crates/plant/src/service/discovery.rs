//! FindServers, GetEndpoints and what is answered to who registers (Part 4, 5.5): the only services without a
//! session.

use wire::time::Instant;
use wire::types::{
    FindServersRequest, FindServersResponse, GetEndpointsRequest, GetEndpointsResponse,
    RegisterServer2Request, RegisterServer2Response, StatusCode,
};

use crate::advertise::{self, Urls};
use crate::endpoints::application;
use crate::shared::Shared;

/// This server, which the client reaches at these URLs, and those that registered here, unless others are asked for.
pub fn find_servers(
    shared: &Shared,
    request: &FindServersRequest,
    urls: &Urls,
    now: Instant,
) -> FindServersResponse {
    let locales = request.locale_ids.as_deref().unwrap_or_default();
    let mut servers = vec![application(&shared.config, urls)];
    servers.extend(shared.directory.servers(locales, now));
    let wanted = request.server_uris.as_deref().unwrap_or_default();
    if !wanted.is_empty() {
        servers.retain(|server| wanted.contains(&server.application_uri));
    }
    let mut response = FindServersResponse::default();
    response.response_header.request_handle = request.request_header.request_handle;
    response.servers = Some(servers);
    response
}

/// The answer to a server that is registered. Nothing is announced on the network.
pub fn registered(request: &RegisterServer2Request) -> RegisterServer2Response {
    let asked = request.discovery_configuration.as_deref();
    let results = asked.unwrap_or_default().iter();
    // Part 4, 5.5.6.3: one result for each configuration.
    let results: Vec<_> = results.map(|_| StatusCode::BadNotSupported).collect();
    RegisterServer2Response {
        configuration_results: Some(results),
        ..Default::default()
    }
}

/// All endpoints, or those of the transports asked for, at the URLs where this client reaches them.
pub fn get_endpoints(
    shared: &Shared,
    request: &GetEndpointsRequest,
    urls: Option<&Urls>,
) -> GetEndpointsResponse {
    let wanted = request.profile_uris.as_deref().unwrap_or_default();
    let endpoints = shared.endpoints().iter();
    let endpoints = endpoints
        .filter(|endpoint| wanted.is_empty() || wanted.contains(&endpoint.transport_profile_uri));
    let mut response = GetEndpointsResponse::default();
    response.response_header.request_handle = request.request_header.request_handle;
    let mut endpoints: Vec<_> = endpoints.cloned().collect();
    if let Some(urls) = urls {
        advertise::move_to(&mut endpoints, urls);
    }
    response.endpoints = Some(endpoints);
    response
}
