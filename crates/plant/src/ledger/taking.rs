//! What the clients of a server make of what they subscribed to: whether they ask in time, and
//! say that they got it.
//!
//! Who tests a client (a historian, a SCADA system) reads here what the client was too slow for.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How clients took what there was for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taking {
    /// Times that a subscription had something to send and no Publish request to send it with.
    pub publish_gaps: u64,
    /// How long that lasted, all of them together.
    pub publish_gap_ns: u64,
    /// The longest of them.
    pub longest_publish_gap_ns: u64,
    /// Messages that were acknowledged.
    pub acknowledged: u64,
    /// How old they were then, all of them together.
    pub acknowledged_after_ns: u64,
    /// The oldest of them.
    pub longest_acknowledged_after_ns: u64,
    /// Messages that were asked for again.
    pub republish_asked: u64,
    /// Of them those that were not there any more, or never.
    pub republish_missing: u64,
    /// Subscriptions that ended because nobody asked for their messages.
    pub expired: u64,
    /// How it stands at this moment.
    pub now: TakingNow,
}

/// What clients owe at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakingNow {
    /// Subscriptions that have something to send and no Publish request.
    pub waiting: u64,
    /// How long the first of them waits.
    pub longest_wait_ns: u64,
    /// Messages that are not acknowledged.
    pub unacknowledged: u64,
    /// How old the oldest of them is.
    pub oldest_unacknowledged_ns: u64,
}

impl AddAssign for Taking {
    fn add_assign(&mut self, other: Self) {
        self.publish_gaps += other.publish_gaps;
        self.publish_gap_ns += other.publish_gap_ns;
        raise(
            &mut self.longest_publish_gap_ns,
            other.longest_publish_gap_ns,
        );
        self.acknowledged += other.acknowledged;
        self.acknowledged_after_ns += other.acknowledged_after_ns;
        raise(
            &mut self.longest_acknowledged_after_ns,
            other.longest_acknowledged_after_ns,
        );
        self.republish_asked += other.republish_asked;
        self.republish_missing += other.republish_missing;
        self.expired += other.expired;
        self.now.waiting += other.now.waiting;
        raise(&mut self.now.longest_wait_ns, other.now.longest_wait_ns);
        self.now.unacknowledged += other.now.unacknowledged;
        raise(
            &mut self.now.oldest_unacknowledged_ns,
            other.now.oldest_unacknowledged_ns,
        );
    }
}

fn raise(one: &mut u64, other: u64) {
    *one = (*one).max(other);
}

impl Taking {
    /// The mean age of a message when it was acknowledged.
    pub fn mean_acknowledged_after(&self) -> Option<Duration> {
        let nanos = self.acknowledged_after_ns.checked_div(self.acknowledged)?;
        Some(Duration::from_nanos(nanos))
    }
}

/// The same while it is counted, by all loops of a server.
#[derive(Debug, Default)]
pub struct Took {
    publish_gaps: AtomicU64,
    publish_gap_ns: AtomicU64,
    longest_publish_gap_ns: AtomicU64,
    acknowledged: AtomicU64,
    acknowledged_after_ns: AtomicU64,
    longest_acknowledged_after_ns: AtomicU64,
    republish_asked: AtomicU64,
    republish_missing: AtomicU64,
    expired: AtomicU64,
}

impl Took {
    /// A subscription could send again what it had to send for so long.
    pub fn gap(&self, nanos: u64) {
        self.publish_gaps.fetch_add(1, Ordering::Relaxed);
        self.publish_gap_ns.fetch_add(nanos, Ordering::Relaxed);
        self.longest_publish_gap_ns
            .fetch_max(nanos, Ordering::Relaxed);
    }

    /// A message of this age was acknowledged.
    pub fn acknowledged(&self, nanos: u64) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        self.acknowledged_after_ns
            .fetch_add(nanos, Ordering::Relaxed);
        self.longest_acknowledged_after_ns
            .fetch_max(nanos, Ordering::Relaxed);
    }

    /// A message was asked for again.
    pub fn republish(&self, found: bool) {
        self.republish_asked.fetch_add(1, Ordering::Relaxed);
        let missing = u64::from(!found);
        self.republish_missing.fetch_add(missing, Ordering::Relaxed);
    }

    /// A subscription ended because nobody asked.
    pub fn expired(&self) {
        self.expired.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts so far; what is owed now is for others to say.
    pub fn read(&self) -> Taking {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Taking {
            publish_gaps: get(&self.publish_gaps),
            publish_gap_ns: get(&self.publish_gap_ns),
            longest_publish_gap_ns: get(&self.longest_publish_gap_ns),
            acknowledged: get(&self.acknowledged),
            acknowledged_after_ns: get(&self.acknowledged_after_ns),
            longest_acknowledged_after_ns: get(&self.longest_acknowledged_after_ns),
            republish_asked: get(&self.republish_asked),
            republish_missing: get(&self.republish_missing),
            expired: get(&self.expired),
            now: TakingNow::default(),
        }
    }
}
