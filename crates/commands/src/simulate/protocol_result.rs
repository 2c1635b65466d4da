//! Sessions that were simulated.

use std::time::Duration;

use simulate::protocol::SessionCourse;

use super::scene::{Reading, Set};

/// What was simulated.
pub struct SessionResult {
    pub set: Set,
    pub reading: Reading,
    pub sessions: u32,
    pub every: Option<Duration>,
    pub courses: Vec<SessionCourse>,
    pub interrupted: bool,
}
