//! The JSON mapping: texts of the specification and of other stacks, and what is written is read the same.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use pubsub::json::scan::Value;
use pubsub::json::write_value::write_time;
use pubsub::json::{
    FieldMetaData, JsonDataSetMessage, JsonField, JsonNetworkMessage, JsonTemplate, JsonView,
    MessageType, MetaData, MetaDataMessage, Status, Style,
};
use pubsub::view::{Encoding, Frame};
use wire::service::Limits;
use wire::template::walk::BuiltInType;
use wire::types::{
    Array, ByteString, DataValue, DateTime, ExpandedNodeId, Guid, LocalizedText, NodeId,
    QualifiedName, StatusCode, UAString, Variant, VariantScalarTypeId as Type,
};

/// 2021-09-27T18:45:19.555Z in 100 ns since 1601.
const TICKS: i64 = 132_772_419_195_550_000;

fn read(text: &str) -> JsonNetworkMessage {
    let view = JsonView::parse(text.as_bytes(), true).unwrap();
    view.to_message(&Limits::default()).unwrap()
}

/// The example of Part 14, 7.2.5.4.2.
#[test]
fn a_verbose_message_of_the_specification_is_read() {
    let text = r#"{"PublisherId":"MyPublisher","DataSetWriterId":102,"SequenceNumber":25460,
        "MinorVersion":672341762,"Timestamp":"2021-09-27T18:45:19.555Z",
        "Payload":{"LocationName":"Building A","Coordinate":{"X":1,"Y":0.2}}}"#;
    let view = JsonView::parse(text.as_bytes(), false).unwrap();
    let set = view.sets().next().unwrap().unwrap();
    assert!(set.publisher_id.unwrap().is("MyPublisher"));
    assert_eq!((set.writer_id, set.sequence), (Some(102), Some(25_460)));
    assert_eq!(set.minor_version, Some(672_341_762));
    assert_eq!((set.timestamp, set.frame), (Some(TICKS), Frame::Key));
    let fields: Vec<_> = set.fields().collect();
    assert!(fields.iter().all(|it| it.encoding == Encoding::Raw));
    let mut limits = Limits::default();
    let name = fields.first().unwrap().read_as(Type::String, &mut limits);
    assert_eq!(name.unwrap().value, Some(Variant::from("Building A")));
    let x = fields.get(1).unwrap().value.get("X").unwrap();
    assert_eq!(x.number::<f64>(), Some(1.0));
    // No NetworkMessage around it, and no brackets.
    let message = read(text);
    assert!(!message.header && message.single);
    let mut again = String::new();
    message.encode(Style::Verbose, &mut again).unwrap();
    assert_eq!(read(&again), message);
}

/// As TwinCAT's documentation shows it, in the encoding before 1.05.04.
#[test]
fn a_reversible_message_of_a_controller_is_read() {
    let text = r#"{"MessageId":"{0CF7F27A-56FF-1F85-CFC2-12C886365C1D}","MessageType":"ua-data",
        "Messages":[{"DataSetWriterId":1,"Payload":{"nCounter":{"Type":4,"Body":18},
        "bToogle":{"Type":1,"Body":false}}},{"DataSetWriterId":2,"Payload":{"my":{"Type":4,"Body":42}}}]}"#;
    let message = read(text);
    let ids: Vec<_> = message.messages.iter().map(|it| it.writer_id).collect();
    assert_eq!(ids, [Some(1), Some(2)]);
    let first = message.messages.first().unwrap().payload.as_ref().unwrap();
    assert_eq!(
        first,
        &[
            (
                "nCounter".to_owned(),
                JsonField::Variant(Variant::Int16(18))
            ),
            (
                "bToogle".to_owned(),
                JsonField::Variant(Variant::Boolean(false))
            ),
        ]
    );
    let mut again = String::new();
    message.encode(Style::Reversible, &mut again).unwrap();
    let plain: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    assert_eq!(again, plain);
}

/// open62541 1.5 sends no MessageId but a null, and its Variants have the names of 1.05.04; 1.04 had the
/// DataSetWriterId as a String.
#[test]
fn nulls_and_ids_in_quotes_are_taken() {
    let text = r#"{"MessageId":null,"MessageType":"ua-data","PublisherId":2234,"Messages":[
        {"DataSetWriterId":"62541","SequenceNumber":7,"Status":2150891520,
         "MetaDataVersion":{"MajorVersion":1,"MinorVersion":2},
         "Payload":{"Time":{"UaType":13,"Value":"2021-09-27T18:45:19.555Z"}}}]}"#;
    let view = JsonView::parse(text.as_bytes(), false).unwrap();
    assert_eq!(view.message_id, None);
    assert!(view.publisher_id.unwrap().is("2234"));
    let set = view.sets().next().unwrap().unwrap();
    assert_eq!(
        (set.writer_id, set.status),
        (Some(62_541), Some(0x8034_0000))
    );
    assert_eq!((set.major_version, set.minor_version), (Some(1), Some(2)));
    let field = set.fields().next().unwrap();
    let value = field.read(&mut Limits::default()).unwrap();
    let time = Variant::from(DateTime::from(TICKS));
    assert_eq!(value, JsonField::Variant(time));
}

#[test]
fn frames_are_told_by_their_names_or_by_their_fields() {
    for (text, frame) in [
        (r#"{"DataSetWriterId":1}"#, Frame::KeepAlive),
        (
            r#"{"DataSetWriterId":1,"MessageType":"ua-keepalive"}"#,
            Frame::KeepAlive,
        ),
        (r#"{"DataSetWriterId":1,"Payload":{}}"#, Frame::Key),
        (
            r#"{"MessageType":"ua-deltaframe","Payload":{"a":1}}"#,
            Frame::Delta,
        ),
        (
            r#"[{"MessageType":"ua-event","Payload":{"a":1}}]"#,
            Frame::Event,
        ),
    ] {
        let view = JsonView::parse(text.as_bytes(), false).unwrap();
        assert_eq!(view.sets().next().unwrap().unwrap().frame, frame, "{text}");
    }
}

#[test]
fn other_json_is_no_message_unless_fields_may_stand_alone() {
    let foreign = br#"{"temperature":21.5,"unit":"C"}"#;
    let error = JsonView::parse(foreign, false).unwrap_err();
    assert!(
        error.to_string().contains("neither a NetworkMessage"),
        "{error}"
    );
    let view = JsonView::parse(foreign, true).unwrap();
    let set = view.sets().next().unwrap().unwrap();
    assert_eq!((set.header, set.fields().count()), (false, 2));
    for none in ["3", "null", "\"text\""] {
        assert!(JsonView::parse(none.as_bytes(), true).is_err(), "{none}");
    }
    let wrong = br#"{"DataSetWriterId":70000,"Payload":{}}"#;
    let view = JsonView::parse(wrong, false).unwrap();
    let error = view.sets().next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "DataSetWriterId: 70000, at byte 19 of the message"
    );
}

/// Values of every type that is written, with what is easily lost.
fn values() -> Vec<Variant> {
    let numbers = vec![
        Variant::Int16(1),
        Variant::Int16(-2),
        Variant::Int16(3),
        Variant::Int16(4),
    ];
    let texts = vec![Variant::from("a"), Variant::String(UAString::null())];
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
        Variant::Double(-0.0),
        Variant::Double(f64::INFINITY),
        Variant::from("\"quoted\" \\ \n\u{1} é😀"),
        Variant::String(UAString::null()),
        Variant::from(DateTime::from(TICKS)),
        Variant::from(
            "{0cf7f27a-56ff-1f85-cfc2-12c886365c1d}"
                .parse::<Guid>()
                .unwrap(),
        ),
        Variant::ByteString(ByteString::from(vec![0, 255, 7])),
        Variant::ByteString(ByteString::null()),
        Variant::from(NodeId::new(3, "a node")),
        Variant::from(NodeId::new(0, 85_u32)),
        Variant::from(NodeId::new(1, ByteString::from(vec![1, 2]))),
        Variant::from(NodeId::new(1, UAString::from(""))),
        Variant::from(ExpandedNodeId::from(NodeId::new(2, 7_u32))),
        Variant::from(ExpandedNodeId {
            node_id: NodeId::new(0, 7_u32),
            namespace_uri: UAString::from("urn:50%;x"),
            server_index: 3,
        }),
        Variant::StatusCode(StatusCode::from(0x80ab_0000)),
        Variant::StatusCode(StatusCode::from(0)),
        Variant::from(QualifiedName::new(2, "a name")),
        Variant::from(QualifiedName::new(0, "plain")),
        Variant::from(LocalizedText::new("de", "Text")),
        Variant::from(wire::types::ExtensionObject::from_message(
            wire::types::Argument {
                name: UAString::from("in"),
                array_dimensions: Some(Vec::new()),
                ..Default::default()
            },
        )),
        Variant::from(Array::new(Type::String, texts).unwrap()),
        Variant::from(Array::new(Type::Double, Vec::new()).unwrap()),
        Variant::from(Array::new_multi(Type::Int16, numbers, [2, 2]).unwrap()),
        Variant::Variant(Box::new(Variant::Byte(1))),
    ]
}

#[test]
fn what_is_written_is_read_the_same() {
    let stamped = |value: &Variant| DataValue {
        value: Some(value.clone()),
        status: Some(StatusCode::from(0x4000_0000)),
        source_timestamp: Some(DateTime::from(TICKS)),
        source_picoseconds: Some(12),
        ..DataValue::default()
    };
    for style in [Style::Compact, Style::Reversible] {
        let mut fields = Vec::new();
        for (n, value) in values().iter().enumerate() {
            fields.push((format!("v{n}"), JsonField::Variant(value.clone())));
            fields.push((format!("d{n}"), JsonField::DataValue(stamped(value))));
        }
        let mut set = JsonDataSetMessage::new(3, fields);
        set.frame = Some(Frame::Key);
        set.sequence = Some(u32::MAX);
        set.status = Some(0x8000_0000);
        set.major_version = Some(1);
        set.minor_version = Some(2);
        set.timestamp = Some(TICKS);
        let message = JsonNetworkMessage {
            header: true,
            message_id: Some("m".to_owned()),
            publisher_id: Some("7".to_owned()),
            writer_group: Some("group".to_owned()),
            class_id: None,
            single: false,
            messages: vec![set.clone(), set],
        };
        let mut text = String::new();
        message.encode(style, &mut text).unwrap();
        assert_eq!(read(&text), message, "{text}");
    }
}

#[test]
fn verbose_fields_are_read_by_the_types_that_metadata_says() {
    for (n, value) in values().into_iter().enumerate() {
        let kind = match &value {
            Variant::Array(it) if it.dimensions.is_some() => continue,
            // Of a field that may have any type the Variant is what it says.
            Variant::Variant(_) => continue,
            Variant::Array(it) => it.value_type,
            other => other.scalar_type_id().unwrap(),
        };
        let field = JsonField::Variant(value.clone());
        let message = JsonNetworkMessage {
            messages: vec![JsonDataSetMessage::new(1, vec![("f".to_owned(), field)])],
            ..JsonNetworkMessage::default()
        };
        let mut text = String::new();
        message.encode(Style::Verbose, &mut text).unwrap();
        let view = JsonView::parse(text.as_bytes(), false).unwrap();
        let set = view.sets().next().unwrap().unwrap();
        let field = set.fields().next().unwrap();
        let read = field.read_as(kind, &mut Limits::default()).unwrap();
        assert_eq!(read.value, Some(value), "{n}: {text}");
    }
}

#[test]
fn times_have_the_form_of_iso_8601() {
    for (ticks, text) in [
        (TICKS, "\"2021-09-27T18:45:19.5550000Z\""),
        (1, "\"1601-01-01T00:00:00.0000001Z\""),
        (0, "\"0001-01-01T00:00:00Z\""),
        (i64::MIN, "\"0001-01-01T00:00:00Z\""),
        (i64::MAX, "\"9999-12-31T23:59:59Z\""),
        // The leap day of a century that has one.
        (125_962_560_000_000_000, "\"2000-02-29T00:00:00.0000000Z\""),
    ] {
        let mut out = String::new();
        write_time(&mut out, ticks);
        assert_eq!(out, text);
    }
    // The oracle is another library's calendar.
    let mut ticks = 7_i64;
    while ticks < 2_650_000_000_000_000_000 {
        let mut out = String::new();
        write_time(&mut out, ticks);
        let other = DateTime::parse_from_rfc3339(out.trim_matches('"')).unwrap();
        assert_eq!(other.ticks(), ticks, "{out}");
        ticks += 864_000_000_000 * 61 + 12_345_678_901;
    }
}

/// Few bytes must not ask for much memory or a deep stack.
#[test]
fn what_would_take_too_much_is_refused() {
    let array = format!(
        r#"{{"Payload":{{"a":{{"UaType":3,"Value":[{}0]}}}}}}"#,
        "0,".repeat(10_000)
    );
    let view = JsonView::parse(array.as_bytes(), false).unwrap();
    assert!(
        view.to_message(&Limits::for_message_size(array.len()))
            .is_ok()
    );
    let small = Limits {
        memory: 100_000,
        ..Limits::default()
    };
    let error = view.to_message(&small).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
    let dimensions = r#"{"Payload":{"a":{"UaType":3,"Value":[1],"Dimensions":[4294967295,4294967295,4294967295]}}}"#;
    let view = JsonView::parse(dimensions.as_bytes(), false).unwrap();
    assert!(view.to_message(&Limits::default()).is_err());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(JsonView::parse(deep.as_bytes(), true).is_err());
}

#[test]
fn a_template_writes_what_the_encoder_writes() {
    let kinds = [BuiltInType::Float, BuiltInType::Int64, BuiltInType::Boolean];
    let zeros = [
        Variant::Float(0.0),
        Variant::Int64(0),
        Variant::Boolean(false),
    ];
    let set_values = [
        Variant::Float(1.5),
        Variant::Int64(-3),
        Variant::Boolean(true),
    ];
    let fields = |values: &[Variant], stamped: bool| -> Vec<(String, JsonField)> {
        let field = |it: &Variant| match stamped {
            false => JsonField::Variant(it.clone()),
            true => JsonField::DataValue(DataValue {
                value: Some(it.clone()),
                source_timestamp: Some(DateTime::from(TICKS)),
                ..DataValue::default()
            }),
        };
        let named = values.iter().enumerate();
        named.map(|(n, it)| (format!("S{n}"), field(it))).collect()
    };
    for style in Style::ALL {
        for stamped in [false, true] {
            let message = |values: &[Variant], sequence| {
                let mut set = JsonDataSetMessage::new(1, fields(values, stamped));
                set.sequence = Some(sequence);
                set.timestamp = Some(TICKS);
                JsonNetworkMessage {
                    header: true,
                    publisher_id: Some("7".to_owned()),
                    messages: vec![set],
                    ..JsonNetworkMessage::default()
                }
            };
            let mut template = JsonTemplate::new(&message(&zeros, 5), style, &kinds, 9).unwrap();
            let mut out = String::new();
            template.write(TICKS, &mut out);
            for (n, bits) in [u64::from(1.5_f32.to_bits()), -3_i64 as u64, 1]
                .into_iter()
                .enumerate()
            {
                template.set(0, n, bits).unwrap();
            }
            template.write(TICKS, &mut out);
            let mut expected = String::new();
            message(&set_values, 6)
                .encode(style, &mut expected)
                .unwrap();
            assert_eq!(out, expected);
            assert!(template.set(0, 3, 0).is_err());
        }
    }
}

#[test]
fn messages_of_a_template_have_names_of_their_own() {
    let message = JsonNetworkMessage {
        header: true,
        message_id: Some(String::new()),
        messages: vec![JsonDataSetMessage::new(1, Vec::new())],
        ..JsonNetworkMessage::default()
    };
    let mut template =
        JsonTemplate::new(&message, Style::Compact, &[], 0x0102_0304_0506_0708).unwrap();
    let mut next = || {
        let mut out = String::new();
        template.write(TICKS, &mut out);
        read(&out).message_id.unwrap()
    };
    assert_eq!(next(), "01020304-0506-4007-8008-000000000000");
    assert_eq!(next(), "01020304-0506-4007-8008-000000000001");
}

#[test]
fn metadata_names_and_types_the_fields() {
    let message = MetaDataMessage {
        message_id: "m".to_owned(),
        publisher_id: "7".to_owned(),
        writer_id: Some(3),
        writer_group: Some("group".to_owned()),
        writer_name: Some("writer \"3\"".to_owned()),
        timestamp: Some(TICKS),
        metadata: MetaData {
            name: "set".to_owned(),
            fields: vec![FieldMetaData {
                name: "Speed".to_owned(),
                built_in_type: 10,
                value_rank: -1,
            }],
            major_version: 1,
            minor_version: 2,
        },
    };
    let text = message.encode();
    let view = JsonView::parse(text.as_bytes(), false).unwrap();
    assert_eq!(view.message_type, MessageType::MetaData);
    assert_eq!(view.sets().count(), 0);
    assert_eq!(view.metadata(&Limits::default()).unwrap(), message);
    // Before 1.05.04 a NodeId was an object.
    let old = text.replace("\"i=10\"", "{\"Id\":10}");
    let view = JsonView::parse(old.as_bytes(), false).unwrap();
    assert_eq!(view.metadata(&Limits::default()).unwrap(), message);
    // What is left out has its default.
    let short = text.replace("\"ValueRank\":-1", "\"ValueRank\":null");
    let view = JsonView::parse(short.as_bytes(), false).unwrap();
    assert_eq!(view.metadata(&Limits::default()).unwrap(), message);
}

#[test]
fn metadata_with_something_else_for_a_number_or_a_time_is_refused() {
    let text = MetaDataMessage {
        timestamp: Some(TICKS),
        metadata: MetaData {
            fields: vec![FieldMetaData {
                name: "Speed".to_owned(),
                built_in_type: 10,
                value_rank: -1,
            }],
            major_version: 1,
            ..MetaData::default()
        },
        ..MetaDataMessage::default()
    };
    let text = text.encode();
    let time = text.split("\"Timestamp\":").nth(1).unwrap();
    let time = time.split(',').next().unwrap();
    for (from, to) in [
        ("\"MajorVersion\":1", "\"MajorVersion\":\"one\""),
        ("\"MajorVersion\":1", "\"MajorVersion\":-1"),
        ("\"BuiltInType\":10", "\"BuiltInType\":\"Float\""),
        ("\"BuiltInType\":10", "\"BuiltInType\":1000"),
        ("\"ValueRank\":-1", "\"ValueRank\":true"),
        (time, "\"yesterday\""),
    ] {
        assert!(text.contains(from), "{from}");
        let wrong = text.replace(from, to);
        let view = JsonView::parse(wrong.as_bytes(), false).unwrap();
        assert!(view.metadata(&Limits::default()).is_err(), "{to}");
    }
}

#[test]
fn a_status_is_read_as_number_and_as_name() {
    let text = Status::OPERATIONAL.message("m", "7");
    assert!(Value::parse(text.as_bytes()).is_ok());
    let view = JsonView::parse(text.as_bytes(), false).unwrap();
    assert_eq!(
        (view.message_type, view.status()),
        (MessageType::Status, Some(Status::OPERATIONAL))
    );
    let named = text.replace("\"Status\":2", "\"Status\":\"Error_3\"");
    let view = JsonView::parse(named.as_bytes(), false).unwrap();
    assert_eq!(view.status(), Some(Status::ERROR));
}
