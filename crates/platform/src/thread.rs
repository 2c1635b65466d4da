//! Threads: where they run, who goes first, and what the scheduler knows of them.

use std::io;

use crate::System;

/// What the scheduler knows of the calling thread, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turns {
    /// Time on a processor.
    pub ran_ns: Option<u64>,
    /// Time in which it could have run, and no processor was free.
    pub waited_ns: Option<u64>,
}

/// What the calling thread had until now.
pub fn turns() -> Turns {
    imp::turns()
}

/// Whether threads can be kept on processors here at all.
pub fn can_be_placed() -> io::Result<()> {
    match System::IS_LINUX {
        true => Ok(()),
        false => Err(unsupported("threads are kept on processors on Linux only")),
    }
}

fn unsupported(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// Keeps the calling thread on a processor.
pub fn pin(cpu: usize) -> io::Result<()> {
    imp::pin(cpu)
}

/// Keeps the calling thread off these processors, where there are others.
pub fn keep_off(cpus: &[usize]) -> io::Result<()> {
    match cpus.is_empty() {
        true => Ok(()),
        false => imp::keep_off(cpus),
    }
}

/// The processors that a thread of this id may use, of this process or another. The error of a thread that has ended is
/// `NotFound`.
pub fn processors_of(thread: u32) -> io::Result<Vec<usize>> {
    imp::processors_of(thread)
}

/// Keeps a thread of this id on these processors, likewise.
pub fn place(thread: u32, cpus: &[usize]) -> io::Result<()> {
    imp::place(thread, cpus)
}

/// Lets all others go before the calling thread, where that may be had.
pub fn step_back() -> io::Result<()> {
    imp::step_back()
}

/// The number that the system has for the calling thread, where it has one for others to name it by.
pub fn id() -> Option<u32> {
    imp::id()
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io;

    use rustix::io::Errno;
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

    use super::Turns;

    pub fn turns() -> Turns {
        // Documented in the kernel's sched-stats: CPU time, run-queue time, time slices.
        // A kernel without it tells nothing, as its words say that are not there.
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut words = text.split_whitespace().map(|word| word.parse().ok());
        Turns {
            ran_ns: words.next().flatten(),
            waited_ns: words.next().flatten(),
        }
    }

    pub fn pin(cpu: usize) -> io::Result<()> {
        if cpu >= CpuSet::MAX_CPU {
            return Err(Errno::INVAL.into());
        }
        let mut set = CpuSet::new();
        set.set(cpu);
        Ok(sched_setaffinity(None, &set)?)
    }

    pub fn keep_off(cpus: &[usize]) -> io::Result<()> {
        let mut set = sched_getaffinity(None)?;
        for &cpu in cpus.iter().filter(|it| **it < CpuSet::MAX_CPU) {
            set.unset(cpu);
        }
        match set.count() {
            0 => Ok(()),
            _ => Ok(sched_setaffinity(None, &set)?),
        }
    }

    pub fn processors_of(thread: u32) -> io::Result<Vec<usize>> {
        let set = sched_getaffinity(Some(pid(thread)?)).map_err(named)?;
        let all = 0..CpuSet::MAX_CPU;
        Ok(all.filter(|cpu| set.is_set(*cpu)).collect())
    }

    pub fn place(thread: u32, cpus: &[usize]) -> io::Result<()> {
        let mut set = CpuSet::new();
        for &cpu in cpus {
            if cpu >= CpuSet::MAX_CPU {
                return Err(Errno::INVAL.into());
            }
            set.set(cpu);
        }
        sched_setaffinity(Some(pid(thread)?), &set).map_err(named)
    }

    fn pid(thread: u32) -> io::Result<Pid> {
        let pid = i32::try_from(thread).ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| named(Errno::SRCH))
    }

    fn named(error: Errno) -> io::Error {
        match error {
            Errno::SRCH => io::Error::new(io::ErrorKind::NotFound, "the thread has ended"),
            error => error.into(),
        }
    }

    pub fn step_back() -> io::Result<()> {
        const BEHIND: i32 = 10;
        // Of Linux it is the thread's own.
        rustix::process::nice(BEHIND)?;
        Ok(())
    }

    pub fn id() -> Option<u32> {
        u32::try_from(gettid().as_raw_nonzero().get()).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use super::{Turns, can_be_placed, unsupported};

    pub fn turns() -> Turns {
        let ran = crate::clock::thread_cpu();
        Turns {
            ran_ns: ran.and_then(|it| u64::try_from(it.as_nanos()).ok()),
            waited_ns: None,
        }
    }

    pub fn pin(_: usize) -> io::Result<()> {
        can_be_placed()
    }

    pub fn keep_off(_: &[usize]) -> io::Result<()> {
        can_be_placed()
    }

    pub fn processors_of(_: u32) -> io::Result<Vec<usize>> {
        can_be_placed().map(|()| Vec::new())
    }

    pub fn place(_: u32, _: &[usize]) -> io::Result<()> {
        can_be_placed()
    }

    pub fn step_back() -> io::Result<()> {
        Err(unsupported("a thread lets others go first on Linux only"))
    }

    pub fn id() -> Option<u32> {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_there_is_not_is_refused_as_is_any_where_threads_cannot_be_kept() {
        let error = pin(1 << 20).unwrap_err();
        let kind = match System::IS_LINUX {
            true => io::ErrorKind::InvalidInput,
            false => io::ErrorKind::Unsupported,
        };
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(keep_off(&[]).map_err(|it| it.kind()), Ok(()));
        assert_eq!(keep_off(&[1 << 20]).is_ok(), System::IS_LINUX);
        assert_eq!(id().is_some(), System::IS_LINUX);
        assert_eq!(can_be_placed().is_ok(), System::IS_LINUX);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_stays_where_it_is_put_and_has_turns() {
        let own = rustix::thread::sched_getaffinity(None).unwrap();
        let cpus: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU)
            .filter(|cpu| own.is_set(*cpu))
            .collect();
        let (first, all) = (cpus[0], cpus.clone());
        let on = std::thread::spawn(move || {
            // Where there is one processor only it is left where it is.
            keep_off(&all[1..]).unwrap();
            let off = rustix::thread::sched_getaffinity(None).unwrap();
            pin(first).unwrap();
            let pinned = rustix::thread::sched_getaffinity(None).unwrap();
            keep_off(&[first]).unwrap();
            let kept = rustix::thread::sched_getaffinity(None).unwrap();
            assert_eq!(kept, pinned, "there is no other");
            let own = id().unwrap();
            assert_eq!(processors_of(own).unwrap(), [first]);
            place(own, &all).unwrap();
            assert_eq!(processors_of(own).unwrap(), all);
            (off, pinned, turns())
        });
        let (off, pinned, turns) = on.join().unwrap();
        let none = processors_of(u32::MAX).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
        assert!(off.is_set(first) && off.count() == 1);
        assert!(pinned.is_set(first) && pinned.count() == 1);
        assert!(turns.ran_ns.unwrap() > 0 && turns.waited_ns.is_some());
    }
}
