//! A loop that faults make slower: it works longer than it has to.

use std::time::Duration;

use wire::time::Instant;

use crate::clock::thread_cpu;
use crate::fault::{Class, Turn};
use crate::shared::Shared;

/// It is busy longer by so much at a time, not by less: to ask which part, and for the clock of its processor, is work, too.
const LEAST: Duration = Duration::from_micros(2);

/// What is to take longer.
#[derive(Debug, Default)]
pub struct Slower {
    /// How long the turns took that it came in.
    took: Duration,
    /// By which part it was made longer then.
    part: f64,
    /// The processor time that the thread had behind it then.
    behind: Option<Duration>,
    /// It was made longer by so much more than it had to be.
    over: Duration,
}

impl Slower {
    /// A turn that began at `start` is over, in which this came: works longer, as faults ask. A loop that `spins`, or shares its
    /// thread, works all the time.
    ///
    /// What counts is processor time, waking up and going to sleep too: a server is slower by 5 % if it takes 5 % more
    /// of it.
    pub fn work_longer(&mut self, start: Instant, came: &mut Turn, shared: &Shared, spins: bool) {
        let faults = &shared.faults;
        if !faults.want(Class::Turn) {
            self.behind = None;
            return;
        }
        if came.is_empty() {
            return;
        }
        let now = shared.clock.now().mono;
        self.took += now.since(start);
        if self.part > 0.0 && self.took.mul_f64(self.part) < LEAST {
            return;
        }
        self.part = faults.slower(came, now);
        came.clear();
        let cpu = || thread_cpu().filter(|_| !spins);
        let clock = || shared.clock.now().mono;
        // To find out is part of the delay, not of the work; more than that is somebody else who has the processor.
        let begun = cpu().map(|cpu| cpu.saturating_sub(clock().since(now).min(LEAST)));
        let worked = match (self.behind, begun) {
            (Some(behind), Some(begun)) => begun.saturating_sub(behind),
            _ => self.took,
        };
        self.took = Duration::ZERO;
        let more = worked.mul_f64(self.part);
        let owed = more.saturating_sub(self.over);
        self.over = self.over.saturating_sub(more);
        let mut until = now + owed;
        loop {
            while clock() < until {
                shared.clock.pass(until);
            }
            self.behind = cpu();
            let (Some(begun), Some(behind)) = (begun, self.behind) else {
                return;
            };
            let spent = behind.saturating_sub(begun);
            if spent >= owed {
                self.over += spent - owed;
                return;
            }
            // Others had the processor meanwhile.
            until = clock() + (owed - spent);
        }
    }
}
