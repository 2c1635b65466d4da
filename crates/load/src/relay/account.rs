//! What a relay carried.

use std::time::Duration;

use link::Tally;
use serde::{Deserialize, Serialize};

/// What a relay carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// How long it has been there.
    pub elapsed_ns: u64,
    /// Connections of clients.
    pub connections: u64,
    /// Those of them that the target did not take.
    pub refused: u64,
    /// Those of them that one end broke off.
    pub broken: u64,
    /// Those that are there now.
    pub open: u64,
    /// Most at a time.
    pub most_open: u64,
    /// Clients that were turned away: there were as many as are allowed, or no more sockets.
    pub turned_away: u64,
    /// From clients to the target.
    pub up: Carried,
    /// From the target to clients.
    pub down: Carried,
}

/// What one direction carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Carried {
    /// Bytes that arrived, without headers.
    pub bytes: u64,
    /// Packets that came to the line.
    pub packets: u64,
    /// Packets that were lost on it.
    pub lost: u64,
    /// Packets that found the queue full.
    pub full: u64,
    /// Packets that were sent again.
    pub again: u64,
    /// How long a packet waited for the line, in the mean.
    pub waited_mean_ns: u64,
    /// The longest of these times.
    pub waited_max_ns: u64,
    /// Bytes that wait for the line now.
    pub queued_bytes: u64,
}

impl Carried {
    pub(super) fn of(tally: Tally, queued_bytes: u64) -> Self {
        let sent = tally.packets.saturating_sub(tally.lost + tally.full);
        Self {
            bytes: tally.bytes,
            packets: tally.packets,
            lost: tally.lost,
            full: tally.full,
            again: tally.again,
            // Of no packets there is no mean, as their number says.
            waited_mean_ns: tally.waited.checked_div(sent).unwrap_or_default(),
            waited_max_ns: tally.longest,
            queued_bytes,
        }
    }
}

impl Account {
    /// How long it has been there.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns)
    }
}
