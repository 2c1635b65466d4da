//! Memory that is lent to the connection that has its turn, so that one that is idle has none.

use super::link::Link;

/// What one read takes from a socket at most.
const READ: usize = 256 * 1024;

/// Memory of a loop, or of a thread that lends it to one loop after the other.
#[derive(Debug, Default)]
pub struct LoopMemory {
    /// To read into; empty while a connection has it.
    pub inbox: Vec<u8>,
    /// To write into.
    pub outbox: Vec<u8>,
    /// A request that is kept while it is looked at.
    pub body: Vec<u8>,
}

impl LoopMemory {
    /// With memory to read into.
    pub fn for_a_thread() -> Self {
        Self {
            inbox: vec![0; READ],
            ..Self::default()
        }
    }

    /// Whether a connection has what there is to read into.
    pub fn is_out(&self) -> bool {
        self.inbox.is_empty()
    }

    /// Takes it back from the connection, if that is still there.
    pub fn take_back(&mut self, link: Option<&mut Link>) {
        if let Some(link) = link {
            self.inbox = link.connection.reclaim_inbox();
        }
        // A connection that is gone took it along, and a long chunk may have made it longer.
        if self.inbox.len() != READ {
            self.inbox = vec![0; READ];
        }
    }
}
