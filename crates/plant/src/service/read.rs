//! Read (Part 4, 5.11.2), answered while the request is walked.
//!
//! A value costs the walk of its ReadValueId, an array access for its node and the copy of its
//! bytes; nothing is allocated but by the output buffer.

use wire::template::walk::{ReadNode, ReadNodes, ReadRequest, RequestHead, WalkError, type_id};
use wire::time::Now;
use wire::types::StatusCode;

use super::{Refusal, count, write_head, write_len, write_null_array};
use crate::fault::Class;
use crate::shared::Shared;
use crate::space::attribute::{self, Reading, Timestamps};
use crate::users::Rights;

/// Appends the response to a Read request, or about `most` bytes of it; then there is a rest.
pub fn answer(
    shared: &Shared,
    rights: Rights,
    head: &RequestHead<'_>,
    body: &[u8],
    now: Now,
    most: usize,
    out: &mut Vec<u8>,
) -> Result<Option<Box<Rest>>, Refusal> {
    let request = ReadRequest::behind(*head, body)?;
    // Part 4, table 54.
    if request.max_age < 0.0 || request.max_age.is_nan() {
        return Err(StatusCode::BadMaxAgeInvalid.into());
    }
    let stamps = Timestamps::from_wire(request.timestamps_to_return)
        .ok_or(StatusCode::BadTimestampsToReturnInvalid)?;
    let asked = request.nodes.left();
    count(asked, shared.config.limits.nodes_per_read)?;
    write_head(
        out,
        type_id::READ_RESPONSE,
        request.head.request_handle,
        now,
    );
    write_len(out, asked);
    let reading = Reading {
        stamps,
        rights,
        now,
    };
    let mut nodes = request.nodes;
    let more = values(shared, &mut nodes, reading, most, out)?;
    let rest = match more {
        false => None,
        true => Some(Rest::of(nodes, reading)?),
    };
    shared.counters.reads.add(asked as u64);
    Ok(rest)
}

/// Appends values until there are no more or enough; true if there are more.
#[inline]
fn values(
    shared: &Shared,
    nodes: &mut ReadNodes<'_>,
    reading: Reading,
    most: usize,
    out: &mut Vec<u8>,
) -> Result<bool, WalkError> {
    let Reading { stamps, now, .. } = reading;
    let enough = out.len().saturating_add(most);
    let faults = shared.faults.want(Class::Read);
    while let Some(node) = nodes.next() {
        let node = node?;
        match faults.then(|| struck(shared, &node, now)).flatten() {
            Some(status) => attribute::refuse(out, status, stamps, now),
            None => attribute::read(&shared.space, &node, reading, out),
        }
        if out.len() >= enough && nodes.left() > 0 {
            return Ok(true);
        }
    }
    write_null_array(out);
    Ok(false)
}

/// What of a Read is not answered yet.
#[derive(Debug)]
pub struct Rest {
    /// The nodes as they are in the request.
    nodes: Vec<u8>,
    at: usize,
    left: usize,
    reading: Reading,
}

impl Rest {
    /// Of nodes that can all be walked.
    fn of(nodes: ReadNodes<'_>, reading: Reading) -> Result<Box<Self>, WalkError> {
        nodes.clone().try_for_each(|node| node.map(drop))?;
        Ok(Box::new(Self {
            nodes: nodes.rest().to_vec(),
            at: 0,
            left: nodes.left(),
            reading,
        }))
    }

    /// Whether the whole is short enough, as far as can be said now: values may grow before they are read.
    pub fn fits<E>(
        &self,
        shared: &Shared,
        mut bytes: usize,
        takes: impl Fn(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        if takes(usize::MAX).is_ok() {
            return Ok(());
        }
        let mut value = Vec::new();
        for node in self.nodes().flatten() {
            value.clear();
            attribute::read(&shared.space, &node, self.reading, &mut value);
            bytes += value.len();
            takes(bytes)?;
        }
        Ok(())
    }

    /// Appends about `most` bytes more; true if there are still more.
    pub fn write(&mut self, shared: &Shared, now: Now, most: usize, out: &mut Vec<u8>) -> bool {
        self.reading.now = now;
        let mut nodes = self.nodes();
        let more = values(shared, &mut nodes, self.reading, most, out);
        let (rest, left) = (nodes.rest().len(), nodes.left());
        self.at = self.nodes.len() - rest;
        self.left = left;
        // All of them were walked before.
        more.unwrap_or(false)
    }

    fn nodes(&self) -> ReadNodes<'_> {
        let rest = self.nodes.get(self.at..).unwrap_or_default();
        ReadNodes::again(rest, self.left)
    }
}

/// The status that a fault gives a value instead.
#[cold]
fn struck(shared: &Shared, what: &ReadNode<'_>, now: Now) -> Option<StatusCode> {
    let at = shared.space.find(what.node_id)?;
    let is_value = what.attribute_id == attribute::id::VALUE;
    is_value.then(|| shared.faults.read(at, now.mono)).flatten()
}
