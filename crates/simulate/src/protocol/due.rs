//! What is due, and its order.

use super::course::{ProtocolStep, Side};
use super::parties::{Answer, Task};
use crate::tcp::Segment;

/// What is due.
pub enum What {
    /// A client connects.
    Begins,
    /// A segment arrives at a side.
    Arrives(Side, Segment),
    /// TCP's timer of a side.
    Timer(Side),
    /// A side has dealt with a chunk that came.
    Takes(Side, Vec<u8>),
    /// A side has made chunks that it sends.
    Writes(Side, Vec<u8>),
    /// A side has made bytes of TLS, and the client may have done a step with them.
    Ships(Side, Vec<u8>, Option<ProtocolStep>),
    /// The client has done something.
    Did(Task),
    /// The server has done something.
    Answered(Answer),
    /// The client looks at its deadlines.
    Deadline,
    /// TCP has had its time to connect.
    GivesUp,
}

pub struct Due {
    pub at: u64,
    pub number: u64,
    pub session: usize,
    /// Of which of its connections; events of one that is over are nobody's.
    pub connection: u32,
    pub what: What,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
