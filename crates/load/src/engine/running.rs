//! What is carried out, how, and from when on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime};

use plan::{Phase, Seat};
use record::samples::{Samples, Sheet};
use wire::time::Instant;

use super::control::{Change, Control};
use super::error::{Failed, RunError};
use super::reports::Progress;
use super::target::Target;
use crate::transport::Clock;
use crate::work::Prepared;

/// How a phase is carried out on this machine.
#[derive(Clone)]
pub struct Options {
    /// Threads; sessions are dealt out to them.
    pub threads: u32,
    /// CPUs to keep the threads on, in turn; anywhere if there are none.
    pub pin: Vec<usize>,
    /// What each thread does before anything else, such as taking a priority; a run ends where that fails.
    pub at_start: Option<Arc<dyn Fn() -> Result<(), String> + Send + Sync>>,
    /// Whether the limits that a server declares are kept.
    pub limits: bool,
    /// Whether the kernel is asked when bytes came in.
    pub stamps: bool,
    /// Whether requests that are unanswered at the end are given up there, instead of awaited until their
    /// timeout.
    pub abandons: bool,
    /// Where single requests are written down.
    pub samples: Option<Samples>,
    /// Whether servers are asked what they counted themselves.
    pub diagnostics: bool,
    /// The sessions that are opened here, of all of the plan; all, where nothing is said.
    pub seats: Option<Vec<Seat>>,
    /// Who has the other sessions, and begins at the same moment.
    pub others: Option<Arc<dyn Others>>,
}

/// Other processes that have a part of the same phase.
pub trait Others: Send + Sync + std::fmt::Debug {
    /// The sessions here are ready, and may begin when so much time has passed. Waits for the others, and gives the
    /// moment at which all begin; none if it does not come to that.
    fn ready(&self, rest: Duration) -> Option<Instant>;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            pin: Vec::new(),
            at_start: None,
            limits: true,
            stamps: true,
            abandons: false,
            samples: None,
            diagnostics: false,
            seats: None,
            others: None,
        }
    }
}

/// What is carried out, and how.
pub(super) struct Running<'a> {
    pub phase: &'a Phase,
    pub targets: &'a [Arc<Target>],
    pub prepared: &'a [Arc<Prepared>],
    pub options: &'a Options,
    pub control: &'a Control,
}

impl<'a> Running<'a> {
    /// The server of a session, and what is asked of it.
    pub fn server(&self, seat: Seat) -> Option<(&'a Arc<Target>, &'a Arc<Prepared>)> {
        let place = seat.target as usize;
        Some((self.targets.get(place)?, self.prepared.get(place)?))
    }

    /// Threads that its sessions share.
    pub fn threads(&self) -> usize {
        self.options.threads.max(1) as usize
    }

    /// How many servers there are.
    pub fn servers(&self) -> u32 {
        u32::try_from(self.targets.len()).unwrap_or(u32::MAX)
    }

    /// What the ledgers of each server are called.
    pub fn names(&self) -> Vec<&'static str> {
        Prepared::names(self.phase)
    }

    /// How many ledgers there are.
    pub fn ledgers(&self) -> usize {
        self.names().len() * self.targets.len()
    }

    /// Where a thread writes down single requests, if that is wanted.
    pub fn sheet(&self) -> Option<Sheet> {
        let name = self.phase.name.as_deref();
        let name = name.unwrap_or(self.phase.work.name());
        let samples = self.options.samples.as_ref();
        samples.map(|samples| samples.sheet(name))
    }

    /// What a person did, and when, in nanoseconds since the begin.
    pub fn by_hand(&self, origin: Instant) -> Vec<(u64, Change)> {
        let changes = self.control.changes().into_iter();
        changes.map(|it| (it.at.nanos_since(origin), it)).collect()
    }

    /// Nothing can be done: none of the sessions was opened.
    pub fn no_session(&self, failed: Vec<Failed>) -> RunError {
        let Some(Failed { seat, error }) = failed.into_iter().next() else {
            return RunError::Thread;
        };
        let server = self.server(seat);
        RunError::NoSession {
            url: server.map_or_else(String::new, |(target, _)| target.access.url.to_string()),
            error: Box::new(error),
        }
    }
}

/// When a phase begins, on both clocks.
#[derive(Clone, Copy)]
pub(super) struct Begin {
    pub origin: Instant,
    pub wall: SystemTime,
}

/// Between the last preparation and the begin, for all threads to be there.
const RUN_UP: Duration = Duration::from_millis(20);

/// What it takes to start a thread.
pub(super) const PER_THREAD: Duration = Duration::from_micros(100);

impl Begin {
    /// At this time.
    pub fn at(origin: Instant, clock: &Clock) -> Self {
        let now = clock.mono();
        Self {
            origin,
            wall: SystemTime::now() + origin.since(now) - now.since(origin),
        }
    }

    /// Once so many are ready, each of which takes so long.
    pub fn after(each: Duration, count: usize, clock: &Clock) -> Self {
        let ready = each * u32::try_from(count).unwrap_or(u32::MAX);
        Self::at(clock.mono() + RUN_UP + ready, clock)
    }
}

/// Passes on what threads tell, until none is left.
pub(super) fn listen(told: &Receiver<Progress>, progress: &mut dyn FnMut(Progress)) {
    loop {
        match told.recv_timeout(Duration::from_millis(100)) {
            Ok(said) => progress(said),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
