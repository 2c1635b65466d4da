//! What the server says of itself before a session: its description and its endpoints.

use wire::channel::{Identities, Protection};
use wire::policy::{Mode, Policy};
use wire::types::{
    ApplicationDescription, ApplicationType, ByteString, EndpointDescription, LocalizedText,
    UAString, UserTokenPolicy, UserTokenType,
};
use wire::url::Transport;

use crate::advertise::Urls;
use crate::config::Config;

/// What secrets and user certificates are protected with where the channel is not.
const TOKEN_POLICY: Policy = Policy::Basic256Sha256;

/// What tokens are taken for, though nobody looks into them (Part 6, 6.5.2.2).
const JWT: &str = "http://opcfoundation.org/UA/UserToken#JWT";

/// The server's description.
pub fn application(config: &Config, urls: &Urls) -> ApplicationDescription {
    ApplicationDescription {
        application_uri: config.application_uri.as_str().into(),
        product_uri: "urn:uaperf".into(),
        application_name: LocalizedText::new("", &config.name),
        application_type: ApplicationType::Server,
        discovery_urls: Some(urls.discovery()),
        ..Default::default()
    }
}

/// The endpoints that a server with this configuration has at a URL of opc.tcp, and at one inside TLS if there is one.
pub fn endpoints_at(
    config: &Config,
    url: &str,
    inside_tls: Option<&str>,
    identities: &Identities,
) -> Vec<EndpointDescription> {
    let over = |transport: Transport| {
        let is_over = |url: &&str| url.starts_with(transport.scheme());
        inside_tls.filter(is_over).map(str::to_owned)
    };
    let urls = Urls {
        tcp: url.to_owned(),
        wss: over(Transport::Wss),
        https: over(Transport::Https),
    };
    endpoints(config, &urls, identities)
}

/// An endpoint for each protection on offer over each transport, weakest first. Over HTTPS it is TLS that protects.
pub fn endpoints(
    config: &Config,
    urls: &Urls,
    identities: &Identities,
) -> Vec<EndpointDescription> {
    let mut offered = config.protections.clone();
    offered.retain(|it| *it == Protection::NONE || identities.of(it.policy).is_some());
    offered.sort();
    offered.dedup();
    let certificate = |policy| {
        let identity = identities.of(policy);
        identity.map_or_else(ByteString::null, |identity| {
            ByteString::from(identity.certificate.as_bytes())
        })
    };
    let server = application(config, urls);
    let each = urls.each().flat_map(|(transport, url)| {
        let offered = match transport {
            Transport::Https => &[Protection::NONE],
            Transport::Tcp | Transport::Wss => offered.as_slice(),
        };
        let offered = offered.iter();
        offered.map(move |&protection| (transport, url, protection))
    });
    // In JSON it is TLS alone that protects, over WebSockets, too.
    let in_json = urls.each().filter_map(|(transport, url)| {
        let profile = transport.json_profile()?;
        if transport == Transport::Wss && !config.has_json_sockets() {
            return None;
        }
        Some((transport, profile, url, Protection::NONE))
    });
    let each = each.map(|(transport, url, it)| (transport, transport.profile(), url, it));
    let each = each.chain(in_json);
    each.map(
        |(transport, profile, url, protection)| EndpointDescription {
            endpoint_url: url.into(),
            server: server.clone(),
            server_certificate: certificate(protection.policy),
            security_mode: protection.mode.into(),
            security_policy_uri: protection.policy.uri().into(),
            user_identity_tokens: Some(tokens(config, protection, identities)),
            transport_profile_uri: profile.into(),
            security_level: match transport {
                // Recommended as all are that encrypt, and behind those of which both sides prove who they are.
                Transport::Https => 1,
                Transport::Wss if Some(profile) == transport.json_profile() => 1,
                Transport::Tcp | Transport::Wss => level(protection),
            },
        },
    )
    .collect()
}

/// Higher is better (Part 4, 7.14); only None says 0, that it is not recommended.
fn level(protection: Protection) -> u8 {
    // All of them are in the list.
    let place = Policy::ALL
        .iter()
        .position(|policy| *policy == protection.policy);
    debug_assert!(place.is_some(), "{}", protection.policy);
    let policy = place.unwrap_or_default();
    let mode = usize::from(protection.mode == Mode::SignAndEncrypt);
    (policy * 10 + mode * 5) as u8
}

/// The policy that secrets and certificates of users are protected with on a channel of this policy.
///
/// Part 6, 6.8.2: one without a channel would need an ephemeral key, which only a channel of a curve can be trusted with.
pub fn token_policy(channel: Policy, identities: &Identities) -> Policy {
    match channel {
        Policy::None if identities.of(TOKEN_POLICY).is_some() => TOKEN_POLICY,
        policy => policy,
    }
}

fn tokens(
    config: &Config,
    protection: Protection,
    identities: &Identities,
) -> Vec<UserTokenPolicy> {
    let users = &config.users;
    // Part 4, 7.41: an empty URI would stand for the policy of the endpoint, but the client of
    // async-opcua takes it for None and signs nothing. So the policy is named.
    let policy = token_policy(protection.policy, identities);
    let security_policy_uri = UAString::from(policy.uri());
    let token = |id: &str, token_type, security_policy_uri| UserTokenPolicy {
        policy_id: id.into(),
        token_type,
        security_policy_uri,
        ..Default::default()
    };
    let mut tokens = Vec::new();
    if users.anonymous {
        tokens.push(token(
            "anonymous",
            UserTokenType::Anonymous,
            UAString::null(),
        ));
    }
    if !users.passwords.is_empty() {
        tokens.push(token(
            "username",
            UserTokenType::UserName,
            security_policy_uri.clone(),
        ));
    }
    if !users.tokens.is_empty() {
        let issued = token(
            "issued",
            UserTokenType::IssuedToken,
            security_policy_uri.clone(),
        );
        tokens.push(UserTokenPolicy {
            issued_token_type: JWT.into(),
            ..issued
        });
    }
    if users.certificates.is_some() && !identities.is_empty() {
        tokens.push(token(
            "certificate",
            UserTokenType::Certificate,
            security_policy_uri,
        ));
    }
    tokens
}
