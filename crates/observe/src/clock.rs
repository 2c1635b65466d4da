//! The CPU clocks of the kernel: nanoseconds, threads that have ended included, one system call.

use std::time::Duration;

use crate::figure::{Figure, NotAvailable};

/// What the calling thread has used, user and system. Exact: no other source is for a thread that
/// runs, because the kernel brings the figures of a thread up to date when it is interrupted or
/// leaves its core.
pub fn thread_cpu() -> Figure<Duration> {
    imp::thread()
}

/// What a process has used.
pub(crate) fn process_cpu(id: Option<u32>) -> Figure<Duration> {
    imp::process(id)
}

#[cfg(target_os = "linux")]
mod imp {
    use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
    use nix::unistd::Pid;

    use super::{Duration, Figure, NotAvailable};

    pub fn thread() -> Figure<Duration> {
        read(ClockId::CLOCK_THREAD_CPUTIME_ID)
    }

    pub fn process(id: Option<u32>) -> Figure<Duration> {
        let Some(id) = id else {
            return read(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        };
        let refused = |_| NotAvailable::because(format!("no process has the id {id}"));
        let pid = i32::try_from(id).map_err(|_| refused(nix::Error::ESRCH))?;
        read(clock_getcpuclockid(Pid::from_raw(pid)).map_err(refused)?)
    }

    fn read(clock: ClockId) -> Figure<Duration> {
        clock_gettime(clock)
            .map(Duration::from)
            .map_err(|error| NotAvailable::because(format!("CPU clock: {}", error.desc())))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::{Duration, Figure, NotAvailable};

    pub fn thread() -> Figure<Duration> {
        Err(NotAvailable::here())
    }

    pub fn process(_id: Option<u32>) -> Figure<Duration> {
        Err(NotAvailable::here())
    }
}
