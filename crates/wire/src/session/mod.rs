//! Sessions: created, activated, moved to another channel, closed or timed out
//! (Part 4, 5.7).
//!
//! [`client::Session`] and [`server::Session`] make and check the requests and responses of one
//! session. They send nothing: what they make goes through a connection, whose channel they are
//! told of. Signatures and encryption come as [`Job`](crate::job::Job)s, nonces and tokens as
//! arguments, so both are as pure as the rest of the crate.
//!
//! [`token`] is the user: credentials on one side, a proven identity on the other.

pub mod client;
mod ephemeral;
mod secret;
pub mod server;
pub mod token;

#[cfg(test)]
mod tests;

use opcua_types::{ByteString, EndpointDescription, SignatureData, UAString, UserTokenPolicy};

use crate::certificate::Certificate;
use crate::channel::Protection;
use crate::policy::{KeyUseError, Policy, PrivateKey, PublicKey};

/// Length of the nonces both sides give: the least there may be (Part 4, 5.7.2.2).
pub const NONCE_LEN: usize = 32;

/// A nonce of a session, fresh from a random source for each use.
pub type Nonce = [u8; NONCE_LEN];

/// The SecureChannel that a request came through, or that it will be sent through.
#[derive(Debug, Clone)]
pub struct Channel {
    /// Its number.
    pub id: u32,
    /// Its policy and mode.
    pub protection: Protection,
    /// The certificate the other side opened it with; none under policy None.
    pub peer: Option<Certificate>,
}

/// Signs the other side's certificate and nonce, as both CreateSession and ActivateSession ask
/// for; nothing under policy None.
fn sign(
    key: &PrivateKey,
    policy: Policy,
    certificate: &Certificate,
    nonce: &[u8],
) -> Result<SignatureData, KeyUseError> {
    if policy == Policy::None {
        return Ok(SignatureData::default());
    }
    // Part 4, 5.7.2.2 and 5.7.3.2: only the leaf of a chain is signed.
    let signature = key.sign(policy, &[certificate.leaf(), nonce].concat())?;
    Ok(SignatureData {
        algorithm: policy
            .asymmetric_signature_uri()
            .map_or_else(UAString::null, UAString::from),
        signature: signature.into(),
    })
}

/// Whether the other side signed our certificate and nonce.
///
/// The policy says what the algorithm is, so the URI in the signature is not looked at: stacks
/// fill it in differently, and it is no protection against anything.
fn is_signed(
    signature: &SignatureData,
    key: &PublicKey,
    policy: Policy,
    certificate: &Certificate,
    nonce: &[u8],
) -> bool {
    let signed_with = |certificate: &[u8]| {
        let data = [certificate, nonce].concat();
        key.verify(policy, &data, signature.signature.as_ref())
    };
    // Part 4, 5.7.3.2: older stacks sign the whole chain, which is to be tried second.
    signed_with(certificate.leaf())
        || (certificate.chain().len() > 1 && signed_with(certificate.as_bytes()))
}

/// The endpoint of a list that a channel with this protection and TransportProfileUri belongs to.
fn endpoint_for<'a>(
    endpoints: &'a [EndpointDescription],
    protection: Protection,
    profile: &str,
) -> Option<&'a EndpointDescription> {
    endpoints.iter().find(|endpoint| {
        endpoint.security_mode == protection.mode.into()
            && endpoint.security_policy_uri.as_ref() == protection.policy.uri()
            && is_over(endpoint, profile)
    })
}

/// Whether the endpoint has this TransportProfileUri, or none.
fn is_over(endpoint: &EndpointDescription, profile: &str) -> bool {
    let said = endpoint.transport_profile_uri.as_ref();
    said.is_empty() || said == profile
}

/// The policy a user token is protected with: its own, or else the channel's (Part 4, 7.41.2.1).
/// None if it is not one of ours.
fn policy_for(token: &UserTokenPolicy, protection: Protection) -> Option<Policy> {
    match token.security_policy_uri.as_ref() {
        "" => Some(protection.policy),
        uri => Policy::from_uri(uri),
    }
}

fn tokens(endpoint: &EndpointDescription) -> &[UserTokenPolicy] {
    endpoint.user_identity_tokens.as_deref().unwrap_or_default()
}

fn certificate_bytes(certificate: Option<&Certificate>) -> ByteString {
    certificate.map_or_else(ByteString::null, |certificate| {
        ByteString::from(certificate.as_bytes())
    })
}

fn text(value: &UAString) -> Option<&str> {
    value.value().as_deref().filter(|text| !text.is_empty())
}
