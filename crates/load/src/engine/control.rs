//! What a person may do to a phase that runs: end it, pause it, offer more or less than was planned.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plan::unit::duration::nanos;
use wire::time::Instant;

use crate::transport::Clock;

/// Ends phases early, and changes what they offer.
///
/// Its clones say the same. [`for_measurement`](Self::for_measurement) makes one that ends with it, and can
/// be given up alone; [`for_phase`](Self::for_phase) one whose phase is changed alone.
#[derive(Debug, Clone, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    aborted: Arc<AtomicBool>,
    hand: Arc<ControlState>,
}

/// What was done to one phase.
#[derive(Debug, Default)]
struct ControlState {
    ended: AtomicBool,
    /// How many there are in the list, so that a loop that has seen them all need not look into it.
    count: AtomicUsize,
    changes: Mutex<Vec<Change>>,
}

/// What is offered, beside what was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Nothing is sent until it goes on.
    pub paused: bool,
    /// Of what was planned: rates in an open loop, requests in flight in a closed one.
    pub percent: u32,
}

impl Level {
    /// As planned.
    pub const PLANNED: Self = Self {
        paused: false,
        percent: 100,
    };
}

/// What a person did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// Nothing is sent any more, for now.
    Paused,
    /// It goes on.
    Resumed,
    /// More is offered, or less.
    Offered,
    /// This phase ended.
    EndedPhase,
    /// All phases ended.
    EndedRun,
}

impl Did {
    /// Whether the load was another one from then on.
    pub const fn changes_load(self) -> bool {
        matches!(self, Self::Paused | Self::Resumed | Self::Offered)
    }
}

/// Something that a person did to a phase, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// When, on the monotonic clock of [`Clock`].
    pub at: Instant,
    /// What.
    pub did: Did,
    /// What is offered from then on.
    pub level: Level,
}

impl Control {
    /// For the phases of one measurement of several: they end when all are to end, and can be given up
    /// without the others.
    #[must_use]
    pub fn for_measurement(&self) -> Self {
        Self {
            stop: Arc::clone(&self.stop),
            aborted: Arc::default(),
            hand: Arc::default(),
        }
    }

    /// For one phase of several: it ends when all are to end, and what is done to it is its own.
    #[must_use]
    pub fn for_phase(&self) -> Self {
        Self {
            stop: Arc::clone(&self.stop),
            aborted: Arc::clone(&self.aborted),
            hand: Arc::default(),
        }
    }

    /// No more requests, in this phase or later ones; what is on its way is awaited.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A condition ends this measurement: the phases of it that run, and those behind them.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
    }

    /// Whether a condition ended this measurement.
    pub fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }

    /// Whether this phase is to end, alone or with all others.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.is_aborted() || self.hand.ended.load(Ordering::Relaxed)
    }

    /// A person ends this phase; those behind it follow.
    pub fn end_phase(&self) {
        self.note(Did::EndedPhase, |level| level);
        self.hand.ended.store(true, Ordering::Relaxed);
    }

    /// A person ends this phase and all behind it.
    pub fn end_run(&self) {
        self.note(Did::EndedRun, |level| level);
        self.stop();
    }

    /// Pauses, or goes on. The phase ends later by as long as it was paused.
    pub fn pause(&self) {
        let paused = !self.level().paused;
        let did = match paused {
            true => Did::Paused,
            false => Did::Resumed,
        };
        self.note(did, |level| Level { paused, ..level });
    }

    /// Offers so much of what was planned from now on.
    pub fn offer(&self, percent: u32) {
        self.note(Did::Offered, |level| Level { percent, ..level });
    }

    /// What is offered now.
    pub fn level(&self) -> Level {
        let changes = self.changes();
        changes.last().map_or(Level::PLANNED, |it| it.level)
    }

    /// How long it was paused in the last so much time.
    pub fn paused_in(&self, last: Duration) -> Duration {
        let now = Clock::new().mono();
        let last = nanos(last);
        let since = Instant::from_nanos(now.as_nanos().saturating_sub(last));
        let mut paused = Duration::ZERO;
        let mut from: Option<Instant> = None;
        for change in self.changes() {
            let at = change.at.max(since);
            match (from, change.level.paused) {
                (None, true) => from = Some(at),
                (Some(start), false) => {
                    paused += at.since(start);
                    from = None;
                }
                _ => {}
            }
        }
        paused + from.map_or(Duration::ZERO, |start| now.since(start))
    }

    /// All that was done.
    pub fn changes(&self) -> Vec<Change> {
        let changes = self.hand.changes.lock();
        changes.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was done since so many changes.
    pub(super) fn changes_since(&self, seen: usize) -> Vec<Change> {
        match self.has_changed_since(seen) {
            true => self.changes().split_off(seen),
            false => Vec::new(),
        }
    }

    /// Whether something was done since so many changes.
    pub(super) fn has_changed_since(&self, seen: usize) -> bool {
        self.hand.count.load(Ordering::Acquire) > seen
    }

    /// As if a person had done it at this time.
    pub fn change_at(&self, at: Instant, did: Did, level: Level) {
        let changes = self.hand.changes.lock();
        let mut changes = changes.unwrap_or_else(PoisonError::into_inner);
        changes.push(Change { at, did, level });
        self.hand.count.store(changes.len(), Ordering::Release);
    }

    fn note(&self, did: Did, level: impl FnOnce(Level) -> Level) {
        self.change_at(Clock::new().mono(), did, level(self.level()));
    }
}
