//! Power in the course of a phase.

use observe::{NotAvailable, Taken};
use record::run::{Figure, Phase, PowerCourse};

/// Rows of a course at most, and how long one is at least.
const ROWS: u64 = 300;
const ROW_NS: u64 = 100_000_000;

/// Power from the begin of a phase to its end, in rows in each of which there is a reading.
pub(super) fn course(
    phase: &Phase,
    widest_gap_ns: &Figure<u64>,
    between: &dyn Fn(u64, u64) -> Result<Taken, NotAvailable>,
) -> Option<PowerCourse> {
    let gap = *widest_gap_ns.known()?;
    let interval_ns = phase.end_ns.div_ceil(ROWS).max(gap).max(ROW_NS);
    let rows = phase.end_ns / interval_ns;
    let row = |n: u64| {
        let taken = between(n * interval_ns, (n + 1) * interval_ns).ok()?;
        Some((taken.watts * 1e3).round() / 1e3)
    };
    let course = PowerCourse {
        interval_ns,
        watts: (0..rows).map(row).collect(),
    };
    (course.watts.iter().flatten().count() > 1).then_some(course)
}
