//! Call.

use std::sync::Arc;

use wire::types::{
    Argument, CallMethodRequest, CallRequest, Identifier, NodeId, ReadRequest, ReadValueId,
    RequestHeader, TimestampsToReturn, Variant, VariantScalarTypeId,
};

use super::operations::Selection;
use super::{Asker, Operations, Service, WorkError, find, value};
use crate::access::Session;

/// A method to be called with these arguments.
pub fn call(
    object: &NodeId,
    method: &NodeId,
    arguments: Vec<Variant>,
) -> Result<Operations, WorkError> {
    Operations::new([CallMethodRequest {
        object_id: object.clone(),
        method_id: method.clone(),
        input_arguments: (!arguments.is_empty()).then_some(arguments),
    }])
}

/// Arguments as typed, made into what the method says that it takes.
pub fn arguments(
    method: &NodeId,
    typed: &[String],
    session: &mut Session,
) -> Result<Vec<Variant>, WorkError> {
    let declared = declared(method, session)?;
    if declared.len() != typed.len() {
        return Err(WorkError::Arguments {
            method: method.clone(),
            wanted: describe(&declared),
            got: typed.len(),
        });
    }
    let pairs = typed.iter().zip(&declared);
    pairs
        .map(|(text, argument)| one(method, text, argument))
        .collect()
}

fn one(method: &NodeId, text: &str, argument: &Argument) -> Result<Variant, WorkError> {
    kind(argument)
        .and_then(|kind| value::scalar(text, kind))
        .ok_or_else(|| WorkError::Value {
            node: method.clone(),
            wanted: describe(std::slice::from_ref(argument)),
            text: text.to_owned(),
        })
}

/// Data types whose number is that of their built-in type (Part 6, 5.1.2).
fn kind(argument: &Argument) -> Option<VariantScalarTypeId> {
    match (&argument.data_type.identifier, argument.data_type.namespace) {
        (Identifier::Numeric(id), 0) => VariantScalarTypeId::try_from(*id).ok(),
        _ => None,
    }
}

fn describe(arguments: &[Argument]) -> String {
    let one = |argument: &Argument| match kind(argument) {
        Some(kind) => format!("{} ({kind:?})", argument.name),
        None => format!("{} ({})", argument.name, argument.data_type),
    };
    match arguments {
        [] => "no arguments".into(),
        some => some.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

/// What a method says that it takes; nothing if it does not say.
fn declared(method: &NodeId, session: &mut Session) -> Result<Vec<Argument>, WorkError> {
    let Some(property) = find::property(method, "InputArguments", session)? else {
        return Ok(Vec::new());
    };
    let response = session.call(ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![ReadValueId::from(property)]),
    })?;
    let value = response.results.and_then(|mut all| all.pop());
    let Some(Variant::Array(array)) = value.and_then(|value| value.value) else {
        return Ok(Vec::new());
    };
    let arguments = array.values.into_iter().filter_map(|value| match value {
        Variant::ExtensionObject(object) => object.into_inner_as::<Argument>().map(|it| *it),
        _ => None,
    });
    Ok(arguments.collect())
}

impl Asker {
    /// Call requests of a session.
    pub fn call(
        header: RequestHeader,
        operations: Arc<Operations>,
        selection: Selection,
    ) -> Result<Self, WorkError> {
        let empty = CallRequest {
            request_header: header,
            methods_to_call: Some(Vec::new()),
        };
        Self::new(Service::Call, &empty, operations, selection)
    }
}
