//! An item whose values have to be asked for: what was written, what the server knows of itself,
//! attributes.

use std::sync::Arc;

use wire::template::walk::{BuiltInType, RawVariant};
use wire::time::Now;
use wire::types::{NumericRange, StatusCode};

use super::memory::Memory;
use super::queue::{Encoded, Entry, ItemValue, Queue, dropped};
use crate::ledger::Values;
use crate::space::Rights;
use crate::space::attribute::{self, id};
use crate::space::{Body, NodeIndex, Space, range as part_of};

/// What such an item keeps.
#[derive(Debug, Default)]
pub struct Held {
    /// Values that were not sent yet.
    pub queue: Queue<Entry>,
    /// The last value that passed the filter.
    pub last: Option<Entry>,
    /// How often what it watches was written when it was asked last.
    pub version: u32,
}

impl Held {
    /// Queues a value, which is the last one then, in a queue of so many that drops the oldest or the newest.
    #[inline]
    pub fn take(
        &mut self,
        entry: Entry,
        (size, discard_oldest): (usize, bool),
        memory: &Memory,
        values: &mut Values,
    ) {
        self.last = Some(entry.clone());
        values.queued += 1;
        if !self.queue.push(entry, size, discard_oldest, memory) {
            *dropped(values, size) += 1;
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The node.
    pub node: NodeIndex,
    /// Its attribute.
    pub attribute: u32,
    /// The part of the value, if not all of it.
    pub range: Option<&'a NumericRange>,
}

impl Question<'_> {
    /// How often what it asks for was written.
    pub fn version(&self, space: &Space) -> u32 {
        let node = space.node(self.node);
        let variable = node.as_deref().and_then(|node| node.variable());
        let variable = variable.filter(|_| self.attribute == id::VALUE);
        variable.map_or(0, |variable| variable.source.version())
    }

    /// The answer now.
    pub fn ask(&self, space: &Space, now: Now, memory: &Memory) -> Entry {
        // A Boolean or a number is not encoded to be looked at.
        if let (id::VALUE, None) = (self.attribute, self.range)
            && let Some(node) = space.node(self.node)
            && let Some(variable) = node.variable()
            && let Some((kind, bits, stamp)) = variable.source.bits(now, space.anchor())
        {
            return Entry {
                seen: ItemValue::Bits(kind, bits),
                status: stamp.status.bits(),
                source: stamp.source,
                server: now.utc,
            };
        }
        let mut encoded = Vec::new();
        let (seen, status, source) = match self.read(space, now, &mut encoded) {
            Ok((status, source)) => match seen(&encoded, memory) {
                Some(seen) => (seen, status, source),
                None => (
                    ItemValue::Nothing,
                    StatusCode::BadOutOfMemory.bits(),
                    source,
                ),
            },
            Err(status) => (ItemValue::Nothing, status.bits(), 0),
        };
        Entry {
            seen,
            status,
            source,
            server: now.utc,
        }
    }

    fn read(&self, space: &Space, now: Now, out: &mut Vec<u8>) -> Result<(u32, i64), StatusCode> {
        let node = space.node(self.node).ok_or(StatusCode::BadNodeIdUnknown)?;
        match &node.body {
            Body::Variable(variable) if self.attribute == id::VALUE => {
                let stamp = variable.source.write(now, space.anchor(), out);
                if let Some(range) = self.range {
                    part_of::cut(out, 0, range)?;
                }
                Ok((stamp.status.bits(), stamp.source))
            }
            _ => attribute::other(&node, self.attribute, Rights::ALL, out).map(|()| (0, 0)),
        }
    }
}

/// A value by its encoded Variant. None if there is no memory for it.
fn seen(encoded: &[u8], memory: &Memory) -> Option<ItemValue> {
    let scalar = encoded.split_first().and_then(|(kind, payload)| {
        let value = RawVariant::parse(encoded).ok()?;
        let small = (1..=8).contains(&payload.len());
        let plain = *kind <= BuiltInType::Double as u8 && value.array_len().is_none();
        if !small || !plain {
            return None;
        }
        let mut bits = [0; 8];
        bits.iter_mut()
            .zip(payload)
            .for_each(|(to, from)| *to = *from);
        Some(ItemValue::Bits(value.kind(), u64::from_le_bytes(bits)))
    });
    let kept = || Some(ItemValue::Encoded(Arc::new(Encoded::new(encoded, memory)?)));
    scalar.or_else(kept)
}
