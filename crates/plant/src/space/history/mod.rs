//! What variables were (Part 11): computed signals are a function of time, also of time that has
//! passed, and need no memory for it; what is written is kept in a ring.

mod nodes;
mod range;
mod ring;

pub use nodes::{configured, describe};
pub use range::{Cursor, Page, Span};
pub use ring::{Ring, StoredValue};

use std::sync::Arc;

use rustc_hash::FxHashMap;
use wire::types::{DataValue, DateTime, StatusCode, Variant};

use crate::space::motion::Motion;
use crate::space::{NodeIndex, encode};

/// What one variable was.
#[derive(Debug)]
pub enum History {
    /// It follows from the time.
    Computed {
        /// How.
        motion: Motion,
        /// The indices of the plant's namespaces.
        namespaces: Arc<[u16]>,
        /// So many updates can be asked for, the newest.
        depth: u64,
    },
    /// It was written.
    Stored(Arc<Ring>),
}

/// What all variables were that have a history.
pub type Histories = FxHashMap<NodeIndex, History>;

impl History {
    /// The values that a span of time asks for, at most so many; where to go on if that is not
    /// all. `nanos` is now, `anchor` real time at the origin of monotonic time.
    pub fn page(&self, span: &Span, most: usize, nanos: u64, anchor: i64) -> Page {
        match self {
            Self::Computed {
                motion,
                namespaces,
                depth,
            } => {
                let signal = motion.signal();
                let last = signal.updates(nanos);
                let first = last.saturating_sub(depth.saturating_sub(1));
                let time = |i: u64| anchor + (signal.updated_at(first + i) / 100) as i64;
                let mut scratch = Vec::new();
                range::page(span, last - first + 1, time, most, |i| {
                    scratch.clear();
                    motion.encode(first + i, namespaces, &mut scratch);
                    let at = DateTime::from(time(i));
                    DataValue {
                        value: encode::decoded(&scratch),
                        source_timestamp: Some(at),
                        server_timestamp: Some(at),
                        ..Default::default()
                    }
                })
            }
            Self::Stored(ring) => ring.page(span, most),
        }
    }

    /// The value at a moment: as it was then, since values stay until the next one comes
    /// (Part 11, 6.5.5, with Stepped). A value that was not given just then says so.
    pub fn at(&self, ticks: i64, now: i64, nanos: u64, anchor: i64) -> DataValue {
        let missing = |status| DataValue {
            value: None,
            status: Some(status),
            source_timestamp: Some(DateTime::from(ticks)),
            server_timestamp: Some(DateTime::from(ticks)),
            ..Default::default()
        };
        if ticks > now {
            return missing(StatusCode::BadNoData);
        }
        // The last one up to then, looking back.
        let span = Span::back_from(ticks, 1);
        let page = self.page(&span, 1, nanos, anchor);
        let Some(mut value) = page.values.into_iter().next() else {
            return missing(StatusCode::BadNoData);
        };
        let own = value.source_timestamp.map_or(0, |at| at.ticks());
        if own != ticks {
            let status = value.status.unwrap_or_default().bits();
            value.status = Some(StatusCode::from(status | INTERPOLATED));
            value.source_timestamp = Some(DateTime::from(ticks));
            value.server_timestamp = Some(DateTime::from(ticks));
        }
        value
    }
}

/// InfoType DataValue and the historian bit Interpolated (Part 4, 7.39.1; Part 11, 6.4.3).
const INTERPOLATED: u32 = 0x0402;

/// Null and a status: what stands for a value that is not there.
fn missing(status: StatusCode, ticks: i64) -> DataValue {
    DataValue {
        value: Some(Variant::Empty),
        status: Some(status),
        source_timestamp: Some(DateTime::from(ticks)),
        server_timestamp: Some(DateTime::from(ticks)),
        ..Default::default()
    }
}
