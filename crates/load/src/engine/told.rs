//! What a core tells: while it runs, and at the end.

use record::{Closed, Tally};
use wire::client::Connection;

use crate::transport::Socket;

/// What a core tells while it runs.
#[derive(Debug)]
pub struct Progress {
    /// Which core.
    pub core: usize,
    /// Intervals that are over, by ledger.
    pub closed: Vec<(usize, Closed)>,
}

/// A session that was lost.
#[derive(Debug, Clone)]
pub struct Loss {
    /// Which.
    pub session: usize,
    /// When, in nanoseconds since the phase began.
    pub at_ns: u64,
    /// Why.
    pub reason: String,
    /// Whether it came back.
    pub back: bool,
}

/// What a core has to tell at the end.
#[derive(Debug)]
pub struct Report {
    /// What was written down, by ledger.
    pub tallies: Vec<Tally>,
    /// Sessions that were lost.
    pub losses: Vec<Loss>,
    /// Time in which it waited for something to do.
    pub idle_ns: u64,
    /// Time that it ran.
    pub ran_ns: u64,
    /// When it stopped sending, in nanoseconds since the phase began.
    pub ended_ns: u64,
    /// Bytes given to sockets.
    pub sent_bytes: u64,
    /// Bytes taken from sockets.
    pub received_bytes: u64,
    /// Writes that carried something.
    pub writes: u64,
    /// Reads that brought something.
    pub reads: u64,
    /// CPU time of the thread, where the system tells.
    pub cpu_ns: Option<u64>,
    /// Time in which the thread could have run and had no CPU, where the system tells.
    pub starved_ns: Option<u64>,
    /// How many sessions it had.
    pub seats: usize,
    /// Those that are still there, to be closed.
    pub sessions: Vec<(usize, Socket, Connection)>,
}
