//! What a server or a discovery server knows of servers and endpoints, asked without a session
//! (Part 4, 5.5).

use std::sync::Arc;
use std::time::{Duration, Instant};

use capture::Recorder;
use serde::Serialize;
use wire::service::Service;
use wire::types::{
    ApplicationDescription, EndpointDescription, FindServersOnNetworkRequest, FindServersRequest,
    GetEndpointsRequest, NodeId, ServerOnNetwork, StatusCode,
};
use wire::url::{Transport, Url};

use crate::access::with_anybody;
use crate::transport::{CallError, Link, LinkError, Options, Proxy, Steps, Way};

/// What was found, and how long it took.
#[derive(Debug, Clone, Serialize)]
pub struct Discovered {
    /// As typed.
    pub url: String,
    /// FindServers: applications that it knows, itself among them.
    pub servers: ServiceAnswers<Server>,
    /// GetEndpoints: its own endpoints.
    pub endpoints: ServiceAnswers<Offer>,
    /// FindServersOnNetwork: what it has heard of; most servers do not have this service.
    pub network: ServiceAnswers<OnNetwork>,
}

/// The answers to one service.
#[derive(Debug, Clone, Serialize)]
pub struct ServiceAnswers<T> {
    /// The last answer.
    pub found: Vec<T>,
    /// Why there is none.
    pub refused: Option<String>,
    /// How long each call took.
    pub times_ns: Vec<u64>,
}

/// An application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its URI.
    pub uri: String,
    /// Server, client, both, or a discovery server.
    pub kind: String,
    /// Where it can be asked for its endpoints.
    pub urls: Vec<String>,
}

/// An endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// Where.
    pub url: String,
    /// Policy, by the last part of its URI.
    pub policy: String,
    /// Mode.
    pub mode: String,
    /// The server's own weighing.
    pub level: u8,
    /// The kinds of users it takes.
    pub users: Vec<String>,
}

/// A server that was heard of on the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnNetwork {
    /// Its name.
    pub name: String,
    /// Where it can be asked.
    pub url: String,
    /// What it says it can do.
    pub capabilities: Vec<String>,
}

/// Asks all three services, so many times.
pub fn discover(
    url: &Url,
    repeat: u32,
    timeout: Duration,
    (proxy, recorder): (Option<Arc<Proxy>>, Option<Recorder>),
) -> Result<Discovered, LinkError> {
    let options = Options {
        tls: with_anybody().filter(|_| url.transport() != Transport::Tcp),
        timeout,
        way: proxy.map_or(Way::Dial, Way::Proxied),
        recorder,
        ..Options::default()
    };
    let mut link = Link::open(url, &options, &mut Steps::new())?;
    let endpoint_url = url.to_string();
    let servers = ask(&mut link, repeat, || FindServersRequest {
        endpoint_url: endpoint_url.as_str().into(),
        ..Default::default()
    })?;
    let endpoints = ask(&mut link, repeat, || GetEndpointsRequest {
        endpoint_url: endpoint_url.as_str().into(),
        ..Default::default()
    })?;
    let network = ask(&mut link, repeat, FindServersOnNetworkRequest::default)?;
    let found = Discovered {
        url: endpoint_url,
        servers: servers.map(|response| response.servers.into_iter().flatten().map(server)),
        endpoints: endpoints.map(|response| response.endpoints.into_iter().flatten().map(offer)),
        network: network.map(|response| response.servers.into_iter().flatten().map(on_network)),
    };
    // What was asked for is there, whether the server lets go politely or not.
    let _ = link.close();
    Ok(found)
}

/// The answers as they came.
struct Raw<T> {
    last: Option<T>,
    refused: Option<StatusCode>,
    times_ns: Vec<u64>,
}

impl<T> Raw<T> {
    fn map<U, I: Iterator<Item = U>>(self, list: impl FnOnce(T) -> I) -> ServiceAnswers<U> {
        ServiceAnswers {
            found: self
                .last
                .map(|last| list(last).collect())
                .unwrap_or_default(),
            refused: self.refused.map(|status| status.to_string()),
            times_ns: self.times_ns,
        }
    }
}

/// A service that is refused is an answer, too; a link that broke is none.
fn ask<S: Service>(
    link: &mut Link,
    repeat: u32,
    request: impl Fn() -> S,
) -> Result<Raw<S::Response>, LinkError> {
    let mut raw = Raw {
        last: None,
        refused: None,
        times_ns: Vec::new(),
    };
    for _ in 0..repeat.max(1) {
        let start = Instant::now();
        match link.call(&NodeId::null(), request()) {
            Ok(response) => raw.last = Some(response),
            Err(CallError::Link(error)) => return Err(error),
            Err(error) => raw.refused = Some(error.status()),
        }
        let nanos = start.elapsed().as_nanos();
        raw.times_ns.push(u64::try_from(nanos).unwrap_or(u64::MAX));
    }
    Ok(raw)
}

fn server(of: ApplicationDescription) -> Server {
    let urls = of.discovery_urls.unwrap_or_default();
    Server {
        name: of.application_name.text.to_string(),
        uri: of.application_uri.to_string(),
        kind: format!("{:?}", of.application_type),
        urls: urls.iter().map(ToString::to_string).collect(),
    }
}

fn offer(of: EndpointDescription) -> Offer {
    let policy = of.security_policy_uri.as_ref();
    let tokens = of.user_identity_tokens.unwrap_or_default();
    let mut users: Vec<String> = Vec::new();
    for token in tokens {
        let kind = format!("{:?}", token.token_type);
        if !users.contains(&kind) {
            users.push(kind);
        }
    }
    Offer {
        url: of.endpoint_url.to_string(),
        policy: policy.rsplit('#').next().unwrap_or(policy).to_owned(),
        mode: format!("{:?}", of.security_mode),
        level: of.security_level,
        users,
    }
}

fn on_network(of: ServerOnNetwork) -> OnNetwork {
    let capabilities = of.server_capabilities.unwrap_or_default();
    OnNetwork {
        name: of.server_name.to_string(),
        url: of.discovery_url.to_string(),
        capabilities: capabilities.iter().map(ToString::to_string).collect(),
    }
}
