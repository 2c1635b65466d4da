//! Messages in JSON as packages of other vendors wrote them, before 1.05.04.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use pubsub::json::{JsonField, JsonView};
use pubsub::view::{Encoding, Frame};
use wire::service::Limits;
use wire::types::{ByteString, DateTime, StatusCode, Variant, VariantScalarTypeId as Type};

/// 2021-09-27T18:45:19.555Z in 100 ns since 1601.
const TICKS: i64 = 132_772_419_195_550_000;

/// Written by node-opcua-pubsub-dataset-processor 0.19.2: fields as Variants, as DataValues and as RawData.
const VARIANTS: &str = r#"{"MessageId":"636C26E4-F04A-8C82-F0C5-000000000001","MessageType":"ua-data","Messages":[{"DataSetWriterId":"5","Payload":{"d":{"Type":11,"Body":0.5},"i":{"Type":6,"Body":-7},"u64":{"Type":9,"Body":"4294967298"},"s":{"Type":12,"Body":"é \"x\""},"b":{"Type":1,"Body":true},"t":{"Type":13,"Body":"2021-09-27T18:45:19.555Z"},"f":{"Type":10,"Body":0.25},"bs":{"Type":15,"Body":"AP8H"}},"Timestamp":"2026-11-27T04:05:08.572Z","SequenceNumber":1,"Status":0,"MetaDataVersion":{"MajorVersion":1,"MinorVersion":2}}]}"#;
const VALUES: &str = r#"{"MessageId":"636C26E4-F04A-8C82-F0C5-000000000002","MessageType":"ua-data","Messages":[{"DataSetWriterId":"5","Payload":{"d":{"Value":0.5,"SourceTimestamp":"2021-09-27T18:45:19.555Z"},"i":{"Value":-7,"SourceTimestamp":"2021-09-27T18:45:19.555Z"},"u64":{"Value":"4294967298","SourceTimestamp":"2021-09-27T18:45:19.555Z"},"s":{"Value":"é \"x\"","SourceTimestamp":"2021-09-27T18:45:19.555Z"},"b":{"Value":true,"SourceTimestamp":"2021-09-27T18:45:19.555Z"},"t":{"Value":"2021-09-27T18:45:19.555Z","SourceTimestamp":"2021-09-27T18:45:19.555Z"},"f":{"Value":0.25,"SourceTimestamp":"2021-09-27T18:45:19.555Z"},"bs":{"Value":"AP8H","SourceTimestamp":"2021-09-27T18:45:19.555Z"}},"Timestamp":"2026-11-27T04:05:08.620Z","SequenceNumber":1,"Status":0,"MetaDataVersion":{"MajorVersion":1,"MinorVersion":2}}]}"#;
const RAW: &str = r#"{"MessageId":"636C26E4-F04A-8C82-F0C5-000000000003","MessageType":"ua-data","Messages":[{"DataSetWriterId":"5","Payload":{"d":0.5,"i":-7,"u64":"4294967298","s":"é \"x\"","b":true,"t":"2021-09-27T18:45:19.555Z","f":0.25,"bs":"AP8H"},"Timestamp":"2026-11-27T04:05:08.620Z","SequenceNumber":1,"Status":0,"MetaDataVersion":{"MajorVersion":1,"MinorVersion":2}}]}"#;

fn fields() -> [(&'static str, Type, Variant); 8] {
    [
        ("d", Type::Double, Variant::Double(0.5)),
        ("i", Type::Int32, Variant::Int32(-7)),
        ("u64", Type::UInt64, Variant::UInt64(4_294_967_298)),
        ("s", Type::String, Variant::from("é \"x\"")),
        ("b", Type::Boolean, Variant::Boolean(true)),
        ("t", Type::DateTime, Variant::from(DateTime::from(TICKS))),
        ("f", Type::Float, Variant::Float(0.25)),
        (
            "bs",
            Type::ByteString,
            Variant::ByteString(ByteString::from(vec![0, 255, 7])),
        ),
    ]
}

#[test]
fn node_opcua_is_read_with_variants_whose_types_it_says() {
    let view = JsonView::parse(VARIANTS.as_bytes(), false).unwrap();
    let message = view.to_message(&Limits::default()).unwrap();
    let id = message.message_id.as_deref();
    assert_eq!(id, Some("636C26E4-F04A-8C82-F0C5-000000000001"));
    let [set] = &message.messages[..] else {
        panic!("{message:?}")
    };
    assert_eq!((set.writer_id, set.sequence), (Some(5), Some(1)));
    assert_eq!((set.major_version, set.minor_version), (Some(1), Some(2)));
    assert_eq!(set.status, Some(StatusCode::from(0).bits()));
    let want = fields().map(|(name, _, value)| (name.to_owned(), JsonField::Variant(value)));
    assert_eq!(set.payload.as_deref().unwrap(), want);
}

#[test]
fn node_opcua_is_read_with_values_whose_types_metadata_says() {
    for (text, encoding, stamped) in [
        (VALUES, Encoding::DataValue, true),
        (RAW, Encoding::Raw, false),
    ] {
        let view = JsonView::parse(text.as_bytes(), false).unwrap();
        let set = view.sets().next().unwrap().unwrap();
        assert_eq!(set.frame, Frame::Key);
        let mut all = set.fields();
        for (name, kind, value) in fields() {
            let field = all.next().unwrap();
            assert!(field.name.is(name), "{name}: {text}");
            assert_eq!(field.encoding, encoding, "{name}: {text}");
            let read = field.read_as(kind, &mut Limits::default()).unwrap();
            assert_eq!(read.value, Some(value), "{name}: {text}");
            let at = stamped.then(|| DateTime::from(TICKS));
            assert_eq!(read.source_timestamp, at, "{name}: {text}");
        }
        assert!(all.next().is_none());
    }
}
