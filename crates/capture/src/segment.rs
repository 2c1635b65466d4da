//! A TCP segment with made headers of IPv4 or IPv6.

use std::net::{IpAddr, SocketAddr};

/// More is not put into one segment: with its headers it is a packet of IP still.
pub const MOST: usize = 65_000;

/// The last one of this side.
pub const FIN: u8 = 1;
/// The first one of this side.
pub const SYN: u8 = 2;
/// Whoever takes it is to hand it on at once.
pub const PUSH: u8 = 8;
/// It acknowledges.
pub const ACK: u8 = 16;

const TCP: u8 = 6;
const HOPS: u8 = 64;
/// What each side takes, in units of [`SCALE`]: nothing that is recorded waited for a window.
const WINDOW: u16 = u16::MAX;
/// The largest scale that there is (RFC 7323, 2.3).
const SCALE: u8 = 14;
/// Options of the first segment: the largest segment, nothing, the scale of windows.
const OPTIONS: [u8; 8] = [2, 4, (MOST >> 8) as u8, MOST as u8, 1, 3, 3, SCALE];

/// A segment on its way.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Who sends it.
    pub from: SocketAddr,
    /// Who gets it.
    pub to: SocketAddr,
    /// The number of its first byte.
    pub sequence: u32,
    /// The number of the byte that is wanted next.
    pub acknowledgement: u32,
    /// Its flags.
    pub flags: u8,
    /// What it carries, [`MOST`] at most; what is beyond is left out.
    pub payload: &'a [u8],
}

impl Segment<'_> {
    /// Writes it with its headers.
    pub fn write(&self, out: &mut Vec<u8>) {
        let payload = self.payload.get(..MOST).unwrap_or(self.payload);
        let options: &[u8] = if self.flags & SYN == 0 { &[] } else { &OPTIONS };
        let head = 20 + options.len();
        let length = head + payload.len();
        let start = out.len();
        // What stands in front of the segment for the sum only, and not in the packet.
        let mut sum = Sum::default();
        match (self.from.ip().to_canonical(), self.to.ip().to_canonical()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let total = (20 + length) as u16;
                out.extend_from_slice(&[0x45, 0]);
                out.extend_from_slice(&total.to_be_bytes());
                // No identification; not to be cut.
                out.extend_from_slice(&[0, 0, 0x40, 0, HOPS, TCP, 0, 0]);
                out.extend_from_slice(&from.octets());
                out.extend_from_slice(&to.octets());
                let mut header = Sum::default();
                header.add(out.get(start..).unwrap_or_default());
                put(out, start + 10, header.complement());
                sum.add(&from.octets());
                sum.add(&to.octets());
            }
            (from, to) => {
                let (from, to) = (wide(from), wide(to));
                out.extend_from_slice(&[0x60, 0, 0, 0]);
                out.extend_from_slice(&(length as u16).to_be_bytes());
                out.extend_from_slice(&[TCP, HOPS]);
                out.extend_from_slice(&from);
                out.extend_from_slice(&to);
                sum.add(&from);
                sum.add(&to);
            }
        }
        sum.add(&[0, TCP]);
        sum.add(&(length as u16).to_be_bytes());
        let segment = out.len();
        out.extend_from_slice(&self.from.port().to_be_bytes());
        out.extend_from_slice(&self.to.port().to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.acknowledgement.to_be_bytes());
        out.extend_from_slice(&[((head / 4) << 4) as u8, self.flags]);
        out.extend_from_slice(&WINDOW.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(options);
        out.extend_from_slice(payload);
        sum.add(out.get(segment..).unwrap_or_default());
        put(out, segment + 16, sum.complement());
    }
}

fn wide(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn put(out: &mut [u8], at: usize, value: u16) {
    if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = value.to_be_bytes();
    }
}

/// The checksum of IP and TCP (RFC 1071).
#[derive(Default)]
struct Sum(u64);

impl Sum {
    /// Adds bytes; all but the last ones are of an even number.
    fn add(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks();
        let sum: u64 = pairs
            .iter()
            .map(|&it| u64::from(u16::from_be_bytes(it)))
            .sum();
        let last = rest.first().map_or(0, |&it| u64::from(it) << 8);
        self.0 += sum + last;
    }

    fn complement(&self) -> u16 {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(from: &str, to: &str, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let segment = Segment {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            sequence: 0x0102_0304,
            acknowledgement: 0x0506_0708,
            flags,
            payload,
        };
        segment.write(&mut out);
        out
    }

    /// Both sums were computed by other code from RFC 1071.
    #[test]
    fn a_segment_over_ipv4_has_the_bytes_and_sums_that_others_make() {
        let made = written("192.0.2.1:40000", "192.0.2.2:4840", ACK | PUSH, b"HEL");
        assert_eq!(made.len(), 43);
        assert_eq!(
            made[..12],
            [0x45, 0, 0, 43, 0, 0, 0x40, 0, 64, 6, 0xb6, 0xc9]
        );
        assert_eq!(made[20..24], [0x9c, 0x40, 0x12, 0xe8]);
        assert_eq!(made[24..32], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(made[32..36], [0x50, 0x18, 0xff, 0xff]);
        assert_eq!(made[36..40], [0xd8, 0x43, 0, 0]);
        assert_eq!(made[40..], *b"HEL");
    }

    /// Whatever sums to all ones, its sum among it, has arrived as it was sent (RFC 1071, 1).
    #[test]
    fn sums_are_right_over_both_protocols_and_for_odd_lengths() {
        for (from, to, addresses) in [
            ("192.0.2.1:40000", "192.0.2.2:4840", 12..20),
            ("[2001:db8::1]:40000", "[2001:db8::2]:4840", 8..40),
            ("[::ffff:192.0.2.1]:40000", "192.0.2.2:4840", 12..20),
        ] {
            for payload in [b"".as_slice(), b"x", b"xy", &[0xff; MOST]] {
                for flags in [SYN, ACK] {
                    let made = written(from, to, flags, payload);
                    let segment = made.get(addresses.end..).unwrap();
                    let mut sum = Sum::default();
                    sum.add(&made[addresses.clone()]);
                    sum.add(&[0, TCP]);
                    sum.add(&(segment.len() as u16).to_be_bytes());
                    sum.add(segment);
                    assert_eq!(sum.complement(), 0, "{from} {}", payload.len());
                    if addresses.end == 20 {
                        let mut header = Sum::default();
                        header.add(&made[..20]);
                        assert_eq!(header.complement(), 0);
                    }
                }
            }
        }
    }

    #[test]
    fn what_no_packet_can_carry_is_left_out() {
        let made = written("127.0.0.1:1", "127.0.0.1:2", ACK, &[7; 70_000]);
        assert_eq!(made.len(), 40 + MOST);
        let total = u16::from_be_bytes([made[2], made[3]]);
        assert_eq!(usize::from(total), made.len());
    }
}
