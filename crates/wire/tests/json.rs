//! Messages of every service as JSON, and back: what they are as bytes, whichever way they went.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sample;

use sample::{Random, settled};
use wire::json::scan::Value;
use wire::json::{self, JsonError, Style};
use wire::service::{Kind, Limits, Request, Response};
use wire::types::{
    Array, ByteString, CallMethodRequest, CallRequest, DataValue, DateTime, DiagnosticInfo,
    ExpandedNodeId, ExtensionObject, Guid, LocalizedText, MessageSecurityMode, NodeId,
    QualifiedName, Range, ReadResponse, ReadValueId, RequestHeader, ResponseHeader, StatusCode,
    UAString, Variant, VariantScalarTypeId as Type, WriteRequest, WriteValue, XmlElement,
};

/// 2021-09-27T18:45:19.555Z in 100 ns since 1601.
const TICKS: i64 = 132_772_419_195_550_000;
const LONGEST: usize = 1 << 20;

fn messages() -> impl Iterator<Item = Kind> {
    Request::KINDS.iter().chain(Response::KINDS).copied()
}

#[test]
fn every_message_is_the_same_after_it_was_json_in_either_style() {
    let mut equal = 0;
    for kind in messages() {
        for number in 0..30 {
            let message = sample::message(kind, &mut Random(number));
            let Some(message) = settled(&message) else {
                continue;
            };
            for style in [Style::Compact, Style::Verbose] {
                let text = json::write(&message, style, LONGEST).unwrap();
                let value = Value::parse_marked(text.as_bytes(), &mut Vec::new()).map(|_| ());
                assert_eq!(value, Ok(()), "{text}");
                let again = json::read(text.as_bytes(), LONGEST).unwrap();
                let written = json::write(&again, style, LONGEST).unwrap();
                assert_eq!(written, text, "{kind:?}");
                assert!(settled(&again).is_some(), "{kind:?}: {text}");
                equal += u32::from(settled(&again).as_ref() == Some(&message));
            }
        }
    }
    // Others have what JSON has one form for: null and empty arrays in Variants, texts of nothing, NaNs.
    assert!(equal > 2_000, "{equal}");
}

fn guid() -> Guid {
    "0cf7f27a-56ff-1f85-cfc2-12c886365c1d".parse().unwrap()
}

/// A Variant of each built-in type beside the text that Part 6, 5.4.2 has for it.
fn values() -> Vec<(Variant, &'static str)> {
    let range = ExtensionObject::from_message(Range {
        low: -1.5,
        high: 0.0,
    });
    let inner = DiagnosticInfo {
        additional_info: Some(UAString::from("why")),
        ..DiagnosticInfo::null()
    };
    let diagnostics = DiagnosticInfo {
        symbolic_id: Some(3),
        inner_status_code: Some(StatusCode::BadNodeIdUnknown),
        inner_diagnostic_info: Some(Box::new(inner)),
        ..DiagnosticInfo::null()
    };
    let stamped = DataValue {
        value: Some(Variant::from(true)),
        status: Some(StatusCode::from(0x4000_0000)),
        source_timestamp: Some(DateTime::from(TICKS)),
        source_picoseconds: Some(7),
        ..DataValue::default()
    };
    let numbers = vec![Variant::Int32(1), Variant::Int32(2)];
    let strings = vec![Variant::from("a"), Variant::String(UAString::null())];
    let variants = vec![
        Variant::Variant(Box::new(Variant::from(1.5))),
        Variant::Variant(Box::new(Variant::Empty)),
    ];
    let far = ExpandedNodeId {
        node_id: NodeId::new(0, "a;b"),
        namespace_uri: UAString::from("urn:a;b%"),
        server_index: 4,
    };
    vec![
        (Variant::Empty, "null"),
        (Variant::Boolean(false), r#"{"UaType":1,"Value":false}"#),
        (Variant::SByte(-128), r#"{"UaType":2,"Value":-128}"#),
        (Variant::Byte(255), r#"{"UaType":3,"Value":255}"#),
        (Variant::Int16(-2), r#"{"UaType":4,"Value":-2}"#),
        (Variant::UInt16(65535), r#"{"UaType":5,"Value":65535}"#),
        (Variant::Int32(0), r#"{"UaType":6,"Value":0}"#),
        (
            Variant::UInt32(u32::MAX),
            r#"{"UaType":7,"Value":4294967295}"#,
        ),
        (
            Variant::Int64(i64::MIN),
            r#"{"UaType":8,"Value":"-9223372036854775808"}"#,
        ),
        (
            Variant::UInt64(u64::MAX),
            r#"{"UaType":9,"Value":"18446744073709551615"}"#,
        ),
        (Variant::Float(0.1), r#"{"UaType":10,"Value":0.1}"#),
        (
            Variant::Float(f32::NEG_INFINITY),
            r#"{"UaType":10,"Value":"-Infinity"}"#,
        ),
        (Variant::Double(-0.0), r#"{"UaType":11,"Value":-0.0}"#),
        (
            Variant::from("\"é\"\n\u{1}"),
            r#"{"UaType":12,"Value":"\"é\"\n\u0001"}"#,
        ),
        (Variant::String(UAString::null()), r#"{"UaType":12}"#),
        (
            Variant::from(DateTime::from(TICKS)),
            r#"{"UaType":13,"Value":"2021-09-27T18:45:19.5550000Z"}"#,
        ),
        (
            Variant::from(guid()),
            r#"{"UaType":14,"Value":"0cf7f27a-56ff-1f85-cfc2-12c886365c1d"}"#,
        ),
        (
            Variant::ByteString(ByteString::from(vec![0, 255])),
            r#"{"UaType":15,"Value":"AP8="}"#,
        ),
        (
            Variant::XmlElement(XmlElement::from("<a/>")),
            r#"{"UaType":16,"Value":"<a/>"}"#,
        ),
        (
            Variant::from(NodeId::new(2, "a b")),
            r#"{"UaType":17,"Value":"ns=2;s=a b"}"#,
        ),
        (
            Variant::from(NodeId::new(0, 85_u32)),
            r#"{"UaType":17,"Value":"i=85"}"#,
        ),
        (
            Variant::from(NodeId::new(300, guid())),
            r#"{"UaType":17,"Value":"ns=300;g=0cf7f27a-56ff-1f85-cfc2-12c886365c1d"}"#,
        ),
        (
            Variant::from(NodeId::new(1, ByteString::from(vec![1]))),
            r#"{"UaType":17,"Value":"ns=1;b=AQ=="}"#,
        ),
        (
            Variant::from(far),
            r#"{"UaType":18,"Value":"svr=4;nsu=urn:a%3Bb%25;s=a;b"}"#,
        ),
        (
            Variant::StatusCode(StatusCode::Good),
            r#"{"UaType":19,"Value":{}}"#,
        ),
        (
            Variant::StatusCode(StatusCode::from(0x80ab_0000)),
            r#"{"UaType":19,"Value":{"Code":2158690304}}"#,
        ),
        (
            Variant::from(QualifiedName::new(3, "a:b")),
            r#"{"UaType":20,"Value":"3:a:b"}"#,
        ),
        (
            Variant::from(QualifiedName::new(0, "7:b")),
            r#"{"UaType":20,"Value":"0:7:b"}"#,
        ),
        (
            Variant::from(LocalizedText::new("de", "Text")),
            r#"{"UaType":21,"Value":{"Locale":"de","Text":"Text"}}"#,
        ),
        (
            Variant::from(range),
            r#"{"UaType":22,"Value":{"UaTypeId":"i=884","Low":-1.5}}"#,
        ),
        (
            Variant::DataValue(Box::new(stamped)),
            r#"{"UaType":23,"Value":{"UaType":1,"Value":true,"Status":{"Code":1073741824},"SourceTimestamp":"2021-09-27T18:45:19.5550000Z","SourcePicoseconds":7}}"#,
        ),
        (
            Variant::DiagnosticInfo(Box::new(diagnostics)),
            r#"{"UaType":25,"Value":{"SymbolicId":3,"InnerStatusCode":{"Code":2150891520},"InnerDiagnosticInfo":{"AdditionalInfo":"why"}}}"#,
        ),
        (
            Variant::from(Array::new_multi(Type::Int32, numbers, vec![2, 1]).unwrap()),
            r#"{"UaType":6,"Value":[1,2],"Dimensions":[2,1]}"#,
        ),
        (
            Variant::from(Array::new(Type::String, strings).unwrap()),
            r#"{"UaType":12,"Value":["a",null]}"#,
        ),
        (
            Variant::from(Array::new(Type::Variant, variants).unwrap()),
            r#"{"UaType":24,"Value":[{"UaType":11,"Value":1.5},null]}"#,
        ),
    ]
}

fn called(arguments: Vec<Variant>) -> Vec<u8> {
    let request = CallRequest {
        request_header: RequestHeader {
            request_handle: 7,
            timestamp: DateTime::null(),
            ..RequestHeader::dummy()
        },
        methods_to_call: Some(vec![CallMethodRequest {
            input_arguments: Some(arguments),
            ..CallMethodRequest::default()
        }]),
    };
    let mut message = Vec::new();
    Request::from(request).encode(&mut message).unwrap();
    message
}

#[test]
fn each_built_in_type_is_what_part_6_has_for_it() {
    let (values, texts): (Vec<_>, Vec<_>) = values().into_iter().unzip();
    let message = called(values);
    let text = json::write(&message, Style::Compact, LONGEST).unwrap();
    let whole = Value::parse(text.as_bytes()).unwrap();
    let call = whole.get("MethodsToCall").unwrap().items().next().unwrap();
    let arguments = call.get("InputArguments").unwrap();
    let written: Vec<_> = arguments.items().map(Value::as_written).collect();
    assert_eq!(written, texts);
    assert_eq!(json::read(text.as_bytes(), LONGEST).unwrap(), message);
}

/// What nobody has told how it is built stays the bytes that it was.
#[test]
fn a_structure_that_is_not_known_goes_as_bytes_both_ways() {
    let object = sample::extension_object(Kind::Range, &[1, 2, 3]);
    let mut unknown = vec![1, 2, 0x39, 0x30, 1, 3, 0, 0, 0];
    unknown.extend_from_slice(&[1, 2, 3]);
    for (bytes, text) in [
        (
            object,
            r#"{"UaTypeId":"i=884","UaEncoding":1,"UaBody":"AQID"}"#,
        ),
        (
            unknown,
            r#"{"UaTypeId":"ns=2;i=12345","UaEncoding":1,"UaBody":"AQID"}"#,
        ),
    ] {
        let mut message = called(vec![Variant::Empty]);
        message.pop();
        message.push(22);
        message.extend_from_slice(&bytes);
        let written = json::write(&message, Style::Compact, LONGEST).unwrap();
        assert!(written.contains(text), "{written}");
        assert_eq!(json::read(written.as_bytes(), LONGEST).unwrap(), message);
    }
}

/// Part 6, 5.4.2.1, 5.4.4 and 5.4.6: nothing is left out, and numbers have names.
#[test]
fn the_verbose_style_leaves_nothing_out() {
    let response = ReadResponse {
        response_header: ResponseHeader {
            request_handle: 7,
            service_result: StatusCode::BadTooManyOperations,
            timestamp: DateTime::null(),
            ..ResponseHeader::null()
        },
        ..ReadResponse::default()
    };
    let mut message = Vec::new();
    Response::from(response).encode(&mut message).unwrap();
    let verbose = json::write(&message, Style::Verbose, LONGEST).unwrap();
    assert_eq!(
        verbose,
        concat!(
            r#"{"UaTypeId":"i=632","ResponseHeader":{"Timestamp":null,"RequestHandle":7,"#,
            r#""ServiceResult":{"Code":2148532224,"Symbol":"BadTooManyOperations"},"#,
            r#""ServiceDiagnostics":null,"StringTable":null,"AdditionalHeader":{}},"#,
            r#""Results":null,"DiagnosticInfos":null}"#
        )
    );
    assert_eq!(json::read(verbose.as_bytes(), LONGEST).unwrap(), message);
    let compact = json::write(&message, Style::Compact, LONGEST).unwrap();
    assert_eq!(
        compact,
        r#"{"UaTypeId":"i=632","ResponseHeader":{"RequestHandle":7,"ServiceResult":{"Code":2148532224}}}"#
    );
    let endpoint = wire::types::GetEndpointsResponse {
        response_header: ResponseHeader {
            timestamp: DateTime::null(),
            ..ResponseHeader::null()
        },
        endpoints: Some(vec![wire::types::EndpointDescription {
            security_mode: MessageSecurityMode::SignAndEncrypt,
            ..Default::default()
        }]),
    };
    let mut message = Vec::new();
    Response::from(endpoint).encode(&mut message).unwrap();
    let verbose = json::write(&message, Style::Verbose, LONGEST).unwrap();
    assert!(
        verbose.contains(r#""SecurityMode":"SignAndEncrypt_3""#),
        "{verbose}"
    );
    assert_eq!(json::read(verbose.as_bytes(), LONGEST).unwrap(), message);
}

fn written(value: Variant) -> Vec<u8> {
    let request = WriteRequest {
        request_header: RequestHeader {
            request_handle: 9,
            timestamp: DateTime::null(),
            ..RequestHeader::dummy()
        },
        nodes_to_write: Some(vec![WriteValue {
            node_id: NodeId::new(2, "a"),
            attribute_id: 13,
            value: DataValue {
                value: Some(value),
                ..DataValue::default()
            },
            ..WriteValue::default()
        }]),
    };
    let mut message = Vec::new();
    Request::from(request).encode(&mut message).unwrap();
    message
}

/// Part 6, 5.4.2.16 and H: members in any order, white space, names that nobody knows, and the forms of 1.04.
#[test]
fn any_order_and_the_older_forms_are_read() {
    let want = written(Variant::Int64(5));
    for text in [
        r#"{"UaTypeId":"i=671","RequestHeader":{"RequestHandle":9},"NodesToWrite":[{"NodeId":"ns=2;s=a","AttributeId":13,"Value":{"UaType":8,"Value":"5"}}]}"#,
        r#" { "NodesToWrite" : [ { "Value":{"Value":5,"Other":[{}],"UaType":8},"More":1,"AttributeId":13 , "NodeId":"ns=2;s=a","IndexRange":null} ],
            "RequestHeader":{"RequestHandle":9,"AdditionalHeader":{}},"UaTypeId":"i=671"} "#,
        r#"{"TypeId":{"Id":673},"Body":{"RequestHeader":{"RequestHandle":9},"NodesToWrite":[{"NodeId":{"IdType":1,"Id":"a","Namespace":2},"AttributeId":13,"Value":{"Value":{"Type":8,"Body":"5"}}}]}}"#,
    ] {
        let read = json::read(text.as_bytes(), LONGEST).unwrap();
        assert_eq!(read, want, "{text}");
    }
}

/// Who reads the bytes that were begun refuses them, and knows whom to tell.
#[test]
fn what_is_no_message_is_refused_where_messages_are_refused() {
    let good = r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":9},"NodesToRead":[{"NodeId":"i=1"},{"NodeId":"i=2"}]}"#;
    let read = json::read(good.as_bytes(), LONGEST).unwrap();
    let read = Request::decode(&read, &Limits::default()).unwrap();
    assert_eq!(read.header().request_handle, 9);
    for (from, to, kind) in [
        (r#""i=2""#, r#""x=2""#, Kind::NodeId),
        (r#""i=2""#, "2", Kind::NodeId),
        (r#"[{"NodeId":"i=1"}"#, r#"["text""#, Kind::ReadValueId),
        (r#""NodeId":"i=2""#, r#""AttributeId":-1"#, Kind::UInt32),
        (
            r#""NodeId":"i=2""#,
            r#""AttributeId":4294967296"#,
            Kind::UInt32,
        ),
        (
            r#""NodeId":"i=2""#,
            r#""DataEncoding":1"#,
            Kind::QualifiedName,
        ),
        (
            r#"[{"NodeId":"i=1"},{"NodeId":"i=2"}]"#,
            "{}",
            Kind::ReadValueId,
        ),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        let unread = json::read(bad.as_bytes(), LONGEST).unwrap_err();
        assert!(
            matches!(&unread.error, JsonError::Wrong { kind: it, .. } if *it == kind),
            "{bad}: {unread}"
        );
        let begun = unread.begun.unwrap();
        let refused = Request::decode(&begun, &Limits::default()).unwrap_err();
        assert_eq!(refused.request_handle, Some(9), "{bad}: {refused}");
        assert_eq!(refused.status(), StatusCode::BadDecodingError);
    }
    // A service that nobody has, and none at all.
    for text in [
        r#"{"UaTypeId":"i=12345","RequestHeader":{"RequestHandle":9}}"#,
        r#"{"RequestHeader":{"RequestHandle":9}}"#,
        r#"{"UaTypeId":"ns=3;i=629","RequestHeader":{"RequestHandle":9}}"#,
    ] {
        let unread = json::read(text.as_bytes(), LONGEST).unwrap_err();
        let begun = unread.begun.unwrap();
        let refused = Request::decode(&begun, &Limits::default()).unwrap_err();
        assert_eq!(refused.request_handle, Some(9), "{text}");
        assert_eq!(refused.status(), StatusCode::BadServiceUnsupported);
    }
    let twice = good.replace(r#""NodeId":"i=2""#, r#""NodeId":"i=2","NodeId":"i=3""#);
    let unread = json::read(twice.as_bytes(), LONGEST).unwrap_err();
    assert!(matches!(unread.error, JsonError::Twice { .. }), "{unread}");
    for text in ["", "[]", "7", "{", r#"{"UaTypeId":"#, "\u{feff}{}"] {
        let unread = json::read(text.as_bytes(), LONGEST).unwrap_err();
        assert!(unread.begun.is_none(), "{text}: {unread}");
    }
}

#[test]
fn neither_way_is_longer_than_it_may_be() {
    let value = Variant::ByteString(ByteString::from(vec![7; 30_000]));
    let message = written(value);
    let short = json::write(&message, Style::Compact, 30_000);
    assert_eq!(short, Err(JsonError::TooLong(30_000)));
    let text = json::write(&message, Style::Compact, 50_000).unwrap();
    let unread = json::read(text.as_bytes(), 20_000).unwrap_err();
    assert!(unread.error.is_too_long());
    // Few characters that would be many bytes.
    let many = vec!["{}"; 20_000].join(",");
    let text = format!(r#"{{"UaTypeId":"i=629","NodesToRead":[{many}]}}"#);
    let unread = json::read(text.as_bytes(), 100_000).unwrap_err();
    assert!(unread.error.is_too_long());
    assert!(unread.begun.unwrap().len() < 100_100);
    let default = ReadValueId::default();
    assert_eq!(default.attribute_id, 0);
}

/// Part 6, 5.1: a hundred levels are read, and no more.
#[test]
fn values_lie_in_each_other_to_a_depth() {
    let nested = |depth: usize| {
        let open = r#"{"UaType":24,"Value":["#.repeat(depth - 1);
        let close = "]}".repeat(depth - 1);
        format!(
            r#"{{"UaTypeId":"i=671","NodesToWrite":[{{"Value":{{"UaType":24,"Value":[{open}{{"UaType":1}}{close}]}}}}]}}"#
        )
    };
    let text = nested(99);
    let message = json::read(text.as_bytes(), LONGEST).unwrap();
    assert!(Request::decode(&message, &Limits::default()).is_ok());
    let again = json::write(&message, Style::Compact, LONGEST).unwrap();
    assert_eq!(json::read(again.as_bytes(), LONGEST).unwrap(), message);
    let unread = json::read(nested(100).as_bytes(), LONGEST).unwrap_err();
    assert_eq!(unread.error, JsonError::Depth);
}

/// What docs/transports.md says of it.
#[test]
fn a_value_with_its_times_takes_five_times_the_bytes_in_json() {
    let sizes = |count: usize| {
        let value = DataValue {
            value: Some(Variant::Double(1234.5678)),
            source_timestamp: Some(DateTime::from(TICKS)),
            server_timestamp: Some(DateTime::from(TICKS)),
            ..DataValue::default()
        };
        let response = ReadResponse {
            response_header: ResponseHeader {
                timestamp: DateTime::from(TICKS),
                request_handle: 12345,
                ..ResponseHeader::null()
            },
            results: Some(vec![value; count]),
            ..ReadResponse::default()
        };
        let mut message = Vec::new();
        Response::from(response).encode(&mut message).unwrap();
        let text = json::write(&message, Style::Compact, LONGEST).unwrap();
        (message.len(), text.len())
    };
    assert_eq!((sizes(1), sizes(100)), ((62, 246), (2636, 13_116)));
}
