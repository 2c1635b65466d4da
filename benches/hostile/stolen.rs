//! Seconds that the host left alone. A virtual processor that is given to somebody else for ten milliseconds makes
//! a bad second whoever attacks; the kernel counts those times, and such seconds say nothing of the plant.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use observe::{Core, Host};

use crate::looking::Looking;

/// How often it is looked.
const EACH: Duration = Duration::from_millis(50);

/// What had been taken from some processors by a moment, in nanoseconds.
type Look = (SystemTime, u64);

/// Looks at what is taken from some processors, and runs on others.
pub fn watch(measured: Range<usize>, elsewhere: Range<usize>) -> Looking<Look> {
    Looking::start(elsewhere, Duration::ZERO, EACH, move || look(&measured))
}

/// What was taken from the processors, and when.
pub struct Taken(pub Vec<Look>);

impl Taken {
    /// Whether all of it was left alone from one moment to another, looks before and after them included.
    pub fn nothing(&self, from: SystemTime, to: SystemTime) -> bool {
        let before = self.0.iter().rev().find(|(at, _)| *at <= from);
        let after = self.0.iter().find(|(at, _)| *at >= to);
        match (before, after) {
            (Some((_, before)), Some((_, after))) => before == after,
            _ => false,
        }
    }
}

/// Machines that do not say what is taken are taken for ones of their own.
fn look(measured: &Range<usize>) -> Look {
    let cores = Host::sample().cores.unwrap_or_default();
    let counts = |core: &&Core| measured.contains(&(core.number as usize));
    let stolen = cores.iter().filter(counts).map(|core| core.times.steal_ns);
    (SystemTime::now(), stolen.sum())
}
