//! What happened lately, and since the measurement began.

use record::Closed;
use record::underway::Recent;

/// Intervals of somebody: a target, a core, or all together.
#[derive(Debug, Clone, Default)]
pub struct Window {
    recent: Recent,
    /// Since the measurement began.
    all: Closed,
}

impl Window {
    /// An interval that is over; it counts for all the time if it was measured.
    pub fn add(&mut self, closed: &Closed, measured: bool) {
        if measured {
            self.all.merge(closed);
        }
        self.recent.add(closed);
    }

    /// The last second before this time, and how much of it there was.
    pub fn now(&self, until_ns: u64) -> (Closed, u64) {
        self.recent.now(until_ns)
    }

    /// Since the measurement began.
    pub const fn all(&self) -> &Closed {
        &self.all
    }
}
