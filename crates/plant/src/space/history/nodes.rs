//! What the server says of its histories (Part 11, 5.2 and 5.4).

use wire::types::{
    DataTypeId, LocalizedText, NodeId, ObjectTypeId, ReferenceTypeId, VariableId, Variant,
};

use crate::limits::Limits;
use crate::space::{Body, Builder, FullNames, Names, Node, plant_object};

/// Says what can be done with histories, and what not.
pub fn describe(builder: &mut Builder, limits: &Limits) {
    use VariableId as V;
    let mut set = |id: V, value: Variant| {
        crate::space::standing::constant(builder, id, value);
    };
    set(
        V::HistoryServerCapabilities_AccessHistoryDataCapability,
        true.into(),
    );
    set(
        V::HistoryServerCapabilities_ServerTimestampSupported,
        true.into(),
    );
    let most = u32::try_from(limits.history_values).unwrap_or(u32::MAX);
    set(
        V::HistoryServerCapabilities_MaxReturnDataValues,
        most.into(),
    );
    set(
        V::HistoryServerCapabilities_MaxReturnEventValues,
        0u32.into(),
    );
    for id in [
        V::HistoryServerCapabilities_AccessHistoryEventsCapability,
        V::HistoryServerCapabilities_InsertDataCapability,
        V::HistoryServerCapabilities_ReplaceDataCapability,
        V::HistoryServerCapabilities_UpdateDataCapability,
        V::HistoryServerCapabilities_DeleteRawCapability,
        V::HistoryServerCapabilities_DeleteAtTimeCapability,
        V::HistoryServerCapabilities_InsertAnnotationCapability,
        V::HistoryServerCapabilities_InsertEventCapability,
        V::HistoryServerCapabilities_ReplaceEventCapability,
        V::HistoryServerCapabilities_UpdateEventCapability,
        V::HistoryServerCapabilities_DeleteEventCapability,
    ] {
        set(id, false.into());
    }
}

/// The configuration that all variables with a history share (Part 11, 5.2.3): values stay until
/// the next one comes.
pub fn configured(builder: &mut Builder) -> NodeId {
    let namespace = builder.namespace(plant_object::NAMESPACE);
    let id = |name: &str| NodeId::new(namespace, name);
    let own = id("HistoryConfiguration");
    if builder.has(&own) {
        return own;
    }
    object(
        builder,
        &own,
        "HA Configuration",
        ObjectTypeId::HistoricalDataConfigurationType,
    );
    let stepped = id("HistoryConfiguration.Stepped");
    builder.property(&own, stepped, "Stepped", DataTypeId::Boolean, true.into());
    let aggregates = id("HistoryConfiguration.AggregateConfiguration");
    let kind = ObjectTypeId::AggregateConfigurationType;
    object(builder, &aggregates, "AggregateConfiguration", kind);
    builder.link(&own, ReferenceTypeId::HasComponent, &aggregates);
    // Part 13, 4.2.1.2: the defaults.
    for (name, data_type, value) in [
        (
            "TreatUncertainAsBad",
            DataTypeId::Boolean,
            Variant::from(true),
        ),
        ("PercentDataBad", DataTypeId::Byte, 100u8.into()),
        ("PercentDataGood", DataTypeId::Byte, 100u8.into()),
        ("UseSlopedExtrapolation", DataTypeId::Boolean, false.into()),
    ] {
        let at = id(&format!(
            "HistoryConfiguration.AggregateConfiguration.{name}"
        ));
        builder.property(&aggregates, at, name, data_type, value);
    }
    own
}

fn object(builder: &mut Builder, id: &NodeId, name: &str, of: ObjectTypeId) {
    builder.insert(Node {
        id: id.clone(),
        names: Names::Full(Box::new(FullNames {
            browse_name: wire::types::QualifiedName::new(0, name),
            display_name: LocalizedText::new("", name),
            description: None,
        })),
        body: Body::Object { event_notifier: 0 },
    });
    builder.link(id, ReferenceTypeId::HasTypeDefinition, &of.into());
}
