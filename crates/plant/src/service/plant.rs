//! The methods of the Plant object: what the server did, and what is to go wrong.

use wire::types::{Array, DateTime, NodeId, StatusCode, Variant, VariantScalarTypeId};

use super::ServiceContext;
use super::call::{Outcome, mismatch, none, one};
use super::truth::GroundTruth;
use crate::fault::Fault;
use crate::space::{Method, Moves, Rhythm, Space};

impl ServiceContext<'_> {
    pub(super) fn run_plant(&mut self, method: Method, arguments: &mut [Variant]) -> Outcome {
        let faults = &self.shared.faults;
        match method {
            Method::AddFault => {
                let Variant::String(text) = one(arguments)? else {
                    return Err(mismatch());
                };
                let fault =
                    parse(text.as_ref()).ok_or_else(|| wrong(StatusCode::BadSyntaxError))?;
                let added = faults.add(fault, &self.shared.space, self.now.mono);
                let id = added.map_err(|_| wrong(StatusCode::BadNodeIdUnknown))?;
                Ok(vec![id.into()])
            }
            Method::ClearFault => {
                let Variant::UInt32(id) = one(arguments)? else {
                    return Err(mismatch());
                };
                match faults.clear(Some(*id)) {
                    0 => Err(wrong(StatusCode::BadNotFound)),
                    _ => Ok(Vec::new()),
                }
            }
            Method::ClearFaults => {
                none(arguments)?;
                let cleared = faults.clear(None);
                Ok(vec![u32::try_from(cleared).unwrap_or(u32::MAX).into()])
            }
            Method::ListFaults => {
                none(arguments)?;
                let counts = serde_json::to_string_pretty(&faults.counts());
                let counts = counts.map_err(|_| wrong(StatusCode::BadEncodingError))?;
                Ok(vec![counts.into()])
            }
            Method::DescribeSignals => {
                let nodes = nodes(one(arguments)?)?;
                // As many as could be read at once.
                if nodes.len() > self.shared.config.limits.nodes_per_read {
                    return Err(wrong(StatusCode::BadTooManyOperations));
                }
                Ok(signals(&self.shared.space, &nodes))
            }
            _ => {
                none(arguments)?;
                Ok(vec![GroundTruth::read(self.shared).to_json().into()])
            }
        }
    }
}

/// An argument that is a list of node ids.
fn nodes(argument: &Variant) -> Result<Vec<NodeId>, (StatusCode, Vec<StatusCode>)> {
    let Variant::Array(list) = argument else {
        return Err(mismatch());
    };
    let ids = list.values.iter().map(|value| match value {
        Variant::NodeId(id) => Ok((**id).clone()),
        _ => Err(mismatch()),
    });
    ids.collect()
}

/// The outputs of DescribeSignals: real time at the origin of the signals' clock, then one list
/// after the other with an element for each node.
fn signals(space: &Space, nodes: &[NodeId]) -> Vec<Variant> {
    let rhythms = nodes.iter().map(|id| space.rhythm(space.find_id(id)?));
    let rhythms: Vec<Option<Rhythm>> = rhythms.collect();
    let list = |of: VariantScalarTypeId, element: fn(&Rhythm) -> Variant, none: Variant| {
        let values = rhythms.iter().map(|rhythm| match rhythm {
            Some(rhythm) => element(rhythm),
            None => none.clone(),
        });
        let values = values.collect();
        Variant::from(Array {
            value_type: of,
            values,
            dimensions: None,
        })
    };
    use VariantScalarTypeId as T;
    let pattern = |rhythm: &Rhythm| match rhythm.moves {
        Moves::Counter { .. } => 1u8.into(),
        Moves::Otherwise => 2u8.into(),
    };
    let interval = |rhythm: &Rhythm| {
        let nanos = rhythm.interval.as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX).into()
    };
    let start = |rhythm: &Rhythm| match rhythm.moves {
        Moves::Counter { start, .. } => start.into(),
        Moves::Otherwise => 0i64.into(),
    };
    let modulus = |rhythm: &Rhythm| match rhythm.moves {
        Moves::Counter { modulus, .. } => modulus.unwrap_or(0).into(),
        Moves::Otherwise => 0u64.into(),
    };
    vec![
        DateTime::from(space.anchor()).into(),
        list(T::Byte, pattern, 0u8.into()),
        list(T::Boolean, |rhythm| rhythm.stored.into(), false.into()),
        list(T::UInt64, interval, 0u64.into()),
        list(T::Int64, start, 0i64.into()),
        list(T::UInt64, modulus, 0u64.into()),
    ]
}

/// A fault as text: as on the command line, or a table as JSON.
fn parse(text: &str) -> Option<Fault> {
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).ok(),
        false => text.parse().ok(),
    }
}

fn wrong(argument: StatusCode) -> (StatusCode, Vec<StatusCode>) {
    (StatusCode::BadInvalidArgument, vec![argument])
}
