//! Bytes of other stacks decode as what they are, and are written again as they were.

use pubsub::header::Kind;
use pubsub::view::{Encoding, Frame, Known};
use pubsub::{
    Changes, Content, DataSetMessage, Fields, GroupHeader, NetworkMessage, PublisherId, Tolerance,
    View,
};
use wire::service::Limits;
use wire::types::{DateTime, Variant};

use crate::bytes;

fn read(bytes: &[u8], tolerance: Tolerance) -> NetworkMessage {
    let view = View::parse(bytes, tolerance).unwrap();
    view.to_message(Known::default(), &Limits::default())
        .unwrap()
}

/// The tutorial of open62541: 39 bytes, as captured.
#[test]
fn open62541_publishes_a_time() {
    let wire = bytes(
        "f101ba08 016400 014df4 e110 2fbbfe85bb79dd01 11cb8160 0dc88160 0100 0d 79bbfe85bb79dd01",
    );
    let message = read(&wire, Tolerance::NONE);
    let time = |hex: &str| i64::from_le_bytes(bytes(hex).try_into().unwrap());
    let want = NetworkMessage {
        publisher_id: Some(PublisherId::UInt16(2234)),
        group: Some(GroupHeader {
            writer_group_id: Some(100),
            ..GroupHeader::default()
        }),
        payload_header: true,
        messages: vec![DataSetMessage {
            timestamp: Some(time("2fbbfe85bb79dd01")),
            major_version: Some(0x6081_cb11),
            minor_version: Some(0x6081_c80d),
            ..DataSetMessage::new(
                62541,
                Content::Key(Fields::Variant(vec![Variant::DateTime(Box::new(
                    DateTime::from(time("79bbfe85bb79dd01")),
                ))])),
            )
        }],
        ..NetworkMessage::default()
    };
    assert_eq!(message, want);
    let mut out = Vec::new();
    want.encode(&mut out).unwrap();
    assert_eq!(out, wire);
}

/// S2OPC: a Byte as PublisherId, eight DataSetMessages with their sizes.
#[test]
fn s2opc_publishes_eight_data_sets() {
    let mut wire = bytes("712a 03 0f00 01000000 08 0100 0200 0300 0400 0500 0600 0700 0800");
    let set = |writer: u8| {
        let mut set = bytes("09 0100 0700");
        for value in 0..7u8 {
            set.extend([6, writer, value, 0, 0]);
        }
        set
    };
    for _ in 0..8 {
        wire.extend(bytes("2800"));
    }
    (1..=8).for_each(|writer| wire.extend(set(writer)));
    let message = read(&wire, Tolerance::NONE);
    assert_eq!(message.publisher_id, Some(PublisherId::Byte(42)));
    let group = message.group.unwrap();
    assert_eq!((group.writer_group_id, group.version), (Some(15), Some(1)));
    assert_eq!(message.messages.len(), 8);
    let last = &message.messages[7];
    assert_eq!((last.writer_id, last.sequence), (8, Some(1)));
    let Content::Key(Fields::Variant(values)) = &last.content else {
        panic!("{last:?}")
    };
    assert_eq!(values[3], Variant::Int32(8 + (3 << 8)));
    let mut out = Vec::new();
    message.encode(&mut out).unwrap();
    assert_eq!(out, wire);
}

/// asyncua 2.1.0 calls UInt64 type 6 where the specification says 3.
#[test]
fn a_publisher_id_of_type_6_is_taken_when_it_is_allowed_to_be() {
    let wire = bytes("91 06 0102030405060708 01");
    let error = View::parse(&wire, Tolerance::NONE).unwrap_err();
    assert_eq!(
        (error.offset, error.to_string().contains("type 6")),
        (2, true)
    );
    let view = View::parse(&wire, Tolerance::HARMLESS).unwrap();
    let id = PublisherId::UInt64(0x0807_0605_0403_0201);
    assert_eq!(view.header.publisher_id, Some(id));
}

/// open62541 up to 1.5.10: a delta frame with nulls of index 0 for the fields that did not change.
#[test]
fn nulls_of_a_delta_frame_are_left_out_when_they_may_be() {
    let wire = bytes("41 01 0100 81 01 0300 0000 00 0100 06 2a000000 0000 00");
    let of = |tolerance| match &read(&wire, tolerance).messages[0].content {
        Content::Delta(Changes::Variant(changes)) => changes.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(of(Tolerance::HARMLESS), [(1, Variant::Int32(42))]);
    assert_eq!(of(Tolerance::NONE).len(), 3);
}

/// asyncua 2.1.0 counts promoted fields where the specification counts bytes.
#[test]
fn promoted_fields_are_measured_in_bytes_or_counted() {
    let said = bytes("c1 80 02 01 0100 0500 06 07000000 0b 0100");
    let counted = bytes("c1 80 02 01 0100 0100 06 07000000 0b 0100");
    for (wire, promoted_count) in [(said, false), (counted, true)] {
        let tolerance = Tolerance {
            promoted_count,
            ..Tolerance::NONE
        };
        let view = View::parse(&wire, tolerance).unwrap();
        let fields: Vec<_> = view
            .header
            .promoted_fields()
            .map(|it| it.as_i64())
            .collect();
        assert_eq!(fields, [Some(7)]);
        assert_eq!(view.payload().unwrap(), [0x0b, 1, 0]);
    }
}

/// The layouts of Annex A have the sizes of their headers.
#[test]
fn the_layouts_of_annex_a_are_as_long_as_it_says() {
    use pubsub::layout::Layout;
    let content = Content::Key(Fields::Raw(vec![0; 4]));
    let mut out = Vec::new();
    let id = PublisherId::UInt16(1);
    let fixed = Layout::PeriodicFixed.message(id, 1, 1, [(1, content.clone())]);
    let at = fixed.encode(&mut out).unwrap();
    assert_eq!((at.payload, at.sets[0].fields - at.sets[0].start), (15, 5));
    // version, PublisherId, GroupHeader, ExtendedFlags1 | UInt16
    assert_eq!(out[..2], [0xb1, 1]);
    assert_eq!(out[15] & 0x7f, 0b0001_1011);
    let mut out = Vec::new();
    let id = PublisherId::UInt64(1);
    let dynamic = Layout::Dynamic.message(id, 1, 1, [(1, content)]);
    let at = dynamic.encode(&mut out).unwrap();
    assert_eq!(out[..2], [0xd1, 3]);
    let view = View::parse(&out, Tolerance::NONE).unwrap();
    assert_eq!(view.header.kind, Kind::DataSet);
    let set = view
        .messages(Known::default())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        (set.header.frame, set.header.encoding),
        (Frame::Key, Encoding::Raw)
    );
    assert!(set.header.timestamp.is_some() && set.header.minor_version.is_some());
    assert_eq!(at.sets[0].end, out.len());
}
