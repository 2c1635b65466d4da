//! What a publisher of PubSub has done so far, for who looks at it meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Counts that one thread writes and others read.
#[derive(Debug, Default)]
pub struct Progress {
    running: AtomicBool,
    sent: AtomicU64,
    failed: AtomicU64,
    token: AtomicU32,
}

impl Progress {
    /// It publishes, or does no more.
    pub fn run(&self, is: bool) {
        self.running.store(is, Ordering::Relaxed);
    }

    /// So many NetworkMessages were sent, and so many were not.
    pub fn note(&self, sent: u64, failed: u64) {
        self.sent.store(sent, Ordering::Relaxed);
        self.failed.store(failed, Ordering::Relaxed);
    }

    /// The key of this token secures them from now on.
    pub fn secure_with(&self, token: u32) {
        self.token.store(token, Ordering::Relaxed);
    }

    /// Whether it publishes.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// NetworkMessages that were sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Those that were not.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// The SecurityTokenId of their key; 0 without one.
    pub fn token(&self) -> u32 {
        self.token.load(Ordering::Relaxed)
    }
}
