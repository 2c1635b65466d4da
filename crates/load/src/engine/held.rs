//! What is known of rounds of steps and of the sessions of a storm.

use serde::{Deserialize, Serialize};

/// What is known of rounds beside their times.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// When each that went well was over, in nanoseconds since the phase began, rising.
    pub ends_ns: Vec<u64>,
    /// What became of the sessions of a storm.
    pub held: Option<Held>,
}

/// Sessions that were held at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// How many, when they were let go.
    pub sessions: u64,
    /// When the last one had come, in nanoseconds since the phase began.
    pub from_ns: u64,
    /// When they were let go.
    pub to_ns: u64,
}

impl Rounds {
    /// Adds those of others, who began at the same moment.
    pub fn merge(&mut self, other: Self) {
        self.ends_ns.extend(other.ends_ns);
        self.ends_ns.sort_unstable();
        self.held = match (self.held, other.held) {
            // All are there when the last one has come, until the first ones go.
            (Some(a), Some(b)) => Some(Held {
                sessions: a.sessions + b.sessions,
                from_ns: a.from_ns.max(b.from_ns),
                to_ns: a.to_ns.min(b.to_ns),
            }),
            (a, b) => a.or(b),
        };
    }
}
