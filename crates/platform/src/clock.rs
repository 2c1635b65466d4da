//! Clocks that no interface of the standard library has.

use std::time::Duration;

/// Processor time of this process, user and system, with that of threads that have ended; none where the system does not
/// say.
pub fn process_cpu() -> Option<Duration> {
    imp::process_cpu()
}

/// Processor time of the calling thread; none where the system does not say.
pub fn thread_cpu() -> Option<Duration> {
    imp::thread_cpu()
}

/// How long this machine was suspended since it was started; none where the system does not say.
pub fn suspended() -> Option<Duration> {
    imp::suspended()
}

/// What a clock shows.
#[cfg(unix)]
pub(crate) fn read(clock: rustix::time::ClockId) -> Option<Duration> {
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::time::ClockId;

    use super::{Duration, read};

    pub fn process_cpu() -> Option<Duration> {
        read(ClockId::ProcessCPUTime)
    }

    pub fn thread_cpu() -> Option<Duration> {
        read(ClockId::ThreadCPUTime)
    }

    pub fn suspended() -> Option<Duration> {
        // In this order: what passes in between is none of it.
        let awake = read(ClockId::Monotonic)?;
        Some(read(ClockId::Boottime)?.saturating_sub(awake))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::Duration;

    #[cfg(unix)]
    pub fn process_cpu() -> Option<Duration> {
        super::read(rustix::time::ClockId::ProcessCPUTime)
    }

    #[cfg(unix)]
    pub fn thread_cpu() -> Option<Duration> {
        super::read(rustix::time::ClockId::ThreadCPUTime)
    }

    #[cfg(not(unix))]
    pub fn process_cpu() -> Option<Duration> {
        crate::process::cpu_of(std::process::id()).ok()
    }

    // That of a thread takes an interface that only `unsafe` code can call.
    #[cfg(not(unix))]
    pub fn thread_cpu() -> Option<Duration> {
        None
    }

    pub fn suspended() -> Option<Duration> {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;

    /// Works until a clock has moved by so much, or for as long as nobody waits.
    fn works_until(moved: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        let mut sum = 0u64;
        while began.elapsed() < Duration::from_secs(60) {
            sum = (0..1_000_000u64).fold(sum, |sum, it| sum.wrapping_add(black_box(it)));
            if moved() {
                return true;
            }
        }
        black_box(sum);
        false
    }

    const MUCH: Duration = Duration::from_millis(50);

    #[test]
    fn work_is_seen_by_the_clock_of_the_process_and_by_whoever_asks_for_it_by_its_id() {
        let own = process_cpu().unwrap();
        let other = crate::process::cpu_of(std::process::id()).unwrap();
        assert!(works_until(|| process_cpu().unwrap() >= own + MUCH));
        assert!(works_until(|| {
            crate::process::cpu_of(std::process::id()).unwrap() >= other + MUCH
        }));
    }

    #[test]
    fn the_clock_of_a_thread_does_not_go_while_it_sleeps() {
        let Some(before) = thread_cpu() else {
            assert_eq!(crate::System::HERE, crate::System::Windows);
            return;
        };
        std::thread::sleep(Duration::from_millis(300));
        assert!(thread_cpu().unwrap() < before + Duration::from_millis(200));
        assert!(works_until(|| thread_cpu().unwrap() >= before + MUCH));
    }
}
