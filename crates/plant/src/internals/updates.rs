//! Loops that give variables new values: what each does every time, and what its passes came to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plan::unit::duration::nanos;
use record::Histogram;
use record::run::UpdateUse;

/// A loop that gives variables new values.
#[derive(Debug)]
pub struct Updating {
    /// The time between two passes.
    pub interval: Duration,
    /// Variables that are written in a pass.
    pub signals: usize,
    /// Threads that share it.
    pub threads: usize,
    /// What it came to.
    pub passes: Arc<Passes>,
}

impl Updating {
    pub(super) fn used(&self) -> UpdateUse {
        UpdateUse {
            interval_ns: nanos(self.interval),
            signals: self.signals as u64,
            threads: self.threads as u64,
            missed: self.passes.missed.load(Ordering::Relaxed),
            spans: self.passes.spans(Histogram::clone),
        }
    }
}

/// What an update loop came to.
#[derive(Debug, Default)]
pub struct Passes {
    /// Passes so far.
    pub count: AtomicU64,
    /// Passes that could not begin before the next one was due.
    pub missed: AtomicU64,
    /// How long the last one took, in nanoseconds.
    pub last: AtomicU64,
    /// How long all of them took.
    spans: Mutex<Spans>,
    /// How long after its time the last one began.
    pub late: AtomicU64,
    /// When the last one ended, in ticks.
    pub at: AtomicU64,
}

/// How long passes took, in nanoseconds.
#[derive(Debug, Default)]
struct Spans {
    /// The last ones, until there are some to be added at once.
    recent: Vec<u64>,
    all: Histogram,
}

impl Spans {
    const AT_ONCE: usize = 64;

    fn add(&mut self, span: u64) {
        self.recent.push(span);
        if self.recent.len() >= Self::AT_ONCE {
            self.all();
        }
    }

    fn all(&mut self) -> &Histogram {
        let recent: Histogram = self.recent.drain(..).collect();
        self.all.merge(&recent);
        &self.all
    }
}

impl Passes {
    /// One more took so long, in nanoseconds.
    pub fn took(&self, span: u64) {
        self.last.store(span, Ordering::Relaxed);
        self.spans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(span);
    }

    /// Something of how long they took so far, in nanoseconds.
    pub fn spans<T>(&self, what: impl FnOnce(&Histogram) -> T) -> T {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        what(spans.all())
    }
}
