//! What a publisher of PubSub has done so far, for who looks at it meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// What became of the messages of a publisher, at its end of the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sendings {
    /// Values in each NetworkMessage.
    #[serde(rename = "values_each")]
    pub each: u64,
    /// NetworkMessages that the kernel took, or the connection to a broker.
    pub messages: u64,
    /// NetworkMessages that were not taken.
    pub refused: u64,
    /// NetworkMessages that were kept back on purpose.
    pub dropped: u64,
    /// Of `messages` those that were sent once more, on purpose.
    pub copies: u64,
}

/// Counts that one thread writes and others read.
#[derive(Debug, Default)]
pub struct Progress {
    running: AtomicBool,
    each: AtomicU64,
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    copies: AtomicU64,
    token: AtomicU32,
}

impl Progress {
    /// It publishes, or does no more.
    pub fn run(&self, is: bool) {
        self.running.store(is, Ordering::Relaxed);
    }

    /// That is what it has done so far.
    pub fn note(&self, so_far: Sendings) {
        self.each.store(so_far.each, Ordering::Relaxed);
        self.sent.store(so_far.messages, Ordering::Relaxed);
        self.failed.store(so_far.refused, Ordering::Relaxed);
        self.dropped.store(so_far.dropped, Ordering::Relaxed);
        self.copies.store(so_far.copies, Ordering::Relaxed);
    }

    /// What it has done so far; while it publishes, each count by itself.
    pub fn so_far(&self) -> Sendings {
        Sendings {
            each: self.each.load(Ordering::Relaxed),
            messages: self.sent(),
            refused: self.failed(),
            dropped: self.dropped.load(Ordering::Relaxed),
            copies: self.copies.load(Ordering::Relaxed),
        }
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
