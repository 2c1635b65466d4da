//! What is written is read again as what it was, whatever it is.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use pubsub::header::Nonce;
use pubsub::view::Known;
use pubsub::{
    Changes, Content, DataSetMessage, Fields, GroupHeader, NetworkMessage, PublisherId,
    SecurityHeader, Tolerance, View,
};
use wire::service::{Limits, decode_data_value, decode_variant, encode_data_value, encode_variant};
use wire::types::{DataValue, Variant};

use crate::any;

/// As `opcua_types` reads it: empty texts and lists are nulls to it.
fn variant() -> impl Strategy<Value = Variant> {
    any::variant().prop_map(|value| {
        let mut wire = Vec::new();
        encode_variant(&value, &mut wire).unwrap();
        decode_variant(&wire, &Limits::default()).unwrap()
    })
}

fn data_value() -> impl Strategy<Value = DataValue> {
    any::data_value().prop_map(|value| {
        let mut wire = Vec::new();
        encode_data_value(&value, &mut wire).unwrap();
        decode_data_value(&wire, &Limits::default()).unwrap()
    })
}

fn publisher_id() -> impl Strategy<Value = PublisherId<'static>> {
    prop_oneof![
        any::<u8>().prop_map(PublisherId::Byte),
        any::<u16>().prop_map(PublisherId::UInt16),
        any::<u32>().prop_map(PublisherId::UInt32),
        any::<u64>().prop_map(PublisherId::UInt64),
        "[ -~ß€]{0,12}".prop_map(|it| PublisherId::String(it.into())),
    ]
}

/// A value or none.
fn maybe<T: Arbitrary + 'static>() -> BoxedStrategy<Option<T>> {
    option::of(any::<T>()).boxed()
}

fn group() -> impl Strategy<Value = GroupHeader> {
    let of = (
        maybe::<u16>(),
        maybe::<u32>(),
        maybe::<u16>(),
        maybe::<u16>(),
    );
    of.prop_map(|(writer_group_id, version, number, sequence)| GroupHeader {
        writer_group_id,
        version,
        number,
        sequence,
    })
}

/// As it stands in a message that nobody has secured: neither signed nor encrypted.
fn security() -> impl Strategy<Value = SecurityHeader> {
    (
        any::<bool>(),
        any::<u32>(),
        vec(any::<u8>(), 0..=32),
        option::of(0u16..40),
    )
        .prop_map(
            |(force_key_reset, token_id, nonce, footer_len)| SecurityHeader {
                signed: false,
                encrypted: false,
                force_key_reset,
                token_id,
                nonce: Nonce::new(&nonce),
                footer_len,
            },
        )
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        vec(variant(), 0..5).prop_map(|it| Content::Key(Fields::Variant(it))),
        vec(data_value(), 0..5).prop_map(|it| Content::Key(Fields::DataValue(it))),
        vec(any::<u8>(), 0..60).prop_map(|it| Content::Key(Fields::Raw(it))),
        vec((any::<u16>(), variant()), 0..5).prop_map(|it| Content::Delta(Changes::Variant(it))),
        vec((any::<u16>(), data_value()), 0..5)
            .prop_map(|it| Content::Delta(Changes::DataValue(it))),
        vec(variant(), 0..5).prop_map(Content::Event),
        Just(Content::KeepAlive),
    ]
}

fn set() -> impl Strategy<Value = DataSetMessage> {
    let times = (maybe::<u16>(), maybe::<i64>(), maybe::<u16>());
    let versions = (maybe::<u16>(), maybe::<u32>(), maybe::<u32>());
    let whole = (any::<u16>(), times, versions, content()).prop_map(
        |(writer_id, (sequence, timestamp, picoseconds), (status, major, minor), content)| {
            DataSetMessage {
                writer_id,
                sequence,
                timestamp,
                picoseconds,
                status,
                major_version: major,
                minor_version: minor,
                content,
            }
        },
    );
    let invalid =
        any::<u16>().prop_map(|writer_id| DataSetMessage::new(writer_id, Content::Invalid));
    prop_oneof![9 => whole, 1 => invalid]
}

fn message(sets: std::ops::Range<usize>) -> impl Strategy<Value = NetworkMessage> {
    let ids = (
        option::of(publisher_id()),
        maybe::<[u8; 16]>(),
        option::of(group()),
    );
    let rest = (maybe::<i64>(), maybe::<u16>(), option::of(security()));
    let promoted = option::of(vec(variant(), 0..3));
    (ids, rest, promoted, vec(set(), sets)).prop_map(
        |(
            (publisher_id, class_id, group),
            (timestamp, picoseconds, security),
            promoted,
            messages,
        )| {
            NetworkMessage {
                publisher_id,
                class_id,
                group,
                payload_header: true,
                timestamp,
                picoseconds,
                promoted: promoted.filter(|_| messages.len() == 1),
                security,
                messages,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_message_is_read_as_it_was_written(message in message(0..5)) {
        let mut wire = vec![0xee; 3];
        let at = message.encode(&mut wire).unwrap();
        let wire = &wire[3..];
        let view = View::parse(wire, Tolerance::NONE).unwrap();
        prop_assert_eq!(view.payload_at(), at.payload);
        let read = view.to_message(Known::default(), &Limits::default()).unwrap();
        prop_assert_eq!(&read, &message);
        let mut again = Vec::new();
        prop_assert_eq!(read.encode(&mut again).unwrap(), at);
        prop_assert_eq!(again, wire);
    }

    /// Without a payload header a reader has to know the sizes.
    #[test]
    fn messages_without_names_are_read_by_their_sizes(mut message in message(1..5)) {
        message.payload_header = false;
        for set in &mut message.messages {
            set.writer_id = 0;
        }
        let mut wire = Vec::new();
        let at = message.encode(&mut wire).unwrap();
        let sizes: Vec<u16> = at.sets.iter().map(|it| (it.end - it.start) as u16).collect();
        let view = View::parse(&wire, Tolerance::NONE).unwrap();
        let sets = view.messages(Known { sizes: &sizes }).unwrap().take(sizes.len());
        let limits = Limits::default();
        let read = view.to_message(Known { sizes: &sizes }, &limits);
        // A message that ends with zeros cannot be told from what it is filled up with.
        let zeros = at.sets.iter().any(|it| wire[it.start..].iter().all(|byte| *byte == 0));
        if !zeros {
            prop_assert_eq!(read.unwrap(), message);
        }
        prop_assert!(sets.count() <= sizes.len());
    }

    #[test]
    fn a_message_that_was_cut_is_refused_or_shorter(message in message(1..3), cut in any::<prop::sample::Index>()) {
        let mut wire = Vec::new();
        message.encode(&mut wire).unwrap();
        wire.truncate(cut.index(wire.len()));
        if let Ok(view) = View::parse(&wire, Tolerance::NONE) {
            let read = view.to_message(Known::default(), &Limits::default());
            prop_assert!(read.map_or(true, |it| it != message));
        }
    }
}
