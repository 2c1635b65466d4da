//! What all threads of a phase share, and when its rounds are due.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use plan::unit::duration::nanos;
use plan::{Phase, Seat};
use wire::time::Instant;

use super::super::opening;
use super::super::running::Running;
use super::super::settings::Settings;
use super::super::source::Source;
use super::recorder::RoundsRecorder;
use super::storm::Storm;
use crate::transport::Clock;

/// What all threads share.
pub struct RoundsShared<'a> {
    pub settings: &'a Settings,
    pub running: &'a Running<'a>,
    pub clock: Clock,
    pub origin: Instant,
    pub storm: Option<Storm>,
    /// Requests to each target that did nothing but keep a session alive.
    pub kept: Vec<AtomicU64>,
    pub recorder: Mutex<RoundsRecorder>,
    /// A wait is looked up from this often, to see whether it is over for another reason; in nanoseconds.
    pub look_up: u64,
}

impl RoundsShared<'_> {
    /// Nanoseconds since the phase began.
    pub fn t(&self) -> u64 {
        self.clock.mono().nanos_since(self.origin)
    }

    /// A time of the phase on the clock.
    pub fn at(&self, t: u64) -> Instant {
        self.origin + Duration::from_nanos(t)
    }

    /// What is written down from now on is drained.
    pub fn end_at(&self, t: u64) {
        if let Ok(mut recorder) = self.recorder.lock() {
            recorder.end_at(t);
        }
    }

    /// Whether it was stopped, or is over.
    pub fn is_stopped(&self) -> bool {
        self.running.control.is_over()
    }
}

/// When a user comes, and when it begins nothing more.
pub fn stay(phase: &Phase, seat: Seat, targets: u32) -> Option<(Duration, Duration)> {
    let sequences = phase.sequences()?;
    let (place, of) = opening::place(phase, seat, targets);
    let end = phase.measured_until().unwrap_or(Duration::MAX);
    Some(sequences.stay(place, of, end))
}

/// When a client's rounds are due, and how many there are.
pub fn rounds(phase: &Phase, seat: Seat, targets: u32) -> (Source, u64) {
    let mut source = opening::source(phase, seat);
    if let Some((from, _)) = stay(phase, seat, targets) {
        source.delay(nanos(from));
    }
    match phase.is_storm() {
        true => (source, 1),
        false => (source, opening::requests(phase, seat, targets)),
    }
}
