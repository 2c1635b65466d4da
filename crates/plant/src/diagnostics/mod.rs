//! What the server knows of each session and each subscription, for ServerDiagnostics
//! (Part 5, 6.3.3 to 6.3.5).
//!
//! Whoever has a session or a subscription counts in its record; whoever reads the diagnostics
//! makes structures of the records then. A count has one writer, so it costs a load and a store.

mod service;
mod session;
mod structure;
mod subscription;
#[cfg(test)]
mod tests;

pub use service::Service;
pub use session::SessionRecord;
pub use structure::{publishing_intervals, security_array, session_array, subscription_array};
pub use subscription::SubscriptionRecord;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ledger::TakingNow;

/// A count with one writer at a time.
#[derive(Debug, Default)]
pub struct Tally(AtomicU32);

impl Tally {
    /// One more.
    #[inline]
    pub fn bump(&self) {
        self.add(1);
    }

    /// So many more.
    #[inline]
    pub fn add(&self, n: u32) {
        self.set(self.get().wrapping_add(n));
    }

    /// Exactly so many.
    #[inline]
    pub fn set(&self, n: u32) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// How many.
    #[inline]
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The records of all sessions and subscriptions, and where subscriptions live.
#[derive(Debug, Default)]
pub struct Register {
    sessions: Mutex<BTreeMap<u32, Arc<SessionRecord>>>,
    subscriptions: Mutex<BTreeMap<u32, Entry>>,
}

#[derive(Debug)]
struct Entry {
    record: Arc<SubscriptionRecord>,
    home: u8,
}

/// Nothing is left half done in a table by a thread that panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Register {
    /// Adds a session by its number.
    pub fn add_session(&self, record: &Arc<SessionRecord>) {
        lock(&self.sessions).insert(record.number, Arc::clone(record));
    }

    /// Forgets a session.
    pub fn drop_session(&self, number: u32) {
        lock(&self.sessions).remove(&number);
    }

    /// Adds a subscription that lives in the loop `home`, or says that it lives there now.
    pub fn add_subscription(&self, record: &Arc<SubscriptionRecord>, home: u8) {
        let record = Arc::clone(record);
        lock(&self.subscriptions).insert(record.id, Entry { record, home });
    }

    /// Forgets a subscription.
    pub fn drop_subscription(&self, id: u32) {
        lock(&self.subscriptions).remove(&id);
    }

    /// Adds up what the clients of all subscriptions owe.
    pub fn owed(&self, now: u64, sum: &mut TakingNow) {
        for entry in lock(&self.subscriptions).values() {
            entry.record.owed(now, sum);
        }
    }

    /// The loop where a subscription lives.
    pub fn home_of(&self, id: u32) -> Option<u8> {
        lock(&self.subscriptions).get(&id).map(|entry| entry.home)
    }

    fn sessions(&self) -> Vec<Arc<SessionRecord>> {
        lock(&self.sessions).values().cloned().collect()
    }

    fn subscriptions(&self) -> Vec<Arc<SubscriptionRecord>> {
        let table = lock(&self.subscriptions);
        table
            .values()
            .map(|entry| Arc::clone(&entry.record))
            .collect()
    }
}
