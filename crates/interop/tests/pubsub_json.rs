//! PubSub in JSON with another stack, both ways: what open62541 writes is read here, and what is written here it reads,
//! down to the bytes of each value in UA Binary. Lines of text go between the two: its crate has no MQTT.

#![allow(clippy::unwrap_used)]

use peers::PubSub;
use peers::testing::require;
use pubsub::json::{
    JsonDataSetMessage, JsonField, JsonNetworkMessage, JsonTemplate, JsonView, Style,
};
use pubsub::view::Frame;
use wire::service::Limits;
use wire::template::walk::BuiltInType;
use wire::types::{
    Array, BinaryEncodable, ByteString, ContextOwned, DataValue, DateTime, Guid, LocalizedText,
    NodeId, QualifiedName, StatusCode, UAString, Variant, VariantScalarTypeId as Type,
};

/// 2021-09-27T18:45:19.555Z in 100 ns since 1601.
const TICKS: i64 = 132_772_419_195_550_000;

fn open62541(what: &str) -> Option<PubSub> {
    let stack = require("open62541")?;
    Some(PubSub::start(stack, &[what]).unwrap())
}

/// What it answers to a line.
fn answer(peer: &mut PubSub, line: &str) -> String {
    peer.say(line).unwrap();
    peer.line().unwrap().unwrap()
}

fn hex(value: &DataValue) -> String {
    let bytes = value.encode_to_vec(&ContextOwned::default().context());
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

fn alone(value: Variant) -> DataValue {
    DataValue {
        value: Some(value),
        ..DataValue::default()
    }
}

/// With a time and a status of its own.
fn stamped(value: Variant) -> DataValue {
    DataValue {
        status: Some(StatusCode::from(0x4000_0000)),
        source_timestamp: Some(DateTime::from(TICKS)),
        ..alone(value)
    }
}

/// Values of the types that both write, with what is easily lost.
fn values() -> Vec<Variant> {
    let guid: Guid = "0cf7f27a-56ff-1f85-cfc2-12c886365c1d".parse().unwrap();
    let shorts = [1, -2, i16::MAX].map(Variant::Int16).to_vec();
    let texts = vec![Variant::from("a"), Variant::from("é \"quoted\"")];
    vec![
        Variant::Boolean(true),
        Variant::SByte(-128),
        Variant::Byte(255),
        Variant::Int16(i16::MIN),
        Variant::UInt16(u16::MAX),
        Variant::Int32(i32::MIN),
        Variant::UInt32(u32::MAX),
        Variant::Int64(i64::MIN),
        Variant::UInt64(u64::MAX),
        Variant::Float(0.1),
        Variant::Float(f32::MAX),
        Variant::Float(f32::NEG_INFINITY),
        Variant::Double(f64::MIN_POSITIVE),
        Variant::Double(0.1 + 0.2),
        Variant::Double(f64::INFINITY),
        Variant::from("\"quoted\" \\ \n\u{1} é😀"),
        Variant::from(""),
        Variant::from(DateTime::from(TICKS)),
        Variant::from(guid),
        Variant::ByteString(ByteString::from(vec![0, 255, 7])),
        Variant::from(NodeId::new(3, "a node")),
        Variant::from(NodeId::new(0, 85_u32)),
        Variant::StatusCode(StatusCode::from(0x80ab_0000)),
        Variant::from(QualifiedName::new(0, "plain")),
        Variant::from(LocalizedText::new("de", "Text")),
        Variant::from(Array::new(Type::Int16, shorts).unwrap()),
        Variant::from(Array::new(Type::String, texts).unwrap()),
    ]
}

/// Its message of these fields, read here.
fn written_by(peer: &mut PubSub, how: &str, values: &[DataValue]) -> (String, JsonNetworkMessage) {
    let fields: Vec<String> = values.iter().map(hex).collect();
    let text = answer(peer, &format!("{how} {}", fields.join(" ")));
    let view = JsonView::parse(text.as_bytes(), false);
    let read = view.and_then(|view| view.to_message(&Limits::default()));
    let read = read.unwrap_or_else(|error| unreachable!("{error}: {text}"));
    (text, read)
}

#[test]
fn what_open62541_writes_in_json_is_read_with_all_its_headers_and_values() {
    let Some(mut peer) = open62541("json-encode") else {
        return;
    };
    let all: Vec<DataValue> = values().into_iter().map(alone).collect();
    for cycle in 0..3 {
        let (text, message) = written_by(&mut peer, "variant", &all);
        assert!(message.header, "{text}");
        assert_eq!(message.publisher_id.as_deref(), Some("2234"), "{text}");
        assert_eq!(message.message_id.as_deref(), Some("a message"), "{text}");
        let [set] = &message.messages[..] else {
            unreachable!("one DataSetMessage: {text}")
        };
        assert_eq!(
            (set.writer_id, set.sequence, set.frame, set.timestamp),
            (Some(62541), Some(cycle), Some(Frame::Key), Some(TICKS)),
            "{text}"
        );
        assert_eq!((set.major_version, set.minor_version), (Some(3), Some(4)));
        let payload = set.payload.as_ref().unwrap();
        assert_eq!(payload.len(), all.len(), "{text}");
        for (n, ((name, field), value)) in payload.iter().zip(&all).enumerate() {
            assert_eq!(*name, format!("field{n}"));
            let value = value.value.clone().unwrap();
            assert_eq!(*field, JsonField::Variant(value), "{text}");
        }
    }
    let all: Vec<DataValue> = values().into_iter().map(stamped).collect();
    let (text, message) = written_by(&mut peer, "value", &all);
    let payload = message.messages[0].payload.as_ref().unwrap();
    for ((_, field), value) in payload.iter().zip(&all) {
        assert_eq!(*field, JsonField::DataValue(value.clone()), "{text}");
    }
}

/// What open62541 says of a message: words in the order of the text.
fn read_by(peer: &mut PubSub, message: &JsonNetworkMessage) -> (String, Vec<String>) {
    let mut text = String::new();
    message.encode(Style::Compact, &mut text).unwrap();
    let said = answer(peer, &text);
    (text, said.split(' ').map(str::to_owned).collect())
}

fn message(sets: Vec<JsonDataSetMessage>) -> JsonNetworkMessage {
    JsonNetworkMessage {
        header: true,
        message_id: Some("m".to_owned()),
        publisher_id: Some("7".to_owned()),
        writer_group: Some("WriterGroup1".to_owned()),
        messages: sets,
        ..JsonNetworkMessage::default()
    }
}

fn set(writer: u16, fields: &[JsonField]) -> JsonDataSetMessage {
    let named = fields.iter().enumerate();
    let named = named.map(|(n, field)| (format!("f{n}"), field.clone()));
    JsonDataSetMessage {
        writer_name: Some("Writer".to_owned()),
        sequence: Some(u16::MAX.into()),
        major_version: Some(1),
        minor_version: Some(2),
        timestamp: Some(TICKS),
        ..JsonDataSetMessage::new(writer, named.collect())
    }
}

#[test]
fn what_is_written_in_json_open62541_reads_with_all_its_headers_and_values() {
    let Some(mut peer) = open62541("json-decode") else {
        return;
    };
    let variants: Vec<JsonField> = values().into_iter().map(JsonField::Variant).collect();
    let stamps: Vec<JsonField> = values()
        .into_iter()
        .map(|it| JsonField::DataValue(stamped(it)))
        .collect();
    let both = message(vec![set(3, &variants), set(4, &stamps)]);
    let (text, said) = read_by(&mut peer, &both);
    let mut want = vec!["message".to_owned(), "publisher=UInt64:7".to_owned()];
    for (writer, of) in [(3, alone as fn(Variant) -> DataValue), (4, stamped)] {
        want.extend([
            format!("writer={writer}"),
            "sequence=65535".to_owned(),
            "version=1.2".to_owned(),
            format!("time={TICKS}"),
        ]);
        let fields = values()
            .into_iter()
            .map(|it| format!("field={}", hex(&of(it))));
        want.extend(fields);
    }
    assert_eq!(said, want, "{text}");
}

/// As `uaperf publish --mapping json` writes it, cycle after cycle.
#[test]
fn what_a_publisher_sends_in_json_open62541_reads_in_each_cycle() {
    let Some(mut peer) = open62541("json-decode") else {
        return;
    };
    let kinds = [
        (BuiltInType::Double, Variant::Double(0.0)),
        (BuiltInType::UInt64, Variant::UInt64(0)),
        (BuiltInType::Int16, Variant::Int16(0)),
        (BuiltInType::Boolean, Variant::Boolean(false)),
    ];
    for stamps in [false, true] {
        let field = |it: &(BuiltInType, Variant)| match stamps {
            false => JsonField::Variant(it.1.clone()),
            true => JsonField::DataValue(DataValue {
                source_timestamp: Some(DateTime::from(1)),
                ..alone(it.1.clone())
            }),
        };
        let fields: Vec<JsonField> = kinds.iter().map(field).collect();
        let mut it = set(5, &fields);
        (it.sequence, it.major_version) = (Some(0), None);
        let types = kinds.each_ref().map(|(kind, _)| *kind);
        let message = message(vec![it]);
        let mut template = JsonTemplate::new(&message, Style::Compact, &types, 9).unwrap();
        for cycle in 0..20_u8 {
            let number = f64::from(cycle) + 0.5;
            let values = [
                (number.to_bits(), Variant::Double(number)),
                (u64::MAX - 3, Variant::UInt64(u64::MAX - 3)),
                (0xfffe, Variant::Int16(-2)),
                (u64::from(cycle % 2), Variant::Boolean(cycle % 2 == 1)),
            ];
            let mut want =
                format!("message publisher=UInt64:7 writer=5 sequence={cycle} time={TICKS}");
            for (n, (bits, value)) in values.into_iter().enumerate() {
                template.set(0, n, bits).unwrap();
                let source_timestamp = stamps.then(|| DateTime::from(TICKS));
                let value = DataValue {
                    source_timestamp,
                    ..alone(value)
                };
                want.push_str(&format!(" field={}", hex(&value)));
            }
            let mut text = String::new();
            template.write(TICKS, &mut text);
            assert_eq!(answer(&mut peer, &text), want, "{text}");
        }
    }
}

/// Part 14, 7.2.5.4.1: SequenceNumber is a UInt32, Status a StatusCode; fields may be bare, frames of other kinds.
/// Its decoder takes none of these; docs/interop.md says so.
#[test]
fn what_open62541_does_not_read_of_json_is_what_is_said_of_it() {
    let Some(mut peer) = open62541("json-decode") else {
        return;
    };
    let value = [JsonField::Variant(Variant::Int32(1))];
    let good = set(1, &value);
    let mut refused = |it: JsonDataSetMessage| {
        let (text, said) = read_by(&mut peer, &message(vec![it]));
        assert_eq!(said.first().map(String::as_str), Some("error"), "{text}");
    };
    refused(JsonDataSetMessage {
        sequence: Some(65_536),
        ..good.clone()
    });
    refused(JsonDataSetMessage {
        status: Some(0x8000_0000),
        ..good.clone()
    });
    refused(JsonDataSetMessage {
        writer_id: None,
        ..good.clone()
    });
    refused(JsonDataSetMessage {
        frame: Some(Frame::Delta),
        ..good.clone()
    });
    refused(JsonDataSetMessage {
        payload: None,
        ..good
    });
    refused(set(1, &[JsonField::Raw("1.5".to_owned())]));
    let null = [JsonField::Variant(Variant::String(UAString::null()))];
    let (text, said) = read_by(&mut peer, &message(vec![set(1, &null)]));
    // A String that is null comes as a Variant without a value.
    let field = said.last().map(String::as_str);
    assert!(
        said.first().is_some_and(|it| it == "message"),
        "{text} {said:?}"
    );
    assert!(field.is_some_and(|it| it.starts_with("field=")), "{said:?}");
}
