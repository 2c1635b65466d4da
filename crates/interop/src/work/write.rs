//! Write: a Double and an Int32, read back, then restored.

use wire::types::{AttributeId, DataValue, NumericRange, Variant, WriteRequest, WriteValue};

use super::read::{expect, values};
use super::{Target, WorkError, during, good, results};

/// The last of each type, and what is written to it.
const WRITTEN: [(u32, Variant); 2] = [(1499, Variant::Double(0.5)), (1999, Variant::Int32(-5))];

pub(super) fn two_and_restore(target: &mut Target) -> Result<(), WorkError> {
    let ids = WRITTEN.map(|(id, _)| id);
    let before = values(target, &ids)?;
    put(target, &ids, WRITTEN.map(|(_, value)| value).to_vec())?;
    let written = values(target, &ids);
    // Whatever was read: nobody who comes later shall see it.
    put(target, &ids, before.clone())?;
    for ((id, want), got) in WRITTEN.iter().zip(written?) {
        expect(*id, &got, want)?;
    }
    for ((id, got), want) in ids.iter().zip(values(target, &ids)?).zip(before) {
        expect(*id, &got, &want)?;
    }
    Ok(())
}

fn put(target: &mut Target, ids: &[u32], values: Vec<Variant>) -> Result<(), WorkError> {
    let nodes = ids.iter().zip(values).map(|(&id, value)| {
        Ok(WriteValue {
            node_id: target.node(id)?,
            attribute_id: AttributeId::Value as u32,
            index_range: NumericRange::None,
            // Part 4, 5.11.4.2: a server may refuse a status or timestamps with
            // BadWriteNotSupported, so there are none.
            value: DataValue {
                value: Some(value),
                ..Default::default()
            },
        })
    });
    let request = WriteRequest {
        request_header: Default::default(),
        nodes_to_write: Some(nodes.collect::<Result<_, WorkError>>()?),
    };
    let response = target.session.call(request).map_err(during("Write"))?;
    let statuses = results("Write", response.results, ids.len())?;
    ids.iter()
        .zip(statuses)
        .try_for_each(|(id, status)| good(format!("the write of i={id}"), status))
}
