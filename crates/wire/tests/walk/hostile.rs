//! Bytes that nobody should send: an error or a value, never a panic, never a long loop.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use wire::template::walk::{self, Notification, RawDataValue, RawVariant, WalkError};
use wire::types::{BinaryDecodable, NodeId, PublishResponse, ReadResponse};

use crate::messages;
use crate::requests::{publish_request, read_request, write_request};
use crate::responses::{
    assert_publish_is_walked, assert_read_is_walked, call_response, create_response,
    publish_response, read_response, write_response,
};

fn look_at_variant(value: &RawVariant<'_>) {
    let _ = (
        value.as_f64(),
        value.as_i64(),
        value.as_octets(),
        value.payload(),
    );
    let _ = value.dimensions().count();
}

fn look_at(value: &RawDataValue<'_>) {
    let _ = (
        value.status(),
        value.source_timestamp(),
        value.source_picoseconds(),
    );
    let _ = (
        value.server_timestamp(),
        value.server_picoseconds(),
        value.overflowed(),
    );
    if let Some(value) = &value.value {
        look_at_variant(value);
    }
}

/// Everything that can be asked of a body.
fn look_at_all(body: &[u8]) {
    for n in 0..3 {
        let _ = walk::check_read(body, n);
        let _ = walk::check_write(body, n);
        let _ = walk::check_call(body, n);
    }
    let _ = RawVariant::parse(body).map(|v| look_at_variant(&v));
    for value in walk::read_values(body).into_iter().flatten().flatten() {
        look_at(&value);
    }
    for result in walk::call_results(body).into_iter().flatten().flatten() {
        result.output_arguments.for_each(|v| look_at_variant(&v));
    }
    if let Ok(response) = walk::PublishResponse::parse(body) {
        for notification in response.notifications().flatten() {
            if let Notification::DataChange(items) = notification {
                items.flatten().for_each(|item| look_at(&item.value));
            }
        }
    }
    if let Ok(response) = walk::RepublishResponse::parse(body) {
        assert!(response.notifications().count() <= body.len());
    }
    assert!(walk::created_items(body).into_iter().flatten().count() <= body.len());
    for node in walk::ReadRequest::parse(body)
        .into_iter()
        .flat_map(|r| r.nodes)
        .flatten()
    {
        let _ = node.node_id.to_node_id();
    }
    for node in walk::WriteRequest::parse(body)
        .into_iter()
        .flat_map(|r| r.nodes)
        .flatten()
    {
        look_at(&node.value);
    }
    let _ = walk::PublishRequest::parse(body).map(|r| r.acknowledgements.count());
}

/// A body of any type that is walked.
fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        read_response().prop_map(|m| messages::encode(&m)),
        write_response().prop_map(|m| messages::encode(&m)),
        call_response().prop_map(|m| messages::encode(&m)),
        publish_response().prop_map(|m| messages::encode(&m)),
        create_response().prop_map(|m| messages::encode(&m)),
        read_request().prop_map(|m| messages::encode(&m)),
        write_request().prop_map(|m| messages::encode(&m)),
        publish_request().prop_map(|m| messages::encode(&m)),
    ]
}

/// Bytes changed here and there, half of them to what hurts: lengths and masks at their ends.
fn changes() -> impl Strategy<Value = Vec<(Index, u8)>> {
    let byte = prop_oneof![
        Just(0xff),
        Just(0x7f),
        Just(0x80),
        Just(0),
        any::<u8>(),
        any::<u8>(),
        any::<u8>(),
        any::<u8>(),
    ];
    vec((any::<Index>(), byte), 1..6)
}

fn changed(mut body: Vec<u8>, changes: Vec<(Index, u8)>) -> Vec<u8> {
    for (at, byte) in changes {
        let at = at.index(body.len());
        body[at] = byte;
    }
    body
}

/// The full decoder's message, if it is one that encodes to these very bytes again: then nothing
/// in them was left to taste, and the walker must see the same.
fn canonical<T>(body: &[u8]) -> Option<T>
where
    T: BinaryDecodable + wire::types::BinaryEncodable + wire::types::MessageInfo,
{
    let owned = messages::context();
    let context = owned.context();
    let mut stream = body;
    let type_id = NodeId::decode(&mut stream, &context).ok()?;
    let message = T::decode(&mut stream, &context).ok()?;
    (type_id == message.type_id() && messages::encode(&message) == body).then_some(message)
}

proptest! {
    #[test]
    fn any_bytes_are_walked_without_panic(bytes in vec(any::<u8>(), 0..200)) {
        look_at_all(&bytes);
    }

    #[test]
    fn any_bytes_after_a_head_are_walked_without_panic(
        kind in prop_oneof![Just(634u16), Just(676), Just(715), Just(829)],
        bytes in vec(prop_oneof![Just(0u8), Just(1), Just(0xff), any::<u8>()], 0..200),
    ) {
        let head = messages::encode(&messages::write_response(0));
        let mut body = head[..28].to_vec();
        body[2..4].copy_from_slice(&kind.to_le_bytes());
        body.extend(bytes);
        look_at_all(&body);
    }

    #[test]
    fn changed_bytes_are_walked_without_panic(body in body(), changes in changes()) {
        look_at_all(&changed(body, changes));
    }

    #[test]
    fn a_read_response_cut_short_is_refused(response in read_response(), at in any::<Index>()) {
        let body = messages::encode(&response);
        let n = response.results.map_or(0, |r| r.len());
        prop_assert!(walk::check_read(&body, n).is_ok());
        let cut = at.index(body.len());
        prop_assert!(walk::check_read(&body[..cut], n).is_err());
        look_at_all(&body[..cut]);
    }

    #[test]
    fn other_responses_cut_short_are_refused(
        write in write_response(),
        call in call_response(),
        publish in publish_response(),
        at in any::<Index>(),
    ) {
        let body = messages::encode(&write);
        let n = write.results.map_or(0, |r| r.len());
        prop_assert!(walk::check_write(&body[..at.index(body.len())], n).is_err());
        let body = messages::encode(&call);
        let n = call.results.map_or(0, |r| r.len());
        prop_assert!(walk::check_call(&body[..at.index(body.len())], n).is_err());
        let body = messages::encode(&publish);
        prop_assert!(walk::PublishResponse::parse(&body[..at.index(body.len())]).is_err());
    }

    #[test]
    fn what_the_full_decoder_reads_without_doubt_is_walked_alike(
        read in read_response(),
        publish in publish_response(),
        changes in changes(),
    ) {
        let body = changed(messages::encode(&read), changes.clone());
        if let Some(full) = canonical::<ReadResponse>(&body)
            && !full.response_header.service_result.is_bad()
        {
            assert_read_is_walked(&body, &full);
        }
        let body = changed(messages::encode(&publish), changes);
        if let Some(full) = canonical::<PublishResponse>(&body)
            && !full.response_header.service_result.is_bad()
        {
            assert_publish_is_walked(&body, &full);
        }
    }
}

fn malformed(error: WalkError) -> bool {
    matches!(error, WalkError::Malformed { .. })
}

#[test]
fn every_prefix_of_a_response_is_refused() {
    let body = messages::encode(&messages::publish_response(5));
    for cut in 0..body.len() {
        assert!(
            malformed(walk::PublishResponse::parse(&body[..cut]).unwrap_err()),
            "{cut}"
        );
    }
    let body = messages::encode(&messages::read_response(messages::doubles(5, true)));
    for cut in 0..body.len() {
        assert!(
            malformed(walk::check_read(&body[..cut], 5).unwrap_err()),
            "{cut}"
        );
    }
}

#[test]
fn counts_that_the_body_cannot_hold_are_refused_at_once() {
    // A Variant: an array of 2^31 - 1 Doubles, of as many Strings, of a negative number.
    for encoding in [0x80 | 11, 0x80 | 12, 0xc0 | 11] {
        for count in [i32::MAX, i32::MAX / 2, -2, i32::MIN] {
            let mut bytes = vec![encoding];
            bytes.extend(count.to_le_bytes());
            bytes.extend([0; 64]);
            assert!(malformed(RawVariant::parse(&bytes).unwrap_err()));
        }
    }
    let mut body = messages::encode(&messages::read_response(vec![]));
    body[28..32].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(malformed(
        walk::check_read(&body, i32::MAX as usize).unwrap_err()
    ));
}

#[test]
fn nesting_beyond_the_limit_is_refused_and_does_not_exhaust_the_stack() {
    let variants = [vec![0x18; 1 << 20], vec![1, 1]].concat();
    assert!(malformed(RawVariant::parse(&variants).unwrap_err()));
    // A Variant with a DataValue with a Variant, and so on.
    let values = [23u8, 1].repeat(1 << 20);
    assert!(malformed(RawVariant::parse(&values).unwrap_err()));
    let diagnostics = [vec![25], vec![0x40; 1 << 20], vec![0]].concat();
    assert!(malformed(RawVariant::parse(&diagnostics).unwrap_err()));

    // Part 6, 5.1.11: a hundred levels are no reason to refuse.
    let deep = [vec![0x18; 100], vec![1, 1]].concat();
    assert!(RawVariant::parse(&deep).is_ok());
}

#[test]
fn what_only_the_full_decoder_can_judge_is_called_unusual() {
    let good = messages::encode(&messages::read_response(messages::doubles(1, false)));
    let unusual = |body: &[u8]| matches!(walk::check_read(body, 1), Err(WalkError::Unusual { .. }));
    assert!(unusual(&[&good[..], &[0]].concat()), "a byte too many");
    let mut mask = good.clone();
    mask[32] |= 0x80;
    assert!(unusual(&mask), "a bit of the mask that has no meaning");
    let mut namespace = good;
    namespace[1] = 1;
    assert!(unusual(&namespace), "a message of another namespace");
}

#[test]
fn reserved_type_ids_are_byte_strings() {
    // Part 6, 5.1.6.
    for id in 26..32 {
        let value = [id, 2, 0, 0, 0, 7, 8];
        let raw = RawVariant::parse(&value).unwrap();
        assert_eq!(raw.as_octets(), Some(&[7, 8][..]));
    }
}

#[test]
fn dimensions_that_do_not_fit_are_refused() {
    let matrix = |dimensions: [i32; 2]| {
        let mut bytes = vec![0xc0 | 3, 4, 0, 0, 0, 1, 2, 3, 4, 2, 0, 0, 0];
        bytes.extend(dimensions.iter().flat_map(|d| d.to_le_bytes()));
        bytes
    };
    let good = matrix([2, 2]);
    let raw = RawVariant::parse(&good).unwrap();
    assert_eq!(raw.dimensions().collect::<Vec<_>>(), [2, 2]);
    assert_eq!(raw.payload(), [1, 2, 3, 4]);
    for dimensions in [[2, 3], [0, 4], [-2, -2], [i32::MAX, i32::MAX]] {
        assert!(malformed(
            RawVariant::parse(&matrix(dimensions)).unwrap_err()
        ));
    }
}
