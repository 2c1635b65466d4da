//! Requests of any shape against the full decoder.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::template::walk::{self, RawNodeId, RequestHead, WalkError};
use wire::types::{
    DataValue, NodeId, NumericRange, PublishRequest, QualifiedName, ReadRequest, ReadValueId,
    RequestHeader, SubscriptionAcknowledgement, TimestampsToReturn, WriteRequest, WriteValue,
};

use crate::responses::assert_same_value;
use crate::{any, messages};

fn header() -> impl Strategy<Value = RequestHeader> {
    let parts = (
        any::node_id(),
        any::time(),
        any::<u32>(),
        any::text(),
        any::<u32>(),
        any::extension_object(),
    );
    parts.prop_map(
        |(token, time, handle, audit, timeout_hint, additional)| RequestHeader {
            audit_entry_id: audit,
            timeout_hint,
            additional_header: additional,
            ..RequestHeader::new(&token, &time, handle)
        },
    )
}

fn range() -> impl Strategy<Value = NumericRange> {
    prop_oneof![
        Just(NumericRange::None),
        (0u32..9).prop_map(NumericRange::Index),
        (0u32..9, 10u32..19).prop_map(|(low, high)| NumericRange::Range(low, high)),
    ]
}

fn range_text(range: &NumericRange) -> String {
    match range {
        NumericRange::Index(at) => at.to_string(),
        NumericRange::Range(low, high) => format!("{low}:{high}"),
        _ => String::new(),
    }
}

fn assert_same_id(raw: RawNodeId<'_>, full: &NodeId) {
    assert_eq!(&raw.to_node_id().unwrap(), full);
}

fn assert_same_head(raw: &RequestHead<'_>, full: &RequestHeader) {
    assert_same_id(raw.authentication_token, &full.authentication_token);
    assert_eq!(raw.timestamp, full.timestamp.ticks());
    assert_eq!(raw.request_handle, full.request_handle);
    assert_eq!(raw.timeout_hint, full.timeout_hint);
    assert_eq!(raw.return_diagnostics, full.return_diagnostics.bits());
}

prop_compose! {
    pub fn read_request()(
        request_header in header(),
        max_age in 0.0..1e6,
        nodes in vec((any::node_id(), any::<u32>(), range(), any::<u16>(), any::text()), 0..6),
    ) -> ReadRequest {
        let of = |(node_id, attribute_id, index_range, ns, name)| ReadValueId {
            node_id,
            attribute_id,
            index_range,
            data_encoding: QualifiedName::new(ns, name),
        };
        ReadRequest {
            request_header,
            max_age,
            timestamps_to_return: TimestampsToReturn::Both,
            nodes_to_read: Some(nodes.into_iter().map(of).collect()),
        }
    }
}

prop_compose! {
    pub fn write_request()(
        request_header in header(),
        nodes in vec((any::node_id(), any::<u32>(), range(), any::data_value()), 0..6),
    ) -> WriteRequest {
        let of = |(node_id, attribute_id, index_range, value): (_, _, _, DataValue)| WriteValue {
            node_id,
            attribute_id,
            index_range,
            value,
        };
        WriteRequest {
            request_header,
            nodes_to_write: Some(nodes.into_iter().map(of).collect()),
        }
    }
}

prop_compose! {
    pub fn publish_request()(
        request_header in header(),
        acknowledgements in vec(any::<(u32, u32)>(), 0..6),
    ) -> PublishRequest {
        let of = |(subscription_id, sequence_number)| SubscriptionAcknowledgement {
            subscription_id,
            sequence_number,
        };
        PublishRequest {
            request_header,
            subscription_acknowledgements: Some(acknowledgements.into_iter().map(of).collect()),
        }
    }
}

proptest! {
    #[test]
    fn a_read_request_is_walked_as_it_is_decoded(request in read_request()) {
        let body = messages::encode(&request);
        let full: ReadRequest = messages::decode(&body);
        let raw = walk::ReadRequest::parse(&body).unwrap();
        assert_same_head(&raw.head, &full.request_header);
        prop_assert_eq!(raw.max_age, full.max_age);
        prop_assert_eq!(raw.timestamps_to_return, full.timestamps_to_return as i32);
        let nodes = full.nodes_to_read.unwrap_or_default();
        prop_assert_eq!(raw.nodes.left(), nodes.len());
        let walked: Vec<_> = raw.nodes.map(Result::unwrap).collect();
        prop_assert_eq!(walked.len(), nodes.len());
        for (raw, full) in walked.into_iter().zip(nodes) {
            assert_same_id(raw.node_id, &full.node_id);
            prop_assert_eq!(raw.attribute_id, full.attribute_id);
            let range = range_text(&full.index_range);
            prop_assert_eq!(raw.index_range, range.as_bytes());
            let name = full.data_encoding.name.as_ref().as_bytes();
            prop_assert_eq!(raw.data_encoding, (full.data_encoding.namespace_index, name));
        }
    }

    #[test]
    fn a_write_request_is_walked_as_it_is_decoded(request in write_request()) {
        let body = messages::encode(&request);
        let full: WriteRequest = messages::decode(&body);
        let raw = walk::WriteRequest::parse(&body).unwrap();
        assert_same_head(&raw.head, &full.request_header);
        let nodes = full.nodes_to_write.unwrap_or_default();
        let walked: Vec<_> = raw.nodes.map(Result::unwrap).collect();
        prop_assert_eq!(walked.len(), nodes.len());
        for (raw, full) in walked.into_iter().zip(nodes) {
            assert_same_id(raw.node_id, &full.node_id);
            prop_assert_eq!(raw.attribute_id, full.attribute_id);
            let range = range_text(&full.index_range);
            prop_assert_eq!(raw.index_range, range.as_bytes());
            assert_same_value(&raw.value, &full.value);
        }
    }

    #[test]
    fn a_publish_request_is_walked_as_it_is_decoded(request in publish_request()) {
        let body = messages::encode(&request);
        let full: PublishRequest = messages::decode(&body);
        let raw = walk::PublishRequest::parse(&body).unwrap();
        assert_same_head(&raw.head, &full.request_header);
        let acknowledged: Vec<_> = full
            .subscription_acknowledgements
            .unwrap_or_default()
            .iter()
            .map(|a| (a.subscription_id, a.sequence_number))
            .collect();
        prop_assert_eq!(raw.acknowledgements.collect::<Vec<_>>(), acknowledged);
    }
}

#[test]
fn another_request_is_told_by_its_type() {
    let body = messages::encode(&messages::read_request(1));
    let error = walk::PublishRequest::parse(&body).unwrap_err();
    let expected = walk::type_id::PUBLISH_REQUEST;
    let found = walk::type_id::READ_REQUEST;
    assert_eq!(error, WalkError::OtherType { expected, found });
}
