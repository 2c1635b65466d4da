//! Cycles: all sessions send at the same moment, and the next cycle begins when the last answer of this
//! one is there. So a cycle takes as long as its slowest request.

use serde::{Deserialize, Serialize};

/// A cycle that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Took {
    /// When its slowest request was answered, in nanoseconds since the phase began.
    pub ended: u64,
    /// How long it took until then.
    pub ns: u64,
}

/// The cycle that goes on.
#[derive(Debug, Default)]
pub struct Cycle {
    /// When it began.
    began: u64,
    /// When the last answer so far came in; none yet.
    last: Option<u64>,
    /// So many seats, from the first one on, are done with it. Until the next one begins they stay so.
    pub resting: usize,
    /// How long each cycle took, in order.
    took: Vec<Took>,
}

/// More cycles than these are not kept one by one.
const MOST: usize = 1_000_000;

impl Cycle {
    /// An answer came in.
    pub fn answered(&mut self, t: u64) {
        self.last = Some(t);
    }

    /// All seats are done; the next one begins at this time. One without an answer was none.
    pub fn next(&mut self, at: u64) {
        if let Some(last) = self.last.take()
            && self.took.len() < MOST
        {
            self.took.push(Took {
                ended: last,
                ns: last.saturating_sub(self.began),
            });
        }
        self.began = at;
        self.resting = 0;
    }

    /// How long each took.
    pub fn into_took(self) -> Vec<Took> {
        self.took
    }
}
