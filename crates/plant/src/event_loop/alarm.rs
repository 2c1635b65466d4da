//! Waking up in time: what a loop sleeps until.
//!
//! A poll's own timeout is whole milliseconds, rounded up, which publishing intervals of a
//! millisecond cannot live with. On Linux a timerfd stands in the poll instead.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};
use platform::timer;
use wire::time::Instant;

/// Rings at a moment.
#[derive(Debug)]
pub struct Alarm {
    alarm: timer::Alarm,
    /// What it is set to; none where there is nothing finer than the poll's timeout.
    set: Option<Instant>,
}

impl Alarm {
    /// Puts an alarm into a poll.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let alarm = timer::Alarm::new(registry, token)?;
        Ok(Self { alarm, set: None })
    }

    /// Prepares to be woken at `at`; gives the timeout to poll with. A system call only when the
    /// moment is another one than before.
    pub fn until(&mut self, at: Instant, now: Instant) -> Option<Duration> {
        let left = at.since(now);
        if left.is_zero() {
            return Some(Duration::ZERO);
        }
        match self.alarm.set_after(left) {
            Ok(()) => {
                self.set = Some(at);
                None
            }
            // Up to a millisecond late rather than never.
            Err(_) => Some(left),
        }
    }

    /// Whether it rings at this moment already.
    #[inline]
    pub fn is_set_to(&self, at: Instant) -> bool {
        self.set == Some(at)
    }

    /// It has rung.
    pub fn rang(&mut self) {
        self.set = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use mio::{Events, Poll};

    #[test]
    fn an_alarm_rings_for_one_moment_after_the_other_and_never_too_early() {
        let clock = Clock::start();
        let mut poll = Poll::new().unwrap();
        let mut events = Events::with_capacity(8);
        let mut alarm = Alarm::new(poll.registry(), Token(3)).unwrap();
        for _ in 0..5 {
            let at = clock.now().mono + Duration::from_micros(700);
            while clock.now().mono < at {
                let timeout = alarm.until(at, clock.now().mono);
                poll.poll(&mut events, timeout).unwrap();
                if !events.is_empty() {
                    alarm.rang();
                }
            }
        }
    }
}
