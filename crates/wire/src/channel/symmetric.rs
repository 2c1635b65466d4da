//! MSG and CLO chunks: sealed where they stand in the outbox, opened where they lie in the
//! inbox (Part 6, 6.7.2 and 6.7.6).

use std::ops::Range;

use super::{ChannelError, Protection};
use crate::frame::{ChunkKind, HEADER_LEN, Header, Limits, MessageType};
use crate::policy::authenticated::TAG_LEN;
use crate::policy::{AuthenticatedKeys, Exchanged, Keys, Mode, Place, Policy, Sender};

/// Header, channel id, token id, sequence number, request id: in front of every body.
pub const BODY_AT: usize = HEADER_LEN + 4 + 4 + SEQUENCE_HEADER;
/// The encrypted part begins behind the token id.
const SECURED_AT: usize = HEADER_LEN + 4 + 4;
const SEQUENCE_HEADER: usize = 8;

/// The four numbers in front of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHead {
    /// MSG or CLO.
    pub message: MessageType,
    /// Final, intermediate or abort.
    pub chunk: ChunkKind,
    /// The channel.
    pub channel_id: u32,
    /// The token whose keys protect it.
    pub token_id: u32,
    /// Its place in the stream.
    pub sequence: u32,
    /// The request it belongs to.
    pub request_id: u32,
}

impl ChunkHead {
    /// Puts it where it belongs: at the beginning of a chunk that has its length.
    fn write(self, chunk: &mut [u8]) {
        let header = Header {
            message: self.message,
            chunk: self.chunk,
            size: chunk.len() as u32,
        };
        if let Some(place) = chunk.first_chunk_mut::<BODY_AT>() {
            place[..8].copy_from_slice(&header.to_bytes());
            place[8..12].copy_from_slice(&self.channel_id.to_le_bytes());
            place[12..16].copy_from_slice(&self.token_id.to_le_bytes());
            place[16..20].copy_from_slice(&self.sequence.to_le_bytes());
            place[20..24].copy_from_slice(&self.request_id.to_le_bytes());
        }
    }
}

/// The keys of a direction together with what they are for: chunks go without protection where there are none to be
/// had, and nowhere else.
#[derive(Debug)]
pub enum Guard {
    /// Policy None.
    Open,
    /// Chunks are signed.
    Signed(Keys),
    /// Chunks are signed and encrypted.
    Secret(Keys),
    /// Chunks are signed, and encrypted where the mode says so, in one step.
    Authenticated(Box<AuthenticatedKeys>, Mode),
}

impl Guard {
    /// Derives the keys that a protection asks for (Part 6, 6.7.5 and 6.8.1).
    pub fn of(
        protection: Protection,
        exchanged: &Exchanged<'_>,
        sender: Sender,
    ) -> Result<Self, ChannelError> {
        let Protection { policy, mode } = protection;
        let nothing = || ChannelError::Security("keys without a shared secret".into());
        let keys = || Keys::of(policy, mode, exchanged, sender).ok_or_else(nothing);
        match (policy, mode) {
            (Policy::None, Mode::None) => Ok(Self::Open),
            (Policy::None, _) | (_, Mode::None) => {
                Err(ChannelError::Mode(format!("{mode} with policy {policy}")))
            }
            (policy, mode) if policy.is_authenticated() => {
                let keys = AuthenticatedKeys::of(policy, mode, exchanged, sender);
                Ok(Self::Authenticated(
                    Box::new(keys.ok_or_else(nothing)?),
                    mode,
                ))
            }
            (_, Mode::Sign) => Ok(Self::Signed(keys()?)),
            (_, Mode::SignAndEncrypt) => Ok(Self::Secret(keys()?)),
        }
    }

    fn signature_len(&self) -> usize {
        match self {
            Self::Open => 0,
            Self::Signed(keys) | Self::Secret(keys) => keys.signature_len(),
            Self::Authenticated(..) => TAG_LEN,
        }
    }

    fn block_len(&self) -> usize {
        match self {
            Self::Open | Self::Signed(_) | Self::Authenticated(..) => 1,
            Self::Secret(keys) => keys.block_len(),
        }
    }

    /// The longest body that fits into a chunk of the negotiated size.
    pub fn max_body(&self, limits: &Limits) -> usize {
        let room = (limits.send_buffer as usize).saturating_sub(SECURED_AT);
        let block = self.block_len();
        let padding_size = usize::from(block > 1);
        let whole = match block {
            1 => room,
            block => room / block * block,
        };
        whole.saturating_sub(SEQUENCE_HEADER + padding_size + self.signature_len())
    }

    /// Leaves room for the header; the body is appended behind it by the caller.
    pub fn begin(out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&[0; BODY_AT]);
        start
    }

    /// Completes the chunk that begins at `start`: padding, header, signature, encryption.
    ///
    /// Nothing is allocated but the growth of `out`, which stays.
    #[inline]
    pub fn finish(&self, out: &mut Vec<u8>, start: usize, head: ChunkHead) {
        match self {
            Self::Open => head.write(out.get_mut(start..).unwrap_or_default()),
            _ => self.protect(out, start, head),
        }
    }

    fn protect(&self, out: &mut Vec<u8>, start: usize, head: ChunkHead) {
        let block = self.block_len();
        if block > 1 {
            let plain = out.len() - start - SECURED_AT + 1 + self.signature_len();
            let padding = (block - plain % block) % block;
            // A block is 16 bytes: the count fits a byte, and so does each padding byte.
            debug_assert!(block <= 256);
            out.resize(out.len() + padding + 1, padding as u8);
        }
        let signed_len = out.len() - start;
        out.resize(out.len() + self.signature_len(), 0);
        let Some(chunk) = out.get_mut(start..) else {
            return;
        };
        head.write(chunk);
        let (signed, signature) = chunk.split_at_mut(signed_len);
        match self {
            Self::Open => return,
            Self::Signed(keys) | Self::Secret(keys) => keys.sign(signed, signature),
            Self::Authenticated(keys, mode) => {
                // A channel's first chunk is an OPN one, and numbers go up by one each time (Part 6, 6.7.2.4).
                let place = Place {
                    token_id: head.token_id,
                    last_sequence: head.sequence.wrapping_sub(1),
                };
                return seal(keys, *mode, place, signed, signature);
            }
        }
        if let Self::Secret(keys) = self
            && let Some(secret) = chunk.get_mut(SECURED_AT..)
        {
            // The length is a whole number of blocks by construction: this cannot fail.
            let whole = keys.encrypt(secret);
            debug_assert!(whole.is_ok());
        }
    }

    /// Decrypts and verifies a chunk in place, which came behind one with the sequence number `last`. Gives the two
    /// numbers that were hidden and where the body is. Until this has succeeded no byte of it may be looked at.
    #[inline]
    pub fn open(
        &self,
        chunk: &mut [u8],
        last: Option<u32>,
    ) -> Result<(u32, u32, Range<usize>), ChannelError> {
        let end = self.unprotect(chunk, last)?;
        let numbers = chunk.get(SECURED_AT..BODY_AT).unwrap_or_default();
        let (Some(sequence), Some(request_id)) = (numbers.first_chunk(), numbers.last_chunk())
        else {
            return Err(ChannelError::Malformed(
                "a chunk without a sequence header".into(),
            ));
        };
        if end < BODY_AT {
            return Err(ChannelError::Malformed("a chunk without a body".into()));
        }
        Ok((
            u32::from_le_bytes(*sequence),
            u32::from_le_bytes(*request_id),
            BODY_AT..end,
        ))
    }

    /// Returns where the body ends.
    #[inline]
    fn unprotect(&self, chunk: &mut [u8], last: Option<u32>) -> Result<usize, ChannelError> {
        match self {
            Self::Open => Ok(chunk.len()),
            Self::Signed(keys) => verify(keys, chunk),
            Self::Secret(keys) => decrypt(keys, chunk),
            Self::Authenticated(keys, mode) => unseal(keys, *mode, last, chunk),
        }
    }
}

/// Checks the signature of a chunk. Returns where it begins.
fn verify(keys: &Keys, chunk: &[u8]) -> Result<usize, ChannelError> {
    let failed = |what: &'static str| ChannelError::Security(what.into());
    let signed_len = chunk
        .len()
        .checked_sub(keys.signature_len())
        .filter(|&len| len >= BODY_AT)
        .ok_or_else(|| failed("a chunk too short for its signature"))?;
    let (signed, signature) = chunk.split_at(signed_len);
    match keys.verify(signed, signature) {
        true => Ok(signed_len),
        false => Err(failed("a chunk with a wrong signature")),
    }
}

/// Decrypts a chunk, and checks its signature and its padding. Returns where that begins.
fn decrypt(keys: &Keys, chunk: &mut [u8]) -> Result<usize, ChannelError> {
    let failed = |what: &'static str| ChannelError::Security(what.into());
    let secret = chunk.get_mut(SECURED_AT..).unwrap_or_default();
    keys.decrypt(secret)
        .map_err(|_| failed("a chunk that is not a whole number of blocks"))?;
    let signed_len = verify(keys, chunk)?;
    let signed = chunk.get(..signed_len).unwrap_or_default();
    let padding = usize::from(*signed.last().unwrap_or(&0));
    let end = signed_len
        .checked_sub(padding + 1)
        .filter(|&end| end >= BODY_AT)
        .ok_or_else(|| failed("a padding longer than its chunk"))?;
    let padded = signed.get(end..).unwrap_or_default();
    match padded.iter().all(|&byte| usize::from(byte) == padding) {
        true => Ok(end),
        false => Err(failed("a padding of other bytes than its length")),
    }
}

/// Signs a chunk, and encrypts it if need be, with its headers in the clear.
#[inline(never)]
fn seal(keys: &AuthenticatedKeys, mode: Mode, place: Place, chunk: &mut [u8], tag: &mut [u8]) {
    let secured_at = secured_at(mode, chunk.len());
    let (clear, secret) = chunk.split_at_mut(secured_at);
    match keys.seal(place, clear, secret) {
        Ok(made) => tag.copy_from_slice(&made),
        // For 256 GiB only. Nothing may go in the clear, and this the peer will refuse.
        Err(_) => secret.fill(0),
    }
}

/// The other way: where the body ends.
#[inline(never)]
fn unseal(
    keys: &AuthenticatedKeys,
    mode: Mode,
    last: Option<u32>,
    chunk: &mut [u8],
) -> Result<usize, ChannelError> {
    let failed = |what: &'static str| ChannelError::Security(what.into());
    let signed_len = chunk
        .len()
        .checked_sub(TAG_LEN)
        .filter(|&len| len >= BODY_AT)
        .ok_or_else(|| failed("a chunk too short for its signature"))?;
    let (_, token_id) = names(chunk)?;
    let place = Place {
        token_id,
        // Part 6, 6.8.1: of the first one there is none before, which is 0.
        last_sequence: last.unwrap_or(0),
    };
    let secured_at = secured_at(mode, signed_len);
    let (clear, sealed) = chunk.split_at_mut(secured_at);
    keys.open(place, clear, sealed)
        .map_err(|_| failed("a chunk with a wrong signature"))?;
    Ok(signed_len)
}

/// Where what is encrypted begins in a chunk of this length before its signature: at the end if nothing is.
fn secured_at(mode: Mode, signed_len: usize) -> usize {
    match mode {
        Mode::SignAndEncrypt => SECURED_AT,
        Mode::None | Mode::Sign => signed_len,
    }
}

/// The channel and token an arriving chunk names, which are never encrypted.
pub fn names(chunk: &[u8]) -> Result<(u32, u32), ChannelError> {
    let too_short = || ChannelError::Malformed("a chunk without a security header".into());
    let field = |at: usize| {
        let bytes = chunk.get(at..at + 4)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let channel = field(HEADER_LEN).ok_or_else(too_short)?;
    let token = field(HEADER_LEN + 4).ok_or_else(too_short)?;
    Ok((channel, token))
}
