//! From a phase to what became of it.

use std::sync::Arc;

use plan::{Phase, Plan, Seat, Share, Targets};
use tracing::info;

use super::control::Control;
use super::error::RunError;
use super::heartbeat::Pulse;
use super::outcome::Outcome;
use super::reports::Progress;
use super::running::{Options, Running};
use super::target::Target;
use super::{fresh, loops, opening, rounds};
use crate::transport::Clock;
use crate::work::Prepared;

/// Carries out a phase against its targets. `progress` is told what happens, about ten times a
/// second for each loop.
pub fn run(
    phase: &Phase,
    targets: &[Arc<Target>],
    prepared: &[Arc<Prepared>],
    options: &Options,
    control: &Control,
    mut progress: impl FnMut(Progress),
) -> Result<Outcome, RunError> {
    let running = Running {
        phase,
        targets,
        prepared,
        options,
        control,
    };
    let plan = Plan::of(
        Targets::from_iter(targets.iter().map(|target| target.access.url.clone())),
        phase.clone(),
    );
    // Whoever waits for all others has to see them: sessions that send together share a loop.
    let threads = if phase.together {
        1
    } else {
        options.threads.max(1)
    };
    let shares = match &options.seats {
        Some(seats) => Share::deal(seats.iter().copied(), threads),
        None => plan.shares(threads),
    };
    let all = shares.iter().flat_map(|share| &share.seats);
    let mut seats: Vec<Seat> = all.copied().collect();
    seats.sort_unstable();
    let name = phase.name.as_deref().unwrap_or_default();
    info!(phase = name, sessions = seats.len(), threads, "load begins");
    let calls = !phase.work.steps().is_empty() || phase.fresh_session;
    let pulse = Pulse::start(!calls)?;
    let mut outcome = if !phase.work.steps().is_empty() {
        rounds::run(&running, &seats, &mut progress)
    } else if phase.fresh_session {
        fresh::run(&running, &seats, &mut progress)
    } else {
        loops::run(&running, &shares, &seats, &mut progress)
    }?;
    outcome.wanted = seats.len();
    outcome.requests = opening::requests_of_all(phase, &seats, running.servers());
    let began = Clock::new().at(outcome.origin);
    outcome.stalls.extend(pulse.finish(began));
    outcome.stalls.sort_by_key(|it| it.at_ns);
    info!(phase = name, lost = outcome.losses.len(), "load is over");
    Ok(outcome)
}
