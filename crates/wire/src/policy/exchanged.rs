//! What OPN messages exchanged, and the keys that come of it.

use aws_lc_rs::hkdf;
use zeroize::Zeroizing;

use super::authenticated::TAG_LEN;
use super::symmetric::{CipherError, Keys, Material, derived, material_len};
use super::{AuthenticatedKeys, Curve, Mode, Place, Policy, Shared};

/// Whose chunks keys protect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Those of the client.
    Client,
    /// Those of the server.
    Server,
}

/// What both sides know after an exchange of OPN messages.
#[derive(Debug, Clone, Copy)]
pub struct Exchanged<'a> {
    /// The client's nonce, or its ephemeral public key.
    pub client_nonce: &'a [u8],
    /// The server's.
    pub server_nonce: &'a [u8],
    /// What was agreed on with ephemeral keys, where there are some.
    pub shared: Option<&'a Shared>,
}

impl Exchanged<'_> {
    /// The keys one side sends with, one behind the other; none if nothing was agreed on though the policy wants it.
    pub(super) fn material(&self, policy: Policy, mode: Mode, sender: Sender) -> Option<Material> {
        let (own, other, label) = match sender {
            Sender::Client => (self.client_nonce, self.server_nonce, "opcua-client"),
            Sender::Server => (self.server_nonce, self.client_nonce, "opcua-server"),
        };
        let Some(curve) = policy.curve() else {
            // Part 6, 6.7.5, table 63: the keys that a side sends with have its nonce as seed.
            return Some(derived(policy, other, own));
        };
        let mut bytes = Material::new([0; 96]);
        // Part 6, 6.8.1, step 1: where chunks are only signed, the lengths of what encrypts count as 0; but for the
        // algorithm that signs with the key it encrypts with.
        let len = match mode {
            Mode::Sign if !policy.is_authenticated() => policy.rules().signing_key_len,
            _ => material_len(policy),
        };
        let out = bytes.get_mut(..len)?;
        // Part 6, 6.8.1: ClientSalt = L | "opcua-client" | ClientNonce | ServerNonce, and so the other.
        expand(curve, self.shared?, label, (own, other), out);
        Some(bytes)
    }
}

/// What encrypts the secret of a user token.
pub(crate) enum SecretKeys {
    /// Nothing is signed with them.
    Unauthenticated(Keys),
    /// A tag stands behind what is encrypted (Part 6, 6.8.3).
    Authenticated(Box<AuthenticatedKeys>),
}

impl SecretKeys {
    /// By how much what is hidden gets longer.
    pub fn tag_len(&self) -> usize {
        match self {
            Self::Unauthenticated(_) => 0,
            Self::Authenticated(_) => TAG_LEN,
        }
    }

    /// Encrypts what stands behind a head that goes in the clear.
    pub fn hide(&self, head: &[u8], payload: &mut Vec<u8>) -> Result<(), CipherError> {
        match self {
            Self::Unauthenticated(keys) => keys.encrypt(payload),
            Self::Authenticated(keys) => {
                let tag = keys.seal(Place::ALONE, head, payload)?;
                payload.extend_from_slice(&tag);
                Ok(())
            }
        }
    }

    /// Decrypts what stood behind the head, and leaves off what is no part of it.
    pub fn reveal(&self, head: &[u8], payload: &mut Vec<u8>) -> Result<(), CipherError> {
        match self {
            Self::Unauthenticated(keys) => keys.decrypt(payload),
            Self::Authenticated(keys) => {
                let len = keys.open(Place::ALONE, head, payload)?;
                payload.truncate(len);
                Ok(())
            }
        }
    }
}

/// What encrypts the secret of a user token (Part 6, 6.8.3): the sender's ephemeral public key goes first.
pub(crate) fn secret_keys(
    policy: Policy,
    shared: &Shared,
    (sender, receiver): (&[u8], &[u8]),
) -> Option<SecretKeys> {
    let curve = policy.curve()?;
    let mut bytes = Zeroizing::new([0; 32 + 16]);
    let len = material_len(policy).checked_sub(policy.rules().signing_key_len)?;
    let out = bytes.get_mut(..len)?;
    expand(curve, shared, "opcua-secret", (sender, receiver), out);
    Some(match policy.is_authenticated() {
        true => SecretKeys::Authenticated(Box::new(AuthenticatedKeys::cut(bytes.as_slice())?)),
        false => SecretKeys::Unauthenticated(Keys::for_secret(policy, &bytes)),
    })
}

/// HKDF (RFC 5869) with the hash of the curve's policy. Salt and info are the same (Part 6, 6.8.1).
fn expand(curve: Curve, shared: &Shared, label: &str, keys: (&[u8], &[u8]), out: &mut [u8]) {
    // The longest are 96 bytes.
    let len = out.len() as u16;
    let salt = [&len.to_le_bytes(), label.as_bytes(), keys.0, keys.1].concat();
    let algorithm = match curve {
        Curve::NistP256 | Curve::Curve25519 => hkdf::HKDF_SHA256,
        Curve::NistP384 => hkdf::HKDF_SHA384,
    };
    let extracted = hkdf::Salt::new(algorithm, &salt).extract(shared.bytes());
    let info: [&[u8]; 1] = [&salt];
    // Fails for more than 255 hashes only, and `out` is three at most.
    let filled = extracted
        .expand(&info, Len(out.len()))
        .and_then(|keys| keys.fill(out));
    debug_assert!(filled.is_ok());
}

struct Len(usize);

impl hkdf::KeyType for Len {
    fn len(&self) -> usize {
        self.0
    }
}
