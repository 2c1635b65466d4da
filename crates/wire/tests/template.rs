//! A template writes what a fresh encoding of the same request would be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use wire::template::{PublishTemplate, Template, TemplateError, WriteTemplate, walk};
use wire::types::{
    BinaryEncodable, BrowseRequest, ByteString, CallMethodRequest, CallRequest, DataValue,
    DateTime, MessageInfo, NodeId, PublishRequest, RequestHeader, SubscriptionAcknowledgement,
    Variant,
};

mod messages;

const HANDLE: u32 = 4711;
const TICKS: i64 = messages::TICKS + 12_345_678;

fn written(template: &Template) -> Vec<u8> {
    let mut out = vec![0xee; template.len() + 3];
    assert_eq!(
        template.write(&mut out, HANDLE, TICKS).unwrap(),
        template.len()
    );
    assert!(
        out.ends_with(&[0xee; 3]),
        "nothing is written behind the request"
    );
    out.truncate(template.len());
    let mut appended = vec![1, 2];
    template.append(&mut appended, HANDLE, TICKS);
    assert_eq!(appended[2..], out);
    out
}

/// The header as it is when it is sent.
fn sent(header: &RequestHeader) -> RequestHeader {
    RequestHeader {
        timestamp: DateTime::from(TICKS),
        request_handle: HANDLE,
        ..header.clone()
    }
}

fn assert_same<T: BinaryEncodable + MessageInfo + Clone>(
    request: &T,
    header: impl Fn(&mut T) -> &mut RequestHeader,
) {
    let owned = messages::context();
    let template = Template::new(request, &owned.context()).unwrap();
    let mut fresh = request.clone();
    let header = header(&mut fresh);
    *header = sent(header);
    assert_eq!(written(&template), messages::encode(&fresh));
}

fn call_request() -> CallRequest {
    CallRequest {
        request_header: messages::request_header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: NodeId::new(2, 4001),
            method_id: NodeId::new(2, 4000),
            input_arguments: Some(vec![Variant::from("echo")]),
        }]),
    }
}

#[test]
fn any_request_is_the_same_as_encoded_afresh() {
    assert_same(&messages::read_request(1), |r| &mut r.request_header);
    assert_same(&messages::read_request(100), |r| &mut r.request_header);
    assert_same(&call_request(), |r| &mut r.request_header);
    let values = [Variant::Double(1.5), Variant::from("text")];
    assert_same(&messages::write_request(&values), |r| &mut r.request_header);
    assert_same(&BrowseRequest::default(), |r| &mut r.request_header);
}

proptest! {
    #[test]
    fn a_request_is_the_same_under_any_header(
        token in proptest::collection::vec(any::<u8>(), 0..40),
        numeric in any::<Option<(u16, u32)>>(),
        audit in ".{0,20}",
        timeout in any::<u32>(),
        handle in any::<u32>(),
    ) {
        let token = match numeric {
            Some((namespace, id)) => NodeId::new(namespace, id),
            None => NodeId::new(0, ByteString::from(token)),
        };
        let mut request = messages::read_request(2);
        request.request_header = RequestHeader {
            audit_entry_id: audit.into(),
            timeout_hint: timeout,
            ..RequestHeader::new(&token, &DateTime::from(messages::TICKS), handle)
        };
        assert_same(&request, |r| &mut r.request_header);
    }
}

#[test]
fn a_publish_request_carries_any_number_of_acknowledgements() {
    let owned = messages::context();
    let template = PublishTemplate::new(messages::request_header(), &owned.context()).unwrap();
    let all: Vec<_> = (1..=20)
        .map(|n| SubscriptionAcknowledgement {
            subscription_id: n,
            sequence_number: 1000 + n,
        })
        .collect();
    let mut out = vec![0; 1000];
    for n in [0, 1, 20, 2, 0] {
        let len = template.write(&mut out, HANDLE, TICKS, &all[..n]).unwrap();
        assert_eq!(len, template.len_with(n));
        let fresh = PublishRequest {
            request_header: sent(&messages::request_header()),
            subscription_acknowledgements: (n > 0).then(|| all[..n].to_vec()),
        };
        assert_eq!(out[..len], messages::encode(&fresh));
    }
}

#[test]
fn values_are_set_in_place() {
    let owned = messages::context();
    let context = owned.context();
    let before = [
        Variant::Double(0.0),
        Variant::Boolean(false),
        Variant::from(vec![0u8; 100]),
        Variant::from(vec![0i16; 3]),
    ];
    let after = [
        Variant::Double(-1.25),
        Variant::Boolean(true),
        Variant::from(vec![9u8; 100]),
        Variant::from(vec![1i16, -2, 3]),
    ];
    let mut template = WriteTemplate::new(&messages::write_request(&before), &context).unwrap();
    let shared = template.clone();
    let payloads: [&[u8]; 4] = [
        &(-1.25f64).to_le_bytes(),
        &[1],
        &[9; 100],
        &[1, 0, 0xfe, 0xff, 3, 0],
    ];
    let mut copy = vec![0; shared.template().len()];
    shared.template().write(&mut copy, HANDLE, TICKS).unwrap();
    for (index, payload) in payloads.iter().enumerate() {
        let slot = template.values()[index].unwrap();
        assert_eq!(slot.payload_len(), Some(payload.len()));
        template.set_value(index, payload).unwrap();
        shared.patch_value(&mut copy, index, payload).unwrap();
    }
    let mut fresh = messages::write_request(&after);
    fresh.request_header = sent(&fresh.request_header);
    assert_eq!(written(template.template()), messages::encode(&fresh));
    assert_eq!(copy, messages::encode(&fresh));
}

#[test]
fn values_of_other_lengths_move_what_follows() {
    let owned = messages::context();
    let context = owned.context();
    let before = [
        Variant::Double(0.0),
        Variant::from("short"),
        Variant::UInt32(1),
    ];
    let mut template = WriteTemplate::new(&messages::write_request(&before), &context).unwrap();
    for text in ["a longer text than before", "", "short"] {
        template
            .replace_value(1, &Variant::from(text), &context)
            .unwrap();
        template.set_value(2, &7u32.to_le_bytes()).unwrap();
        template.set_value(0, &2.5f64.to_le_bytes()).unwrap();
        let after = [
            Variant::Double(2.5),
            Variant::from(text),
            Variant::UInt32(7),
        ];
        let mut fresh = messages::write_request(&after);
        fresh.request_header = sent(&fresh.request_header);
        assert_eq!(written(template.template()), messages::encode(&fresh));
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused() {
    let owned = messages::context();
    let context = owned.context();
    let mut request = messages::write_request(&[
        Variant::Double(0.0),
        Variant::from("text"),
        Variant::Empty,
        Variant::Byte(1),
    ]);
    if let Some(nodes) = &mut request.nodes_to_write {
        nodes[3].value = DataValue::null();
    }
    let mut template = WriteTemplate::new(&request, &context).unwrap();
    let body = template.template().body().to_vec();
    for (index, payload) in [
        (0, &[0; 4][..]),
        (1, b"tex2"),
        (2, &[0]),
        (3, &[0]),
        (4, &[0]),
    ] {
        let refused = template.set_value(index, payload);
        assert!(
            matches!(refused, Err(TemplateError::OtherValue { .. })),
            "{index}"
        );
    }
    let absent = template.replace_value(3, &Variant::Byte(1), &context);
    assert!(matches!(
        absent,
        Err(TemplateError::OtherValue { index: 3, .. })
    ));
    assert_eq!(template.template().body(), body, "nothing was changed");
}

#[test]
fn a_request_that_does_not_fit_is_refused_and_nothing_is_written() {
    let owned = messages::context();
    let context = owned.context();
    let template = Template::new(&messages::read_request(1), &context).unwrap();
    let mut out = vec![0; template.len() - 1];
    let refused = template.write(&mut out, HANDLE, TICKS);
    assert!(matches!(refused, Err(TemplateError::NoRoom { len, room }) if len == room + 1));
    assert!(out.iter().all(|b| *b == 0));

    let template = PublishTemplate::new(messages::request_header(), &context).unwrap();
    let one = [SubscriptionAcknowledgement::default()];
    let mut out = vec![0; template.len_with(1) - 1];
    assert!(template.write(&mut out, HANDLE, TICKS, &one).is_err());
    assert!(out.iter().all(|b| *b == 0));
}

#[test]
fn a_template_reads_as_the_request_it_was_made_of() {
    let owned = messages::context();
    let template = Template::new(&messages::read_request(3), &owned.context()).unwrap();
    let bytes = written(&template);
    let request = walk::ReadRequest::parse(&bytes).unwrap();
    assert_eq!(request.head.request_handle, HANDLE);
    assert_eq!(request.head.timestamp, TICKS);
    assert_eq!(request.nodes.count(), 3);
}
