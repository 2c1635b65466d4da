//! Times in which the generator itself did not run.

use serde::{Deserialize, Serialize};

/// A time in which the generator itself did not run: what came meanwhile was found late by it, not sent late by
/// the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// From, since the phase began.
    pub at_ns: u64,
    /// How long.
    pub ns: u64,
    /// What kept it.
    pub kind: StallKind,
    /// The thread of the generator that it was seen in; none where the whole process has one heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
}

/// What kept the generator from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallKind {
    /// It was stopped, or had no processor.
    HeldUp,
    /// The machine was suspended; its clock stood still.
    Suspended,
}

impl Stall {
    /// When it was over.
    pub fn until(&self) -> u64 {
        match self.kind {
            StallKind::HeldUp => self.at_ns.saturating_add(self.ns),
            StallKind::Suspended => self.at_ns,
        }
    }

    /// On a clock that showed 0 at `origin` on this one; none if it was over by then.
    pub fn since(self, origin: u64) -> Option<Self> {
        let until = self.until().checked_sub(origin)?;
        let at_ns = self.at_ns.saturating_sub(origin);
        let ns = match self.kind {
            StallKind::HeldUp => until - at_ns,
            StallKind::Suspended => self.ns,
        };
        (ns > 0).then_some(Self { at_ns, ns, ..self })
    }

    /// How much of it lies in a window.
    pub fn within(&self, from: u64, to: u64) -> u64 {
        match self.kind {
            StallKind::HeldUp => self.until().min(to).saturating_sub(self.at_ns.max(from)),
            StallKind::Suspended if (from..=to).contains(&self.at_ns) => self.ns,
            StallKind::Suspended => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stall(at_ns: u64, ns: u64, kind: StallKind) -> Stall {
        Stall {
            at_ns,
            ns,
            kind,
            of: None,
        }
    }

    #[test]
    fn what_lies_before_a_phase_or_outside_of_a_window_does_not_count() {
        let held = stall(100, 50, StallKind::HeldUp);
        assert_eq!(held.since(150), None);
        assert_eq!(held.since(120), Some(stall(0, 30, StallKind::HeldUp)));
        assert_eq!(held.within(0, 1000), 50);
        assert_eq!(held.within(120, 130), 10);
        assert_eq!(held.within(150, 160), 0);
        // No time passed on this clock.
        let asleep = stall(100, 5000, StallKind::Suspended);
        assert_eq!(
            asleep.since(40),
            Some(stall(60, 5000, StallKind::Suspended))
        );
        assert_eq!(asleep.since(101), None);
        assert_eq!((asleep.within(0, 100), asleep.within(101, 200)), (5000, 0));
    }
}
