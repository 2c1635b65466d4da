//! A lock between threads of the server.

use record::run::{Candidate, Finding, Limiter, Phase, Sign, UsageSeries};

use super::facts::{Facts, NOT_SEEN, THREADS_ENDED, knows_threads, usage};
use super::{cannot_tell, does_not_limit, limits, unknown};

/// A thread that has less than this part of the CPU and of the switches of all has no part in the work.
const PART: f64 = 0.05;

/// Switches rise if there are so many times as many for a request as before...
const RISES: f64 = 1.2;
/// ...and so many more at least: a tenth of nothing is nothing.
const MORE: f64 = 0.1;

/// Several threads share the work, none of them is at its limit nor are all cores, and with more load each request
/// makes them wait for something more often. Who waits for a socket waits less often the more there is in it.
pub(super) fn lock(facts: &Facts<'_>, [cpu, thread]: [&Candidate; 2]) -> Candidate {
    const OF: Limiter = Limiter::Lock;
    let Some(server) = facts.server() else {
        return unknown(OF, NOT_SEEN);
    };
    // Who waits for a lock does not run.
    let running = [cpu, thread]
        .into_iter()
        .find(|it| it.finding == Finding::Limits);
    if let Some(running) = running {
        return does_not_limit(OF, running.signs_for.clone());
    }
    if !knows_threads(server) {
        return unknown(OF, THREADS_ENDED);
    }
    let threads = workers(server);
    let workers = Sign::Workers { threads };
    if threads < 2 {
        return does_not_limit(OF, vec![workers]);
    }
    let Some(now) = switches(facts.phase) else {
        return unknown(OF, "switches of the server were not counted");
    };
    let Some(before) = facts.before.and_then(switches) else {
        return unknown(
            OF,
            "no run with less of the same load to compare switches with",
        );
    };
    let sign = Sign::Switches {
        a_request: now,
        before,
    };
    let rises = now >= RISES * before && now >= before + MORE;
    let has_room = |it: &Candidate| it.finding == Finding::DoesNotLimit;
    match (rises, has_room(cpu) && has_room(thread)) {
        (true, true) => limits(OF, vec![sign, workers]),
        (true, false) => cannot_tell(OF, vec![sign], Vec::new()),
        (false, _) => does_not_limit(OF, vec![sign]),
    }
}

/// Threads that have a part in the work: in the CPU of all, or in their switches.
fn workers(server: &UsageSeries) -> u64 {
    let all = |of: fn(&record::run::ThreadUsage) -> Option<u64>| {
        let sum: u64 = server.threads.iter().filter_map(of).sum();
        sum as f64
    };
    let cpu: fn(&record::run::ThreadUsage) -> Option<u64> = |it| it.cpu_ns.known().copied();
    let waits: fn(&record::run::ThreadUsage) -> Option<u64> =
        |it| it.voluntary_switches.known().copied();
    let has_part = |it: &&record::run::ThreadUsage| {
        [cpu, waits].into_iter().any(|of| {
            let (own, all) = (of(it).unwrap_or(0) as f64, all(of));
            own > 0.0 && own >= PART * all
        })
    };
    let working = server.threads.iter().filter(has_part);
    working.map(|it| it.count).sum()
}

/// How often the server's threads waited for something, for each request.
fn switches(phase: &Phase) -> Option<f64> {
    let server = usage(phase, "server")?;
    let switches = *server.window.voluntary_switches.known()? as f64;
    let done = phase.total.completed;
    (done > 0).then(|| switches / done as f64)
}
