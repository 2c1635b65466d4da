//! Messages in parts.

use pubsub::chunk::{Reassembly, ReassemblyLimits};
use pubsub::view::{Known, SetView};
use pubsub::{
    Content, DataSetMessage, Fields, GroupHeader, NetworkMessage, PublisherId, Tolerance, View,
};

fn message(len: usize, publisher_id: Option<PublisherId<'static>>) -> NetworkMessage {
    NetworkMessage {
        publisher_id,
        group: Some(GroupHeader {
            writer_group_id: Some(7),
            ..GroupHeader::default()
        }),
        payload_header: true,
        timestamp: Some(5),
        messages: vec![DataSetMessage {
            sequence: Some(3),
            ..DataSetMessage::new(
                77,
                Content::Key(Fields::Raw((0..len).map(|n| n as u8).collect())),
            )
        }],
        ..NetworkMessage::default()
    }
}

fn take(reassembly: &mut Reassembly<u16>, datagram: &[u8]) -> Option<Vec<u8>> {
    let view = View::parse(datagram, Tolerance::NONE).unwrap();
    assert!(view.header.chunk);
    assert_eq!(view.header.timestamp, Some(5));
    assert_eq!(view.messages(Known::default()).unwrap().count(), 0);
    let writer = view.header.writers.unwrap().get(0).unwrap();
    reassembly.take(writer, view.chunk().unwrap())
}

#[test]
fn parts_in_any_order_become_the_message() {
    let ids = [
        None,
        Some(PublisherId::Byte(4)),
        Some(PublisherId::String("a long name".into())),
    ];
    for id in ids {
        let message = message(5000, id);
        let parts = message.encode_chunks(1472, 9).unwrap();
        assert_eq!(parts.len(), 4);
        assert!(parts[..3].iter().all(|it| it.len() == 1472));
        for order in [[0, 1, 2, 3], [3, 1, 0, 2]] {
            let mut reassembly = Reassembly::new(ReassemblyLimits::default());
            let mut whole = None;
            for (n, part) in order.into_iter().enumerate() {
                assert_eq!(whole, None, "part {n}");
                // Once more changes nothing.
                whole = take(&mut reassembly, &parts[part]);
                if n < 3 {
                    assert_eq!(take(&mut reassembly, &parts[part]), None);
                }
            }
            let whole = whole.unwrap();
            let set = SetView::read(&whole, 0, Some(77), Tolerance::NONE).unwrap();
            assert_eq!(set.header.sequence, Some(3));
            assert_eq!(set.body().len(), 5000);
            assert_eq!(set.body()[4999], 4999u32 as u8);
        }
    }
}

#[test]
fn messages_that_never_become_whole_are_given_up() {
    let limits = ReassemblyLimits {
        messages: 3,
        bytes: 4000,
    };
    let mut reassembly = Reassembly::new(limits);
    for sequence in 0..10 {
        let parts = message(5000, None).encode_chunks(1472, sequence).unwrap();
        assert_eq!(take(&mut reassembly, &parts[0]), None);
    }
    // Two of 1,400 bytes have room in 4,000.
    assert_eq!(reassembly.given_up(), 8);
    let last = message(5000, None).encode_chunks(1472, 9).unwrap();
    let limits = ReassemblyLimits::default();
    let mut roomy = Reassembly::new(limits);
    for part in &last[..3] {
        assert_eq!(take(&mut roomy, part), None);
    }
    assert!(take(&mut roomy, &last[3]).is_some());
    assert_eq!(roomy.given_up(), 0);
}

#[test]
fn a_part_beyond_the_end_is_refused() {
    let mut part = message(5000, None)
        .encode_chunks(1472, 1)
        .unwrap()
        .remove(3);
    let view = View::parse(&part, Tolerance::NONE).unwrap();
    let at = view.payload_at();
    part[at + 6..at + 10].copy_from_slice(&100u32.to_le_bytes());
    let view = View::parse(&part, Tolerance::NONE).unwrap();
    let error = view.chunk().unwrap_err();
    assert_eq!(error.offset, at);
    assert!(error.to_string().contains("of a message of 100"), "{error}");
}

#[test]
fn headers_need_room_and_several_data_sets_are_not_cut() {
    assert!(message(50, None).encode_chunks(20, 1).is_err());
    let mut two = message(50, None);
    two.messages.push(two.messages[0].clone());
    assert!(two.encode_chunks(1472, 1).is_err());
}
