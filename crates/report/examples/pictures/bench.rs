//! A server that can be calculated: 200 µs for each request, one at a time, and a stop of one second.

use std::ops::Range;
use std::time::Duration;

use plan::{Pace, Schedule, Seat, Shape};
use record::{Lateness, Ledger, Tally, Times};

pub const SECOND: u64 = 1_000_000_000;
const SERVICE: u64 = 200_000;

/// The planned times of one session.
pub fn planned(shape: &str, rate: Option<&str>, duration: Duration) -> Vec<u64> {
    let pace = || -> Option<Pace> {
        let rate = rate.and_then(|rate| rate.parse().ok());
        shape.parse::<Shape>().ok()?.at(rate).ok()
    };
    let seat = Seat {
        target: 0,
        index: 0,
    };
    pace().map_or_else(Vec::new, |pace| {
        Schedule::new(&pace, seat, 1, 1, duration).collect()
    })
}

/// What becomes of requests with these planned times when one may be in flight and the server does
/// nothing in `stop`.
pub fn one_in_flight(planned: &[u64], stop: Range<u64>) -> Vec<Times> {
    let mut free = 0;
    let answer = |&due: &u64| {
        let sent = due.max(free);
        let mut completed = sent + SERVICE;
        if sent < stop.end && completed > stop.start {
            completed += stop.end - stop.start.max(sent);
        }
        free = completed;
        Times {
            planned: due,
            sent,
            completed,
        }
    };
    planned.iter().map(answer).collect()
}

/// The same, written down.
pub fn tally(times: &[Times], end: u64) -> Tally {
    let mut ledger = Ledger::with_end(end);
    for &times in times {
        let slot = times.sent - times.planned;
        let lateness = Lateness {
            slot,
            ..Lateness::default()
        };
        ledger.late(times.sent, lateness, 1);
        ledger.done(times, 0, 1, 1);
    }
    ledger.finish()
}

/// When a generator that sleeps in `pause` sends what was planned: at once when it wakes up, or only
/// what is due from then on.
pub fn caught_up(planned: &[u64], pause: Range<u64>, skip: bool) -> Vec<u64> {
    planned
        .iter()
        .filter(|due| !(skip && pause.contains(due)))
        .map(|&due| if pause.contains(&due) { pause.end } else { due })
        .collect()
}
