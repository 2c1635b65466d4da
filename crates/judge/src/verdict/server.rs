//! What says that the server did not keep up.

use super::words::{percent, time};
use super::{Evidence, Finding};

/// What is planned and not done, of all.
const BEHIND: f64 = 0.01;

/// Operations that waited for a slot or the socket, of all.
const HELD_UP: f64 = 0.01;

/// Waiting for less than this is not worth mentioning.
const HELD_UP_NS: u64 = 1_000_000;

/// Operations that timed out, of all.
const TIMED_OUT: f64 = 0.01;

/// A thread or a process that is busy for this share is at its limit.
const BUSY: f64 = 0.9;

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |evidence: String, advice| findings.push(Finding { evidence, advice });
    let lower = "a lower --rate finds what the server can do for long";

    if evidence.load.is_open() {
        // Left out is not behind: nobody is waiting for it.
        let due = evidence.planned.saturating_sub(evidence.skipped) as f64;
        let behind = due - evidence.completed_in_time as f64;
        if behind > BEHIND * due && behind > usual(evidence) {
            add(
                format!(
                    "{} of what was due was done in time, {behind:.0} operations were not",
                    percent(evidence.completed_in_time as f64 / due.max(1.0))
                ),
                lower,
            );
        }
        for (waited, reason) in [
            (&evidence.slot, "waited because all slots were in flight"),
            (&evidence.socket, "waited because the server did not read"),
        ] {
            let held_up = waited
                .share_up_to(HELD_UP_NS)
                .map_or(0.0, |share| 1.0 - share);
            if held_up >= HELD_UP {
                add(
                    format!(
                        "{} of the operations {reason}, up to {}",
                        percent(held_up),
                        time(waited.max().unwrap_or(0) as f64)
                    ),
                    lower,
                );
            }
        }
    }
    let timed_out = evidence.timeouts + evidence.unfinished;
    let ended = evidence.completed + evidence.unfinished;
    if timed_out as f64 >= TIMED_OUT * ended as f64 && timed_out > 0 {
        add(
            format!(
                "{} of the operations were not answered in time",
                percent(timed_out as f64 / ended as f64)
            ),
            "less load, or a longer --timeout if such answers are still of use",
        );
    }
    // In a closed loop the load adapts itself: only the server's own CPU tells.
    if !evidence.load.is_open()
        && let Some(server) = &evidence.server
    {
        let whole = server.cores_busy / server.cores_allowed.max(f64::MIN_POSITIVE);
        if whole >= BUSY {
            add(
                format!(
                    "the server kept {:.2} of its {:.0} cores busy",
                    server.cores_busy, server.cores_allowed
                ),
                "this is its limit with this load; larger batches usually cost less for each value",
            );
        } else if let Some(thread) = server.busiest_thread.filter(|&thread| thread >= BUSY) {
            add(
                format!(
                    "a thread of the server was busy for {} of the time",
                    percent(thread.min(1.0))
                ),
                "this is its limit with this load; larger batches usually cost less for each value",
            );
        }
    }
    findings
}

/// As many operations are under way at any time, and so at the end, without anything being wrong.
fn usual(evidence: &Evidence) -> f64 {
    // Little's law, with the service time from before any backlog; twice that, for arrivals that
    // cluster. A backlog that grows from the beginning on stays above it at any overload.
    let rate = evidence.planned as f64 * 1e9 / evidence.window_ns.max(1) as f64;
    let under_way = rate * evidence.early_service_ns.unwrap_or(0.0) / 1e9;
    (2.0 * under_way).max(10.0)
}
