//! Connections of a loop that have their turn although nothing happens on them.

use std::collections::VecDeque;

use super::SlotId;
use super::unauthenticated::Unauthenticated;

/// Who waits for a turn.
#[derive(Default)]
pub struct Queues {
    /// Connections that were given something to send while nobody looked at them.
    pub dirty: Vec<SlotId>,
    /// Connections that have more to read than they were given time for.
    pub again: Vec<SlotId>,
    /// Connections that have more to write than they were given time for.
    pub unwritten: VecDeque<SlotId>,
    /// Those that nobody is logged in on.
    pub unauthenticated: Unauthenticated,
}

impl Queues {
    /// Whether anybody waits who is not told of at the end of the turn anyway.
    pub fn wait(&self) -> bool {
        !self.again.is_empty() || !self.unwritten.is_empty() || self.unauthenticated.wait()
    }
}
