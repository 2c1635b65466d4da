//! The endpoints of discovery beside those of the session.

use opcua_types::EndpointDescription;

use super::SessionError;
use crate::policy::Policy;
use crate::session::{is_over, tokens};

/// Part 4, 5.7.2.1: the list from discovery came without protection; the session's, under a
/// secured channel, cannot have been changed. Only what the specification says is compared.
pub(super) fn compare(
    discovered: &[EndpointDescription],
    told: &[EndpointDescription],
    profile: &str,
) -> Result<(), SessionError> {
    let lacks = |list: &[EndpointDescription], wanted: &EndpointDescription| {
        is_over(wanted, profile) && !list.iter().any(|endpoint| is_same(endpoint, wanted))
    };
    let describe = |what, endpoint: &EndpointDescription| {
        let (url, mode) = (&endpoint.endpoint_url, endpoint.security_mode);
        let uri = endpoint.security_policy_uri.as_ref();
        let policy = Policy::from_uri(uri).map_or_else(|| uri.to_owned(), |ours| ours.to_string());
        SessionError::Endpoints(format!("{url} {policy}:{mode:?} {what}"))
    };
    if let Some(hidden) = told.iter().find(|endpoint| lacks(discovered, endpoint)) {
        return Err(describe("was not discovered", hidden));
    }
    match discovered.iter().find(|endpoint| lacks(told, endpoint)) {
        Some(invented) => Err(describe("is not known to the session", invented)),
        None => Ok(()),
    }
}

fn is_same(a: &EndpointDescription, b: &EndpointDescription) -> bool {
    a.server.application_uri == b.server.application_uri
        && a.endpoint_url == b.endpoint_url
        && a.security_mode == b.security_mode
        && a.security_policy_uri == b.security_policy_uri
        && a.transport_profile_uri == b.transport_profile_uri
        && a.security_level == b.security_level
        && tokens(a) == tokens(b)
}
