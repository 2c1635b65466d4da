//! Waking up in time: what a loop sleeps until.
//!
//! A poll's own timeout is whole milliseconds, rounded up, which publishing intervals of a
//! millisecond cannot live with. On Linux a timerfd stands in the poll instead.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};
use wire::time::Instant;

/// Rings at a moment.
#[derive(Debug)]
pub struct Alarm {
    #[cfg(target_os = "linux")]
    fd: std::os::fd::OwnedFd,
    /// What it is set to.
    #[cfg(target_os = "linux")]
    set: Option<Instant>,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// Puts an alarm into a poll.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        use std::os::fd::AsRawFd;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered: each ringing is told once, and never has to be read.
        let mut source = mio::unix::SourceFd(&fd.as_raw_fd());
        registry.register(&mut source, token, mio::Interest::READABLE)?;
        Ok(Self { fd, set: None })
    }

    /// Prepares to be woken at `at`; gives the timeout to poll with. A system call only when the
    /// moment is another one than before.
    pub fn until(&mut self, at: Instant, now: Instant) -> Option<Duration> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let left = at.since(now);
        if left.is_zero() {
            return Some(Duration::ZERO);
        }
        let value = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        match timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &value) {
            Ok(_) => {
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

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// There is nothing finer than the poll's timeout.
    pub fn new(_: &Registry, _: Token) -> io::Result<Self> {
        Ok(Self {})
    }

    /// The timeout to poll with.
    pub fn until(&mut self, at: Instant, now: Instant) -> Option<Duration> {
        Some(at.since(now))
    }

    /// The poll has to be told each time.
    pub fn is_set_to(&self, _: Instant) -> bool {
        false
    }

    /// It has rung.
    pub fn rang(&mut self) {}
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
