//! What a server offers, and which of it is taken.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use wire::certificate::Certificate;
use wire::channel::Protection;
use wire::policy::{Mode, Policy};
use wire::types::{
    EndpointDescription, GetEndpointsRequest, NodeId, UserTokenPolicy, UserTokenType,
};
use wire::url::Url;

use crate::transport::{CallError, Link};

/// The policy and mode a user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Security {
    /// None if it is offered, else the best.
    #[default]
    Unasked,
    /// The strongest that is offered.
    Best,
    /// The weakest that is offered.
    Least,
    /// This one and no other.
    Exactly(Protection),
}

/// The text names no policy and mode.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error(
    "{0:?} is no security (want POLICY:MODE such as Basic256Sha256:SignAndEncrypt, or best, least, none)"
)]
pub struct UnknownSecurity(String);

impl FromStr for Security {
    type Err = UnknownSecurity;

    fn from_str(text: &str) -> Result<Self, UnknownSecurity> {
        let unknown = || UnknownSecurity(text.to_owned());
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self::Exactly(Protection::NONE));
        }
        if text.eq_ignore_ascii_case("best") {
            return Ok(Self::Best);
        }
        if text.eq_ignore_ascii_case("least") {
            return Ok(Self::Least);
        }
        let (policy, mode) = text.split_once(':').ok_or_else(unknown)?;
        let protection = Protection {
            policy: policy.parse().map_err(|_| unknown())?,
            mode: mode.parse().map_err(|_| unknown())?,
        };
        match protection.is_consistent() {
            true => Ok(Self::Exactly(protection)),
            false => Err(unknown()),
        }
    }
}

/// One endpoint that a server offers over the transport of its URL.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// As the server describes it.
    pub description: EndpointDescription,
    /// Policy and mode; nothing if the policy is one that we do not know.
    pub protection: Option<Protection>,
}

impl Endpoint {
    fn of(description: EndpointDescription) -> Self {
        let policy = Policy::from_uri(description.security_policy_uri.as_ref());
        let mode = Mode::try_from(description.security_mode).ok();
        Self {
            protection: policy
                .zip(mode)
                .map(|(policy, mode)| Protection { policy, mode }),
            description,
        }
    }

    /// The URL the server gives, which need not be reachable from here.
    pub fn url(&self) -> &str {
        self.description.endpoint_url.as_ref()
    }

    /// The server's certificate.
    pub fn certificate(&self) -> Option<Certificate> {
        let bytes = self.description.server_certificate.value.as_deref()?;
        Certificate::from_der(bytes).ok()
    }

    /// How users may prove who they are.
    pub fn tokens(&self) -> &[UserTokenPolicy] {
        self.description
            .user_identity_tokens
            .as_deref()
            .unwrap_or_default()
    }

    /// Its policy and mode, or the name of a policy that is not known here.
    pub fn name(&self) -> String {
        match self.protection {
            Some(protection) => protection.to_string(),
            None => {
                let uri: &str = self.description.security_policy_uri.as_ref();
                uri.rsplit('#').next().unwrap_or_default().to_owned()
            }
        }
    }

    /// The kinds of users it takes, each once.
    pub fn users(&self) -> impl Iterator<Item = &'static str> {
        let kinds = [
            UserTokenType::Anonymous,
            UserTokenType::UserName,
            UserTokenType::Certificate,
            UserTokenType::IssuedToken,
        ];
        let taken = kinds.into_iter().filter(|&kind| self.token(kind).is_some());
        taken.map(user)
    }

    /// The first token policy of a kind.
    pub fn token(&self, kind: UserTokenType) -> Option<&UserTokenPolicy> {
        self.tokens().iter().find(|token| token.token_type == kind)
    }
}

/// The endpoint that was asked for is not there.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub struct NotOffered {
    /// What was asked for.
    pub asked: String,
    /// What there is.
    pub offered: Vec<String>,
}

impl fmt::Display for NotOffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, offered } = self;
        if offered.is_empty() {
            return write!(
                f,
                "the server offers no endpoint over the transport of this URL"
            );
        }
        let offered = offered.join(", ");
        write!(f, "the server does not offer {asked}; it offers {offered}")
    }
}

/// Asks the server at the other end of `link` for its endpoints over the transport of the URL, with messages as they are
/// on that link.
pub fn endpoints(link: &mut Link, (url, json): (&Url, bool)) -> Result<Vec<Endpoint>, CallError> {
    let response = link.call(
        &NodeId::null(),
        GetEndpointsRequest {
            request_header: Default::default(),
            endpoint_url: url.to_string().into(),
            locale_ids: None,
            profile_uris: None,
        },
    )?;
    let is_over_it = |description: &EndpointDescription| {
        let profile = description.transport_profile_uri.as_ref();
        // Part 4, 7.14: a server that leaves it out means the transport of the URL.
        profile == profile_of(url, json) || profile.is_empty()
    };
    let all = response.endpoints.unwrap_or_default();
    Ok(all
        .into_iter()
        .filter(is_over_it)
        .map(Endpoint::of)
        .collect())
}

/// The TransportProfileUri of this URL with this encoding.
pub fn profile_of(url: &Url, json: bool) -> &'static str {
    let over = url.transport();
    let in_json = over.json_profile().filter(|_| json);
    in_json.unwrap_or_else(|| over.profile())
}

/// Takes the endpoint that was asked for.
pub fn choose(endpoints: &[Endpoint], security: Security) -> Result<&Endpoint, NotOffered> {
    let known = || endpoints.iter().filter(|e| e.protection.is_some());
    let with = |wanted| known().find(move |e| e.protection == Some(wanted));
    let strength = |e: &&Endpoint| e.protection.map(|p| (p.mode, p.policy));
    // A curve wants a certificate of its own, which a server that trusts the one for RSA does not know: only where it
    // is asked for by its name, or nothing else protects.
    let rsa = |e: &&Endpoint| e.protection.is_some_and(|p| p.policy.curve().is_none());
    let best = || known().max_by_key(|e| e.protection.map(|p| (p.mode, rsa(e), p.policy)));
    let found = match security {
        Security::Exactly(protection) => with(protection),
        Security::Best => best(),
        Security::Least => known().min_by_key(strength),
        Security::Unasked => with(Protection::NONE).or_else(best),
    };
    found.ok_or_else(|| NotOffered {
        asked: match security {
            Security::Exactly(protection) => protection.to_string(),
            _ => "a security policy that uaperf knows".to_owned(),
        },
        offered: endpoints.iter().map(Endpoint::name).collect(),
    })
}

/// A kind of user, for a reader.
pub fn user(kind: UserTokenType) -> &'static str {
    match kind {
        UserTokenType::Anonymous => "anonymous",
        UserTokenType::UserName => "user name",
        UserTokenType::Certificate => "certificate",
        UserTokenType::IssuedToken => "issued token",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::types::MessageSecurityMode;

    fn endpoint(policy: Policy, mode: MessageSecurityMode) -> Endpoint {
        Endpoint::of(EndpointDescription {
            security_policy_uri: policy.uri().into(),
            security_mode: mode,
            ..Default::default()
        })
    }

    fn offer() -> Vec<Endpoint> {
        use MessageSecurityMode::{None, Sign, SignAndEncrypt};
        vec![
            endpoint(Policy::Basic256Sha256, SignAndEncrypt),
            endpoint(Policy::Aes256Sha256RsaPss, Sign),
            endpoint(Policy::None, None),
            endpoint(Policy::Basic128Rsa15, SignAndEncrypt),
        ]
    }

    fn chosen(endpoints: &[Endpoint], security: &str) -> Result<String, NotOffered> {
        choose(endpoints, security.parse().unwrap()).map(Endpoint::name)
    }

    #[test]
    fn security_is_taken_as_asked_for() {
        let offer = offer();
        assert_eq!(chosen(&offer, "none").unwrap(), "None");
        assert_eq!(
            chosen(&offer, "best").unwrap(),
            "Basic256Sha256:SignAndEncrypt"
        );
        let curve = endpoint(Policy::EccNistP256, MessageSecurityMode::SignAndEncrypt);
        let curves = [std::slice::from_ref(&curve), &offer[..]].concat();
        assert_eq!(
            chosen(&curves, "best").unwrap(),
            "Basic256Sha256:SignAndEncrypt",
            "a curve has to be asked for"
        );
        assert_eq!(
            chosen(&[curve], "best").unwrap(),
            "ECC_nistP256:SignAndEncrypt"
        );
        assert_eq!(
            chosen(&offer, "aes256_sha256_rsapss:sign").unwrap(),
            "Aes256_Sha256_RsaPss:Sign"
        );
        let error = chosen(&offer, "Basic256:Sign").unwrap_err().to_string();
        assert!(error.contains("does not offer Basic256:Sign"), "{error}");
        assert!(error.contains("Basic128Rsa15:SignAndEncrypt"), "{error}");
    }

    #[test]
    fn unasked_is_none_where_there_is_none_and_else_the_best() {
        let mut offer = offer();
        let take = |offer: &[Endpoint]| {
            choose(offer, Security::Unasked)
                .map(Endpoint::name)
                .unwrap()
        };
        assert_eq!(take(&offer), "None");
        offer.remove(2);
        assert_eq!(take(&offer), "Basic256Sha256:SignAndEncrypt");
    }

    #[test]
    fn nonsense_is_no_security() {
        for text in ["", "Basic256Sha256", "None:Sign", "Basic256:None", "a:b"] {
            assert!(text.parse::<Security>().is_err(), "{text}");
        }
    }
}
