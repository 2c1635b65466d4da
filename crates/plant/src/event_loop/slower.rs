//! A loop that faults make slower: it works longer than it has to.

use std::time::Duration;

use wire::time::Instant;

use super::EventLoop;
use crate::clock::thread_cpu;
use crate::fault::Class;

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

impl EventLoop {
    /// A turn that began at `start` is over: works longer, as faults ask.
    ///
    /// What counts is processor time, waking up and going to sleep too: a server is slower by 5 % if it takes 5 % more
    /// of it.
    pub(super) fn be_slower(&mut self, start: Instant) {
        let is_hosted = self.is_hosted();
        let (faults, slower) = (&self.shared.faults, &mut self.struck.slower);
        let came = self.books.came_lately();
        if !faults.want(Class::Turn) {
            slower.behind = None;
            return;
        }
        if came.is_empty() {
            return;
        }
        let now = self.shared.clock.now().mono;
        slower.took += now.since(start);
        if slower.part > 0.0 && slower.took.mul_f64(slower.part) < LEAST {
            return;
        }
        slower.part = faults.slower(came, now);
        came.clear();
        // One that never sleeps works all the time.
        // On a thread that has others, processor time is theirs, too.
        let spins = self.shared.config.spin || self.shared.clock.is_by_hand() || is_hosted;
        let cpu = || thread_cpu().filter(|_| !spins);
        let clock = || self.shared.clock.now().mono;
        // To find out is part of the delay, not of the work; more than that is somebody else who has the processor.
        let begun = cpu().map(|cpu| cpu.saturating_sub(clock().since(now).min(LEAST)));
        let worked = match (slower.behind, begun) {
            (Some(behind), Some(begun)) => begun.saturating_sub(behind),
            _ => slower.took,
        };
        slower.took = Duration::ZERO;
        let more = worked.mul_f64(slower.part);
        let owed = more.saturating_sub(slower.over);
        slower.over = slower.over.saturating_sub(more);
        let mut until = now + owed;
        loop {
            while clock() < until {
                self.shared.clock.pass(until);
            }
            slower.behind = cpu();
            let (Some(begun), Some(behind)) = (begun, slower.behind) else {
                return;
            };
            let spent = behind.saturating_sub(begun);
            if spent >= owed {
                slower.over += spent - owed;
                return;
            }
            // Others had the processor meanwhile.
            until = clock() + (owed - spent);
        }
    }
}
