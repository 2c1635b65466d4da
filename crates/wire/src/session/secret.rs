//! A user's secret under the policies of elliptic curves: EccEncryptedSecret (Part 4, 7.41.2.3 and 7.41.2.5).
//!
//! ```text
//! TypeId, EncodingMask, Length | SecurityPolicyUri, Certificate, SigningTime
//! KeyDataLength | SenderPublicKey, ReceiverPublicKey
//! encrypted: Nonce, Secret, PayloadPadding, PayloadPaddingSize
//! where one algorithm encrypts and signs: its tag, over all before (Part 6, 6.8.3)
//! Signature of all before
//! ```

use opcua_types::{BinaryEncodable, ContextOwned, DataTypeId, NodeId};
use zeroize::Zeroizing;

use crate::certificate::Certificate;
use crate::channel::Identity;
use crate::frame::Reader;
use crate::policy::{AgreeError, Ephemeral, KeyUseError, Policy, secret_keys};

const BLOCK: usize = 16;
/// ByteString follows, as of an ExtensionObject.
const HAS_BINARY_BODY: u8 = 1;
/// The length field of a ByteString.
const LENGTH: usize = 4;

/// Why a secret could not be hidden.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HideError {
    /// The server gave no key to hide it with.
    #[error(
        "the server gave no ephemeral key, without which a secret cannot be hidden from others"
    )]
    NoKey,
    /// The server's key is none.
    #[error("the server's ephemeral key is no good: {0}")]
    Agree(#[from] AgreeError),
    /// Our key does not do.
    #[error(transparent)]
    Key(#[from] KeyUseError),
    /// A policy other than None without certificate and key.
    #[error("policy {0} needs a certificate and key of this application")]
    NoIdentity(Policy),
}

/// A secret that cannot be decrypted, has a wrong length or ends with another nonce. It does not
/// say which: the sender must not learn it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret of the user token is not one made for this session")]
pub struct WrongSecret;

/// Hides a secret for the owner of `receiver`, signed by the application that sends it.
pub(super) fn hide(
    secret: &[u8],
    policy: Policy,
    nonce: &[u8],
    receiver: &[u8],
    sender: &Identity,
    signed_at: i64,
) -> Result<Vec<u8>, HideError> {
    let unfit = KeyUseError::NoKeys { policy };
    let own = Ephemeral::make(policy.curve().ok_or(unfit)?)?;
    let shared = own.agree(receiver)?;
    let keys = secret_keys(policy, &shared, (own.public(), receiver)).ok_or(unfit)?;

    let mut out = type_id();
    out.push(HAS_BINARY_BODY);
    let length_at = out.len();
    out.extend_from_slice(&[0; LENGTH]);
    write(policy.uri().as_bytes(), &mut out);
    write(sender.certificate.as_bytes(), &mut out);
    out.extend_from_slice(&signed_at.to_le_bytes());
    let key_data = 2 * LENGTH + own.public().len() + receiver.len();
    out.extend_from_slice(&(key_data as u16).to_le_bytes());
    write(own.public(), &mut out);
    write(receiver, &mut out);

    let mut payload = Zeroizing::new(Vec::with_capacity(nonce.len() + secret.len() + 4 * BLOCK));
    write(nonce, &mut payload);
    write(secret, &mut payload);
    let padding = padding(payload.len(), secret.len());
    let with_padding = payload.len() + padding;
    // Two blocks at most: it fits a byte, whose value each padding byte has.
    debug_assert!(padding <= 32);
    payload.resize(with_padding, padding as u8);
    payload.extend_from_slice(&(padding as u16).to_le_bytes());

    // The length counts what is behind it.
    let sealed_len = payload.len() + keys.tag_len();
    let behind = out.len() - length_at - LENGTH + sealed_len + sender.key.signature_len();
    let behind = u32::try_from(behind).map_err(|_| KeyUseError::Failed)?;
    if let Some(place) = out.get_mut(length_at..length_at + LENGTH) {
        place.copy_from_slice(&behind.to_le_bytes());
    }
    let sealed = keys.hide(&out, &mut payload);
    sealed.map_err(|_| KeyUseError::Failed)?;
    out.extend_from_slice(&payload);
    let signature = sender.key.sign(policy, &out)?;
    out.extend_from_slice(&signature);
    Ok(out)
}

/// Part 4, 7.41.2.3: whole blocks, and secrets shorter than one are made longer, so that a password's length does not
/// show.
fn padding(payload: usize, secret: usize) -> usize {
    let counted = payload + 2;
    let padding = counted.next_multiple_of(BLOCK) - counted;
    match padding + secret < BLOCK {
        true => padding + BLOCK,
        false => padding,
    }
}

/// The secret out of what a client sent, which has to be signed by the application that the channel is of. All that is
/// wrong with it is one and the same error.
pub(super) fn reveal(
    hidden: &[u8],
    policy: Policy,
    nonce: &[u8],
    own: &Ephemeral,
    sender: &Certificate,
) -> Result<Zeroizing<Vec<u8>>, WrongSecret> {
    let head = Head::read(hidden)?;
    let certificate_fits =
        head.certificate.is_empty() || head.certificate.starts_with(sender.leaf());
    if head.policy != policy.uri().as_bytes() || !certificate_fits || head.receiver != own.public()
    {
        return Err(WrongSecret);
    }
    let key = sender.public_key();
    let signed_len = head
        .end
        .checked_sub(key.signature_len())
        .filter(|&len| len >= head.payload_at)
        .ok_or(WrongSecret)?;
    let signed = hidden.get(..signed_len).ok_or(WrongSecret)?;
    let signature = hidden.get(signed_len..head.end).ok_or(WrongSecret)?;
    if !key.verify(policy, signed, signature) {
        return Err(WrongSecret);
    }
    let shared = own.agree(head.sender).map_err(|_| WrongSecret)?;
    let keys = secret_keys(policy, &shared, (head.sender, own.public())).ok_or(WrongSecret)?;
    let (clear, payload) = signed
        .split_at_checked(head.payload_at)
        .ok_or(WrongSecret)?;
    let mut payload = Zeroizing::new(payload.to_vec());
    keys.reveal(clear, &mut payload).map_err(|_| WrongSecret)?;

    secret_in(&payload, nonce)
}

/// The secret of a payload that is decrypted. One that ends too early is no empty secret.
fn secret_in(payload: &[u8], nonce: &[u8]) -> Result<Zeroizing<Vec<u8>>, WrongSecret> {
    let mut reader = Reader::new(payload);
    let mut bytes = || match reader.bytes() {
        // Part 6, 5.2.2.7: a null ByteString is as good as an empty one.
        Ok(bytes) => Ok(bytes.unwrap_or_default()),
        Err(_) => Err(WrongSecret),
    };
    let (sent_nonce, secret) = (bytes()?, bytes()?);
    if sent_nonce != nonce || !is_padding(reader.rest()) {
        return Err(WrongSecret);
    }
    Ok(Zeroizing::new(secret.to_vec()))
}

/// Padding bytes that say how many they are, and their number. UA-.NETStandard encrypts with a padding of its own
/// behind that, a block long; it is signed, and nothing hangs on it.
fn is_padding(rest: &[u8]) -> bool {
    let Some(&count) = rest.first() else {
        return false;
    };
    let Some((padding, behind)) = rest.split_at_checked(usize::from(count) + 1) else {
        return false;
    };
    padding.iter().all(|&byte| byte == count)
        && behind.first() == Some(&0)
        && behind.len() <= 1 + BLOCK
}

/// What stands in front of the encrypted part.
struct Head<'a> {
    policy: &'a [u8],
    certificate: &'a [u8],
    sender: &'a [u8],
    receiver: &'a [u8],
    payload_at: usize,
    /// Where the signature ends.
    end: usize,
}

impl<'a> Head<'a> {
    fn read(hidden: &'a [u8]) -> Result<Self, WrongSecret> {
        let mut front = type_id();
        front.push(HAS_BINARY_BODY);
        let body = hidden.strip_prefix(front.as_slice()).ok_or(WrongSecret)?;
        let mut reader = Reader::new(body);
        let wrong = |_| WrongSecret;
        let length = reader.u32().map_err(wrong)? as usize;
        let end = front.len() + LENGTH + length;
        if end > hidden.len() {
            return Err(WrongSecret);
        }
        let policy = reader.bytes().map_err(wrong)?.unwrap_or_default();
        let certificate = reader.bytes().map_err(wrong)?.unwrap_or_default();
        // When it was signed: the nonce says better that it is new.
        reader.u32().map_err(wrong)?;
        reader.u32().map_err(wrong)?;
        let length = reader.take(2).map_err(wrong)?;
        let keys_at = reader.position();
        let sender = reader.bytes().map_err(wrong)?.unwrap_or_default();
        let receiver = reader.bytes().map_err(wrong)?.unwrap_or_default();
        let length = length.first_chunk().map(|&bytes| u16::from_le_bytes(bytes));
        if length.map(usize::from) != Some(reader.position() - keys_at) {
            return Err(WrongSecret);
        }
        Ok(Self {
            policy,
            certificate,
            sender,
            receiver,
            payload_at: front.len() + reader.position(),
            end,
        })
    }
}

fn type_id() -> Vec<u8> {
    let id = NodeId::from(DataTypeId::EccEncryptedSecret);
    id.encode_to_vec(&ContextOwned::default().context())
}

fn write(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(secret_len: u32, secret: &[u8]) -> Vec<u8> {
        let mut payload = Vec::new();
        write(b"a nonce", &mut payload);
        payload.extend_from_slice(&secret_len.to_le_bytes());
        payload.extend_from_slice(secret);
        // Three bytes of padding, and their number.
        payload.extend_from_slice(&[3, 3, 3, 3, 0]);
        payload
    }

    #[test]
    fn a_secret_that_ends_too_early_is_not_an_empty_one() {
        let read = |len, secret: &[u8]| {
            let secret = secret_in(&payload(len, secret), b"a nonce");
            secret.map(|it| it.to_vec())
        };
        assert_eq!(read(6, b"secret"), Ok(b"secret".to_vec()));
        assert_eq!(read(0, b""), Ok(Vec::new()));
        assert_eq!(read(u32::MAX, b""), Ok(Vec::new()));
        assert_eq!(read(100, b""), Err(WrongSecret));
        assert_eq!(read(0x8000_0000, b""), Err(WrongSecret));
    }
}
