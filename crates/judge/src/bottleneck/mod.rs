//! What limited a phase: server CPU, one of its threads, memory, a lock, the link, socket buffers, the generator,
//! a limit that the server keeps on purpose, or the phases of sampling and publishing.
//!
//! Each candidate is looked at by itself, with what speaks for and against it. One is named where it alone is
//! proven. "Not known" is an answer: where nothing is proven, and where two are that contradict each other.

mod facts;
mod link;
mod lock;
mod memory;
mod own;
mod server;

use record::run::{Bottleneck, Candidate, Finding, Limiter, Phase, Sign, Target};

use facts::Facts;
pub use link::held as network_held;

/// From this share of its time or capacity on something is at its limit; as for the verdict.
const FULL: f64 = 0.9;

/// Below this share it has room. At 70 % what waits for it waits 2.3 times as long as the work itself takes (M/M/1):
/// between the two it is neither at its limit nor out of the question.
const FREE: f64 = 0.7;

/// A thread that has less to do than this, of a server that does not keep up, waits.
const IDLE: f64 = 0.5;

/// What limited a phase, from what was recorded of it and of a phase with less of the same load, where there is one.
/// `targets` are those of the run.
pub fn bottleneck(phase: &Phase, before: Option<&Phase>, targets: &[Target]) -> Bottleneck {
    let facts = Facts::of(phase, before, targets);
    let cpu = server::cpu(&facts);
    let thread = server::thread(&facts, &cpu);
    let lock = lock::lock(&facts, [&cpu, &thread]);
    let mut candidates = vec![
        cpu,
        thread,
        memory::memory(&facts),
        lock,
        link::link(&facts),
        link::buffers(&facts),
        own::generator(&facts),
        own::limits(&facts),
    ];
    let resource = candidates.iter().any(|it| it.finding == Finding::Limits);
    candidates.extend(own::phase(&facts, resource));
    let mut found = Bottleneck {
        limited_by: None,
        server_waits: false,
        candidates,
    };
    let proven: Vec<Limiter> = found.found(Finding::Limits).map(|it| it.of).collect();
    found.limited_by = match proven.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    found.server_waits = waits(&found);
    found
}

/// Whether the server had little to do though nothing that can be seen held it up.
fn waits(found: &Bottleneck) -> bool {
    let has_room = |of: Limiter| {
        found
            .candidate(of)
            .is_some_and(|it| it.finding == Finding::DoesNotLimit)
    };
    let idle = |sign: &Sign| matches!(sign, Sign::Thread { busy, .. } | Sign::Loop { busy, .. } if *busy < IDLE);
    let thread = found.candidate(Limiter::ServerThread);
    found.found(Finding::Limits).next().is_none()
        && [Limiter::ServerCpu, Limiter::Link, Limiter::Generator]
            .into_iter()
            .all(has_room)
        && thread.is_some_and(|it| it.signs_against.iter().any(idle))
}

fn limits(of: Limiter, signs: Vec<Sign>) -> Candidate {
    Candidate {
        of,
        finding: Finding::Limits,
        signs_for: signs,
        signs_against: Vec::new(),
    }
}

fn does_not_limit(of: Limiter, signs: Vec<Sign>) -> Candidate {
    Candidate {
        of,
        finding: Finding::DoesNotLimit,
        signs_for: Vec::new(),
        signs_against: signs,
    }
}

fn cannot_tell(of: Limiter, signs_for: Vec<Sign>, signs_against: Vec<Sign>) -> Candidate {
    Candidate {
        of,
        finding: Finding::CannotTell,
        signs_for,
        signs_against,
    }
}

/// Nothing is known of it.
fn unknown(of: Limiter, why: impl Into<String>) -> Candidate {
    let missing = Sign::NotAvailable { why: why.into() };
    cannot_tell(of, vec![missing], Vec::new())
}

/// By the share of its time or capacity that something is used.
fn by_share(of: Limiter, share: f64, sign: Sign) -> Candidate {
    match share {
        FULL.. => limits(of, vec![sign]),
        it if it < FREE => does_not_limit(of, vec![sign]),
        _ => cannot_tell(of, vec![sign], Vec::new()),
    }
}
