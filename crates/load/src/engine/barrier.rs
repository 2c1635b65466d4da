//! Where the loops of a phase wait for each other while its subscriptions are set up: first all
//! subscriptions of all sessions, then all items, then the phase begins for all at once. And where they wait
//! after its end, until a server has told what it counted of subscriptions that are still there.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use wire::time::Instant;

/// What is complete before anyone goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// Subscriptions.
    Subscriptions,
    /// Items.
    Items,
    /// Nothing is published any more.
    Quiet,
    /// The servers' own counts.
    EventInfo,
}

/// A barrier for so many loops.
pub struct Barrier {
    cores: usize,
    arrived: [AtomicUsize; 4],
    /// When the last of them had its items, in nanoseconds of the process's clock.
    complete: AtomicU64,
    wakers: Mutex<Vec<Box<dyn Fn() + Send>>>,
}

impl Barrier {
    /// A barrier for so many loops.
    pub fn new(cores: usize) -> Self {
        Self {
            cores,
            arrived: Default::default(),
            complete: AtomicU64::new(0),
            wakers: Mutex::new(Vec::new()),
        }
    }

    /// A loop that wants to be woken when the barrier opens.
    pub fn join(&self, wake: impl Fn() + Send + 'static) {
        if let Ok(mut wakers) = self.wakers.lock() {
            wakers.push(Box::new(wake));
        }
    }

    /// A loop has its part of a set.
    pub fn arrive(&self, set: Set, now: Instant) {
        if set == Set::Items {
            self.complete.fetch_max(now.as_nanos(), Ordering::Relaxed);
        }
        let before = self.arrived[set as usize].fetch_add(1, Ordering::AcqRel);
        if before + 1 == self.cores
            && let Ok(wakers) = self.wakers.lock()
        {
            for wake in &*wakers {
                wake();
            }
        }
    }

    /// A loop has failed: nobody is to wait for it.
    pub fn give_up(&self, now: Instant) {
        self.complete.fetch_max(now.as_nanos(), Ordering::Relaxed);
        for arrived in &self.arrived {
            arrived.fetch_add(self.cores, Ordering::AcqRel);
        }
    }

    /// How many loops have not come yet.
    pub fn waits_for(&self, set: Set) -> usize {
        let arrived = self.arrived[set as usize].load(Ordering::Acquire);
        self.cores.saturating_sub(arrived)
    }

    /// Whether the whole set is there.
    pub fn is_complete(&self, set: Set) -> bool {
        self.arrived[set as usize].load(Ordering::Acquire) >= self.cores
    }

    /// When the last loop had its items.
    pub fn completed(&self) -> Instant {
        Instant::from_nanos(self.complete.load(Ordering::Relaxed))
    }
}
