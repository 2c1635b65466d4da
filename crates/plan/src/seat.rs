//! A place in a plan, that one session takes.

use serde::{Deserialize, Serialize};

/// One session of one target. The same seat means the same schedule, the same nodes and the same random
/// numbers, whoever takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Seat {
    /// Which of the plan's targets.
    pub target: u32,
    /// Which of the sessions with this target.
    pub index: u32,
}
