//! Read: every variable of the bench address space, within the server's limits.

use peers::bench::{BYTE_ARRAYS, COUNTERS, DOUBLES, INT16_ARRAY, INT32S};
use wire::types::{DataValue, ReadRequest, ReadValueId, TimestampsToReturn, Variant};

use super::{Target, WorkError, good, results};

pub(super) fn everything(target: &mut Target) -> Result<(), WorkError> {
    let scalars: Vec<u32> = DOUBLES.chain(INT32S).collect();
    for ids in scalars.chunks(target.nodes_per_read) {
        for (&id, value) in ids.iter().zip(values(target, ids)?) {
            let want = match INT32S.contains(&id) {
                true => Variant::Int32(id as i32),
                false => Variant::Double(f64::from(id)),
            };
            expect(id, &value, &want)?;
        }
    }
    for &(id, _) in COUNTERS {
        let value = values(target, &[id])?.remove(0);
        if !matches!(value, Variant::UInt32(_)) {
            return Err(wrong(id, &value, "a UInt32"));
        }
    }
    let (id, length) = INT16_ARRAY;
    let value = values(target, &[id])?.remove(0);
    let want = (0..length).map(|k| Variant::Int16(k as i16));
    if !matches!(&value, Variant::Array(array) if array.values.iter().cloned().eq(want)) {
        return Err(wrong(
            id,
            &value,
            &format!("Int16[{length}], element k is k"),
        ));
    }
    // The largest last: a server that cannot send them has sent everything else.
    for &(id, length) in BYTE_ARRAYS {
        let value = values(target, &[id])?.remove(0);
        let want = (0..length).map(|k| k as u8);
        if !bytes(&value).is_some_and(|bytes| bytes.iter().copied().eq(want)) {
            return Err(wrong(id, &value, &format!("Byte[{length}], k modulo 256")));
        }
    }
    Ok(())
}

/// The values of these nodes, as many as were asked for, each of them good.
pub(super) fn values(target: &mut Target, ids: &[u32]) -> Result<Vec<Variant>, WorkError> {
    let nodes = ids
        .iter()
        .map(|&id| Ok(ReadValueId::from(target.node(id)?)));
    let request = ReadRequest {
        request_header: Default::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Both,
        nodes_to_read: Some(nodes.collect::<Result<_, WorkError>>()?),
    };
    let response = target
        .session
        .call(request)
        .map_err(|error| WorkError::Call {
            service: "Read",
            about: ids.first().copied(),
            error,
        })?;
    let results = results("Read", response.results, ids.len())?;
    let value = |(&id, result): (&u32, DataValue)| {
        good(format!("i={id}"), result.status.unwrap_or_default())?;
        Ok(result.value.unwrap_or_default())
    };
    ids.iter().zip(results).map(value).collect()
}

pub(super) fn expect(id: u32, got: &Variant, want: &Variant) -> Result<(), WorkError> {
    match got == want {
        true => Ok(()),
        false => Err(wrong(id, got, &format!("{want:?}"))),
    }
}

/// An array of Byte, which some stacks turn into a ByteString (Part 6, 5.2.5: both are a
/// length and the bytes).
fn bytes(value: &Variant) -> Option<Vec<u8>> {
    match value {
        Variant::ByteString(string) => string.value.clone(),
        Variant::Array(array) => array
            .values
            .iter()
            .map(|element| match element {
                Variant::Byte(byte) => Some(*byte),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

fn wrong(id: u32, got: &Variant, want: &str) -> WorkError {
    let got: String = format!("{got:?}").chars().take(80).collect();
    WorkError::value(format!("i={id}"), got, want)
}
