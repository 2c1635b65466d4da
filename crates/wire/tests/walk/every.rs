//! Every message of the standard in all that knows messages: the generated types, the table of shapes, the templates
//! and the walkers. Each is held to the others, so that one which forgets a message or reads it otherwise is named.

use std::collections::BTreeSet;

use wire::service::shape::{self, Field, Form};
use wire::service::{Kind, Limits, Request, Response};
use wire::template::walk::{self, RequestHead, ResponseHead, WalkError};
use wire::template::{Template, TemplateError};
use wire::types::{DateTime, ObjectId, StatusCode};

use crate::messages::{self, TICKS};
use crate::sample::{self, Random};

/// Random messages of each kind.
const SEEDS: u64 = 60;

const LIMITS: Limits = Limits {
    memory: usize::MAX,
    ..Limits::for_message_size(1 << 20)
};

/// What a walker counts in a message, told how much there should be.
type Walk = fn(&[u8], usize) -> Result<usize, WalkError>;

/// The walkers, each with the message that it is for.
const WALKERS: &[(Kind, Walk)] = &[
    (Kind::ReadRequest, |body, _| {
        count(walk::ReadRequest::parse(body)?.nodes)
    }),
    (Kind::WriteRequest, |body, _| {
        count(walk::WriteRequest::parse(body)?.nodes)
    }),
    (Kind::PublishRequest, |body, _| {
        Ok(walk::PublishRequest::parse(body)?.acknowledgements.count())
    }),
    (Kind::ReadResponse, |body, n| {
        let read = count(walk::read_values(body)?)?;
        let checked = walk::check_read(body, n)?.values;
        assert_eq!(read, checked);
        Ok(read)
    }),
    (Kind::WriteResponse, |body, n| {
        let read = walk::write_results(body)?.count();
        let checked = walk::check_write(body, n)?.results;
        assert_eq!(read, checked);
        Ok(read)
    }),
    (Kind::CallResponse, |body, n| {
        let read = count(walk::call_results(body)?)?;
        let checked = walk::check_call(body, n)?.results;
        assert_eq!(read, checked);
        Ok(read)
    }),
    (Kind::HistoryReadResponse, |body, n| {
        Ok(walk::check_history(body, n, |_, _| ())?.results)
    }),
    (Kind::CreateMonitoredItemsResponse, |body, _| {
        count(walk::created_items(body)?)
    }),
    (Kind::PublishResponse, |body, _| {
        count(walk::PublishResponse::parse(body)?.notifications())
    }),
    (Kind::RepublishResponse, |body, _| {
        count(walk::RepublishResponse::parse(body)?.notifications())
    }),
];

fn count<T>(walked: impl Iterator<Item = Result<T, WalkError>>) -> Result<usize, WalkError> {
    let mut found = 0;
    for one in walked {
        one?;
        found += 1;
    }
    Ok(found)
}

fn len<T>(array: Option<&Vec<T>>) -> usize {
    array.map_or(0, Vec::len)
}

/// What a walker counts, as the generated types have it.
fn in_request(request: &Request) -> usize {
    match request {
        Request::Read(it) => len(it.nodes_to_read.as_ref()),
        Request::Write(it) => len(it.nodes_to_write.as_ref()),
        Request::Publish(it) => len(it.subscription_acknowledgements.as_ref()),
        other => panic!("nothing walks a {}", other.name()),
    }
}

fn in_response(response: &Response) -> usize {
    match response {
        Response::Read(it) => len(it.results.as_ref()),
        Response::Write(it) => len(it.results.as_ref()),
        Response::Call(it) => len(it.results.as_ref()),
        Response::HistoryRead(it) => len(it.results.as_ref()),
        Response::CreateMonitoredItems(it) => len(it.results.as_ref()),
        Response::Publish(it) => len(it.notification_message.notification_data.as_ref()),
        Response::Republish(it) => len(it.notification_message.notification_data.as_ref()),
        other => panic!("nothing walks a {}", other.name()),
    }
}

/// Where a header of this kind ends that begins behind the type of a message.
fn end_of(header: Kind, message: &[u8]) -> usize {
    4 + shape::walk(header, &message[4..]).unwrap().len
}

/// The names of what the standard calls so and what begins with this header, as the generated ids have them.
fn of_the_standard(ending: &str, header: Kind) -> BTreeSet<&'static str> {
    let kinds = (1..=u32::from(u16::MAX)).filter_map(|id| {
        let name = format!("{:?}", ObjectId::try_from(id).ok()?);
        let name = name.strip_suffix("_Encoding_DefaultBinary")?;
        let kind =
            || Kind::from_encoding_id(id).unwrap_or_else(|| panic!("no {name} in the table"));
        name.ends_with(ending).then(kind)
    });
    // What stands in the array of a request is called a request as well, but has no header.
    let has_header = |kind: &Kind| matches!(kind.shape().form, Form::Structure([Field::One(first), ..]) if *first == header);
    kinds.filter(has_header).map(Kind::name).collect()
}

fn names(kinds: &[Kind]) -> BTreeSet<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

#[test]
fn the_services_have_every_message_of_the_standard() {
    let requests = of_the_standard("Request", Kind::RequestHeader);
    assert_eq!(names(Request::KINDS), requests);
    let mut responses = of_the_standard("Response", Kind::ResponseHeader);
    responses.insert(Kind::ServiceFault.name());
    assert_eq!(names(Response::KINDS), responses);
    assert_eq!((requests.len(), responses.len()), (39, 40));
}

#[test]
fn every_request_is_the_same_to_types_table_templates_and_walkers() {
    macro_rules! template {
        ($request:expr, $context:expr, $($service:ident)*) => {
            match $request {
                $(Request::$service(request) => Template::new(request, $context),)*
            }
        };
    }
    const HANDLE: u32 = 0x1234_5678;
    let owned = messages::context();
    let context = owned.context();
    for &kind in Request::KINDS {
        let (mut made, mut walked) = (0, 0);
        for seed in 0..SEEDS {
            let body = sample::message(kind, &mut Random(seed));
            let mut request = Request::decode(&body, &LIMITS).unwrap();
            let measure = shape::walk(kind, &body[4..]).unwrap();
            assert_eq!(4 + measure.len, body.len(), "{} {seed}", kind.name());

            let head = RequestHead::parse(&body).unwrap();
            let header = request.header();
            assert_eq!(head.type_id, kind.encoding_id());
            assert_eq!(head.timestamp, header.timestamp.ticks());
            assert_eq!(head.request_handle, header.request_handle);
            assert_eq!(head.return_diagnostics, header.return_diagnostics.bits());
            assert_eq!(head.timeout_hint, header.timeout_hint);
            assert_eq!(head.end, end_of(Kind::RequestHeader, &body));

            for (of, walk) in WALKERS {
                if !Request::KINDS.contains(of) {
                    continue;
                }
                if *of == kind {
                    walked += u32::from(is_walked(kind, walk, &body, in_request(&request)));
                } else {
                    let (expected, found) = (of.encoding_id(), kind.encoding_id());
                    assert_eq!(
                        walk(&body, 0),
                        Err(WalkError::OtherType { expected, found })
                    );
                }
            }

            let template = template! {
                &request, &context,
                FindServers FindServersOnNetwork GetEndpoints RegisterServer RegisterServer2 OpenSecureChannel
                CloseSecureChannel CreateSession ActivateSession CloseSession Cancel AddNodes AddReferences DeleteNodes
                DeleteReferences Browse BrowseNext TranslateBrowsePathsToNodeIds RegisterNodes UnregisterNodes QueryFirst
                QueryNext Read HistoryRead Write HistoryUpdate Call CreateMonitoredItems ModifyMonitoredItems
                SetMonitoringMode SetTriggering DeleteMonitoredItems CreateSubscription ModifySubscription
                SetPublishingMode Publish Republish TransferSubscriptions DeleteSubscriptions
            };
            let template = match template {
                Ok(template) => template,
                // Much nesting in few bytes: a template is read with the limits of its length.
                Err(TemplateError::Decode(error)) => {
                    assert_eq!(error.status(), StatusCode::BadEncodingLimitsExceeded);
                    continue;
                }
                Err(error) => panic!("{} {seed}: {error}", kind.name()),
            };
            made += 1;
            let mut patched = Vec::new();
            template.append(&mut patched, HANDLE, TICKS);
            request.header_mut().request_handle = HANDLE;
            request.header_mut().timestamp = DateTime::from(TICKS);
            let mut encoded = Vec::new();
            request.encode(&mut encoded).unwrap();
            assert!(patched == encoded, "{} {seed}", kind.name());
        }
        assert!(made > 0, "no template of a {}", kind.name());
        let has_walker = WALKERS.iter().any(|(of, _)| *of == kind);
        assert_eq!(walked > 0, has_walker, "{}", kind.name());
    }
}

#[test]
fn every_response_is_the_same_to_types_table_and_walkers() {
    for &kind in Response::KINDS {
        let mut walked = 0;
        for seed in 0..SEEDS {
            let body = sample::message(kind, &mut Random(seed));
            let response = Response::decode(&body, &LIMITS).unwrap();
            let measure = shape::walk(kind, &body[4..]).unwrap();
            assert_eq!(4 + measure.len, body.len(), "{} {seed}", kind.name());

            let head = ResponseHead::parse(&body).unwrap();
            let header = response.header();
            assert_eq!(head.type_id, kind.encoding_id());
            assert_eq!(head.timestamp, header.timestamp.ticks());
            assert_eq!(head.request_handle, header.request_handle);
            assert_eq!(head.service_result, header.service_result);
            assert_eq!(head.end, end_of(Kind::ResponseHeader, &body));

            for (of, walk) in WALKERS {
                if !Response::KINDS.contains(of) {
                    continue;
                }
                let failed = head.service_result.bits() >> 31 != 0;
                let (expected, found) = (of.encoding_id(), kind.encoding_id());
                let refused = match kind {
                    Kind::ServiceFault => Some(WalkError::Fault(head.service_result)),
                    kind if kind != *of => Some(WalkError::OtherType { expected, found }),
                    _ if failed => Some(WalkError::Fault(head.service_result)),
                    _ => None,
                };
                match refused {
                    Some(error) => assert_eq!(walk(&body, 0), Err(error), "{}", kind.name()),
                    None => {
                        let is_walked = is_walked(kind, walk, &body, in_response(&response));
                        walked += u32::from(is_walked);
                    }
                }
            }
        }
        let has_walker = WALKERS.iter().any(|(of, _)| *of == kind);
        assert_eq!(walked > 0, has_walker, "{}", kind.name());
    }
}

/// Whether a walker follows this message of its kind, which it may leave to the full decoder, but not see otherwise.
fn is_walked(kind: Kind, walk: &Walk, body: &[u8], expected: usize) -> bool {
    match walk(body, expected) {
        Ok(found) => {
            assert_eq!(found, expected, "{}", kind.name());
            true
        }
        Err(WalkError::Unusual { .. }) => false,
        Err(error) => panic!("{}: {error}", kind.name()),
    }
}
