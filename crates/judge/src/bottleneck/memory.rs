//! Memory that the server has to wait for.

use record::run::{Candidate, Figure, Limiter, Sign};

use super::facts::{Facts, NOT_SEEN, window_ns};
use super::{cannot_tell, does_not_limit, limits, unknown};

/// Work that stands still for so much of the time is held up...
const STALLED: f64 = 0.1;
/// ...and for less than so much it is not.
const NOT_STALLED: f64 = 0.01;

/// Work of the server's control group stands still for want of memory, and the server itself waits for pages.
pub(super) fn memory(facts: &Facts<'_>) -> Candidate {
    const OF: Limiter = Limiter::ServerMemory;
    let Some(server) = facts.server() else {
        return unknown(OF, NOT_SEEN);
    };
    let faults = server.window.major_faults.known().copied();
    let paged = faults.map(|faults| Sign::MajorFaults { faults });
    let stalled = server.memory_stalled_ns.as_ref().and_then(Figure::known);
    let Some(stalled) = stalled else {
        return match (faults, paged) {
            // Whoever wants for memory has its pages taken away.
            (Some(0), Some(none)) => does_not_limit(OF, vec![none]),
            (_, Some(some)) => cannot_tell(OF, vec![some], Vec::new()),
            (_, None) => unknown(OF, "this machine does not tell of the server's page faults"),
        };
    };
    let share = *stalled as f64 / window_ns(facts.phase) as f64;
    let stalled = Sign::MemoryStalled {
        share: share.min(1.0),
    };
    match (share, faults, paged) {
        (NOT_STALLED..STALLED, ..) => cannot_tell(OF, vec![stalled], Vec::new()),
        (STALLED.., Some(1..), Some(some)) => limits(OF, vec![stalled, some]),
        // Others in the group or on the machine may be those that stand still.
        (STALLED.., _, none) => cannot_tell(OF, vec![stalled], none.into_iter().collect()),
        _ => does_not_limit(OF, vec![stalled]),
    }
}
