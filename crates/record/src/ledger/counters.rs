//! What a bin counts beside its histograms.

use serde::{Deserialize, Serialize};

use crate::average::mean_of_sum;

/// Counts of one bin. All of them add up, over bins and over cores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Operations that ended, well or badly, timeouts among them.
    pub completed: u64,
    /// The sum of the times at which they did.
    pub completed_at: u128,
    /// Operations that were sent.
    pub sent: u64,
    /// The sum of the times at which they were.
    pub sent_at: u128,
    /// Values read, written or otherwise carried by completed operations.
    pub values: u64,
    /// Operations given up after the client's own timeout.
    pub timeouts: u64,
    /// Planned operations left out to catch up.
    pub skipped: u64,
    /// Planned operations that were never sent because the generator stopped.
    pub unsent: u64,
    /// Operations still in flight when the generator stopped waiting.
    pub unfinished: u64,
    /// Connections that were lost and came back.
    pub reconnects: u64,
    /// How long they were away, added up.
    pub outage_ns: u64,
    /// Messages written.
    pub sent_sizes: Sizes,
    /// Messages received.
    pub received_sizes: Sizes,
    /// Looks at the requests in flight of a session.
    pub in_flight: Gauge,
    /// Looks at the operations of a session that were due and waited.
    pub waiting: Gauge,
}

impl Counters {
    /// Operations that fell due: sent, left out, or never sent.
    pub fn planned(&self) -> u64 {
        self.sent + self.skipped + self.unsent
    }

    /// Sent less ended.
    pub(super) fn level(&self) -> i64 {
        self.sent.wrapping_sub(self.completed) as i64
    }

    /// Adds another bin's counts.
    pub fn merge(&mut self, other: &Self) {
        // Every field is named, so that a new one cannot be forgotten.
        let Self {
            completed,
            completed_at,
            sent,
            sent_at,
            values,
            timeouts,
            skipped,
            unsent,
            unfinished,
            reconnects,
            outage_ns,
            sent_sizes,
            received_sizes,
            in_flight,
            waiting,
        } = other;
        self.completed += completed;
        self.completed_at += completed_at;
        self.sent += sent;
        self.sent_at += sent_at;
        self.values += values;
        self.timeouts += timeouts;
        self.skipped += skipped;
        self.unsent += unsent;
        self.unfinished += unfinished;
        self.reconnects += reconnects;
        self.outage_ns += outage_ns;
        self.sent_sizes.merge(sent_sizes);
        self.received_sizes.merge(received_sizes);
        self.in_flight.merge(in_flight);
        self.waiting.merge(waiting);
    }
}

/// Messages and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// How many messages.
    pub messages: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the smallest; 0 when there is none.
    pub min_bytes: u32,
    /// Bytes of the largest.
    pub max_bytes: u32,
}

impl Sizes {
    #[inline]
    pub(super) fn add(&mut self, bytes_each: u32, n: u32) {
        self.merge(&Self {
            messages: n.into(),
            bytes: u64::from(bytes_each) * u64::from(n),
            min_bytes: bytes_each,
            max_bytes: bytes_each,
        });
    }

    #[inline]
    fn merge(&mut self, other: &Self) {
        if other.messages == 0 {
            return;
        }
        if self.messages == 0 {
            self.min_bytes = other.min_bytes;
        }
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.min_bytes = self.min_bytes.min(other.min_bytes);
        self.max_bytes = self.max_bytes.max(other.max_bytes);
    }
}

/// A level that was looked at from time to time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gauge {
    /// How often it was looked at.
    pub looks: u64,
    /// The sum of what was seen.
    pub sum: u64,
    /// The highest level seen.
    pub max: u64,
}

impl Gauge {
    #[inline]
    pub(super) fn add(&mut self, level: u64) {
        self.looks += 1;
        self.sum += level;
        self.max = self.max.max(level);
    }

    fn merge(&mut self, other: &Self) {
        self.looks += other.looks;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The mean level; none when nobody looked.
    pub fn mean(&self) -> Option<f64> {
        mean_of_sum(self.sum as f64, self.looks)
    }
}
