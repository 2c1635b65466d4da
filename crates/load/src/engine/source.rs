//! When a session's requests are due.

use std::collections::VecDeque;
use std::time::Duration;

use plan::{CatchUp, Schedule};

use plan::unit::duration::nanos;

/// When a session's requests are due, in nanoseconds since the phase began.
#[derive(Debug)]
pub enum Source {
    /// Each when an earlier one was answered, after a pause.
    Closed {
        /// When those that are due next are due, rising.
        ready: VecDeque<u64>,
        /// The pause.
        think: u64,
    },
    /// When all sessions begin another cycle; each has one request in it.
    Cycle {
        /// When that is, until it is sent.
        due: Option<u64>,
    },
    /// As planned.
    Open {
        /// What is left of the plan, without `next`.
        schedule: Schedule,
        /// The next one.
        next: Option<u64>,
        /// What becomes of those that fell due while nothing could be sent.
        catch_up: CatchUp,
    },
}

impl Source {
    /// So many requests in flight from the beginning on.
    pub fn closed(in_flight: u32, think: Duration) -> Self {
        Self::Closed {
            ready: (0..in_flight).map(|_| 0).collect(),
            think: nanos(think),
        }
    }

    /// In cycles, the first of which begins at once.
    pub const fn cycle() -> Self {
        Self::Cycle { due: Some(0) }
    }

    /// Another cycle begins.
    pub(super) fn begin_cycle(&mut self, at: u64) {
        if let Self::Cycle { due } = self {
            *due = Some(at);
        }
    }

    /// As planned.
    pub fn open(mut schedule: Schedule, catch_up: CatchUp) -> Self {
        Self::Open {
            next: schedule.next(),
            schedule,
            catch_up,
        }
    }

    /// The earliest of those that were not sent yet.
    pub(super) fn peek(&self) -> Option<u64> {
        match self {
            Self::Closed { ready, .. } => ready.front().copied(),
            Self::Cycle { due } => *due,
            Self::Open { next, .. } => *next,
        }
    }

    /// That one is sent.
    pub(super) fn pop(&mut self) {
        match self {
            Self::Closed { ready, .. } => {
                ready.pop_front();
            }
            Self::Cycle { due } => *due = None,
            Self::Open { schedule, next, .. } => *next = schedule.next(),
        }
    }

    /// A request has come to its end: in a closed loop the next one is due.
    pub(super) fn answered(&mut self, at: u64) {
        if let Self::Closed { ready, think } = self {
            ready.push_back(at + *think);
        }
    }
}
