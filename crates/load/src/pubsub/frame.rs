//! UADP in Ethernet frames, without IP (Part 14, 7.3.3).

use super::ethernet_url::Vlan;

/// The EtherType of UADP.
pub const UADP: u16 = 0xb62c;
/// Tags of IEEE 802.1Q: of customers, of providers, and of those before the standard.
pub const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Bytes of a NetworkMessage in a frame of 1522 (7.3.3).
pub const MOST: usize = 1500;

/// What stands before the NetworkMessage of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Where to.
    pub to: [u8; 6],
    /// Where from.
    pub from: [u8; 6],
    /// The outermost tag.
    pub vlan: Option<Vlan>,
    /// What is in it.
    pub kind: u16,
    /// Where that begins.
    pub at: usize,
}

impl Frame {
    /// Of bytes that begin with a frame's first. What is not there is zero.
    pub fn of(bytes: &[u8]) -> Self {
        let (mut at, mut vlan) = (12, None);
        while VLANS.contains(&be16(bytes, at)) {
            let tag = Vlan::of_tag(be16(bytes, at + 2));
            vlan.get_or_insert(tag);
            at += 4;
        }
        Self {
            to: mac(bytes, 0),
            from: mac(bytes, 6),
            vlan,
            kind: be16(bytes, at),
            at: at + 2,
        }
    }
}

/// The bytes before a NetworkMessage.
pub fn header(to: [u8; 6], from: [u8; 6], vlan: Option<Vlan>) -> Vec<u8> {
    let mut header = [to, from].concat();
    if let Some(vlan) = vlan {
        header.extend([0x81, 0]);
        header.extend(vlan.tag().to_be_bytes());
    }
    header.extend(UADP.to_be_bytes());
    header
}

/// A number of a frame; 0 behind its end, which is no type that is taken.
pub fn be16(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    u16::from_be_bytes(found.copied().unwrap_or_default())
}

/// An address in a frame; zeros behind its end.
pub fn mac(bytes: &[u8], at: usize) -> [u8; 6] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: [u8; 6] = [1, 0, 0x5e, 0, 0, 1];
    const FROM: [u8; 6] = [2, 0, 0, 0, 0, 9];

    #[test]
    fn a_header_is_what_part_14_and_ieee_802_1q_have() {
        let plain = header(TO, FROM, None);
        assert_eq!(plain, [1, 0, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0xb6, 0x2c]);
        let vlan = Vlan {
            id: 0x123,
            priority: Some(5),
        };
        let tagged = header(TO, FROM, Some(vlan));
        assert_eq!(tagged[12..], [0x81, 0, 0xa1, 0x23, 0xb6, 0x2c]);
        for (bytes, vlan) in [(plain, None), (tagged, Some(vlan))] {
            let frame = Frame::of(&bytes);
            assert_eq!((frame.to, frame.from, frame.vlan), (TO, FROM, vlan));
            assert_eq!((frame.kind, frame.at), (UADP, bytes.len()));
        }
    }

    #[test]
    fn the_outermost_tag_counts_and_no_bytes_bring_it_down() {
        let mut bytes = [TO, FROM].concat();
        bytes.extend([0x88, 0xa8, 0x20, 7, 0x81, 0, 0, 9, 0xb6, 0x2c, 1]);
        let frame = Frame::of(&bytes);
        let vlan = Vlan {
            id: 7,
            priority: Some(1),
        };
        assert_eq!((frame.vlan, frame.kind, frame.at), (Some(vlan), UADP, 22));
        for end in 0..bytes.len() {
            assert!(Frame::of(&bytes[..end]).at <= 22);
        }
        // Nothing but tags.
        assert_eq!(Frame::of(&[0x81; 3]).kind, 0);
    }
}
