//! Memory that the server has to wait for.

use record::run::{Candidate, Figure, Limiter, Sign};

use super::facts::{Facts, NOT_SEEN, window_ns};
use super::{cannot_tell, does_not_limit, limits, unknown};

/// Work that stands still for so much of the time is held up...
const STALLED: f64 = 0.1;
/// ...and for less than so much it is not.
const NOT_STALLED: f64 = 0.01;

/// A process that waits for memory waits for so many pages a second at least; a few come from a disk anyway.
const PAGES_PER_S: f64 = 10.0;

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
    // Without faults that are known there is no `paged`, and nothing is made of this.
    let per_s = faults.unwrap_or(0) as f64 * 1e9 / window_ns(facts.phase) as f64;
    match (share, paged) {
        (NOT_STALLED..STALLED, _) => cannot_tell(OF, vec![stalled], Vec::new()),
        (STALLED.., Some(pages)) if per_s >= PAGES_PER_S => limits(OF, vec![stalled, pages]),
        // Others in the group or on the machine may be those that stand still.
        (STALLED.., pages) => cannot_tell(OF, vec![stalled], pages.into_iter().collect()),
        _ => does_not_limit(OF, vec![stalled]),
    }
}
