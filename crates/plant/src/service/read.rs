//! Read (Part 4, 5.11.2), answered while the request is walked.
//!
//! A value costs the walk of its ReadValueId, an array access for its node and the copy of its
//! bytes; nothing is allocated but by the output buffer.

use wire::template::walk::{ReadNode, ReadNodes, ReadRequest, RequestHead, WalkError, type_id};
use wire::time::Now;
use wire::types::StatusCode;

use super::steps::Work;
use super::{Refusal, count, write_head, write_len, write_null_array};
use crate::fault::Class;
use crate::shared::Shared;
use crate::space::Rights;
use crate::space::attribute::{self, Reading, Timestamps};

/// Bytes that are copied or measured in the time of a unit of work.
const BYTES_IN_A_UNIT: usize = 64;

/// Appends the response to a Read request, or about `most` bytes of it; then there is a rest.
#[inline]
pub fn answer(
    shared: &Shared,
    rights: Rights,
    head: &RequestHead<'_>,
    body: &[u8],
    now: Now,
    (most, work): (usize, &mut Work),
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
    let more = values(shared, &mut nodes, reading, most, work, out)?;
    let rest = match more {
        false => None,
        true => Some(Rest::of(nodes, reading)?),
    };
    shared.counters.reads.add(asked as u64);
    Ok(rest)
}

/// Appends values until there are no more or enough; true if there are more. What is only looked at counts as well: a
/// thousand elements of large arrays take as long as a thousand arrays.
#[inline]
fn values(
    shared: &Shared,
    nodes: &mut ReadNodes<'_>,
    reading: Reading,
    most: usize,
    work: &mut Work,
    out: &mut Vec<u8>,
) -> Result<bool, WalkError> {
    let Reading { stamps, now, .. } = reading;
    let start = out.len();
    let enough = start.saturating_add(most);
    let mut looked = 0;
    let faults = shared.faults.want(Class::Read);
    while let Some(node) = nodes.next() {
        let node = node?;
        match faults.then(|| struck(shared, &node, now)).flatten() {
            Some(status) => attribute::refuse(out, status, stamps, now),
            None => looked += attribute::read(&shared.space, &node, reading, out),
        }
        if out.len() + looked >= enough && nodes.left() > 0 {
            work.spend((out.len() - start + looked) / BYTES_IN_A_UNIT);
            return Ok(true);
        }
    }
    write_null_array(out);
    work.spend((out.len() - start + looked) / BYTES_IN_A_UNIT);
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
    /// What is to be measured before any of it goes to a client that does not take any length.
    measuring: Option<Measuring>,
}

/// How long an answer is, as far as is known.
#[derive(Debug)]
struct Measuring {
    at: usize,
    left: usize,
    bytes: usize,
    most: usize,
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
            measuring: None,
        }))
    }

    /// The answer has so many bytes already, and its client takes so many: whether it is short enough is found out
    /// first.
    pub fn measure_within(&mut self, bytes: usize, most: usize) {
        self.measuring = Some(Measuring {
            at: self.at,
            left: self.left,
            bytes,
            most,
        });
    }

    /// Finds out how long about `piece` bytes more of the answer are; true if there is more to be found out. Values may
    /// still grow before they are read.
    pub fn measure(
        &mut self,
        shared: &Shared,
        piece: usize,
        work: &mut Work,
    ) -> Result<bool, StatusCode> {
        let Some(measuring) = &mut self.measuring else {
            return Ok(false);
        };
        let rest = self.nodes.get(measuring.at..).unwrap_or_default();
        let mut nodes = ReadNodes::again(rest, measuring.left);
        let (mut value, mut found, mut looked) = (Vec::new(), 0, 0);
        while found + looked < piece
            && let Some(Ok(node)) = nodes.next()
        {
            value.clear();
            looked += attribute::read(&shared.space, &node, self.reading, &mut value);
            found += value.len();
        }
        measuring.bytes += found;
        measuring.at = self.nodes.len() - nodes.rest().len();
        measuring.left = nodes.left();
        work.spend((found + looked) / BYTES_IN_A_UNIT + 1);
        if measuring.bytes > measuring.most {
            return Err(StatusCode::BadResponseTooLarge);
        }
        if measuring.left == 0 {
            self.measuring = None;
        }
        Ok(self.measuring.is_some())
    }

    /// Appends about `most` bytes more; true if there are still more.
    pub fn write(
        &mut self,
        shared: &Shared,
        now: Now,
        most: usize,
        work: &mut Work,
        out: &mut Vec<u8>,
    ) -> bool {
        self.reading.now = now;
        let mut nodes = self.nodes();
        let more = values(shared, &mut nodes, self.reading, most, work, out);
        let (rest, left) = (nodes.rest().len(), nodes.left());
        self.at = self.nodes.len() - rest;
        self.left = left;
        // All of them were walked before.
        more.unwrap_or(false)
    }

    /// Bytes of the request that are kept.
    pub fn bytes(&self) -> usize {
        self.nodes.len()
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
