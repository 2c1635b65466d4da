//! Waking up at a point of time, as exactly as the platform can.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};
use platform::timer::Alarm;
use wire::time::Instant;

use super::Clock;

/// A timer among the sources of a poll.
///
/// A poll's own timeout is a millisecond wide. Where the system has something finer it is in the poll instead; elsewhere the
/// last stretch is left to the caller to spin.
#[derive(Debug)]
pub struct Timer {
    alarm: Alarm,
    /// What the alarm's clock showed when ours was at zero; none where there is no alarm.
    epoch: Option<Duration>,
    armed: Instant,
}

/// By so much a poll's timeout is beside the time that is waited for, so that what is finer comes first.
const COARSE: Duration = Duration::from_millis(2);

const ZERO: Instant = Instant::from_nanos(0);

impl Timer {
    /// Puts a timer in a poll.
    pub fn new(registry: &Registry, token: Token, clock: Clock) -> io::Result<Self> {
        let alarm = Alarm::new(registry, token)?;
        // In this order: who is kept from going on in between is woken late by it, and not early.
        let ours = clock.mono();
        let epoch = alarm.now().map(|it| it.saturating_sub(ours.since(ZERO)));
        Ok(Self {
            alarm,
            epoch,
            armed: ZERO,
        })
    }

    /// Prepares to be woken at `at` and tells what timeout to poll with.
    pub fn until(&mut self, at: Instant, now: Instant) -> Option<Duration> {
        if at <= now {
            return Some(Duration::ZERO);
        }
        let left = at.since(now);
        let Some(epoch) = self.epoch else {
            return Some(left.saturating_sub(COARSE));
        };
        if at != self.armed {
            if self.alarm.set(epoch + at.since(ZERO)).is_err() {
                // Late by up to a millisecond, and seen as such, rather than never.
                return Some(left);
            }
            self.armed = at;
        }
        // It tells of each expiry once. Should it ever come a moment early by our clock, the poll's own timeout wakes us
        // late, rather than never.
        Some(left + COARSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_is_woken_when_it_is_time_and_again_for_the_next() {
        let clock = Clock::new();
        let mut poll = mio::Poll::new().unwrap();
        let mut events = mio::Events::with_capacity(4);
        let mut timer = Timer::new(poll.registry(), Token(7), clock).unwrap();
        for _ in 0..3 {
            let at = clock.mono() + Duration::from_millis(3);
            loop {
                let timeout = timer.until(at, clock.mono());
                poll.poll(&mut events, timeout).unwrap();
                if clock.mono() >= at {
                    break;
                }
            }
        }
    }

    #[test]
    fn who_waits_once_more_for_a_time_that_was_told_already_is_woken() {
        let clock = Clock::new();
        let mut poll = mio::Poll::new().unwrap();
        let mut events = mio::Events::with_capacity(4);
        let mut timer = Timer::new(poll.registry(), Token(7), clock).unwrap();
        let now = clock.mono();
        let at = now + Duration::from_millis(3);
        for _ in 0..2 {
            // As if the clock stood still: the time has come, and is told once.
            poll.poll(&mut events, timer.until(at, now)).unwrap();
        }
        assert!(clock.mono() >= at);
    }

    #[test]
    fn a_time_that_has_passed_is_not_waited_for() {
        let clock = Clock::new();
        let poll = mio::Poll::new().unwrap();
        let mut timer = Timer::new(poll.registry(), Token(7), clock).unwrap();
        let now = clock.mono() + Duration::from_secs(1);
        let past = clock.mono();
        assert_eq!(timer.until(past, now), Some(Duration::ZERO));
    }
}
