//! What is known of nodes beforehand: a plant of ours says which of them count, and how.

use record::notification_ledger::{Counter, Ids, WatchedValue};
use wire::types::{
    Array, CallMethodRequest, CallRequest, NodeId, RequestHeader, Variant, VariantScalarTypeId,
};

use super::WorkError;
use crate::access::Session;
use crate::diagnostics::PLANT;
use crate::transport::CallError;

/// Nodes asked for at a time: what any plant lets be read at once.
const AT_A_TIME: usize = 1000;
/// Of the patterns that a plant tells.
const COUNTER: u64 = 1;

/// What is known of each of the nodes; nothing where the server is no plant.
pub fn watches(
    nodes: &[NodeId],
    namespaces: &[String],
    session: &mut Session,
) -> Result<Vec<WatchedValue>, WorkError> {
    let Some(index) = namespaces.iter().position(|uri| uri == PLANT) else {
        return Ok(Vec::new());
    };
    let mut watches = Vec::with_capacity(nodes.len());
    for nodes in nodes.chunks(AT_A_TIME) {
        let inputs = Some(vec![list(nodes)]);
        let outputs = ask("Plant.DescribeSignals", inputs, index, session)?;
        match outputs.as_deref().and_then(described) {
            Some(told) if told.len() == nodes.len() => watches.extend(told),
            // An older plant: it is like any other server.
            _ => return Ok(Vec::new()),
        }
    }
    Ok(watches)
}

/// What EventIds tell of a server with these namespaces, where all events are let through or some.
pub fn ids(namespaces: &[String], all: bool) -> Ids {
    match (namespaces.iter().any(|uri| uri == PLANT), all) {
        (false, _) => Ids::Opaque,
        (true, false) => Ids::Some,
        (true, true) => Ids::All,
    }
}

/// What a plant counted itself, as JSON.
pub fn ground_truth(namespaces: &[String], session: &mut Session) -> Option<String> {
    let index = namespaces.iter().position(|uri| uri == PLANT)?;
    let outputs = ask("Plant.GroundTruth", None, index, session).ok()?;
    match outputs?.pop()? {
        Variant::String(text) => text.value().clone(),
        _ => None,
    }
}

/// What a method of a plant answers, in whose namespace its object is.
fn ask(
    method: &str,
    input_arguments: Option<Vec<Variant>>,
    namespace: usize,
    session: &mut Session,
) -> Result<Option<Vec<Variant>>, CallError> {
    let own = |name: &str| NodeId::new(namespace as u16, name);
    let response = session.call(CallRequest {
        request_header: RequestHeader::default(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: own("Plant"),
            method_id: own(method),
            input_arguments,
        }]),
    })?;
    let result = response.results.and_then(|mut all| all.pop());
    Ok(result.and_then(|it| it.output_arguments))
}

fn list(nodes: &[NodeId]) -> Variant {
    let values = nodes.iter().map(|node| Variant::from(node.clone()));
    Variant::from(Array {
        value_type: VariantScalarTypeId::NodeId,
        values: values.collect(),
        dimensions: None,
    })
}

/// Anchor, patterns, stored, intervals, starts, moduli.
fn described(outputs: &[Variant]) -> Option<Vec<WatchedValue>> {
    let [
        Variant::DateTime(anchor),
        patterns,
        stored,
        intervals,
        starts,
        moduli,
    ] = outputs
    else {
        return None;
    };
    let anchor = anchor.ticks();
    let lists = [patterns, stored, intervals, starts, moduli].map(numbers);
    let [
        Some(patterns),
        Some(stored),
        Some(intervals),
        Some(starts),
        Some(moduli),
    ] = lists
    else {
        return None;
    };
    let mut watches = Vec::with_capacity(patterns.len());
    for (n, pattern) in patterns.iter().enumerate() {
        let interval = *intervals.get(n)?;
        let ticks = i64::try_from(interval / 100).ok()?;
        let start = *starts.get(n)? as i64;
        let counter = Counter {
            update_ns: interval,
            step: 1,
            modulus: *moduli.get(n)?,
            exact: *stored.get(n)? == 0,
            // Update n has the value start + n, and is due n intervals after the anchor.
            origin: start.checked_mul(ticks).map(|before| anchor - before),
        };
        watches.push(match *pattern == COUNTER && interval > 0 {
            true => WatchedValue::Counter(counter),
            false => WatchedValue::Unknown,
        });
    }
    Some(watches)
}

/// The elements of a list of whole numbers, as bits.
fn numbers(list: &Variant) -> Option<Vec<u64>> {
    if let Variant::ByteString(bytes) = list {
        return Some(bytes.value.as_ref()?.iter().map(|&n| n.into()).collect());
    }
    let Variant::Array(list) = list else {
        return None;
    };
    let number = |value: &Variant| match value {
        Variant::Boolean(value) => Some(u64::from(*value)),
        Variant::Byte(n) => Some(u64::from(*n)),
        Variant::UInt64(n) => Some(*n),
        Variant::Int64(n) => Some(*n as u64),
        _ => None,
    };
    list.values.iter().map(number).collect()
}
