//! What the server says of its own life: since when it runs, and when it will end.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use wire::types::ServerState;

/// Ticks of 100 ns in a second.
const SECOND: i64 = 10_000_000;

/// Since when a server runs, and until when.
#[derive(Debug)]
pub struct Status {
    started: AtomicI64,
    /// When it ends; 0 while nobody has asked for it.
    ends: AtomicI64,
    /// It ends now.
    over: AtomicBool,
}

impl Status {
    /// It runs since then, in ticks.
    pub fn new(started: i64) -> Self {
        Self {
            started: AtomicI64::new(started),
            ends: AtomicI64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// When it started, in ticks.
    pub fn started(&self) -> i64 {
        self.started.load(Ordering::Relaxed)
    }

    /// It began anew.
    pub fn begins(&self, now: i64) {
        self.started.store(now, Ordering::Relaxed);
    }

    /// It will end then, in ticks.
    pub fn ends_at(&self, at: i64) {
        self.ends.store(at, Ordering::Relaxed);
    }

    /// It ends now, whatever it does.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Whether it ends now.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Part 5, 12.6.
    pub fn state(&self) -> ServerState {
        match self.ends.load(Ordering::Relaxed) {
            0 => ServerState::Running,
            _ => ServerState::Shutdown,
        }
    }

    /// Seconds until it ends, rounded up; 0 while it runs.
    pub fn seconds_till_shutdown(&self, now: i64) -> u32 {
        let left = match self.ends.load(Ordering::Relaxed) {
            0 => 0,
            ends => (ends - now).max(0),
        };
        u32::try_from((left + SECOND - 1) / SECOND).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_seconds_are_counted_down() {
        let status = Status::new(5);
        assert_eq!(status.state(), ServerState::Running);
        assert_eq!(status.seconds_till_shutdown(100), 0);
        status.ends_at(100 + 2 * SECOND);
        assert_eq!(status.state(), ServerState::Shutdown);
        assert_eq!(status.seconds_till_shutdown(100), 2);
        assert_eq!(status.seconds_till_shutdown(101), 2);
        assert_eq!(status.seconds_till_shutdown(100 + SECOND), 1);
        assert_eq!(status.seconds_till_shutdown(200 + 9 * SECOND), 0);
    }
}
