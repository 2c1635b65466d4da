//! Read (Part 4, 5.11.2), answered while the request is walked.
//!
//! A value costs the walk of its ReadValueId, an array access for its node and the copy of its
//! bytes; nothing is allocated but by the output buffer.

use wire::template::walk::{ReadNode, ReadRequest, RequestHead, type_id};
use wire::time::Now;
use wire::types::StatusCode;

use super::{Refusal, count, write_head, write_len, write_null_array};
use crate::fault::Class;
use crate::shared::Shared;
use crate::space::attribute::{self, Reading, Timestamps};
use crate::users::Rights;

/// Appends the response to a Read request.
pub fn answer(
    shared: &Shared,
    rights: Rights,
    head: &RequestHead<'_>,
    body: &[u8],
    now: Now,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let request = ReadRequest::behind(*head, body)?;
    // Part 4, table 54.
    if request.max_age < 0.0 || request.max_age.is_nan() {
        return Err(StatusCode::BadMaxAgeInvalid.into());
    }
    let stamps = Timestamps::from_wire(request.timestamps_to_return)
        .ok_or(StatusCode::BadTimestampsToReturnInvalid)?;
    let nodes = request.nodes.left();
    count(nodes, shared.config.limits.nodes_per_read)?;
    write_head(
        out,
        type_id::READ_RESPONSE,
        request.head.request_handle,
        now,
    );
    write_len(out, nodes);
    let reading = Reading {
        stamps,
        rights,
        now,
    };
    let faults = shared.faults.want(Class::Read);
    for node in request.nodes {
        let node = node?;
        match faults.then(|| struck(shared, &node, now)).flatten() {
            Some(status) => attribute::refuse(out, status, stamps, now),
            None => attribute::read(&shared.space, &node, reading, out),
        }
    }
    write_null_array(out);
    shared.counters.reads.add(nodes as u64);
    Ok(())
}

/// The status that a fault gives a value instead.
#[cold]
fn struck(shared: &Shared, what: &ReadNode<'_>, now: Now) -> Option<StatusCode> {
    let at = shared.space.find(what.node_id)?;
    let is_value = what.attribute_id == attribute::id::VALUE;
    is_value.then(|| shared.faults.read(at, now.mono)).flatten()
}
