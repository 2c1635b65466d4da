//! Agents of a fleet, as every report shows them.

use std::time::Duration;

use plan::unit::{duration, share};
use record::Run;
use record::run::{Figure, Fingerprint, Host, HostClock, Kind, Phase, Trust};

use crate::points::Named;
use crate::table::looked_at;

/// The agents that shared a phase.
pub(crate) fn of_phase(run: &Run, phase: usize) -> impl Iterator<Item = &Host> {
    run.hosts.iter().filter(move |it| it.phase == phase)
}

/// The same of a phase with this name.
pub(crate) fn of_named<'a>(run: &'a Run, name: &str) -> impl Iterator<Item = &'a Host> {
    let place = run.phases.iter().position(|it| it.name == name);
    let hosts = place.map(|place| of_phase(run, place));
    hosts.into_iter().flatten()
}

/// The share of its time that its busiest thread had something to do.
pub(crate) fn busiest(host: &Host) -> Option<f64> {
    let own = host.resources.iter().filter(|it| it.who == "generator");
    own.filter_map(|it| it.busiest_core).fold(None, |most, it| {
        Some(most.map_or(it, |most: f64| most.max(it)))
    })
}

/// How its clock stood beside the controller's.
pub(crate) fn clock(clock: &HostClock) -> Option<String> {
    let (ahead, error) = (clock.ahead_ns.known()?, clock.error_ns.known()?);
    let sign = if *ahead < 0 { "-" } else { "+" };
    Some(format!(
        "{sign}{} ± {}",
        duration::show_ns(ahead.unsigned_abs()),
        duration::show_ns(*error)
    ))
}

/// Its verdict; none of one that told nothing.
pub(crate) fn kind(host: &Host) -> Option<Kind> {
    let told = host.lost.is_none();
    host.verdict.as_ref().filter(|_| told).map(|it| it.kind)
}

/// The verdict in a word.
pub(crate) fn verdict(host: &Host) -> String {
    match (&host.lost, kind(host)) {
        (Some(_), _) => "lost".to_owned(),
        (None, Some(kind)) => kind.name().to_owned(),
        (None, None) => "n/a".to_owned(),
    }
}

/// Requests that it had answered in a second; of subscriptions there are none.
pub(crate) fn rate(host: &Host, phase: &Phase) -> Option<f64> {
    let rate = host.total.as_ref()?.rate_per_s;
    rate.filter(|_| !phase.is_notified())
}

/// The mean of the times that the phase is looked at for; none where two clocks do not tell it.
pub(crate) fn mean(host: &Host, phase: &Phase) -> Option<f64> {
    let (name, _) = looked_at(phase);
    let mean = host.total.as_ref()?.histogram(name).mean();
    mean.filter(|ns| !matches!(phase.trust(name, *ns), Trust::Nothing(_)))
}

/// The machine in a few words.
pub(crate) fn machine(machine: &Fingerprint) -> String {
    let known = |figure: &Figure<String>| figure.known().cloned().filter(|it| !it.is_empty());
    let cores = machine.cores.known().map(|&n| match n {
        1 => "1 core".to_owned(),
        n => format!("{n} cores"),
    });
    let parts = [known(&machine.host), known(&machine.cpu), cores];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// An agent over the runs of one side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// `base` or `new`.
    pub side: &'static str,
    /// As results name it.
    pub name: String,
    /// Phases of runs that it shared.
    pub count: usize,
    /// In so many of them it was lost.
    pub lost: usize,
    /// The worst verdict.
    pub verdict: Option<Kind>,
    /// Its share of the load, on average.
    pub share: Option<f64>,
    /// The busiest of its threads.
    pub busiest: Option<f64>,
    /// The widest band of its clock.
    pub clock_error_ns: Option<u64>,
}

/// Those of one side, in the order of their first run.
pub(crate) fn of_side(side: &'static str, runs: &[Named]) -> Vec<Agent> {
    let mut agents: Vec<Agent> = Vec::new();
    for host in runs.iter().flat_map(|it| &it.run.hosts) {
        let place = agents.iter().position(|it| it.name == host.name);
        let place = place.unwrap_or_else(|| {
            agents.push(Agent {
                side,
                name: host.name.clone(),
                count: 0,
                lost: 0,
                verdict: None,
                share: None,
                busiest: None,
                clock_error_ns: None,
            });
            agents.len() - 1
        });
        let Some(agent) = agents.get_mut(place) else {
            continue;
        };
        agent.count += 1;
        agent.lost += usize::from(host.lost.is_some());
        agent.verdict = agent.verdict.max(kind(host));
        // Who publishes or listens has no share of a load.
        if host.total.is_some() && host.role.is_none() {
            // A sum until all are seen.
            agent.share = Some(agent.share.unwrap_or(0.0) + host.offered_share);
        }
        agent.busiest = match (agent.busiest, busiest(host)) {
            (Some(most), Some(it)) => Some(f64::max(most, it)),
            (most, it) => most.or(it),
        };
        let error = host.clock.error_ns.known().copied();
        agent.clock_error_ns = agent.clock_error_ns.max(error);
    }
    for agent in &mut agents {
        let told = agent.count.saturating_sub(agent.lost).max(1) as f64;
        agent.share = agent.share.map(|sum| sum / told);
    }
    agents
}

impl Agent {
    /// What is to be said of it besides its name.
    pub(crate) fn told(&self) -> String {
        let lost = match (self.lost, self.count) {
            (0, _) => None,
            (lost, count) => Some(format!("lost in {lost} of {count}")),
        };
        let error = self.clock_error_ns.map(Duration::from_nanos);
        let parts = [
            self.share
                .map(|it| format!("{} of the load", share::show(it))),
            self.verdict.map(|it| it.name().to_owned()),
            lost,
            self.busiest
                .map(|it| format!("busiest core {}", share::show(it))),
            error.map(|it| format!("clock within ± {}", duration::show(it))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
