//! A server of which each turn is measured.

use std::ops::Deref;
use std::time::{Duration, Instant};

use plant::in_memory::{ClientEnd, InMemory};

/// No more work is done in a turn: some thousands for each connection that has its turn.
const WORK: usize = 40_000;
/// Nor does it take longer: it takes some 50 ms at most without optimisation, and what is not done in pieces takes
/// seconds.
const TURN: Duration = Duration::from_secs(3);

/// The server.
pub struct Served(pub InMemory);

impl Deref for Served {
    type Target = InMemory;

    fn deref(&self) -> &InMemory {
        &self.0
    }
}

impl Served {
    /// A client comes that takes `room` bytes before it reads them.
    pub fn connect(&mut self, room: usize) -> ClientEnd {
        self.0.connect(room)
    }

    /// A turn of all loops. Whether there was anything to do.
    pub fn turn(&mut self) -> bool {
        let (spent, start) = (self.spent(), Instant::now());
        let busy = self.0.turn();
        let (spent, took) = (self.spent() - spent, start.elapsed());
        assert!(spent <= WORK, "work of {spent} in a turn");
        assert!(took < TURN, "a turn of {took:?}: {:?}", self.has());
        busy
    }
}
