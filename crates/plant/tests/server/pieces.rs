//! Requests of many operations are answered a part at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use plant::{Config, Server};
use wire::types::{
    AttributeId, BrowseDescription, BrowseDirection, BrowsePath, BrowseRequest, BrowseResponse,
    CallMethodRequest, CallRequest, CallResponse, CreateMonitoredItemsRequest,
    CreateMonitoredItemsResponse, DeleteMonitoredItemsRequest, DeleteMonitoredItemsResponse,
    NodeId, NumericRange, ReadRequest, ReferenceTypeId, RelativePath, RelativePathElement,
    StatusCode, TimestampsToReturn, TranslateBrowsePathsToNodeIdsRequest,
    TranslateBrowsePathsToNodeIdsResponse, Variant, WriteRequest, WriteValue,
};

use crate::client::{Client, read_value};
use crate::subscribing::{header, item, subscribe_for};
use crate::{bench, start};

/// A browse of the folder of five hundred Doubles, so many times.
fn browse(times: usize, classes: u32) -> BrowseRequest {
    let what = BrowseDescription {
        node_id: bench(1),
        browse_direction: BrowseDirection::Forward,
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        include_subtypes: true,
        node_class_mask: classes,
        result_mask: 63,
    };
    BrowseRequest {
        request_header: header(),
        view: Default::default(),
        requested_max_references_per_node: 0,
        nodes_to_browse: Some(vec![what; times]),
    }
}

/// How often a client is answered before another one has its answer.
fn answered_meanwhile(server: &Server, request: impl Into<wire::service::Request>) -> usize {
    let mut good = Client::plain(server.url());
    let mut greedy = Client::plain(server.url());
    let asked = greedy.send(request);
    let mut times = 0;
    while !greedy.has_by_now(asked) && times < 100 {
        good.read(&[bench(1007)]);
        times += 1;
    }
    greedy.answer(asked).unwrap();
    times
}

#[test]
fn who_browses_much_in_one_request_holds_up_nobody() {
    let server = start(Config::default());
    // Nothing is of this class: there is nothing to send, but millions of references to look at.
    let times = answered_meanwhile(&server, browse(5_000, 1 << 10));
    assert!(times > 8, "{times}");
}

/// A Call of a method that is not there, with so many arrays of half a million texts.
fn texts(arrays: usize) -> CallRequest {
    let texts = Variant::from(vec![wire::types::UAString::from("a"); 500_000]);
    CallRequest {
        request_header: header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: bench(1),
            method_id: bench(2),
            input_arguments: Some(vec![texts; arrays]),
        }]),
    }
}

#[test]
fn who_asks_for_what_takes_long_to_decode_holds_up_nobody() {
    let server = start(Config::default());
    let times = answered_meanwhile(&server, texts(2));
    assert!(times > 8, "{times}");
}

/// A message of 13 MB would be 150 MB once it is decoded.
#[test]
fn a_request_takes_no_more_once_it_is_decoded_than_its_connection_has() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let asked = client.send(texts(5));
    assert_eq!(client.failed(asked), StatusCode::BadEncodingLimitsExceeded);
    let one: CallResponse = client.call(texts(1)).unwrap();
    assert_eq!(one.results.unwrap().len(), 1);
}

#[test]
fn who_follows_many_paths_in_one_request_holds_up_nobody() {
    let server = start(Config::default());
    let any = RelativePathElement {
        reference_type_id: NodeId::null(),
        is_inverse: false,
        include_subtypes: true,
        target_name: wire::types::QualifiedName::new(0, "nothing is called so"),
    };
    let path = BrowsePath {
        starting_node: bench(1),
        relative_path: RelativePath {
            elements: Some(vec![any]),
        },
    };
    let times = answered_meanwhile(
        &server,
        TranslateBrowsePathsToNodeIdsRequest {
            request_header: header(),
            browse_paths: Some(vec![path; 10_000]),
        },
    );
    assert!(times > 8, "{times}");
}

#[test]
fn an_answer_in_pieces_is_what_it_would_be_in_one() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let one: BrowseResponse = client.call(browse(1, 0)).unwrap();
    let one = one.results.unwrap().remove(0);
    assert_eq!(one.references.as_ref().unwrap().len(), 500);
    let many: BrowseResponse = client.call(browse(40, 0)).unwrap();
    let many = many.results.unwrap();
    assert_eq!(many.len(), 40);
    assert!(many.iter().all(|result| *result == one));

    let path = |name: Option<&str>| BrowsePath {
        starting_node: bench(1),
        relative_path: RelativePath {
            elements: Some(vec![RelativePathElement {
                reference_type_id: NodeId::null(),
                is_inverse: false,
                include_subtypes: true,
                target_name: name.map_or_else(wire::types::QualifiedName::null, |name| {
                    wire::types::QualifiedName::new(0, name)
                }),
            }]),
        },
    };
    let paths = [vec![path(None); 50], vec![path(Some("no such")); 1]].concat();
    let found: TranslateBrowsePathsToNodeIdsResponse = client
        .call(TranslateBrowsePathsToNodeIdsRequest {
            request_header: header(),
            browse_paths: Some(paths),
        })
        .unwrap();
    let mut found = found.results.unwrap();
    assert_eq!(found.pop().unwrap().status_code, StatusCode::BadNoMatch);
    let first = found[0].clone();
    assert!(first.targets.as_ref().unwrap().len() >= 500);
    assert!(found.len() == 50 && found.iter().all(|result| *result == first));
}

#[test]
fn items_are_made_and_deleted_in_pieces() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let id = subscribe_for(&mut client, 1000.0, 10_000).subscription_id;
    let items: Vec<_> = (0..5_000)
        .map(|n| item(bench(1000 + n % 500), n, 1000.0))
        .collect();
    let made: CreateMonitoredItemsResponse = client
        .call(CreateMonitoredItemsRequest {
            request_header: header(),
            subscription_id: id,
            timestamps_to_return: TimestampsToReturn::Neither,
            items_to_create: Some(items),
        })
        .unwrap();
    let made = made.results.unwrap();
    assert!(made.iter().all(|made| made.status_code.is_good()));
    assert_eq!(server.counted().items, 5_000);
    let ids: Vec<_> = made.iter().map(|made| made.monitored_item_id).collect();
    let gone: DeleteMonitoredItemsResponse = client
        .call(DeleteMonitoredItemsRequest {
            request_header: header(),
            subscription_id: id,
            monitored_item_ids: Some([ids, vec![77_777]].concat()),
        })
        .unwrap();
    let mut gone = gone.results.unwrap();
    assert_eq!(gone.len(), 5_001);
    assert_eq!(gone.pop(), Some(StatusCode::BadMonitoredItemIdInvalid));
    assert!(gone.iter().all(|status| status.is_good()));
    assert_eq!(server.counted().items, 0);
}

#[test]
fn who_takes_less_than_the_answer_is_told_so_and_goes_on() {
    let server = start(Config::default());
    for most in [60_000, 200_000] {
        let mut client = Client::taking(
            server.url(),
            wire::frame::Limits {
                receive_message: most,
                ..Default::default()
            },
        );
        let answer = client.send(browse(40, 0));
        let status = client.failed(answer);
        assert_eq!(status, StatusCode::BadResponseTooLarge);
        let one: BrowseResponse = client.call(browse(1, 1 << 10)).unwrap();
        assert_eq!(one.results.unwrap().len(), 1);
    }
}

#[test]
fn an_answer_is_measured_in_pieces_for_who_does_not_take_any_length() {
    let server = start(Config::default());
    // A gigabyte in all.
    let node = read_value(bench(3014), AttributeId::Value, "");
    let read = ReadRequest {
        request_header: header(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![node; 10_000]),
    };
    let limits = wire::frame::Limits {
        receive_message: 900_000_000,
        receive_chunks: 0,
        ..Default::default()
    };
    let mut greedy = Client::taking(server.url(), limits);
    let (times, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let meanwhile = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut good = Client::plain(server.url());
            while !done.load(Relaxed) {
                good.read(&[bench(1007)]);
                times.fetch_add(1, Relaxed);
            }
        });
        while times.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        let before = times.load(Relaxed);
        let asked = greedy.send(read);
        // Nothing of it was sent: it is a response like others.
        let answer = greedy.answer(asked);
        let meanwhile = times.load(Relaxed) - before;
        done.store(true, Relaxed);
        assert_eq!(answer, Err(StatusCode::BadResponseTooLarge));
        meanwhile
    });
    assert!(meanwhile > 50, "{meanwhile}");
}

/// A Write of two thousand values to one node, as bytes: its last value ends with them.
fn write_of_many(client: &Client, value: f64) -> Vec<u8> {
    let what = WriteValue {
        node_id: bench(1000),
        attribute_id: AttributeId::Value as u32,
        index_range: NumericRange::None,
        value: Variant::Double(value).into(),
    };
    let mut request = wire::service::Request::from(WriteRequest {
        request_header: header(),
        nodes_to_write: Some(vec![what; 2_000]),
    });
    request.header_mut().authentication_token = client.token.clone();
    let mut body = Vec::new();
    request.encode(&mut body).unwrap();
    body
}

#[test]
fn a_large_write_is_looked_at_as_a_whole_before_any_of_it_comes_true() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    let now = |client: &mut Client| client.read(&[bench(1000)]).remove(0).value;
    // Behind the mask of the last DataValue and its type are the eight bytes of a Double.
    let (mask, kind) = (10, 9);
    let mut malformed = write_of_many(&client, 7.0);
    let end = malformed.len();
    malformed[end - kind] = 0x3f;
    let asked = client.send_raw(&malformed);
    assert_eq!(client.answer_raw(asked), StatusCode::BadDecodingError);
    assert_eq!(now(&mut client), Some(Variant::Double(1000.0)));
    // Bits of a mask that nobody knows are for the full decoder, which passes them over.
    let mut unusual = write_of_many(&client, 8.0);
    unusual[end - mask] |= 0x40;
    let asked = client.send_raw(&unusual);
    let answer = client.raw_answer(asked);
    let answer = wire::service::Response::decode(&answer, &wire::service::Limits::default());
    let Ok(wire::service::Response::Write(answer)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(answer.results.unwrap(), [StatusCode::Good; 2_000]);
    assert_eq!(now(&mut client), Some(Variant::Double(8.0)));
}
