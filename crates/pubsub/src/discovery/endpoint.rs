//! Where a publisher that is a server, too, can be asked (EndpointDescription, Part 4, 7.14).

use super::walk::{
    array, put_count, put_null, put_string, skip_array, skip_localized_text, skip_octets, string,
};
use crate::cursor::Cursor;
use crate::encode::EncodeError;
use crate::error::DecodeError;

/// What is worth knowing of an endpoint before its server is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Its URL.
    pub url: String,
    /// The URI of its application.
    pub application_uri: String,
    /// None 1, Sign 2, SignAndEncrypt 3.
    pub security_mode: u32,
    /// The URI of its security policy.
    pub security_policy: String,
    /// The URI of its transport profile.
    pub transport_profile: String,
}

/// The type of a server.
const SERVER: u32 = 0;

impl Endpoint {
    /// The least that one takes.
    pub(crate) const LEAST: usize = 50;

    pub(crate) fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let url = string(c, "EndpointUrl")?;
        let application_uri = string(c, "ApplicationUri")?;
        skip_octets(c, "ProductUri")?;
        skip_localized_text(c)?;
        c.u32("ApplicationType")?;
        skip_octets(c, "GatewayServerUri")?;
        skip_octets(c, "DiscoveryProfileUri")?;
        skip_array(c, 4, "DiscoveryUrls", |c| skip_octets(c, "DiscoveryUrl"))?;
        skip_octets(c, "ServerCertificate")?;
        let security_mode = c.u32("SecurityMode")?;
        let security_policy = string(c, "SecurityPolicyUri")?;
        skip_array(c, 20, "UserIdentityTokens", |c| {
            skip_octets(c, "PolicyId")?;
            c.u32("TokenType")?;
            skip_octets(c, "IssuedTokenType")?;
            skip_octets(c, "IssuerEndpointUrl")?;
            skip_octets(c, "SecurityPolicyUri")
        })?;
        let endpoint = Self {
            url,
            application_uri,
            security_mode,
            security_policy,
            transport_profile: string(c, "TransportProfileUri")?,
        };
        c.u8("SecurityLevel")?;
        Ok(endpoint)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_string(&self.url, out)?;
        put_string(&self.application_uri, out)?;
        put_null(out);
        out.push(0);
        out.extend(SERVER.to_le_bytes());
        put_null(out);
        put_null(out);
        put_count(1, "DiscoveryUrls", out)?;
        put_string(&self.url, out)?;
        put_null(out);
        out.extend(self.security_mode.to_le_bytes());
        put_string(&self.security_policy, out)?;
        put_null(out);
        put_string(&self.transport_profile, out)?;
        out.push(0);
        Ok(())
    }
}

/// All of them.
pub(crate) fn endpoints(c: &mut Cursor<'_>) -> Result<Vec<Endpoint>, DecodeError> {
    array(c, Endpoint::LEAST, "endpoints", Endpoint::read)
}
