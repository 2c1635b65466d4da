//! A loop that faults make slower: it works longer than it has to.

use std::time::Duration;

use wire::time::Instant;

use super::Core;
use crate::clock::thread_cpu;
use crate::fault::{Class, Turn};

/// It is busy longer by so much at a time, not by less: to ask which part, and for the clock of its processor, takes a
/// tenth of that.
const LEAST: Duration = Duration::from_micros(2);

/// What is to take longer.
#[derive(Debug, Default)]
pub struct Slower {
    /// What came since it was made longer.
    pub asked: Turn,
    /// How long the turns took that it came in.
    took: Duration,
    /// By which part it was made longer then.
    part: f64,
    /// The processor time that the thread had behind it then.
    behind: Option<Duration>,
}

impl Core {
    /// A turn that began at `start` is over: works longer, as faults ask.
    ///
    /// What counts is processor time, waking up and going to sleep too: a server is slower by 5 % if it takes 5 % more
    /// of it.
    pub(super) fn be_slower(&mut self, start: Instant) {
        let (faults, slower) = (&self.shared.faults, &mut self.slower);
        if !faults.want(Class::Turn) {
            slower.behind = None;
            return;
        }
        let now = self.shared.clock.now().mono;
        let took = now.since(start);
        if slower.asked.is_empty() {
            // What is done without being asked takes as long as ever.
            slower.behind = slower.behind.map(|behind| behind + took);
            return;
        }
        slower.took += took;
        if slower.part > 0.0 && slower.took.mul_f64(slower.part) < LEAST {
            return;
        }
        slower.part = faults.slower(&slower.asked, now);
        // One that never sleeps works all the time.
        let behind = thread_cpu().filter(|_| !self.shared.config.spin);
        let worked = match (slower.behind, behind) {
            (Some(before), Some(behind)) => behind.saturating_sub(before),
            _ => slower.took,
        };
        let more = worked.mul_f64(slower.part);
        slower.behind = behind.map(|behind| behind + more);
        slower.took = Duration::ZERO;
        slower.asked.clear();
        let until = now + more;
        while self.shared.clock.now().mono < until {
            std::hint::spin_loop();
        }
    }
}
