//! What rounds of steps leave behind in a server.

use serde::{Deserialize, Serialize};

use super::Figure;

/// What rounds of steps leave behind in a server, as far as its process was watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    /// Of what the slopes are: a `session` that is held, or a `round` that is over.
    pub per: String,
    /// By how many bytes the server's resident memory rose with each.
    pub memory_bytes: Figure<Rise>,
    /// By how many descriptors.
    pub descriptors: Figure<Rise>,
    /// Sessions that were held at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// A slope, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rise {
    /// By how much it rose.
    pub each: f64,
    /// Half of the interval's width.
    pub error: f64,
}

/// Sessions that were held at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// How many there were when they were let go.
    pub sessions: u64,
    /// When the last one had come.
    pub from_ns: u64,
    /// When they were let go.
    pub to_ns: u64,
    /// Cores that they kept the server busy with meanwhile.
    pub cpu_cores: Figure<f64>,
}
