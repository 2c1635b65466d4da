//! The servers of a phase: looked at before it, and what is said of those that are not there or refuse.

use std::sync::Arc;

use judge::{Missing, OwnLimit};
use load::engine::{Control, RunError, SessionError, Target};
use load::work::WorkError;
use observe::Process;
use plan::{Phase, Targets};
use wire::url::{Transport, Url};

use super::{Common, look};
use crate::access;
use crate::advice;
use crate::failure::Failure;
use crate::global::Global;

/// Servers that are there, and what is to be said of those that are not.
pub struct ReachedServers {
    pub targets: Vec<Arc<Target>>,
    pub missing: Vec<Missing>,
}

/// Looks at all targets. One that is not there ends a command that is for it alone; of several, the
/// others are loaded.
pub fn look_at(
    targets: &Targets,
    common: &Common,
    phase: &Phase,
    control: &Control,
    global: &Global,
) -> anyhow::Result<ReachedServers> {
    let mut looked = ReachedServers {
        targets: Vec::new(),
        missing: Vec::new(),
    };
    let mut first = None;
    let (access, quiet) = (&common.access, common.output.printed.is_quiet());
    let each = common
        .each
        .clients(access, phase.sessions, quiet, control, global)?;
    let sources = phase
        .connect()
        .map_or(0, |connect| connect.source_addresses);
    let mut all = access.resolve_all(targets.urls(), each, global)?;
    for access in &mut all {
        access.sources = sources;
        access.posts = posts(phase, &access.url);
    }
    for looked_at in look::each(all, control, Target::look)? {
        match looked_at {
            Ok(target) => looked.targets.push(Arc::new(target)),
            Err(failed) => {
                let (access, error) = *failed;
                let failure = unreachable(&error, &access);
                looked.missing.push(Missing::Target {
                    url: access.url.to_string(),
                    why: failure.to_string(),
                });
                first.get_or_insert(failure);
            }
        }
    }
    match first {
        Some(failure) if looked.targets.is_empty() => Err(failure),
        _ => Ok(looked),
    }
}

/// More Publish requests of a session than these share connections.
const MOST_POSTS: u32 = 64;
/// Of Publish requests beside one for each subscription: some are on their way while others wait.
const SPARE_POSTS: u32 = 2;

/// Connections beside the first one that a session has there: HTTP/1.1 answers in the order of the requests, so each Publish request that
/// waits has one of its own.
fn posts(phase: &Phase, url: &Url) -> u32 {
    match phase.subscribe() {
        Some(plan) if url.transport() == Transport::Https => {
            let as_many = plan.subscriptions.saturating_add(SPARE_POSTS);
            plan.publish_requests.unwrap_or(as_many).min(MOST_POSTS)
        }
        _ => 0,
    }
}

/// Descriptors beside those of sessions: files, polls, timers, pipes.
const OTHERS: u64 = 64;

/// What this machine does not allow of so many sessions with each of the targets.
pub fn own_limits(phase: &Phase, targets: &[Arc<Target>]) -> Vec<OwnLimit> {
    let sessions = phase.sessions;
    let mut limits = Vec::new();
    let mut note = |what: &str, wanted: u64, allowed: u64| {
        if wanted > allowed {
            limits.push(OwnLimit {
                what: what.to_owned(),
                wanted,
                allowed,
            });
        }
    };
    let sockets = targets.iter().map(|it| 1 + u64::from(it.access.posts));
    let wanted = u64::from(sessions) * sockets.sum::<u64>() + OTHERS;
    if let Ok(descriptors) = observe::limits::raise_descriptors(wanted) {
        note("file descriptors", wanted, descriptors.soft);
    }
    if let Ok(ports) = observe::limits::ports() {
        let addresses = phase.connect().map_or(1, |it| it.source_addresses.max(1));
        let allowed = u64::from(ports.count()) * u64::from(addresses);
        note("local ports", sessions.into(), allowed);
    }
    limits
}

/// Why a server is not there.
fn unreachable(error: &SessionError, access: &load::access::Access) -> anyhow::Error {
    match error {
        SessionError::Access(error) => advice::on(error, access).into(),
        error => Failure::new(format!("{}: {error}", access.url)).into(),
    }
}

/// Why a server does not take what was asked.
pub fn refused(error: SessionError, target: &Target) -> anyhow::Error {
    match error {
        SessionError::Access(error) => advice::on(&error, &target.access).into(),
        SessionError::Work(error) if error.is_usage() => {
            let failure = Failure::usage(error.to_string());
            match error {
                WorkError::Limit { allowed, .. } => failure.at_most(allowed).into(),
                _ => failure.into(),
            }
        }
        error => Failure::new(format!("{}: {error}", target.access.url)).into(),
    }
}

/// Why a phase could not be carried out.
pub fn not_run(error: RunError, targets: &[Arc<Target>]) -> anyhow::Error {
    match error {
        RunError::NoSession { url, error } => {
            let target = targets.iter().find(|it| it.access.url.to_string() == url);
            match target {
                Some(target) => refused(*error, target),
                None => Failure::new(format!("{url}: {error}")).into(),
            }
        }
        error => Failure::new(error.to_string()).into(),
    }
}

/// The server's process, if all targets are one process of this machine that this user may look into.
pub fn found(targets: &[Arc<Target>]) -> Option<Process> {
    let mut all = targets
        .iter()
        .map(|target| access::served_by(&target.access));
    let first = all.next()??;
    let same = all.all(|it| it == Some(first)) && first != std::process::id();
    same.then(|| Process::of(first).ok()).flatten()
}
