//! Waking up at a point of time, as exactly as the platform can.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};
use wire::time::Instant;

use super::Clock;

/// A timer among the sources of a poll.
///
/// A poll's own timeout is a millisecond wide. On Linux a timerfd with an absolute time is in the
/// poll instead, which is exact to the scheduler's microseconds; elsewhere the last stretch is
/// left to the caller to spin.
#[derive(Debug)]
pub struct Timer {
    #[cfg(target_os = "linux")]
    linux: linux::TimerFd,
}

/// By so much a poll's timeout is beside the time that is waited for, so that what is finer comes first.
const COARSE: Duration = Duration::from_millis(2);

impl Timer {
    /// Puts a timer in a poll.
    #[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
    pub fn new(registry: &Registry, token: Token, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            #[cfg(target_os = "linux")]
            linux: linux::TimerFd::new(registry, token, clock)?,
        })
    }

    /// Prepares to be woken at `at` and tells what timeout to poll with.
    #[cfg(target_os = "linux")]
    pub fn until(&mut self, at: Instant, now: Instant) -> Option<Duration> {
        if at <= now {
            return Some(Duration::ZERO);
        }
        match self.linux.arm(at) {
            // It tells of each expiry once. Should it ever come a moment early by our clock, the poll's own timeout wakes us
            // late, rather than never.
            Ok(()) => Some(at.since(now) + COARSE),
            // Late by up to a millisecond, and seen as such, rather than never.
            Err(_) => Some(at.since(now)),
        }
    }

    /// Prepares to be woken at `at` and tells what timeout to poll with.
    #[cfg(not(target_os = "linux"))]
    pub fn until(&mut self, at: Instant, now: Instant) -> Option<Duration> {
        Some(at.since(now).saturating_sub(COARSE))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use rustix::time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
        clock_gettime, timerfd_create, timerfd_settime,
    };
    use wire::time::Instant;

    use super::super::Clock;

    #[derive(Debug)]
    pub struct TimerFd {
        fd: OwnedFd,
        /// The system's monotonic clock when ours was at zero.
        epoch: Duration,
        armed: Instant,
    }

    impl TimerFd {
        pub fn new(registry: &Registry, token: Token, clock: Clock) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            // Edge-triggered: each expiry is told once, so that it need not be read away.
            registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
            // In this order: who is kept from going on in between is woken late by it, and not early.
            let ours = clock.mono();
            let system = clock_gettime(ClockId::Monotonic);
            // No time is negative.
            let system = Duration::new(
                u64::try_from(system.tv_sec).unwrap_or_default(),
                u32::try_from(system.tv_nsec).unwrap_or_default(),
            );
            Ok(Self {
                fd,
                epoch: system.saturating_sub(ours.since(Instant::from_nanos(0))),
                armed: Instant::from_nanos(0),
            })
        }

        pub fn arm(&mut self, at: Instant) -> io::Result<()> {
            if at == self.armed {
                return Ok(());
            }
            let system = self.epoch + at.since(Instant::from_nanos(0));
            let value = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: Timespec {
                    tv_sec: i64::try_from(system.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: system.subsec_nanos().into(),
                },
            };
            timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &value)?;
            self.armed = at;
            Ok(())
        }
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
