//! Waking up a poll at a point of time, where that can be finer than the poll's own timeout.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};

/// A timer among the sources of a poll, which is exact to the scheduler's microseconds; or none, where there is no such
/// thing.
#[derive(Debug)]
pub struct Alarm(imp::Alarm);

impl Alarm {
    /// Puts one in a poll. Each expiry is told once.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        imp::Alarm::new(registry, token).map(Self)
    }

    /// What the clock shows that it goes by; none where there is none.
    pub fn now(&self) -> Option<Duration> {
        self.0.now()
    }

    /// Wakes the poll when its clock shows this.
    pub fn set(&mut self, at: Duration) -> io::Result<()> {
        self.0.set(at)
    }

    /// Wakes the poll after so long, which is not nothing.
    pub fn set_after(&mut self, left: Duration) -> io::Result<()> {
        self.0.set_after(left)
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use rustix::time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
        timerfd_create, timerfd_settime,
    };

    #[derive(Debug)]
    pub struct Alarm(OwnedFd);

    impl Alarm {
        pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            // Edge-triggered: each expiry is told once, so that it need not be read away.
            registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self(fd))
        }

        pub fn now(&self) -> Option<Duration> {
            crate::clock::read(ClockId::Monotonic)
        }

        pub fn set(&mut self, at: Duration) -> io::Result<()> {
            self.arm(TimerfdTimerFlags::ABSTIME, at)
        }

        pub fn set_after(&mut self, left: Duration) -> io::Result<()> {
            self.arm(TimerfdTimerFlags::empty(), left)
        }

        fn arm(&mut self, how: TimerfdTimerFlags, at: Duration) -> io::Result<()> {
            let value = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: Timespec {
                    tv_sec: i64::try_from(at.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: at.subsec_nanos().into(),
                },
            };
            timerfd_settime(&self.0, how, &value)?;
            Ok(())
        }
    }
}

#[cfg(windows)]
use by_thread as imp;

#[cfg(any(windows, test))]
mod by_thread;

#[cfg(not(any(target_os = "linux", windows)))]
mod imp {
    use std::io;
    use std::time::Duration;

    use mio::{Registry, Token};

    #[derive(Debug)]
    pub struct Alarm;

    impl Alarm {
        pub fn new(_: &Registry, _: Token) -> io::Result<Self> {
            Ok(Self)
        }

        pub fn now(&self) -> Option<Duration> {
            None
        }

        pub fn set(&mut self, _: Duration) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn set_after(&mut self, left: Duration) -> io::Result<()> {
            self.set(left)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mio::{Events, Poll};

    use super::*;

    /// A poll with an alarm in it, which is asked for the time and set.
    macro_rules! rings {
        ($alarm:ty) => {{
            let mut poll = Poll::new().unwrap();
            let mut alarm = <$alarm>::new(poll.registry(), Token(7)).unwrap();
            let mut events = Events::with_capacity(4);
            let mut wait = || {
                let long = Some(Duration::from_secs(60));
                poll.poll(&mut events, long).unwrap();
                assert!(events.iter().all(|it| it.token() == Token(7)));
                !events.is_empty()
            };
            for left in [3, 20, 70].map(Duration::from_millis) {
                let at = alarm.now().unwrap() + left;
                alarm.set(at).unwrap();
                while !wait() {}
                assert!(alarm.now().unwrap() >= at);
                let at = alarm.now().unwrap() + left;
                alarm.set_after(left).unwrap();
                while !wait() {}
                assert!(alarm.now().unwrap() >= at);
            }
            // Another time in place of one that is far away.
            alarm.set_after(Duration::from_secs(600)).unwrap();
            let at = alarm.now().unwrap() + Duration::from_millis(5);
            alarm.set(at).unwrap();
            while !wait() {}
            assert!(alarm.now().unwrap() >= at);
        }};
    }

    #[test]
    fn an_alarm_rings_when_its_clock_shows_the_time_or_there_is_none() {
        let poll = Poll::new().unwrap();
        let mut alarm = Alarm::new(poll.registry(), Token(7)).unwrap();
        if alarm.now().is_none() {
            let alarms = [crate::System::Linux, crate::System::Windows];
            assert!(!alarms.contains(&crate::System::HERE));
            let long = Duration::from_secs(1);
            assert!(alarm.set(long).is_err() && alarm.set_after(long).is_err());
            return;
        }
        rings!(Alarm);
    }

    #[test]
    fn an_alarm_by_a_thread_rings_as_one_of_the_system_does() {
        rings!(by_thread::Alarm);
    }
}
