//! How any value moves with time: numbers by a pattern, everything else by counting.

pub mod kind;
pub mod payload;

use std::sync::Arc;
use std::time::Duration;

use wire::template::walk::BuiltInType;

pub use kind::{Enumeration, Field, Kind, Structure};

use super::{Moves, Pattern, Rhythm, Signal};
use payload::Content;

/// What makes a value move.
#[derive(Debug, Clone)]
pub enum How {
    /// One more each time, from here on.
    Counter(i64),
    /// A pattern of numbers.
    Pattern(Pattern),
}

/// A value of any type that is a function of the number of its updates.
///
/// Element `k` of an array is what a scalar would be `k` updates later.
#[derive(Debug, Clone)]
pub struct Motion {
    /// The clockwork, and the value of numbers.
    signal: Signal,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    /// A Boolean or a number.
    Scalar,
    /// An array or a matrix of them.
    Array(Arc<[u32]>),
    /// Any other type, which can only count.
    Other {
        kind: Kind,
        dimensions: Arc<[u32]>,
        start: i64,
    },
}

impl Motion {
    /// A value that moves each `update`.
    pub fn new(kind: &Kind, dimensions: &Arc<[u32]>, how: How, update: Duration) -> Self {
        // The values of an enumeration need not follow each other.
        let number = kind
            .number()
            .filter(|_| !matches!(kind, Kind::Enumeration(_)));
        let start = match how {
            How::Counter(start) => start,
            How::Pattern(_) => 0,
        };
        let pattern = match how {
            How::Counter(start) => Pattern::Counter {
                start: start as f64,
            },
            How::Pattern(pattern) => pattern,
        };
        let shape = match number {
            Some(_) if dimensions.is_empty() => Shape::Scalar,
            Some(_) => Shape::Array(Arc::clone(dimensions)),
            None => Shape::Other {
                kind: kind.clone(),
                dimensions: Arc::clone(dimensions),
                start,
            },
        };
        let number = number.unwrap_or(BuiltInType::Int64);
        Self {
            signal: Signal::new(number, pattern, update),
            shape,
        }
    }

    /// The clockwork; the value, too, if [`is_number`](Self::is_number).
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Whether the value is a scalar Boolean or number.
    pub fn is_number(&self) -> bool {
        matches!(self.shape, Shape::Scalar)
    }

    /// What a client may know of it beforehand.
    pub fn rhythm(&self, stored: bool) -> Rhythm {
        let rhythm = Rhythm::of(&self.signal, stored);
        match self.shape {
            Shape::Scalar => rhythm,
            // No single number tells which update it is of.
            Shape::Array(_) | Shape::Other { .. } => Rhythm {
                moves: Moves::Otherwise,
                ..rhythm
            },
        }
    }

    /// Appends the value after `n` updates as an encoded Variant. `namespaces` are the indices of
    /// the plant's namespaces.
    pub fn encode(&self, n: u64, namespaces: &[u16], out: &mut Vec<u8>) {
        match &self.shape {
            Shape::Scalar => self.signal.encode(n, out),
            Shape::Array(dimensions) => {
                let kind = self.signal.kind;
                payload::array(kind, dimensions, out, |k, out| {
                    payload::untyped_bits(kind, self.signal.bits(n.wrapping_add(k)), out);
                });
            }
            Shape::Other {
                kind,
                dimensions,
                start,
            } => {
                let number = Content::Number(start.wrapping_add_unsigned(n));
                // Numbers fit into every type.
                let _ = payload::variant(kind, dimensions, number, namespaces, out);
            }
        }
    }
}
