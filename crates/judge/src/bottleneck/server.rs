//! Cores and threads of the server.

use record::run::{Candidate, Finding, Limiter, Sign};

use super::facts::{Facts, Loop, NOT_SEEN, THREADS_ENDED, thread as busiest, usage};
use super::{FREE, FULL, by_share, cannot_tell, does_not_limit, unknown};

/// Who did less than this part of it had clearly less to do.
const CLEARLY_LESS: f64 = 0.8;

/// All cores that the server may use.
pub(super) fn cpu(facts: &Facts<'_>) -> Candidate {
    match facts.cores().or_else(|| facts.told_cores()) {
        Some(cores) => by_share(Limiter::ServerCpu, cores.share(), cores.sign()),
        None => unknown(Limiter::ServerCpu, NOT_SEEN),
    }
}

/// A thread that has something to do all the time, while cores are free.
pub(super) fn thread(facts: &Facts<'_>, cpu: &Candidate) -> Candidate {
    const OF: Limiter = Limiter::ServerThread;
    let told = facts.busiest_loop();
    let Some(thread) = facts.thread() else {
        return match (facts.server(), told) {
            (None, Some(told)) => told_loop(facts, cpu, &told),
            (None, None) => unknown(OF, NOT_SEEN),
            (Some(_), _) => unknown(OF, THREADS_ENDED),
        };
    };
    let told = told.filter(|it| it.name == thread.name);
    if cpu.finding == Finding::Limits {
        return does_not_limit(OF, cpu.signs_for.clone());
    }
    // A plant that does not sleep knows when it had nothing to do.
    if let Some(told) = told
        .as_ref()
        .filter(|it| thread.busy >= FULL && it.busy < FREE)
    {
        return does_not_limit(OF, vec![told.sign(), thread.sign()]);
    }
    if let Some(before) = polls(facts, &thread.name).filter(|_| thread.busy >= FULL) {
        return cannot_tell(OF, vec![thread.sign()], vec![Sign::Polls { before }]);
    }
    let mut found = by_share(OF, thread.busy, thread.sign());
    if found.finding == Finding::Limits {
        found
            .signs_for
            .extend(facts.cores().map(super::facts::Cores::sign));
        let agrees = told.filter(|it| it.busy >= FULL);
        found.signs_for.extend(agrees.map(|it| it.sign()));
    }
    found
}

/// A loop of a plant whose process is not seen, as the plant says itself.
fn told_loop(facts: &Facts<'_>, cpu: &Candidate, told: &Loop) -> Candidate {
    const OF: Limiter = Limiter::ServerThread;
    if cpu.finding == Finding::Limits {
        return does_not_limit(OF, cpu.signs_for.clone());
    }
    let mut found = by_share(OF, told.busy, told.sign());
    if found.finding == Finding::Limits {
        let cores = facts.told_cores();
        found.signs_for.extend(cores.map(super::facts::Cores::sign));
        // It is not at work while it waits for a core, or for something within a turn.
        let worked = cores.is_some_and(|it| it.busy >= CLEARLY_LESS * told.busy);
        if !worked {
            found.finding = Finding::CannotTell;
        }
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
