//! What a broker sends: packets of either version, one after another.

use pubsub::mqtt::{Packet, Version};

use crate::script::Script;

/// So many bytes a packet may have here.
const MOST: usize = 1000;

/// The first byte decides which version it is; the rest came from a broker.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let version = match script.byte() & 1 {
        0 => Version::V3,
        _ => Version::V5,
    };
    let mut rest = script.rest();
    while let Ok(Some((packet, used))) = Packet::read(rest, version, MOST) {
        assert!(0 < used && used <= rest.len() && used <= MOST + 5);
        // It is all there with its last byte, and not before.
        let short = rest.get(..used - 1).unwrap();
        assert!(matches!(Packet::read(short, version, MOST), Ok(None)));
        if let Packet::Publish(message) = packet {
            let mut out = Vec::new();
            message.write(version, None, &mut out);
            let (again, len) = Packet::read(&out, version, 2 * MOST).unwrap().unwrap();
            assert_eq!((again, len), (packet, out.len()));
        }
        rest = rest.get(used..).unwrap();
    }
}
