//! The generator, limits that the server keeps on purpose, and the phases of sampling and publishing.

use plan::{Figures, Measure, Stat};
use record::run::{Candidate, Finding, Kind, Limiter, Sign, Status};

use super::facts::{Facts, of_all, usage};
use super::{FULL, by_share, cannot_tell, does_not_limit, limits as at_limit, unknown};
use crate::threshold::Measured;

/// Connections whose other end had no room for more than half of the time: their reader is slow.
const SLOW_READER: f64 = 0.5;

/// Refusals of so many of the operations are a limit; as for the verdict.
const REFUSED: f64 = 0.01;

/// What servers say when they do no more on purpose (Part 4, 7.39; Part 6, 7.1).
const OF_LIMITS: &[&str] = &[
    "BadEncodingLimitsExceeded",
    "BadLicenseLimitsExceeded",
    "BadMaxConnectionsReached",
    "BadNoContinuationPoints",
    "BadOutOfMemory",
    "BadRequestTooLarge",
    "BadResourceUnavailable",
    "BadResponseTooLarge",
    "BadTcpNotEnoughResources",
    "BadTcpServerTooBusy",
    "BadServerTooBusy",
    "BadTooManyMonitoredItems",
    "BadTooManyOperations",
    "BadTooManyPublishRequests",
    "BadTooManySessions",
    "BadTooManySubscriptions",
];

/// The generator, as the verdict has found, or its busiest core.
pub(super) fn generator(facts: &Facts<'_>) -> Candidate {
    const OF: Limiter = Limiter::Generator;
    if facts.phase.verdict.kind == Kind::GeneratorLimited {
        return at_limit(OF, vec![Sign::GeneratorLimited]);
    }
    let series = usage(facts.phase, "generator");
    let core = series.and_then(|it| it.busiest_core);
    // All of its threads together are at least as busy as one of them.
    let all = || Measured(facts.phase).figure(Measure::GeneratorCpu, Stat::Mean);
    let Some(busy) = core.or_else(all) else {
        return unknown(OF, "the generator's CPU is not known");
    };
    let sign = Sign::GeneratorCore { busy };
    // The verdict has its own rules for what makes it the limit; a core that is busy alone does not.
    let mut found = match busy {
        FULL.. => cannot_tell(OF, vec![sign], Vec::new()),
        busy => by_share(OF, busy, sign),
    };
    let emulated = facts.targets.iter().any(|it| it.link.is_some());
    if let Ok(sockets) = facts.sockets()
        && !emulated
    {
        let share = of_all(&sockets, sockets.receiver_limited_ns).min(1.0);
        if share >= SLOW_READER {
            found.finding = Finding::CannotTell;
            found.signs_for.push(Sign::ReaderFull { share });
        }
    }
    found
}

/// Status codes by which the server says that it does no more.
pub(super) fn limits(facts: &Facts<'_>) -> Candidate {
    const OF: Limiter = Limiter::ServerLimits;
    let total = &facts.phase.total;
    let told = facts.phase.subscriptions.as_ref();
    let ended = told.into_iter().flat_map(|it| &it.ended);
    // A Publish request more or less is none of these.
    let ended = ended.filter(|it| matches!(it.what.as_str(), "item" | "ended"));
    // Of what ended badly with subscriptions each once is enough: it is not there any more.
    let ended = ended.map(|it| &it.status).filter(|it| is_of_limit(it));
    let ended = ended.map(|it| (it, 1.0));
    let all = total.completed.max(1) as f64;
    let refused = [&total.statuses, &total.value_statuses];
    let refused = refused.into_iter().flatten().filter(|it| is_of_limit(it));
    let refused = refused.map(|it| (it, (it.count as f64 / all).min(1.0)));
    let mut signs: Vec<(f64, Sign)> = refused
        .chain(ended)
        .map(|(status, share)| {
            let sign = Sign::Refused {
                status: status.name.clone(),
                count: status.count,
                share,
            };
            (share, sign)
        })
        .collect();
    signs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most = signs.first().map_or(0.0, |it| it.0);
    let signs: Vec<Sign> = signs.into_iter().map(|it| it.1).collect();
    match most {
        REFUSED.. => at_limit(OF, signs),
        0.0 => does_not_limit(OF, vec![Sign::NoneRefused]),
        _ => does_not_limit(OF, signs),
    }
}

fn is_of_limit(status: &Status) -> bool {
    OF_LIMITS.contains(&status.name.as_str())
}

/// What of the delay of values sampling and publishing at intervals bring about, where values are subscribed to. Delay
/// is mostly that with any load: beside a resource at its limit it proves nothing.
pub(super) fn phase(facts: &Facts<'_>, resource: bool) -> Option<Candidate> {
    const OF: Limiter = Limiter::Phase;
    facts.phase.subscriptions.as_ref()?;
    let mean = |name: &str| facts.phase.total.histogram(name).mean();
    let (Some(phase), Some(delay)) = (mean("phase"), mean("delay")) else {
        return Some(unknown(OF, "the values have no timestamps"));
    };
    let share = (phase / delay.max(1.0)).min(1.0);
    let sign = Sign::OfDelay { share };
    Some(match resource && share >= FULL {
        true => cannot_tell(OF, vec![sign], Vec::new()),
        false => by_share(OF, share, sign),
    })
}
