//! Cores and threads of the server.

use record::run::{Candidate, Finding, Limiter, Sign};

use super::facts::{Facts, NOT_SEEN, THREADS_ENDED, thread as busiest, usage};
use super::{FULL, by_share, cannot_tell, does_not_limit, unknown};

/// Who did less than this part of it had clearly less to do.
const CLEARLY_LESS: f64 = 0.8;

/// All cores that the server may use.
pub(super) fn cpu(facts: &Facts<'_>) -> Candidate {
    match facts.cores() {
        Some(cores) => by_share(Limiter::ServerCpu, cores.share(), cores.sign()),
        None => unknown(Limiter::ServerCpu, NOT_SEEN),
    }
}

/// A thread that has something to do all the time, while cores are free.
pub(super) fn thread(facts: &Facts<'_>, cpu: &Candidate) -> Candidate {
    const OF: Limiter = Limiter::ServerThread;
    let Some(thread) = facts.thread() else {
        return match facts.server() {
            None => unknown(OF, NOT_SEEN),
            Some(_) => unknown(OF, THREADS_ENDED),
        };
    };
    if cpu.finding == Finding::Limits {
        return does_not_limit(OF, cpu.signs_for.clone());
    }
    if let Some(before) = polls(facts, &thread.name).filter(|_| thread.busy >= FULL) {
        return cannot_tell(OF, vec![thread.sign()], vec![Sign::Polls { before }]);
    }
    let mut found = by_share(OF, thread.busy, thread.sign());
    if found.finding == Finding::Limits {
        found
            .signs_for
            .extend(facts.cores().map(super::facts::Cores::sign));
    }
    found
}

/// How busy the same thread was with clearly less to do, if it was at its limit then as well.
fn polls(facts: &Facts<'_>, name: &str) -> Option<f64> {
    let before = facts.before?;
    let (then, now) = (before.rate_per_s()?, facts.phase.rate_per_s()?);
    let thread = busiest(usage(before, "server")?)?;
    (then < CLEARLY_LESS * now && thread.name == name && thread.busy >= FULL).then_some(thread.busy)
}
