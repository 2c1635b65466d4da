//! The nodes of sources and conditions: where events come from, and what can be done to them.

use std::sync::Arc;

use wire::types::{
    LocalizedText, MethodId, NodeId, ObjectTypeId, QualifiedName, ReferenceTypeId, VariableTypeId,
};

use super::EventKind;
use super::field::{FIELDS, Row};
use crate::space::below;
use crate::space::{Body, Builder, FullNames, Names, Node, Shape, Source, Stamp, Variable, encode};

/// Bit SubscribeToEvents of the EventNotifier attribute (Part 3, 8.59).
pub const SUBSCRIBE: u8 = 1;

/// Says of an object that one can listen there.
pub fn listen(builder: &mut Builder, id: &NodeId) {
    if let Some(node) = builder.node_mut(id)
        && let Body::Object { event_notifier } = &mut node.body
    {
        *event_notifier |= SUBSCRIBE;
    }
}

/// The methods that instances share with their type (Part 9, 5.5.2).
const METHODS: [MethodId; 5] = [
    MethodId::ConditionType_Enable,
    MethodId::ConditionType_Disable,
    MethodId::ConditionType_AddComment,
    MethodId::AcknowledgeableConditionType_Acknowledge,
    MethodId::AcknowledgeableConditionType_Confirm,
];

/// Puts a condition below its source (Part 9, 4.10): an object with the fields of its type, which
/// show its state as it is when they are read. `at` is its group and its place there.
pub fn condition(
    builder: &mut Builder,
    kind: EventKind,
    source: &NodeId,
    id: &NodeId,
    name: &str,
    at: (usize, usize),
) {
    builder.named(id, name, Body::Object { event_notifier: 0 });
    builder.link(source, ReferenceTypeId::HasComponent, id);
    builder.link(source, ReferenceTypeId::HasCondition, id);
    builder.link(id, ReferenceTypeId::HasTypeDefinition, &kind.id().into());
    for method in METHODS {
        builder.link(id, ReferenceTypeId::HasComponent, &method.into());
    }
    for row in FIELDS.iter().filter(|row| kind.is_a(row.of)) {
        field(builder, id, row, at);
    }
}

fn field(builder: &mut Builder, condition: &NodeId, row: &Row, at: (usize, usize)) {
    let Some((name, above)) = row.path.split_last() else {
        return;
    };
    let parent = match above {
        [] => condition.clone(),
        above => below(condition, &above.join(".")),
    };
    // All that stands above a field is a field itself, but for the state machine.
    if !builder.has(&parent) {
        put(
            builder,
            &parent,
            &above.join("."),
            Body::Object { event_notifier: 0 },
        );
        builder.link(condition, ReferenceTypeId::HasComponent, &parent);
        let of = ObjectTypeId::ExclusiveLimitStateMachineType;
        builder.link(&parent, ReferenceTypeId::HasTypeDefinition, &of.into());
    }
    let events = builder.events_to_be();
    let field = row.field;
    let value = Source::Live(Arc::new(move |now, out| {
        let there = events.get();
        let event = there.and_then(|events| events.current(at.0, at.1, now.mono.as_nanos()));
        let value = event.map_or_else(Default::default, |event| field.value(&event));
        encode::encode(&value, out);
        Stamp::good(now.utc)
    }));
    let variable = Variable::new(value, Shape::scalar(row.data_type));
    let id = below(condition, &row.path.join("."));
    put(builder, &id, name, Body::Variable(Box::new(variable)));
    let reference = match row.variable {
        VariableTypeId::PropertyType => ReferenceTypeId::HasProperty,
        _ => ReferenceTypeId::HasComponent,
    };
    builder.link(&parent, reference, &id);
    builder.link(
        &id,
        ReferenceTypeId::HasTypeDefinition,
        &row.variable.into(),
    );
}

/// Adds a node with a name of the specification, which are all in its namespace.
fn put(builder: &mut Builder, id: &NodeId, name: &str, body: Body) {
    builder.insert(Node {
        id: id.clone(),
        names: Names::Full(Box::new(FullNames {
            browse_name: QualifiedName::new(0, name),
            display_name: LocalizedText::new("", name),
            description: None,
        })),
        body,
    });
}
