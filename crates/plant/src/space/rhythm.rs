//! What a client may know of a variable beforehand: how often it changes, and by how much.

use std::time::Duration;

use super::signal::{Pattern, Signal};
use super::value::Source;
use super::{NodeIndex, Space};

/// How a variable changes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// The time between two updates.
    pub interval: Duration,
    /// An update loop writes it; otherwise it is computed when asked for.
    pub stored: bool,
    /// What its values tell.
    pub moves: Moves,
}

/// What the values of a variable tell of its updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// Each update adds one: the value tells which update it is of.
    Counter {
        /// The value before the first update.
        start: i64,
        /// The steps of two values differ modulo this; none for 2^64.
        modulus: Option<u64>,
    },
    /// In another way.
    Otherwise,
}

impl Rhythm {
    /// That of a scalar signal.
    pub fn of(signal: &Signal, stored: bool) -> Self {
        let moves = match signal.pattern {
            Pattern::Counter { start } => Moves::Counter {
                start: start as i64,
                modulus: signal.modulus(),
            },
            _ => Moves::Otherwise,
        };
        Self {
            interval: signal.interval(),
            stored,
            moves,
        }
    }
}

impl Space {
    /// How a variable changes by itself, if it does.
    pub fn rhythm(&self, at: NodeIndex) -> Option<Rhythm> {
        match &self.lasting(at)?.variable()?.source {
            Source::Signal(signal) => Some(Rhythm::of(signal, false)),
            _ => self.rhythms.get(&at).copied(),
        }
    }
}
