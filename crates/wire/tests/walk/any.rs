//! Any value, status and header there can be.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wire::types::{
    Array, ByteString, DataValue, DateTime, DiagnosticInfo, ExpandedNodeId, ExtensionObject, Guid,
    LocalizedText, NodeId, QualifiedName, ResponseHeader, StatusCode, SubscriptionAcknowledgement,
    UAString, Variant, VariantScalarTypeId, XmlElement,
};

pub fn text() -> BoxedStrategy<UAString> {
    option::of("[ -~äß€]{0,12}")
        .prop_map(UAString::from)
        .boxed()
}

pub fn octets() -> BoxedStrategy<ByteString> {
    prop_oneof![
        Just(ByteString::null()),
        vec(any::<u8>(), 0..20).prop_map(ByteString::from),
    ]
    .boxed()
}

/// Null identifiers left out: walked, they are the same as empty ones.
pub fn node_id() -> BoxedStrategy<NodeId> {
    prop_oneof![
        (0u32..256).prop_map(|id| NodeId::new(0, id)),
        (0u16..256, 0u32..65536).prop_map(|(ns, id)| NodeId::new(ns, id)),
        any::<(u16, u32)>().prop_map(|(ns, id)| NodeId::new(ns, id)),
        (any::<u16>(), "[ -~ß€]{0,12}").prop_map(|(ns, id)| NodeId::new(ns, UAString::from(id))),
        any::<(u16, [u8; 16])>().prop_map(|(ns, id)| NodeId::new(ns, Guid::from_bytes(id))),
        (any::<u16>(), vec(any::<u8>(), 0..20))
            .prop_map(|(ns, id)| NodeId::new(ns, ByteString::from(id))),
    ]
    .boxed()
}

fn expanded_node_id() -> BoxedStrategy<ExpandedNodeId> {
    (node_id(), text(), 0u32..3)
        .prop_map(|(node_id, namespace_uri, server_index)| ExpandedNodeId {
            node_id,
            namespace_uri,
            server_index,
        })
        .boxed()
}

/// From 1601 to 9999, where the full decoder and the wire agree.
pub fn time() -> BoxedStrategy<DateTime> {
    (0..DateTime::endtimes_ticks())
        .prop_map(DateTime::from)
        .boxed()
}

pub fn status() -> BoxedStrategy<StatusCode> {
    prop_oneof![
        Just(StatusCode::Good),
        Just(
            StatusCode::Good
                .set_info_type(wire::types::status_code::StatusCodeInfoType::DataValue)
                .set_overflow(true)
        ),
        Just(StatusCode::UncertainInitialValue),
        Just(StatusCode::BadNodeIdUnknown),
        any::<u32>().prop_map(StatusCode::from),
    ]
    .boxed()
}

pub fn diagnostics() -> BoxedStrategy<DiagnosticInfo> {
    let index = || option::of(any::<i32>()).boxed();
    let leaf = (
        index(),
        index(),
        index(),
        index(),
        option::of(text()),
        option::of(status()),
    )
        .prop_map(
            |(symbolic_id, namespace_uri, locale, localized_text, info, inner)| DiagnosticInfo {
                symbolic_id,
                namespace_uri,
                locale,
                localized_text,
                additional_info: info,
                inner_status_code: inner,
                inner_diagnostic_info: None,
            },
        )
        .boxed();
    (leaf.clone(), option::of(leaf))
        .prop_map(|(outer, inner)| DiagnosticInfo {
            inner_diagnostic_info: inner.map(Box::new),
            ..outer
        })
        .boxed()
}

pub fn extension_object() -> BoxedStrategy<ExtensionObject> {
    prop_oneof![
        Just(ExtensionObject::null()),
        any::<(u32, u32)>().prop_map(|(subscription_id, sequence_number)| {
            ExtensionObject::from_message(SubscriptionAcknowledgement {
                subscription_id,
                sequence_number,
            })
        }),
    ]
    .boxed()
}

/// One value of each built-in type but the two that can hold any other.
fn simple() -> Vec<(VariantScalarTypeId, BoxedStrategy<Variant>)> {
    use VariantScalarTypeId as T;
    let float = || prop::num::f32::NORMAL | prop::num::f32::ZERO;
    let double = || prop::num::f64::NORMAL | prop::num::f64::ZERO;
    vec![
        (T::Boolean, any::<bool>().prop_map(Variant::Boolean).boxed()),
        (T::SByte, any::<i8>().prop_map(Variant::SByte).boxed()),
        (T::Byte, any::<u8>().prop_map(Variant::Byte).boxed()),
        (T::Int16, any::<i16>().prop_map(Variant::Int16).boxed()),
        (T::UInt16, any::<u16>().prop_map(Variant::UInt16).boxed()),
        (T::Int32, any::<i32>().prop_map(Variant::Int32).boxed()),
        (T::UInt32, any::<u32>().prop_map(Variant::UInt32).boxed()),
        (T::Int64, any::<i64>().prop_map(Variant::Int64).boxed()),
        (T::UInt64, any::<u64>().prop_map(Variant::UInt64).boxed()),
        (T::Float, float().prop_map(Variant::Float).boxed()),
        (T::Double, double().prop_map(Variant::Double).boxed()),
        (T::String, text().prop_map(Variant::String).boxed()),
        (T::DateTime, time().prop_map(Variant::from).boxed()),
        (
            T::Guid,
            any::<[u8; 16]>()
                .prop_map(|b| Variant::from(Guid::from_bytes(b)))
                .boxed(),
        ),
        (
            T::ByteString,
            octets().prop_map(Variant::ByteString).boxed(),
        ),
        (
            T::XmlElement,
            text()
                .prop_map(|t| Variant::XmlElement(XmlElement::from(t)))
                .boxed(),
        ),
        (T::NodeId, node_id().prop_map(Variant::from).boxed()),
        (
            T::ExpandedNodeId,
            expanded_node_id().prop_map(Variant::from).boxed(),
        ),
        (
            T::StatusCode,
            status().prop_map(Variant::StatusCode).boxed(),
        ),
        (
            T::QualifiedName,
            (any::<u16>(), text())
                .prop_map(|(ns, t)| Variant::from(QualifiedName::new(ns, t)))
                .boxed(),
        ),
        (
            T::LocalizedText,
            (text(), text())
                .prop_map(|(locale, text)| Variant::from(LocalizedText { locale, text }))
                .boxed(),
        ),
        (
            T::ExtensionObject,
            extension_object()
                .prop_map(Variant::ExtensionObject)
                .boxed(),
        ),
        (
            T::DiagnosticInfo,
            diagnostics().prop_map(Variant::from).boxed(),
        ),
    ]
}

/// Arrays of these, and matrices of two rows.
fn arrays(kind: VariantScalarTypeId, element: BoxedStrategy<Variant>) -> BoxedStrategy<Variant> {
    let array = vec(element.clone(), 0..5)
        .prop_map(move |values| Variant::from(Array::new(kind, values).unwrap()));
    let matrix = vec(element, 1..4).prop_map(move |row| {
        let columns = row.len() as u32;
        let values = [row.clone(), row].concat();
        Variant::from(Array::new_multi(kind, values, vec![2, columns]).unwrap())
    });
    prop_oneof![array, matrix].boxed()
}

pub fn variant() -> BoxedStrategy<Variant> {
    let of_any_kind: Vec<_> = simple()
        .into_iter()
        .map(|(kind, scalar)| prop_oneof![2 => scalar.clone(), 1 => arrays(kind, scalar)].boxed())
        .collect();
    let flat = prop_oneof![
        1 => Just(Variant::Empty),
        20 => proptest::strategy::Union::new(of_any_kind),
    ]
    .boxed();
    flat.prop_recursive(2, 12, 3, |inner| {
        let value = data_value_of(inner.clone().boxed())
            .prop_map(Variant::from)
            .boxed();
        let boxed = inner.prop_map(|v| Variant::Variant(Box::new(v))).boxed();
        prop_oneof![
            value.clone(),
            arrays(VariantScalarTypeId::DataValue, value),
            // Part 6, 5.2.2.16 allows Variants in Variants only as arrays.
            arrays(VariantScalarTypeId::Variant, boxed),
        ]
    })
    .boxed()
}

fn data_value_of(value: BoxedStrategy<Variant>) -> BoxedStrategy<DataValue> {
    let stamp = || option::of((time(), option::of(any::<u16>()))).boxed();
    (
        option::weighted(0.8, value),
        option::of(status()),
        stamp(),
        stamp(),
    )
        .prop_map(|(value, status, source, server)| DataValue {
            value,
            status,
            source_timestamp: source.map(|s| s.0),
            source_picoseconds: source.and_then(|s| s.1),
            server_timestamp: server.map(|s| s.0),
            server_picoseconds: server.and_then(|s| s.1),
        })
        .boxed()
}

pub fn data_value() -> BoxedStrategy<DataValue> {
    data_value_of(variant())
}

/// Values as a plant has them: runs of the same type.
pub fn data_values() -> BoxedStrategy<Vec<DataValue>> {
    let runs = vec((data_value(), 1usize..4), 0..6)
        .prop_map(|runs| runs.into_iter().flat_map(|(v, n)| vec![v; n]).collect());
    prop_oneof![vec(data_value(), 0..8), runs].boxed()
}

pub fn response_header() -> BoxedStrategy<ResponseHeader> {
    let plain = crate::messages::response_header();
    let full = (
        time(),
        any::<u32>(),
        diagnostics(),
        option::of(vec(text(), 0..3)),
        extension_object(),
    )
        .prop_map(
            |(timestamp, request_handle, service_diagnostics, strings, additional)| {
                ResponseHeader {
                    timestamp,
                    request_handle,
                    service_result: StatusCode::Good,
                    service_diagnostics,
                    string_table: strings,
                    additional_header: additional,
                }
            },
        );
    prop_oneof![Just(plain), full].boxed()
}

pub fn diagnostic_infos() -> impl Strategy<Value = Option<Vec<DiagnosticInfo>>> {
    option::of(vec(diagnostics(), 0..3))
}
