//! A capture as a reader of its own takes it apart: blocks, packets, segments, what each side of a connection sent.

use std::collections::BTreeMap;
use std::path::Path;

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const ACK: u8 = 16;

/// A segment of TCP.
pub struct Segment {
    pub from: u16,
    pub to: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    pub payload: Vec<u8>,
    /// When, in nanoseconds since 1970.
    pub at: u64,
}

/// What is in a file, in its order.
pub enum Block {
    Segment(Segment),
    Secrets(String),
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

/// The sum of RFC 1071; 0 over bytes with a right one among them.
fn sum(parts: &[&[u8]]) -> u16 {
    let all = parts.concat();
    let mut sum: u32 = 0;
    for pair in all.chunks(2) {
        let low = pair.get(1).copied().unwrap_or_default();
        sum += u32::from(u16::from_be_bytes([pair[0], low]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Takes a file apart; it has to end with a whole block.
pub fn blocks(file: &Path) -> Vec<Block> {
    let bytes = std::fs::read(file).unwrap();
    let mut rest = bytes.as_slice();
    let (mut all, mut kinds) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (kind, length) = (word(rest, 0), word(rest, 4) as usize);
        assert!(length.is_multiple_of(4) && length <= rest.len(), "cut");
        assert_eq!(word(rest, length - 4) as usize, length);
        let body = &rest[8..length - 4];
        kinds.push(kind);
        match kind {
            0x0a0d_0d0a => assert_eq!(word(body, 0), 0x1a2b_3c4d),
            // LINKTYPE_RAW, packets of any length, nanoseconds.
            1 => assert_eq!(
                body,
                [101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]
            ),
            6 => {
                let at = u64::from(word(body, 4)) << 32 | u64::from(word(body, 8));
                assert_eq!(word(body, 12), word(body, 16));
                let packet = &body[20..20 + word(body, 12) as usize];
                all.push(Block::Segment(segment(packet, at)));
            }
            10 => {
                assert_eq!(word(body, 0), 0x5541_4b4c);
                let lines = &body[8..8 + word(body, 4) as usize];
                all.push(Block::Secrets(String::from_utf8(lines.to_vec()).unwrap()));
            }
            other => panic!("a block of type {other}"),
        }
        rest = &rest[length..];
    }
    assert_eq!(kinds[..2], [0x0a0d_0d0a, 1]);
    all
}

/// The same file without secrets.
pub fn without_secrets(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap();
    let (mut rest, mut kept) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (block, behind) = rest.split_at(word(rest, 4) as usize);
        if word(block, 0) != 10 {
            kept.extend_from_slice(block);
        }
        rest = behind;
    }
    kept
}

/// A packet of IPv4, its sums right.
fn segment(packet: &[u8], at: u64) -> Segment {
    assert_eq!(packet[0], 0x45);
    assert_eq!(usize::from(half(packet, 2)), packet.len());
    assert_eq!(packet[9], 6);
    assert_eq!(packet[12..20], [127, 0, 0, 1, 127, 0, 0, 1]);
    assert_eq!(sum(&[&packet[..20]]), 0, "the sum of IP");
    let tcp = &packet[20..];
    let length = (tcp.len() as u16).to_be_bytes();
    let in_front = [&packet[12..20], &[0, 6], &length, tcp];
    assert_eq!(sum(&in_front), 0, "the sum of TCP");
    let big = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
    Segment {
        from: half(tcp, 0),
        to: half(tcp, 2),
        sequence: big(4),
        acknowledgement: big(8),
        flags: tcp[13],
        payload: tcp[usize::from(tcp[12] >> 4) * 4..].to_vec(),
        at,
    }
}

/// What both sides of a connection sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub by_client: Vec<u8>,
    pub by_server: Vec<u8>,
}

/// The connections to a port, by the port of the client. Each has to open and end as TCP does, without a gap between.
pub fn connections(blocks: &[Block], server: u16) -> BTreeMap<u16, Sent> {
    let mut by_client: BTreeMap<u16, Vec<&Segment>> = BTreeMap::new();
    for block in blocks {
        if let Block::Segment(it) = block {
            assert!((it.from == server) != (it.to == server));
            let client = if it.from == server { it.to } else { it.from };
            by_client.entry(client).or_default().push(it);
        }
    }
    let whole = |(client, segments)| (client, sent(client, segments));
    by_client.into_iter().map(whole).collect()
}

fn sent(client: u16, segments: Vec<&Segment>) -> Sent {
    let flags: Vec<u8> = segments
        .iter()
        .map(|it| it.flags & (SYN | ACK | FIN))
        .collect();
    assert_eq!(flags[..3], [SYN, SYN | ACK, ACK], "{client}");
    assert_eq!(flags[flags.len() - 3..], [FIN | ACK, FIN | ACK, ACK]);
    assert!(flags[3..flags.len() - 3].iter().all(|&it| it == ACK));
    assert!(segments.is_sorted_by_key(|it| it.at), "{client}");
    let mut sent = Sent::default();
    // What each side sends next.
    let mut next = [segments[0].sequence, segments[1].sequence];
    for it in segments {
        let from = usize::from(it.from != client);
        assert_eq!(it.sequence, next[from], "{client}: a gap");
        if it.flags & ACK != 0 {
            assert_eq!(it.acknowledgement, next[1 - from], "{client}");
        }
        let single = u32::from(it.flags & (SYN | FIN) != 0);
        next[from] = next[from].wrapping_add(it.payload.len() as u32 + single);
        match from {
            0 => sent.by_client.extend(&it.payload),
            _ => sent.by_server.extend(&it.payload),
        }
    }
    sent
}

/// The chunks of OPC UA in what a side sent, whole.
pub fn chunks(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at(word(bytes, 4) as usize);
        all.push(chunk);
        bytes = rest;
    }
    all
}

/// Channel and token of a chunk.
pub fn names(chunk: &[u8]) -> (u32, u32) {
    (word(chunk, 8), word(chunk, 12))
}
