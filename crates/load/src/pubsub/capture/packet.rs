//! The payload of a packet, through link, IP and UDP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::datagram::Source;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// UADP without IP (Part 14, 7.3.3).
const UADP: u16 = 0xb62c;
const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const UDP: u8 = 17;

/// What a packet is.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A datagram, or a frame of UADP.
    Payload(Payload<'a>),
    /// A part of a datagram.
    Fragment,
    /// Of another protocol, or no packet at all.
    Other,
    /// Nobody knows how it begins.
    UnknownLink,
}

/// What may be a NetworkMessage.
#[derive(Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Who sent it.
    pub source: Source,
    /// Where to; none of frames.
    pub to: Option<(IpAddr, u16)>,
    /// How long it was.
    pub len: usize,
    /// As much of it as there is.
    pub bytes: &'a [u8],
}

/// Finds the payload of a packet of a link (LINKTYPE_).
pub fn find(link: u32, packet: &[u8]) -> Found<'_> {
    let inside = |at: usize| packet.get(at..).unwrap_or_default();
    match link {
        // The family of addresses, in the byte order of who captured it.
        0 | 108 => ip(inside(4)),
        1 => ethernet(packet),
        12 | 14 | 101 | 228 | 229 => ip(packet),
        113 => by_type(be16(packet, 14), mac(packet, 6), inside(16)),
        276 => by_type(be16(packet, 0), mac(packet, 12), inside(20)),
        _ => Found::UnknownLink,
    }
}

fn ethernet(frame: &[u8]) -> Found<'_> {
    let source = mac(frame, 6);
    let mut at = 12;
    while VLANS.contains(&be16(frame, at)) {
        at += 4;
    }
    by_type(
        be16(frame, at),
        source,
        frame.get(at + 2..).unwrap_or_default(),
    )
}

fn by_type(kind: u16, source: [u8; 6], inside: &[u8]) -> Found<'_> {
    match kind {
        IPV4 | IPV6 => ip(inside),
        UADP => Found::Payload(Payload {
            source: Source::Mac(source),
            to: None,
            len: inside.len(),
            bytes: inside,
        }),
        _ => Found::Other,
    }
}

fn ip(packet: &[u8]) -> Found<'_> {
    match packet.first().map(|it| it >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        _ => Found::Other,
    }
}

fn ipv4(packet: &[u8]) -> Found<'_> {
    let Some(head) = packet.first_chunk::<20>() else {
        return Found::Other;
    };
    let (from, to) = (address4(head, 12), address4(head, 16));
    if byte(head, 9) != UDP {
        return Found::Other;
    }
    // More fragments, or not the first.
    if be16(head, 6) & 0x3fff != 0 {
        return Found::Fragment;
    }
    let begin = usize::from(byte(head, 0) & 0x0f) * 4;
    udp(packet.get(begin.max(20)..).unwrap_or_default(), from, to)
}

fn ipv6(packet: &[u8]) -> Found<'_> {
    let Some(head) = packet.first_chunk::<40>() else {
        return Found::Other;
    };
    let (from, to) = (address6(head, 8), address6(head, 24));
    let mut next = byte(head, 6);
    let mut at = 40;
    loop {
        match next {
            UDP => return udp(packet.get(at..).unwrap_or_default(), from, to),
            44 => return Found::Fragment,
            // Hop by hop, routing, destination: the next one, and a length in eights of bytes.
            0 | 43 | 60 => {
                let Some(&[following, len]) = packet.get(at..).and_then(<[u8]>::first_chunk) else {
                    return Found::Other;
                };
                next = following;
                at += 8 + usize::from(len) * 8;
            }
            _ => return Found::Other,
        }
    }
}

fn udp(segment: &[u8], from: IpAddr, to: IpAddr) -> Found<'_> {
    let len = usize::from(be16(segment, 4));
    let (Some(bytes), true) = (segment.get(8..), len >= 8) else {
        return Found::Other;
    };
    let len = len - 8;
    Found::Payload(Payload {
        source: Source::Ip(from),
        to: Some((to, be16(segment, 2))),
        len,
        // Short frames are filled up.
        bytes: bytes.get(..len).unwrap_or(bytes),
    })
}

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([byte(bytes, at), byte(bytes, at + 1)])
}

fn mac(bytes: &[u8], at: usize) -> [u8; 6] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or_default()
}

fn address4(bytes: &[u8], at: usize) -> IpAddr {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
    Ipv4Addr::from(found.copied().unwrap_or_default()).into()
}

fn address6(bytes: &[u8], at: usize) -> IpAddr {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk::<16>);
    Ipv6Addr::from(found.copied().unwrap_or_default()).into()
}
