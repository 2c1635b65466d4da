//! The payload of a packet, through link, IP and UDP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::fragments::{Name, Part};

use super::super::arrivals::Source;
use super::super::ethernet_url::Vlan;
use super::super::frame::{Frame, UADP, VLANS, be16, mac};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const UDP: u8 = 17;

/// What a packet is.
#[derive(Debug, PartialEq, Eq)]
pub enum PacketContent<'a> {
    /// A datagram, or a frame of UADP.
    Payload(Payload<'a>),
    /// A part of a datagram; none if the capture has not all of it.
    Fragment(Option<Part<'a>>),
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
    /// Where to.
    pub to: To,
    /// The VLAN of a frame without IP, if it was in one.
    pub vlan: Option<Vlan>,
    /// How long it was.
    pub len: usize,
    /// As much of it as there is.
    pub bytes: &'a [u8],
}

/// Where a packet went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// A port of a host or a group.
    Port(IpAddr, u16),
    /// An interface or a group; zeros where the capture does not say it.
    Mac([u8; 6]),
}

/// Finds the payload of a packet of a link (LINKTYPE_).
pub fn find(link: u32, packet: &[u8]) -> PacketContent<'_> {
    let inside = |at: usize| packet.get(at..).unwrap_or_default();
    match link {
        // The family of addresses, in the byte order of who captured it.
        0 | 108 => ip(inside(4)),
        1 => ethernet(packet),
        12 | 14 | 101 | 228 | 229 => ip(packet),
        113 => cooked(packet, 14, 6, 16),
        276 => cooked(packet, 0, 12, 20),
        _ => PacketContent::UnknownLink,
    }
}

fn ethernet(bytes: &[u8]) -> PacketContent<'_> {
    by_type(Frame::of(bytes), bytes)
}

/// A frame of Linux's "any", which has no address that it went to: the type of what is in it, who sent it, where it begins.
fn cooked(bytes: &[u8], kind: usize, from: usize, at: usize) -> PacketContent<'_> {
    // A tag stands in front of what is in it, as in a frame.
    let tagged = VLANS.contains(&be16(bytes, kind)).then(|| be16(bytes, at));
    let frame = Frame {
        to: [0; 6],
        from: mac(bytes, from),
        vlan: tagged.map(Vlan::of_tag),
        kind: be16(bytes, if tagged.is_some() { at + 2 } else { kind }),
        at: if tagged.is_some() { at + 4 } else { at },
    };
    by_type(frame, bytes)
}

fn by_type(frame: Frame, bytes: &[u8]) -> PacketContent<'_> {
    let inside = bytes.get(frame.at..).unwrap_or_default();
    match frame.kind {
        IPV4 | IPV6 => ip(inside),
        UADP => PacketContent::Payload(Payload {
            source: Source::Mac(frame.from),
            to: To::Mac(frame.to),
            vlan: frame.vlan,
            len: inside.len(),
            bytes: inside,
        }),
        _ => PacketContent::Other,
    }
}

fn ip(packet: &[u8]) -> PacketContent<'_> {
    match packet.first().map(|it| it >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        _ => PacketContent::Other,
    }
}

fn ipv4(packet: &[u8]) -> PacketContent<'_> {
    let Some(head) = packet.first_chunk::<20>() else {
        return PacketContent::Other;
    };
    let (from, to) = (address4(head, 12), address4(head, 16));
    if byte(head, 9) != UDP {
        return PacketContent::Other;
    }
    let begin = (usize::from(byte(head, 0) & 0x0f) * 4).max(20);
    let place = be16(head, 6);
    // More fragments, or not the first.
    if place & 0x3fff != 0 {
        // Behind its end short frames are filled up.
        let bytes = packet.get(begin..usize::from(be16(head, 2)));
        return PacketContent::Fragment(bytes.map(|bytes| Part {
            of: Name {
                from,
                to,
                number: be16(head, 4).into(),
            },
            at: usize::from(place & 0x1fff) * 8,
            more: place & 0x2000 != 0,
            bytes,
        }));
    }
    udp(packet.get(begin..).unwrap_or_default(), from, to)
}

fn ipv6(packet: &[u8]) -> PacketContent<'_> {
    let Some(head) = packet.first_chunk::<40>() else {
        return PacketContent::Other;
    };
    let (from, to) = (address6(head, 8), address6(head, 24));
    let mut next = byte(head, 6);
    let mut at = 40;
    loop {
        match next {
            UDP => return udp(packet.get(at..).unwrap_or_default(), from, to),
            44 => {
                let Some(part) = packet.get(at..).and_then(<[u8]>::first_chunk::<8>) else {
                    return PacketContent::Other;
                };
                if byte(part, 0) != UDP {
                    return PacketContent::Other;
                }
                let number = part.last_chunk().copied().unwrap_or_default();
                let place = be16(part, 2);
                let bytes = packet.get(at + 8..40 + usize::from(be16(head, 4)));
                return PacketContent::Fragment(bytes.map(|bytes| Part {
                    of: Name {
                        from,
                        to,
                        number: u32::from_be_bytes(number),
                    },
                    at: usize::from(place & !7),
                    more: place & 1 == 1,
                    bytes,
                }));
            }
            // Hop by hop, routing, destination: the next one, and a length in eights of bytes.
            0 | 43 | 60 => {
                let Some(&[following, len]) = packet.get(at..).and_then(<[u8]>::first_chunk) else {
                    return PacketContent::Other;
                };
                next = following;
                at += 8 + usize::from(len) * 8;
            }
            _ => return PacketContent::Other,
        }
    }
}

/// A datagram with its header.
pub fn udp(segment: &[u8], from: IpAddr, to: IpAddr) -> PacketContent<'_> {
    let len = usize::from(be16(segment, 4));
    let (Some(bytes), true) = (segment.get(8..), len >= 8) else {
        return PacketContent::Other;
    };
    let len = len - 8;
    PacketContent::Payload(Payload {
        source: Source::Ip(from),
        to: To::Port(to, be16(segment, 2)),
        vlan: None,
        len,
        // Short frames are filled up.
        bytes: bytes.get(..len).unwrap_or(bytes),
    })
}

/// Whoever asks has a header of a length that all of these lie in.
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

fn address4(bytes: &[u8], at: usize) -> IpAddr {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
    Ipv4Addr::from(found.copied().unwrap_or_default()).into()
}

fn address6(bytes: &[u8], at: usize) -> IpAddr {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk::<16>);
    Ipv6Addr::from(found.copied().unwrap_or_default()).into()
}
