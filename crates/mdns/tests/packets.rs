//! Packets as bytes: those of another implementation, and those that are none.

#![allow(clippy::unwrap_used, clippy::panic)]

use mdns::{Data, Kind, MOST, Name, Packet, PacketError, Question, Record};
use proptest::prelude::*;

/// A head with these counts.
fn head(flags: u16, counts: [u16; 4]) -> Vec<u8> {
    let numbers = [0, flags].into_iter().chain(counts);
    numbers.flat_map(u16::to_be_bytes).collect()
}

#[test]
fn the_example_of_part_12_is_read() {
    // _opcua-tcp._tcp.example.com. 86400 IN SRV 0 5 4840 uaserver.example.com. (Part 12, C.1), its host by a pointer.
    let mut bytes = head(0x8400, [0, 1, 0, 0]);
    bytes.extend(b"\x0a_opcua-tcp\x04_tcp\x07example\x03com\x00");
    bytes.extend([
        0, 33, 0x80, 1, 0, 1, 0x51, 0x80, 0, 17, 0, 0, 0, 5, 0x12, 0xe8,
    ]);
    bytes.extend(b"\x08uaserver\xc0\x1c");
    let packet = Packet::read(&bytes).unwrap();
    let name = |it: &str| Name::dotted(it).unwrap();
    assert_eq!(
        packet.answers,
        [Record {
            name: name("_opcua-tcp._tcp.example.com"),
            ttl: 86400,
            is_all: true,
            data: Data::Service {
                port: 4840,
                host: name("uaserver.example.com"),
            },
        }]
    );
    assert!(packet.is_answer);
}

#[test]
fn names_that_end_alike_are_written_once() {
    let service = Kind::Tcp.name().unwrap();
    let packet = Packet {
        questions: Kind::ALL
            .map(|it| Question::instances(it.name().unwrap()))
            .into(),
        answers: vec![Record {
            name: service.clone(),
            ttl: 4500,
            is_all: false,
            data: Data::Pointer(Name::below("bench", &service).unwrap()),
        }],
        ..Packet::default()
    };
    let bytes = packet.write();
    assert_eq!(Packet::read(&bytes).unwrap(), packet);
    let times = |what: &[u8]| bytes.windows(what.len()).filter(|it| *it == what).count();
    assert_eq!(
        (times(b"_tcp"), times(b"local"), times(b"_opcua-tcp")),
        (1, 1, 1)
    );
}

#[test]
fn pointers_that_lead_nowhere_or_round_are_refused() {
    let with = |name: &[u8]| [head(0, [1, 0, 0, 0]).as_slice(), name, &[0, 12, 0, 1]].concat();
    for (name, error) in [
        // To itself, to what follows, to each other, beyond the end.
        (&b"\xc0\x0c"[..], PacketError::Pointer(12)),
        (b"\xc0\x0e", PacketError::Pointer(12)),
        (b"\x01a\xc0\x0c", PacketError::Pointer(12)),
        (b"\xff\xff", PacketError::Pointer(12)),
        // A kind of label that there is not.
        (b"\x40a", PacketError::Label(0x40)),
    ] {
        assert_eq!(Packet::read(&with(name)), Err(error), "{name:?}");
    }
    // Into the head, whose bytes are no name that ends before 255 bytes.
    assert!(Packet::read(&with(b"\xc0\x00")).is_ok());
    let long = [b"\x3f".as_slice(), &[b'x'; 63]].concat().repeat(4);
    assert!(matches!(
        Packet::read(&with(&long)),
        Err(PacketError::Name(_))
    ));
}

#[test]
fn a_spoilt_record_spoils_no_other() {
    let mut bytes = head(0x8400, [0, 3, 0, 0]);
    // An address of three bytes, a record of another class, text whose length goes beyond its end.
    bytes.extend(b"\x01a\x00\x00\x01\x00\x01\x00\x00\x00\x78\x00\x03\x01\x02\x03");
    bytes.extend(b"\x01a\x00\x00\x01\x00\x03\x00\x00\x00\x78\x00\x04\x01\x02\x03\x04");
    bytes.extend(b"\x01a\x00\x00\x10\x00\x01\x00\x00\x00\x78\x00\x02\x05x");
    let packet = Packet::read(&bytes).unwrap();
    let data: Vec<_> = packet.answers.iter().map(|it| it.data.clone()).collect();
    assert_eq!(data, [Data::Other(1), Data::Other(1), Data::Other(16)]);
    for end in 0..bytes.len() {
        assert_eq!(Packet::read(&bytes[..end]), Err(PacketError::Short(end)));
    }
    // Counts that promise more than there is, and packets that are no questions and no answers.
    assert!(matches!(
        Packet::read(&head(0, [u16::MAX; 4])),
        Err(PacketError::Short(12))
    ));
    assert_eq!(
        Packet::read(&head(0x2800, [0; 4])),
        Err(PacketError::Flags(0x2800))
    );
    assert_eq!(
        Packet::read(&head(0x8003, [0; 4])),
        Err(PacketError::Flags(0x8003))
    );
    assert_eq!(
        Packet::read(&vec![0; MOST + 1]),
        Err(PacketError::Long(MOST + 1))
    );
}

proptest! {
    #[test]
    fn any_bytes_are_a_packet_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = Packet::read(&bytes);
    }

    /// What is read is written and read the same, whatever bytes it came from.
    #[test]
    fn what_was_read_is_written_and_read_the_same(
        counts in [0u16..4, 0..4, 0..2, 0..4],
        rest in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(12), Just(0xc0), any::<u8>()], 0..300),
    ) {
        let bytes = [head(0x8400, counts), rest].concat();
        if let Ok(packet) = Packet::read(&bytes) {
            let again = Packet::read(&packet.write()).unwrap();
            prop_assert_eq!(&again.questions, &packet.questions);
            prop_assert_eq!(again.answers.len(), packet.answers.len());
            for (a, b) in again.said().zip(packet.said()) {
                prop_assert_eq!((&a.name, a.ttl, a.is_all, a.data.of()), (&b.name, b.ttl, b.is_all, b.data.of()));
            }
        }
    }
}
