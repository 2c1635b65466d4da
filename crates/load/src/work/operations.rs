//! Operations encoded once, and the requests that are made of them.

use std::sync::Arc;

use plan::mixed;
use wire::template::Template;
use wire::template::walk::BuiltInType;
use wire::types::{BinaryEncodable, ByteString, ContextOwned, MessageInfo};

use super::{Service, WorkError};

/// Where an operation of Write has a number that changes with each request.
#[derive(Debug, Clone, Copy)]
struct Changing {
    kind: BuiltInType,
    /// From the operation's end.
    len: u8,
}

/// What a service is asked for, each encoded once, one after another.
#[derive(Debug, Default)]
pub struct Operations {
    bytes: Vec<u8>,
    /// Where each begins, and the end.
    at: Vec<usize>,
    /// Empty, or one for each operation.
    changing: Vec<Option<Changing>>,
    how: Change,
}

/// How numbers that are written change from request to request.
#[derive(Debug, Clone, Copy, Default)]
pub enum Change {
    /// They count from 0 and begin again where their type ends.
    #[default]
    Count,
    /// Any number of the type, from a seed.
    Random(u64),
}

impl Operations {
    /// Encodes them.
    pub fn new<T: BinaryEncodable>(
        operations: impl IntoIterator<Item = T>,
    ) -> Result<Self, WorkError> {
        let context = ContextOwned::default();
        let mut this = Self {
            at: vec![0],
            ..Self::default()
        };
        for operation in operations {
            operation.encode(&mut this.bytes, &context.context())?;
            this.at.push(this.bytes.len());
        }
        Ok(this)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.at.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Says that these operations end with a number that changes with each request.
    pub(super) fn change(
        &mut self,
        kinds: impl IntoIterator<Item = Option<BuiltInType>>,
        how: Change,
    ) {
        self.how = how;
        let of = |kind: BuiltInType| {
            Some(Changing {
                kind,
                len: u8::try_from(kind.size()?).ok().filter(|len| *len <= 8)?,
            })
        };
        self.changing = kinds.into_iter().map(|kind| kind.and_then(of)).collect();
    }

    /// Appends operations `from..to`.
    #[inline]
    pub(super) fn append(&self, from: usize, to: usize, round: u64, out: &mut Vec<u8>) {
        let (Some(&begin), Some(&end)) = (self.at.get(from), self.at.get(to)) else {
            return;
        };
        let start = out.len();
        out.extend_from_slice(self.bytes.get(begin..end).unwrap_or_default());
        if !self.changing.is_empty() {
            self.renew(
                from..to,
                begin,
                round,
                out.get_mut(start..).unwrap_or_default(),
            );
        }
    }

    fn renew(&self, which: std::ops::Range<usize>, begin: usize, round: u64, out: &mut [u8]) {
        for n in which {
            let (Some(Some(changing)), Some(end)) = (self.changing.get(n), self.at.get(n + 1))
            else {
                continue;
            };
            let len = usize::from(changing.len);
            let end = end - begin;
            if let Some(to) = out.get_mut(end.saturating_sub(len)..end) {
                let n = match self.how {
                    Change::Count => round,
                    Change::Random(seed) => mixed(seed ^ mixed(round.wrapping_add(n as u64))) >> 11,
                };
                let bits = number(changing.kind, n).to_le_bytes();
                to.copy_from_slice(bits.get(..len).unwrap_or_default());
            }
        }
    }
}

/// The payload of the number `n` as this type; integers wrap.
fn number(kind: BuiltInType, n: u64) -> u64 {
    match kind {
        BuiltInType::Boolean => n & 1,
        BuiltInType::Float => u64::from((n as f32).to_bits()),
        BuiltInType::Double => (n as f64).to_bits(),
        _ => n,
    }
}

/// Which operations a session uses, and how many at a time.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The first.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Operations in a request.
    pub batch: usize,
}

/// One session's requests for a service.
#[derive(Debug)]
pub struct Asker {
    service: Service,
    head: Template,
    operations: Arc<Operations>,
    selection: Selection,
    next: usize,
    round: u64,
    follows: bool,
    /// Of a HistoryRead that only lets continuation points go.
    release: Option<Template>,
}

impl Asker {
    /// `empty` is the request without operations: its array of them, which has to come last.
    pub(super) fn new<T: BinaryEncodable + MessageInfo>(
        service: Service,
        empty: &T,
        operations: Arc<Operations>,
        selection: Selection,
    ) -> Result<Self, WorkError> {
        let context = ContextOwned::default();
        Ok(Self {
            service,
            head: Template::new(empty, &context.context())?,
            operations,
            next: 0,
            round: 0,
            selection,
            follows: true,
            release: None,
        })
    }

    /// The service that is asked.
    pub fn service(&self) -> Service {
        self.service
    }

    /// The rest of a Browse is not wanted: the server is told to forget it.
    pub fn without_rest(mut self) -> Self {
        self.follows = false;
        self
    }

    /// How the server is told to forget the rest, where that is the same service again.
    pub(super) fn with_release<T: BinaryEncodable + MessageInfo>(
        mut self,
        empty: &T,
    ) -> Result<Self, WorkError> {
        let context = ContextOwned::default();
        self.release = Some(Template::new(empty, &context.context())?);
        Ok(self)
    }

    /// The place in the list of the operation that the next request begins with.
    pub fn next(&self) -> usize {
        self.next
    }

    /// The place in the list of operation `at` of a request that began with `first`.
    pub fn place(&self, first: usize, at: u32) -> usize {
        // Of no operations none has a place.
        (first + at as usize)
            .checked_rem(self.selection.count)
            .unwrap_or(0)
    }

    /// Appends a HistoryRead that goes on with operations, by their places and continuation
    /// points, or lets these go; tells its length.
    pub fn append_rest(
        &self,
        rest: &[(usize, ByteString)],
        release: bool,
        out: &mut Vec<u8>,
        request_handle: u32,
        utc: i64,
    ) -> usize {
        let begin = out.len();
        let head = self.release.as_ref().filter(|_| release);
        head.unwrap_or(&self.head).append(out, request_handle, utc);
        if let Some(count) = out.last_chunk_mut::<4>() {
            *count = (rest.len() as u32).to_le_bytes();
        }
        for (place, point) in rest {
            let from = self.selection.first + place;
            self.operations.append(from, from + 1, 0, out);
            // The point comes last in an operation, where it was null: a length of -1.
            out.truncate(out.len().saturating_sub(4));
            let point = point.as_ref();
            out.extend_from_slice(&(point.len() as u32).to_le_bytes());
            out.extend_from_slice(point);
        }
        out.len() - begin
    }

    /// Whether the rest of a Browse belongs to it.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Operations in each request.
    pub fn batch(&self) -> usize {
        self.selection.batch
    }

    /// Appends the next request, and tells its length.
    #[inline]
    pub fn append(&mut self, out: &mut Vec<u8>, request_handle: u32, utc: i64) -> usize {
        let begin = out.len();
        self.head.append(out, request_handle, utc);
        if let Some(count) = out.last_chunk_mut::<4>() {
            *count = (self.selection.batch as u32).to_le_bytes();
        }
        let Selection {
            first,
            count,
            batch,
        } = self.selection;
        let mut left = batch;
        while left > 0 {
            let now = left.min(count - self.next);
            let from = first + self.next;
            self.operations.append(from, from + now, self.round, out);
            left -= now;
            self.next += now;
            if self.next == count {
                self.next = 0;
            }
        }
        self.round += 1;
        out.len() - begin
    }
}

impl Selection {
    /// `batch` at a time of these.
    pub fn new(part: std::ops::Range<usize>, batch: u32) -> Self {
        Self {
            first: part.start,
            count: part.len(),
            batch: batch as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::service::{Limits, Request};
    use wire::types::{AttributeId, NodeId, ReadRequest, ReadValueId};

    use super::*;

    fn operations(count: u32) -> Arc<Operations> {
        let nodes = (0..count).map(|n| ReadValueId {
            node_id: NodeId::new(2, 1000 + n),
            attribute_id: AttributeId::Value as u32,
            ..Default::default()
        });
        Arc::new(Operations::new(nodes).unwrap())
    }

    fn asked(asker: &mut Asker) -> Vec<u32> {
        let mut out = Vec::new();
        asker.append(&mut out, 7, 1);
        let request = Request::decode(&out, &Limits::for_message_size(out.len())).unwrap();
        let Request::Read(read) = request else {
            panic!("not a Read");
        };
        assert_eq!(read.request_header.request_handle, 7);
        read.nodes_to_read
            .unwrap()
            .iter()
            .map(|node| node.node_id.as_u32().unwrap())
            .collect()
    }

    fn asker(count: u32, batch: u32) -> Asker {
        let operations = operations(count);
        let selection = Selection::new(0..operations.len(), batch);
        let empty = ReadRequest {
            nodes_to_read: Some(Vec::new()),
            ..Default::default()
        };
        Asker::new(Service::Read, &empty, operations, selection).unwrap()
    }

    #[test]
    fn requests_go_through_the_nodes_in_turn_and_begin_again() {
        let mut asker = asker(5, 3);
        assert_eq!(asked(&mut asker), [1000, 1001, 1002]);
        assert_eq!(asked(&mut asker), [1003, 1004, 1000]);
        assert_eq!(asked(&mut asker), [1001, 1002, 1003]);
    }

    #[test]
    fn a_batch_larger_than_the_list_repeats_nodes() {
        let mut asker = asker(2, 5);
        assert_eq!(asked(&mut asker), [1000, 1001, 1000, 1001, 1000]);
    }
}
