//! The last values that were written to a variable.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::budget::Held;
use wire::template::walk::BuiltInType;
use wire::types::{DataValue, DateTime, StatusCode};

use super::range::{self, Page, Span};
use crate::space::Stamp;
use crate::space::encode;
use crate::space::signal::encode_bits;

/// A value as it is kept.
#[derive(Debug, Clone)]
pub enum StoredValue {
    /// A Boolean or a number, by its payload.
    Bits(BuiltInType, u64),
    /// Anything else, as an encoded Variant.
    Encoded(Arc<[u8]>),
}

#[derive(Debug)]
struct Entry {
    value: StoredValue,
    stamp: Stamp,
    /// When it was written, in ticks.
    server: i64,
    /// Of the server's memory for clients, if one wrote it and it is not short.
    #[expect(dead_code, reason = "it is there to be dropped")]
    held: Option<Held>,
}

/// So many values, in order of their source's time.
#[derive(Debug)]
pub struct Ring {
    entries: Mutex<VecDeque<Entry>>,
    depth: usize,
}

impl Ring {
    /// Of the last so many values.
    pub fn new(depth: usize) -> Self {
        Self {
            entries: Mutex::default(),
            depth: depth.max(1),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        // An entry is there or it is not, whoever panicked.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a value; the oldest goes when there are too many.
    pub fn keep(&self, value: StoredValue, stamp: Stamp, server: i64) {
        self.keep_held(value, stamp, server, None);
    }

    /// The same for a value that clients wrote, with its memory.
    pub fn keep_held(&self, value: StoredValue, stamp: Stamp, server: i64, held: Option<Held>) {
        let mut entries = self.lock();
        let entry = Entry {
            value,
            stamp,
            server,
            held,
        };
        let later = entries
            .back()
            .is_some_and(|last| last.stamp.source > stamp.source);
        match later {
            false => entries.push_back(entry),
            // Clients may write times of their own.
            true => {
                let at = entries.partition_point(|other| other.stamp.source <= stamp.source);
                entries.insert(at, entry);
            }
        }
        if entries.len() > self.depth {
            entries.pop_front();
        }
    }

    /// The next page of a span.
    pub fn page(&self, span: &Span, most: usize) -> Page {
        let entries = self.lock();
        let time = |i: u64| {
            entries
                .get(i as usize)
                .map_or(0, |entry| entry.stamp.source)
        };
        let len = entries.len() as u64;
        range::page(span, len, time, most, |i| {
            entries
                .get(i as usize)
                .map(Entry::value)
                .unwrap_or_default()
        })
    }
}

impl Entry {
    fn value(&self) -> DataValue {
        let value = match &self.value {
            StoredValue::Bits(kind, bits) => {
                let mut encoded = Vec::with_capacity(9);
                encode_bits(*kind, *bits, &mut encoded);
                encode::decoded(&encoded)
            }
            StoredValue::Encoded(encoded) => encode::decoded(encoded),
        };
        DataValue {
            value,
            status: (self.stamp.status != StatusCode::Good).then_some(self.stamp.status),
            source_timestamp: Some(DateTime::from(self.stamp.source)),
            server_timestamp: Some(DateTime::from(self.server)),
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_and_late_comers_find_their_place() {
        let ring = Ring::new(3);
        for source in [10, 20, 40, 30] {
            let stamp = Stamp {
                status: StatusCode::Good,
                source,
            };
            ring.keep(
                StoredValue::Bits(BuiltInType::Byte, source as u64),
                stamp,
                99,
            );
        }
        let span = Span {
            start: Some(0),
            end: Some(100),
            count: None,
            bounds: false,
            after: None,
        };
        let values = ring.page(&span, 100).values;
        let values: Vec<_> = values
            .into_iter()
            .map(|value| value.value.unwrap())
            .collect();
        assert_eq!(values, [20u8, 30, 40].map(Into::into));
    }
}
