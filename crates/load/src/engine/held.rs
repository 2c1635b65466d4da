//! What is known of rounds of steps and of the sessions of a storm.

/// What is known of rounds beside their times.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    /// When each that went well was over, in nanoseconds since the phase began, rising.
    pub ends_ns: Vec<u64>,
    /// What became of the sessions of a storm.
    pub held: Option<Held>,
}

/// Sessions that were held at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// How many, when they were let go.
    pub sessions: u64,
    /// When the last one had come, in nanoseconds since the phase began.
    pub from_ns: u64,
    /// When they were let go.
    pub to_ns: u64,
}
