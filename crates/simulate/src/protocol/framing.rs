//! Chunks in a stream of bytes, and what each of them costs.

use wire::certificate::Certificate;
use wire::channel::Protection;
use wire::frame::{HEADER_LEN, Header, MessageType};

use super::costs::Costs;

/// Bytes before the security header of an OPN chunk: header and SecureChannelId.
const OPEN_HEAD: usize = 12;
/// Bytes before the encrypted part of other chunks: header, SecureChannelId and TokenId.
const HEAD: usize = 16;

/// A chunk at the beginning of bytes, if all of it is there.
pub fn first(bytes: &[u8]) -> Option<(Header, usize)> {
    let header = Header::parse(*bytes.first_chunk::<HEADER_LEN>()?).ok()?;
    let size = header.size as usize;
    (size >= HEADER_LEN && bytes.len() >= size).then_some((header, size))
}

/// Bytes that are whole chunks, one after the other.
pub fn chunks(bytes: &[u8]) -> impl Iterator<Item = (Header, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (header, size) = first(rest)?;
        let (chunk, behind) = rest.split_at(size);
        rest = behind;
        Some((header, chunk))
    })
}

/// How many blocks of the receiver's key are in an OPN chunk.
pub fn blocks(
    bytes: usize,
    protection: Protection,
    sender: &Certificate,
    receiver: &Certificate,
) -> usize {
    // Part 6, Table 55: policy, certificate and thumbprint, each behind its length.
    let plain = OPEN_HEAD
        + (4 + protection.policy.uri().len())
        + (4 + sender.as_bytes().len())
        + (4 + receiver.thumbprint().len());
    bytes.saturating_sub(plain) / receiver.public_key().cipher_block().max(1)
}

/// What a chunk costs who sends it, beside a signature in an OPN chunk, which is a job of its own.
pub fn sending(costs: &Costs, header: &Header, blocks: usize, protection: Protection) -> f64 {
    let mut cost = message(costs, header);
    match header.message {
        MessageType::Open => cost += costs.encrypt * blocks as f64,
        MessageType::Message | MessageType::Close => {
            let bytes = (header.size as usize).saturating_sub(HEAD);
            if protection.mode.signs() {
                cost += costs.seal_sign.of(bytes);
            }
            if protection.mode.encrypts() {
                cost += costs.seal_encrypt.of(bytes);
            }
        }
        _ => {}
    }
    cost
}

/// What a chunk costs who receives it.
pub fn receiving(costs: &Costs, header: &Header, blocks: usize, protection: Protection) -> f64 {
    let mut cost = message(costs, header);
    match header.message {
        MessageType::Open if blocks > 0 => cost += costs.decrypt * blocks as f64 + costs.verify,
        MessageType::Message | MessageType::Close => {
            let bytes = (header.size as usize).saturating_sub(HEAD);
            if protection.mode.signs() {
                cost += costs.open_verify.of(bytes);
            }
            if protection.mode.encrypts() {
                cost += costs.open_decrypt.of(bytes);
            }
        }
        _ => {}
    }
    cost
}

/// A message costs once, with its last chunk.
fn message(costs: &Costs, header: &Header) -> f64 {
    match header.chunk {
        wire::frame::ChunkKind::Final => costs.message,
        _ => 0.0,
    }
}
