//! FindServers, GetEndpoints and what is answered to who registers (Part 4, 5.5): the only services without a
//! session.

use wire::certificate::Certificate;
use wire::time::Instant;
use wire::types::{
    FindServersOnNetworkRequest, FindServersOnNetworkResponse, FindServersRequest,
    FindServersResponse, GetEndpointsRequest, GetEndpointsResponse, RegisterServer2Request,
    RegisterServer2Response, RegisterServerRequest, RegisterServerResponse, RegisteredServer,
    StatusCode,
};

use crate::advertise::{self, Urls};
use crate::endpoints::application;
use crate::shared::Shared;

/// What they work with.
pub struct Discovery<'a> {
    pub shared: &'a Shared,
    /// Where this client reaches the server, if that is not where everybody does.
    pub urls: Option<Urls>,
    /// Whose channel it is.
    pub peer: Option<&'a Certificate>,
    pub now: Instant,
}

impl Discovery<'_> {
    /// This server, at the URLs where this client reaches it, and those that registered here, unless others are asked for.
    pub(super) fn find_servers(
        &self,
        request: &FindServersRequest,
    ) -> Result<FindServersResponse, StatusCode> {
        let shared = self.shared;
        let urls = self.urls.as_ref().unwrap_or(&shared.advertised.urls);
        let locales = request.locale_ids.as_deref().unwrap_or_default();
        let mut servers = vec![application(&shared.config, urls)];
        servers.extend(shared.directory.servers(locales, self.now));
        let wanted = request.server_uris.as_deref().unwrap_or_default();
        if !wanted.is_empty() {
            servers.retain(|server| wanted.contains(&server.application_uri));
        }
        Ok(FindServersResponse {
            servers: Some(servers),
            ..Default::default()
        })
    }

    /// Part 4, 5.5.3: of discovery servers that listen to their network, and without a session as well.
    pub(super) fn find_servers_on_network(
        &self,
        _: &FindServersOnNetworkRequest,
    ) -> Result<FindServersOnNetworkResponse, StatusCode> {
        Err(StatusCode::BadServiceUnsupported)
    }

    /// All endpoints, or those of the transports asked for, at the URLs where this client reaches them.
    pub(super) fn get_endpoints(
        &self,
        request: &GetEndpointsRequest,
    ) -> Result<GetEndpointsResponse, StatusCode> {
        let wanted = request.profile_uris.as_deref().unwrap_or_default();
        let endpoints = self.shared.endpoints().iter();
        let endpoints = endpoints.filter(|endpoint| {
            wanted.is_empty() || wanted.contains(&endpoint.transport_profile_uri)
        });
        let mut endpoints: Vec<_> = endpoints.cloned().collect();
        if let Some(urls) = &self.urls {
            advertise::move_to(&mut endpoints, urls);
        }
        Ok(GetEndpointsResponse {
            endpoints: Some(endpoints),
            ..Default::default()
        })
    }

    pub(super) fn register_server(
        &self,
        request: &RegisterServerRequest,
    ) -> Result<RegisterServerResponse, StatusCode> {
        self.register(&request.server)?;
        Ok(RegisterServerResponse::default())
    }

    /// Nothing is announced on the network.
    pub(super) fn register_server_2(
        &self,
        request: &RegisterServer2Request,
    ) -> Result<RegisterServer2Response, StatusCode> {
        self.register(&request.server)?;
        let asked = request.discovery_configuration.as_deref();
        let results = asked.unwrap_or_default().iter();
        // Part 4, 5.5.6.3: one result for each configuration.
        let results: Vec<_> = results.map(|_| StatusCode::BadNotSupported).collect();
        Ok(RegisterServer2Response {
            configuration_results: Some(results),
            ..Default::default()
        })
    }

    fn register(&self, server: &RegisteredServer) -> Result<(), StatusCode> {
        if !self.shared.config.discovery {
            return Err(StatusCode::BadServiceUnsupported);
        }
        self.shared.directory.register(server, self.peer, self.now)
    }
}
