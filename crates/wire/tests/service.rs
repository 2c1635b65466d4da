//! Services as bytes: what is decoded is what was encoded, and what is wrong is said.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod sample;

use proptest::prelude::*;
use sample::Random;
use wire::service::shape::{self, Form, INVALID_INDEX_RANGE};
use wire::service::{
    CallError, DecodeCause, DecodeError, Kind, Limits, Request, Response, fault, response_header,
};
use wire::types::*;

const LIMITS: Limits = Limits::for_message_size(1 << 20);

/// Decodes a message of any kind and encodes it again.
fn again(kind: Kind, message: &[u8], limits: &Limits) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let encoded = if Request::KINDS.contains(&kind) {
        Request::decode(message, limits)?.encode(&mut out)
    } else {
        Response::decode(message, limits)?.encode(&mut out)
    };
    encoded.unwrap_or_else(|error| panic!("{error}"));
    Ok(out)
}

fn messages() -> impl Iterator<Item = Kind> {
    Request::KINDS.iter().chain(Response::KINDS).copied()
}

fn status_of(result: Result<Request, DecodeError>) -> StatusCode {
    result.unwrap_err().status()
}

/// A WriteRequest of one value, with these bytes as the Variant.
fn write_of(variant: &[u8]) -> Vec<u8> {
    let mut message = sample::type_id(Kind::WriteRequest);
    message.extend_from_slice(&[0; 10]); // token, timestamp
    message.extend_from_slice(&7_u32.to_le_bytes()); // handle
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&[0xff; 4]);
    message.extend_from_slice(&[0; 7]);
    message.extend_from_slice(&1_i32.to_le_bytes());
    message.extend_from_slice(&[0, 85, 13, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1]);
    message.extend_from_slice(variant);
    message
}

fn written(variant: &[u8]) -> Result<Variant, DecodeError> {
    let Request::Write(request) = Request::decode(&write_of(variant), &LIMITS)? else {
        panic!("no WriteRequest");
    };
    Ok(request.nodes_to_write.unwrap()[0]
        .value
        .value
        .clone()
        .unwrap())
}

#[test]
fn every_message_made_from_the_table_is_decoded_and_encoded_to_the_same_bytes() {
    for kind in messages() {
        for seed in 0..100 {
            let message = sample::message(kind, &mut Random(seed));
            let measure = shape::walk(kind, &message[4..])
                .unwrap_or_else(|(at, problem)| panic!("{}: {problem} at {at}", kind.name()));
            assert_eq!(measure.len + 4, message.len(), "{} {seed}", kind.name());
            let limits = Limits {
                memory: usize::MAX,
                ..LIMITS
            };
            match again(kind, &message, &limits) {
                Ok(out) => assert_eq!(out, message, "{} {seed}", kind.name()),
                // an index range of several dimensions in an operand
                Err(error) => panic!("{} {seed}: {error}", kind.name()),
            }
        }
    }
}

proptest! {
    #[test]
    fn any_message_comes_back_as_it_was(seed: u64, index: usize) {
        let kinds: Vec<Kind> = messages().collect();
        let kind = kinds[index % kinds.len()];
        let message = sample::message(kind, &mut Random(seed));
        let limits = Limits { memory: usize::MAX, ..LIMITS };
        prop_assert_eq!(again(kind, &message, &limits), Ok(message));
    }

    #[test]
    fn any_bytes_give_a_message_or_an_error(index: usize, noise: Vec<u8>) {
        let kinds: Vec<Kind> = messages().collect();
        let mut message = sample::type_id(kinds[index % kinds.len()]);
        message.extend_from_slice(&noise);
        let _ = Request::decode(&message, &LIMITS);
        let _ = Response::decode(&message, &LIMITS);
        let _ = Request::decode(&noise, &LIMITS);
    }
}

#[test]
fn the_ids_of_the_table_are_those_of_the_default_binary_encodings() {
    for &kind in Kind::ALL {
        if matches!(kind.shape().form, Form::Structure(_)) {
            let id = ObjectId::try_from(kind.encoding_id()).unwrap();
            let name = kind.name().replace('_', "");
            assert_eq!(
                format!("{id:?}").replace('_', ""),
                format!("{name}EncodingDefaultBinary")
            );
            assert_eq!(Kind::from_encoding_id(kind.encoding_id()), Some(kind));
        } else {
            assert_eq!(kind.encoding_id(), 0);
        }
    }
}

#[test]
fn the_enumerations_of_the_table_have_the_values_that_can_be_decoded() {
    macro_rules! check {
        ($($name:ident)*) => {{
            let mut checked = 0;
            $(
                for value in -2..=300 {
                    let known = $name::try_from(value).is_ok();
                    assert_eq!(Kind::$name.has_value(value), known, "{} {value}", stringify!($name));
                }
                checked += 1;
            )*
            checked
        }};
    }
    let checked = check! {
        ApplicationType AxisScaleEnumeration BrowseDirection DataChangeTrigger FilterOperator
        HistoryUpdateType IdentityCriteriaType MessageSecurityMode MonitoringMode NodeClass
        PerformUpdateType SecurityTokenRequestType ServerState SortOrderType StructureType
        TimestampsToReturn UserTokenType
    };
    let all = Kind::ALL
        .iter()
        .filter(|kind| matches!(kind.shape().form, Form::Enumeration(..)));
    assert_eq!(all.count(), checked);
}

#[test]
fn every_structure_of_the_table_is_decoded_when_it_is_the_body_of_an_extension_object() {
    for kind in sample::bodies() {
        let body = sample::structure(kind, &mut Random(1));
        let mut variant = vec![22];
        variant.extend_from_slice(&sample::extension_object(kind, &body));
        let Ok(Variant::ExtensionObject(object)) = written(&variant) else {
            panic!("{}", kind.name());
        };
        assert!(
            !object.inner_is::<ByteStringBody>(),
            "{} stayed bytes",
            kind.name()
        );
    }
}

#[test]
fn a_message_cut_anywhere_is_an_error_and_never_a_message() {
    for kind in messages() {
        for seed in 0..5 {
            let message = sample::message(kind, &mut Random(seed));
            for len in 0..message.len() {
                let error = again(kind, &message[..len], &LIMITS).unwrap_err();
                assert!(error.offset <= len);
                assert_eq!(error.status(), StatusCode::BadDecodingError, "{error}");
            }
        }
    }
}

#[test]
fn bytes_after_the_end_of_a_message_are_ignored() {
    let mut message = sample::message(Kind::BrowseRequest, &mut Random(3));
    let before = Request::decode(&message, &LIMITS).unwrap();
    message.extend_from_slice(b"padding");
    assert_eq!(Request::decode(&message, &LIMITS).unwrap(), before);
}

#[test]
fn mutated_messages_never_panic_and_what_is_decoded_can_be_encoded_and_decoded_again() {
    let mut random = Random(2024);
    let mut decoded = 0;
    for round in 0..60 {
        for kind in messages() {
            let mut message = sample::message(kind, &mut Random(round));
            for _ in 0..=random.below(4) {
                let at = 4 + random.below(message.len() - 4);
                match random.below(4) {
                    0 => message[at] = random.next() as u8,
                    1 => message[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                    2 => {
                        message.remove(at);
                    }
                    _ => {
                        let noise = random.next().to_le_bytes();
                        let end = message.len().min(at + 4);
                        message[at..end].copy_from_slice(&noise[..end - at]);
                    }
                }
                if message.len() < 5 {
                    break;
                }
            }
            decoded += usize::from(stable(kind, &message));
        }
    }
    assert!(
        decoded > 1000,
        "only {decoded} of the mutated messages were messages"
    );
}

/// Whether it is a message; panics if its own encoding is not.
fn stable(kind: Kind, message: &[u8]) -> bool {
    let encode = |bytes: &[u8]| -> Option<Vec<u8>> {
        let mut out = Vec::new();
        if Request::KINDS.contains(&kind) {
            Request::decode(bytes, &LIMITS)
                .ok()?
                .encode(&mut out)
                .ok()?;
        } else {
            Response::decode(bytes, &LIMITS)
                .ok()?
                .encode(&mut out)
                .ok()?;
        }
        Some(out)
    };
    let Some(once) = encode(message) else {
        return false;
    };
    // the first time, times of the year 9999 are clipped in two steps
    let twice = encode(&once).unwrap();
    assert_eq!(encode(&twice), Some(twice), "{}", kind.name());
    true
}

fn int32(value: i32) -> [u8; 4] {
    value.to_le_bytes()
}

#[test]
fn hostile_counts_and_lengths_are_refused_before_anything_is_allocated() {
    let counts = [i32::MAX, i32::MIN, -2, 1 << 20, 0x0100_0000];
    for count in counts {
        // an array in a Variant, of each type, the null type and types that are none
        for number in 0..=0x3f {
            for mask in [0x80 | number, 0xc0 | number] {
                let mut variant = vec![mask];
                variant.extend_from_slice(&int32(count));
                let status = written(&variant).unwrap_err().status();
                assert_eq!(status, StatusCode::BadDecodingError, "{mask:#x} {count}");
            }
        }
        // a String, a ByteString, an XmlElement, the body of an ExtensionObject
        for head in [
            &[12][..],
            &[15],
            &[16],
            &[22, 0, 0, 1],
            &[22, 1, 4, 1, 2, 2],
        ] {
            let mut variant = head.to_vec();
            variant.extend_from_slice(&int32(count));
            let status = written(&variant).unwrap_err().status();
            assert_eq!(status, StatusCode::BadDecodingError, "{head:?} {count}");
        }
        // the first array of every message that has one, and of structures within
        for kind in messages() {
            let whole = sample::message(kind, &mut Random(11));
            for at in 4..whole.len().saturating_sub(4) {
                let mut message = whole.clone();
                message[at..at + 4].copy_from_slice(&int32(count));
                let _ = again(kind, &message, &LIMITS);
            }
        }
    }
}

#[test]
fn dimensions_that_overflow_or_do_not_fit_are_refused() {
    let with = |dimensions: &[i32]| {
        let mut variant = vec![0xc3];
        variant.extend_from_slice(&int32(4));
        variant.extend_from_slice(&[1, 2, 3, 4]);
        variant.extend_from_slice(&int32(dimensions.len() as i32));
        for &n in dimensions {
            variant.extend_from_slice(&int32(n));
        }
        written(&variant)
    };
    let array = with(&[2, 2]).unwrap();
    assert!(matches!(array, Variant::Array(array) if array.dimensions == Some(vec![2, 2])));
    for dimensions in [
        &[][..],
        &[3],
        &[0],
        &[-4],
        &[2, -2],
        &[4, 0],
        &[65536, 65536],
        &[i32::MAX, i32::MAX, i32::MAX, 4],
        &[-1, -4],
    ] {
        let error = with(dimensions).unwrap_err();
        assert_eq!(
            error.status(),
            StatusCode::BadDecodingError,
            "{dimensions:?}"
        );
    }
    // dimensions without an array
    assert!(written(&[0x43, 1]).is_err());
}

#[test]
fn an_empty_array_with_dimensions_does_not_shift_what_follows() {
    let mut variant = vec![0xc6];
    for n in [0, 2, 0, 3] {
        variant.extend_from_slice(&int32(n));
    }
    let array = written(&variant).unwrap();
    assert!(matches!(array, Variant::Array(array) if array.values.is_empty()));

    // as some stacks write an empty array of structures: a count of dimensions, and none of them
    for kind in 0xc1..=0xd9_u8 {
        let mut variant = vec![kind];
        variant.extend_from_slice(&[0; 8]);
        let array = written(&variant).unwrap();
        assert!(
            matches!(array, Variant::Array(array) if array.values.is_empty()),
            "{kind:x}"
        );
    }

    // what opcua_types makes of an empty array can be read again
    let mut message = Vec::new();
    let request = Request::decode(&write_of(&[0x86, 0, 0, 0, 0]), &LIMITS).unwrap();
    request.encode(&mut message).unwrap();
    assert_eq!(Request::decode(&message, &LIMITS).unwrap(), request);
}

/// `levels` values of one byte mask within each other, with a null value inside.
fn nest(head: &[u8], levels: usize, inner: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..levels {
        bytes.extend_from_slice(head);
    }
    bytes.extend_from_slice(inner);
    bytes
}

#[test]
fn nested_values_are_decoded_to_a_hundred_levels_and_refused_beyond() {
    // on a stack of the usual size, which ten thousand levels would overflow
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let nests = move || {
        // Variants, DataValues and arrays of one Variant within each other; the
        // outermost Variant counts
        for head in [&[24][..], &[23, 1], &[0x98, 1, 0, 0, 0]] {
            assert!(written(&nest(head, 99, &[0])).is_ok(), "{head:?}");
            for levels in [101, 10_000, 200_000] {
                let status = written(&nest(head, levels, &[0])).unwrap_err().status();
                assert_eq!(
                    status,
                    StatusCode::BadEncodingLimitsExceeded,
                    "{head:?} {levels}"
                );
            }
        }
        // DiagnosticInfos in a response header
        for (levels, good) in [(100, true), (101, false), (10_000, false)] {
            let mut message = sample::type_id(Kind::ServiceFault);
            message.extend_from_slice(&[0; 16]);
            message.extend_from_slice(&nest(&[0x40], levels, &[0]));
            message.extend_from_slice(&int32(-1));
            message.extend_from_slice(&[0; 3]);
            assert_eq!(
                Response::decode(&message, &LIMITS).is_ok(),
                good,
                "{levels}"
            );
        }
        // ExtensionObjects, each with a Variant in it
        for (levels, good) in [(33, true), (60, false), (500, false)] {
            let mut variant = vec![0];
            for _ in 0..levels {
                let object = sample::extension_object(Kind::LiteralOperand, &variant);
                variant = [&[22], &object[..]].concat();
            }
            match written(&variant) {
                Ok(_) => assert!(good, "{levels}"),
                Err(error) => {
                    assert!(!good, "{levels}: {error}");
                    assert_eq!(error.status(), StatusCode::BadEncodingLimitsExceeded);
                }
            }
        }
    };
    thread.spawn(nests).unwrap().join().unwrap();
}

#[test]
fn bodies_of_unknown_types_or_wrong_bodies_of_known_types_stay_the_bytes_they_were() {
    let range = [1.0_f64.to_le_bytes(), 2.0_f64.to_le_bytes()].concat();
    let good = sample::extension_object(Kind::Range, &range);
    let long = sample::extension_object(Kind::Range, &[&range[..], b"!"].concat());
    let short = sample::extension_object(Kind::Range, &range[1..]);
    let not_utf8 = sample::extension_object(Kind::AnonymousIdentityToken, b"\x02\0\0\0\xff\xff");
    let rank = {
        // an Argument that asks for 2^31 - 1 dimensions
        let mut body = [&int32(-1)[..], &[0, 0], &int32(i32::MAX)].concat();
        body.extend_from_slice(&int32(0));
        body.push(0);
        sample::extension_object(Kind::Argument, &body)
    };
    let trigger = sample::extension_object(Kind::DataChangeFilter, &[9; 16]);
    let unknown = vec![1, 4, 1, 2, 1, 3, 0, 0, 0, b'a', b'b', b'c'];
    let by_name = vec![3, 0, 0, 1, 0, 0, 0, b'x', 1, 1, 0, 0, 0, b'a'];
    let xml = vec![1, 0, 116, 3, 2, 4, 0, 0, 0, b'<', b'x', b'/', b'>'];
    for (object, is_bytes) in [
        (good, false),
        (long, true),
        (short, true),
        (not_utf8, true),
        (rank, true),
        (trigger, true),
        (unknown, true),
        (by_name, true),
        (xml, false),
    ] {
        let message = write_of(&[&[22], &object[..]].concat());
        let Variant::ExtensionObject(value) = written(&[&[22], &object[..]].concat()).unwrap()
        else {
            panic!("{object:?}");
        };
        assert_eq!(value.inner_is::<ByteStringBody>(), is_bytes, "{object:?}");
        assert_eq!(
            again(Kind::WriteRequest, &message, &LIMITS),
            Ok(message.clone())
        );
    }
}

#[test]
fn a_true_boolean_may_be_any_byte_but_zero() {
    assert_eq!(written(&[1, 0]).unwrap(), Variant::Boolean(false));
    assert_eq!(written(&[1, 1]).unwrap(), Variant::Boolean(true));
    assert_eq!(written(&[1, 0xff]).unwrap(), Variant::Boolean(true));
    let array = written(&[0x81, 3, 0, 0, 0, 0, 2, 1]).unwrap();
    assert_eq!(array, Variant::from(vec![false, true, true]));
}

#[test]
fn times_out_of_range_are_clipped_and_not_refused() {
    let end = DateTime::endtimes_ticks();
    for (ticks, decoded) in [
        (i64::MAX, end),
        (i64::MIN, 0),
        (-1, 0),
        (end + 10_000_000, i64::MAX),
    ] {
        let value = written(&[&[13][..], &ticks.to_le_bytes()].concat()).unwrap();
        let Variant::DateTime(time) = value else {
            panic!("no DateTime");
        };
        assert_eq!(time.checked_ticks(), decoded);
    }
}

#[test]
fn one_wrong_index_range_spoils_one_operation_and_not_the_request() {
    let ranges = [
        ("1:2", None),
        ("0,3:4", None),
        ("2:1", Some(())),
        ("1,,2", Some(())),
        ("4294967296", Some(())),
        ("a longer text than any index range", Some(())),
        ("0,1,2,3,4,5,6,7,8,9,10", Some(())),
    ];
    let mut request = ReadRequest {
        nodes_to_read: Some(vec![ReadValueId::from(NodeId::new(0, 85)); ranges.len()]),
        ..ReadRequest::default()
    };
    request.request_header.request_handle = 5;
    let mut message = Vec::new();
    Request::from(request).encode(&mut message).unwrap();
    // put the texts where the null strings are
    let nulls = [85, 13, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
    let mut out = Vec::new();
    let mut rest = &message[..];
    for (text, _) in ranges {
        let at = rest.windows(9).position(|bytes| bytes == nulls).unwrap() + 5;
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&int32(text.len() as i32));
        out.extend_from_slice(text.as_bytes());
        rest = &rest[at + 4..];
    }
    out.extend_from_slice(rest);
    let Request::Read(read) = Request::decode(&out, &LIMITS).unwrap() else {
        panic!("no ReadRequest");
    };
    for (node, (text, wrong)) in read.nodes_to_read.unwrap().iter().zip(ranges) {
        match wrong {
            Some(()) => assert_eq!(node.index_range, INVALID_INDEX_RANGE, "{text}"),
            None => assert_eq!(node.index_range, text.parse().unwrap()),
        }
    }
}

#[test]
fn unknown_values_of_enumerations_become_the_invalid_one_or_name_the_status_code() {
    let mut read = Vec::new();
    Request::from(ReadRequest::default())
        .encode(&mut read)
        .unwrap();
    // MaxAge and TimestampsToReturn, then the array
    let at = read.len() - 8;
    read[at] = 77;
    let Request::Read(request) = Request::decode(&read, &LIMITS).unwrap() else {
        panic!("no ReadRequest");
    };
    assert_eq!(request.timestamps_to_return, TimestampsToReturn::Invalid);

    let mut mode = Vec::new();
    Request::from(SetMonitoringModeRequest::default())
        .encode(&mut mode)
        .unwrap();
    let at = mode.len() - 8;
    mode[at] = 77;
    let error = Request::decode(&mode, &LIMITS).unwrap_err();
    assert_eq!(error.status(), StatusCode::BadMonitoringModeInvalid);
    assert_eq!(error.offset, at);
    assert_eq!(
        error.to_string(),
        format!("MonitoringMode has no value 77, at byte {at} of the message")
    );
}

#[test]
fn a_string_that_is_not_utf8_is_named_with_its_place() {
    let message = write_of(&[12, 2, 0, 0, 0, 0xc3, 0x28]);
    let error = Request::decode(&message, &LIMITS).unwrap_err();
    assert_eq!(error.status(), StatusCode::BadDecodingError);
    assert_eq!(error.offset, message.len());
    assert_eq!(error.request_handle, Some(7));
    assert!(error.to_string().contains("UTF-8"), "{error}");
}

#[test]
fn type_ids_may_come_in_every_form_and_must_be_those_of_a_request() {
    let message = sample::message(Kind::ReadRequest, &mut Random(1));
    let structure = &message[4..];
    let uri = b"http://opcfoundation.org/UA/";
    let long = [&[0x82, 0, 0, 0x77, 2, 0, 0][..], &int32(28), uri].concat();
    let far = [&[0xc1, 0, 0x77, 2][..], &int32(28), uri, &[1, 0, 0, 0]].concat();
    let near = [&[0xc1, 0, 0x77, 2][..], &int32(28), uri, &[0, 0, 0, 0]].concat();
    let other = [&[0x81, 0, 0x77, 2][..], &int32(3), b"urn"].concat();
    let unsupported = StatusCode::BadServiceUnsupported;
    for (type_id, status) in [
        (&[1, 0, 0x77, 2][..], None),
        (&[2, 0, 0, 0x77, 2, 0, 0], None),
        (&[0x41, 0, 0x77, 2, 0, 0, 0, 0], None),
        (&long, None),
        (&near, None),
        (&far, Some(unsupported)),
        (&other, Some(unsupported)),
        (&[1, 1, 0x77, 2], Some(unsupported)),
        (&[1, 0, 0x7a, 2], Some(unsupported)),
        (&[0, 85], Some(unsupported)),
        (&[3, 0, 0, 1, 0, 0, 0, b'a'], Some(unsupported)),
        (&[6, 0], Some(StatusCode::BadDecodingError)),
    ] {
        let decoded = Request::decode(&[type_id, structure].concat(), &LIMITS);
        match status {
            None => assert_eq!(decoded.unwrap().name(), "ReadRequest"),
            Some(status) => assert_eq!(status_of(decoded), status, "{type_id:?}"),
        }
    }
    let error = Response::decode(&message, &LIMITS).unwrap_err();
    assert_eq!(error.status(), StatusCode::BadUnknownResponse);
    assert!(matches!(
        error.cause,
        DecodeCause::Service { id: Some(631), .. }
    ));
}

#[test]
fn a_request_of_an_unknown_service_can_be_answered_with_its_handle() {
    let mut message = write_of(&[0]);
    message[2..4].copy_from_slice(&[0xff, 0xff]);
    let error = Request::decode(&message, &LIMITS).unwrap_err();
    assert_eq!(error.request_handle, Some(7));

    let response = fault(error.request_handle.unwrap(), error.status(), 42);
    assert_eq!(response.header().request_handle, 7);
    assert_eq!(
        response.header().service_result,
        StatusCode::BadServiceUnsupported
    );
    assert_eq!(response.header().timestamp.checked_ticks(), 42);
}

#[test]
fn a_response_is_what_was_asked_for_or_says_why_not() {
    let asked = RequestHeader {
        request_handle: 3,
        ..RequestHeader::default()
    };
    let good = Response::from(ReadResponse {
        response_header: response_header(&asked, 0),
        ..ReadResponse::default()
    });
    assert_eq!(good.header().request_handle, 3);
    assert!(ReadResponse::try_from(good.clone()).is_ok());
    let error = WriteResponse::try_from(good.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a WriteResponse, got a ReadResponse"
    );

    let mut refused = fault(&asked, StatusCode::BadSessionIdInvalid, 0);
    refused.header_mut().string_table = Some(vec!["no such session".into()]);
    refused.header_mut().service_diagnostics.localized_text = Some(0);
    let Err(CallError::Fault(fault)) = ReadResponse::try_from(refused) else {
        panic!("a fault is no ReadResponse");
    };
    assert_eq!(fault.status, StatusCode::BadSessionIdInvalid);
    assert_eq!(fault.text(), Some("no such session"));

    // some servers answer with the response itself and a bad result
    let mut bad = good;
    bad.header_mut().service_result = StatusCode::BadTooManyOperations;
    let error = ReadResponse::try_from(bad).unwrap_err();
    assert_eq!(error.status(), StatusCode::BadTooManyOperations);
}

#[test]
fn an_operand_with_an_index_range_of_two_dimensions_is_encoded_with_its_true_length() {
    let operand = SimpleAttributeOperand {
        index_range: "0:1,2".parse().unwrap(),
        ..SimpleAttributeOperand::default()
    };
    let filter = EventFilter {
        select_clauses: Some(vec![operand.clone()]),
        where_clause: ContentFilter {
            elements: Some(vec![ContentFilterElement {
                filter_operator: FilterOperator::IsNull,
                filter_operands: Some(vec![ExtensionObject::from_message(operand)]),
            }]),
        },
    };
    let mut item = MonitoredItemCreateRequest::default();
    item.requested_parameters.filter = ExtensionObject::from_message(filter);
    let request = Request::from(CreateMonitoredItemsRequest {
        items_to_create: Some(vec![item.clone(), item]),
        ..CreateMonitoredItemsRequest::default()
    });
    let mut message = Vec::new();
    request.encode(&mut message).unwrap();
    assert_eq!(Request::decode(&message, &LIMITS).unwrap(), request);
}

#[test]
fn a_message_that_cannot_be_encoded_leaves_the_buffer_as_it_was() {
    // opcua_types wants dimensions for every Argument that is an array
    let argument = Argument {
        value_rank: 1,
        ..Argument::default()
    };
    let request = Request::from(CallRequest {
        methods_to_call: Some(vec![CallMethodRequest {
            input_arguments: Some(vec![Variant::from(ExtensionObject::from_message(argument))]),
            ..CallMethodRequest::default()
        }]),
        ..CallRequest::default()
    });
    let mut out = b"before".to_vec();
    let error = request.encode(&mut out).unwrap_err();
    assert_eq!(error.kind, Kind::CallRequest);
    assert_eq!(out, b"before");
}
