//! Ephemeral keys for secrets of users, exchanged in the additional headers of CreateSession and ActivateSession
//! (Part 6, 6.8.2).
//!
//! A client asks for a key by naming the policy that its user's secret will be hidden with. The server's answer is a
//! public key that it signed. A key hides one secret; each activation brings the next.

use opcua_types::{
    AdditionalParametersType, ByteString, EphemeralKeyType, ExtensionObject, KeyValuePair,
    StatusCode, Variant,
};

use super::text;
use crate::certificate::Certificate;
use crate::policy::{Ephemeral, KeyUseError, Policy, PrivateKey};

/// What a request names the policy by.
const POLICY: &str = "ECDHPolicyUri";
/// What a response has the key under.
const KEY: &str = "ECDHKey";

/// The header of a request that asks for a key; none for a policy that has no use for it.
pub(super) fn ask(policy: Policy) -> ExtensionObject {
    match policy.curve() {
        None => ExtensionObject::null(),
        Some(_) => header(POLICY, Variant::from(policy.uri())),
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyRequest {
    /// No key.
    Nothing,
    /// A key for this policy.
    Key(Policy),
    /// A key for a policy that has none, or that is unknown.
    Unknown,
}

/// Reads the header of a request.
pub(super) fn asked(header: &ExtensionObject) -> KeyRequest {
    let uri = match value(header, POLICY) {
        None => return KeyRequest::Nothing,
        Some(Variant::String(uri)) => text(uri).unwrap_or_default(),
        Some(_) => "",
    };
    match Policy::from_uri(uri).filter(|policy| policy.curve().is_some()) {
        Some(policy) => KeyRequest::Key(policy),
        None => KeyRequest::Unknown,
    }
}

/// The header of a response that has a key, signed by the server.
pub(super) fn give(
    key: &Ephemeral,
    policy: Policy,
    own: &PrivateKey,
) -> Result<ExtensionObject, KeyUseError> {
    // Part 4, 7.15: what is signed is the public key.
    let signature = own.sign(policy, key.public())?;
    let given = EphemeralKeyType {
        public_key: ByteString::from(key.public().to_vec()),
        signature: signature.into(),
    };
    let given = ExtensionObject::from_message(given);
    Ok(header(KEY, Variant::from(given)))
}

/// The header of a response that has a status instead of a key.
pub(super) fn refuse() -> ExtensionObject {
    header(KEY, Variant::from(StatusCode::BadSecurityPolicyRejected))
}

/// A key as a response has it.
#[derive(Debug, Clone)]
pub(super) struct Given(EphemeralKeyType);

impl Given {
    /// Out of the header of a response; none if the server gave no key.
    pub(super) fn read(header: &ExtensionObject) -> Option<Self> {
        match value(header, KEY)? {
            Variant::ExtensionObject(key) => key.inner_as().cloned().map(Self),
            _ => None,
        }
    }

    /// Whether the server signed it.
    pub(super) fn is_signed(&self, policy: Policy, server: &Certificate) -> bool {
        let EphemeralKeyType {
            public_key,
            signature,
        } = &self.0;
        let key = server.public_key();
        key.verify(policy, public_key.as_ref(), signature.as_ref())
    }

    /// The public key.
    pub(super) fn public(&self) -> &[u8] {
        self.0.public_key.as_ref()
    }
}

fn header(key: &str, value: Variant) -> ExtensionObject {
    let pair = KeyValuePair {
        key: key.into(),
        value,
    };
    ExtensionObject::from_message(AdditionalParametersType {
        parameters: Some(vec![pair]),
    })
}

/// The value that a header has under a name.
fn value<'a>(header: &'a ExtensionObject, name: &str) -> Option<&'a Variant> {
    let parameters: &AdditionalParametersType = header.inner_as()?;
    let mut all = parameters.parameters.iter().flatten();
    let found = all.find(|pair| pair.key.namespace_index == 0 && pair.key.name.as_ref() == name);
    Some(&found?.value)
}
