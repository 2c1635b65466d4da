//! What the server knows of each session and each subscription, for ServerDiagnostics
//! (Part 5, 6.3.3 to 6.3.5).
//!
//! Whoever has a session or a subscription counts in its record; whoever reads the diagnostics
//! makes structures of the records then. A count has one writer, so it costs a load and a store.

mod field;
mod service;
mod session;
mod structure;
mod subscription;
#[cfg(test)]
mod tests;

pub use field::Shown;
pub use service::Service;
pub use session::{SessionRecord, session_node};
pub use structure::{publishing_intervals, security_array, session_array, subscription_array};
pub use subscription::SubscriptionRecord;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counters::{Counted, Counters};
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
    /// EnabledFlag is false: nobody may look. Counting goes on, as it costs less than asking.
    disabled: AtomicBool,
    /// What was counted before it was enabled last.
    before: Mutex<Counted>,
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
    /// Whether diagnostics can be looked at.
    pub fn is_enabled(&self) -> bool {
        !self.disabled.load(Ordering::Relaxed)
    }

    /// Part 5, 6.3.3: to enable diagnostics, once more too, has all of them count from 0 on; to disable them
    /// leaves them as they are, and nobody sees them.
    pub fn enable(&self, enabled: bool, counters: &Counters) {
        if enabled {
            *lock(&self.before) = counters.read();
            for session in self.sessions() {
                structure::begin_session(&session);
            }
            for subscription in self.subscriptions() {
                structure::begin_subscription(&subscription);
            }
        }
        self.disabled.store(!enabled, Ordering::Relaxed);
    }

    /// What was counted since diagnostics were enabled.
    pub fn counted(&self, counters: &Counters) -> Counted {
        let (now, before) = (counters.read(), *lock(&self.before));
        let since = |of: fn(&Counted) -> u64| of(&now).saturating_sub(of(&before));
        Counted {
            cumulated_sessions: since(|c| c.cumulated_sessions),
            security_rejected_sessions: since(|c| c.security_rejected_sessions),
            rejected_sessions: since(|c| c.rejected_sessions),
            session_timeouts: since(|c| c.session_timeouts),
            aborted_sessions: since(|c| c.aborted_sessions),
            cumulated_subscriptions: since(|c| c.cumulated_subscriptions),
            security_rejected_requests: since(|c| c.security_rejected_requests),
            rejected_requests: since(|c| c.rejected_requests),
            ..now
        }
    }

    /// A session by its number, if diagnostics can be looked at.
    pub fn shown(&self, number: u32) -> Option<Arc<SessionRecord>> {
        let table = self.is_enabled().then(|| lock(&self.sessions))?;
        table.get(&number).cloned()
    }

    /// The numbers of all sessions, if diagnostics can be looked at.
    pub fn all_shown(&self) -> impl Iterator<Item = u32> + use<> {
        let numbers: Vec<u32> = match self.is_enabled() {
            true => lock(&self.sessions).keys().copied().collect(),
            false => Vec::new(),
        };
        numbers.into_iter()
    }

    /// Adds a session by its number.
    pub fn add_session(&self, record: &Arc<SessionRecord>) {
        lock(&self.sessions).insert(record.number, Arc::clone(record));
    }

    /// Forgets a session.
    pub fn drop_session(&self, number: u32) {
        lock(&self.sessions).remove(&number);
    }

    /// Adds a subscription that lives in the loop `home`.
    pub fn add_subscription(&self, record: &Arc<SubscriptionRecord>, home: u8) {
        self.moves(std::slice::from_ref(record), home, || {});
    }

    /// Subscriptions go to the loop `home`: they are sent, and live there for everybody who asks, in one step. Otherwise a
    /// loop that is held up between the two could say that they are where others have taken them away again.
    pub fn moves(&self, records: &[Arc<SubscriptionRecord>], home: u8, send: impl FnOnce()) {
        let mut table = lock(&self.subscriptions);
        send();
        for record in records {
            let record = Arc::clone(record);
            table.insert(record.id, Entry { record, home });
        }
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

    /// Publish requests that wait now, of all sessions.
    pub fn publish_requests(&self) -> u64 {
        let sessions = lock(&self.sessions);
        let each = sessions.values().map(|it| u64::from(it.publishing.get()));
        each.sum()
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
