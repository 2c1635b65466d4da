//! The heads of MSG chunks, as far as HTTP needs them (Part 6, 6.7.2 and 7.1.2).

use super::{CHANNEL_ID, TOKEN_ID};

/// Message type, size, channel, token, sequence number, request id.
pub const HEAD: usize = 24;
/// Message type and size.
pub const BEGIN: usize = 8;
/// Bytes of a body in one chunk.
pub const BODY: usize = 64 * 1024 - HEAD;
/// Numbers start again behind this one (Part 6, 6.7.2.4).
const LAST_NUMBER: u32 = u32::MAX - 1024;

/// Of which part of a message a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There are more behind it.
    More,
    /// It is the last one.
    Final,
}

/// A chunk's head.
pub fn head(kind: Kind, request: u32, sequence: u32, body: usize) -> [u8; HEAD] {
    let size = u32::try_from(HEAD + body).unwrap_or(u32::MAX);
    let mut head = [0; HEAD];
    let letters = match kind {
        Kind::More => b"MSGC",
        Kind::Final => b"MSGF",
    };
    let numbers = [size, CHANNEL_ID, TOKEN_ID, sequence, request];
    let bytes = numbers.into_iter().flat_map(u32::to_le_bytes);
    let all = letters.iter().copied().chain(bytes);
    head.iter_mut()
        .zip(all)
        .for_each(|(place, byte)| *place = byte);
    head
}

/// The number of the next chunk.
pub fn next(sequence: u32) -> u32 {
    match sequence {
        LAST_NUMBER.. => 1,
        _ => sequence + 1,
    }
}

/// A little-endian number at this place.
pub fn number(head: &[u8], at: usize) -> u32 {
    let bytes = head.get(at..).and_then(|rest| rest.first_chunk());
    u32::from_le_bytes(bytes.copied().unwrap_or_default())
}
