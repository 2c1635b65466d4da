//! What a thread has spent: the CPU that it had, and the time that it would have liked to have it.

use serde::{Deserialize, Serialize};

/// The time in which a thread had nothing to do, by intervals of 100 ms.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Idle {
    each: Vec<u64>,
    sum: u64,
}

/// Length of an interval.
const EACH: u64 = 100_000_000;

impl Idle {
    /// It had nothing to do from a time to another one, in nanoseconds since the phase began.
    #[inline]
    pub fn add(&mut self, from: u64, to: u64) {
        self.sum += to.saturating_sub(from);
        let mut at = from;
        while at < to {
            let interval = (at / EACH) as usize;
            let until = (at - at % EACH).saturating_add(EACH).min(to);
            if self.each.len() <= interval {
                self.each.resize(interval + 1, 0);
            }
            if let Some(each) = self.each.get_mut(interval) {
                *each += until - at;
            }
            at = until;
        }
    }

    /// All of it.
    pub fn ns(&self) -> u64 {
        self.sum
    }

    /// What lies in a window; of an interval that is cut, its share.
    pub fn within(&self, from: u64, to: u64) -> u64 {
        let share = |(n, &idle): (usize, &u64)| {
            let begin = n as u64 * EACH;
            let inside = to.min(begin + EACH).saturating_sub(from.max(begin));
            (u128::from(idle) * u128::from(inside) / u128::from(EACH)) as u64
        };
        self.each.iter().enumerate().map(share).sum()
    }
}

/// So far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// On a CPU.
    pub cpu_ns: Option<u64>,
    /// Able to run, and waiting for a CPU.
    pub starved_ns: Option<u64>,
}

impl Spent {
    /// Of the calling thread.
    pub fn so_far() -> Self {
        let turns = platform::thread::turns();
        Self {
            cpu_ns: turns.ran_ns,
            starved_ns: turns.waited_ns,
        }
    }

    /// What was spent since.
    pub fn since(self, earlier: &Self) -> Self {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            cpu_ns: less(self.cpu_ns, earlier.cpu_ns),
            starved_ns: less(self.starved_ns, earlier.starved_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_that_of_the_window_asked_for() {
        let mut idle = Idle::default();
        // Six seconds of which all but a tenth was idle, then two without a pause.
        for ms in (0..6000).step_by(10) {
            idle.add(ms * 1_000_000, (ms + 9) * 1_000_000);
        }
        idle.add(8_000_000_000, 8_000_000_000);
        let second = 1_000_000_000;
        assert_eq!(idle.ns(), 5_400_000_000);
        assert_eq!(idle.within(0, 8 * second), idle.ns());
        assert_eq!(idle.within(6 * second, 8 * second), 0);
        assert_eq!(idle.within(second / 2, second), 450_000_000);
        assert_eq!(idle.within(50_000_000, 150_000_000), 90_000_000);
        // A sleep over several intervals.
        idle.add(8 * second, 10 * second);
        assert_eq!(idle.within(9 * second, 20 * second), second);
    }
}
