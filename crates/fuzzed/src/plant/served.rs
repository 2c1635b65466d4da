//! A server of which each turn is measured: by what it says that it did, by what it allocated and by what it took from
//! the processor. How long a turn lasted is no measure: others work on the machine, too.

use std::ops::Deref;
use std::time::Duration;

use plant::in_memory::{ClientEnd, InMemory, processor_time};

use crate::allocated;

/// No more work is done in a turn: some thousands for each connection that has its turn.
const WORK: usize = 32_000;
/// Nor is more allocated in it, where somebody counts: what is not done in pieces asks for hundreds of megabytes.
const ALLOCATED: u64 = 32 << 20;
/// Nor does it take more from the processor: some 50 ms without optimisation, and what is not done in pieces takes
/// seconds.
const PROCESSOR: Duration = Duration::from_secs(2);

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
        let before = (self.spent(), allocated::so_far(), processor_time());
        let busy = self.0.turn();
        let spent = self.spent() - before.0;
        assert!(spent <= WORK, "work of {spent} in a turn");
        let bytes = allocated::so_far() - before.1;
        assert!(bytes <= ALLOCATED, "{bytes} bytes allocated in a turn");
        if let (Some(before), Some(now)) = (before.2, processor_time()) {
            let took = now.saturating_sub(before);
            assert!(took < PROCESSOR, "a turn of {took:?}: {:?}", self.has());
        }
        busy
    }
}
