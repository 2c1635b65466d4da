//! OPN chunks: certificates in the clear, the rest signed and encrypted with RSA keys
//! (Part 6, 6.7.2.3 and 6.7.4), or signed only with keys on elliptic curves (Part 6, 6.8.1).
//!
//! Sealing and opening cost milliseconds; both are plain functions that the connections wrap
//! into jobs. How long a sealed chunk will be is known beforehand, so its place in the stream
//! can be kept free while it is being signed.

use opcua_types::StatusCode;

use super::{ChannelError, Identity};
use crate::certificate::Certificate;
use crate::frame::{ChunkKind, HEADER_LEN, Header, MessageType, Reader};
use crate::policy::Policy;

/// Policies, certificates and thumbprints longer than this are an attack (Part 6, 6.7.2.3).
const MAX_POLICY_URI: usize = 255;
const THUMBPRINT_LEN: usize = 20;
const SEQUENCE_HEADER: usize = 8;

/// The clear part of an OPN chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenHead {
    /// 0 when the channel is opened, else the one to renew.
    pub channel_id: u32,
    /// Who protects the chunk, and for whom; nobody with policy None.
    pub secured_by: Option<SecuredBy>,
    /// Where the protected part begins.
    pub secured_at: usize,
}

/// Who protects an OPN chunk, and for whom, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecuredBy {
    /// The policy, which is not None.
    pub policy: Policy,
    /// The sender's certificate, possibly a chain.
    pub sender: Vec<u8>,
    /// Whom the chunk is encrypted for.
    pub receiver: [u8; THUMBPRINT_LEN],
}

impl SecuredBy {
    /// Who protects the channel that the chunk is of: whom it was encrypted for, and whose certificate came with it.
    pub fn parties(&self, own: &Identity, peer: &Certificate) -> Parties {
        Parties {
            policy: self.policy,
            own: own.clone(),
            peer: peer.clone(),
        }
    }
}

impl OpenHead {
    /// The policy.
    pub fn policy(&self) -> Policy {
        self.secured_by
            .as_ref()
            .map_or(Policy::None, |secured_by| secured_by.policy)
    }

    /// Reads the clear part; nothing in it is proven.
    pub fn parse(chunk: &[u8]) -> Result<Self, ChannelError> {
        let malformed = |what: &'static str| ChannelError::Malformed(what.into());
        let short = |_| malformed("an OPN chunk that ends in its security header");
        let mut reader = Reader::new(chunk.get(HEADER_LEN..).unwrap_or_default());
        let channel_id = reader.u32().map_err(short)?;
        let uri = reader.bytes().map_err(short)?.unwrap_or_default();
        let sender = reader.bytes().map_err(short)?.filter(|s| !s.is_empty());
        let receiver = reader.bytes().map_err(short)?.filter(|r| !r.is_empty());
        let uri = std::str::from_utf8(uri)
            .ok()
            .filter(|uri| uri.len() <= MAX_POLICY_URI)
            .ok_or_else(|| malformed("a policy URI that is none"))?;
        let policy = Policy::from_uri(uri)
            .ok_or_else(|| ChannelError::Policy(uri.escape_debug().to_string()))?;
        let receiver = match receiver {
            None => None,
            Some(thumbprint) => Some(
                thumbprint
                    .try_into()
                    .map_err(|_| malformed("a thumbprint that is not 20 bytes long"))?,
            ),
        };
        let secured_by = match (policy, sender, receiver) {
            // With policy None both are to be null (Part 6, table 60); some stacks send their
            // certificate all the same, and it says nothing about the channel.
            (Policy::None, ..) => None,
            (policy, Some(sender), Some(receiver)) => Some(SecuredBy {
                policy,
                sender: sender.to_vec(),
                receiver,
            }),
            _ => {
                let what = "a secured OPN chunk without certificate or thumbprint";
                return Err(ChannelError::Security(what.into()));
            }
        };
        Ok(Self {
            channel_id,
            secured_by,
            secured_at: HEADER_LEN + reader.position(),
        })
    }
}

/// An OPN chunk after it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its place in the stream.
    pub sequence: u32,
    /// The request it is, or answers.
    pub request_id: u32,
    /// The encoded request or response.
    pub body: Vec<u8>,
}

/// Decrypts and verifies an OPN chunk, which has to be of the policy of its channel.
pub fn open(
    head: &OpenHead,
    chunk: &[u8],
    parties: Option<&Parties>,
) -> Result<Opened, ChannelError> {
    let security = |what: &'static str| ChannelError::Security(what.into());
    if head.policy() != parties.map_or(Policy::None, |it| it.policy) {
        return Err(security("a secured OPN chunk, but no key to open it with"));
    }
    let secured = chunk.get(head.secured_at..).unwrap_or_default();
    let Some(Parties { policy, own, peer }) = parties else {
        return split(secured);
    };
    let policy = *policy;
    let key = peer.public_key();
    let clear = chunk.get(..head.secured_at).unwrap_or_default();
    if !policy.encrypts_asymmetrically() {
        let signed_len = chunk
            .len()
            .checked_sub(key.signature_len())
            .filter(|&len| len >= head.secured_at)
            .ok_or_else(|| security("an OPN chunk too short for its signature"))?;
        let (signed, signature) = chunk.split_at(signed_len);
        if !key.verify(policy, signed, signature) {
            return Err(security("an OPN chunk with a wrong signature"));
        }
        return split(signed.get(head.secured_at..).unwrap_or_default());
    }
    let mut plain = own
        .key
        .decrypt(policy, secured)
        .map_err(|_| security("an OPN chunk that does not decrypt with this key"))?
        .to_vec();
    let signed_len = plain
        .len()
        .checked_sub(key.signature_len())
        .ok_or_else(|| security("an OPN chunk too short for its signature"))?;
    let signature = plain.split_off(signed_len);
    let signed = [clear, plain.as_slice()].concat();
    if !key.verify(policy, &signed, &signature) {
        return Err(security("an OPN chunk with a wrong signature"));
    }
    let body_len = unpadded(&plain, own.key.signature_len())
        .ok_or_else(|| security("an OPN chunk with a wrong padding"))?;
    split(plain.get(..body_len).unwrap_or_default())
}

/// The length without padding. Keys beyond 2048 bits need a second byte for the count, at the
/// very end (Part 6, table 64).
fn unpadded(plain: &[u8], receiver_modulus: usize) -> Option<usize> {
    let (high, rest) = if receiver_modulus > 256 {
        let (high, rest) = plain.split_last()?;
        (usize::from(*high), rest)
    } else {
        (0, plain)
    };
    let low = *rest.last()?;
    let padding = high << 8 | usize::from(low);
    let len = rest.len().checked_sub(padding + 1)?;
    rest.get(len..)?
        .iter()
        .all(|&byte| byte == low)
        .then_some(len)
}

fn split(plain: &[u8]) -> Result<Opened, ChannelError> {
    let mut reader = Reader::new(plain);
    let (Ok(sequence), Ok(request_id)) = (reader.u32(), reader.u32()) else {
        let what = "an OPN chunk without a sequence header";
        return Err(ChannelError::Malformed(what.into()));
    };
    Ok(Opened {
        sequence,
        request_id,
        body: reader.rest().to_vec(),
    })
}

/// What it takes to protect an OPN chunk: a policy, whose signature it gets, and whom it is encrypted for.
///
/// There is none without all three, so that no chunk of a secured channel can leave without its signature.
#[derive(Debug, Clone)]
pub struct Parties {
    policy: Policy,
    own: Identity,
    peer: Certificate,
}

impl Parties {
    /// Those of a channel; none with policy None, and an error if one is missing that the policy asks for.
    pub fn of(
        policy: Policy,
        own: Option<&Identity>,
        peer: Option<&Certificate>,
    ) -> Result<Option<Self>, ChannelError> {
        if policy == Policy::None {
            return Ok(None);
        }
        let missing = |what: &str| {
            let what = format!("{policy} cannot be used without {what}");
            ChannelError::Security(what.into())
        };
        Ok(Some(Self {
            policy,
            own: own
                .ok_or_else(|| missing("a certificate and key of our own"))?
                .clone(),
            peer: peer
                .ok_or_else(|| missing("the certificate of the peer"))?
                .clone(),
        }))
    }

    /// This side's certificate.
    pub fn own(&self) -> &Certificate {
        &self.own.certificate
    }

    /// The other side's certificate.
    pub fn peer(&self) -> &Certificate {
        &self.peer
    }
}

/// An OPN chunk before it is sealed.
#[derive(Debug, Clone)]
pub struct Unsealed {
    /// 0 when the channel is opened.
    pub channel_id: u32,
    /// The place it was given in the stream.
    pub sequence: u32,
    /// The request it is, or answers.
    pub request_id: u32,
    /// The encoded request or response.
    pub body: Vec<u8>,
    /// Who protects it, and for whom; none with policy None.
    pub parties: Option<Parties>,
}

/// How a plain text is cut into RSA blocks, and what has to be padded for it.
struct Blocks {
    plain_block: usize,
    cipher_block: usize,
    /// 1, or 2 for keys beyond 2048 bits.
    counters: usize,
    signature: usize,
}

impl Blocks {
    fn of(parties: &Parties) -> Self {
        let key = parties.peer.public_key();
        Self {
            plain_block: key.plain_block(parties.policy).max(1),
            cipher_block: key.cipher_block(),
            counters: if key.cipher_block() > 256 { 2 } else { 1 },
            signature: parties.own.key.signature_len(),
        }
    }

    /// Padding bytes without counters, and the length of the cipher text.
    fn lengths(&self, body: usize) -> (usize, usize) {
        let unpadded = SEQUENCE_HEADER + body + self.counters + self.signature;
        let blocks = unpadded.div_ceil(self.plain_block);
        (
            blocks * self.plain_block - unpadded,
            blocks * self.cipher_block,
        )
    }
}

impl Unsealed {
    fn policy(&self) -> Policy {
        let parties = self.parties.as_ref();
        parties.map_or(Policy::None, |parties| parties.policy)
    }

    /// How long the sealed chunk will be, exactly.
    pub fn sealed_len(&self) -> usize {
        let (sender, receiver, secured) = match &self.parties {
            Some(parties) => (
                parties.own.certificate.as_bytes().len(),
                THUMBPRINT_LEN,
                match parties.policy.encrypts_asymmetrically() {
                    true => Blocks::of(parties).lengths(self.body.len()).1,
                    false => SEQUENCE_HEADER + self.body.len() + parties.own.key.signature_len(),
                },
            ),
            None => (0, 0, SEQUENCE_HEADER + self.body.len()),
        };
        let policy = self.policy().uri().len();
        HEADER_LEN + 4 + (4 + policy) + (4 + sender) + (4 + receiver) + secured
    }

    /// Signs and encrypts.
    pub fn seal(&self) -> Result<Vec<u8>, ChannelError> {
        let len = self.sealed_len();
        let mut out = Vec::with_capacity(len);
        let header = Header {
            message: MessageType::Open,
            chunk: ChunkKind::Final,
            size: u32::try_from(len).map_err(|_| failed("an OPN chunk beyond 4 GiB"))?,
        };
        out.extend_from_slice(&header.to_bytes());
        out.extend_from_slice(&self.channel_id.to_le_bytes());
        let parties = self.parties.as_ref();
        write_bytes(Some(self.policy().uri().as_bytes()), &mut out);
        write_bytes(
            parties.map(|parties| parties.own.certificate.as_bytes()),
            &mut out,
        );
        let thumbprint = parties.map(|parties| parties.peer.thumbprint());
        write_bytes(thumbprint.as_ref().map(<[u8; 20]>::as_slice), &mut out);
        let secured_at = out.len();
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.request_id.to_le_bytes());
        out.extend_from_slice(&self.body);
        let Some(parties) = parties else {
            return Ok(out);
        };
        let Parties { policy, own, peer } = parties;
        if !policy.encrypts_asymmetrically() {
            let signature = own.key.sign(*policy, &out);
            let signature = signature.map_err(|_| failed("signing with the own key failed"))?;
            out.extend_from_slice(&signature);
            return Ok(out);
        }
        let blocks = Blocks::of(parties);
        let (padding, _) = blocks.lengths(self.body.len());
        let [low, high, ..] = padding.to_le_bytes();
        out.resize(out.len() + padding + 1, low);
        if blocks.counters == 2 {
            out.push(high);
        }
        let signature = own
            .key
            .sign(*policy, &out)
            .map_err(|_| failed("signing with the own key failed"))?;
        out.extend_from_slice(&signature);
        let secret = peer
            .public_key()
            .encrypt(*policy, out.get(secured_at..).unwrap_or_default())
            .map_err(|_| failed("encrypting for the peer's key failed"))?;
        out.truncate(secured_at);
        out.extend_from_slice(&secret);
        Ok(out)
    }
}

fn failed(what: &'static str) -> ChannelError {
    ChannelError::Security(what.into())
}

fn write_bytes(bytes: Option<&[u8]>, out: &mut Vec<u8>) {
    match bytes {
        None => out.extend_from_slice(&(-1i32).to_le_bytes()),
        Some(bytes) => {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
}

/// Whether a certificate's key may be used with a policy (Part 7: CertificateKeyAlgorithm and key length limits).
pub fn check_key(policy: Policy, certificate: &Certificate) -> Result<(), ChannelError> {
    if policy != Policy::None && !certificate.public_key().is_for(policy) {
        return Err(ChannelError::Certificate(
            StatusCode::BadCertificatePolicyCheckFailed,
        ));
    }
    Ok(())
}
