//! What says that the server did not keep up.

use record::Histogram;

use super::Evidence;
use super::reason::Reason;

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

pub(super) fn reasons(evidence: &Evidence) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if evidence.load.is_open() {
        // Left out is not behind: nobody is waiting for it.
        let due = evidence.planned.saturating_sub(evidence.skipped) as f64;
        let behind = due - evidence.completed_in_time as f64;
        if behind > BEHIND * due && behind > usual(evidence) {
            reasons.push(Reason::Behind {
                share: evidence.completed_in_time as f64 / due.max(1.0),
                operations: behind,
            });
        }
        let held_up = |waited: &Histogram| {
            let share = waited
                .share_up_to(HELD_UP_NS)
                .map_or(0.0, |share| 1.0 - share);
            (share >= HELD_UP).then(|| (share, waited.max().unwrap_or(0)))
        };
        let slots = held_up(&evidence.slot);
        reasons.extend(slots.map(|(share, longest_ns)| Reason::SlotsTaken { share, longest_ns }));
        let socket = held_up(&evidence.socket);
        reasons.extend(socket.map(|(share, longest_ns)| Reason::SocketFull { share, longest_ns }));
    }
    let timed_out = evidence.timeouts + evidence.unfinished;
    let ended = evidence.completed + evidence.unfinished;
    if timed_out as f64 >= TIMED_OUT * ended as f64 && timed_out > 0 {
        reasons.push(Reason::Unanswered {
            share: timed_out as f64 / ended as f64,
        });
    }
    // In a closed loop the load adapts itself: only the server's own CPU tells.
    if !evidence.load.is_open()
        && let Some(server) = &evidence.server
    {
        let whole = server.cores_busy / server.cores_allowed.max(f64::MIN_POSITIVE);
        if whole >= BUSY {
            reasons.push(Reason::ServerBusy {
                cores: server.cores_busy,
                allowed: server.cores_allowed,
            });
        } else if let Some(share) = server.busiest_thread.filter(|&thread| thread >= BUSY) {
            reasons.push(Reason::ThreadBusy { share });
        }
    }
    reasons
}

/// As many operations are under way at any time, and so at the end, without anything being wrong.
fn usual(evidence: &Evidence) -> f64 {
    // Little's law, with the service time from before any backlog; twice that, for arrivals that
    // cluster. A backlog that grows from the beginning on stays above it at any overload.
    let rate = evidence.planned as f64 * 1e9 / evidence.window_ns.max(1) as f64;
    // Without an answer before the backlog the least that is usual is all that is.
    let under_way = rate * evidence.early_service_ns.unwrap_or(0.0) / 1e9;
    (2.0 * under_way).max(10.0)
}
