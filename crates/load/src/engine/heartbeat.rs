//! Whether the generator itself ran: each loop says when it was to be back, and is compared with when it was.
//!
//! A program that was stopped, starved or suspended finds all answers late. Without its own heartbeat it would
//! take that for the server's doing.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use record::run::{Stall, StallKind};
use wire::time::Instant;

use crate::transport::Clock;

/// Shorter gaps are what an operating system does to every program.
const GAP: u64 = 20_000_000;

/// No more are kept of a loop; the longest are.
const MOST: usize = 1000;

/// Gaps of one loop, on any clock.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// Which loop.
    of: Option<usize>,
    gap: u64,
    /// When it was there last.
    last: u64,
    /// What it had spent at its last look, where that is known.
    cpu: Option<u64>,
    stalls: Vec<Stall>,
}

impl Heartbeat {
    /// Of this loop.
    pub fn of(number: usize) -> Self {
        Self {
            of: Some(number),
            ..Self::longer_than(GAP)
        }
    }

    fn longer_than(gap: u64) -> Self {
        Self {
            of: None,
            gap,
            last: 0,
            cpu: None,
            stalls: Vec::new(),
        }
    }

    /// Counts from here: the clock that it is told shows another time from now on.
    pub fn begin(&mut self, t: u64) {
        self.last = t;
        self.stalls.clear();
    }

    /// Notes what the thread has spent so far: a long turn of work is no gap.
    pub fn spent(&mut self, cpu: Option<u64>) {
        self.cpu = cpu;
    }

    /// It is there after some work, and would have been at once if it had been let. Tells whether it was not.
    /// `cpu` is asked only for a gap.
    #[inline]
    pub fn worked(&mut self, t: u64, cpu: impl FnOnce() -> Option<u64>) -> bool {
        let gap = t.saturating_sub(self.last);
        if gap < self.gap {
            self.last = t;
            return false;
        }
        // Where the system does not tell, work cannot be told from a gap, and all of it counts as one.
        let spent = self.cpu.zip(cpu()).map(|(then, now)| now - then.min(now));
        self.late(t, gap.saturating_sub(spent.unwrap_or(0)))
    }

    /// It is there after it rested, and was to be at this moment at the latest. Tells whether it is late.
    #[inline]
    pub fn rested(&mut self, t: u64, expected: u64) -> bool {
        self.late(t, t.saturating_sub(expected.max(self.last)))
    }

    #[inline]
    fn late(&mut self, t: u64, ns: u64) -> bool {
        self.last = t;
        if ns < self.gap {
            return false;
        }
        let stall = Stall {
            at_ns: t.saturating_sub(ns),
            ns,
            kind: StallKind::HeldUp,
            of: self.of,
        };
        self.keep(stall);
        true
    }

    #[cold]
    fn keep(&mut self, stall: Stall) {
        if self.stalls.len() < MOST {
            self.stalls.push(stall);
        } else if let Some(shortest) = self.stalls.iter_mut().min_by_key(|it| it.ns)
            && shortest.ns < stall.ns
        {
            *shortest = stall;
        }
    }

    /// All of them.
    pub fn into_stalls(mut self) -> Vec<Stall> {
        self.stalls.sort_by_key(|it| it.at_ns);
        self.stalls
    }
}

/// Time between two beats of the whole process, and where loops have a heartbeat of their own, so that it only sees when
/// the machine was suspended.
const EACH: Duration = Duration::from_millis(10);
const BESIDE_LOOPS: Duration = Duration::from_millis(200);

/// The process's own thread is one of many, and late for less than the threads that it speaks of.
const PROCESS_GAP: u64 = 100_000_000;

/// The heartbeat of the whole process, for threads that make calls and wait for them: when an answer comes in the
/// middle of a stop, they do not see it. It sees, too, when the machine was suspended.
pub(super) struct Pulse {
    /// Loops have a heartbeat of their own.
    beside_loops: bool,
    stop: Sender<()>,
    thread: JoinHandle<Vec<Stall>>,
}

impl Pulse {
    pub fn start(beside_loops: bool) -> std::io::Result<Self> {
        let each = match beside_loops {
            true => BESIDE_LOOPS,
            false => EACH,
        };
        let (stop, stopped) = channel();
        let beat = move || {
            let clock = Clock::new();
            let mut heart = Heartbeat::longer_than(PROCESS_GAP);
            heart.begin(clock.mono().as_nanos());
            let mut asleep = suspended();
            loop {
                let expected = clock.mono() + each;
                let goes_on = stopped.recv_timeout(each) == Err(RecvTimeoutError::Timeout);
                let t = clock.mono().as_nanos();
                heart.rested(t, expected.as_nanos());
                let now = suspended();
                if let Some(ns) = now
                    .zip(asleep)
                    .and_then(|(now, then)| now.checked_sub(then))
                    && ns >= GAP
                {
                    heart.keep(Stall {
                        at_ns: t,
                        ns,
                        kind: StallKind::Suspended,
                        of: None,
                    });
                }
                asleep = now;
                if !goes_on {
                    return heart.into_stalls();
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("heartbeat".into())
            .spawn(beat)?;
        Ok(Self {
            beside_loops,
            stop,
            thread,
        })
    }

    /// Gaps since the phase began; beside loops, only what they cannot see.
    pub fn finish(self, origin: Instant) -> Vec<Stall> {
        // Gone only if the thread has ended.
        let _ = self.stop.send(());
        let joined = self.thread.join();
        // A run whose gaps nobody saw is no run without gaps.
        let stalls = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let stalls = stalls
            .into_iter()
            .filter(|it| !self.beside_loops || it.kind == StallKind::Suspended);
        stalls
            .filter_map(|it| it.since(origin.as_nanos()))
            .collect()
    }
}

/// How long this machine was suspended since it was started, where the system tells.
fn suspended() -> Option<u64> {
    u64::try_from(platform::clock::suspended()?.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn gaps(heart: Heartbeat) -> Vec<(u64, u64)> {
        let stalls = heart.into_stalls().into_iter();
        stalls.map(|it| (it.at_ns / MS, it.ns / MS)).collect()
    }

    #[test]
    fn a_loop_that_comes_back_late_from_its_rest_says_when_and_for_how_long() {
        let mut heart = Heartbeat::of(0);
        assert!(!heart.rested(10 * MS, 10 * MS));
        // A little late, as everybody is.
        assert!(!heart.rested(25 * MS, 20 * MS));
        assert!(heart.rested(3030 * MS, 30 * MS));
        // Woken before its time.
        assert!(!heart.rested(3031 * MS, 3040 * MS));
        assert_eq!(gaps(heart), [(30, 3000)]);
    }

    #[test]
    fn a_long_turn_of_work_is_no_gap_and_a_stop_within_it_is() {
        let mut heart = Heartbeat::of(0);
        heart.spent(Some(0));
        assert!(!heart.worked(50 * MS, || Some(45 * MS)));
        heart.spent(Some(45 * MS));
        assert!(heart.worked(150 * MS, || Some(55 * MS)));
        // Where nobody knows what it spent, it is taken for a stop.
        let mut unknown = Heartbeat::of(0);
        assert!(unknown.worked(50 * MS, || None));
        assert_eq!(
            (gaps(heart), gaps(unknown)),
            (vec![(60, 90)], vec![(0, 50)])
        );
    }

    #[test]
    fn of_very_many_gaps_the_longest_are_kept() {
        let mut heart = Heartbeat::of(0);
        let mut t = 0;
        for n in 0..MOST as u64 + 10 {
            t += (20 + n) * MS;
            heart.rested(t, 0);
        }
        let kept = gaps(heart);
        assert_eq!(kept.len(), MOST);
        assert_eq!(kept.iter().map(|(_, ns)| ns).min(), Some(&30));
    }
}
