//! Any bytes end in a value or in an error, and take no more memory than they are worth.

use proptest::collection::vec;
use proptest::prelude::*;
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy};
use pubsub::view::Known;
use pubsub::{Cause, Tolerance, View};
use wire::service::Limits;

use crate::bytes;

fn tolerant() -> Tolerance {
    Tolerance {
        publisher_id_type_6: true,
        promoted_count: true,
        null_deltas: true,
        constant_nonce: true,
    }
}

fn visit(wire: &[u8]) {
    for tolerance in [Tolerance::NONE, tolerant()] {
        let Ok(view) = View::parse(wire, tolerance) else {
            continue;
        };
        let _ = view.chunk();
        let _ = view.probe();
        let _ = view.announcement();
        for sizes in [&[][..], &[3, 400]] {
            let Ok(sets) = view.messages(Known { sizes }) else {
                continue;
            };
            assert!(sets.count() <= wire.len() + 255);
            let _ = view.to_message(Known { sizes }, &Limits::for_message_size(wire.len()));
        }
    }
    let mut ring = KeyRing::new(Some(Mode::Sign), tolerant());
    ring.insert(
        1,
        GroupKeys::new(PubSubPolicy::Aes128Ctr, &[7; 52]).unwrap(),
    );
    let mut copy = wire.to_vec();
    if ring.open(&mut copy).is_err() {
        assert_eq!(copy, wire, "an error leaves bytes as they were");
    }
}

/// A beginning that leads further than random bytes do.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let head = (0u8..16, any::<u8>(), any::<u8>());
    let rest = vec(prop_oneof![3 => 0u8..12, 1 => any::<u8>()], 0..120);
    (head, rest).prop_map(|((first, one, two), rest)| {
        let mut wire = vec![first << 4 | 1, one, two & 0x1f];
        wire.extend(rest);
        wire
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes_are_survived(wire in plausible()) {
        visit(&wire);
    }
}

#[test]
fn errors_say_where() {
    let cases = [
        ("", 0, "UADPFlags"),
        ("02", 0, "version 2"),
        ("90", 0, "version 0"),
        ("91 05", 2, "type 5"),
        ("91 04 ffffffff", 2, "length -1"),
        ("91 04 02000000 c328", 2, "UTF-8"),
        ("91 01 0a", 2, "takes 2 bytes, 1 are left"),
        ("81 80 0c", 2, "type 3"),
        ("81 80 20", 2, "ActionHeader"),
        ("81 10 00 01000000 21", 7, "33 bytes"),
        ("41 02 0100", 2, "takes 4 bytes, 2 are left"),
    ];
    for (hex, offset, what) in cases {
        let wire = bytes(hex);
        let error = View::parse(&wire, Tolerance::NONE).unwrap_err();
        assert_eq!(error.offset, offset, "{hex}: {error}");
        assert!(error.to_string().contains(what), "{hex}: {error}");
    }
    // In the payload: where in the datagram, not where in the DataSetMessage.
    let cases = [
        ("41 01 0100 07", 4, "reserved"),
        ("41 01 0100 81 04", 5, "type 4"),
        ("41 01 0100 83 01", 4, "RawData"),
        ("41 01 0100 01 ffff 06", 5, "65535 fields in 1 bytes"),
        ("41 01 0100 01 0100 3e", 7, "unknown type"),
        ("41 01 0100 01 0200 01 01 0a 00", 10, "too early"),
    ];
    for (hex, offset, what) in cases {
        let wire = bytes(hex);
        let view = View::parse(&wire, Tolerance::NONE).unwrap();
        let error = view
            .to_message(Known::default(), &Limits::default())
            .unwrap_err();
        assert_eq!(error.offset, offset, "{hex}: {error}");
        assert!(error.to_string().contains(what), "{hex}: {error}");
    }
}

#[test]
fn a_message_that_would_take_too_much_memory_is_refused() {
    // An array of Boolean takes 32 bytes of memory for each on the wire.
    let mut wire = bytes("41 01 0100 01 0100 81 00400000");
    wire.extend([1; 0x4000]);
    let view = View::parse(&wire, Tolerance::NONE).unwrap();
    let limits = |memory| Limits { memory, depth: 100 };
    let error = view
        .to_message(Known::default(), &limits(100_000))
        .unwrap_err();
    assert!(matches!(error.cause, Cause::Decode(_)), "{error}");
    view.to_message(Known::default(), &limits(1_000_000))
        .unwrap();
}
