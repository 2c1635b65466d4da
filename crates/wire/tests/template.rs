//! A template writes what a fresh encoding of the same request would be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use wire::template::{PublishTemplate, Template, TemplateError, walk};
use wire::types::{
    BinaryEncodable, BrowseRequest, ByteString, CallMethodRequest, CallRequest, DateTime,
    MessageInfo, NodeId, PublishRequest, RequestHeader, SubscriptionAcknowledgement, Variant,
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
