//! What is counted for a subscription.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use wire::types::SubscriptionDiagnosticsDataType;

use super::{Tally, lock};
use crate::ledger::TakingNow;

/// A subscription for those who look at it from outside (Part 5, 12.15).
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the fields of SubscriptionDiagnosticsDataType")]
pub struct SubscriptionRecord {
    pub id: u32,
    /// The number of its session; 0 for none.
    pub session: Tally,
    pub priority: Tally,
    interval: AtomicU64,
    pub max_keep_alive: Tally,
    pub max_lifetime: Tally,
    pub max_notifications: Tally,
    pub enabled: Tally,
    pub modified: Tally,
    pub enables: Tally,
    pub disables: Tally,
    pub republish_requests: Tally,
    pub republished: Tally,
    pub transfer_requests: Tally,
    pub transferred_elsewhere: Tally,
    pub transferred_same_client: Tally,
    pub publish_requests: Tally,
    pub data_changes: Tally,
    pub events: Tally,
    pub event_overflows: Tally,
    pub notifications: Tally,
    pub late: Tally,
    pub keep_alive: Tally,
    pub lifetime: Tally,
    pub unacknowledged: Tally,
    pub discarded: Tally,
    pub items: Tally,
    pub disabled_items: Tally,
    pub overflows: Tally,
    pub next_sequence: Tally,
    /// Since when it has something to send and no Publish request, in nanoseconds of monotonic
    /// time; 0 if it has not. No field of the structure.
    late_since: AtomicU64,
    /// When the oldest message was made that is not acknowledged; 0 if there is none.
    oldest: AtomicU64,
    before: Mutex<Option<Box<SubscriptionDiagnosticsDataType>>>,
}

impl SubscriptionRecord {
    /// Of a subscription with this number.
    pub fn new(id: u32) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// What it was when counting began anew.
    pub fn before(&self) -> MutexGuard<'_, Option<Box<SubscriptionDiagnosticsDataType>>> {
        lock(&self.before)
    }

    /// Sets the publishing interval.
    pub fn set_interval(&self, interval: Duration) {
        let milliseconds = interval.as_secs_f64() * 1000.0;
        self.interval
            .store(milliseconds.to_bits(), Ordering::Relaxed);
    }

    /// Tells since when it waits for a Publish request.
    pub fn set_late_since(&self, nanos: Option<u64>) {
        let nanos = nanos.map_or(0, |nanos| nanos.max(1));
        self.late_since.store(nanos, Ordering::Relaxed);
    }

    /// Tells when the oldest unacknowledged message was made.
    pub fn set_oldest(&self, nanos: Option<u64>) {
        let nanos = nanos.map_or(0, |nanos| nanos.max(1));
        self.oldest.store(nanos, Ordering::Relaxed);
    }

    /// Adds what its client owes.
    pub fn owed(&self, now: u64, sum: &mut TakingNow) {
        let age = |since: &AtomicU64| match since.load(Ordering::Relaxed) {
            0 => None,
            since => Some(now.saturating_sub(since)),
        };
        if let Some(wait) = age(&self.late_since) {
            sum.waiting += 1;
            sum.longest_wait_ns = sum.longest_wait_ns.max(wait);
        }
        sum.unacknowledged += u64::from(self.unacknowledged.get());
        let oldest = age(&self.oldest).unwrap_or(0);
        sum.oldest_unacknowledged_ns = sum.oldest_unacknowledged_ns.max(oldest);
    }

    /// The publishing interval in milliseconds.
    pub fn interval(&self) -> f64 {
        f64::from_bits(self.interval.load(Ordering::Relaxed))
    }
}
