//! When a session's requests are due.

use std::collections::VecDeque;
use std::time::Duration;

use plan::{CatchUp, Schedule};

use plan::unit::duration::nanos;

use super::control::Level;
use super::course::PlanTime;

/// When a session's requests are due, in nanoseconds since the phase began.
#[derive(Debug)]
pub enum Source {
    /// Each when an earlier one was answered, after a pause.
    Closed(Closed),
    /// When all sessions begin another cycle; each has one request in it.
    Cycle {
        /// When that is, until it is sent.
        due: Option<u64>,
        /// A person has paused it.
        paused: bool,
    },
    /// As planned.
    Open(Open),
}

/// So many requests in flight.
#[derive(Debug)]
pub struct Closed {
    /// When those that are due next are due, rising.
    ready: VecDeque<u64>,
    /// The pause.
    think: u64,
    /// How many there are, on their way or due.
    many: u32,
    /// How many of those on their way are not to be followed by another.
    surplus: u32,
    /// A person has paused it.
    paused: bool,
}

/// Requests at planned times.
#[derive(Debug)]
pub struct Open {
    /// What is left of the plan, without the next one.
    schedule: Schedule,
    /// The next one, in the time of the plan.
    planned: Option<u64>,
    /// When that is due.
    next: Option<u64>,
    course: PlanTime,
    /// What becomes of those that fell due while nothing could be sent.
    catch_up: CatchUp,
    paused: bool,
}

impl Source {
    /// So many requests in flight from the beginning on.
    pub fn closed(in_flight: u32, think: Duration) -> Self {
        Self::Closed(Closed {
            ready: (0..in_flight).map(|_| 0).collect(),
            think: nanos(think),
            many: in_flight,
            surplus: 0,
            paused: false,
        })
    }

    /// In cycles, the first of which begins at once.
    pub const fn cycle() -> Self {
        Self::Cycle {
            due: Some(0),
            paused: false,
        }
    }

    /// In a closed loop, nothing is due before this time.
    pub(super) fn delay(&mut self, until: u64) {
        if let Self::Closed(closed) = self {
            for at in &mut closed.ready {
                *at = until.max(*at);
            }
        }
    }

    /// Another cycle begins.
    pub(super) fn begin_cycle(&mut self, at: u64) {
        if let Self::Cycle { due, .. } = self {
            *due = Some(at);
        }
    }

    /// As planned.
    pub fn open(mut schedule: Schedule, catch_up: CatchUp) -> Self {
        let next = schedule.next();
        Self::Open(Open {
            planned: next,
            next,
            schedule,
            course: PlanTime::default(),
            catch_up,
            paused: false,
        })
    }

    /// The earliest of those that were not sent yet.
    #[inline]
    pub(super) fn peek(&self) -> Option<u64> {
        match self {
            Self::Closed(closed) if closed.paused => None,
            Self::Closed(closed) => closed.ready.front().copied(),
            Self::Cycle { due, paused } => due.filter(|_| !paused),
            Self::Open(open) => open.next,
        }
    }

    /// That one is sent.
    #[inline]
    pub(super) fn pop(&mut self) {
        match self {
            Self::Closed(closed) => {
                closed.ready.pop_front();
            }
            Self::Cycle { due, .. } => *due = None,
            Self::Open(open) => open.turn(),
        }
    }

    /// A request has come to its end: in a closed loop the next one is due.
    #[inline]
    pub(super) fn answered(&mut self, at: u64) {
        if let Self::Closed(closed) = self {
            match closed.surplus {
                0 => closed.ready.push_back(at + closed.think),
                n => closed.surplus = n - 1,
            }
        }
    }

    /// Whether its part of a cycle is sent.
    pub(super) const fn has_cycled(&self) -> bool {
        matches!(self, Self::Cycle { due: None, .. })
    }

    /// Whether nothing falls due before this time, however long it is waited for.
    pub(super) fn is_dry_until(&self, end: u64) -> bool {
        match self {
            Self::Open(open) => !open.paused && open.next.is_none_or(|at| at >= end),
            Self::Closed(_) | Self::Cycle { .. } => false,
        }
    }

    /// How many are due and wait, as far as that is known without counting them all.
    pub(super) fn waiting(&self, t: u64) -> u64 {
        match self {
            Self::Closed(closed) if closed.paused => 0,
            Self::Closed(closed) => {
                let due = closed.ready.iter().take_while(|at| **at <= t);
                due.count() as u64
            }
            Self::Open(_) | Self::Cycle { .. } => u64::from(self.peek().is_some_and(|at| at <= t)),
        }
    }

    /// Of several that are due, whether this one is left out: all but the last are, if the plan says so.
    #[inline]
    pub(super) fn skips(&self, t: u64) -> bool {
        match self {
            Self::Open(open) if open.catch_up == CatchUp::Skip => {
                open.next.is_some_and(|next| next <= t)
            }
            _ => false,
        }
    }

    /// Whether it follows a plan of times.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// A person changed what is offered, at this time. In a closed loop there are so many in flight from
    /// now on.
    pub(super) fn change(&mut self, t: u64, level: Level, many: u32) {
        match self {
            Self::Open(open) => open.change(t, level),
            Self::Closed(closed) => closed.change(t, level, many),
            Self::Cycle { due, paused } => {
                *paused = level.paused;
                *due = due.map(|at| at.max(t));
            }
        }
    }
}

impl Open {
    #[inline]
    fn turn(&mut self) {
        self.planned = self.schedule.next();
        self.next = self.planned.map(|at| self.course.due(at));
    }

    fn change(&mut self, t: u64, level: Level) {
        self.paused = level.paused;
        self.course.change(t, level);
        self.next = self.planned.map(|at| self.course.due(at));
    }
}

impl Closed {
    fn change(&mut self, t: u64, level: Level, many: u32) {
        if self.paused && !level.paused {
            // Nobody was to send meanwhile: nothing is late.
            for at in &mut self.ready {
                *at = t.max(*at);
            }
        }
        self.paused = level.paused;
        for _ in many..self.many {
            if self.ready.pop_back().is_none() {
                self.surplus += 1;
            }
        }
        for _ in self.many..many {
            match self.surplus {
                0 => {
                    let place = self.ready.partition_point(|at| *at <= t);
                    self.ready.insert(place, t);
                    debug_assert!(self.ready.iter().is_sorted());
                }
                n => self.surplus = n - 1,
            }
        }
        self.many = many;
    }
}
