//! Write (Part 4, 5.11.4), done while the request is walked; of many values or such that are long, a part in each turn.

use std::sync::Arc;

use wire::budget::Spent;
use wire::template::walk::{
    BuiltInType, RawNodeId, RawVariant, RequestHead, WalkError, WriteNode, WriteNodes,
    WriteRequest, type_id,
};
use wire::time::Now;
use wire::types::StatusCode;

use super::steps::Work;
use super::{Refusal, canonical, count, write_head, write_len, write_null_array};
use crate::server_nodes::server_object::ENABLED_FLAG;
use crate::session::Owner;
use crate::shared::Shared;
use crate::space::Rights;
use crate::space::attribute::{self, id};
use crate::space::event::{Audit, EventKind, Field};
use crate::space::history::{History, StoredValue};
use crate::space::value::hold;
use crate::space::{NodeIndex, Source, Stamp, Variable, access, range};

/// Nodes of a request that are looked at in one go.
const LOOKED_AT_ONCE: usize = 500;

/// Work of a value, however short.
const VALUE: usize = 16;

/// Bytes of a value that are copied in the time of a unit of work; each of them is a few times.
const BYTES_IN_A_UNIT: usize = 32;

/// Appends the response to a Write request, or begins to: when the work of a turn is over there is a rest.
pub fn answer(
    shared: &Shared,
    (rights, by): (Rights, Option<&By>),
    body: &[u8],
    now: Now,
    work: &mut Work,
    out: &mut Vec<u8>,
) -> Result<Option<Box<Rest>>, Refusal> {
    let request = WriteRequest::parse(body)?;
    let mut nodes = request.nodes;
    let asked = nodes.left();
    count(asked, shared.config.limits.nodes_per_write)?;
    let handle = request.head.request_handle;
    let head = |out: &mut Vec<u8>| {
        write_head(out, type_id::WRITE_RESPONSE, handle, now);
        write_len(out, asked);
    };
    // The whole request is looked at before anything is written: half of a request that is
    // malformed must not come true.
    if asked > LOOKED_AT_ONCE {
        head(out);
        return Ok(Some(Box::new(Rest::unseen(
            body,
            nodes,
            rights,
            by.cloned(),
        ))));
    }
    for node in nodes.clone() {
        node?;
    }
    head(out);
    shared.counters.writes.add(asked as u64);
    let more = values(shared, (rights, by), &mut nodes, now, work, out)?;
    Ok(more.then(|| {
        Box::new(Rest {
            bytes: nodes.rest().to_vec(),
            at: 0,
            left: nodes.left(),
            rights,
            by: by.cloned(),
            unseen: None,
        })
    }))
}

/// Who writes, where audit events tell of it.
#[derive(Debug, Clone)]
pub struct By {
    owner: Arc<Owner>,
    /// What the client calls it in its own books.
    entry: String,
}

/// A value that is longer is not told of.
const TOLD: usize = 1024;

impl By {
    /// Of a request by its body.
    pub fn new(owner: &Arc<Owner>, body: &[u8], head: &RequestHead<'_>) -> Self {
        Self {
            owner: Arc::clone(owner),
            // One that is null, or that nobody can find, is no entry (Part 4, 7.32).
            entry: entry(body, head).unwrap_or_default(),
        }
    }

    #[cold]
    fn wrote(&self, shared: &Shared, node: &WriteNode<'_>, status: StatusCode, now: Now) {
        let value = node.value.value.map(|it| it.encoded());
        let value = value.filter(|it| it.len() <= TOLD);
        shared.audit(|| {
            let mut audit = Audit::new(EventKind::AuditWriteUpdateEventType, now.utc, status)
                .by(self.owner.name())
                .entered(&self.entry)
                .with(Field::AttributeId, node.attribute_id);
            audit.written = value.map(Into::into);
            let at = shared.space.find(node.node_id);
            audit.node = at
                .and_then(|at| shared.space.node(at))
                .map(|node| node.id.clone());
            audit
        });
    }
}

/// The audit entry of a request stands behind its timestamp, handle and diagnostics (Part 4, 7.32).
fn entry(body: &[u8], head: &RequestHead<'_>) -> Option<String> {
    let rest = body.get(head.timestamp_at + 16..)?;
    let (len, rest) = rest.split_first_chunk()?;
    let len = usize::try_from(i32::from_le_bytes(*len)).ok()?;
    let text = rest.get(..len.min(TOLD))?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// What of a Write is not done yet.
#[derive(Debug)]
pub struct Rest {
    /// The nodes as they are in the request; those that are left begin at `at`.
    bytes: Vec<u8>,
    at: usize,
    left: usize,
    rights: Rights,
    by: Option<By>,
    unseen: Option<UncheckedWrites>,
}

/// What of a request was not looked at yet, so that nothing of it is written.
#[derive(Debug)]
struct UncheckedWrites {
    at: usize,
    left: usize,
    /// It came in another spelling, and has that of walkers now.
    spelled_out: bool,
}

impl Rest {
    /// All of a request.
    fn unseen(body: &[u8], nodes: WriteNodes<'_>, rights: Rights, by: Option<By>) -> Self {
        let (at, left) = (body.len() - nodes.rest().len(), nodes.left());
        Self {
            bytes: body.to_vec(),
            at,
            left,
            rights,
            by,
            unseen: Some(UncheckedWrites {
                at,
                left,
                spelled_out: false,
            }),
        }
    }

    /// Looks at more of the request; true if there is still more to be looked at before anything is written.
    ///
    /// # Errors
    /// It is malformed.
    pub fn look(&mut self, shared: &Shared, work: &mut Work) -> Result<bool, StatusCode> {
        let Some(unseen) = &mut self.unseen else {
            return Ok(false);
        };
        let rest = self.bytes.get(unseen.at..).unwrap_or_default();
        let mut nodes = WriteNodes::again(rest, unseen.left);
        for node in nodes.by_ref() {
            if node.is_err() {
                return self.spell_out(shared);
            }
            work.spend(1);
            if work.is_over() {
                break;
            }
        }
        unseen.at = self.bytes.len() - nodes.rest().len();
        unseen.left = nodes.left();
        if unseen.left == 0 {
            self.unseen = None;
            shared.counters.writes.add(self.left as u64);
        }
        Ok(self.unseen.is_some())
    }

    /// What a walker does not follow may be spelled in another way than usual.
    #[cold]
    fn spell_out(&mut self, shared: &Shared) -> Result<bool, StatusCode> {
        if self.unseen.as_ref().is_none_or(|it| it.spelled_out) {
            return Err(StatusCode::BadDecodingError);
        }
        let body = canonical(&self.bytes, &shared.decoding)?;
        let request = WriteRequest::parse(&body).map_err(|_| StatusCode::BadDecodingError)?;
        *self = Self::unseen(&body, request.nodes, self.rights, self.by.take());
        if let Some(unseen) = &mut self.unseen {
            unseen.spelled_out = true;
        }
        Ok(true)
    }

    /// Writes more values, as many as there is work for; true if there are still more.
    pub fn write(&mut self, shared: &Shared, now: Now, work: &mut Work, out: &mut Vec<u8>) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut nodes = WriteNodes::again(rest, self.left);
        let who = (self.rights, self.by.as_ref());
        let more = values(shared, who, &mut nodes, now, work, out);
        let (rest, left) = (nodes.rest().len(), nodes.left());
        self.at = self.bytes.len() - rest;
        self.left = left;
        // All of them were walked before.
        more.unwrap_or(false)
    }

    /// Bytes of the request that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes values until there are no more or the work is over; true if there are more.
fn values(
    shared: &Shared,
    (rights, by): (Rights, Option<&By>),
    nodes: &mut WriteNodes<'_>,
    now: Now,
    work: &mut Work,
    out: &mut Vec<u8>,
) -> Result<bool, WalkError> {
    let mut updates = 0;
    while let Some(node) = nodes.next() {
        let node = node?;
        work.spend(VALUE);
        let status = match write(shared, rights, &node, now, work) {
            Ok(()) => {
                updates += 1;
                if let RawNodeId::Numeric { namespace: 0, id } = node.node_id {
                    switched(shared, id, now);
                }
                StatusCode::Good
            }
            Err(status) => status,
        };
        if let Some(by) = by {
            by.wrote(shared, &node, status, now);
        }
        out.extend_from_slice(&status.bits().to_le_bytes());
        if work.is_over() && nodes.left() > 0 {
            break;
        }
    }
    shared.counters.updates.add(updates);
    let more = nodes.left() > 0;
    if !more {
        write_null_array(out);
    }
    Ok(more)
}

/// Sees to what follows from a write to one of the server's own variables.
#[cold]
fn switched(shared: &Shared, id: u32, now: Now) {
    if id == ENABLED_FLAG as u32
        && let Some(at) = shared.space.find_id(&ENABLED_FLAG.into())
        && let Some(flag) = shared.space.node(at)
        && let Some(variable) = flag.variable()
        && let Some((_, bits, _)) = variable.source.bits(now, shared.space.anchor())
    {
        shared.register.enable(bits & 1 != 0, &shared.counters);
    }
}

fn write(
    shared: &Shared,
    rights: Rights,
    what: &WriteNode<'_>,
    now: Now,
    work: &mut Work,
) -> Result<(), StatusCode> {
    let space = &shared.space;
    let unknown = StatusCode::BadNodeIdUnknown;
    let at = space.find(what.node_id).ok_or(unknown)?;
    let node = space.node(at).ok_or(unknown)?;
    let variable = match (node.variable(), what.attribute_id) {
        (Some(variable), id::VALUE) => variable,
        _ if attribute::has(&node, what.attribute_id) => return Err(StatusCode::BadNotWritable),
        _ => return Err(StatusCode::BadAttributeIdInvalid),
    };
    if variable.access_level & access::WRITE == 0 {
        return Err(StatusCode::BadNotWritable);
    }
    if attribute::user_access(&node, variable, rights) & access::WRITE == 0 {
        return Err(StatusCode::BadUserAccessDenied);
    }
    let stamp = Stamp {
        status: what.value.status(),
        source: what.value.source_timestamp().unwrap_or(now.utc),
    };
    let null = RawVariant::parse(&[0]).map_err(|_| StatusCode::BadInternalError)?;
    let value = what.value.value.unwrap_or(null);
    let current = current(&variable.source)?;
    let current = RawVariant::parse(&current).map_err(|_| StatusCode::BadInternalError)?;
    let copied = match what.index_range {
        [] => value.encoded().len(),
        // The whole is made anew.
        _ => current.encoded().len(),
    };
    work.spend(copied / BYTES_IN_A_UNIT);
    if !what.index_range.is_empty() {
        let whole = write_range(shared, variable, what, &value, stamp)?;
        return remember(shared, at, variable, &whole, stamp, now);
    }
    let bytes;
    let value = match as_byte_array(&value, &current) {
        Some(converted) => {
            bytes = converted;
            RawVariant::parse(&bytes).map_err(|_| StatusCode::BadInternalError)?
        }
        None => value,
    };
    let same_rank = value.array_len().is_some() == current.array_len().is_some();
    if value.kind() != current.kind() || !same_rank {
        return Err(StatusCode::BadTypeMismatch);
    }
    let held = hold(value.encoded().len(), &shared.config.memory).map_err(no_memory)?;
    match variable.source.set_held(&value, stamp, held) {
        true => remember(shared, at, variable, value.encoded(), stamp, now),
        false => Err(StatusCode::BadNotWritable),
    }
}

fn no_memory(_: Spent) -> StatusCode {
    StatusCode::BadOutOfMemory
}

/// Keeps what was written, where a variable has a history.
fn remember(
    shared: &Shared,
    at: NodeIndex,
    variable: &Variable,
    encoded: &[u8],
    stamp: Stamp,
    now: Now,
) -> Result<(), StatusCode> {
    if variable.access_level & access::HISTORY_READ != 0
        && let Some(History::Stored(ring)) = shared.space.history(at)
    {
        let held = hold(encoded.len(), &shared.config.memory).map_err(no_memory)?;
        ring.keep_held(StoredValue::Encoded(encoded.into()), stamp, now.utc, held);
    }
    Ok(())
}

/// The encoded value that is there, which says what type another one must have.
fn current(source: &Source) -> Result<Arc<[u8]>, StatusCode> {
    match source {
        Source::Blob(blob) => Ok(blob.get().0),
        Source::Scalar(scalar) => {
            let mut encoded = vec![scalar.kind() as u8];
            encoded.resize(1 + scalar.kind().size().unwrap_or(0), 0);
            Ok(encoded.into())
        }
        _ => Err(StatusCode::BadNotWritable),
    }
}

/// Part 4, 5.11.4.2: a ByteString may be written to an array of Byte.
fn as_byte_array(value: &RawVariant<'_>, current: &RawVariant<'_>) -> Option<Vec<u8>> {
    let wanted = current.kind() == BuiltInType::Byte && current.array_len().is_some();
    if !wanted || value.kind() != BuiltInType::ByteString || value.array_len().is_some() {
        return None;
    }
    let mut array = vec![BuiltInType::Byte as u8 | 0x80];
    array.extend_from_slice(value.payload());
    Some(array)
}

/// Writes a part of an array or text, and tells the whole that came of it.
fn write_range(
    shared: &Shared,
    variable: &Variable,
    what: &WriteNode<'_>,
    value: &RawVariant<'_>,
    stamp: Stamp,
) -> Result<Arc<[u8]>, StatusCode> {
    let range = range::parse(what.index_range)?;
    let Source::Blob(blob) = &variable.source else {
        return Err(StatusCode::BadIndexRangeNoData);
    };
    // Two clients may write two parts at the same time: neither must undo the other's.
    blob.change(stamp, |whole| {
        let whole = RawVariant::parse(whole).map_err(|_| StatusCode::BadInternalError)?;
        let bytes = as_byte_array(value, &whole);
        let value = match &bytes {
            Some(bytes) => RawVariant::parse(bytes).map_err(|_| StatusCode::BadInternalError)?,
            None => *value,
        };
        let made = range::replaced(&whole, &range, &value)?;
        let held = hold(made.len(), &shared.config.memory).map_err(no_memory)?;
        Ok((made, held))
    })
}
